#pragma once

/*
 * Binding: binds a pod to a node through the API server, and finds out the result.
 *
 *     POST ── 201 ──────────────────────────> bound
 *       ├─── refused, no connection ────────> not bound, and why
 *       └─── conflict, broken, no answer ──> GET the pod: bound there, elsewhere, not at all
 *
 * The API server binds a pod only once and checks its UID, so a Binding that is sent twice does no
 * harm; if its answer is lost, the pod is read. A result not known by the deadline is
 * BINDING_UNKNOWN.
 *
 * Threads: only the client's.
 */

#include "kube/client.h"
#include "model/labels.h"

#define BINDING_POST_SEC 5     /* for the POST; the remaining time is for reading the pod */
#define BINDING_GET_SEC 3      /* for one read of the pod */
#define BINDING_PAUSE_MSEC 300 /* between reads */
#define BINDING_ERROR_MAX 512u
#define BINDING_BODY_MAX ((size_t)1024 * 1024)       /* the request, with annotations */
#define BINDING_ANSWER_MAX ((size_t)4 * 1024 * 1024) /* the answer, a pod */

typedef struct Binding Binding;

typedef enum BindingOutcome {
    BINDING_BOUND,
    BINDING_FAILED,  /* this did not bind the pod to the node */
    BINDING_UNKNOWN, /* this may have bound it */
    BINDING_UNBOUND, /* with only_reads: the pod has no node */
} BindingOutcome;

typedef struct BindingOptions {
    Client *client;
    bool only_reads;      /* only find out the pod's node */
    int64_t decided_nsec; /* with only_reads: BINDING_UNBOUND only if it has no node at this time */
    int64_t deadline_nsec;          /* binding_tick() calls done() by then */
    Str namespace, name, uid, node; /* valid names; borrowed until done() */
    Labels annotations;             /* may be empty; borrowed */
    void *context;
    /* Called right before the POST is sent; false: it fails. NULL: always send. */
    bool (*may_send)(void *context);
    /* Called once, never inside binding_new(). @error is NULL if bound. The caller frees the
     * binding, in done() or later. */
    void (*done)(void *context, BindingOutcome outcome, const char *error);
} BindingOptions;

/* Starts the POST, or with only_reads the GET. NULL when out of memory. */
Binding *binding_new(const BindingOptions *options);
Binding *binding_free(Binding *binding); /* without done(). Takes NULL */

/* In done(): the other node on which the pod was found; empty: none. */
Str binding_found_on(const Binding *binding);

/* Does due work. Returns when to call again; INT64_MAX: done() was called, the binding may be
 * freed. */
int64_t binding_tick(Binding *binding, int64_t now_nsec);
