/*
 * Pods as values. One structure has the heads of a pod and of its metadata, spec and status: a.b.c
 * is three table look-ups and allocates nothing. Pod and NodePod differ in the types of these heads
 * only.
 */

#include "schema/schema-internal.h"

#include "model/pod-requests.h"
#include "model/workload.h"
#include "schema/amounts.h"

/* Declares the variables for fields of the pod or of its @part. */
#define POD_VALUE(part)                                                                            \
    const PodValue *value = OBJECT_OF(record, PodValue, part);                                     \
    const Pod *pod = value->pod

/* Running pods keep only some details (model/pod-parts.h), or none. */
static const PodDetails *details_of(const Pod *pod) {
    static const PodDetails none;

    return pod->details ? pod->details : &none;
}

#define OWNER(X)                                                                                   \
    X(apiVersion, NAME(item->api_version), "apps/v1, batch/v1, …")                                 \
    X(kind, WORD(item->kind), "ReplicaSet, Job, …")                                                \
    X(name, NAME(item->name), "its name")                                                          \
    X(uid, WORD(item->uid), "its UID")                                                             \
    X(controller, FLAG(item->is_controller), "it manages the pod; one of them at most")            \
    X(blockOwnerDeletion, FLAG(item->blocks_deletion), "it cannot be deleted before the pod")
SCHEMA_RECORD(schema_owner, "OwnerReference", ITEM(PodOwner), OWNER);

#define TOLERATION(X)                                                                              \
    X(key, KEY(item->key), "empty: every key")                                                     \
    X(operator, WORD(item->exists ? STR("Exists") : STR("Equal")), "Equal or Exists")              \
    X(value, WORD(item->value), "empty with Exists")                                               \
    X(effect, WORD(taint_effect_word(item->effect)),                                               \
        "NoSchedule, PreferNoSchedule, NoExecute; empty: every effect; Unknown: any other, which " \
        "tolerates nothing")
SCHEMA_RECORD(schema_toleration, "Toleration", ITEM(Toleration), TOLERATION);

SCHEMA_LIST_TYPE(owners_type, &schema_owner.of);
SCHEMA_LIST_TYPE(tolerations_type, &schema_toleration.of);
SCHEMA_LIST_TYPE(containers_type, &schema_container.of);
SCHEMA_LIST_TYPE(gates_type, &schema_scheduling_gate.of);
SCHEMA_LIST_TYPE(volumes_type, &schema_volume.of);
SCHEMA_LIST_TYPE(claims_type, &schema_resource_claim.of);
SCHEMA_LIST_TYPE(spread_type, &schema_spread_constraint.of);

/* Without details, only the controlling owner is known. */
static CelValue owners(CelRun *run, const Pod *pod) {
    const PodDetails *details = details_of(pod);
    PodOwner *controller;

    if (details->n_owners > 0 ||
        pod->owner_kind.len + pod->owner_name.len + pod->owner_uid.len == 0)
        return ITEMS(schema_owner, details->owners, details->n_owners);
    controller = cel_alloc(run, sizeof(*controller));
    if (!controller)
        return cel_no_memory(run);
    *controller = (PodOwner){.kind = pod->owner_kind,
        .name = pod->owner_name,
        .uid = pod->owner_uid,
        .is_controller = true};
    return ITEMS(schema_owner, controller, 1);
}

#define METADATA(X)                                                                                \
    X(name, NAME(pod->name), "its name")                                                           \
    X(namespace, WORD(pod->namespace), "its namespace")                                            \
    X(uid, WORD(pod->uid), "its UID")                                                              \
    X(labels, LABELS(pod->labels), "its labels; labels[?'key'] where one may be missing")          \
    X(creationTimestamp, SECONDS(pod->created_at), "when it was created")                          \
    X(ownerReferences, VALUE(owners_type, POD_OWNERS_MAX), owners(run, pod),                       \
        "its owners, in their order; see workload", OF_POD(POD_OWNERS))                            \
    REFUSED(X, deletionTimestamp, "only whether it is set is kept: pod.terminating")

