#pragma once

/*
 * Shared by the files of the reflector:
 *
 *     reflector.c         starts calls, and decides after each how to continue
 *     reflector-watch.c   the documents of a watch
 */

#include "kube/backoff.h"
#include "kube/document-splitter.h"
#include "kube/reflector.h"

typedef enum ReflectorState {
    STATE_WAITING,   /* until next_at */
    STATE_STREAMING, /* a watch sends the list */
    STATE_LISTING,   /* a call for a page */
    STATE_WATCHING,
} ReflectorState;

/* How to continue after a failed call. */
typedef enum NextStep {
    NEXT_RESUME, /* the same page, or a watch from our version */
    NEXT_LIST,   /* a new list */
} NextStep;

/* Why a call failed, and how to continue. */
typedef struct CallFailure {
    bool is_set;     /* handled when the client reports the end of the call */
    bool is_stall;   /* counts as a stall, if this was a streamed list */
    bool is_expired; /* no error: our version is too old */
    bool is_refused; /* 401, 403 or 404 */
    bool is_no_list; /* the server cannot stream lists: request pages at once */
    NextStep next;
    int retry_after_sec;
    char why[REFLECTOR_ERROR_MAX];
} CallFailure;

struct Reflector {
    Client *client;
    ReflectorOptions options;
    Backoff backoff;
    Arena *arena; /* for one document at a time */

    ReflectorState state;
    int64_t next_at; /* STATE_WAITING: when to start */
    Call *call;      /* NULL in STATE_WAITING */
    unsigned status; /* HTTP status of the call; 0: none yet */
    CallFailure failure;
    int64_t started_at;  /* of the call */
    int64_t document_at; /* of the last whole document, or started_at */
    bool has_received;   /* a document came in this call */

    bool needs_list;
    bool can_stream;
    unsigned n_stalls;
    bool is_staging;       /* the sink has an incomplete list */
    int64_t list_began_at; /* the list shows all objects that existed then */
    bool is_counted;       /* the list is counted in @figures */
    bool has_malformed;    /* the last list had invalid JSON */
    unsigned n_refusals;
    unsigned page_items;
    unsigned n_requested;                    /* objects requested by all pages so far */
    char version[REFLECTOR_VERSION_MAX + 1]; /* resourceVersion to continue from */
    size_t version_len;
    Buf continue_token; /* of the next page; empty: the first page */

    DocumentSplitter splitter; /* for watches */
    Buf body;                  /* a page, or the body of an error */
    Buf deferred;              /* events in a streamed list, applied after it */

    ReflectorFigures figures;
};

/* reflector.c */

/* Ends the call with an error; returns false, as data() must. When the client reports the end,
 * @next follows. */
__attribute__((format(printf, 3, 4))) bool reflector_end_call(
    Reflector *reflector, NextStep next, const char *format, ...);

/* Continues from @version. Returns false if it is invalid. */
bool reflector_set_version(Reflector *reflector, Str version);

void reflector_notice(
    Reflector *reflector, ReflectorNotice what, const char *why, int64_t retry_nsec);

/* reflector-watch.c */

/* Takes the next bytes of a watch or a streamed list. Returns false if the call must end. */
bool watch_take(Reflector *reflector, Str bytes);

void list_begin(Reflector *reflector);

/* Drops the incomplete list; a new one is needed. */
void list_drop(Reflector *reflector);

/* Adds the page in @body to the list, or ends the list. Returns false after
 * reflector_end_call(). */
bool list_take_page(Reflector *reflector);
