#include "cluster/dump.h"

#include <errno.h>

#include "base/buf.h"
#include "cluster/difference.h"
#include "cluster/test-load.h"

/* A sink that keeps everything and can fail. */
typedef struct Kept {
    Buf text;
    size_t n_writes;
    size_t fail_at; /* the number of the write that fails; 0: none */
} Kept;

static int keep(void *context, Str bytes) {
    Kept *kept = context;

    assert_in_range(bytes.len, 1, 2 * DUMP_CHUNK);
    if (++kept->n_writes == kept->fail_at)
        return -EPIPE;
    buf_append(&kept->text, bytes);
    return buf_error(&kept->text);
}

static Kept dump(const Snapshot *snapshot) {
    Kept kept = {.text = BUF_INIT((size_t)64 << 20)};

    assert_int_equal(
        dump_write(snapshot, /* mask= */ NULL, (DumpSink){.write = keep, .context = &kept}), 0);
    return kept;
}

static const char node_a[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"uid\":\"u-a\","
    "\"resourceVersion\":\"11\",\"creationTimestamp\":\"2026-01-02T03:04:05Z\","
    "\"labels\":{\"pool\":\"x\",\"zone\":\"\"},\"annotations\":{\"note\":\"say \\\"hi\\\"\\n\"}},"
    "\"spec\":{\"taints\":[{\"key\":\"gpu\",\"value\":\"yes\",\"effect\":\"NoSchedule\"},"
    "{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"},{\"key\":\"l\",\"effect\":\"NoExecute\"},"
    "{\"key\":\"unknown\"}],\"unschedulable\":true},"
    "\"status\":{\"allocatable\":{\"cpu\":\"3920m\",\"memory\":\"1610612737\",\"pods\":\"110\"},"
    "\"conditions\":[{\"type\":\"DiskPressure\",\"status\":\"False\"},"
    "{\"type\":\"Ready\",\"status\":\"True\"}],"
    "\"images\":[{\"names\":[\"img:1\",\"img@sha256:0\"],\"sizeBytes\":123},{\"sizeBytes\":7}],"
    "\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.7\"},"
    "{\"type\":\"Hostname\",\"address\":\"a.example\"}]}}";

static const char node_b[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"b\"},"
    "\"spec\":{},\"status\":{}}";

static const char pod_bound[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-0\",\"namespace\":"
    "\"shop\","
    "\"uid\":\"u-1\",\"resourceVersion\":\"12\",\"creationTimestamp\":\"2026-01-02T03:04:06Z\","
    "\"deletionTimestamp\":\"1970-01-01T00:00:00Z\",\"labels\":{\"app\":\"web\"},"
    "\"ownerReferences\":[{\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":\"o-1\","
    "\"controller\":true}]},"
    "\"spec\":{\"nodeName\":\"a\",\"schedulerName\":\"default-scheduler\",\"priority\":-7,"
    "\"containers\":[{\"name\":\"sum\",\"resources\":{\"requests\":{\"cpu\":\"1500m\","
    "\"example.com/gpu\":\"0\",\"memory\":\"268435457\"}}}]},"
    "\"status\":{\"startTime\":\"2026-01-02T03:04:07Z\",\"conditions\":[{\"type\":"
    "\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-02T03:04:06Z\"}]}}";

static const char pod_promised[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"next\",\"namespace\":"
    "\"shop\","
    "\"uid\":\"u-2\"},\"spec\":{\"containers\":[{\"name\":\"sum\",\"resources\":{\"requests\":{"
    "\"cpu\":\"2\"}}}]},\"status\":{\"nominatedNodeName\":\"b\"}}";

/* These texts are in the form of a dump: the output equals the input. */
static void test_text(void **state) {
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    _cleanup_(buf_done) Buf want = BUF_INIT(65536);
    Kept kept;

    (void)state;
    test_load_pod(store, STR(pod_bound));
    test_load_node(store, STR(node_b));
    test_load_pod(store, STR(pod_promised));
    test_load_node(store, STR(node_a));
    snapshot = test_load_publish(store);
    buf_printf(&want,
        "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n%s,\n%s,\n%s,\n%s\n]}\n", node_a,
        node_b, pod_promised, pod_bound);
    buf_append_char(&want, '\0');
    kept = dump(snapshot);
    assert_text("dump", buf_str(&kept.text), want.data);
    assert_int_equal(kept.n_writes, 1);
    buf_done(&kept.text);
}

static void test_empty(void **state) {
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = test_load_publish(store);
    Kept kept = dump(snapshot);

    (void)state;
    assert_text(
        "empty", buf_str(&kept.text), "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n]}\n");
    buf_done(&kept.text);
}

/* Finished pods, pending pods and pods on unknown nodes are left out. */
static void test_leaves_out_pods_without_known_node(void **state) {
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    Kept kept;

    (void)state;
    test_load_node(store, STR(node_b));
    test_load_pod(store, STR("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"b\"},"
                             "\"status\":{\"phase\":\"Succeeded\"}}"));
    test_load_pod(store, STR("{\"metadata\":{\"name\":\"q\"}}"));
    test_load_pod(
        store, STR("{\"metadata\":{\"name\":\"r\"},\"spec\":{\"nodeName\":\"elsewhere\"}}"));
    snapshot = test_load_publish(store);
    kept = dump(snapshot);
    assert_null(memmem(kept.text.data, kept.text.len, "\"Pod\"", 5));
    assert_non_null(memmem(kept.text.data, kept.text.len, "\"Node\"", 6));
    buf_done(&kept.text);
}

/* An assumed pod is written like a bound one. */
static void test_assumed(void **state) {
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    Resource cpu = {.name = STR("cpu"), .amount = 250};
    Pod pod = {.name = STR("p"),
        .namespace = STR("n"),
        .uid = STR("u"),
        .requests = {.items = &cpu, .n = 1}};
    Kept kept;

    (void)state;
    test_load_node(store, STR(node_b));
    assert_int_equal(store_assume(store, &pod, STR("b"), INT64_MAX), 0);
    snapshot = test_load_publish(store);
    kept = dump(snapshot);
    assert_text("assumed",
        str_skip(buf_str(&kept.text), str_find(buf_str(&kept.text), '\n') + sizeof(node_b) + 2),
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\","
        "\"uid\":\"u\"},\"spec\":{\"nodeName\":\"b\",\"containers\":[{\"name\":\"sum\","
        "\"resources\":{\"requests\":{\"cpu\":\"250m\"}}}]},\"status\":{}}\n]}\n");
    buf_done(&kept.text);
}

/* Readiness survives even if its condition is over the limit of conditions. */
static void test_ready_over_the_ceiling(void **state) {
    _cleanup_(store_freep) Store *store = store_new(), *again = store_new();
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL, *back = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT(65536);
    Kept kept;

    (void)state;
    buf_append(&text, STR("{\"metadata\":{\"name\":\"n\"},\"status\":{\"conditions\":["));
    for (unsigned i = 0; i < NODE_CONDITIONS_MAX; i++)
        buf_printf(&text, "{\"type\":\"C%u\",\"status\":\"True\"},", i);
    buf_append(&text, STR("{\"type\":\"Ready\",\"status\":\"True\"}]}}"));
    test_load_node(store, buf_str(&text));
    snapshot = test_load_publish(store);
    kept = dump(snapshot);
    test_load_list(again, buf_str(&kept.text));
    back = test_load_publish(again);
    assert_true(table_node(snapshot_table(back), 0)->is_ready);
    assert_int_equal(table_node(snapshot_table(back), 0)->n_conditions, NODE_CONDITIONS_MAX);
    buf_done(&kept.text);
}

/* --- many objects ----------------------------------------------------------------------------- */

#define MANY_NODES 150u
#define MANY_PODS 2000u

static void load_many_node(Store *store, unsigned i) {
    _cleanup_(buf_done) Buf text = BUF_INIT(4096);

    buf_printf(&text,
        "{\"metadata\":{\"name\":\"n%u\",\"labels\":{\"zone\":\"z%u\"}},"
        "\"status\":{\"allocatable\":{\"cpu\":\"%u\",\"memory\":\"%uGi\"}}}",
        i, i % 3, i % 64, i % 100);
    test_load_node(store, buf_str(&text));
}

static void load_many_pod(Store *store, unsigned i) {
    _cleanup_(buf_done) Buf text = BUF_INIT(4096);

    buf_printf(&text,
        "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"ns%u\",\"uid\":\"u%u\"},"
        "\"spec\":{\"nodeName\":\"n%u\",\"containers\":[{\"resources\":{\"requests\":{"
        "\"memory\":\"%uMi\",\"cpu\":\"%um\",\"x/y\":%u}}}]}}",
        i, i % 7, i, i % MANY_NODES, i % 999, i % 777, i % 2);
    test_load_pod(store, buf_str(&text));
}

/* The same objects, in order or reversed. */
static Snapshot *many(bool backwards) {
    _cleanup_(store_freep) Store *store = store_new();

    for (unsigned i = 0; i < MANY_NODES; i++)
        load_many_node(store, backwards ? MANY_NODES - 1 - i : i);
    for (unsigned i = 0; i < MANY_PODS; i++)
        load_many_pod(store, backwards ? MANY_PODS - 1 - i : i);
    return test_load_publish(store);
}

static void test_order_and_chunks(void **state) {
    _cleanup_(snapshot_unrefp) Snapshot *a = many(false), *b = many(true);
    Kept from_a = dump(a), from_b = dump(b);

    (void)state;
    assert_true(str_eq(buf_str(&from_a.text), buf_str(&from_b.text)));
    assert_in_range(from_a.n_writes, from_a.text.len / (2 * DUMP_CHUNK), from_a.text.len / 1024);
    buf_done(&from_a.text);
    buf_done(&from_b.text);
}

static void test_reads_back(void **state) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = many(false), *back = NULL;
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(buf_done) Buf lines = BUF_INIT(65536);
    Kept kept = dump(snapshot), again;
    Difference difference;

    (void)state;
    test_load_list(store, buf_str(&kept.text));
    back = test_load_publish(store);
    assert_int_equal(difference_find(snapshot, back, 10, &lines, &difference), 0);
    assert_text("differences", buf_str(&lines), "");
    assert_true(difference_is_none(&difference));
    again = dump(back);
    assert_true(str_eq(buf_str(&kept.text), buf_str(&again.text)));
    buf_done(&kept.text);
    buf_done(&again.text);
}

static void test_sink_fails(void **state) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = many(false);
    size_t n_writes;
    Kept kept = dump(snapshot);

    (void)state;
    n_writes = kept.n_writes;
    assert_true(n_writes > 3);
    buf_done(&kept.text);
    for (size_t i = 1; i <= n_writes; i++) {
        Kept failing = {.text = BUF_INIT((size_t)64 << 20), .fail_at = i};

        assert_int_equal(
            dump_write(snapshot, /* mask= */ NULL, (DumpSink){.write = keep, .context = &failing}),
            -EPIPE);
        assert_int_equal(failing.n_writes, i); /* not called again */
        buf_done(&failing.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_leaves_out_pods_without_known_node),
        cmocka_unit_test(test_assumed),
        cmocka_unit_test(test_ready_over_the_ceiling),
        cmocka_unit_test(test_order_and_chunks),
        cmocka_unit_test(test_reads_back),
        cmocka_unit_test(test_sink_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
