#pragma once

/*
 * WorkloadObject: an object of a file that has a pod template, and the pods that its controller
 * creates.
 *
 * Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet, Job, CronJob, PodTemplate;
 * and Pod, which is its own template. A pod gets what the API server and the controller add, as far
 * as scheduling depends on it: the namespace "default", an owner (a ReplicaSet for a Deployment, a
 * Job for a CronJob), labels of StatefulSets and Jobs, tolerations and node affinity of DaemonSets.
 * Controllers add random letters to the names of a Deployment's ReplicaSet and pods; here both have
 * the Deployment's name.
 */

#include "input/objects.h"
#include "model/pod.h"

#define WORKLOAD_FILE_PODS_MAX 10000u /* templates of one file, in a list */

typedef struct WorkloadKind WorkloadKind;

typedef struct WorkloadObject {
    const WorkloadKind *type;
    Str kind; /* static: "Deployment" */
    Str namespace, name;
    Str template; /* JSON of the shape of a Pod */
    int64_t n_pods;
    bool is_per_node;        /* DaemonSet: one pod for each node that it selects; n_pods is 1 */
    bool has_numbered_names; /* StatefulSet: NAME-0, NAME-1 */
} WorkloadObject;

enum {
    _WORKLOAD_E_SUCCESS,
    WORKLOAD_E_OTHER, /* an object without pods, such as a Service */
};

/* Reads and checks an object. Strings are slices of it, or in @arena. 0, WORKLOAD_E_OTHER, or a
 * negative errno for objects_each(). */
int workload_read(const Object *object, Arena *arena, WorkloadObject *ret) MUST_CHECK;

/* Appends the JSON of pod @number, from 0, of @workload. @node: for a DaemonSet, the node of this
 * pod; empty: none yet. */
void workload_write_pod(const WorkloadObject *workload, int64_t number, Str node, Buf *out);

/* A workload of a file, with its first pod. */
typedef struct WorkloadPod {
    WorkloadObject workload; /* without its template */
    Pod pod;
} WorkloadPod;

typedef struct WorkloadList {
    WorkloadPod *items;
    size_t n;
    size_t n_others; /* objects without pods */
} WorkloadList;

/* Reads the workloads of the file at @path, or of @document in it: at least one. Everything is in
 * @arena. 0; or a negative errno with a message in @error (OBJECTS_ERROR_MAX). */
int workloads_load(const char *path, const YamlNode *document, Arena *arena, WorkloadList *ret,
    char *error) MUST_CHECK;

/* The workload with @name: "web", "Deployment/web" or "NAMESPACE/web". NULL: none or several, and
 * @error says which. */
#define WORKLOAD_NAME_ERROR_MAX 512u
const WorkloadPod *workloads_find(
    const WorkloadList *list, const char *name, char error[static WORKLOAD_NAME_ERROR_MAX]);
