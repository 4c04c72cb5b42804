/* Writes objects as the JSON that the decoder reads, by the table of their fields; fields that have
 * no value are left out. */

#include "cluster/object-text.h"

#include <assert.h>
#include <stdlib.h>

#include "cluster/object-fields.h"
#include "model/time.h"

#define NANO_OF_MILLI 1000000
#define NANO_OF_UNIT 1000000000

static void write_text(JsonWriter *writer, const char *key, Str text) {
    if (!str_is_empty(text))
        json_write_member(writer, str_from_c(key), text);
}

/* Begins a text that needs no escapes; the caller appends it and the closing quote. */
static Buf *begin_text(JsonWriter *writer, Str key) {
    json_write_key(writer, key);
    json_write_raw(writer, STR("\""));
    return writer->out;
}

static void write_time(JsonWriter *writer, Str key, int64_t sec) {
    if (sec == 0)
        return;
    time_print(sec, begin_text(writer, key));
    buf_append_char(writer->out, '"');
}

static int compare_resources(const void *a, const void *b) {
    return str_cmp(((const Resource *)a)->name, ((const Resource *)b)->name);
}

static void write_resources(JsonWriter *writer, const Resource *resources, size_t n) {
    Resource sorted[RESOURCES_MAX];

    n = n < RESOURCES_MAX ? n : RESOURCES_MAX;
    if (n == 0)
        return;
    memcpy(sorted, resources, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare_resources);
    for (size_t i = 0; i < n; i++) {
        resource_amount_print_exact(
            sorted[i].name, sorted[i].amount, begin_text(writer, sorted[i].name));
        buf_append_char(writer->out, '"');
    }
}

/* Writes @quantity exactly, with the suffix m or n where needed. */
static void write_amount(JsonWriter *writer, Str name, Quantity quantity) {
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
    if (nano < 0)
        digits[--at] = '-';
    buf_append(begin_text(writer, name), str_of(digits + at, sizeof(digits) - at));
    buf_append(writer->out, str_from_c(suffix));
    buf_append_char(writer->out, '"');
}

/* The fields of @item that have a key, as members of the open object. */
static void write_fields(JsonWriter *writer, const ObjectType *type, const void *item);

/* Writes a member of @n elements: an array, or for labels and amounts an object. Unlike
 * object_write_items() it writes an empty one, too. */
static void write_list(
    JsonWriter *writer, const char *key, const ObjectType *type, const void *items, size_t n);

static void write_toleration(JsonWriter *writer, const Toleration *toleration) {
    json_write(writer, "key?: %.*s, operator: %s, value?: %.*s, effect?: %.*s",
        STR_FMT(toleration->key), toleration->exists ? "Exists" : "Equal",
        STR_FMT(toleration->value), STR_FMT(taint_effect_word(toleration->effect)));
}

/* The claim of an ephemeral volume follows from its name. */
static void write_pod_volume(JsonWriter *writer, const PodVolume *volume) {
    json_write(writer, "name?: %.*s", STR_FMT(volume->name));
    if (str_is_empty(volume->kind))
        return;
    json_write(writer, "%.*s: {", STR_FMT(volume->kind));
    if (str_eq(volume->kind, STR("persistentVolumeClaim")))
        json_write(writer, "claimName?: %.*s", STR_FMT(volume->claim_name));
    if (!str_is_empty(volume->storage_class))
        json_write(writer, "volumeClaimTemplate: {spec: {storageClassName: %.*s}}",
            STR_FMT(volume->storage_class));
    json_write_end_object(writer);
}

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

/* Terms of @type, which begin with their weight. */
static void write_preferred(
    JsonWriter *writer, const char *key, const ObjectType *type, const void *terms, size_t n) {
    json_member_array(writer, PREFERRED);
    for (size_t i = 0; i < n; i++) {
        const void *term = (const char *)terms + i * type->size;

        json_write(writer, "{weight: %jd, %s: {", *(const int64_t *)term, key);
        write_fields(writer, type, term);
        json_write(writer, "}}");
    }
    json_write_end_array(writer);
}

