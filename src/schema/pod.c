/*
 * Pods as values. One structure has the heads of a pod and of its metadata, spec and status: a.b.c
 * is three table look-ups and allocates nothing. Pod and NodePod differ in the types of these heads
 * only.
 */

#include "schema/schema-internal.h"

#include "model/pod-requests.h"
#include "model/workload.h"
#include "schema/amounts.h"

/* A getter of the pod or of its @part: the value may use @pod. */
#define GET_POD(part, name, ...)                                                                   \
    static CelValue name(const CelRecord *record, CelRun *run) {                                   \
        const Pod *pod = OBJECT_OF(record, PodValue, part)->pod;                                   \
        (void)run;                                                                                 \
        return __VA_ARGS__;                                                                        \
    }

/* Of pods that run only some are kept (model/pod-parts.h), or none. */
static const PodDetails *details_of(const Pod *pod) {
    static const PodDetails none;

    return pod->details ? pod->details : &none;
}

/* --- the parts of a pod that are lists ------------------------------------------------- */

GET_ITEM(PodOwner, owner_version, schema_text(item->api_version))
GET_ITEM(PodOwner, owner_kind, schema_text(item->kind))
GET_ITEM(PodOwner, owner_name, schema_text(item->name))
GET_ITEM(PodOwner, owner_uid, schema_text(item->uid))
GET_ITEM(PodOwner, owner_controller, cel_bool(item->is_controller))
GET_ITEM(PodOwner, owner_blocks, cel_bool(item->blocks_deletion))

#define OWNER(X)                                                                                   \
    X("apiVersion", TEXT(NAME_MAX_BYTES), owner_version, "apps/v1, batch/v1, …")                   \
    X("kind", TEXT(WORD_MAX_BYTES), owner_kind, "ReplicaSet, Job, …")                              \
    X("name", TEXT(NAME_MAX_BYTES), owner_name, "its name")                                        \
    X("uid", TEXT(WORD_MAX_BYTES), owner_uid, "its UID")                                           \
    X("controller", BOOL, owner_controller, "it manages the pod; one of them at most")             \
    X("blockOwnerDeletion", BOOL, owner_blocks, "it cannot be deleted before the pod")
SCHEMA_RECORD(schema_owner, "OwnerReference", OWNER);

GET_ITEM(Toleration, toleration_key, schema_text(item->key))
GET_ITEM(Toleration, toleration_operator, schema_text(item->exists ? STR("Exists") : STR("Equal")))
GET_ITEM(Toleration, toleration_value, schema_text(item->value))
GET_ITEM(Toleration, toleration_effect, schema_text(taint_effect_word(item->effect)))

#define TOLERATION(X)                                                                              \
    X("key", TEXT(KEY_MAX_BYTES), toleration_key, "empty: every key")                              \
    X("operator", TEXT(WORD_MAX_BYTES), toleration_operator, "Equal or Exists")                    \
    X("value", TEXT(WORD_MAX_BYTES), toleration_value, "empty with Exists")                        \
    X("effect", TEXT(WORD_MAX_BYTES), toleration_effect,                                           \
        "NoSchedule, PreferNoSchedule, NoExecute; empty: every effect; Unknown: any other, which " \
        "tolerates nothing")
SCHEMA_RECORD(schema_toleration, "Toleration", TOLERATION);

SCHEMA_LIST_TYPE(owners_type, &schema_owner.of);
SCHEMA_LIST_TYPE(tolerations_type, &schema_toleration.of);
SCHEMA_LIST_TYPE(containers_type, &schema_container.of);
SCHEMA_LIST_TYPE(gates_type, &schema_scheduling_gate.of);
SCHEMA_LIST_TYPE(volumes_type, &schema_volume.of);
SCHEMA_LIST_TYPE(claims_type, &schema_resource_claim.of);
SCHEMA_LIST_TYPE(spread_type, &schema_spread_constraint.of);

/* --- metadata ----------------------------------------------------------------------------- */

