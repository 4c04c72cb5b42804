#include "model/node.h"

#include "base/buf.h"
#include "model/test-decode.h"
#include "model/test-file.h"

static JsonError decode(Str text, Arena *arena, Node *ret) {
    JsonReader reader;

    json_reader_init(&reader, text);
    node_decode(&reader, arena, ret);
    json_end(&reader);
    return json_error(&reader);
}

/* One node with every field we read, among others we do not. */
static const char whole_node[] =
    "{\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"uid\":\"u-1\",\"resourceVersion\":\"77\","
    "\"creationTimestamp\":\"2026-01-02T03:04:05Z\",\"labels\":{\"zone\":\"b\",\"pool\":\"a\"},"
    "\"annotations\":{\"x\":\"}]\\\"{[\",\"e\":\"\"},\"managedFields\":[{\"f:a\":{\"f:b\":{}}}]},"
    "\"spec\":{\"podCIDR\":\"10.0.0.0/24\",\"unschedulable\":true,\"providerID\":\"kind://n1\","
    "\"podCIDRs\":[\"10.0.0.0/24\",\"fd00::/64\"],"
    "\"taints\":[{\"key\":\"gpu\",\"effect\":\"NoSchedule\"}]},"
    "\"status\":{\"capacity\":{\"cpu\":\"9\"},\"allocatable\":{\"cpu\":\"3920m\",\"pods\":\"110\"},"
    "\"conditions\":[{\"type\":\"MemoryPressure\",\"status\":\"False\"},"
    "{\"lastHeartbeatTime\":\"2026-01-01T00:00:00Z\",\"type\":\"Ready\",\"status\":\"True\","
    "\"lastTransitionTime\":\"2026-01-02T03:04:06Z\"}],"
    "\"nodeInfo\":{\"architecture\":\"arm64\",\"machineID\":\"m\",\"kernelVersion\":\"6.1\","
    "\"osImage\":\"Debian\",\"operatingSystem\":\"linux\",\"kubeletVersion\":\"v1.34.1\","
    "\"containerRuntimeVersion\":\"containerd://2\"},\"volumesInUse\":[\"a\",\"\\u0062\"],"
    "\"volumesAttached\":[{\"name\":\"c\",\"devicePath\":\"\"}],"
    "\"images\":[{\"names\":[\"a\",\"\\u0062\"],\"sizeBytes\":12345},{\"sizeBytes\":7},"
    "{\"names\":[\"c\"]}],"
    "\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.7\"},"
    "{\"address\":\"n1.example\",\"type\":\"InternalDNS\"},{\"type\":\"Hostname\"},"
    "{\"address\":\"\\u006e1\",\"type\":\"Hostname\",\"more\":[]},"
    "{\"type\":\"ExternalIP\",\"address\":\"2001:db8::7\"},{\"address\":\"1.2.3.4\"}]}}";

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

static void test_fields_of_the_rest(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    Node node;

    (void)state;
    assert_int_equal(decode(STR(whole_node), arena, &node), JSON_OK);
    assert_text("uid", node.uid, "u-1");
    assert_text("resourceVersion", node.resource_version, "77");
    assert_int_equal(node.created_at, 1767323045);
    assert_int_equal(node.annotations.n, 2);
    assert_text("annotation", *labels_find(&node.annotations, STR("x")), "}]\"{[");
    assert_text("empty annotation", *labels_find(&node.annotations, STR("e")), "");
    assert_int_equal(node.n_conditions, 2);
    assert_text("type", node.conditions[0].type, "MemoryPressure");
    assert_text("status", node.conditions[0].status, "False");
    assert_text("type", node.conditions[1].type, "Ready");
    assert_text("status", node.conditions[1].status, "True");
    assert_int_equal(node.n_images, 3);
    assert_int_equal(node.images[0].n_names, 2);
    assert_text("image", node.images[0].names[0], "a");
    assert_text("image", node.images[0].names[1], "b");
    assert_int_equal(node.images[0].size, 12345);
    assert_int_equal(node.images[1].n_names, 0);
    assert_int_equal(node.images[1].size, 7);
    assert_text("image", node.images[2].names[0], "c");
    assert_int_equal(node.images[2].size, 0);
}

