/* Writes nodes as the JSON that the decoder reads, and the parts that pods have too. */

#include "cluster/object-text-internal.h"

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

void object_write_labels(JsonWriter *writer, Str key, const Labels *labels) {
    if (labels->n == 0)
        return;
    json_write_key(writer, key);
    json_write_object(writer);
    for (size_t i = 0; i < labels->n; i++) {
        json_write_member(writer, labels->items[i].key, labels->items[i].value);
    }
    json_write_end_object(writer);
}

static int compare_resources(const void *a, const void *b) {
    return str_cmp(((const Resource *)a)->name, ((const Resource *)b)->name);
}

void object_write_resources(JsonWriter *writer, Str key, const Resources *resources) {
    Resource sorted[RESOURCES_MAX];
    size_t n = resources->n < RESOURCES_MAX ? resources->n : RESOURCES_MAX;

    if (n == 0)
        return;
    memcpy(sorted, resources->items, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare_resources);
    json_write_key(writer, key);
    json_write_object(writer);
    for (size_t i = 0; i < n; i++) {
        resource_amount_print_exact(
            sorted[i].name, sorted[i].amount, object_begin_text(writer, sorted[i].name));
        buf_append_char(writer->out, '"');
    }
    json_write_end_object(writer);
}

/* --- nodes ------------------------------------------------------------------------------- */

/* A word that is unknown was not kept. Of a taint it may be left out to the same effect;
 * of a toleration not: it would tolerate all of them. */
static Str taint_effect(const Taint *taint) {
    return taint->effect == TAINT_UNKNOWN ? STR_NULL : taint_effect_word(taint->effect);
}

static void write_taints(JsonWriter *writer, const Taints *taints) {
    if (taints->n == 0)
        return;
    json_member_array(writer, "taints");
    for (size_t i = 0; i < taints->n; i++) {
        json_write_object(writer);
        object_write_field(writer, STR("key"), taints->items[i].key);
        object_write_field(writer, STR("value"), taints->items[i].value);
        object_write_field(writer, STR("effect"), taint_effect(&taints->items[i]));
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_condition(JsonWriter *writer, Condition condition) {
    json_write_object(writer);
    object_write_field(writer, STR("type"), condition.type);
    object_write_field(writer, STR("status"), condition.status);
    object_write_time(writer, STR("lastTransitionTime"), condition.changed_at);
    json_write_end_object(writer);
}

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
    bool is_missing = node->is_ready != conditions_say_ready(node);

    if (node->n_conditions == 0 && !is_missing)
        return;
    json_member_array(writer, "conditions");
    for (size_t i = 0; i < node->n_conditions; i++)
        write_condition(writer, node->conditions[i]);
    if (is_missing)
        write_condition(writer, (Condition){.type = STR("Ready"),
                                    .status = node->is_ready ? STR("True") : STR("False")});
    json_write_end_array(writer);
}

static void write_image(JsonWriter *writer, const Image *image) {
    json_write_object(writer);
    if (image->n_names > 0) {
        json_member_texts(writer, "names", image->names, image->n_names);
    }
    json_member_int(writer, "sizeBytes", image->size);
    json_write_end_object(writer);
}

static void write_images(JsonWriter *writer, const Node *node) {
    if (node->n_images == 0)
        return;
    json_member_array(writer, "images");
    for (size_t i = 0; i < node->n_images; i++)
        write_image(writer, &node->images[i]);
    json_write_end_array(writer);
}

static void write_addresses(JsonWriter *writer, const Node *node) {
    if (node->n_addresses == 0)
        return;
    json_member_array(writer, "addresses");
    for (size_t i = 0; i < node->n_addresses; i++) {
        json_write_object(writer);
        object_write_field(writer, STR("type"), address_type_name(node->addresses[i].type));
        object_write_field(writer, STR("address"), node->addresses[i].text);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

/* A list of texts; with @member, of objects that have it. */
static void write_texts(
    JsonWriter *writer, const char *key, const char *member, const TextList *list) {
    if (list->n == 0)
        return;
    json_member_array(writer, key);
    for (size_t i = 0; i < list->n; i++) {
        if (!member) {
            json_write_string(writer, list->items[i]);
            continue;
        }
        json_write_object(writer);
        object_write_field(writer, str_from_c(member), list->items[i]);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static bool has_info(const NodeDetails *of) {
    return of->architecture.len + of->operating_system.len + of->os_image.len +
               of->kernel_version.len + of->container_runtime_version.len +
               of->kubelet_version.len >
           0;
}

static void write_status_details(JsonWriter *writer, const NodeDetails *details) {
    object_write_resources(writer, STR("capacity"), &details->capacity);
    write_texts(writer, "volumesInUse", NULL, &details->volumes_in_use);
    write_texts(writer, "volumesAttached", "name", &details->volumes_attached);
    if (!has_info(details))
        return;
    json_member_object(writer, "nodeInfo");
    object_write_field(writer, STR("architecture"), details->architecture);
    object_write_field(writer, STR("operatingSystem"), details->operating_system);
    object_write_field(writer, STR("osImage"), details->os_image);
    object_write_field(writer, STR("kernelVersion"), details->kernel_version);
    object_write_field(writer, STR("containerRuntimeVersion"), details->container_runtime_version);
    object_write_field(writer, STR("kubeletVersion"), details->kubelet_version);
    json_write_end_object(writer);
}

static void write_node_metadata(JsonWriter *writer, const Node *node) {
    json_member_object(writer, "metadata");
    object_write_field(writer, STR("name"), node->name);
    object_write_field(writer, STR("uid"), node->uid);
    object_write_field(writer, STR("resourceVersion"), node->resource_version);
    object_write_time(writer, STR("creationTimestamp"), node->created_at);
    object_write_labels(writer, STR("labels"), &node->labels);
    object_write_labels(writer, STR("annotations"), &node->annotations);
    json_write_end_object(writer);
}

void object_write_node(JsonWriter *writer, const Node *node) {
    json_write_object(writer);
    object_write_field(writer, STR("apiVersion"), STR("v1"));
    object_write_field(writer, STR("kind"), STR("Node"));
    write_node_metadata(writer, node);
    json_member_object(writer, "spec");
    write_taints(writer, &node->taints);
    if (node->is_unschedulable)
        json_member_bool(writer, "unschedulable", true);
    if (node->details) {
        object_write_field(writer, STR("providerID"), node->details->provider_id);
        write_texts(writer, "podCIDRs", NULL, &node->details->pod_cidrs);
    }
    json_write_end_object(writer);
    json_member_object(writer, "status");
    object_write_resources(writer, STR("allocatable"), &node->allocatable);
    write_conditions(writer, node);
    write_images(writer, node);
    write_addresses(writer, node);
    if (node->details)
        write_status_details(writer, node->details);
    json_write_end_object(writer);
    json_write_end_object(writer);
}

/* --- namespaces -------------------------------------------------------------------------- */

void object_write_namespace(JsonWriter *writer, const Namespace *namespace) {
    json_write_object(writer);
    object_write_field(writer, STR("apiVersion"), STR("v1"));
    object_write_field(writer, STR("kind"), STR("Namespace"));
    json_member_object(writer, "metadata");
    object_write_field(writer, STR("name"), namespace->name);
    object_write_labels(writer, STR("labels"), &namespace->labels);
    object_write_labels(writer, STR("annotations"), &namespace->annotations);
    json_write_end_object(writer);
    json_write_end_object(writer);
}
