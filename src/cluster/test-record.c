#include "cluster/record-pool.h"
#include "cluster/record.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test-assert.h"

/* A node with every field set; the arrays may be changed. */
typedef struct FullNode {
    Node node;
    Label labels[2], annotations[1];
    Taint taints[1];
    Condition conditions[1];
    Resource resources[2];
    Str names[2];
    Image images[2];
    Address addresses[2];
    NodeDetails details;
    Str lists[3][2];
    Resource capacity[1];
} FullNode;

static void fill_node(FullNode *full) {
    *full = (FullNode){
        .node = {.name = STR("node"),
            .uid = STR("uid"),
            .resource_version = STR("7"),
            .created_at = 8,
            .is_ready = true},
        .labels = {{STR("a"), STR("1")}, {STR("b"), STR("")}},
        .annotations = {{STR("note"), STR("text")}},
        .taints = {{STR("only"), STR("x"), TAINT_NO_SCHEDULE}},
        .conditions = {{STR("Ready"), STR("True")}},
        .resources = {{STR("cpu"), 4000}, {STR("gpu"), 2}},
        .names = {STR("image:1"), STR("image@digest")},
        .addresses = {{ADDRESS_HOSTNAME, STR("host")}, {ADDRESS_INTERNAL_IP, STR("10.0.0.7")}},
    };
    full->details = (NodeDetails){.provider_id = STR("provider"),
        .architecture = STR("arm64"),
        .operating_system = STR("linux"),
        .os_image = STR("Debian"),
        .kernel_version = STR("6.1"),
        .container_runtime_version = STR("containerd"),
        .kubelet_version = STR("v1.34.1")};
    full->capacity[0] = (Resource){STR("capacity"), 7};
    full->details.capacity = (Resources){.items = full->capacity, .n = 1};
    full->lists[0][0] = STR("10.0.0.0/24");
    full->lists[1][0] = STR("in use");
    full->lists[2][0] = STR("attached");
    full->lists[2][1] = STR("attached too");
    full->details.pod_cidrs = (TextList){.items = full->lists[0], .n = 1};
    full->details.volumes_in_use = (TextList){.items = full->lists[1], .n = 1};
    full->details.volumes_attached = (TextList){.items = full->lists[2], .n = 2};
    full->node.details = &full->details;
    full->images[0] = (Image){.names = full->names, .n_names = 2, .size = 10};
    full->images[1] = (Image){.names = full->names, .n_names = 1, .size = 20};
    full->node.labels = (Labels){.items = full->labels, .n = 2};
    full->node.annotations = (Labels){.items = full->annotations, .n = 1};
    full->node.taints = (Taints){.items = full->taints, .n = 1};
    full->node.conditions = full->conditions;
    full->node.n_conditions = 1;
    full->node.allocatable = (Resources){.items = full->resources, .n = 2};
    full->node.images = full->images;
    full->node.n_images = 2;
    full->node.addresses = full->addresses;
    full->node.n_addresses = 2;
}

typedef struct FullPod {
    Pod pod;
    Label labels[2];
    Resource resources[2];
    Toleration tolerations[1];
} FullPod;

static void fill_pod(FullPod *full) {
    *full = (FullPod){
        .pod = {.name = STR("pod"),
            .namespace = STR("space"),
            .uid = STR("uid"),
            .resource_version = STR("7"),
            .created_at = 1,
            .started_at = 2,
            .scheduled_at = 3,
            .owner_kind = STR("ReplicaSet"),
            .owner_name = STR("owner"),
            .owner_uid = STR("owner-uid"),
            .node_name = STR("node"),
            .nominated_node_name = STR("other"),
            .scheduler_name = STR("scheduler"),
            .priority = 3},
        .labels = {{STR("app"), STR("web")}, {STR("tier"), STR("")}},
        .resources = {{STR("cpu"), 100}, {STR("memory"), 1000}},
        .tolerations = {{.key = STR("only"), .exists = true, .effect = TAINT_NO_EXECUTE}},
    };
    full->pod.labels = (Labels){.items = full->labels, .n = 2};
    full->pod.requests = (Resources){.items = full->resources, .n = 2};
    full->pod.tolerations = (Tolerations){.items = full->tolerations, .n = 1};
}

/* --- copies, with a pool and without ------------------------------------------------ */

