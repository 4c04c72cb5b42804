#pragma once

/*
 * Parked: may a pod be waiting because of us?
 *
 * kube-scheduler parks a pod that found no node and does not try it again until something in the
 * cluster changes, or, when nothing does, within five minutes. A pod may be parked because of us
 * once a filter of ours has rejected a node for it, until
 *   - a watch shows that it got its node,
 *   - a later filter of it rejects nothing, or
 *   - PARKED_SEC have passed without another filter: it is not waiting any more.
 *
 * In doubt somebody is: in the first PARKED_SEC (those that were rejected before we started are
 * not known), while a filter is being answered (it may go by a view that is no longer in force),
 * and for PARKED_SEC after a pod was forgotten because there were more than PARKED_MAX.
 *
 * Threads: any; one lock, held for a short look at PARKED_MAX entries.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"

#define PARKED_SEC 360   /* kube-scheduler tries again after 300, and looks for these every 30 */
#define PARKED_MAX 1024u /* pods; over it the oldest is forgotten */

typedef struct Parked Parked;

Parked *parked_new(int64_t now_nsec); /* NULL when out of memory */
Parked *parked_free(Parked *parked);  /* takes NULL */
DEFINE_CLEANUP(Parked *, parked_free)

/* A filter begins, before it takes its view; and ends, after what came of it was noted. */
void parked_begin_filter(Parked *parked);
void parked_end_filter(Parked *parked);

/* A filter of the pod @uid has rejected some of the nodes it was asked about, or none. */
void parked_note_filter(Parked *parked, Str uid, bool is_rejected, int64_t now_nsec);

/* The pod has got its node. */
void parked_note_bound(Parked *parked, Str uid);

/* Whether a pod may be parked because of us. */
bool parked_has(Parked *parked, int64_t now_nsec);
