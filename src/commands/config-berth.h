#pragma once

/*
 * WiredBerth: what kube-scheduler must know of a berth: which verbs it may call, how long that may
 * take, which pods concern it. Found out from one that runs, or from policies and flags.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "cli/berth-client.h"
#include "cli/policy-files.h"
#include "wiring/scheduler-config.h"

typedef struct WiredBerth {
    bool has_filters, has_scores; /* of its policies */
    bool may_bind;
    bool knows_cluster;     /* nodes can be sent by name */
    int max_score;          /* of its policies, on the wire */
    int64_t deadline_nsec;  /* of its own, for one request; 0: not known */
    bool wants_certificate; /* of whoever asks */
    Str *managed;           /* resources: only pods that request one concern it; none: all */
    size_t n_managed;
} WiredBerth;

/* One that runs. 0; or an exit code, after complaining as @who. Strings live in @arena. */
int wired_berth_ask(const BerthAccess *access, const char *who, Arena *arena, WiredBerth *ret);

/* One that will run with these policies. The same. */
int wired_berth_load(const PolicyPaths *paths, const char *who, Arena *arena, WiredBerth *ret);
