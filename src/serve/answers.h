#pragma once

/*
 * Answers: what a request gets back.
 *
 * Verbs are answered from the view in force, pages from what the daemon's parts tell of
 * themselves. All of it runs on the server's workers, several at a time; the parts are the
 * daemon's, live longer, and are only read or counted into here.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "extender/verbs.h"
#include "extender/view.h"
#include "serve/callers.h"
#include "serve/decisions.h"
#include "serve/live.h"
#include "serve/measuring.h"
#include "serve/metrics.h"
#include "serve/reload.h"
#include "serve/server.h"
#include "serve/status-page.h"
#include "serve/tls.h"
#include "serve/warnings.h"

/* What carries out a bind. Called on worker threads, several at a time. */
typedef struct BindHook {
    void *context;
    /* Writes a message for kube-scheduler into @error, or leaves it empty for
     * success. */
    void (*bind)(void *context, const BindArgs *args, char *error, size_t size);
} BindHook;

/* Everything is borrowed, and filled in by who owns it before the server starts; but the server
 * itself: whoever has asked for the view finds it. */
typedef struct Answers {
    void *context;
    View *(*view)(void *context); /* a reference to the view in force. Any thread */

    int64_t deadline_nsec;     /* for policies to be evaluated in */
    bool is_quiet;             /* no log of requests */
    const BindHook *bind_hook; /* NULL: bind is refused, unless live binds */
    StatusFixed fixed;         /* what the daemon was told, for its status */

    Metrics *metrics;
    Warnings *warnings;
    Decisions *decisions; /* NULL: none are remembered */
    Reloads *reloads;
    TlsStore *tls; /* NULL: plain HTTP */
    Measuring *measuring;
    Live *live; /* NULL: the cluster is not watched */
    Callers *callers;
    const Server *server;

    _Atomic bool is_draining;
    _Atomic int64_t log_second;
    _Atomic unsigned n_logged;
} Answers;

/* The server's callbacks; @context is an Answers. */
bool answers_admit(void *context, const HttpRequest *request, HttpReply *reply);
void answers_handle(void *context, const HttpRequest *request, HttpReply *reply);
void answers_finished(void *context, const HttpOutcome *outcome);

/* Who reads a page. */
typedef struct Reader {
    bool sees_reasons; /* why a check of health failed; health itself is open to all */
    bool has_verbs;    /* of the listener: they are worth a line on "/" */
} Reader;

/* For another listener, which has a rule of its own about who may ask: what answers_admit() says of
 * path, method and body; all that answers_handle() does but for verbs, which are 404 here; and a
 * refusal, {"Error": text}. */
bool answers_admit_route(const HttpRequest *request, HttpReply *reply);
void answers_show(
    Answers *answers, const HttpRequest *request, const Reader *reader, HttpReply *reply);
void answers_refuse(const HttpRequest *request, HttpReply *reply, unsigned status, Str text);

#define ANSWERS_MISADDRESSED                                                                       \
    "berth: on loopback without TLS pages are shown to who asks for localhost or an address, not " \
    "for another name: a browser could be led here"

/* A bind was answered elsewhere (serve/live.h): counted, remembered and logged like the rest. */
void answers_note_bind(Answers *answers, const Decision *decision);
