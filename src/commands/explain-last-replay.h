#pragma once

/*
 * ReplayedFilter: a filter that a running berth remembers, in full.
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

typedef struct ReplayedFilter {
    BundleCase found;
    char obstacle[BERTH_CLIENT_ERROR_MAX]; /* why there is none; empty: it is in @found */
} ReplayedFilter;

void replayed_filter_done(ReplayedFilter *replayed); /* takes a zeroed one */

/* Of the decision with this @id. @node (NULL: none) is told of, too, if nobody asked about it. 0,
 * also where there is an obstacle; or -ENOMEM. */
int replayed_filter_fetch(const BerthAccess *access, int64_t id, const char *node,
    const Zones *zones, Arena *arena, ReplayedFilter *ret) MUST_CHECK;
