#pragma once

/*
 * ReplayedFilter: a filter decision of a running berth, replayed here from its inputs
 * (/api/v1/bundle?id=N), with all values, limits and parts of scores.
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

/* Of the decision with this @id; @node (NULL: none) is added to the candidates. 0, also with an
 * obstacle; or -ENOMEM. */
int replayed_filter_fetch(const BerthAccess *access, int64_t id, const char *node,
    const Zones *zones, Arena *arena, ReplayedFilter *ret) MUST_CHECK;
