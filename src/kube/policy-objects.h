#pragma once

/*
 * PolicyObjects: the PlacementPolicies of the cluster, as the watch shows them.
 *
 * They stay until the watch shows their deletion: a lost connection or a new list removes none.
 *
 * Threads: any for policy_objects_copy(), _versions(), _version() and _count(); others the
 * watcher's.
 */

#include "kube/api-objects.h"

#define POLICY_OBJECTS_MAX 10000u
#define POLICY_OBJECT_TEXT_MAX ((size_t)4 * 1024 * 1024) /* YAML_SOURCE_MAX */

#define POLICY_VERSIONS_MAX 3u /* versions in the status */
/* A larger spec is not stored in the status, so that an object stays far below etcd's limit of 1.5
 * MiB. */
#define POLICY_VERSION_SPEC_MAX ((size_t)64 * 1024)

typedef struct PolicyObject {
    Str name, uid;
    int64_t generation;
    Str spec;            /* JSON, not validated; empty: none, or over POLICY_OBJECT_TEXT_MAX */
    bool is_terminating; /* it has a deletionTimestamp; PolicyObjects do not keep this */
} PolicyObject;

/* A version that was in force, from the status. */
typedef struct PolicyVersion {
    int64_t generation;
    int64_t since_nsec; /* since 1970 */
    Str spec;           /* JSON, not validated; empty: too large to be stored */
} PolicyVersion;

typedef struct PolicyObjects PolicyObjects;

#define POLICY_OBJECTS_PATH "/apis/berth.dev/v1alpha1/placementpolicies"

PolicyObjects *policy_objects_new(void);                    /* NULL: out of memory */
PolicyObjects *policy_objects_free(PolicyObjects *objects); /* takes NULL */

/* The sink of a reflector; results as in kube/reflector.h. */
void policy_objects_begin(PolicyObjects *objects);
int policy_objects_item(PolicyObjects *objects, Str object);
int policy_objects_end(PolicyObjects *objects);
int policy_objects_apply(
    PolicyObjects *objects, WatchEventType type, const ObjectMeta *meta, Str object);

/* Reads a policy from JSON. Texts are slices of @object, or in @arena. 0, SINK_UNFIT,
 * SINK_MALFORMED or -ENOMEM. */
int policy_object_read(Str object, Arena *arena, PolicyObject *ret) MUST_CHECK;

/* Appends the policy as YAML, as in a file, without fields that the API server adds. Appends
 * nothing if it is too deep or too large for a policy. 0, or -ENOMEM. */
int policy_object_text(Str name, Str spec, Buf *out) MUST_CHECK;

/* A number that changes with every change, except of the status only; 0: not listed yet. */
uint64_t policy_objects_version(PolicyObjects *objects);

size_t policy_objects_count(PolicyObjects *objects);

/* Copies all policies, sorted by name, to @arena; *ret_version is policy_objects_version() for
 * them. 0, or -ENOMEM. */
int policy_objects_copy(PolicyObjects *objects, Arena *arena, PolicyObject **ret, size_t *ret_n,
    uint64_t *ret_version) MUST_CHECK;

/* Stores the versions in the status of an object, the newest first, in @arena, and returns their
 * number. They may be false: users can have the right to write the status. */
size_t policy_objects_versions(
    PolicyObjects *objects, Str name, Arena *arena, PolicyVersion ret[POLICY_VERSIONS_MAX]);
