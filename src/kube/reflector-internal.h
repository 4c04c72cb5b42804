#pragma once

/*
 * Shared by the files of the reflector:
 *
 *     reflector.c         calls: how they begin, how they end, and what comes after
 *     reflector-watch.c   the documents of a watch
 */

#include "kube/backoff.h"
#include "kube/document-splitter.h"
#include "kube/reflector.h"

typedef enum ReflectorState {
    STATE_WAITING,   /* until next_at */
    STATE_STREAMING, /* a watch sends what there is */
    STATE_LISTING,   /* a page is under way */
    STATE_WATCHING,
} ReflectorState;

/* How to go on after a call. */
typedef enum NextStep {
    NEXT_RESUME, /* where we were: the same page, or a watch from the version we have */
    NEXT_LIST,   /* everything, from the start */
} NextStep;

/* How a call has gone wrong, and how to go on. */
typedef struct CallFailure {
    bool is_set;     /* by head() or data(): handled when the client reports the end */
    bool is_stall;   /* a reason not to stream, if this was a streamed list */
    bool is_expired; /* nothing is wrong: our version is too old, as versions become */
    bool is_refused; /* 401, 403 or 404 */
    bool is_no_list; /* the server knows no streamed lists: pages, at once */
    NextStep next;
    int retry_after_sec;
    char why[REFLECTOR_ERROR_MAX];
} CallFailure;

struct Reflector {
    Client *client;
    ReflectorOptions options;
    Backoff backoff;
    Arena *arena; /* of one document */

    ReflectorState state;
    int64_t next_at; /* waiting: when to start */
    Call *call;      /* not waiting */
    unsigned status; /* of the call's answer; 0: none yet */
    CallFailure failure;
    int64_t started_at;  /* the call */
    int64_t document_at; /* the last whole document, or the start of the call */
    bool has_received;   /* a document came in this call */

    bool needs_list;
    bool can_stream;
    unsigned n_stalls;
    bool is_staging;       /* the sink has a list that is not whole */
    int64_t list_began_at; /* ... which shows everything that was there at this time */
    bool is_counted;       /* ... and the API server has answered */
    bool has_malformed;    /* the last list held objects that are not JSON */
    unsigned n_refusals;
    unsigned page_items;
    unsigned n_requested;                    /* objects, in all pages of the list so far */
    char version[REFLECTOR_VERSION_MAX + 1]; /* go on from here */
    size_t version_len;
    Buf continue_token; /* listing: the page to request; empty: the first */

    DocumentSplitter splitter; /* watches */
    Buf body;                  /* a page, or why the server refused */
    Buf deferred;              /* events inside a streamed list that are to come after it */

    ReflectorFigures figures;
};

/* reflector.c */

/* Ends the call with an error, if it has not ended; returns false, for data() to return. @next is
 * done when the client reports the end. */
__attribute__((format(printf, 3, 4))) bool reflector_end_call(
    Reflector *reflector, NextStep next, const char *format, ...);

/* Go on from @version. Returns false if it cannot be one. */
bool reflector_set_version(Reflector *reflector, Str version);

void reflector_notice(
    Reflector *reflector, ReflectorNotice what, const char *why, int64_t retry_nsec);

/* reflector-watch.c */

/* The next bytes of a watch, or of a streamed list. Returns false if the call is to end. */
bool watch_take(Reflector *reflector, Str bytes);

void list_begin(Reflector *reflector);

/* Drops the list so far; another one is needed. */
void list_drop(Reflector *reflector);

/* The page in body becomes a part of it, or its end. Returns false after reflector_end_call(). */
bool list_take_page(Reflector *reflector);
