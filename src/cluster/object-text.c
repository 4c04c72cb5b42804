/* Writes nodes and pods as the JSON that the decoders read. */

#include "cluster/object-text.h"

#include <stdlib.h>

#include "base/buf.h"
#include "model/time.h"

/* --- parts ------------------------------------------------------------------------------- */

static void write_field(JsonWriter *writer, Str key, Str value) {
    if (str_is_empty(value))
        return;
    json_write_member(writer, key, value);
}

/* Begins a text that needs no escapes; the caller appends its last quote, too. */
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

static void write_labels(JsonWriter *writer, Str key, const Labels *labels) {
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

static void write_resources(JsonWriter *writer, Str key, const Resources *resources) {
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
            sorted[i].name, sorted[i].amount, begin_text(writer, sorted[i].name));
        buf_append_char(writer->out, '"');
    }
    json_write_end_object(writer);
}

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
        write_field(writer, STR("key"), taints->items[i].key);
        write_field(writer, STR("value"), taints->items[i].value);
        write_field(writer, STR("effect"), taint_effect(&taints->items[i]));
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_tolerations(JsonWriter *writer, const Tolerations *tolerations) {
    if (tolerations->n == 0)
        return;
    json_member_array(writer, "tolerations");
    for (size_t i = 0; i < tolerations->n; i++) {
        const Toleration *toleration = &tolerations->items[i];

        json_write_object(writer);
        write_field(writer, STR("key"), toleration->key);
        write_field(writer, STR("operator"), toleration->exists ? STR("Exists") : STR("Equal"));
        write_field(writer, STR("value"), toleration->value);
        write_field(writer, STR("effect"), taint_effect_word(toleration->effect));
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

/* --- nodes ------------------------------------------------------------------------------- */

static void write_condition(JsonWriter *writer, Str type, Str status) {
    json_write_object(writer);
    write_field(writer, STR("type"), type);
    write_field(writer, STR("status"), status);
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
        write_condition(writer, node->conditions[i].type, node->conditions[i].status);
    if (is_missing)
        write_condition(writer, STR("Ready"), node->is_ready ? STR("True") : STR("False"));
    json_write_end_array(writer);
}

static void write_image(JsonWriter *writer, const Image *image) {
    json_write_object(writer);
    if (image->n_names > 0) {
        json_member_array(writer, "names");
        for (size_t i = 0; i < image->n_names; i++)
            json_write_string(writer, image->names[i]);
        json_write_end_array(writer);
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
        write_field(writer, STR("type"), address_type_name(node->addresses[i].type));
        write_field(writer, STR("address"), node->addresses[i].text);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_node_metadata(JsonWriter *writer, const Node *node) {
    json_member_object(writer, "metadata");
    write_field(writer, STR("name"), node->name);
    write_field(writer, STR("uid"), node->uid);
    write_field(writer, STR("resourceVersion"), node->resource_version);
    write_time(writer, STR("creationTimestamp"), node->created_at);
    write_labels(writer, STR("labels"), &node->labels);
    write_labels(writer, STR("annotations"), &node->annotations);
    json_write_end_object(writer);
}

void object_write_node(JsonWriter *writer, const Node *node) {
    json_write_object(writer);
    write_field(writer, STR("apiVersion"), STR("v1"));
    write_field(writer, STR("kind"), STR("Node"));
    write_node_metadata(writer, node);
    json_member_object(writer, "spec");
    write_taints(writer, &node->taints);
    if (node->is_unschedulable)
        json_member_bool(writer, "unschedulable", true);
    json_write_end_object(writer);
    json_member_object(writer, "status");
    write_resources(writer, STR("allocatable"), &node->allocatable);
    write_conditions(writer, node);
    write_images(writer, node);
    write_addresses(writer, node);
    json_write_end_object(writer);
    json_write_end_object(writer);
}

/* --- pods -------------------------------------------------------------------------------- */

static void write_owner(JsonWriter *writer, const Pod *pod) {
    if (str_is_empty(pod->owner_kind) && str_is_empty(pod->owner_name) &&
        str_is_empty(pod->owner_uid))
        return;
    json_member_array(writer, "ownerReferences");
    json_write_object(writer);
    write_field(writer, STR("kind"), pod->owner_kind);
    write_field(writer, STR("name"), pod->owner_name);
    write_field(writer, STR("uid"), pod->owner_uid);
    json_member_bool(writer, "controller", true);
    json_write_end_object(writer);
    json_write_end_array(writer);
}

static void write_pod_metadata(JsonWriter *writer, const Pod *pod) {
    json_member_object(writer, "metadata");
    write_field(writer, STR("name"), pod->name);
    write_field(writer, STR("namespace"), pod->namespace);
    write_field(writer, STR("uid"), pod->uid);
    write_field(writer, STR("resourceVersion"), pod->resource_version);
    write_time(writer, STR("creationTimestamp"), pod->created_at);
    write_field(writer, STR("deletionTimestamp"),
        pod->is_terminating ? STR("1970-01-01T00:00:00Z") : STR_NULL);
    write_labels(writer, STR("labels"), &pod->labels);
    if (pod->details)
        write_labels(writer, STR("annotations"), &pod->details->annotations);
    write_owner(writer, pod);
    json_write_end_object(writer);
}

/* @requests (NULL: none) are written with the first. */
static void write_containers(JsonWriter *writer, Str key, const PodContainer *containers, size_t n,
    const Resources *requests) {
    json_write_key(writer, key);
    json_write_array(writer);
    for (size_t i = 0; i < n; i++) {
        json_write_object(writer);
        write_field(writer, STR("name"), containers[i].name);
        write_field(writer, STR("image"), containers[i].image);
        if (requests && i == 0) {
            json_member_object(writer, "resources");
            write_resources(writer, STR("requests"), requests);
            json_write_end_object(writer);
        }
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static Str operator_of(SelectorOp op) {
    static const Str words[] = {
        [SELECTOR_IN] = STR("In"),
        [SELECTOR_NOT_IN] = STR("NotIn"),
        [SELECTOR_EXISTS] = STR("Exists"),
        [SELECTOR_ABSENT] = STR("DoesNotExist"),
        [SELECTOR_GT] = STR("Gt"),
        [SELECTOR_LT] = STR("Lt"),
    };

    return words[op];
}

static void write_term_condition(
    JsonWriter *writer, Str key, SelectorOp op, const Str *values, size_t n_values) {
    json_write_object(writer);
    write_field(writer, STR("key"), key);
    write_field(writer, STR("operator"), operator_of(op));
    json_member_array(writer, "values");
    for (size_t i = 0; i < n_values; i++)
        json_write_string(writer, values[i]);
    json_write_end_array(writer);
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

static void write_affinity(JsonWriter *writer, const NodeTerms *terms) {
    if (!terms->is_given)
        return;
    json_member_object(writer, "affinity");
    json_member_object(writer, "nodeAffinity");
    json_member_object(writer, "requiredDuringSchedulingIgnoredDuringExecution");
    json_member_array(writer, "nodeSelectorTerms");
    for (size_t i = 0; i < terms->n; i++)
        write_term(writer, &terms->items[i]);
    json_write_end_array(writer);
    json_write_end_object(writer);
    json_write_end_object(writer);
    json_write_end_object(writer);
}

static void write_details(JsonWriter *writer, const Pod *pod) {
    static const PodContainer sum = {.name = STR("sum")};
    const PodDetails *details = pod->details;

    if (!details) {
        write_containers(writer, STR("containers"), &sum, 1, &pod->requests);
        return;
    }
    write_containers(
        writer, STR("containers"), details->containers, details->n_containers, &pod->requests);
    if (details->n_init_containers > 0)
        write_containers(writer, STR("initContainers"), details->init_containers,
            details->n_init_containers,
            /* requests= */ NULL);
    if (details->n_containers == 0)
        write_resources(writer, STR("overhead"), &pod->requests);
    write_labels(writer, STR("nodeSelector"), &details->node_selector);
    write_affinity(writer, &details->required_terms);
}

static void write_spec(JsonWriter *writer, const Pod *pod, Str node) {
    json_member_object(writer, "spec");
    write_field(writer, STR("nodeName"), node);
    write_field(writer, STR("schedulerName"), pod->scheduler_name);
    if (pod->priority != 0)
        json_member_int(writer, "priority", pod->priority);
    write_details(writer, pod);
    write_tolerations(writer, &pod->tolerations);
    json_write_end_object(writer);
}

static void write_scheduled(JsonWriter *writer, const Pod *pod) {
    if (pod->scheduled_at == 0)
        return;
    json_member_array(writer, "conditions");
    json_write_object(writer);
    write_field(writer, STR("type"), STR("PodScheduled"));
    write_field(writer, STR("status"), STR("True"));
    write_time(writer, STR("lastTransitionTime"), pod->scheduled_at);
    json_write_end_object(writer);
    json_write_end_array(writer);
}

void object_write_pod(JsonWriter *writer, const Pod *pod, Str node) {
    json_write_object(writer);
    write_field(writer, STR("apiVersion"), STR("v1"));
    write_field(writer, STR("kind"), STR("Pod"));
    write_pod_metadata(writer, pod);
    write_spec(writer, pod, node);
    json_member_object(writer, "status");
    write_field(writer, STR("phase"), pod->is_terminal ? STR("Failed") : STR_NULL);
    write_time(writer, STR("startTime"), pod->started_at);
    write_scheduled(writer, pod);
    write_field(writer, STR("nominatedNodeName"), pod->nominated_node_name);
    json_write_end_object(writer);
    json_write_end_object(writer);
}