/* Moves a text to the heap, to be freed after the copy was made. */
static Str on_heap(Str text, char **at) {
    Str moved = str_of(*at, text.len);

    memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return moved;
}

static void check_node_copy(RecordPool *pool) {
    char *heap = malloc(256), *at = heap;
    FullNode full, same;
    const Node *record;

    fill_node(&full);
    fill_node(&same);
    full.node.name = on_heap(full.node.name, &at);
    full.node.uid = on_heap(full.node.uid, &at);
    full.node.resource_version = on_heap(full.node.resource_version, &at);
    full.labels[0].key = on_heap(full.labels[0].key, &at);
    full.annotations[0].value = on_heap(full.annotations[0].value, &at);
    full.taints[0].value = on_heap(full.taints[0].value, &at);
    full.conditions[0].status = on_heap(full.conditions[0].status, &at);
    full.resources[1].name = on_heap(full.resources[1].name, &at);
    full.names[1] = on_heap(full.names[1], &at);
    full.addresses[0].text = on_heap(full.addresses[0].text, &at);
    record = node_record_new(pool, &full.node);
    free(heap);
    memset(&full, 0, sizeof(full));
    record_pool_free(pool); /* nor is the pool needed */
    assert_true(node_record_equal(record, &same.node));
    assert_text("version", record->resource_version, "7");
    assert_null(node_record_unref(record));
}

static void check_pod_copy(RecordPool *pool) {
    char *heap = malloc(256), *at = heap;
    FullPod full, same;
    const Pod *record;

    fill_pod(&full);
    fill_pod(&same);
    full.pod.name = on_heap(full.pod.name, &at);
    full.pod.namespace = on_heap(full.pod.namespace, &at);
    full.pod.uid = on_heap(full.pod.uid, &at);
    full.pod.node_name = on_heap(full.pod.node_name, &at);
    full.pod.owner_uid = on_heap(full.pod.owner_uid, &at);
    full.labels[0].value = on_heap(full.labels[0].value, &at);
    full.resources[1].name = on_heap(full.resources[1].name, &at);
    full.tolerations[0].key = on_heap(full.tolerations[0].key, &at);
    full.pod.details = &(PodDetails){.host_network = true};
    record = pod_record_new(pool, &full.pod, &(PodParts){0});
    free(heap);
    memset(&full, 0, sizeof(full));
    record_pool_free(pool);
    assert_true(pod_record_equal(record, &same.pod));
    assert_null(record->details); /* not kept */
    assert_text("version", record->resource_version, "7");
    assert_null(pod_record_unref(record));
}

static void test_copies(void **state) {
    (void)state;
    check_node_copy(NULL);
    check_node_copy(record_pool_new());
    check_pod_copy(NULL);
    check_pod_copy(record_pool_new());
}

static void test_empty(void **state) {
    _cleanup_(record_pool_freep) RecordPool *pool = record_pool_new();
    const Node *node = node_record_new(pool, &(Node){0});
    const Pod *pod = pod_record_new(pool, &(Pod){0}, &pod_parts_all);

    (void)state;
    assert_true(node_record_equal(node, &(Node){0}));
    assert_true(pod_record_equal(pod, &(Pod){0}));
    node_record_unref(node);
    pod_record_unref(pod);
    assert_null(node_record_unref(NULL));
    assert_null(pod_record_unref(NULL));
    assert_null(record_pool_free(NULL));
}

/* --- sharing ---------------------------------------------------------------------- */

static void test_pods_of_one_template(void **state) {
    _cleanup_(record_pool_freep) RecordPool *pool = record_pool_new();
    FullPod full;
    const Pod *a, *b, *other;
    size_t n_parts;

    (void)state;
    fill_pod(&full);
    a = pod_record_new(pool, &full.pod, &pod_parts_all);
    n_parts = record_pool_size(pool);
    full.pod.name = STR("pod-b");
    full.pod.uid = STR("uid-b");
    b = pod_record_new(pool, &full.pod, &pod_parts_all);
    assert_int_equal(record_pool_size(pool), n_parts);
    assert_ptr_equal(a->labels.items, b->labels.items);
    assert_ptr_equal(a->requests.items, b->requests.items);
    assert_ptr_equal(a->tolerations.items, b->tolerations.items);
    assert_ptr_equal(a->node_name.ptr, b->node_name.ptr);
    full.pod.priority++;
    other = pod_record_new(pool, &full.pod, &pod_parts_all);
    assert_int_equal(record_pool_size(pool), n_parts);
    assert_ptr_equal(a->labels.items, other->labels.items);
    pod_record_unref(a);
    pod_record_unref(b);
    pod_record_unref(other);
}