#define POD_METADATA(X)                                                                            \
    METADATA(X)                                                                                    \
    X(annotations, VALUE(schema_labels_type, ANNOTATIONS_MAX),                                     \
        schema_labels(run, &details_of(pod)->annotations),                                         \
        "its annotations; those with a value over 4 KiB are left out")
SCHEMA_RECORD(schema_pod_metadata, "PodMetadata", POD_VALUE(metadata), POD_METADATA);

#define NODE_POD_METADATA(X)                                                                       \
    METADATA(X)                                                                                    \
    X(annotations, VALUE(schema_labels_type, ANNOTATIONS_MAX),                                     \
        schema_labels(run, &details_of(pod)->annotations),                                         \
        "its annotations, by a constant key: annotations['key'], annotations[?'key']; others are " \
        "not kept",                                                                                \
        OF_POD(POD_ANNOTATIONS))
SCHEMA_RECORD(schema_node_pod_metadata, "NodePodMetadata", POD_VALUE(metadata), NODE_POD_METADATA);

/* An array of the details, @items, as records of @type. */
#define DETAIL_ITEMS(type, items) ITEMS(type, details_of(pod)->items, details_of(pod)->n_##items)

static Str preemption_policy(const PodDetails *details) {
    return str_is_empty(details->preemption_policy) ? STR("PreemptLowerPriority")
                                                    : details->preemption_policy;
}

#define SPEC(X)                                                                                    \
    X(nodeName, NAME(pod->node_name), "the node it runs on; empty for the pod to be placed")       \
    X(schedulerName, NAME(pod->scheduler_name), "the scheduler that places it")                    \
    X(priority, NUMBER(pod->priority), "default 0")                                                \
    X(tolerations, VALUE(tolerations_type, TOLERATIONS_MAX),                                       \
        ITEMS(schema_toleration, pod->tolerations.items, pod->tolerations.n),                      \
        "its tolerations; see tolerates()", OF_POD(POD_TOLERATIONS))                               \
    X(nodeSelector, LABELS(details_of(pod)->node_selector),                                        \
        "labels that its node must have; kube-scheduler checks them", OF_POD(POD_NODE_SELECTOR))   \
    X(containers, VALUE(containers_type, POD_CONTAINERS_MAX),                                      \
        DETAIL_ITEMS(schema_container, containers), "its containers", OF_POD(POD_CONTAINERS))      \
    X(initContainers, VALUE(containers_type, POD_CONTAINERS_MAX),                                  \
        DETAIL_ITEMS(schema_container, init_containers),                                           \
        "its init containers; those with restartPolicy Always are sidecars",                       \
        OF_POD(POD_CONTAINERS))                                                                    \
    X(priorityClassName, NAME(details_of(pod)->priority_class_name), "its PriorityClass",          \
        OF_POD(POD_PRIORITY_CLASS))                                                                \
    X(preemptionPolicy, WORD(preemption_policy(details_of(pod))), "PreemptLowerPriority or Never", \
        OF_POD(POD_PREEMPTION_POLICY))                                                             \
    X(runtimeClassName, NAME(details_of(pod)->runtime_class_name), "its RuntimeClass",             \
        OF_POD(POD_RUNTIME_CLASS))                                                                 \
    X(serviceAccountName, NAME(details_of(pod)->service_account_name), "its ServiceAccount",       \
        OF_POD(POD_SERVICE_ACCOUNT))                                                               \
    X(hostNetwork, FLAG(details_of(pod)->host_network), "it uses the network of the node",         \
        OF_POD(POD_HOST_NETWORK))                                                                  \
    X(schedulingGates, VALUE(gates_type, POD_SCHEDULING_GATES_MAX),                                \
        DETAIL_ITEMS(schema_scheduling_gate, scheduling_gates),                                    \
        "its scheduling gates; kube-scheduler places no pod that still has one",                   \
        OF_POD(POD_SCHEDULING_GATES))                                                              \
    X(overhead, VALUE(schema_quantities_type, RESOURCES_MAX),                                      \
        schema_quantity_list(run, &details_of(pod)->overhead),                                     \
        "of its RuntimeClass, as quantities; pod.requests has it", OF_POD(POD_AMOUNTS))            \
    X(resources, VALUE(schema_requirements.of, 0),                                                 \
        schema_resources_of(run, &details_of(pod)->requests, &details_of(pod)->limits),            \
        "requests and limits of the pod as a whole, as written", OF_POD(POD_AMOUNTS))              \
    X(volumes, VALUE(volumes_type, POD_VOLUMES_MAX), DETAIL_ITEMS(schema_volume, volumes),         \
        "its volumes, but for the token of its ServiceAccount (kube-api-access-…)",                \
        OF_POD(POD_VOLUMES))                                                                       \
    X(resourceClaims, VALUE(claims_type, POD_RESOURCE_CLAIMS_MAX),                                 \
        DETAIL_ITEMS(schema_resource_claim, resource_claims), "its ResourceClaims",                \
        OF_POD(POD_RESOURCE_CLAIMS))                                                               \
    X(affinity, VALUE(schema_affinity.of, 0), schema_affinity_of(run, details_of(pod)->affinity),  \
        "as written; kube-scheduler applies it", OF_POD(POD_AFFINITY))                             \
    X(topologySpreadConstraints, VALUE(spread_type, AFFINITY_ITEMS_MAX),                           \
        DETAIL_ITEMS(schema_spread_constraint, spread), "as written; kube-scheduler applies them", \
        OF_POD(POD_SPREAD))