/* Without details the controlling one alone is known. */
static CelValue owners(CelRun *run, const Pod *pod) {
    const PodDetails *details = details_of(pod);
    PodOwner *controller;

    if (details->n_owners > 0 ||
        pod->owner_kind.len + pod->owner_name.len + pod->owner_uid.len == 0)
        return schema_items(
            run, &schema_owner, details->owners, details->n_owners, sizeof(*details->owners));
    controller = cel_alloc(run, sizeof(*controller));
    if (!controller)
        return cel_no_memory(run);
    *controller = (PodOwner){.kind = pod->owner_kind,
        .name = pod->owner_name,
        .uid = pod->owner_uid,
        .is_controller = true};
    return schema_items(run, &schema_owner, controller, 1, sizeof(*controller));
}

GET_POD(metadata, metadata_name, schema_text(pod->name))
GET_POD(metadata, metadata_namespace, schema_text(pod->namespace))
GET_POD(metadata, metadata_uid, schema_text(pod->uid))
GET_POD(metadata, metadata_labels, schema_labels(run, &pod->labels))
GET_POD(metadata, metadata_annotations, schema_labels(run, &details_of(pod)->annotations))
GET_POD(metadata, metadata_created, schema_time(pod->created_at))
GET_POD(metadata, metadata_owners, owners(run, pod))

#define METADATA(X)                                                                                \
    X("name", TEXT(NAME_MAX_BYTES), metadata_name, "its name")                                     \
    X("namespace", TEXT(WORD_MAX_BYTES), metadata_namespace, "its namespace")                      \
    X("uid", TEXT(WORD_MAX_BYTES), metadata_uid, "its UID")                                        \
    X("labels", VALUE(schema_labels_type, LABELS_ASSUMED), metadata_labels,                        \
        "its labels; labels[?'key'] where one may be missing")                                     \
    X("creationTimestamp", TIME, metadata_created, "when it was created")                          \
    X("ownerReferences", VALUE(owners_type, POD_OWNERS_MAX), metadata_owners,                      \
        "its owners, in their order; see workload", OF_POD(POD_OWNERS))                            \
    REFUSED(X, "deletionTimestamp", "only whether it is set is kept: pod.terminating")

#define POD_METADATA(X)                                                                            \
    METADATA(X)                                                                                    \
    X("annotations", VALUE(schema_labels_type, POD_ANNOTATIONS_MAX), metadata_annotations,         \
        "its annotations; those with a value over 4 KiB are left out")
SCHEMA_RECORD(schema_pod_metadata, "PodMetadata", POD_METADATA);

#define NODE_POD_METADATA(X)                                                                       \
    METADATA(X)                                                                                    \
    X("annotations", VALUE(schema_labels_type, POD_ANNOTATIONS_MAX), metadata_annotations,         \
        "its annotations, by a constant key: annotations['key'], annotations[?'key']; others are " \
        "not kept",                                                                                \
        OF_POD(POD_ANNOTATIONS))
SCHEMA_RECORD(schema_node_pod_metadata, "NodePodMetadata", NODE_POD_METADATA);

/* --- spec --------------------------------------------------------------------------------- */

static CelValue tolerations(CelRun *run, const Tolerations *all) {
    return schema_items(run, &schema_toleration, all->items, all->n, sizeof(*all->items));
}

/* An array of the details, @items, as records of @type. */
#define DETAIL_ITEMS(type, items)                                                                  \
    schema_items(run, &(type), details_of(pod)->items, details_of(pod)->n_##items,                 \
        sizeof(*details_of(pod)->items))

static Str preemption_policy(const PodDetails *details) {
    return str_is_empty(details->preemption_policy) ? STR("PreemptLowerPriority")
                                                    : details->preemption_policy;
}

