/* Writes pods as the JSON that the decoder reads. */

#include "cluster/object-text-internal.h"

#define NANO_OF_MILLI 1000000
#define NANO_OF_UNIT 1000000000

/* --- metadata ---------------------------------------------------------------------------- */

static void write_owners(JsonWriter *writer, const Pod *pod) {
    const PodOwner controller = {.kind = pod->owner_kind,
        .name = pod->owner_name,
        .uid = pod->owner_uid,
        .is_controller = true};
    bool has_all = pod->details && pod->details->n_owners > 0;
    const PodOwner *owners = has_all ? pod->details->owners : &controller;

    if (!has_all && pod->owner_kind.len + pod->owner_name.len + pod->owner_uid.len == 0)
        return;
    object_write_list(
        writer, "ownerReferences", &owner_type, owners, has_all ? pod->details->n_owners : 1);
}

static void write_pod_metadata(JsonWriter *writer, const Pod *pod) {
    json_member_object(writer, "metadata");
    object_write_fields(writer, &pod_metadata_type, pod);
    object_write_field(writer, STR("deletionTimestamp"),
        pod->is_terminating ? STR("1970-01-01T00:00:00Z") : STR_NULL);
    object_write_items(writer, "labels", &label_type, pod->labels.items, pod->labels.n);
    if (pod->details)
        object_write_items(writer, "annotations", &annotation_type, pod->details->annotations.items,
            pod->details->annotations.n);
    write_owners(writer, pod);
    json_write_end_object(writer);
}

/* --- containers -------------------------------------------------------------------------- */

/* Exact: in thousandths or nanos where that is needed. */
void object_write_amount(JsonWriter *writer, Str name, Quantity quantity) {
    __int128 nano = quantity.nano;
    const char *suffix = "n";
    char digits[48];
    size_t at = sizeof(digits);

    if (nano % NANO_OF_MILLI == 0) {
        bool is_whole = nano % NANO_OF_UNIT == 0;

        nano /= is_whole ? NANO_OF_UNIT : NANO_OF_MILLI;
        suffix = is_whole ? "" : "m";
    }
    for (unsigned __int128 rest = nano < 0 ? -(unsigned __int128)nano : (unsigned __int128)nano;
         rest > 0 || at == sizeof(digits); rest /= 10)
        digits[--at] = (char)('0' + (int)(rest % 10));
    buf_printf(object_begin_text(writer, name), "%s%.*s%s\"", nano < 0 ? "-" : "",
        (int)(sizeof(digits) - at), digits + at, suffix);
}

/* Of a pod of which only the sum is kept. */
static void write_sum(JsonWriter *writer, const Resources *requests) {
    json_member_array(writer, "containers");
    json_write_object(writer);
    object_write_field(writer, STR("name"), STR("sum"));
    json_member_object(writer, "resources");
    object_write_items(writer, "requests", &resource_type, requests->items, requests->n);
    json_write_end_object(writer);
    json_write_end_object(writer);
    json_write_end_array(writer);
}

/* --- the spec ---------------------------------------------------------------------------- */

void object_write_toleration(JsonWriter *writer, const Toleration *toleration) {
    object_write_field(writer, STR("key"), toleration->key);
    object_write_field(writer, STR("operator"), toleration->exists ? STR("Exists") : STR("Equal"));
    object_write_field(writer, STR("value"), toleration->value);
    object_write_field(writer, STR("effect"), taint_effect_word(toleration->effect));
}

static void write_term_condition(
    JsonWriter *writer, Str key, SelectorOp op, const Str *values, size_t n_values) {
    json_write_object(writer);
    object_write_field(writer, STR("key"), key);
    object_write_field(writer, STR("operator"), selector_op_words[op]);
    json_member_texts(writer, "values", values, n_values);
    json_write_end_object(writer);
}

/* A term that no node matches is written as one without conditions. */
static void write_term(JsonWriter *writer, const NodeTerm *term) {
    json_write_object(writer);
    json_member_array(writer, "matchExpressions");
    for (size_t i = 0; !term->holds_nowhere && i < term->labels.n; i++) {
        const Requirement *of = &term->labels.items[i];

        write_term_condition(writer, of->key, of->op, of->values, of->n_values);
    }
    json_write_end_array(writer);
    json_member_array(writer, "matchFields");
    for (size_t i = 0; !term->holds_nowhere && i < term->n_names; i++)
        write_term_condition(writer, STR("metadata.name"),
            term->names[i].is_not ? SELECTOR_NOT_IN : SELECTOR_IN, &term->names[i].value, 1);
    json_write_end_array(writer);
    json_write_end_object(writer);
}

/* As a member @key of {nodeAffinity: {...}}. */
static void write_node_affinity(JsonWriter *writer, const char *key, const NodeTerms *terms) {
    json_member_object(writer, "nodeAffinity");
    json_member_object(writer, key);
    json_member_array(writer, "nodeSelectorTerms");
    for (size_t i = 0; i < terms->n; i++)
        write_term(writer, &terms->items[i]);
    json_write_end_array(writer);
    json_write_end_object(writer);
    json_write_end_object(writer);
}