SCHEMA_RECORD(schema_pod_spec, "PodSpec", POD_VALUE(spec), SPEC);
SCHEMA_RECORD(schema_node_pod_spec, "NodePodSpec", POD_VALUE(spec), SPEC);

static CelValue set_text(Str text) {
    return text.len > 0 ? schema_text(text) : cel_absent();
}

#define STATUS(X)                                                                                  \
    X(nominatedNodeName, &cel_string_type, MAYBE, NAME_MAX_BYTES,                                  \
        set_text(pod->nominated_node_name), "the node on which preemption makes room for it")      \
    X(startTime, SECONDS(pod->started_at), "when the kubelet accepted it")                         \
    REFUSED(X, phase,                                                                              \
        "the phase is not kept: a pod to be placed is Pending, and pods that have ended are not "  \
        "among node.pods")                                                                         \
    X(qosClass, WORD(pod_qos_class(details_of(pod))),                                              \
        "Guaranteed, Burstable or BestEffort, computed from its spec", OF_POD(POD_AMOUNTS))
SCHEMA_RECORD(schema_pod_status, "PodStatus", POD_VALUE(status), STATUS);
SCHEMA_RECORD(schema_node_pod_status, "NodePodStatus", POD_VALUE(status), STATUS);

/* The pod's workload; empty texts if it has none. */
static WorkloadName workload(const Pod *pod) {
    WorkloadName found = {0};

    return workload_find(pod, &found) ? found : (WorkloadName){0};
}

#define WORKLOAD(X)                                                                                \
    X(kind, WORD(workload(item).kind),                                                             \
        "Deployment, StatefulSet, DaemonSet, CronJob, Job, …; empty: it has no controlling owner") \
    X(name, NAME(workload(item).name), "its name; its namespace is the pod's")
SCHEMA_RECORD(schema_pod_workload, "PodWorkload", ITEM(Pod), WORKLOAD);

