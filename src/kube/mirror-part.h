#pragma once

/*
 * What the files of the mirror share. mirror.h is the contract: nobody else includes this.
 *
 *     mirror.c          its begin, its turns, its end
 *     mirror-side.c     one resource: what its reflector brings, and what people hear of that
 *     mirror-show.c     the newest snapshot, and when it is shown
 *     mirror-lease.c    whether it is ours to bind
 *     mirror-status.c   figures
 *
 * What other threads leave is in the inbox (kube/inbox.h).
 */

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "cluster/store.h"
#include "kube/binder.h"
#include "kube/inbox.h"
#include "kube/mirror.h"
#include "kube/reflector.h"
#include "kube/touch.h"
#include "kube/warrant.h"

/* One resource: the sink of its reflector. */
typedef struct Side {
    Mirror *mirror;
    MirrorKind kind;
    Reflector *reflector;
    int64_t list_began_at;
    bool is_connected;
    bool says_connected; /* the last word was that */
    int64_t connected_said_at, lost_said_at, unfit_said_at;
} Side;

struct Mirror {
    MirrorOptions options;
    MirrorCallbacks callbacks;
    Access *access;
    Client *client;
    Inbox *inbox;
    pthread_t thread;

    /* Of the thread alone. */
    Store *store;
    Binder *binder;
    Touch *touch;
    Announce *announce; /* NULL: no Events are written */
    Warrant *warrant;   /* NULL: nobody else binds */
    LeaseStatus lease_said;
    int64_t lease_said_at;
    Arena *arena; /* of one object */
    Side sides[_MIRROR_KINDS];
    Snapshot *snapshot; /* the newest */
    bool is_shown;      /* ... and published */
    bool is_urgent;     /* do not wait for the end of the turn */
    int64_t shown_at;
    int64_t publish_at; /* not before: it has just failed */
    int64_t expire_at;  /* when the ledger is to be walked */
    int64_t wait_said_at;
    int64_t began_at;
    uint64_t n_published, n_bound, n_bind_failed, n_expired;
    bool has_said_forbidden, has_said_no_events;

    atomic_bool is_synced;
    atomic_bool is_asked;  /* since the last turn */
    atomic_bool is_wanted; /* the lease is, and will be for a while */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t ended;  /* has_ended */
    bool is_ending, has_ended;
    int64_t end_by; /* monotonic: until when it may take to end */
    MirrorStatus status;
};

/* --- mirror.c ---------------------------------------------------------------------------- */

/* Whether something that was last said @at may be said again; it is, then. Things that happen
 * a thousand times must not become a thousand lines. */
bool mirror_may_say(int64_t *at);
void mirror_say(const Mirror *mirror, MirrorNotice notice);

/* --- mirror-side.c ------------------------------------------------------------------------ */

/* False when out of memory. */
bool side_init(Side *side, Mirror *mirror, MirrorKind kind, uint64_t seed);

/* Does what is due; when to come again. */
int64_t side_tick(Side *side, int64_t now_nsec);
void side_status(const Side *side, MirrorKindStatus *ret);

/* --- mirror-show.c ------------------------------------------------------------------------ */

/* Shows what is new, if it is time; when to come again. */
int64_t mirror_show(Mirror *mirror, int64_t now_nsec);

/* For the binder: what a job is judged by. */
Snapshot *mirror_current_snapshot(void *mirror);

/* --- mirror-lease.c ----------------------------------------------------------------------- */

/* True also where there is no lease. False when out of memory. */
bool mirror_make_warrant(Mirror *mirror);

/* Does what is due; when to come again. */
int64_t mirror_tend_lease(Mirror *mirror, int64_t now_nsec);

/* For the binder, too. */
bool mirror_may_bind(void *mirror, char *error);

/* --- mirror-status.c ---------------------------------------------------------------------- */

/* What mirror_status() tells from now on. */
void mirror_update_status(Mirror *mirror);
