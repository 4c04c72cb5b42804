/* Decodes Pods: the fields that policies read. */

#include "model/pod.h"

#include "model/time.h"

/* The results of pod_decode(), in the arena. */
typedef struct Decoding {
    Pod pod;
    PodDetails details;
    PodRequests requests;
    Str phase, deletion;
    bool is_cut; /* some tolerations, or parts of the node affinity, were left out */
} Decoding;

static void decode_affinity(JsonReader *reader, Arena *arena, void *target) {
    PodDetails *details = target;
    PodAffinity *affinity = ARENA_NEW(arena, PodAffinity);

    if (!affinity) {
        json_fail(reader, JSON_E_MEMORY, "an affinity");
        return;
    }
    pod_affinity_decode(reader, arena, affinity);
    details->affinity = affinity;
    details->n_affinity = 1;
    details->required_terms = terms_required(reader, arena, affinity);
}

/* In the order of the API server: the reader looks for the next field first. */
static const JsonField spec_fields[] = {
    JSON_CUSTOM("volumes", Decoding, details, pod_volumes_decode),
    POD_SPEC_REQUESTS(Decoding, requests.spec),
    JSON_CUSTOM("nodeSelector", Decoding, details.node_selector, labels_decode),
    JSON_MEMBER("serviceAccountName", TEXT, Decoding, details.service_account_name),
    JSON_MEMBER("nodeName", TEXT, Decoding, pod.node_name),
    JSON_MEMBER("hostNetwork", BOOL, Decoding, details.host_network),
    JSON_CUSTOM("affinity", Decoding, details, decode_affinity),
    JSON_MEMBER("schedulerName", TEXT, Decoding, pod.scheduler_name),
    JSON_LIST_CUT("tolerations", Decoding, pod.tolerations.items, pod.tolerations.n, is_cut,
        TOLERATIONS_MAX, toleration_decode),
    JSON_MEMBER("priorityClassName", TEXT, Decoding, details.priority_class_name),
    JSON_MEMBER("priority", INT, Decoding, pod.priority),
    JSON_MEMBER("runtimeClassName", TEXT, Decoding, details.runtime_class_name),
    JSON_MEMBER("preemptionPolicy", TEXT, Decoding, details.preemption_policy),
    JSON_LIST("topologySpreadConstraints", Decoding, details.spread, details.n_spread,
        AFFINITY_ITEMS_MAX, spread_constraint_decode),
    JSON_LIST("schedulingGates", Decoding, details.scheduling_gates, details.n_scheduling_gates,
        POD_SCHEDULING_GATES_MAX, json_read_name_of),
    JSON_LIST("resourceClaims", Decoding, details.resource_claims, details.n_resource_claims,
        POD_RESOURCE_CLAIMS_MAX, pod_resource_claim_decode),
};

static void decode_spec(JsonReader *reader, Arena *arena, void *target) {
    Decoding *decoding = target;

    decoding->requests.spec = (PodSpecRequests){0};
    decoding->is_cut = false;
    JSON_READ_KEYS(reader, arena, spec_fields, decoding);
    decoding->is_cut |= decoding->details.required_terms.is_too_large;
}

/* Takes the first owner that is a controller, also if POD_OWNERS_MAX other owners precede it. */
static void decode_owners(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("apiVersion", TEXT, PodOwner, api_version),
        JSON_MEMBER("kind", TEXT, PodOwner, kind),
        JSON_MEMBER("name", TEXT, PodOwner, name),
        JSON_MEMBER("uid", TEXT, PodOwner, uid),
        JSON_MEMBER("controller", BOOL, PodOwner, is_controller),
        JSON_MEMBER("blockOwnerDeletion", BOOL, PodOwner, blocks_deletion),
    };
    VEC(PodOwner) owners = {0};
    Decoding *decoding = target;
    Pod *pod = &decoding->pod;

    pod->owner_kind = pod->owner_name = pod->owner_uid = STR_NULL;
    json_array(reader);
    while (json_element(reader)) {
        PodOwner owner = {0};

        JSON_READ_KEYS(reader, arena, fields, &owner);
        if (owner.is_controller && str_is_empty(pod->owner_kind)) {
            pod->owner_kind = owner.kind;
            pod->owner_name = owner.name;
            pod->owner_uid = owner.uid;
        }
        if (owners.n < POD_OWNERS_MAX)
            JSON_ADD(reader, arena, &owners, "too many owners", owner);
    }
    decoding->details.owners = owners.items;
    decoding->details.n_owners = owners.n;
}