static void write_affinity_to_nodes(JsonWriter *writer, const PodAffinity *affinity) {
    if (!affinity->is_node_required && affinity->n_node_preferred == 0)
        return;
    json_member_object(writer, "nodeAffinity");
    if (affinity->is_node_required) {
        json_member_object(writer, REQUIRED);
        write_list(writer, "nodeSelectorTerms", &node_term_type, affinity->node_required,
            affinity->n_node_required);
        json_write_end_object(writer);
    }
    if (affinity->n_node_preferred > 0)
        write_preferred(writer, "preference", &node_term_type, affinity->node_preferred,
            affinity->n_node_preferred);
    json_write_end_object(writer);
}

static void write_affinity_to_pods(
    JsonWriter *writer, const char *key, const PodAffinityTerms *terms) {
    if (terms->n_required + terms->n_preferred == 0)
        return;
    json_member_object(writer, key);
    write_list(writer, REQUIRED, &pod_term_type, terms->required, terms->n_required);
    write_preferred(
        writer, "podAffinityTerm", &pod_term_type, terms->preferred, terms->n_preferred);
    json_write_end_object(writer);
}

static void write_affinity(JsonWriter *writer, const PodAffinity *affinity) {
    write_affinity_to_nodes(writer, affinity);
    write_affinity_to_pods(writer, "podAffinity", &affinity->pods);
    write_affinity_to_pods(writer, "podAntiAffinity", &affinity->anti);
}

/* The word of an unknown effect was not kept. A taint without a word has no effect either, but a
 * toleration without one would tolerate all effects: taint_effect_word() stands in. */
static void write_members(JsonWriter *writer, const ObjectType *type, const void *item) {
    const Taint *taint = item;

    if (type == &taint_type)
        json_write(writer, "key?: %.*s, value?: %.*s, effect?: %.*s", STR_FMT(taint->key),
            STR_FMT(taint->value),
            STR_FMT(taint->effect == TAINT_UNKNOWN ? STR_NULL : taint_effect_word(taint->effect)));
    else if (type == &toleration_type)
        write_toleration(writer, item);
    else if (type == &pod_volume_type)
        write_pod_volume(writer, item);
    else if (type == &affinity_type)
        write_affinity(writer, item);
    else if (type == &address_type)
        write_text(writer, "type", address_type_name(((const Address *)item)->type));
    write_fields(writer, type, item);
}

