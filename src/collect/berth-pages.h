#pragma once

/*
 * Facts of a running berth from /api/v1/status and /api/v1/sources.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "checkup/facts.h"

/* Used only to select permissions. */
typedef struct BerthNeeds {
    Str lease_namespace, lease_name; /* empty: it has none */
    bool measures_nodes;             /* a metric comes from metrics.k8s.io, of nodes, */
    bool measures_pods;              /* or of pods */
} BerthNeeds;

/* Both add to *ret and *needs; strings are slices of @body or in @arena. False when @body is no
 * such page; *ret is half filled in then. @now_nsec: since 1970, when the page came. */
bool berth_status_read(Str body, int64_t now_nsec, Arena *arena, BerthFact *ret, BerthNeeds *needs);
bool berth_sources_read(Str body, Arena *arena, BerthFact *ret, BerthNeeds *needs);