GET_POD(spec, spec_node_name, schema_text(pod->node_name))
GET_POD(spec, spec_scheduler_name, schema_text(pod->scheduler_name))
GET_POD(spec, spec_priority, cel_int(pod->priority))
GET_POD(spec, spec_tolerations, tolerations(run, &pod->tolerations))
GET_POD(spec, spec_node_selector, schema_labels(run, &details_of(pod)->node_selector))
GET_POD(spec, spec_containers, DETAIL_ITEMS(schema_container, containers))
GET_POD(spec, spec_init_containers, DETAIL_ITEMS(schema_container, init_containers))
GET_POD(spec, spec_priority_class, schema_text(details_of(pod)->priority_class_name))
GET_POD(spec, spec_runtime_class, schema_text(details_of(pod)->runtime_class_name))
GET_POD(spec, spec_preemption_policy, schema_text(preemption_policy(details_of(pod))))
GET_POD(spec, spec_service_account, schema_text(details_of(pod)->service_account_name))
GET_POD(spec, spec_host_network, cel_bool(details_of(pod)->host_network))
GET_POD(spec, spec_overhead, schema_quantity_list(run, &details_of(pod)->overhead))
GET_POD(spec, spec_resources,
    schema_resources_of(run, &details_of(pod)->requests, &details_of(pod)->limits))
GET_POD(spec, spec_gates, DETAIL_ITEMS(schema_scheduling_gate, scheduling_gates))
GET_POD(spec, spec_volumes, DETAIL_ITEMS(schema_volume, volumes))
GET_POD(spec, spec_affinity, schema_affinity_of(run, details_of(pod)->affinity))
GET_POD(spec, spec_spread, DETAIL_ITEMS(schema_spread_constraint, spread))
GET_POD(spec, spec_claims, DETAIL_ITEMS(schema_resource_claim, resource_claims))

#define SPEC(X)                                                                                    \
    X("nodeName", TEXT(NAME_MAX_BYTES), spec_node_name,                                            \
        "the node it runs on; empty for the pod to be placed")                                     \
    X("schedulerName", TEXT(NAME_MAX_BYTES), spec_scheduler_name, "the scheduler that places it")  \
    X("priority", INT, spec_priority, "default 0")                                                 \
    X("tolerations", VALUE(tolerations_type, TOLERATIONS_MAX), spec_tolerations,                   \
        "its tolerations; see tolerates()", OF_POD(POD_TOLERATIONS))                               \
    X("nodeSelector", VALUE(schema_labels_type, LABELS_ASSUMED), spec_node_selector,               \
        "labels that its node must have; kube-scheduler checks them", OF_POD(POD_NODE_SELECTOR))   \
    X("containers", VALUE(containers_type, POD_CONTAINERS_MAX), spec_containers, "its containers", \
        OF_POD(POD_CONTAINERS))                                                                    \
    X("initContainers", VALUE(containers_type, POD_CONTAINERS_MAX), spec_init_containers,          \
        "its init containers; those with restartPolicy Always are sidecars",                       \
        OF_POD(POD_CONTAINERS))                                                                    \
    X("priorityClassName", TEXT(NAME_MAX_BYTES), spec_priority_class, "its PriorityClass",         \
        OF_POD(POD_PRIORITY_CLASS))                                                                \
    X("preemptionPolicy", TEXT(WORD_MAX_BYTES), spec_preemption_policy,                            \
        "PreemptLowerPriority or Never", OF_POD(POD_PREEMPTION_POLICY))                            \
    X("runtimeClassName", TEXT(NAME_MAX_BYTES), spec_runtime_class, "its RuntimeClass",            \
        OF_POD(POD_RUNTIME_CLASS))                                                                 \
    X("serviceAccountName", TEXT(NAME_MAX_BYTES), spec_service_account, "its ServiceAccount",      \
        OF_POD(POD_SERVICE_ACCOUNT))                                                               \
    X("hostNetwork", BOOL, spec_host_network, "it uses the network of the node",                   \
        OF_POD(POD_HOST_NETWORK))                                                                  \
    X("schedulingGates", VALUE(gates_type, POD_SCHEDULING_GATES_MAX), spec_gates,                  \
        "its scheduling gates; kube-scheduler places no pod that still has one",                   \
        OF_POD(POD_SCHEDULING_GATES))                                                              \
    X("overhead", VALUE(schema_quantities_type, RESOURCES_MAX), spec_overhead,                     \
        "of its RuntimeClass, as quantities; pod.requests has it", OF_POD(POD_AMOUNTS))            \
    X("resources", VALUE(schema_requirements.of, 0), spec_resources,                               \
        "requests and limits of the pod as a whole, as written", OF_POD(POD_AMOUNTS))              \
    X("volumes", VALUE(volumes_type, POD_VOLUMES_MAX), spec_volumes,                               \
        "its volumes, but for the token of its ServiceAccount (kube-api-access-…)",                \
        OF_POD(POD_VOLUMES))                                                                       \
    X("resourceClaims", VALUE(claims_type, POD_RESOURCE_CLAIMS_MAX), spec_claims,                  \
        "its ResourceClaims", OF_POD(POD_RESOURCE_CLAIMS))                                         \
    X("affinity", VALUE(schema_affinity.of, 0), spec_affinity,                                     \
        "as written; kube-scheduler applies it", OF_POD(POD_AFFINITY))                             \
    X("topologySpreadConstraints", VALUE(spread_type, AFFINITY_ITEMS_MAX), spec_spread,            \
        "as written; kube-scheduler applies them", OF_POD(POD_SPREAD))