static void test_details(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    const NodeDetails *details;
    JsonReader reader;
    Node node;

    (void)state;
    assert_int_equal(decode(STR(whole_node), arena, &node), JSON_OK);
    details = node.details;
    assert_non_null(details);
    assert_int_equal(resources_get(&details->capacity, STR("cpu")), 9000);
    assert_text("provider", details->provider_id, "kind://n1");
    assert_int_equal(details->pod_cidrs.n, 2);
    assert_text("CIDR", details->pod_cidrs.items[1], "fd00::/64");
    assert_text("architecture", details->architecture, "arm64");
    assert_text("system", details->operating_system, "linux");
    assert_text("image", details->os_image, "Debian");
    assert_text("kernel", details->kernel_version, "6.1");
    assert_text("runtime", details->container_runtime_version, "containerd://2");
    assert_text("kubelet", details->kubelet_version, "v1.34.1");
    assert_int_equal(details->volumes_in_use.n, 2);
    assert_text("in use", details->volumes_in_use.items[1], "b");
    assert_int_equal(details->volumes_attached.n, 1);
    assert_text("attached", details->volumes_attached.items[0], "c");
    assert_int_equal(node.conditions[0].changed_at, 0);
    assert_int_equal(node.conditions[1].changed_at, 1767323046);

    json_reader_init(&reader, STR(whole_node));
    node_decode_parts(&reader, arena, &node_parts_but_details, &node);
    assert_int_equal(json_error(&reader), JSON_OK);
    assert_null(node.details);
    assert_int_equal(node.conditions[1].changed_at, 0);
    assert_int_equal(decode(STR("{\"metadata\":{\"name\":\"n\"}}"), arena, &node), JSON_OK);
    assert_null(node.details); /* none */
}

/* Beyond the limit volumes are left out. */
static void test_many_volumes(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    _cleanup_(buf_done) Buf text = BUF_INIT(65536);
    Node node;

    (void)state;
    buf_append(&text, STR("{\"metadata\":{\"name\":\"n\"},\"status\":{\"volumesAttached\":["));
    for (size_t i = 0; i < NODE_VOLUMES_MAX + 1; i++)
        buf_append(&text, i > 0 ? STR(",{\"name\":\"v\"}") : STR("{\"name\":\"v\"}"));
    buf_append(&text, STR("]}}"));
    assert_int_equal(decode(buf_str(&text), arena, &node), JSON_OK);
    assert_int_equal(node.details->volumes_attached.n, NODE_VOLUMES_MAX);
}

static void test_addresses(void **state) {
    static const struct {
        AddressType type;
        const char *name, *text;
    } want[] = {
        {ADDRESS_INTERNAL_IP, "InternalIP", "10.0.0.7"},
        {ADDRESS_HOSTNAME, "Hostname", "n1"},
        {ADDRESS_EXTERNAL_IP, "ExternalIP", "2001:db8::7"},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    Node node;

    (void)state;
    assert_int_equal(decode(STR(whole_node), arena, &node), JSON_OK);
    assert_int_equal(node.n_addresses, ELEMENTS_OF(want));
    for (size_t i = 0; i < ELEMENTS_OF(want); i++) {
        assert_int_equal(node.addresses[i].type, want[i].type);
        assert_text("type", address_type_name(want[i].type), want[i].name);
        assert_text("address", node.addresses[i].text, want[i].text);
    }
}

static void test_absent_and_null_are_alike(void **state) {
    static const char *const texts[] = {
        "{\"metadata\":{\"name\":\"n\"}}",
        "{\"metadata\":{\"name\":\"n\",\"uid\":null,\"resourceVersion\":null,"
        "\"creationTimestamp\":null,\"labels\":null,\"annotations\":null},\"spec\":{\"taints\":"
        "null},"
        "\"status\":{\"conditions\":null,\"allocatable\":null,\"images\":null,"
        "\"addresses\":null}}",
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        Node node;

        assert_case(texts[i], decode(str_from_c(texts[i]), arena, &node) == JSON_OK);
        assert_case(texts[i], node.uid.len + node.resource_version.len == 0);
        assert_case(texts[i], node.created_at == 0);
        assert_case(texts[i], node.labels.n + node.annotations.n + node.taints.n == 0);
        assert_case(texts[i], node.n_conditions + node.n_images + node.allocatable.n == 0);
        assert_case(texts[i], node.n_addresses == 0);
    }
}

/* --- limits: what exceeds them is left out, the rest is kept --------------------------------- */

static void decode_around(
    const char *before, const Buf *middle, const char *after, Arena *arena, Node *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 20);

    buf_printf(&text, "{\"metadata\":{\"name\":\"n\"%s", before);
    buf_append(&text, buf_str(middle));
    buf_append(&text, str_from_c(after));
    assert_int_equal(buf_error(&text), 0);
    assert_int_equal(decode(arena_copy(arena, buf_str(&text)), arena, ret), JSON_OK);
}

