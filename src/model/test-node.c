#include "model/node.h"

#include "model/test-file.h"

static JsonError decode(Str text, Arena *arena, Node *ret) {
    JsonReader reader;

    json_reader_init(&reader, text);
    node_decode(&reader, arena, ret);
    json_end(&reader);
    return json_error(&reader);
}

/* One node with everything we read, among things we do not. */
static const char whole_node[] =
    "{\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"labels\":{\"zone\":\"b\",\"pool\":\"a\"},"
    "\"annotations\":{\"x\":\"}]\\\"{[\"},\"managedFields\":[{\"f:a\":{\"f:b\":{}}}]},"
    "\"spec\":{\"podCIDR\":\"10.0.0.0/24\",\"unschedulable\":true,"
    "\"taints\":[{\"key\":\"gpu\",\"effect\":\"NoSchedule\"}]},"
    "\"status\":{\"capacity\":{\"cpu\":\"9\"},\"allocatable\":{\"cpu\":\"3920m\",\"pods\":\"110\"},"
    "\"conditions\":[{\"type\":\"MemoryPressure\",\"status\":\"False\"},"
    "{\"lastHeartbeatTime\":\"2026-01-01T00:00:00Z\",\"type\":\"Ready\",\"status\":\"True\"}],"
    "\"images\":[{\"names\":[\"a\",\"b\"],\"sizeBytes\":12345}]}}";

static void test_fields(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    Node node;

    (void)state;
    assert_int_equal(decode(STR(whole_node), arena, &node), JSON_OK);
    assert_text("name", node.name, "n1");
    assert_int_equal(node.labels.n, 2);
    assert_text("label", *labels_find(&node.labels, STR("pool")), "a");
    assert_int_equal(node.taints.n, 1);
    assert_true(node.is_unschedulable);
    assert_true(node.is_ready);
    assert_int_equal(node.allocatable.n, 2);
    assert_int_equal(resources_get(&node.allocatable, STR("cpu")), 3920);
}

static void test_ready(void **state) {
    static const struct {
        const char *conditions;
        bool is_ready;
    } cases[] = {
        {"null", false},
        {"[]", false},
        {"[null]", false},
        {"[{\"type\":\"Ready\",\"status\":\"True\"}]", true},
        {"[{\"status\":\"True\",\"type\":\"Ready\"}]", true},
        {"[{\"type\":\"R\\u0065ady\",\"status\":\"True\"}]", true},
        {"[{\"type\":\"Ready\",\"status\":\"False\"}]", false},
        {"[{\"type\":\"Ready\",\"status\":\"Unknown\"}]", false},
        {"[{\"type\":\"Ready\"}]", false},
        {"[{\"type\":\"NotReady\",\"status\":\"True\"}]", false},
        {"[{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":\"DiskPressure\",\"status\":"
         "\"False\"}]",
            true},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        char text[512];
        Node node;

        (void)snprintf(text,
            sizeof(text),
            "{\"metadata\":{\"name\":\"n\"},\"status\":{\"conditions\":%s}}",
            cases[i].conditions);
        assert_case(text, decode(str_from_c(text), arena, &node) == JSON_OK);
        assert_case(text, node.is_ready == cases[i].is_ready);
    }
}

static void test_malformed(void **state) {
    static const struct {
        const char *json;
        JsonError error;
    } cases[] = {
        {"{\"metadata\":{\"name\":\"n\"}}", JSON_OK},
        {"{\"metadata\":{\"name\":\"n\"},\"spec\":null,\"status\":null}", JSON_OK},
        {"{\"metadata\":{\"name\":\"n\",\"annotations\":{\"a\":\"\xff\"}}}", JSON_OK}, /* unread */
        {"{}", JSON_E_TYPE},                                                           /* no name */
        {"null", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"\"}}", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":7}}", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"\xff\"}}", JSON_E_UTF8},
        {"{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":1}}}", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"n\"},\"spec\":{\"taints\":{}}}", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"n\"},\"spec\":{\"unschedulable\":\"yes\"}}", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"n\"},\"status\":{\"allocatable\":{\"cpu\":\"x\"}}}",
            JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"n\"},\"status\":{\"conditions\":[[]]}}", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"n\"}", JSON_E_END},
        {"{\"metadata\":{\"name\":\"n\"}}]", JSON_E_TRAILING},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        Node node;

        assert_case(
            cases[i].json, decode(str_from_c(cases[i].json), arena, &node) == cases[i].error);
    }
}

static void test_every_cut(void **state) {
    (void)state;
    for (size_t len = 0; len < sizeof(whole_node) - 1; len++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        char *text = malloc(len + 1);
        Node node;

        assert_non_null(text);
        memcpy(text, whole_node, len);
        assert_int_not_equal(decode(str_of(text, len), arena, &node), JSON_OK);
        free(text);
    }
}

