#pragma once

/*
 * Inbox: what other threads leave for the watcher's: pods to be bound, nodes to be marked.
 *
 * Bounded: WATCHER_BINDS_MAX binds, counted until they have ended, and WATCHER_MARKS_MAX nodes.
 *
 * Threads: any. Who adds something wakes the watcher's client.
 */

#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "kube/cluster-watcher.h"

#define INBOX_BINDS_AT_ONCE 64u

typedef struct Inbox Inbox;

Inbox *inbox_new(void);          /* NULL when out of memory */
Inbox *inbox_free(Inbox *inbox); /* it holds no binds any more; takes NULL */
DEFINE_CLEANUP(Inbox *, inbox_free)

/* As watcher_bind(). */
int inbox_add_bind(Inbox *inbox, BindJob *job) MUST_CHECK;

/* Those that have not been taken yet, the oldest first; how many. */
size_t inbox_take_binds(Inbox *inbox, BindJob *ret[static INBOX_BINDS_AT_ONCE]);

/* One that was taken has got its done(). */
void inbox_note_bind_ended(Inbox *inbox);

/* @node is a valid name. Dropped when there are too many. */
void inbox_add_mark(Inbox *inbox, Str node);

/* The names that were left, a line each; the caller's. */
Buf inbox_take_marks(Inbox *inbox);

/* From now on binds are refused; what there is stays. */
void inbox_close(Inbox *inbox);