SCHEMA_RECORD(schema_pod_spec, "PodSpec", SPEC);
SCHEMA_RECORD(schema_node_pod_spec, "NodePodSpec", SPEC);

/* --- status ------------------------------------------------------------------------------- */

static CelValue set_text(Str text) {
    return text.len > 0 ? schema_text(text) : cel_absent();
}

GET_POD(status, status_qos_class, schema_text(pod_qos_class(details_of(pod))))
GET_POD(status, status_nominated, set_text(pod->nominated_node_name))
GET_POD(status, status_started, schema_time(pod->started_at))

#define STATUS(X)                                                                                  \
    X("nominatedNodeName", &cel_string_type, MAYBE, NAME_MAX_BYTES, status_nominated,              \
        "the node on which preemption makes room for it")                                          \
    X("startTime", TIME, status_started, "when the kubelet accepted it")                           \
    REFUSED(X, "phase",                                                                            \
        "the phase is not kept: a pod to be placed is Pending, and pods that have ended are not "  \
        "among node.pods")                                                                         \
    X("qosClass", TEXT(WORD_MAX_BYTES), status_qos_class,                                          \
        "Guaranteed, Burstable or BestEffort, computed from its spec", OF_POD(POD_AMOUNTS))
SCHEMA_RECORD(schema_pod_status, "PodStatus", STATUS);
SCHEMA_RECORD(schema_node_pod_status, "NodePodStatus", STATUS);

/* --- the pod itself ------------------------------------------------------------------------ */

/* Both texts are empty if the pod is in none. */
static WorkloadName workload(const Pod *pod) {
    WorkloadName found = {0};

    return workload_find(pod, &found) ? found : (WorkloadName){0};
}

GET_ITEM(Pod, workload_kind, schema_text(workload(item).kind))
GET_ITEM(Pod, workload_name, schema_text(workload(item).name))

#define WORKLOAD(X)                                                                                \
    X("kind", TEXT(WORD_MAX_BYTES), workload_kind,                                                 \
        "Deployment, StatefulSet, DaemonSet, CronJob, Job, …; empty: it has no controlling owner") \
    X("name", TEXT(NAME_MAX_BYTES), workload_name, "its name; its namespace is the pod's")
SCHEMA_RECORD(schema_pod_workload, "PodWorkload", WORKLOAD);

GET(pod_metadata, cel_record(&OBJECT_OF(record, PodValue, head)->metadata))
GET(pod_spec, cel_record(&OBJECT_OF(record, PodValue, head)->spec))
GET(pod_status, cel_record(&OBJECT_OF(record, PodValue, head)->status))
GET_POD(head, pod_requests, schema_amounts_of(run, &pod->requests))
GET_POD(head, pod_workload, schema_item(run, &schema_pod_workload, pod))
GET_POD(head, pod_owner, schema_text(pod->owner_uid))
GET_POD(head, pod_terminating, cel_bool(pod->is_terminating))

