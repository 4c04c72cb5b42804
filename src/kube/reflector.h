#pragma once

/*
 * Reflector: one resource of the API server, listed once and then watched.
 *
 *            ┌─ streamed list: a watch that begins with everything there is ─┐
 *     wait ──┤                                                               ├─> watch ──> wait
 *            └─ paged list, where the server cannot do that ─────────────────┘
 *
 * After a watch has ended, the next one goes on from the newest resourceVersion seen. Only when the
 * API server no longer knows that version (410), or sent something that cannot be read, everything
 * is listed again; the sink keeps the old state until the new one is whole.
 *
 * An object that the sink cannot read is skipped and counted. A resourceVersion is opaque.
 *
 * No thread: answers come through the client.
 */

#include "cluster/store.h"
#include "kube/api-objects.h"
#include "kube/client.h"

#define REFLECTOR_ERROR_MAX 512u
#define REFLECTOR_VERSION_MAX 256u                        /* a resourceVersion */
#define REFLECTOR_CONTINUE_MAX ((size_t)8 * 1024)         /* where a paged list goes on */
#define REFLECTOR_DOCUMENT_MAX ((size_t)8 * 1024 * 1024)  /* one event; etcd's objects are 1.5 */
#define REFLECTOR_PAGE_MAX ((size_t)64 * 1024 * 1024)     /* one page of a list */
#define REFLECTOR_DEFERRED_MAX ((size_t)64 * 1024 * 1024) /* events inside a streamed list */
#define REFLECTOR_REFUSAL_MAX ((size_t)64 * 1024)         /* the body of a refusal */
#define REFLECTOR_PAGE_ITEMS 500u                         /* objects requested at once */
#define REFLECTOR_PAGE_ITEMS_MOST 5000u                   /* ... after a list took too long */
#define REFLECTOR_PAGE_ITEMS_LEAST 10u                    /* ... after a page was too large */
/* Objects requested for one list, page by page: a server that continues for ever is refused. Twice
 * what the store holds, as a page may bring fewer than requested. */
#define REFLECTOR_LIST_MAX (2u * STORE_PODS_MAX)
#define REFLECTOR_PAGE_SEC 60                              /* one page, in all */
#define REFLECTOR_STREAM_SEC 300                           /* a streamed list, in all */
#define REFLECTOR_FIRST_BYTE_SEC (30 + CLIENT_CONNECT_SEC) /* of a watch */
#define REFLECTOR_CATCH_UP_SEC 5      /* a watch first sends the missed events */
#define REFLECTOR_WATCH_LEAST_SEC 300 /* a watch is to last so long */
#define REFLECTOR_WATCH_MOST_SEC 600
#define REFLECTOR_REFUSALS_MAX 3 /* watches in a row that bring nothing but errors; then: list */
#define REFLECTOR_STALLS_MAX 2   /* streamed lists that do not end; then: pages */

typedef struct Reflector Reflector;

/* Results of a sink. Negative: -ENOMEM; everything is listed again. */
enum {
    _SINK_TAKEN,
    SINK_UNFIT,     /* JSON, but no object that we can use: it counts as not there */
    SINK_MALFORMED, /* not valid JSON */
};

typedef enum ReflectorNotice {
    REFLECTOR_CONNECTED, /* the API server answers, for the first time or again */
    REFLECTOR_SYNCED,    /* a list is complete */
    REFLECTOR_EXPIRED,   /* the version we hold is too old: a list follows, nothing is wrong */
    REFLECTOR_LOST,      /* a call has gone wrong; why, and when the next one is */
} ReflectorNotice;

typedef struct ReflectorSink {
    void *context;
    void (*begin)(void *context);           /* a list begins; drops one that was begun */
    int (*item)(void *context, Str object); /* one object of it; a later one of its name wins */
    int (*end)(void *context);              /* it is whole. 0, or -ENOMEM */
    /* ADDED, MODIFIED or DELETED. */
    int (*apply)(void *context, WatchEventType type, const ObjectMeta *meta, Str object);
    void (*notice)(void *context, ReflectorNotice notice, const char *why, int64_t retry_nsec);
} ReflectorSink;

typedef struct ReflectorOptions {
    const char *path;     /* "/api/v1/nodes"; outlives the reflector */
    const char *resource; /* "nodes": for messages about rights */
    uint64_t seed;        /* of delays and of how long watches last */
    unsigned silence_sec; /* a watch without a whole document for so long is given up */
    ReflectorSink sink;
} ReflectorOptions;

/* Does nothing before the first reflector_tick(). @client outlives it. NULL when out of
 * memory. */
Reflector *reflector_new(Client *client, const ReflectorOptions *options);
Reflector *reflector_free(Reflector *reflector); /* takes NULL */

/* Does the work that is due at @now_nsec. Returns when to call again. Not from inside a sink. */
int64_t reflector_tick(Reflector *reflector, int64_t now_nsec);

/* Lists everything again, now or at the next allowed try, to see everything committed so far. The
 * old state stays until the list is complete. Not from inside a sink. */
void reflector_list_again(Reflector *reflector);

typedef struct ReflectorFigures {
    bool is_synced;    /* one complete list has been seen */
    bool is_connected; /* false from a failure until the API server answers again */
    /* Last time it was known to be complete: the last event or bookmark of a watch that has had
     * time to catch up, or when the last whole list was begun; 0: never. Events before that have
     * reached the sink. */
    int64_t synced_at_nsec;
    int64_t updated_at_nsec; /* last byte of an answer that was no refusal; 0: never */
    /* When the last list that is whole was begun: it shows everything that was committed by then.
     * 0: never. */
    int64_t listed_at_nsec;
    uint64_t n_lists;    /* streamed or paged; here and below, those that were answered */
    uint64_t n_watches;  /* streamed lists included */
    uint64_t n_restarts; /* ... of them, those that went on where another ended */
    uint64_t n_added, n_modified, n_deleted, n_bookmarks, n_errors, n_unknown;
    uint64_t n_malformed; /* documents that could not be read: a new list follows */
    uint64_t n_unfit;     /* objects that were skipped */
    uint64_t n_bytes;
    uint64_t n_failures;
    bool is_refused; /* the last failure was a refusal that lasts: 401, 403 or 404 */
    char last_error[REFLECTOR_ERROR_MAX]; /* empty while connected */
} ReflectorFigures;

const ReflectorFigures *reflector_figures(const Reflector *reflector);

/* Bytes it holds of what came and has not been taken yet: for tests of the ceilings. */
size_t reflector_held(const Reflector *reflector);