static void test_every_budget(void **state) {
    size_t budget = 0;
    JsonError error;

    (void)state;
    do {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget++);
        Node node;

        error = decode(STR(whole_node), arena, &node);
        assert_true(error == JSON_OK || error == JSON_E_MEMORY);
    } while (error != JSON_OK);
    assert_in_range(budget, 100, 10000);
}

/* Nodes as kube-scheduler sent them. */
static size_t decode_items(JsonReader *reader, Arena *arena) {
    size_t n = 0;

    json_array(reader);
    for (; json_element(reader); n++) {
        Node node;
        bool has_gpu;

        node_decode(reader, arena, &node);
        assert_int_equal(json_error(reader), JSON_OK);
        has_gpu = node.taints.n > 0;
        assert_true(node_name_is_valid(node.name));
        assert_true(str_eq(*labels_find(&node.labels, STR("kubernetes.io/hostname")), node.name));
        assert_int_equal(node.labels.n, has_gpu ? 21 : 18);
        assert_int_equal(node.allocatable.n, has_gpu ? 7 : 6);
        assert_int_equal(resources_get(&node.allocatable, STR("cpu")), 15890);
        assert_int_equal(resources_get(&node.allocatable, STR("memory")), INT64_C(61875396) << 10);
        assert_int_equal(resources_get(&node.allocatable, STR("nvidia.com/gpu")), has_gpu ? 8 : 0);
        assert_true(node.is_ready && !node.is_unschedulable);
    }
    return n;
}

static void test_wire(void **state) {
    static const struct {
        const char *path;
        size_t n_nodes;
    } cases[] = {
        {"wire/fixtures/filter-nodecache-false.json", 3},
        {"wire/fixtures/filter-nodecache-false-affinity.json", 4},
        {"wire/fixtures/filter-nodecache-false-gpu.json", 2},
        {"wire/fixtures/filter-nodecache-false-nominated.json", 1},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        JsonReader reader;
        Str text, key;
        char *data = test_file_read(cases[i].path, &text);
        size_t n = 0;

        json_reader_init(&reader, text);
        json_object(&reader);
        while (json_key(&reader, &key)) {
            if (!json_key_is(&reader, key, STR("Nodes"))) {
                json_skip(&reader, NULL);
                continue;
            }
            json_object(&reader);
            while (json_key(&reader, &key)) {
                if (json_key_is(&reader, key, STR("items")))
                    n += decode_items(&reader, arena);
                else
                    json_skip(&reader, NULL);
            }
        }
        json_end(&reader);
        assert_int_equal(json_error(&reader), JSON_OK);
        assert_case(cases[i].path, n == cases[i].n_nodes);
        free(data);
    }
}

static void test_names(void **state) {
    static const struct {
        const char *name;
        bool is_valid;
    } cases[] = {
        {"n", true},
        {"node-00001.pool-1.example.internal", true},
        {"10.0.0.1", true},
        {"", false},
        {"-n", false},
        {"n-", false},
        {".n", false},
        {"n.", false},
        {"Node", false},
        {"a_b", false},
        {"a b", false},
        {"a/b", false},
        {"caf\xc3\xa9", false},
        {"n\n", false},
    };
    char longest[NODE_NAME_MAX + 1];

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(
            cases[i].name, node_name_is_valid(str_from_c(cases[i].name)) == cases[i].is_valid);
    memset(longest, 'a', sizeof(longest));
    assert_true(node_name_is_valid(str_of(longest, NODE_NAME_MAX)));
    assert_false(node_name_is_valid(str_of(longest, NODE_NAME_MAX + 1)));
    assert_false(node_name_is_valid(STR("a\0b")));
}

/* What is not wanted is skipped, whatever it is. */
static void test_parts(void **state) {
    static const Str labels[] = {STR("pool")};
    static const char text[] =
        "{\"metadata\":{\"name\":\"n\",\"labels\":{\"pool\":\"a\",\"zone\":7}},"
        "\"spec\":{\"taints\":7,\"unschedulable\":true},"
        "\"status\":{\"allocatable\":[],\"conditions\":{}}}";
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    NodeParts parts = {.labels = labels, .n_labels = 1};
    JsonReader reader;
    Node node;

    (void)state;
    json_reader_init(&reader, str_from_c(text));
    node_decode_parts(&reader, arena, &parts, &node);
    json_end(&reader);
    assert_int_equal(json_error(&reader), JSON_OK);
    assert_true(str_is(node.name, "n"));
    assert_true(node.is_unschedulable);
    assert_int_equal(node.labels.n, 1);
    assert_true(str_is(*labels_find(&node.labels, STR("pool")), "a"));
    assert_int_equal(node.allocatable.n + node.taints.n, 0);

    json_reader_init(&reader, str_from_c(text));
    node_decode(&reader, arena, &node);
    assert_int_equal(json_error(&reader), JSON_E_TYPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_every_budget),
        cmocka_unit_test(test_wire),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
