#pragma once

/*
 * Reflector: lists one resource of the API server, then watches it.
 *
 *            ┌─ streamed list: a watch that begins with everything there is ─┐
 *     wait ──┤                                                               ├─> watch ──> wait
 *            └─ paged list, where the server cannot do that ─────────────────┘
 *
 * After a watch has ended, the next one continues from the newest resourceVersion. Only if the API
 * server no longer knows that version (410), or sent an unreadable document, all is listed again;
 * the sink keeps the old state until the new list is complete.
 *
 * Objects that the sink cannot read are skipped and counted. A resourceVersion is opaque.
 *
 * It has no thread: the client calls it.
 */

#include "cluster/store.h"
#include "kube/api-objects.h"
#include "kube/client.h"

#define REFLECTOR_ERROR_MAX 512u
#define REFLECTOR_VERSION_MAX 256u                        /* a resourceVersion */
#define REFLECTOR_CONTINUE_MAX ((size_t)8 * 1024)         /* a continue token */
#define REFLECTOR_DOCUMENT_MAX ((size_t)8 * 1024 * 1024)  /* one event; etcd allows 1.5 MiB */
#define REFLECTOR_PAGE_MAX ((size_t)64 * 1024 * 1024)     /* one page of a list */
#define REFLECTOR_DEFERRED_MAX ((size_t)64 * 1024 * 1024) /* events in a streamed list */
#define REFLECTOR_REFUSAL_MAX ((size_t)64 * 1024)         /* the body of an error */
#define REFLECTOR_PAGE_ITEMS 500u                         /* objects requested at once */
#define REFLECTOR_PAGE_ITEMS_MOST 5000u                   /* after a list took too long */
#define REFLECTOR_PAGE_ITEMS_LEAST 10u                    /* after a page was too large */
/* Limit for objects requested by the pages of one list, in case it never ends. Twice the store's
 * limit, since a page may have fewer than requested. */
#define REFLECTOR_LIST_MAX (2u * STORE_PODS_MAX)
#define REFLECTOR_PAGE_SEC 60                              /* one page, in total */
#define REFLECTOR_STREAM_SEC 300                           /* a streamed list, in total */
#define REFLECTOR_FIRST_BYTE_SEC (30 + CLIENT_CONNECT_SEC) /* of a watch */
#define REFLECTOR_CATCH_UP_SEC 5      /* a watch first sends the missed events */
#define REFLECTOR_WATCH_LEAST_SEC 300 /* a watch lasts at least this long */
#define REFLECTOR_WATCH_MOST_SEC 600
#define REFLECTOR_REFUSALS_MAX 3 /* failed watches in a row before a new list */
#define REFLECTOR_STALLS_MAX 2   /* streamed lists that do not end before pages are used */

typedef struct Reflector Reflector;

/* Results of a sink; or -ENOMEM: all is listed again. */
enum {
    _SINK_TAKEN,
    SINK_UNFIT,     /* JSON, but not a usable object: treated as absent */
    SINK_MALFORMED, /* not valid JSON */
};

typedef enum ReflectorNotice {
    REFLECTOR_CONNECTED, /* the API server answers, for the first time or again */
    REFLECTOR_SYNCED,    /* a list is complete */
    REFLECTOR_EXPIRED,   /* our version is too old: a list follows; no error */
    REFLECTOR_LOST,      /* a call failed; with the reason, and when the next follows */
} ReflectorNotice;

typedef struct ReflectorSink {
    void *context;
    void (*begin)(void *context);           /* a list begins; drops an incomplete one */
    int (*item)(void *context, Str object); /* one object; of the same name the last wins */
    int (*end)(void *context);              /* the list is complete. 0, or -ENOMEM */
    /* ADDED, MODIFIED or DELETED. */
    int (*apply)(void *context, WatchEventType type, const ObjectMeta *meta, Str object);
    void (*notice)(void *context, ReflectorNotice notice, const char *why, int64_t retry_nsec);
} ReflectorSink;

typedef struct ReflectorOptions {
    const char *path;     /* "/api/v1/nodes"; borrowed */
    const char *resource; /* "nodes": for messages about rights */
    uint64_t seed;        /* for delays and durations of watches */
    unsigned silence_sec; /* a watch without a whole document for this time is ended */
    ReflectorSink sink;
} ReflectorOptions;

/* Does nothing before the first reflector_tick(). Borrows @client. NULL when out of memory. */
Reflector *reflector_new(Client *client, const ReflectorOptions *options);
Reflector *reflector_free(Reflector *reflector); /* takes NULL */

/* Does due work; returns when to call again. Not from inside a sink. */
int64_t reflector_tick(Reflector *reflector, int64_t now_nsec);

/* Lists again, now or at the next allowed try, to see all that is committed so far. The old state
 * stays until the list is complete. Not from inside a sink. */
void reflector_list_again(Reflector *reflector);

typedef struct ReflectorFigures {
    bool is_synced;    /* a list was completed */
    bool is_connected; /* false from a failure until the API server answers again */
    /* All events before this time have reached the sink: the last event or bookmark of a watch that
     * had time to catch up, or the start of the last complete list; 0: never. */
    int64_t synced_at_nsec;
    int64_t updated_at_nsec; /* last byte of an answer with status 200; 0: never */
    /* Start of the last complete list, which shows all that was committed by then; 0: never. */
    int64_t listed_at_nsec;
    uint64_t n_lists;    /* streamed or paged; answered, like all below */
    uint64_t n_watches;  /* with streamed lists */
    uint64_t n_restarts; /* watches that continued an earlier one */
    uint64_t n_added, n_modified, n_deleted, n_bookmarks, n_errors, n_unknown;
    uint64_t n_malformed; /* unreadable documents, after which a list follows */
    uint64_t n_unfit;     /* skipped objects */
    uint64_t n_bytes;
    uint64_t n_failures;
    bool is_refused;                      /* the last failure was a 401, 403 or 404 */
    char last_error[REFLECTOR_ERROR_MAX]; /* empty while connected */
} ReflectorFigures;

const ReflectorFigures *reflector_figures(const Reflector *reflector);

/* Bytes of received data that are still kept, for tests of the limits. */
size_t reflector_held(const Reflector *reflector);
