#pragma once

/*
 * Health: /livez, /readyz and /healthz in the text format of Kubernetes' components, with ?verbose
 * and ?exclude=, so that known tools work.
 *
 *     [+]ping ok
 *     [+]policy ok: degraded: the newest was rejected: a.yaml:3:1: error: …
 *     [+]sync ok: nodes: 5000, last update 0.4 s ago; pods: 9000, last update 0.1 s ago
 *     [+]sources ok: 1 of 2 metrics answered; load: connection refused
 *     [+]sandbox ok: no_new_privs, no core dumps, landlock v3, seccomp
 *     [-]shutdown failed: draining
 *     readyz check failed
 *
 * Open to all clients. Reasons name files, servers and lines of policies: clients that may not see
 * other pages get "reason withheld" instead.
 *
 * livez fails only if the process should be restarted, because it does not answer. readyz fails if
 * it should get no requests.
 */

#include "live/live.h"
#include "live/measuring.h"
#include "monitor/reload.h"
#include "policy/program.h"
#include "sandbox/sandbox.h"

typedef struct HealthState {
    bool shows_reasons; /* false: clients see only which checks fail, without details */
    bool is_draining;
    Reloads *reloads;
    const LiveStatus *live; /* NULL: the cluster is not watched */
    const Program *program;
    const MeasuringStatus *measuring; /* for the gauges of program */
    const Sandbox *sandbox;           /* NULL: not shown */
    int64_t now_nsec;                 /* monotonic */
} HealthState;

/* Writes the page of @probe ("livez", "readyz", or "healthz", the old name of readyz) with the
 * request's @query. Returns the status: 200 or 500. */
unsigned health_page(const char *probe, Str query, const HealthState *state, Buf *out);
