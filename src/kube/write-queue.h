#pragma once

/*
 * WriteQueue: sends writes whose result nothing waits for, in the order in which they were added.
 *
 * Writes over waiting_max are dropped and counted; failures are counted. A 403 for lack of rights
 * stops sending for forbidden_sec, and drops writes added in that time. Any other 403 (a quota, a
 * namespace that is being deleted) is a normal failure. A 429 stops sending for its Retry-After, by
 * default WRITE_QUEUE_PAUSE_SEC.
 *
 * If there is a Lease, only the replica that holds it writes; writes that still wait when it is
 * lost or released are dropped. Unlike the Lease of binds it is always wanted, until
 * write_queue_set_wanted() changes that. A lost write is not repeated: the caller sees in the watch
 * that it is missing, and adds it again.
 *
 * Threads: any for write_queue_add(), _drop(), _is_ours() and _figures(); others the client's.
 */

#include "kube/lease.h"

#define WRITE_QUEUE_CALLS_MAX 8u
#define WRITE_QUEUE_WAITING_MAX 256u
#define WRITE_QUEUE_SEC 10 /* time limit of one call */
#define WRITE_QUEUE_PAUSE_SEC 1
#define WRITE_QUEUE_PAUSE_MAX_SEC 60

typedef struct WriteQueue WriteQueue;

typedef struct WriteQueueOptions {
    LeaseOptions lease; /* always with client; without a name there is no lease */
    const char *method, *content_type;
    const char *verb;       /* verb in RBAC: "create" */
    unsigned ok_status;     /* the status of success */
    unsigned n_calls;       /* concurrent calls, at most WRITE_QUEUE_CALLS_MAX */
    unsigned waiting_max;   /* at most WRITE_QUEUE_WAITING_MAX */
    unsigned forbidden_sec; /* 0: a 403 does not stop sending */
    bool skips_same_path;   /* do not add a write while another to its path waits */
} WriteQueueOptions;

typedef struct WriteFigures {
    uint64_t n_written, n_failed, n_dropped;
    uint64_t n_refused;   /* failures with 4xx except 429: the object has changed or is gone */
    size_t n_unanswered;  /* waiting or sent */
    int64_t latency_nsec; /* moving mean of calls; 0: none was answered yet */
    bool is_forbidden;    /* the last answer was a 403 for lack of rights */
} WriteFigures;

WriteQueue *write_queue_new(const WriteQueueOptions *options); /* NULL when out of memory */
WriteQueue *write_queue_free(WriteQueue *queue);               /* takes NULL */

/* Takes the bytes of both buffers, and wakes the client. False: dropped, also if a buffer has
 * failed. */
bool write_queue_add(WriteQueue *queue, Buf *path, Buf *body);
void write_queue_drop(WriteQueue *queue); /* counts a write that was not added */

/* Sends waiting writes while calls are free, and renews the lease; returns when to call again. */
int64_t write_queue_tick(WriteQueue *queue, int64_t now_nsec);

/* Whether this replica writes; and sets whether it wants to. */
bool write_queue_is_ours(const WriteQueue *queue);
void write_queue_set_wanted(WriteQueue *queue, bool is_wanted);

/* Releases the lease. Call it until it returns true. */
bool write_queue_release(WriteQueue *queue);

WriteFigures write_queue_figures(WriteQueue *queue);
