#pragma once

/*
 * Health: /livez, /readyz and /healthz in the text format of Kubernetes'
 * components, with ?verbose and ?exclude=, so that habits and tools carry over.
 *
 *     [+]ping ok
 *     [+]policy ok: degraded: the newest was refused: a.yaml:3:1: error: …
 *     [+]sync ok: nodes: 5000, heard 0.4 s ago; pods: disconnected for 12.0 s: …
 *     [-]shutdown failed: draining
 *     readyz check failed
 *
 * livez asks whether the process should be restarted: nothing but "does it
 * answer". readyz asks whether it should get requests.
 */

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "serve/live.h"
#include "serve/reload.h"

typedef enum HealthProbe {
    HEALTH_LIVEZ,
    HEALTH_READYZ,
    HEALTH_HEALTHZ, /* the old name; same as readyz, as in kube components */
} HealthProbe;

typedef struct HealthState {
    bool is_draining;
    Reloads *reloads;
    const LiveStatus *live; /* NULL: the cluster is not watched */
    int64_t now_nsec;       /* monotonic */
} HealthState;

/* Writes the page for @probe with the request's @query. Returns the status: 200
 * or 500. */
unsigned health_page(HealthProbe probe, Str query, const HealthState *state, Buf *out);
