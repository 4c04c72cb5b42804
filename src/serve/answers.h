#pragma once

/*
 * Answers: makes the reply to each request.
 *
 * Verbs are answered from the view in force, on the server's workers, several at a time. Pages
 * (api/routes.h) are made from the daemon's parts, mostly by page workers. The parts are borrowed.
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
    bool is_quiet;             /* no log of requests */
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
    const RequestTime *time; /* its rest may be used to judge again; NULL: none */
    Arena *arena;            /* for that; NULL: none */
    int64_t at_nsec;         /* since 1970: the time that rules were evaluated at */
    int64_t begin_nsec;      /* monotonic: when answering began; -1: not known */
    int64_t now_nsec;        /* monotonic */
} Observation;

/* Records, counts and logs an answered verb: it decides nothing and cannot fail. On the worker that
 * answers, before the reply is sent. */
void answers_observe(Answers *answers, const Observation *o);

/* LiveCallbacks; @context is an Answers. The same for a bind that was answered by live. */
void answers_note_bind(void *context, const Decision *decision);

/* Answers a filter over @view, with answers_observe(). */
void answers_filter(void *context, const View *view, Str body, Arena *arena, Answer *ret);
