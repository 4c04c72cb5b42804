#pragma once

/*
 * PublishWriter: writes extended resources and labels of nodes, or the status of policies, on one
 * berth of several.
 *
 * With a Lease the holder writes; the lease is always wanted, other than that of binds (which
 * follows kube-scheduler). Without one there is one berth. Writes are a queue (kube/write-queue.h):
 * what is lost is written again by who asked for it, since the watch does not show it.
 *
 * Threads: publish_writer_is_ours(), _add(), _patch() and _figures() any, the rest the client's.
 */

#include "kube/lease.h"
#include "kube/write-queue.h"

#define PUBLISH_CONTENT_TYPE "application/merge-patch+json"
#define PUBLISH_REMOVED (-1)
#define PUBLISH_CALLS 4u

typedef enum PublishTarget {
    PUBLISH_TO_STATUS, /* an extended resource: capacity and allocatable of nodes/status */
    PUBLISH_TO_LABELS, /* a label of the node, with the value "true" */
} PublishTarget;

typedef struct PublishChange {
    PublishTarget target;
    Str node;
    Str name;  /* of the resource, or the label's key */
    int64_t n; /* of the resource; PUBLISH_REMOVED: there is none, nor the label */
} PublishChange;

/* The request for it. Its method is PATCH. */
void publish_path(const PublishChange *change, Buf *out);
void publish_body(const PublishChange *change, Buf *out);

typedef struct PublishWriter PublishWriter;

typedef struct PublishWriterOptions {
    LeaseOptions lease; /* name NULL: there is one berth, and no lease */
    unsigned n_calls;   /* at a time; 0: PUBLISH_CALLS */
} PublishWriterOptions;

PublishWriter *publish_writer_new(const PublishWriterOptions *options); /* NULL: out of memory */
PublishWriter *publish_writer_free(PublishWriter *writer);              /* takes NULL */
DEFINE_CLEANUP(PublishWriter *, publish_writer_free)

/* Whether this berth writes. */
bool publish_writer_is_ours(const PublishWriter *writer);

/* The caller wakes the client. False: it is dropped. */
bool publish_writer_add(PublishWriter *writer, const PublishChange *change);

/* The same for any object: a merge patch, whose bytes are taken. */
bool publish_writer_patch(PublishWriter *writer, Buf *path, Buf *body);

/* Does the work that is due; returns when to call again. */
int64_t publish_writer_tick(PublishWriter *writer, int64_t now_nsec);

/* Gives the lease up. True when there is nothing left to do: call again until it is. */
bool publish_writer_release(PublishWriter *writer);

WriteFigures publish_writer_figures(PublishWriter *writer);

/* Whether this berth wants to be the one that writes; at first it does. */
void publish_writer_set_wanted(PublishWriter *writer, bool is_wanted);
