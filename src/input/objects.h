#pragma once

/*
 * Objects: Kubernetes objects in a file, as kubectl writes them.
 *
 * A cluster is the output of `kubectl get nodes,pods -A -o json` (or -o yaml): a
 * List of Nodes and Pods. Single objects, NodeList, PodList and several YAML
 * documents are taken too. Objects that pods refer to are taken where a file has them (`kubectl get
 * nodes,pods,namespaces -A -o json`); those of other kinds are skipped.
 */

#include "cluster/snapshot.h"
#include "cluster/store.h"
#include "yaml/document.h"
#include "json/fields.h"

#define OBJECTS_FILE_MAX ((size_t)1024 * 1024 * 1024)
#define OBJECTS_ERROR_MAX 1024u

/* 0; or a negative errno with a message for users in @error (OBJECTS_ERROR_MAX): file, position and
 * error. */
int cluster_load(const char *path, Snapshot **ret, char *error);

typedef struct ObjectReader ObjectReader;

/* An object of a file. */
typedef struct Object {
    Str kind;
    Str json; /* in YAML files, too */
    ObjectReader *reader;
} Object;

/* Each object of a file, or of @document in it, in order, gone when @visit returns. It returns 0 to
 * go on; or a negative errno, after writing to @error where it is -EINVAL. "-" is standard input.
 */
typedef int (*ObjectsVisit)(void *context, const Object *object);
int objects_each(
    const char *path, const YamlNode *document, ObjectsVisit visit, void *context, char *error);

/* A visit that adds each object to a cluster, the Store @store. */
int cluster_visit(void *store, const Object *object);

/* For visits. The error of a reader of (a part of) the object's JSON, with its place in the file:
 * -EINVAL, or -ENOMEM. */
int object_failed(const Object *object, const JsonReader *reader);

/* Decodes @json, the object's or a part of it: strings of @ret point into a copy in @arena. 0, or
 * as above. */
int object_decode(const Object *object, Str json, JsonRead *read, Arena *arena, void *ret)
    MUST_CHECK;

/* Puts an object that pods refer to (cluster/related-objects.h) into @store; others are skipped.
 * @arena: scratch. 0, or as above. */
int object_add_related(Store *store, const Object *object, Arena *arena);

/* "FILE:LINE:COLUMN: TEXT" of where @part of the object's JSON begins. -EINVAL. */
int object_wrong(const Object *object, Str part, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
