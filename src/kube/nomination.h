#pragma once

/*
 * Nomination: status.nominatedNodeName of a pending pod. kube-scheduler tries that node first, and
 * only if it does not fit the others.
 *
 * The UID is a precondition: a pod that was recreated under the same name is left alone. With a
 * resourceVersion the pod must not have changed since: so a nomination is withdrawn only as long as
 * it is the one that was seen.
 */

#include "kube/publish-writer.h"

#define NOMINATION_CALLS 8u /* patches under way at a time */

typedef struct Nomination {
    Str namespace, name, uid;
    Str resource_version; /* empty: any */
    Str node;             /* empty: it is withdrawn */
} Nomination;

/* The request for it. Its method is PATCH. */
void nomination_path(const Nomination *nomination, Buf *out);
void nomination_body(const Nomination *nomination, Buf *out);

/* Adds it to the patches of @writer. The caller wakes the client. False: it is dropped. */
bool nomination_send(const Nomination *nomination, PublishWriter *writer);
