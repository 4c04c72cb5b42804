#pragma once

/*
 * Answers: makes the reply to each request.
 *
 * Verbs are answered from the view in force, on the server's workers, several at a time. Pages
 * (api/routes.h) are made from the daemon's parts, mostly by page
 * workers. The parts are the daemon's, live longer, and are only read or counted into here.
 */

#include <stdatomic.h>

#include "api/context.h"
#include "extender/verbs.h"
#include "http/server.h"
#include "live/node-wait.h"
#include "monitor/warnings.h"

/* Executes a bind. Called on worker threads, several at a time. */
typedef struct BindHook {
    void *context;
    /* Writes a message for kube-scheduler into @error, or leaves it empty for
     * success. */
    void (*bind)(void *context, const BindArgs *args, char *error, size_t size);
} BindHook;

/* Everything is borrowed, and set before the server starts. */
typedef struct Answers {
    ApiContext *api;           /* the daemon's parts */
    bool is_quiet;             /* no log of requests */
    const BindHook *bind_hook; /* NULL: bind is refused, unless live binds */
    Warnings *warnings;

    NodeWait node_wait;
    _Atomic int64_t log_second;
    _Atomic unsigned n_logged;
} Answers;

/* The server's callbacks; @context is an Answers. */
bool answers_admit(void *context, const HttpRequest *request, HttpReply *reply);
void answers_handle(void *context, const HttpRequest *request, HttpReply *reply);
void answers_finished(void *context, const HttpOutcome *outcome);

/* Runs the observers for a bind that was answered elsewhere (live/live.h). */
void answers_note_bind(Answers *answers, const Decision *decision);

/* Answers a filter, with its observers, over @view. */
void answers_filter(Answers *answers, const View *view, Str body, Arena *arena, Answer *ret);
