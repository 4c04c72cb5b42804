#pragma once

/*
 * RelatedSet: objects of one kind that pods refer to (namespaces), by namespace and name.
 *
 * An object is kept as the JSON of its fields that policies read (cluster/related-objects.h); a
 * request decodes the one or two that it needs. Sets are shared by snapshots: a change copies one
 * of 256 parts, if another set shares it.
 *
 * Threads: reference and read from any; change a set on one. A change never alters a shared set.
 */

#include "base/cleanup.h"
#include "base/str.h"

typedef struct RelatedSet RelatedSet;

typedef struct RelatedObject {
    Str namespace; /* empty: it is in none */
    Str name;
    Str text;
} RelatedObject;

RelatedSet *related_set_new(void); /* empty; NULL when out of memory */
RelatedSet *related_set_ref(RelatedSet *set);
RelatedSet *related_set_unref(RelatedSet *set); /* takes NULL, returns NULL */
DEFINE_CLEANUP(RelatedSet *, related_set_unref)

size_t related_set_size(const RelatedSet *set);

/* The object, borrowed from the set; NULL: there is none. */
const RelatedObject *related_set_find(const RelatedSet *set, Str namespace, Str name);

/* Adds the object, or replaces the one of the same name. If others hold *@set, a copy is changed
 * and replaces it. The object is copied, or shared with @like (NULL: none) if that has an equal
 * one. 1; 0 if an equal one was there; or -ENOMEM, and nothing has changed. */
int related_set_put(RelatedSet **set, const RelatedObject *object, const RelatedSet *like)
    MUST_CHECK;

/* 1; 0: there was none; -ENOMEM: it is still there. */
int related_set_remove(RelatedSet **set, Str namespace, Str name) MUST_CHECK;

/* All objects, sorted by namespace and name; as many as related_set_size(). The caller frees the
 * array. NULL when out of memory. */
const RelatedObject **related_set_list(const RelatedSet *set);
