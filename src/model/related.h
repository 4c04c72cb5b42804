#pragma once

/*
 * Related: the objects that the pod to be placed refers to: its namespace, its
 * PersistentVolumeClaims and the volumes that these are bound to.
 *
 * berth looks them up when a policy reads them (cluster/related-objects.h). A recorded pod carries
 * them in its text, under RELATED_KEY.
 */

#include "model/namespace.h"
#include "model/volume-claim.h"
#include "json/read.h"

#define RELATED_KEY "berth.dev/related"

typedef struct Related {
    bool knows_namespaces;      /* they were looked up */
    const Namespace *namespace; /* NULL: not known, or there is none of that name */
    bool knows_claims;
    VolumeClaim *claims; /* of its volumes, in their order */
    size_t n_claims;
} Related;

/* Reads what object_write_pod() writes under RELATED_KEY. Errors are the reader's. */
void related_decode(JsonReader *reader, Arena *arena, Related *ret);
