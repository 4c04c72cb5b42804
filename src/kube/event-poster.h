#pragma once

/*
 * EventPoster: Kubernetes Events (events.k8s.io/v1) of ours, posted one after the other.
 *
 * Nothing depends on them. What there is no room for is dropped and counted, and so is what
 * fails; when the right is missing, the next try is EVENT_POSTER_FORBIDDEN_SEC later, and what
 * comes meanwhile is dropped. A namespace that takes none is no reason to wait with the others.
 *
 * Threads: event_poster_add() and event_poster_figures() any, the rest the client's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "kube/client.h"

#define EVENT_POSTER_CONTROLLER "berth.dev/berth"
#define EVENT_NOTE_MAX 1024u           /* bytes; the API server refuses more */
#define EVENT_POSTER_INSTANCE_MAX 128u /* the same */
#define EVENT_POSTER_NAME_MAX 200u     /* of the object's name, in that of the Event */
#define EVENT_POSTER_WAITING_MAX 64u   /* Events that wait; more are dropped */
#define EVENT_POSTER_FORBIDDEN_SEC 60
#define EVENT_POSTER_SEC 10 /* one POST */

typedef struct EventPoster EventPoster;

typedef struct PodEvent {
    bool is_warning;
    const char *reason, *action; /* "NoNodePassed", "Filter": words for machines */
    Str note;                    /* for people; cut at EVENT_NOTE_MAX, at a whole character */
    Str namespace, pod, uid;     /* the pod it is about */
} PodEvent;

typedef struct EventPosterOptions {
    Client *client;
    const char *instance;        /* who we are; copied, cut at EVENT_POSTER_INSTANCE_MAX */
    int64_t (*clock)(void);      /* monotonic, in ns */
    int64_t (*wall_clock)(void); /* since 1970, in ns */
} EventPosterOptions;

typedef struct EventPosterFigures {
    uint64_t n_posted, n_failed, n_dropped;
    bool is_forbidden; /* a 403 has come: the right create on events is missing */
} EventPosterFigures;

EventPoster *event_poster_new(const EventPosterOptions *options); /* NULL when out of memory */
EventPoster *event_poster_free(EventPoster *poster);              /* takes NULL */
DEFINE_CLEANUP(EventPoster *, event_poster_free)

/* Copied. False: it is dropped. Whoever calls this from another thread wakes the client. */
bool event_poster_add(EventPoster *poster, const PodEvent *event);

/* Posts what waits, if nothing is under way. */
void event_poster_tick(EventPoster *poster, int64_t now_nsec);

EventPosterFigures event_poster_figures(EventPoster *poster);
