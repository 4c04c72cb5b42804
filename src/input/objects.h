#pragma once

/*
 * Objects: Kubernetes objects in a file, as kubectl writes them.
 *
 * A cluster is the output of `kubectl get nodes,pods -A -o json` (or -o yaml): a
 * List of Nodes and Pods. Single objects, NodeList, PodList and several YAML
 * documents are taken too; objects of other kinds are passed over.
 */

#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cluster/snapshot.h"
#include "model/pod.h"

#define OBJECTS_FILE_MAX ((size_t)1024 * 1024 * 1024)
#define OBJECTS_ERROR_MAX 1024u

/* 0; or a negative errno with a message for users in @error (OBJECTS_ERROR_MAX): file, position and
 * error. */
int cluster_load(const char *path, Snapshot **ret, char *error);

/* The Pod in a file; there must be exactly one. Its strings live in @arena. */
int pod_load(const char *path, Arena *arena, Pod *ret, char *error);

/* Each object of a file, in order: its kind and its JSON, both gone when @visit returns. It returns
 * 0 to go on; or a negative errno, after writing to @error where it is -EINVAL. */
typedef int (*ObjectsVisit)(void *context, Str kind, Str object);
int objects_each(const char *path, ObjectsVisit visit, void *context, char *error);