static void test_nodes_of_one_kind(void **state) {
    _cleanup_(record_pool_freep) RecordPool *pool = record_pool_new();
    FullNode full;
    const Node *a, *b;
    size_t n_parts;

    (void)state;
    fill_node(&full);
    a = node_record_new(pool, &full.node);
    n_parts = record_pool_size(pool);
    full.node.name = STR("node-b");
    full.annotations[0].value = STR("other");
    full.images[0].size++;
    b = node_record_new(pool, &full.node);
    assert_int_equal(record_pool_size(pool), n_parts);
    assert_ptr_equal(a->images[0].names, b->images[0].names);
    assert_ptr_equal(a->labels.items[0].value.ptr, b->labels.items[0].value.ptr);
    assert_true(a->images[0].names != a->images[1].names);
    node_record_unref(a);
    node_record_unref(b);
}

static void test_sweep(void **state) {
    _cleanup_(record_pool_freep) RecordPool *pool = record_pool_new();
    const Pod *kept, *gone[100];
    FullPod full;
    size_t n_parts;

    (void)state;
    fill_pod(&full);
    kept = pod_record_new(pool, &full.pod, &pod_parts_all);
    n_parts = record_pool_size(pool);
    for (size_t i = 0; i < ELEMENTS_OF(gone); i++) {
        char text[16];

        (void)snprintf(text, sizeof(text), "app-%zu", i);
        full.labels[0].value = str_from_c(text);
        gone[i] = pod_record_new(pool, &full.pod, &pod_parts_all);
    }
    assert_int_equal(
        record_pool_size(pool), n_parts + 200); /* a string and a list of labels each */
    assert_int_equal(record_pool_sweep(pool), 0);
    for (size_t i = 0; i < ELEMENTS_OF(gone); i++)
        pod_record_unref(gone[i]);
    assert_int_equal(record_pool_size(pool), n_parts + 200);
    assert_int_equal(record_pool_sweep(pool), 200);
    assert_int_equal(record_pool_size(pool), n_parts);
    assert_text("label", kept->labels.items[0].value, "web");
    pod_record_unref(kept);
    assert_int_equal(record_pool_sweep(pool), n_parts);
    assert_int_equal(record_pool_size(pool), 0);
}

static void test_references(void **state) {
    const Node *node = node_record_new(NULL, &(Node){.name = STR("a")});
    const Pod *pod = pod_record_new(NULL, &(Pod){.name = STR("b")}, &pod_parts_all);

    (void)state;
    assert_ptr_equal(node_record_ref(node), node);
    assert_ptr_equal(pod_record_ref(pod), pod);
    node_record_unref(node);
    pod_record_unref(pod);
    assert_text("node", node->name, "a");
    assert_text("pod", pod->name, "b");
    node_record_unref(node);
    pod_record_unref(pod);
}

/* --- equality: one change per case --------------------------------------------------- */

#define NODE_CHANGES(CHANGE)                                                                       \
    CHANGE(node.name = STR("x"))                                                                   \
    CHANGE(node.uid = STR("x"))                                                                    \
    CHANGE(node.created_at++)                                                                      \
    CHANGE(node.is_ready = false)                                                                  \
    CHANGE(node.is_unschedulable = true)                                                           \
    CHANGE(node.labels.n--)                                                                        \
    CHANGE(labels[1].key = STR("x"))                                                               \
    CHANGE(labels[1].value = STR("x"))                                                             \
    CHANGE(node.annotations.n--)                                                                   \
    CHANGE(annotations[0].value = STR("x"))                                                        \
    CHANGE(node.taints.n--)                                                                        \
    CHANGE(taints[0].effect = TAINT_NO_EXECUTE)                                                    \
    CHANGE(taints[0].value = STR("y"))                                                             \
    CHANGE(node.n_conditions--)                                                                    \
    CHANGE(conditions[0].type = STR("x"))                                                          \
    CHANGE(conditions[0].status = STR("x"))                                                        \
    CHANGE(node.allocatable.n--)                                                                   \
    CHANGE(resources[1].name = STR("x"))                                                           \
    CHANGE(resources[1].amount++)                                                                  \
    CHANGE(node.n_images--)                                                                        \
    CHANGE(images[1].size++)                                                                       \
    CHANGE(images[1].n_names++)                                                                    \
    CHANGE(names[0] = STR("x"))                                                                    \
    CHANGE(node.n_addresses--)                                                                     \
    CHANGE(addresses[1].type = ADDRESS_EXTERNAL_IP)                                                \
    CHANGE(addresses[1].text = STR("x"))                                                           \
    CHANGE(conditions[0].changed_at = 9)                                                           \
    CHANGE(node.details = NULL)                                                                    \
    CHANGE(details.provider_id = STR("x"))                                                         \
    CHANGE(details.kubelet_version = STR("x"))                                                     \
    CHANGE(details.pod_cidrs.n = 0)                                                                \
    CHANGE(lists[2][1] = STR("x"))                                                                 \
    CHANGE(capacity[0].amount = 8)                                                                 \
    CHANGE(capacity[0].name = STR("x"))

