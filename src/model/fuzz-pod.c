/*
 * Any bytes as a Pod and as a Node, with a small and with an ample budget: no crash, no read past
 * the end, and results as the headers guarantee.
 */

#include "base/fuzz.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/time.h"

static size_t touched; /* keeps the reads below from being optimised away */

static void touch(Str str) {
    for (size_t i = 0; i < str.len; i++)
        touched += (unsigned char)str.ptr[i];
}

static void check_labels(const Labels *labels) {
    for (size_t i = 0; i < labels->n; i++) {
        touch(labels->items[i].value);
        require(i == 0 || str_cmp(labels->items[i - 1].key, labels->items[i].key) < 0);
        require(labels_find(labels, labels->items[i].key) == &labels->items[i].value);
    }
}

static void check_resources(const Resources *resources) {
    require(resources->n <= RESOURCES_MAX);
    for (size_t i = 0; i < resources->n; i++)
        require(resources_find(resources, resources->items[i].name) == &resources->items[i]);
}

static void check_time(int64_t sec) {
    require(sec >= CALENDAR_FIRST && sec <= CALENDAR_LAST);
}

static void check_annotations(const Labels *annotations) {
    check_labels(annotations);
    require(annotations->n <= ANNOTATIONS_MAX);
    for (size_t i = 0; i < annotations->n; i++)
        require(annotations->items[i].value.len <= ANNOTATION_VALUE_MAX);
}

static void check_conditions(const Node *node) {
    require(node->n_conditions <= NODE_CONDITIONS_MAX);
    for (size_t i = 0; i < node->n_conditions; i++) {
        require(node->conditions[i].type.len > 0);
        touch(node->conditions[i].type);
        touch(node->conditions[i].status);
    }
}

static void check_images(const Node *node) {
    require(node->n_images <= NODE_IMAGES_MAX);
    for (size_t i = 0; i < node->n_images; i++) {
        const Image *image = &node->images[i];

        require(image->n_names <= NODE_IMAGE_NAMES_MAX && image->size >= 0);
        for (size_t j = 0; j < image->n_names; j++)
            touch(image->names[j]);
    }
}

static void check_addresses(const Node *node) {
    require(node->n_addresses <= NODE_ADDRESSES_MAX);
    for (size_t i = 0; i < node->n_addresses; i++) {
        require(node->addresses[i].text.len > 0);
        touch(node->addresses[i].text);
        touch(address_type_name(node->addresses[i].type));
    }
}

static void check_texts(const TextList *list, size_t max) {
    require(list->n <= max);
    for (size_t i = 0; i < list->n; i++)
        touch(list->items[i]);
}

static void check_node_details(const NodeDetails *details) {
    check_resources(&details->capacity);
    check_texts(&details->pod_cidrs, NODE_POD_CIDRS_MAX);
    check_texts(&details->volumes_in_use, NODE_VOLUMES_MAX);
    check_texts(&details->volumes_attached, NODE_VOLUMES_MAX);
    for (size_t i = 0; i < offsetof(NodeDetails, pod_cidrs) / sizeof(Str); i++)
        touch((&details->provider_id)[i]);
}

static void check_container(const PodContainer *container) {
    require(container->n_ports <= CONTAINER_PORTS_MAX && container->n_env <= CONTAINER_ENV_MAX);
    touch(container->name);
    touch(container->image);
    touch(container->restart_policy);
    for (size_t i = 0; i < container->n_ports; i++) {
        touch(container->ports[i].name);
        touch(container->ports[i].protocol);
        touch(container->ports[i].host_ip);
    }
    for (size_t i = 0; i < container->n_env; i++)
        touch(container->env[i]);
}

static void check_lists(const PodDetails *details) {
    require(details->n_volumes <= POD_VOLUMES_MAX);
    for (size_t i = 0; i < details->n_volumes; i++) {
        touch(details->volumes[i].name);
        touch(details->volumes[i].kind);
        touch(details->volumes[i].claim_name);
        touch(details->volumes[i].storage_class);
    }
    require(details->n_resource_claims <= POD_RESOURCE_CLAIMS_MAX);
    for (size_t i = 0; i < details->n_resource_claims; i++) {
        touch(details->resource_claims[i].name);
        touch(details->resource_claims[i].claim_name);
        touch(details->resource_claims[i].template_name);
    }
    require(details->n_scheduling_gates <= POD_SCHEDULING_GATES_MAX);
    for (size_t i = 0; i < details->n_scheduling_gates; i++)
        touch(details->scheduling_gates[i]);
}