static void write_list(
    JsonWriter *writer, const char *key, const ObjectType *type, const void *items, size_t n) {
    bool is_label =
        type == &label_type || type == &annotation_type || type == &node_annotation_type;
    const Label *labels = is_label ? items : NULL;

    assert(n == 0 || items);
    if (labels || type == &resource_type) {
        json_member_object(writer, key);
        if (!labels)
            write_resources(writer, items, n);
        for (size_t i = 0; labels && i < n; i++)
            json_write_member(writer, labels[i].key, labels[i].value);
        json_write_end_object(writer);
        return;
    }
    json_member_array(writer, key);
    for (size_t i = 0; i < n; i++) {
        const void *item = (const char *)items + i * type->size;

        if (type->size == sizeof(Str) && !type->fields[0].key) {
            json_write_string(writer, *(const Str *)item);
            continue;
        }
        json_write_object(writer);
        write_members(writer, type, item);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

void object_write_items(
    JsonWriter *writer, const char *key, const ObjectType *type, const void *items, size_t n) {
    if (n > 0)
        write_list(writer, key, type, items, n);
}

/* Whether @item has a field with a value. */
static bool has_value(const ObjectType *type, const void *item) {
    bool is_given = false;

    if (type == &amount_list_type)
        return ((const AmountList *)item)->is_given;
    if (type == &selector_type)
        return ((const LabelSelector *)item)->is_given;
    for (size_t i = 0; i < type->n_fields; i++) { /* texts and structures: others have none */
        const void *at = field_at(&type->fields[i], item);

        is_given |= type->fields[i].kind == FIELD_TEXT ? !str_is_empty(*(const Str *)at)
                                                       : has_value(type->fields[i].of, at);
    }
    return is_given;
}

static void write_struct(
    JsonWriter *writer, const char *key, const ObjectType *type, const void *item) {
    const AmountList *amounts = type == &amount_list_type ? item : NULL;

    if (!has_value(type, item))
        return;
    json_member_object(writer, key);
    for (size_t i = 0; amounts && i < amounts->n; i++)
        write_amount(writer, amounts->items[i].name, amounts->items[i].quantity);
    write_fields(writer, type, item);
    json_write_end_object(writer);
}

static void write_field(JsonWriter *writer, const ObjectField *field, const void *item) {
    const void *at = field_at(field, item);
    int64_t number = field->size == sizeof(number) ? *(const int64_t *)at : 0;

    switch (field->kind) {
    case FIELD_TEXT:
    case FIELD_VERSION:
        write_text(writer, field->key, *(const Str *)at);
        break;
    case FIELD_LIST:
        object_write_items(
            writer, field->key, field->of, field_items(field, item), field_count(field, item));
        break;
    case FIELD_SINGLE:
        if (field_count(field, item) == 0)
            break;
        json_member_object(writer, field->key);
        write_members(writer, field->of, field_items(field, item));
        json_write_end_object(writer);
        break;
    case FIELD_STRUCT:
        write_struct(writer, field->key, field->of, at);
        break;
    case FIELD_BOOL:
        if (*(const bool *)at)
            json_member_bool(writer, field->key, true);
        break;
    case FIELD_TIME:
        write_time(writer, str_from_c(field->key), number);
        break;
    case FIELD_NUMBER:
    case FIELD_NONZERO:
        if (number != 0 || field->kind == FIELD_NUMBER)
            json_member_int(writer, field->key, number);
        break;
    case FIELD_POINTER:
    case FIELD_PLAIN:
        break;
    }
}

static void write_fields(JsonWriter *writer, const ObjectType *type, const void *item) {
    for (size_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].key)
            write_field(writer, &type->fields[i], item);
}

/* Whether the kept conditions say that the node is ready. Ready may have been beyond the limit:
 * then only is_ready has it. */
static bool conditions_say_ready(const Node *node) {
    bool is_ready = false;

    for (size_t i = 0; i < node->n_conditions; i++)
        if (str_eq(node->conditions[i].type, STR("Ready")))
            is_ready = str_eq(node->conditions[i].status, STR("True"));
    return is_ready;
}

static void write_conditions(JsonWriter *writer, const Node *node) {
    Condition conditions[NODE_CONDITIONS_MAX + 1];
    size_t n = node->n_conditions < NODE_CONDITIONS_MAX ? node->n_conditions : NODE_CONDITIONS_MAX;

    if (n > 0)
        memcpy(conditions, node->conditions, n * sizeof(*conditions));
    if (node->is_ready != conditions_say_ready(node))
        conditions[n++] = (Condition){
            .type = STR("Ready"), .status = node->is_ready ? STR("True") : STR("False")};
    object_write_items(writer, "conditions", &condition_type, conditions, n);
}

void object_write_node(JsonWriter *writer, const Node *node) {
    json_write(writer, "{apiVersion: 'v1', kind: 'Node', metadata: {");
    write_fields(writer, &node_metadata_type, node);
    json_write(writer, "}, spec: {");
    object_write_items(writer, "taints", &taint_type, node->taints.items, node->taints.n);
    json_write(writer, "unschedulable?: %i", node->is_unschedulable);
    if (node->details)
        write_fields(writer, &node_spec_details_type, node->details);
    json_write(writer, "}, status: {");
    object_write_items(
        writer, "allocatable", &resource_type, node->allocatable.items, node->allocatable.n);
    write_conditions(writer, node);
    object_write_items(writer, "images", &image_type, node->images, node->n_images);
    object_write_items(writer, "addresses", &address_type, node->addresses, node->n_addresses);
    if (node->details)
        write_fields(writer, &node_status_details_type, node->details);
    json_write(writer, "}}");
}

void object_write_namespace(JsonWriter *writer, const Namespace *namespace) {
    json_write(writer, "{apiVersion: 'v1', kind: 'Namespace', metadata: {");
    write_fields(writer, &namespace_type, namespace);
    json_write(writer, "}}");
}

static void write_owners(JsonWriter *writer, const Pod *pod) {
    const PodOwner controller = {.kind = pod->owner_kind,
        .name = pod->owner_name,
        .uid = pod->owner_uid,
        .is_controller = true};
    bool has_all = pod->details && pod->details->n_owners > 0;
    const PodOwner *owners = has_all ? pod->details->owners : &controller;

    if (!has_all && pod->owner_kind.len + pod->owner_name.len + pod->owner_uid.len == 0)
        return;
    write_list(
        writer, "ownerReferences", &owner_type, owners, has_all ? pod->details->n_owners : 1);
}

static void write_pod_metadata(JsonWriter *writer, const Pod *pod) {
    write_fields(writer, &pod_metadata_type, pod);
    if (pod->is_terminating)
        json_write(writer, "deletionTimestamp: '1970-01-01T00:00:00Z'");
    object_write_items(writer, "labels", &label_type, pod->labels.items, pod->labels.n);
    if (pod->details)
        object_write_items(writer, "annotations", &annotation_type, pod->details->annotations.items,
            pod->details->annotations.n);
    write_owners(writer, pod);
}

static void write_term_condition(
    JsonWriter *writer, Str key, SelectorOp op, const Str *values, size_t n_values) {
    json_write(
        writer, "{key?: %.*s, operator?: %.*s", STR_FMT(key), STR_FMT(selector_op_words[op]));
    json_member_texts(writer, "values", values, n_values);
    json_write_end_object(writer);
}

/* A term that no node matches is written as one without conditions. */
static void write_term(JsonWriter *writer, const NodeTerm *term) {
    json_write(writer, "{matchExpressions: [");
    for (size_t i = 0; !term->holds_nowhere && i < term->labels.n; i++) {
        const Requirement *of = &term->labels.items[i];

        write_term_condition(writer, of->key, of->op, of->values, of->n_values);
    }
    json_write(writer, "], matchFields: [");
    for (size_t i = 0; !term->holds_nowhere && i < term->n_names; i++)
        write_term_condition(writer, STR("metadata.name"),
            term->names[i].is_not ? SELECTOR_NOT_IN : SELECTOR_IN, &term->names[i].value, 1);
    json_write(writer, "]}");
}

static void write_spec(JsonWriter *writer, const Pod *pod, Str node) {
    json_write(writer, "nodeName?: %.*s, schedulerName?: %.*s, priority?: %jd", STR_FMT(node),
        STR_FMT(pod->scheduler_name), pod->priority);
    if (pod->details) {
        write_fields(writer, &pod_details_type, pod->details);
    } else { /* only the sum is kept */
        json_write(writer, "containers: [{name: 'sum', resources: {");
        object_write_items(
            writer, "requests", &resource_type, pod->requests.items, pod->requests.n);
        json_write(writer, "}}]");
    }
    object_write_items(
        writer, "tolerations", &toleration_type, pod->tolerations.items, pod->tolerations.n);
}

/* Amounts that, with the overhead, make the requests. */
static void write_status_amounts(JsonWriter *writer, const Pod *pod) {
    for (size_t i = 0; i < pod->requests.n; i++) {
        const Resource *request = &pod->requests.items[i];
        const Amount *overhead = amount_list_find(&pod->details->overhead, request->name);
        Quantity amount = resource_quantity_of(request->name, request->amount);

        if (overhead)
            amount.nano -= overhead->quantity.nano;
        write_amount(writer, request->name, amount);
    }
}

static bool has_status_amounts(const Pod *pod) {
    return pod->details && pod->details->has_status_amounts;
}

/* With an infeasible resize only the status counts (model/pod-requests.h). */
static void write_resize(JsonWriter *writer, const Pod *pod) {
    if (!has_status_amounts(pod))
        return;
    json_write(writer, "allocatedResources: {");
    write_status_amounts(writer, pod);
    json_write(writer, "}, resources: {requests: {");
    write_status_amounts(writer, pod);
    json_write(writer, "}}");
}

static void write_conditions_of_pod(JsonWriter *writer, const Pod *pod) {
    if (pod->scheduled_at == 0 && !has_status_amounts(pod))
        return;
    json_member_array(writer, "conditions");
    if (pod->scheduled_at != 0) {
        json_write(writer, "{type: 'PodScheduled', status: 'True'");
        write_time(writer, STR("lastTransitionTime"), pod->scheduled_at);
        json_write_end_object(writer);
    }
    if (has_status_amounts(pod))
        json_write(writer, "{type: 'PodResizePending', reason: 'Infeasible'}");
    json_write_end_array(writer);
}

static void write_storage(JsonWriter *writer, const char *key, int64_t bytes) {
    if (bytes != 0)
        json_write(writer, "%s: {storage: %jd}", key, bytes);
}

void object_write_claim(JsonWriter *writer, const VolumeClaim *claim, bool with_volume) {
    json_write(writer,
        "{apiVersion: 'v1', kind: 'PersistentVolumeClaim', "
        "metadata: {name?: %.*s, namespace?: %.*s}, "
        "spec: {storageClassName?: %.*s, volumeName?: %.*s",
        STR_FMT(claim->name), STR_FMT(claim->namespace), STR_FMT(claim->storage_class),
        STR_FMT(claim->volume_name));
    json_member_texts(writer, "accessModes", claim->access_modes, claim->n_access_modes);
    json_member_object(writer, "resources");
    write_storage(writer, "requests", claim->requested);
    json_write(writer, "}}, status: {phase?: %.*s", STR_FMT(claim->phase));
    write_storage(writer, "capacity", claim->capacity);
    json_write(writer, "}");
    if (with_volume && claim->volume.name.len > 0) {
        json_write_key(writer, STR("volume"));
        object_write_volume(writer, &claim->volume);
    }
    json_write_end_object(writer);
}

void object_write_volume(JsonWriter *writer, const PersistentVolume *volume) {
    const Label zone = {STR("topology.kubernetes.io/zone"), volume->zone_label};

    json_write(writer, "{apiVersion: 'v1', kind: 'PersistentVolume', metadata: {name?: %.*s",
        STR_FMT(volume->name));
    object_write_items(writer, "labels", &label_type, &zone, zone.value.len > 0);
    json_write(writer, "}, spec: {");
    if (volume->terms.is_given) {
        json_write(writer, "nodeAffinity: {required: {nodeSelectorTerms: [");
        for (size_t i = 0; i < volume->terms.n; i++)
            write_term(writer, &volume->terms.items[i]);
        json_write(writer, "]}}");
    }
    if (volume->is_limited)
        json_write(writer, "csi: {}"); /* for any limited type */
    json_write(writer, "}}");
}

static void write_related(JsonWriter *writer, const Related *related) {
    json_member_object(writer, RELATED_KEY);
    if (related->namespace) {
        json_write_key(writer, STR("namespace"));
        object_write_namespace(writer, related->namespace);
    }
    if (related->knows_claims) {
        json_write(writer, "claims: [");
        for (size_t i = 0; i < related->n_claims; i++)
            object_write_claim(writer, &related->claims[i], /* with_volume= */ true);
        json_write(writer, "]");
    }
    json_write(writer, "}");
}

void object_write_pod(JsonWriter *writer, const Pod *pod, Str node) {
    json_write(writer, "{apiVersion: 'v1', kind: 'Pod', metadata: {");
    write_pod_metadata(writer, pod);
    json_write(writer, "}, spec: {");
    write_spec(writer, pod, node);
    json_write(writer, "}, status: {phase?: %s", pod->is_terminal ? "Failed" : "");
    write_time(writer, STR("startTime"), pod->started_at);
    write_conditions_of_pod(writer, pod);
    write_resize(writer, pod);
    json_write(writer, "nominatedNodeName?: %.*s}", STR_FMT(pod->nominated_node_name));
    if (pod->related)
        write_related(writer, pod->related);
    json_write_end_object(writer);
}
