#pragma once

/*
 * WriteQueue: writes to the API server that nothing waits for, sent in the order they were added.
 *
 * Writes over waiting_max are dropped and counted; failures are counted. A 403 for lack of rights
 * stops sending for forbidden_sec, and drops writes that are added meanwhile. Any other 403 (a
 * quota, a namespace that is being deleted) is a failure like others. A 429 stops sending for as
 * long as the API server says, WRITE_QUEUE_PAUSE_SEC if it does not.
 *
 * If there is a Lease, only its holder among several berths writes. Unlike the Lease of binds it is
 * always wanted, until write_queue_set_wanted() changes that. The caller adds a write that was lost
 * again, because the watch does not show it.
 *
 * Threads: write_queue_add(), _drop(), _is_ours() and _figures() any, the rest the client's.
 */

#include "kube/lease.h"

#define WRITE_QUEUE_CALLS_MAX 8u
#define WRITE_QUEUE_WAITING_MAX 256u
#define WRITE_QUEUE_SEC 10 /* one call */
#define WRITE_QUEUE_PAUSE_SEC 1
#define WRITE_QUEUE_PAUSE_MAX_SEC 60

typedef struct WriteQueue WriteQueue;

typedef struct WriteQueueOptions {
    LeaseOptions lease; /* client always; without a name there is one berth, and no lease */
    const char *method, *content_type;
    const char *verb;       /* of RBAC: "create" */
    unsigned ok_status;     /* the only status that is a success */
    unsigned n_calls;       /* at a time, at most WRITE_QUEUE_CALLS_MAX */
    unsigned waiting_max;   /* at most WRITE_QUEUE_WAITING_MAX */
    unsigned forbidden_sec; /* 0: a 403 does not stop sending */
    bool skips_same_path;   /* a write is not added while another to its path waits */
} WriteQueueOptions;

typedef struct WriteFigures {
    uint64_t n_written, n_failed, n_dropped;
    uint64_t n_refused;   /* of the failed: by 4xx, but 429; the object has changed, or is gone */
    size_t n_unanswered;  /* waiting, or under way */
    int64_t latency_nsec; /* of one call, a moving mean; 0: none was answered yet */
    bool is_forbidden;    /* by the last answer the right is missing */
} WriteFigures;

WriteQueue *write_queue_new(const WriteQueueOptions *options); /* NULL when out of memory */
WriteQueue *write_queue_free(WriteQueue *queue);               /* takes NULL */

/* Takes the bytes of both, and wakes the client; false: dropped, as when one of them has failed. */
bool write_queue_add(WriteQueue *queue, Buf *path, Buf *body);
void write_queue_drop(WriteQueue *queue); /* counts a write that could not be made */

/* Sends what waits, as far as calls are free, and keeps the lease; returns when to call again. */
int64_t write_queue_tick(WriteQueue *queue, int64_t now_nsec);

/* Whether this berth is the one that writes; whether it wants to be. */
bool write_queue_is_ours(const WriteQueue *queue);
void write_queue_set_wanted(WriteQueue *queue, bool is_wanted);

/* Gives the lease up. True when there is nothing left to do: call again until it is. */
bool write_queue_release(WriteQueue *queue);

WriteFigures write_queue_figures(WriteQueue *queue);
