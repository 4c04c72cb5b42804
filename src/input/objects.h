#pragma once

/*
 * Objects: Kubernetes objects in a file, as kubectl writes them.
 *
 * A cluster is the output of `kubectl get nodes,pods -A -o json` (or -o yaml): a List of
 * Nodes and Pods. Single objects, NodeList, PodList and several YAML documents are read
 * too, and objects that pods refer to (`kubectl get nodes,pods,namespaces -A -o json`).
 * Other kinds are skipped.
 */

#include "cluster/snapshot.h"
#include "cluster/store.h"
#include "yaml/document.h"
#include "json/fields.h"

#define OBJECTS_FILE_MAX ((size_t)1024 * 1024 * 1024)
#define OBJECTS_ERROR_MAX 1024u

/* Reads a cluster; the caller unrefs *ret. 0; or a negative errno with a message for users in
 * @error (OBJECTS_ERROR_MAX): file, position and error. */
int cluster_load(const char *path, Snapshot **ret, char *error);

typedef struct ObjectReader ObjectReader;

/* An object of a file. */
typedef struct Object {
    Str kind;
    Str json; /* also of an object in a YAML file */
    ObjectReader *reader;
} Object;

/* Calls @visit for each object of a file ("-": standard input), or of @document in it, in order.
 * The object lives until @visit returns: 0 to continue; or a negative errno, for -EINVAL after
 * writing @error. 0; or a negative errno with a message in @error (OBJECTS_ERROR_MAX). */
typedef int (*ObjectsVisit)(void *context, const Object *object);
int objects_each(
    const char *path, const YamlNode *document, ObjectsVisit visit, void *context, char *error);

/* A visit that adds each object to a cluster, the Store @store. */
int cluster_visit(void *store, const Object *object);

/* For visits: writes the error of a reader of (a part of) the object's JSON, with its place in the
 * file. Returns -EINVAL or -ENOMEM. */
int object_failed(const Object *object, const JsonReader *reader);

/* Decodes @json, the object's JSON or a part of it; strings of @ret point into a copy in @arena. 0,
 * or the result of object_failed(). */
int object_decode(const Object *object, Str json, JsonRead *read, Arena *arena, void *ret)
    MUST_CHECK;

/* Adds an object that pods refer to (cluster/related-objects.h) to @store; skips others. @arena is
 * scratch. 0, or the result of object_failed(). */
int object_add_related(Store *store, const Object *object, Arena *arena);

/* Writes the error "FILE:LINE:COLUMN: TEXT", with the place of @part of the object's JSON. Returns
 * -EINVAL. */
int object_wrong(const Object *object, Str part, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
