#pragma once

/*
 * Binding: binds a pod to a node by the API server, and finds out the result.
 *
 *     POST ── 201 ──────────────────────────> bound
 *       ├─── refused, no connection ────────> not bound, and why
 *       └─── conflict, broken, no answer ──> GET the pod: bound there, elsewhere, not at all
 *
 * The API server binds a pod once and minds its UID, so a Binding that is sent twice, or
 * whose answer is lost, does no harm: the pod is read then. A result that is not known by the
 * deadline is BINDING_UNKNOWN.
 *
 * Threads: the client's.
 */

#include "kube/client.h"
#include "model/labels.h"

#define BINDING_POST_SEC 5     /* the POST; the remaining time is for reading the pod */
#define BINDING_GET_SEC 3      /* one try to read it */
#define BINDING_PAUSE_MSEC 300 /* between tries */
#define BINDING_ERROR_MAX 512u
#define BINDING_BODY_MAX ((size_t)1024 * 1024)       /* what we send: annotations */
#define BINDING_ANSWER_MAX ((size_t)4 * 1024 * 1024) /* what comes back: a pod */

typedef struct Binding Binding;

typedef enum BindingOutcome {
    BINDING_BOUND,
    BINDING_FAILED,  /* it is not bound there by us */
    BINDING_UNKNOWN, /* it may be */
    BINDING_UNBOUND, /* with only_reads: the pod has no node */
} BindingOutcome;

typedef struct BindingOptions {
    Client *client;
    bool only_reads;                /* where the pod is: nothing is posted */
    int64_t decided_nsec;           /* ... it has no node only if it has none at this time */
    int64_t deadline_nsec;          /* done() is called by then, if binding_tick() is */
    Str namespace, name, uid, node; /* valid names; borrowed until done() */
    Labels annotations;             /* may be empty; borrowed */
    void *context;
    /* Right before it leaves: is it still to? False: it has failed. NULL: always. */
    bool (*may_send)(void *context);
    /* Called once, never from inside binding_new(). @error is NULL when bound. The caller frees the
     * binding, there or later. */
    void (*done)(void *context, BindingOutcome outcome, const char *error);
} BindingOptions;

/* Sends it, or reads the pod. NULL when out of memory. */
Binding *binding_new(const BindingOptions *options);
Binding *binding_free(Binding *binding); /* done() is not called any more. Takes NULL */

/* In done(): the other node that the pod was found on; empty: none. */
Str binding_found_on(const Binding *binding);

/* Does the work that is due. Returns when to call again, or INT64_MAX: it may be freed by then. */
int64_t binding_tick(Binding *binding, int64_t now_nsec);
