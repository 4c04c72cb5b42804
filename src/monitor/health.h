#pragma once

/*
 * Health: /livez, /readyz and /healthz in the text format of Kubernetes'
 * components, with ?verbose and ?exclude=, so that habits and tools carry over.
 *
 *     [+]ping ok
 *     [+]policy ok: degraded: the newest was rejected: a.yaml:3:1: error: …
 *     [+]sync ok: nodes: 5000, last update 0.4 s ago; pods: 9000, disconnected, last update 12.0 s
 * ago: …
 *     [+]sources ok: 1 of 2 metrics answered; load: connection refused
 *     [+]sandbox ok: no_new_privs, no core dumps, landlock v3, seccomp
 *     [-]shutdown failed: draining
 *     readyz check failed
 *
 * Open to all clients, but reasons name files, servers and lines of policies: clients that may not
 * see other pages get "reason withheld" instead.
 *
 * livez asks whether the process should be restarted: nothing but "does it
 * answer". readyz asks whether it should get requests.
 */

#include "live/live.h"
#include "live/measuring.h"
#include "monitor/reload.h"
#include "policy/program.h"
#include "sandbox/sandbox.h"

typedef enum HealthProbe {
    PROBE_LIVEZ,
    PROBE_READYZ,
    PROBE_HEALTHZ, /* the old name; same as readyz, as in kube components */
} HealthProbe;

typedef struct HealthState {
    bool shows_reasons; /* false: clients see only which checks fail, without details */
    bool is_draining;
    Reloads *reloads;
    const LiveStatus *live; /* NULL: the cluster is not watched */
    const Program *program;
    const MeasuringStatus *measuring; /* how the gauges of @program fare */
    const Sandbox *sandbox;           /* NULL: not shown */
    int64_t now_nsec;                 /* monotonic */
} HealthState;

/* Writes the page for @probe with the request's @query. Returns the status: 200 or 500. */
unsigned health_page(HealthProbe probe, Str query, const HealthState *state, Buf *out);
