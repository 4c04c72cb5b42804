#pragma once

/*
 * Announce: Kubernetes Events (events.k8s.io/v1) of ours, posted one after the other.
 *
 * Nothing depends on them. What there is no room for is dropped and counted, and so is what
 * fails; when the right is missing, the next try is ANNOUNCE_FORBIDDEN_SEC later, and what comes
 * meanwhile is dropped. A namespace that takes none is no reason to wait with the others.
 *
 * Threads: announce_add() and announce_figures() any, the rest the client's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "kube/client.h"

#define ANNOUNCE_CONTROLLER "berth.dev/berth"
#define ANNOUNCE_NOTE_MAX 1024u    /* bytes; the API server refuses more */
#define ANNOUNCE_INSTANCE_MAX 128u /* the same */
#define ANNOUNCE_NAME_MAX 200u     /* of the object's name, in that of the Event */
#define ANNOUNCE_WAITING_MAX 64u   /* Events that wait; more are dropped */
#define ANNOUNCE_FORBIDDEN_SEC 60
#define ANNOUNCE_SEC 10 /* one POST */

typedef struct Announce Announce;

typedef struct Announcement {
    bool is_warning;
    const char *reason, *action; /* "NoNodePassed", "Filter": words for machines */
    Str note;                    /* for people; cut at ANNOUNCE_NOTE_MAX, at a whole character */
    Str namespace, pod, uid;     /* the pod it is about */
} Announcement;

typedef struct AnnounceOptions {
    Client *client;
    const char *instance;        /* who we are; copied, cut at ANNOUNCE_INSTANCE_MAX */
    int64_t (*clock)(void);      /* monotonic, in ns */
    int64_t (*wall_clock)(void); /* since 1970, in ns */
} AnnounceOptions;

typedef struct AnnounceFigures {
    uint64_t n_posted, n_failed, n_dropped;
    bool is_forbidden; /* a 403 has come: the right create on events is missing */
} AnnounceFigures;

Announce *announce_new(const AnnounceOptions *options); /* NULL when out of memory */
Announce *announce_free(Announce *announce);            /* takes NULL */
DEFINE_CLEANUP(Announce *, announce_free)

/* Copied. False: it is dropped. Whoever calls this from another thread wakes the client. */
bool announce_add(Announce *announce, const Announcement *announcement);

/* Posts what waits, if nothing is under way. */
void announce_tick(Announce *announce, int64_t now_nsec);

AnnounceFigures announce_figures(Announce *announce);
