#pragma once

/*
 * RelatedObjects: the objects of a snapshot that pods refer to.
 *
 * Kinds that no policy reads are not watched, and not known. If a kind is known, an object that is
 * not in its set does not exist, or was made a moment ago.
 */

#include "cluster/related-set.h"
#include "model/pod.h"
#include "json/read.h"

typedef enum RelatedKind {
    RELATED_NAMESPACES,
    RELATED_CLAIMS,
    RELATED_VOLUMES,  /* read with claims */
    RELATED_SERVICES, /* kept for the model of kube-scheduler: no policy reads them */
    _RELATED_KINDS,
} RelatedKind;
#define RELATED_BIT(kind) (1u << (kind))
#define RELATED_ALL (RELATED_BIT(RELATED_SERVICES) - 1) /* that policies can read */

/* Objects of a kind that are kept; more are refused (STORE_FULL). */
#define RELATED_MAX 200000u

typedef struct RelatedObjects {
    RelatedSet *kinds[_RELATED_KINDS]; /* NULL: not known */
} RelatedObjects;

RelatedObjects related_objects_ref(const RelatedObjects *objects);
void related_objects_done(RelatedObjects *objects); /* takes a zeroed one */

/* The resource's name in the API: "namespaces". */
const char *related_kind_name(RelatedKind kind);

/* The kind of objects that have @kind in their JSON ("Namespace"); _RELATED_KINDS: none. */
RelatedKind related_kind_of(Str kind);

/* Reads an object of the API into @ret, which is in @arena: its fields that policies read. Errors
 * are the reader's. */
void related_object_decode(RelatedKind kind, JsonReader *reader, Arena *arena, RelatedObject *ret);

/* Looks up the objects that @pod refers to; @ret points into @arena. Kinds that @objects does not
 * know are taken from pod->related. 0, or -ENOMEM. */
int related_objects_find(const RelatedObjects *objects, const Pod *pod, Arena *arena, Related *ret)
    MUST_CHECK;
