#pragma once

/*
 * Answers: replies to each request.
 *
 * The server's workers answer verbs from the view in force, several at a time. Pages (api/routes.h)
 * are made from the daemon's parts, usually by page workers. The parts are borrowed.
 */

#include <stdatomic.h>

#include "api/context.h"
#include "extender/verbs.h"
#include "http/server.h"
#include "live/current.h"
#include "monitor/warnings.h"

/* Executes a bind. Called on worker threads, several at a time. */
typedef struct BindHook {
    void *context;
    /* Writes a message for kube-scheduler into @error, or leaves it empty for success. */
    void (*bind)(void *context, const BindArgs *args, char *error, size_t size);
} BindHook;

/* Everything is borrowed, and set before the server starts. */
typedef struct Answers {
    ApiContext *api;           /* the daemon's parts */
    bool is_quiet;             /* requests are not logged */
    const BindHook *bind_hook; /* NULL: bind is refused, unless live binds */
    Warnings warnings;

    NodeWait node_wait;
    KeptPods kept_pods;
    _Atomic int64_t log_second;
    _Atomic unsigned n_logged;
} Answers;

/* The server's callbacks; @context is an Answers. */
bool answers_admit(void *context, const HttpRequest *request, HttpReply *reply);
void answers_handle(void *context, const HttpRequest *request, HttpReply *reply);
void answers_finished(void *context, const HttpOutcome *outcome);

typedef struct Observation {
    Verb verb;
    const View *view;
    const Decision *decision;
    const RequestTime *time; /* its rest may be used to evaluate again; NULL: none */
    Arena *arena;            /* for that; NULL: none */
    int64_t at_nsec;         /* since 1970: the time for which rules were evaluated */
    int64_t begin_nsec;      /* monotonic: begin of the answer; -1: unknown */
    int64_t now_nsec;        /* monotonic */
} Observation;

/* Records, counts and logs an answered verb. It changes no answer and cannot fail. Called by the
 * worker that answers, before the reply is sent. */
void answers_observe(Answers *answers, const Observation *o);

/* The same for a bind that live has answered. A function of LiveCallbacks; @context: an Answers. */
void answers_note_bind(void *context, const Decision *decision);

/* Answers a filter over @view, and calls answers_observe(). @context is an Answers. */
void answers_filter(void *context, const View *view, Str body, Arena *arena, Answer *ret);
