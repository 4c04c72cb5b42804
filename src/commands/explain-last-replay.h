#pragma once

/*
 * LastHindsight: a filter that a running berth remembers, in full.
 *
 * That berth hands out what the decision was made of (/api/v1/bundle?id=N); here it is made again,
 * about the nodes that were asked about, with all values, limits and parts of scores.
 */

#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "cli/berth-client.h"
#include "commands/explain-bundle.h"
#include "input/zones.h"

typedef struct LastHindsight {
    BundleCase found;
    char obstacle[BERTH_CLIENT_ERROR_MAX]; /* why there is none; empty: it is in @found */
} LastHindsight;

void last_hindsight_done(LastHindsight *hindsight); /* takes a zeroed one */

/* Of the decision with this @id. @node (NULL: none) is told of, too, if nobody asked about it. 0,
 * also where there is an obstacle; or -ENOMEM. */
int last_hindsight(const BerthAccess *access, int64_t id, const char *node, const Zones *zones,
    Arena *arena, LastHindsight *ret) MUST_CHECK;
