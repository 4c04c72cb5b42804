/* Writes nodes as the JSON that the decoder reads, and the parts that pods have too. */

#include "cluster/object-text-internal.h"

#include <assert.h>
#include <stdlib.h>

#include "model/time.h"

/* --- parts ------------------------------------------------------------------------------- */

void object_write_field(JsonWriter *writer, Str key, Str value) {
    if (str_is_empty(value))
        return;
    json_write_member(writer, key, value);
}

Buf *object_begin_text(JsonWriter *writer, Str key) {
    json_write_key(writer, key);
    json_write_raw(writer, STR("\""));
    return writer->out;
}

void object_write_time(JsonWriter *writer, Str key, int64_t sec) {
    if (sec == 0)
        return;
    time_print(sec, object_begin_text(writer, key));
    buf_append_char(writer->out, '"');
}

void object_begin(JsonWriter *writer, Str kind) {
    json_write_object(writer);
    object_write_field(writer, STR("apiVersion"), STR("v1"));
    object_write_field(writer, STR("kind"), kind);
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
            sorted[i].name, sorted[i].amount, object_begin_text(writer, sorted[i].name));
        buf_append_char(writer->out, '"');
    }
}

/* A word that is unknown was not kept. Of a taint it may be left out to the same effect;
 * of a toleration not: it would tolerate all of them. */
static void write_taint(JsonWriter *writer, const Taint *taint) {
    object_write_field(writer, STR("key"), taint->key);
    object_write_field(writer, STR("value"), taint->value);
    object_write_field(writer, STR("effect"),
        taint->effect == TAINT_UNKNOWN ? STR_NULL : taint_effect_word(taint->effect));
}

static void write_members(JsonWriter *writer, const ObjectType *type, const void *item) {
    if (type == &taint_type)
        write_taint(writer, item);
    else if (type == &toleration_type)
        object_write_toleration(writer, item);
    else if (type == &pod_volume_type)
        object_write_pod_volume(writer, item);
    else if (type == &affinity_type)
        object_write_affinity(writer, item);
    else if (type == &address_type)
        object_write_field(writer, STR("type"), address_type_name(((const Address *)item)->type));
    object_write_fields(writer, type, item);
}

static bool is_label(const ObjectType *type) {
    return type == &label_type || type == &annotation_type || type == &node_annotation_type;
}

void object_write_list(
    JsonWriter *writer, const char *key, const ObjectType *type, const void *items, size_t n) {
    const Label *labels = is_label(type) ? items : NULL;

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
        object_write_list(writer, key, type, items, n);
}

/* Whether a field of it has a value. */
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
        object_write_amount(writer, amounts->items[i].name, amounts->items[i].quantity);
    object_write_fields(writer, type, item);
    json_write_end_object(writer);
}

static void write_field(JsonWriter *writer, const ObjectField *field, const void *item) {
    const void *at = field_at(field, item);
    int64_t number = field->size == sizeof(number) ? *(const int64_t *)at : 0;

    switch (field->kind) {
    case FIELD_TEXT:
    case FIELD_VERSION:
        object_write_field(writer, str_from_c(field->key), *(const Str *)at);
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
        object_write_time(writer, str_from_c(field->key), number);
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

void object_write_fields(JsonWriter *writer, const ObjectType *type, const void *item) {
    for (size_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].key)
            write_field(writer, &type->fields[i], item);
}

/* --- nodes ------------------------------------------------------------------------------- */

/* Whether the node is ready by the kept conditions: not if that condition was over the limit, and
 * only its readiness is kept. */
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
    object_begin(writer, STR("Node"));
    json_member_object(writer, "metadata");
    object_write_fields(writer, &node_metadata_type, node);
    json_write_end_object(writer);
    json_member_object(writer, "spec");
    object_write_items(writer, "taints", &taint_type, node->taints.items, node->taints.n);
    if (node->is_unschedulable)
        json_member_bool(writer, "unschedulable", true);
    if (node->details)
        object_write_fields(writer, &node_spec_details_type, node->details);
    json_write_end_object(writer);
    json_member_object(writer, "status");
    object_write_items(
        writer, "allocatable", &resource_type, node->allocatable.items, node->allocatable.n);
    write_conditions(writer, node);
    object_write_items(writer, "images", &image_type, node->images, node->n_images);
    object_write_items(writer, "addresses", &address_type, node->addresses, node->n_addresses);
    if (node->details)
        object_write_fields(writer, &node_status_details_type, node->details);
    json_write_end_object(writer);
    json_write_end_object(writer);
}

/* --- namespaces -------------------------------------------------------------------------- */

void object_write_namespace(JsonWriter *writer, const Namespace *namespace) {
    object_begin(writer, STR("Namespace"));
    json_member_object(writer, "metadata");
    object_write_fields(writer, &namespace_type, namespace);
    json_write_end_object(writer);
    json_write_end_object(writer);
}