static void test_too_many_annotations(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(buf_done) Buf list = BUF_INIT(65536);
    Node node;

    (void)state;
    for (unsigned i = 0; i < ANNOTATIONS_MAX; i++)
        buf_printf(&list, "\"k%03u\":\"v%u\",", i, i);
    buf_append(&list, STR("\"a-first-when-sorted\":\"\",\"z\":7"));
    decode_around(",\"annotations\":{", &list, "}}}", arena, &node);
    assert_int_equal(node.annotations.n, ANNOTATIONS_MAX);
    assert_text("first", node.annotations.items[0].key, "k000");
    assert_text("last", *labels_find(&node.annotations, STR("k127")), "v127");
}

static void test_too_many_addresses(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(buf_done) Buf list = BUF_INIT(65536);
    Node node;

    (void)state;
    for (unsigned i = 0; i < NODE_ADDRESSES_MAX; i++) /* addresses of other types do not count */
        buf_printf(
            &list, "{\"type\":\"InternalIP\",\"address\":\"10.0.0.%u\"},{\"type\":\"X\"},", i);
    buf_append(&list, STR("{\"type\":\"InternalIP\",\"address\":\"10.0.1.1\"}"));
    decode_around("},\"status\":{\"addresses\":[", &list, "]}}", arena, &node);
    assert_int_equal(node.n_addresses, NODE_ADDRESSES_MAX);
    assert_text("last", node.addresses[NODE_ADDRESSES_MAX - 1].text, "10.0.0.15");
}