#define POD_CHANGES(CHANGE)                                                                        \
    CHANGE(pod.name = STR("x"))                                                                    \
    CHANGE(pod.namespace = STR("x"))                                                               \
    CHANGE(pod.uid = STR("x"))                                                                     \
    CHANGE(pod.created_at++)                                                                       \
    CHANGE(pod.started_at++)                                                                       \
    CHANGE(pod.scheduled_at++)                                                                     \
    CHANGE(pod.owner_kind = STR("x"))                                                              \
    CHANGE(pod.owner_name = STR("x"))                                                              \
    CHANGE(pod.owner_uid = STR("x"))                                                               \
    CHANGE(pod.node_name = STR("x"))                                                               \
    CHANGE(pod.nominated_node_name = STR("x"))                                                     \
    CHANGE(pod.scheduler_name = STR("x"))                                                          \
    CHANGE(pod.priority++)                                                                         \
    CHANGE(pod.is_terminal = true)                                                                 \
    CHANGE(pod.is_terminating = true)                                                              \
    CHANGE(pod.labels.n--)                                                                         \
    CHANGE(labels[0].key = STR("x"))                                                               \
    CHANGE(labels[0].value = STR("x"))                                                             \
    CHANGE(pod.requests.n--)                                                                       \
    CHANGE(resources[0].name = STR("x"))                                                           \
    CHANGE(resources[0].amount++)                                                                  \
    CHANGE(pod.tolerations.n--)                                                                    \
    CHANGE(tolerations[0].key = STR("x"))                                                          \
    CHANGE(tolerations[0].value = STR("x"))                                                        \
    CHANGE(tolerations[0].exists = false)                                                          \
    CHANGE(tolerations[0].effect = TAINT_ANY)

#define CHECK_NODE(change)                                                                         \
    fill_node(&full);                                                                              \
    assert_true(node_record_equal(record, &full.node));                                            \
    full.change;                                                                                   \
    assert_case(#change, !node_record_equal(record, &full.node));                                  \
    assert_case(#change, !node_record_equal(&full.node, record));

#define CHECK_POD(change)                                                                          \
    fill_pod(&full);                                                                               \
    assert_true(pod_record_equal(record, &full.pod));                                              \
    full.change;                                                                                   \
    assert_case(#change, !pod_record_equal(record, &full.pod));                                    \
    assert_case(#change, !pod_record_equal(&full.pod, record));

static void test_node_equality(void **state) {
    FullNode full;
    const Node *record;

    (void)state;
    fill_node(&full);
    record = node_record_new(NULL, &full.node);
    NODE_CHANGES(CHECK_NODE)
    fill_node(&full);
    full.node.resource_version = STR("8");
    assert_true(node_record_equal(record, &full.node));
    node_record_unref(record);
}

static void test_pod_equality(void **state) {
    FullPod full;
    const Pod *record;

    (void)state;
    fill_pod(&full);
    record = pod_record_new(NULL, &full.pod, &pod_parts_all);
    POD_CHANGES(CHECK_POD)
    fill_pod(&full);
    full.pod.resource_version = STR("8");
    assert_true(pod_record_equal(record, &full.pod));
    pod_record_unref(record);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_pods_of_one_template),
        cmocka_unit_test(test_nodes_of_one_kind),
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_node_equality),
        cmocka_unit_test(test_pod_equality),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