static void check_expressions(const MatchExpression *items, size_t n) {
    require(n <= AFFINITY_ITEMS_MAX);
    for (size_t i = 0; i < n; i++) {
        require(items[i].n_values <= AFFINITY_VALUES_MAX);
        touch(items[i].key);
        touch(items[i].operator);
        for (size_t k = 0; k < items[i].n_values; k++)
            touch(items[i].values[k]);
    }
}

static void check_pod_terms(const PodAffinityTerm *terms, size_t n) {
    require(n <= AFFINITY_ITEMS_MAX);
    for (size_t i = 0; i < n; i++) {
        touch(terms[i].topology_key);
        check_expressions(terms[i].selector.expressions, terms[i].selector.n_expressions);
        require(terms[i].n_namespaces <= AFFINITY_ITEMS_MAX);
    }
}

static void check_affinity(const PodDetails *details) {
    const PodAffinity *affinity = details->affinity;

    for (size_t i = 0; affinity && i < affinity->n_node_required; i++)
        check_expressions(
            affinity->node_required[i].expressions, affinity->node_required[i].n_expressions);
    if (affinity) {
        check_pod_terms(affinity->pods.required, affinity->pods.n_required);
        check_pod_terms(affinity->pods.preferred, affinity->pods.n_preferred);
        check_pod_terms(affinity->anti.required, affinity->anti.n_required);
        check_pod_terms(affinity->anti.preferred, affinity->anti.n_preferred);
    }
    require(details->n_spread <= AFFINITY_ITEMS_MAX);
    for (size_t i = 0; i < details->n_spread; i++)
        touch(details->spread[i].topology_key);
}

static void check_details(const PodDetails *details, Arena *arena) {
    Resources limits;

    for (size_t i = 0; i < details->n_containers; i++)
        check_container(&details->containers[i]);
    for (size_t i = 0; i < details->n_init_containers; i++)
        check_container(&details->init_containers[i]);
    check_lists(details);
    check_affinity(details);
    touch(details->priority_class_name);
    touch(details->runtime_class_name);
    touch(details->preemption_policy);
    touch(details->service_account_name);
    touch(pod_qos_class(details));
    if (pod_limits(details, arena, &limits) == 0)
        check_resources(&limits);
}

static bool decode_pod(Str text, Arena *arena, Pod *ret) {
    JsonReader reader;

    json_reader_init(&reader, text);
    pod_decode(&reader, arena, ret);
    json_end(&reader);
    if (json_error(&reader))
        return false;
    check_labels(&ret->labels);
    check_resources(&ret->requests);
    touch(ret->name);
    touch(ret->owner_name);
    touch(ret->node_name);
    touch(ret->resource_version);
    check_time(ret->created_at);
    check_time(ret->started_at);
    check_time(ret->scheduled_at);
    check_details(ret->details, arena);
    return true;
}

static bool decode_node(Str text, Arena *arena, Node *ret) {
    JsonReader reader;

    json_reader_init(&reader, text);
    node_decode(&reader, arena, ret);
    json_end(&reader);
    if (json_error(&reader))
        return false;
    require(ret->name.len > 0);
    check_labels(&ret->labels);
    check_resources(&ret->allocatable);
    check_annotations(&ret->annotations);
    check_conditions(ret);
    check_images(ret);
    check_addresses(ret);
    if (ret->details)
        check_node_details(ret->details);
    check_time(ret->created_at);
    touch(ret->uid);
    touch(ret->resource_version);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t budgets[] = {512, (size_t)4 << 20};
    Str text = str_of((const char *)data, size);

    for (size_t i = 0; i < ELEMENTS_OF(budgets); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budgets[i]);
        Pod pod;
        Node node;
        bool is_pod, is_node;

        if (!arena)
            return 0;
        is_pod = decode_pod(text, arena, &pod);
        is_node = decode_node(text, arena, &node);
        if (is_pod && is_node)
            touched += tolerations_admit(&pod.tolerations, &node.taints);
    }
    return 0;
}