#define AMOUNTS VALUE(schema_amounts_type, RESOURCES_MAX)
#define POD_OF(X, its_metadata, its_spec, its_status)                                              \
    X(metadata, VALUE(its_metadata.of, 0), cel_record(&value->metadata), "its metadata")           \
    X(spec, VALUE(its_spec.of, 0), cel_record(&value->spec), "its spec")                           \
    X(status, VALUE(its_status.of, 0), cel_record(&value->status), "its status")                   \
    X(requests, AMOUNTS, schema_amounts_of(run, &pod->requests),                                   \
        "its requests as kube-scheduler counts them, as numbers: cpu in cores, 0.0 for others; "   \
        "milliCPU is cpu in thousandths")                                                          \
    X(owner, WORD(pod->owner_uid), "the UID of its controlling owner; empty when it has none")     \
    X(workload, RECORD(schema_pod_workload, pod),                                                  \
        "the end of its owner chain, as far as the pod tells: its controlling owner; of a "        \
        "ReplicaSet whose name ends in the label pod-template-hash its Deployment, of a Job "      \
        "whose name ends in a time its CronJob")                                                   \
    X(terminating, FLAG(pod->is_terminating), "it has a deletionTimestamp")                        \
    X(limits, AMOUNTS, limits(run, details_of(pod)),                                               \
        "its limits, as Kubernetes adds them up, as numbers like requests; 0.0: no container has " \
        "one",                                                                                     \
        OF_POD(POD_AMOUNTS))

static CelValue limits(CelRun *run, const PodDetails *details) {
    Resources *sum = cel_alloc(run, sizeof(*sum));

    if (!cel_charge(run, details->n_containers + details->n_init_containers))
        return cel_exhausted(run);
    if (!sum || pod_limits(details, run->arena, sum) < 0)
        return cel_no_memory(run);
    return schema_plain_amounts_of(run, sum);
}

#define POD(X)                                                                                     \
    POD_OF(X, schema_pod_metadata, schema_pod_spec, schema_pod_status)                             \
    X(claims, VALUE(schema_claims_type, POD_VOLUMES_MAX), schema_claims(run, pod),                 \
        "its PersistentVolumeClaims, also those of ephemeral volumes, in the order of its "        \
        "volumes; needs get, list and watch on persistentvolumeclaims and persistentvolumes")
SCHEMA_RECORD(schema_pod_record, "Pod", POD_VALUE(head), POD);

#define NODE_POD(X)                                                                                \
    POD_OF(X, schema_node_pod_metadata, schema_node_pod_spec, schema_node_pod_status)              \
    X(scheduledTime, SECONDS(pod_placed_at(pod)),                                                  \
        "when it was bound to the node; if unknown, when it was started or created")               \
    REFUSED(X, claims, "claims are looked up of the pod to be placed only")
SCHEMA_RECORD(schema_node_pod, "NodePod", POD_VALUE(head), NODE_POD);

SCHEMA_LIST_TYPE(schema_pods_type, &schema_node_pod.of);

CelValue schema_pod(const Pod *pod, Arena *arena) {
    const PodValue value = {.head = {.type = &schema_pod_record.type},
        .metadata = {.type = &schema_pod_metadata.type},
        .spec = {.type = &schema_pod_spec.type},
        .status = {.type = &schema_pod_status.type},
        .pod = pod};

    return schema_keep(arena, &value, sizeof(value));
}

static CelValue pod_at(const CelList *list, uint32_t i, CelRun *run) {
    const PodValue value = {.head = {.type = &schema_node_pod.type},
        .metadata = {.type = &schema_node_pod_metadata.type},
        .spec = {.type = &schema_node_pod_spec.type},
        .status = {.type = &schema_node_pod_status.type},
        .pod = ((const Pod *const *)schema_list_of(list)->items)[i]};

    return schema_make(run, &value, sizeof(value));
}

CelValue schema_pods(CelRun *run, const Pod *const *items, size_t n) {
    return schema_list(run, pod_at, items, n, NULL, sizeof(*items));
}
