#pragma once

/*
 * Touch: marks nodes, so that kube-scheduler looks again at the pods it parked.
 *
 * A PATCH of one annotation each. Nodes that wait already are not marked twice. Nothing
 * depends on the result; failures are counted, and the first one for lack of rights is
 * worth a word.
 *
 * Threads: the client's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "kube/client.h"

#define TOUCH_CALLS_MAX 4u
#define TOUCH_WAITING_MAX 256u
#define TOUCH_SEC 10

typedef struct Touch Touch;

typedef struct TouchOptions {
    Client *client;
    const char *annotation;
    int64_t (*wall_clock)(void); /* since 1970, in ns: what is written */
} TouchOptions;

typedef struct TouchFigures {
    uint64_t n_touched, n_failed;
    bool is_forbidden; /* a 403 has come: the right patch on nodes is missing */
} TouchFigures;

Touch *touch_new(const TouchOptions *options); /* NULL when out of memory */
Touch *touch_free(Touch *touch);               /* takes NULL */
DEFINE_CLEANUP(Touch *, touch_free)

/* False when it is dropped: no name for a node, or too many are waiting. */
bool touch_add(Touch *touch, Str node);

TouchFigures touch_figures(const Touch *touch);
