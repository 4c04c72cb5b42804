#pragma once

/*
 * Expiry: says once that a metric has grown too old on every node, and once that it is back.
 *
 * Values grow too old one after the other; a person wants to hear of it when the last one has gone,
 * for then every rule that reads the metric falls to its onMissing. What is absent for another
 * reason is not told here: an answer without series is a state of the source, which the poller
 * tells (load/poller.h), and a node that has left takes its value along.
 *
 * Threads: one at a time.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "extender/view.h"
#include "history/changes.h"

typedef struct Expiry Expiry;

Expiry *expiry_new(void);            /* NULL when out of memory */
Expiry *expiry_free(Expiry *expiry); /* takes NULL */
DEFINE_CLEANUP(Expiry *, expiry_free)

/* What became of one gauge since the last look. */
typedef enum ExpiryChange {
    EXPIRY_SAME,
    EXPIRY_GONE, /* the last value has grown too old; an annotation may also be no more */
    EXPIRY_BACK,
} ExpiryChange;

/* Whoever wants to hear of it. */
typedef void (*ExpiryTold)(void *context, const View *view, size_t gauge, ExpiryChange change);

/* Looks at @view, the one in force. What a reload leaves as it is stays known. */
void expiry_look(Expiry *expiry, const View *view, ExpiryTold told, void *context);

/* For who is told: a line in the log, and among @changes (history/changes.h). */
void expiry_log(const View *view, size_t gauge, ExpiryChange change);
void expiry_note(
    Changes *changes, const View *view, size_t gauge, ExpiryChange change, int64_t wall_nsec);