static void decode_metadata(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("name", TEXT, Decoding, pod.name),
        JSON_MEMBER("namespace", TEXT, Decoding, pod.namespace),
        JSON_MEMBER("uid", TEXT, Decoding, pod.uid),
        JSON_MEMBER("resourceVersion", TEXT, Decoding, pod.resource_version),
        JSON_CUSTOM("creationTimestamp", Decoding, pod.created_at, time_decode),
        JSON_MEMBER("deletionTimestamp", TEXT, Decoding, deletion),
        JSON_CUSTOM("labels", Decoding, pod.labels, labels_decode),
        JSON_CUSTOM("annotations", Decoding, details.annotations, annotations_decode),
        {JSON_NAME("ownerReferences"), JSON_FIELD_CUSTOM, 0, decode_owners},
    };
    Decoding *decoding = target;

    decoding->deletion = STR_NULL;
    JSON_READ_KEYS(reader, arena, fields, decoding);
    decoding->pod.is_terminating = !str_is_empty(decoding->deletion);
}

typedef struct PodCondition {
    Str type, status, reason;
    int64_t changed_at; /* lastTransitionTime */
} PodCondition;

/* The first condition of a type decides. Like kube-scheduler, does not read status.resize, which
 * had this before 1.33. */
static void decode_conditions(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("type", TEXT, PodCondition, type),
        JSON_MEMBER("status", TEXT, PodCondition, status),
        JSON_CUSTOM("lastTransitionTime", PodCondition, changed_at, time_decode),
        JSON_MEMBER("reason", TEXT, PodCondition, reason),
    };
    bool has_scheduled = false, has_resize = false;
    Decoding *decoding = target;

    decoding->pod.scheduled_at = 0;
    decoding->requests.status.is_infeasible = false;
    json_array(reader);
    while (json_element(reader)) {
        PodCondition condition = {0};

        JSON_READ_KEYS(reader, arena, fields, &condition);
        if (!has_scheduled && str_eq(condition.type, STR("PodScheduled"))) {
            has_scheduled = true;
            if (str_eq(condition.status, STR("True")))
                decoding->pod.scheduled_at = condition.changed_at;
        } else if (!has_resize && str_eq(condition.type, STR("PodResizePending"))) {
            has_resize = true;
            decoding->requests.status.is_infeasible = str_eq(condition.reason, STR("Infeasible"));
        }
    }
}

static void decode_status(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("phase", TEXT, Decoding, phase),
        {JSON_NAME("conditions"), JSON_FIELD_CUSTOM, 0, decode_conditions},
        JSON_MEMBER("nominatedNodeName", TEXT, Decoding, pod.nominated_node_name),
        JSON_CUSTOM("startTime", Decoding, pod.started_at, time_decode),
        POD_STATUS_REQUESTS(Decoding, requests.status),
    };
    Decoding *decoding = target;

    decoding->requests.status = (PodStatusRequests){0};
    decoding->phase = STR_NULL;
    JSON_READ_KEYS(reader, arena, fields, decoding);
    decoding->pod.is_terminal =
        str_is(decoding->phase, "Succeeded") || str_is(decoding->phase, "Failed");
}