/* The claim of an ephemeral volume follows from its name. */
void object_write_pod_volume(JsonWriter *writer, const PodVolume *volume) {
    object_write_field(writer, STR("name"), volume->name);
    if (str_is_empty(volume->kind))
        return;
    json_write_key(writer, volume->kind);
    json_write_object(writer);
    if (str_eq(volume->kind, STR("persistentVolumeClaim")))
        object_write_field(writer, STR("claimName"), volume->claim_name);
    if (!str_is_empty(volume->storage_class)) {
        json_member_object(writer, "volumeClaimTemplate");
        json_member_object(writer, "spec");
        object_write_field(writer, STR("storageClassName"), volume->storage_class);
        json_write_end_object(writer);
        json_write_end_object(writer);
    }
    json_write_end_object(writer);
}

/* --- affinity ----------------------------------------------------------------------------- */

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static void write_preferred(
    JsonWriter *writer, int64_t weight, const char *key, const ObjectType *type, const void *term) {
    json_write_object(writer);
    json_member_int(writer, "weight", weight);
    json_member_object(writer, key);
    object_write_fields(writer, type, term);
    json_write_end_object(writer);
    json_write_end_object(writer);
}

static void write_affinity_to_nodes(JsonWriter *writer, const PodAffinity *affinity) {
    if (!affinity->is_node_required && affinity->n_node_preferred == 0)
        return;
    json_member_object(writer, "nodeAffinity");
    if (affinity->is_node_required) {
        json_member_object(writer, REQUIRED);
        object_write_list(writer, "nodeSelectorTerms", &node_term_type, affinity->node_required,
            affinity->n_node_required);
        json_write_end_object(writer);
    }
    if (affinity->n_node_preferred > 0) {
        json_member_array(writer, PREFERRED);
        for (size_t i = 0; i < affinity->n_node_preferred; i++)
            write_preferred(writer, affinity->node_preferred[i].weight, "preference",
                &node_term_type, &affinity->node_preferred[i]);
        json_write_end_array(writer);
    }
    json_write_end_object(writer);
}

static void write_affinity_to_pods(
    JsonWriter *writer, const char *key, const PodAffinityTerms *terms) {
    if (terms->n_required + terms->n_preferred == 0)
        return;
    json_member_object(writer, key);
    object_write_list(writer, REQUIRED, &pod_term_type, terms->required, terms->n_required);
    json_member_array(writer, PREFERRED);
    for (size_t i = 0; i < terms->n_preferred; i++)
        write_preferred(writer, terms->preferred[i].weight, "podAffinityTerm", &pod_term_type,
            &terms->preferred[i]);
    json_write_end_array(writer);
    json_write_end_object(writer);
}

void object_write_affinity(JsonWriter *writer, const PodAffinity *affinity) {
    write_affinity_to_nodes(writer, affinity);
    write_affinity_to_pods(writer, "podAffinity", &affinity->pods);
    write_affinity_to_pods(writer, "podAntiAffinity", &affinity->anti);
}

static void write_spec(JsonWriter *writer, const Pod *pod, Str node) {
    json_member_object(writer, "spec");
    object_write_field(writer, STR("nodeName"), node);
    object_write_field(writer, STR("schedulerName"), pod->scheduler_name);
    if (pod->priority != 0)
        json_member_int(writer, "priority", pod->priority);
    if (pod->details)
        object_write_fields(writer, &pod_details_type, pod->details);
    else
        write_sum(writer, &pod->requests);
    object_write_items(
        writer, "tolerations", &toleration_type, pod->tolerations.items, pod->tolerations.n);
    json_write_end_object(writer);
}

/* --- the status -------------------------------------------------------------------------- */

/* Amounts that, with the overhead, make the requests. */
static void write_status_amounts(JsonWriter *writer, Str key, const Pod *pod) {
    json_write_key(writer, key);
    json_write_object(writer);
    for (size_t i = 0; i < pod->requests.n; i++) {
        const Resource *request = &pod->requests.items[i];
        const Amount *overhead = amount_list_find(&pod->details->overhead, request->name);
        __int128 unit = str_eq(request->name, STR("cpu")) ? NANO_OF_MILLI : NANO_OF_UNIT;
        Quantity amount = {.nano = request->amount * unit};

        if (overhead)
            amount.nano -= overhead->quantity.nano;
        object_write_amount(writer, request->name, amount);
    }
    json_write_end_object(writer);
}

static bool has_status_amounts(const Pod *pod) {
    return pod->details && pod->details->has_status_amounts;
}