#define AMOUNTS VALUE(schema_amounts_type, RESOURCES_MAX)
#define POD_OF(X, its_metadata, its_spec, its_status)                                              \
    X("metadata", VALUE(its_metadata.of, 0), pod_metadata, "its metadata")                         \
    X("spec", VALUE(its_spec.of, 0), pod_spec, "its spec")                                         \
    X("status", VALUE(its_status.of, 0), pod_status, "its status")                                 \
    X("requests", AMOUNTS, pod_requests,                                                           \
        "its requests as kube-scheduler counts them, as numbers: cpu in cores, 0.0 for others; "   \
        "milliCPU is cpu in thousandths")                                                          \
    X("owner", TEXT(WORD_MAX_BYTES), pod_owner,                                                    \
        "the UID of its controlling owner; empty when it has none")                                \
    X("workload", VALUE(schema_pod_workload.of, 0), pod_workload,                                  \
        "the end of its owner chain, as far as the pod tells: its controlling owner; of a "        \
        "ReplicaSet whose name ends in the label pod-template-hash its Deployment, of a Job "      \
        "whose name ends in a time its CronJob")                                                   \
    X("terminating", BOOL, pod_terminating, "it has a deletionTimestamp")                          \
    X("limits", AMOUNTS, pod_limits_of,                                                            \
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

GET_POD(head, pod_limits_of, limits(run, details_of(pod)))
GET_POD(head, pod_claims, schema_claims(run, pod))

#define POD(X)                                                                                     \
    POD_OF(X, schema_pod_metadata, schema_pod_spec, schema_pod_status)                             \
    X("claims", VALUE(schema_claims_type, POD_VOLUMES_MAX), pod_claims,                            \
        "its PersistentVolumeClaims, also those of ephemeral volumes, in the order of its "        \
        "volumes; needs get, list and watch on persistentvolumeclaims and persistentvolumes")
SCHEMA_RECORD(schema_pod_record, "Pod", POD);

GET_POD(head, pod_scheduled, schema_time(pod_placed_at(pod)))

#define NODE_POD(X)                                                                                \
    POD_OF(X, schema_node_pod_metadata, schema_node_pod_spec, schema_node_pod_status)              \
    X("scheduledTime", TIME, pod_scheduled,                                                        \
        "when it was bound to the node; if unknown, when it was started or created")               \
    REFUSED(X, "claims", "claims are looked up of the pod to be placed only")
SCHEMA_RECORD(schema_node_pod, "NodePod", NODE_POD);

SCHEMA_LIST_TYPE(schema_pods_type, &schema_node_pod.of);

void pod_value_init(PodValue *value, const Pod *pod) {
    *value = (PodValue){.head = {.type = &schema_pod_record.type},
        .metadata = {.type = &schema_pod_metadata.type},
        .spec = {.type = &schema_pod_spec.type},
        .status = {.type = &schema_pod_status.type},
        .pod = pod};
}

typedef struct PodValues {
    CelList list;
    const Pod *const *items;
} PodValues;

static CelValue pod_at(const CelList *list, uint32_t i, CelRun *run) {
    PodValue *value = cel_alloc(run, sizeof(*value));

    if (!value)
        return cel_no_memory(run);
    *value = (PodValue){.head = {.type = &schema_node_pod.type},
        .metadata = {.type = &schema_node_pod_metadata.type},
        .spec = {.type = &schema_node_pod_spec.type},
        .status = {.type = &schema_node_pod_status.type},
        .pod = OBJECT_OF(list, PodValues, list)->items[i]};
    return cel_record(&value->head);
}

CelValue schema_pods(CelRun *run, const Pod *const *items, size_t n) {
    PodValues *pods = cel_alloc(run, sizeof(*pods));

    if (!pods)
        return cel_no_memory(run);
    *pods = (PodValues){.list = {.n = (uint32_t)n, .depth = 1, .at = pod_at}, .items = items};
    return cel_list(&pods->list);
}
