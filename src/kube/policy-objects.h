#pragma once

/*
 * PolicyObjects: the PlacementPolicies of the cluster, as the watch shows them.
 *
 * They stay until the watch shows that they are gone: a lost connection or a new list drops none.
 *
 * Threads: policy_objects_copy(), _versions(), _version() and _count() any, the rest the watcher's.
 */

#include "kube/api-objects.h"

#define POLICY_OBJECTS_MAX 10000u
#define POLICY_OBJECT_TEXT_MAX ((size_t)4 * 1024 * 1024) /* YAML_SOURCE_MAX */

#define POLICY_VERSIONS_MAX 3u /* in the status */
/* A larger spec is not kept in the status: with all versions an object stays far below the 1.5 MiB
 * of etcd. */
#define POLICY_VERSION_SPEC_MAX ((size_t)64 * 1024)

typedef struct PolicyObject {
    Str name, uid;
    int64_t generation;
    Str spec; /* JSON, not validated; empty: it has none, or one over POLICY_OBJECT_TEXT_MAX */
    bool is_terminating; /* it has a deletionTimestamp; not kept by PolicyObjects */
} PolicyObject;

/* A version that was in force, as in the status. */
typedef struct PolicyVersion {
    int64_t generation;
    int64_t since_nsec; /* since 1970 */
    Str spec;           /* JSON, not validated; empty: it is not kept */
} PolicyVersion;

typedef struct PolicyObjects PolicyObjects;

#define POLICY_OBJECTS_PATH "/apis/berth.dev/v1alpha1/placementpolicies"

PolicyObjects *policy_objects_new(void);                    /* NULL: out of memory */
PolicyObjects *policy_objects_free(PolicyObjects *objects); /* takes NULL */

/* The sink of a reflector (kube/reflector.h); results are a sink's. */
void policy_objects_begin(PolicyObjects *objects);
int policy_objects_item(PolicyObjects *objects, Str object);
int policy_objects_end(PolicyObjects *objects);
int policy_objects_apply(
    PolicyObjects *objects, WatchEventType type, const ObjectMeta *meta, Str object);

/* Reads one, JSON: slices of @object, or in @arena. 0, SINK_UNFIT, SINK_MALFORMED or -ENOMEM. */
int policy_object_read(Str object, Arena *arena, PolicyObject *ret) MUST_CHECK;

/* The policy as a user would have written it in a file: YAML, without the fields that the API
 * server adds. Nothing is appended if it is too deep or too large for a policy. 0, or -ENOMEM. */
int policy_object_text(Str name, Str spec, Buf *out) MUST_CHECK;

/* Another number after each change, but not after one of their status alone; 0: they have not been
 * listed yet. */
uint64_t policy_objects_version(PolicyObjects *objects);

size_t policy_objects_count(PolicyObjects *objects);

/* All of them, by name, copied to @arena; *ret_version is theirs. 0, or -ENOMEM. */
int policy_objects_copy(PolicyObjects *objects, Arena *arena, PolicyObject **ret, size_t *ret_n,
    uint64_t *ret_version) MUST_CHECK;

/* The versions in the status of an object, the newest first, in @arena. Nothing in the status has
 * to be true: users with the right to can write it. Returns how many. */
size_t policy_objects_versions(
    PolicyObjects *objects, Str name, Arena *arena, PolicyVersion ret[POLICY_VERSIONS_MAX]);