/* A resize that cannot be: then only the status counts (model/pod-requests.h). */
static void write_resize(JsonWriter *writer, const Pod *pod) {
    if (!has_status_amounts(pod))
        return;
    write_status_amounts(writer, STR("allocatedResources"), pod);
    json_member_object(writer, "resources");
    write_status_amounts(writer, STR("requests"), pod);
    json_write_end_object(writer);
}

static void write_conditions_of_pod(JsonWriter *writer, const Pod *pod) {
    if (pod->scheduled_at == 0 && !has_status_amounts(pod))
        return;
    json_member_array(writer, "conditions");
    if (pod->scheduled_at != 0) {
        json_write_object(writer);
        object_write_field(writer, STR("type"), STR("PodScheduled"));
        object_write_field(writer, STR("status"), STR("True"));
        object_write_time(writer, STR("lastTransitionTime"), pod->scheduled_at);
        json_write_end_object(writer);
    }
    if (has_status_amounts(pod)) {
        json_write_object(writer);
        object_write_field(writer, STR("type"), STR("PodResizePending"));
        object_write_field(writer, STR("reason"), STR("Infeasible"));
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

/* --- claims and volumes --------------------------------------------------------------------- */

static void write_storage(JsonWriter *writer, Str key, int64_t bytes) {
    if (bytes == 0)
        return;
    json_write_key(writer, key);
    json_write_object(writer);
    json_write_key(writer, STR("storage"));
    json_write_int(writer, bytes);
    json_write_end_object(writer);
}

/* With @volume: in a field of its own, as only a recorded claim has it. */
static void write_claim(JsonWriter *writer, const VolumeClaim *claim, bool with_volume) {
    object_begin(writer, STR("PersistentVolumeClaim"));
    json_member_object(writer, "metadata");
    object_write_field(writer, STR("name"), claim->name);
    object_write_field(writer, STR("namespace"), claim->namespace);
    json_write_end_object(writer);
    json_member_object(writer, "spec");
    object_write_field(writer, STR("storageClassName"), claim->storage_class);
    object_write_field(writer, STR("volumeName"), claim->volume_name);
    json_member_texts(writer, "accessModes", claim->access_modes, claim->n_access_modes);
    json_member_object(writer, "resources");
    write_storage(writer, STR("requests"), claim->requested);
    json_write_end_object(writer);
    json_write_end_object(writer);
    json_member_object(writer, "status");
    object_write_field(writer, STR("phase"), claim->phase);
    write_storage(writer, STR("capacity"), claim->capacity);
    json_write_end_object(writer);
    if (with_volume && claim->volume.name.len > 0) {
        json_write_key(writer, STR("volume"));
        object_write_volume(writer, &claim->volume);
    }
    json_write_end_object(writer);
}

void object_write_claim(JsonWriter *writer, const VolumeClaim *claim) {
    write_claim(writer, claim, /* with_volume= */ false);
}

void object_write_volume(JsonWriter *writer, const PersistentVolume *volume) {
    const Label zone = {STR("topology.kubernetes.io/zone"), volume->zone_label};

    object_begin(writer, STR("PersistentVolume"));
    json_member_object(writer, "metadata");
    object_write_field(writer, STR("name"), volume->name);
    object_write_items(writer, "labels", &label_type, &zone, zone.value.len > 0);
    json_write_end_object(writer);
    json_member_object(writer, "spec");
    if (volume->terms.is_given)
        write_node_affinity(writer, "required", &volume->terms);
    if (volume->is_limited) {
        json_member_object(writer, "csi"); /* whichever it is */
        json_write_end_object(writer);
    }
    json_write_end_object(writer);
    json_write_end_object(writer);
}

static void write_claims(JsonWriter *writer, const Related *related) {
    json_member_array(writer, "claims");
    for (size_t i = 0; i < related->n_claims; i++)
        write_claim(writer, &related->claims[i], /* with_volume= */ true);
    json_write_end_array(writer);
}

/* --- the pod ------------------------------------------------------------------------------- */

static void write_related(JsonWriter *writer, const Related *related) {
    json_member_object(writer, RELATED_KEY);
    if (related->namespace) {
        json_write_key(writer, STR("namespace"));
        object_write_namespace(writer, related->namespace);
    }
    if (related->knows_claims)
        write_claims(writer, related);
    json_write_end_object(writer);
}

void object_write_pod(JsonWriter *writer, const Pod *pod, Str node) {
    object_begin(writer, STR("Pod"));
    write_pod_metadata(writer, pod);
    write_spec(writer, pod, node);
    json_member_object(writer, "status");
    object_write_field(writer, STR("phase"), pod->is_terminal ? STR("Failed") : STR_NULL);
    object_write_time(writer, STR("startTime"), pod->started_at);
    write_conditions_of_pod(writer, pod);
    write_resize(writer, pod);
    object_write_field(writer, STR("nominatedNodeName"), pod->nominated_node_name);
    json_write_end_object(writer);
    if (pod->related)
        write_related(writer, pod->related);
    json_write_end_object(writer);
}