/* Sets the claims' names that Kubernetes gives: POD-VOLUME. A pod may have no name yet. */
static void name_ephemeral_claims(
    JsonReader *reader, Arena *arena, const Pod *pod, const PodDetails *details) {
    for (size_t i = 0; i < details->n_volumes && !str_is_empty(pod->name); i++) {
        PodVolume *volume = &details->volumes[i];

        if (!str_eq(volume->kind, STR("ephemeral")))
            continue;
        volume->claim_name =
            arena_printf(arena, "%.*s-%.*s", STR_FMT(pod->name), STR_FMT(volume->name));
        if (!volume->claim_name.ptr)
            json_fail(reader, JSON_E_MEMORY, "too many volumes");
    }
}

/* Fields that are derived from several others. */
static void finish_details(JsonReader *reader, Arena *arena, Decoding *decoding) {
    const PodSpecRequests *spec = &decoding->requests.spec;
    const PodStatusRequests *status = &decoding->requests.status;
    PodDetails *details = &decoding->details;

    details->containers = spec->containers;
    details->n_containers = spec->n_containers;
    details->init_containers = spec->init_containers;
    details->n_init_containers = spec->n_init_containers;
    details->requests = spec->requests;
    details->limits = spec->limits;
    details->overhead = spec->overhead;
    details->has_status_amounts = status->has_amounts || status->pod.has_resources ||
                                  status->pod.allocated.is_given || status->is_infeasible;
    name_ephemeral_claims(reader, arena, &decoding->pod, details);
    decoding->pod.details = details;
}

static void decode_related(JsonReader *reader, Arena *arena, void *target) {
    Related *related = ARENA_NEW(arena, Related);

    *(const Related **)target = related;
    if (related)
        related_decode(reader, arena, related);
    else
        json_fail(reader, JSON_E_MEMORY, "a pod");
}

void pod_decode_resized(JsonReader *reader, Arena *arena, ResizeRule rule, Pod *ret) {
    static const JsonField fields[] = {
        {JSON_NAME("metadata"), JSON_FIELD_CUSTOM, 0, decode_metadata},
        {JSON_NAME("spec"), JSON_FIELD_CUSTOM, 0, decode_spec},
        {JSON_NAME("status"), JSON_FIELD_CUSTOM, 0, decode_status},
        JSON_CUSTOM(RELATED_KEY, Decoding, pod.related, decode_related),
    };
    Decoding *decoding = ARENA_NEW(arena, Decoding);
    bool has_room;

    *ret = (Pod){0};
    if (!decoding) {
        json_fail(reader, JSON_E_MEMORY, "a pod");
        return;
    }
    JSON_READ_KEYS(reader, arena, fields, decoding);
    has_room = pod_requests_sum(&decoding->requests, rule, reader, arena, &decoding->pod.requests);
    if (!json_error(reader))
        finish_details(reader, arena, decoding);
    *ret = decoding->pod;
    if (!json_error(reader) && (!has_room || decoding->is_cut) && str_is_empty(ret->node_name))
        json_fail(reader, JSON_E_RANGE,
            "a pod with more than 64 resources, 256 containers, 256 tolerations or 256 node "
            "affinity terms");
}

void pod_decode(JsonReader *reader, Arena *arena, void *target) {
    pod_decode_resized(reader, arena, RESIZE_BY_POD, target);
}

int pod_compare_names(const Pod *a, const Pod *b) {
    int order = str_cmp(a->namespace, b->namespace);

    return order != 0 ? order : str_cmp(a->name, b->name);
}

bool pod_selects(const Pod *pod, Str node_name, const Labels *node_labels) {
    const PodDetails *details = pod->details;

    for (size_t i = 0; details && i < details->node_selector.n; i++) {
        const Label *wanted = &details->node_selector.items[i];
        const Str *value = labels_find(node_labels, wanted->key);

        if (!value || !str_eq(*value, wanted->value))
            return false;
    }
    return !details || terms_hold(&details->required_terms, node_name, node_labels);
}
