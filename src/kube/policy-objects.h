#pragma once

/*
 * PolicyObjects: the PlacementPolicies of the cluster, as the watch shows them.
 *
 * Each is kept as the text of a policy file: what a user would have written, in YAML, without the
 * fields that the API server adds. They stay until the watch shows that they are gone: a lost
 * connection or a new list drops none.
 *
 * Threads: policy_objects_copy(), _version() and _count() any, the rest the watcher's.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "kube/api-objects.h"

#define POLICY_OBJECTS_MAX 10000u
#define POLICY_OBJECT_TEXT_MAX ((size_t)4 * 1024 * 1024) /* YAML_SOURCE_MAX */

typedef struct PolicyObject {
    Str name, uid;
    int64_t generation;
    Str text;
} PolicyObject;

typedef struct PolicyObjects PolicyObjects;

#define POLICY_OBJECTS_PATH "/apis/berth.dev/v1alpha1/placementpolicies"

PolicyObjects *policy_objects_new(void);                    /* NULL: out of memory */
PolicyObjects *policy_objects_free(PolicyObjects *objects); /* takes NULL */
DEFINE_CLEANUP(PolicyObjects *, policy_objects_free)

/* The sink of a reflector (kube/reflector.h); results are a sink's. */
void policy_objects_begin(PolicyObjects *objects);
int policy_objects_item(PolicyObjects *objects, Str object);
int policy_objects_end(PolicyObjects *objects);
int policy_objects_apply(
    PolicyObjects *objects, WatchEventType type, const ObjectMeta *meta, Str object);

/* Another number after each change, but not after one of their status alone; 0: they have not been
 * listed yet. */
uint64_t policy_objects_version(PolicyObjects *objects);

size_t policy_objects_count(PolicyObjects *objects);

/* All of them, by name, copied to @arena; *ret_version is theirs. 0, or -ENOMEM. */
int policy_objects_copy(PolicyObjects *objects, Arena *arena, PolicyObject **ret, size_t *ret_n,
    uint64_t *ret_version) MUST_CHECK;
