#pragma once

/*
 * Answers: what a request gets back.
 *
 * Verbs are answered from the view in force, on the server's workers, several at a time. Pages
 * (serve/page-answers.h) are made of what the daemon's parts tell of themselves, mostly by clerks.
 * The parts are the daemon's, live longer, and are only read or counted into here.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "extender/verbs.h"
#include "extender/view.h"
#include "http/server.h"
#include "http/tls.h"
#include "serve/board-hook.h"
#include "serve/callers.h"
#include "serve/changes.h"
#include "serve/clerk.h"
#include "serve/current.h"
#include "serve/decisions.h"
#include "serve/latency.h"
#include "serve/live.h"
#include "serve/measuring.h"
#include "serve/metrics.h"
#include "serve/reload.h"
#include "serve/status-page.h"
#include "serve/updates.h"
#include "serve/warnings.h"

/* What carries out a bind. Called on worker threads, several at a time. */
typedef struct BindHook {
    void *context;
    /* Writes a message for kube-scheduler into @error, or leaves it empty for
     * success. */
    void (*bind)(void *context, const BindArgs *args, char *error, size_t size);
} BindHook;

/* Counted since the start. */
typedef struct AnswerCounts {
    _Atomic uint64_t answered[_VERB_MAX];
    _Atomic uint64_t rejected_nodes; /* by rules, in filters */
} AnswerCounts;

/* Everything is borrowed, and filled in by who owns it before the server starts; but the server
 * itself: whoever has asked for the view finds it. */
typedef struct Answers {
    Current *current; /* where the view in force is */

    bool is_quiet;             /* no log of requests */
    const BindHook *bind_hook; /* NULL: bind is refused, unless live binds */
    StatusFixed fixed;         /* what the daemon was told */

    Metrics *metrics;
    Warnings *warnings;
    Decisions *decisions; /* NULL: none are remembered */
    Reloads *reloads;
    TlsStore *tls; /* NULL: plain HTTP */
    Measuring *measuring;
    Live *live; /* NULL: the cluster is not watched */
    Callers *callers;
    Changes *changes;
    Latency *latency;
    const BoardHook *board; /* NULL: nobody draws pages for people */
    bool board_on_verbs;    /* they are shown on the verbs' listener, ... */
    bool board_on_pages;    /* ... and on that of the pages */
    Clerk *clerk;
    Updates *updates;
    const Server *server;

    AnswerCounts counts;
    _Atomic bool is_draining;
    _Atomic int64_t log_second;
    _Atomic unsigned n_logged;
} Answers;

/* The server's callbacks; @context is an Answers. */
bool answers_admit(void *context, const HttpRequest *request, HttpReply *reply);
void answers_handle(void *context, const HttpRequest *request, HttpReply *reply);
void answers_finished(void *context, const HttpOutcome *outcome);

/* A bind was answered elsewhere (serve/live.h): counted, remembered and logged like the rest. */
void answers_note_bind(Answers *answers, const Decision *decision);