static void test_long_annotations(void **state) {
    static const struct {
        const char *name, *unit;
        size_t count;
        bool is_kept;
    } cases[] = {
        {"as long as may be", "a", ANNOTATION_VALUE_MAX, true},
        {"one more", "a", ANNOTATION_VALUE_MAX + 1, false},
        {"its escapes decoded", "\\u0061", ANNOTATION_VALUE_MAX, true},
        {"one more escape", "\\u0061", ANNOTATION_VALUE_MAX + 1, false},
        {"escapes of two bytes", "\\n", ANNOTATION_VALUE_MAX + 1, false},
        {"far too long", "\\u0061", ANNOTATION_VALUE_MAX * 2, false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        _cleanup_(buf_done) Buf list = BUF_INIT(65536);
        Node node;

        buf_append(&list, STR("\"a\":\"1\",\"b\":\""));
        for (size_t j = 0; j < cases[i].count; j++)
            buf_append(&list, str_from_c(cases[i].unit));
        buf_append(&list, STR("\",\"c\":\"3\""));
        decode_around(",\"annotations\":{", &list, "}}}", arena, &node);
        assert_case(cases[i].name, node.annotations.n == (cases[i].is_kept ? 3 : 2));
        assert_case(
            cases[i].name, (labels_find(&node.annotations, STR("b")) != NULL) == cases[i].is_kept);
        assert_text(cases[i].name, *labels_find(&node.annotations, STR("c")), "3");
    }
}

static void test_too_many_conditions(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(buf_done) Buf list = BUF_INIT(65536);
    Node node;

    (void)state;
    for (unsigned i = 0; i < NODE_CONDITIONS_MAX; i++)
        buf_printf(&list, "{\"type\":\"C%u\",\"status\":\"False\"},", i);
    buf_append(&list, STR("{\"type\":\"Ready\",\"status\":\"True\"}"));
    decode_around("},\"status\":{\"conditions\":[", &list, "]}}", arena, &node);
    assert_int_equal(node.n_conditions, NODE_CONDITIONS_MAX);
    assert_text("last", node.conditions[NODE_CONDITIONS_MAX - 1].type, "C63");
    assert_true(node.is_ready); /* found anyway */
}

static void test_too_many_images(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(buf_done) Buf list = BUF_INIT(65536);
    Node node;

    (void)state;
    buf_append(&list, STR("{\"sizeBytes\":-1,\"names\":[\"0\""));
    for (unsigned i = 1; i < NODE_IMAGE_NAMES_MAX; i++)
        buf_printf(&list, ",\"%u\"", i);
    buf_append(&list, STR(",\"over\",7]}"));
    for (unsigned i = 1; i < NODE_IMAGES_MAX; i++)
        buf_printf(&list, ",{\"sizeBytes\":%u}", i);
    buf_append(&list, STR(",{\"sizeBytes\":\"over\"}"));
    decode_around("},\"status\":{\"images\":[", &list, "]}}", arena, &node);
    assert_int_equal(node.n_images, NODE_IMAGES_MAX);
    assert_int_equal(node.images[0].n_names, NODE_IMAGE_NAMES_MAX);
    assert_text("last name", node.images[0].names[NODE_IMAGE_NAMES_MAX - 1], "15");
    assert_int_equal(node.images[0].size, 0); /* negative counts as 0 */
    assert_int_equal(node.images[NODE_IMAGES_MAX - 1].size, NODE_IMAGES_MAX - 1);
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

        (void)snprintf(text, sizeof(text),
            "{\"metadata\":{\"name\":\"n\"},\"status\":{\"conditions\":%s}}", cases[i].conditions);
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
        {"{\"metadata\":{\"name\":\"n\",\"unread\":{\"a\":\"\xff\"}}}",
            JSON_OK},        /* not looked at */
        {"{}", JSON_E_TYPE}, /* no name */
        {"{\"metadata\":{\"name\":\"n\",\"annotations\":{\"a\":\"\xff\"}}}", JSON_E_UTF8},
        {"{\"metadata\":{\"name\":\"n\",\"annotations\":{\"a\":1}}}", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"n\",\"annotations\":[]}}", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"n\",\"uid\":1}}", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"n\",\"resourceVersion\":1}}", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"n\",\"creationTimestamp\":\"today\"}}", JSON_OK},
        {"{\"metadata\":{\"name\":\"n\"},\"status\":{\"images\":{}}}", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"n\"},\"status\":{\"images\":[{\"names\":\"a\"}]}}",
            JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"n\"},\"status\":{\"images\":[{\"names\":[1]}]}}", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":\"n\"},\"status\":{\"images\":[{\"sizeBytes\":0.5}]}}",
            JSON_E_TYPE},
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

static JsonError decode_only(Str text, Arena *arena) {
    Node node;

    return decode(text, arena, &node);
}

static void test_every_cut(void **state) {
    (void)state;
    check_every_cut(STR(whole_node), decode_only);
}

static void test_every_budget(void **state) {
    (void)state;
    check_every_budget(STR(whole_node), decode_only);
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

/* Unwanted parts are skipped, whatever they contain. */
static void test_parts(void **state) {
    static const Str labels[] = {STR("pool")};
    static const char text[] =
        "{\"metadata\":{\"name\":\"n\",\"uid\":7,\"resourceVersion\":7,\"creationTimestamp\":7,"
        "\"annotations\":7,\"labels\":{\"pool\":\"a\",\"zone\":7}},"
        "\"spec\":{\"taints\":7,\"unschedulable\":true},"
        "\"status\":{\"allocatable\":[],\"conditions\":{},\"images\":7}}";
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
    assert_int_equal(node.allocatable.n + node.taints.n + node.annotations.n, 0);
    assert_int_equal(node.n_conditions + node.n_images, 0);
    assert_true(str_is_empty(node.uid) && str_is_empty(node.resource_version));
    assert_int_equal(node.created_at, 0);

    json_reader_init(&reader, str_from_c(text));
    node_decode(&reader, arena, &node);
    assert_int_equal(json_error(&reader), JSON_E_TYPE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_fields_of_the_rest),
        cmocka_unit_test(test_details),
        cmocka_unit_test(test_many_volumes),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_absent_and_null_are_alike),
        cmocka_unit_test(test_too_many_annotations),
        cmocka_unit_test(test_too_many_addresses),
        cmocka_unit_test(test_long_annotations),
        cmocka_unit_test(test_too_many_conditions),
        cmocka_unit_test(test_too_many_images),
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
