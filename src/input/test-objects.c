#include "input/objects.h"

#include <errno.h>

#include "base/test-folder.h"
#include "cluster/difference.h"
#include "cluster/dump.h"

#define NODE_A                                                                                     \
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"},\"status\":{"          \
    "\"allocatable\":{\"cpu\":\"2\"}}}"
#define NODE_B "{\"kind\":\"Node\",\"metadata\":{\"name\":\"b\"}}"
#define POD_ON_A                                                                                   \
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"uid\":\"u\"},\"spec\":{\"nodeName\":\"a\","  \
    "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]}}"

static int load(Folder *folder, const char *text, Snapshot **ret, char *error) {
    return cluster_load(folder_write(folder, "cluster", str_from_c(text)), ret, error);
}

/* --- clusters ------------------------------------------------------------------------------ */

static size_t n_pods(const NodeTable *table, Str node) {
    uint32_t row = table_find(table, node);

    return table_chunk(table, row)->n_pods[table_slot(row)];
}

static void test_clusters(void **state) {
    static const struct {
        const char *name, *text;
        size_t n_nodes, n_pods_on_a;
    } cases[] = {
        {"kubectl's List",
            "{\"apiVersion\":\"v1\",\"items\":[" NODE_A "," NODE_B "," POD_ON_A
            "],\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"\"}}",
            2, 1},
        {"items before kind, white space", "\n {\"items\": [ " NODE_A " ] , \"kind\":\"List\"}\n",
            1, 0},
        {"NodeList: items do not say what they are",
            "{\"kind\":\"NodeList\",\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{"
            "\"name\":\"b\"}}]}",
            2, 0},
        {"NodeList, kind last",
            "{\"items\":[{\"metadata\":{\"name\":\"a\"}}],\"kind\":\"NodeList\"}", 1, 0},
        {"one node", NODE_A, 1, 0},
        {"other kinds are passed over",
            "{\"kind\":\"List\",\"items\":[{\"kind\":\"Service\",\"metadata\":{\"name\":\"a\"}},{}"
            "," NODE_A "]}",
            1, 0},
        {"YAML List",
            "apiVersion: v1\nkind: List\nitems:\n- kind: Node\n  metadata: {name: a}\n"
            "- kind: Pod\n  metadata: {name: p}\n  spec: {nodeName: a}\n",
            1, 1},
        {"YAML documents",
            "---\nkind: Node\nmetadata:\n  name: a\n---\n# nothing here\n---\nkind: Pod\n"
            "spec:\n  nodeName: a\n---\nkind: Node\nmetadata: {name: b}\n...\n",
            2, 1},
        {"YAML NodeList and PodList",
            "kind: NodeList\nitems: [{metadata: {name: a}}]\n---\nkind: PodList\n"
            "items: [{spec: {nodeName: a}}, {spec: {nodeName: a}, status: {phase: Failed}}]\n",
            1, 1},
        {"YAML numbers and booleans",
            "kind: Node\nmetadata: {name: a, labels: {x: 'true'}}\nspec: {unschedulable: true}\n"
            "status: {allocatable: {cpu: 2, memory: 1Gi}}\n",
            1, 0},
    };
    Folder folder;

    (void)state;
    folder_init(&folder);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
        char error[OBJECTS_ERROR_MAX] = "";
        const NodeTable *table;
        int r = load(&folder, cases[i].text, &snapshot, error);

        if (r != 0)
            print_error("%s: %s\n", cases[i].name, error);
        assert_case(cases[i].name, r == 0);
        table = snapshot_table(snapshot);
        assert_case(cases[i].name, table->names->n_nodes == cases[i].n_nodes);
        assert_case(cases[i].name, table_find(table, STR("a")) < table->n_rows);
        assert_case(cases[i].name, n_pods(table, STR("a")) == cases[i].n_pods_on_a);
    }
    folder_done(&folder);
}

static void test_cluster_values(void **state) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    char error[OBJECTS_ERROR_MAX];
    const NodeTable *table;
    const PodList *pods;
    Folder folder;

    (void)state;
    folder_init(&folder);
    assert_int_equal(
        load(&folder, "{\"kind\":\"List\",\"items\":[" POD_ON_A "," NODE_A "]}", &snapshot, error),
        0);
    folder_done(&folder); /* the file may be deleted */
    table = snapshot_table(snapshot);
    assert_int_equal(table_amount(table, 0, TABLE_CPU, AMOUNT_ALLOCATABLE), 2000);
    assert_int_equal(table_amount(table, 0, TABLE_CPU, AMOUNT_REQUESTED), 500);
    pods = table_chunk(table, 0)->pods[0];
    assert_int_equal(pods->n, 1);
    assert_text("pod", pods->items[0]->name, "p");
    assert_text("uid", pods->items[0]->uid, "u");
}

/* --- dumps ---------------------------------------------------------------------------------- */

static int append(void *context, Str bytes) {
    Buf *text = context;

    buf_append(text, bytes);
    return buf_error(text);
}

/* Reading a dump gives the same cluster. */
static void test_dump_reads_back(void **state) {
    static const char text[] =
        "{\"kind\":\"List\",\"items\":[" NODE_B "," POD_ON_A
        ",{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"4\","
        "\"creationTimestamp\":\"2026-01-02T03:04:05+02:00\",\"labels\":{\"b\":\"2\",\"a\":"
        "\"\\u2028\"},"
        "\"annotations\":{\"x\":\"<&>\"}},\"spec\":{\"unschedulable\":true,\"taints\":[{\"key\":"
        "\"k\","
        "\"effect\":\"Sometimes\"},{\"key\":\"l\",\"value\":\"v\",\"effect\":\"NoExecute\"}]},"
        "\"status\":{\"allocatable\":{\"memory\":\"1.5Gi\",\"cpu\":\"0.1\",\"x\":\"9E\"},"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],\"images\":[{\"names\":[\"i\"]}]"
        "}},"
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"q\",\"namespace\":\"n\",\"uid\":\"v\","
        "\"deletionTimestamp\":\"2026-01-02T03:04:05Z\",\"labels\":{\"app\":\"q\"},"
        "\"ownerReferences\":[{\"controller\":true,\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"w\"}]}"
        ","
        "\"spec\":{\"nodeName\":\"a\",\"priority\":9,\"overhead\":{\"cpu\":\"1m\"},"
        "\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":\"3\"}}}],"
        "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"0.5m\",\"memory\":\"1k\"}}}]}},"
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"r\",\"uid\":\"x\"},"
        "\"spec\":{\"priority\":100},\"status\":{\"nominatedNodeName\":\"a\"}}]}";
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL, *back = NULL;
    _cleanup_(buf_done) Buf dump = BUF_INIT(65536), again = BUF_INIT(65536);
    _cleanup_(buf_done) Buf lines = BUF_INIT(65536);
    char error[OBJECTS_ERROR_MAX] = "";
    Difference difference;
    Folder folder;

    (void)state;
    folder_init(&folder);
    assert_int_equal(load(&folder, text, &snapshot, error), 0);
    assert_int_equal(
        dump_write(snapshot, /* mask= */ NULL, (DumpSink){.write = append, .context = &dump}), 0);
    assert_int_equal(cluster_load(folder_write(&folder, "dump", buf_str(&dump)), &back, error), 0);
    assert_int_equal(difference_find(snapshot, back, 10, &lines, &difference), 0);
    assert_text("differences", buf_str(&lines), "");
    assert_int_equal(snapshot_table(back)->n_nominated, 1);
    assert_int_equal(n_pods(snapshot_table(back), STR("a")), 2);
    assert_int_equal(
        dump_write(back, /* mask= */ NULL, (DumpSink){.write = append, .context = &again}), 0);
    assert_true(str_eq(buf_str(&dump), buf_str(&again)));
    folder_done(&folder);
}

/* Each message names the file, and the position if there is one. */
static void test_cluster_errors(void **state) {
    static const struct {
        const char *name, *text, *message;
    } cases[] = {
        {"nothing", "",
            "cluster: contains no Node; make it with: kubectl get nodes,pods -A -o json"},
        {"no node", "{\"kind\":\"List\",\"items\":[" POD_ON_A "]}",
            "cluster: contains no Node; make it with: kubectl get nodes,pods -A -o json"},
        {"an empty list", "{\"kind\":\"List\",\"items\":[]}",
            "cluster: contains no Node; make it with: kubectl get nodes,pods -A -o json"},
        {"truncated", "{\"kind\":\"List\",\n \"items\":[",
            "cluster:2:11: the input ends inside an array"},
        {"not JSON", "{\"kind\":\"List\",\n \"items\": nope}", "cluster:2:11: expected a value"},
        {"two values", "{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"}}\n{}",
            "cluster:2:1: something follows the value"},
        {"items is no list", "{\"kind\":\"List\",\n\"items\":{}}",
            "cluster:2:9: expected an array"},
        {"an item is no object", "{\"kind\":\"List\",\"items\":[\n" NODE_A ",\n  7]}",
            "cluster:3:3: expected a Kubernetes object"},
        {"a node without a name",
            "{\"kind\":\"List\",\"items\":[\n{\"kind\":\"Node\",\n\"metadata\":{}}]}",
            "cluster:3:14: a Node without a name"},
        {"a bad quantity",
            "{\"kind\":\"List\",\"items\":[\n{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"},\n"
            "\"status\":{\"allocatable\":{\"cpu\":\"many\"}}}]}",
            "cluster:3:32: not a quantity"},
        {"two nodes of one name", "{\"kind\":\"List\",\"items\":[" NODE_A "," NODE_A "]}",
            "cluster: there are two nodes named \"a\""},
        {"two pods of one name",
            "{\"kind\":\"List\",\"items\":[" POD_ON_A "," NODE_A "," POD_ON_A "]}",
            "cluster: there are two pods named \"p\" in namespace \"\""},
        {"YAML syntax", "kind: List\nitems: [\n", "cluster:2:8: the closing ] is missing"},
        {"YAML that is text", "hello\n", "cluster:1:1: expected a Kubernetes object"},
        {"YAML duplicate key", "kind: Node\nkind: Node\n", "cluster:2:1: duplicate key \"kind\""},
        {"a list, not a List", "[" NODE_A "]", "cluster:1:1: expected a Kubernetes object"},
    };
    Folder folder;

    (void)state;
    folder_init(&folder);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Snapshot *snapshot = NULL;
        char error[OBJECTS_ERROR_MAX] = "";
        Str message;

        assert_case(cases[i].name, load(&folder, cases[i].text, &snapshot, error) == -EINVAL);
        assert_null(snapshot);
        message = str_from_c(error);
        assert_case(cases[i].name, str_has_prefix(message, str_from_c(folder.path)));
        assert_text(cases[i].name, str_skip(message, strlen(folder.path) + 1), cases[i].message);
    }
    folder_done(&folder);
}

static void test_missing_file(void **state) {
    Snapshot *snapshot = NULL;
    char error[OBJECTS_ERROR_MAX];

    (void)state;
    assert_int_equal(cluster_load("/nonexistent/file", &snapshot, error), -ENOENT);
    assert_string_equal(error, "/nonexistent/file: No such file or directory");
}

/* YAML is for small clusters; for a large file the error suggests JSON. */
static void test_large_yaml(void **state) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)8 << 20);
    Snapshot *snapshot = NULL;
    char error[OBJECTS_ERROR_MAX] = "";
    Folder folder;

    (void)state;
    folder_init(&folder);
    buf_append(&text, STR("kind: Node\nmetadata:\n  name: a\n  annotations:\n"));
    for (unsigned i = 0; text.len < ((size_t)5 << 20); i++)
        buf_printf(&text, "    key-%u: some words to fill the line with, and some more\n", i);
    (void)folder_write(&folder, "cluster", buf_str(&text));
    assert_int_equal(cluster_load(folder.file, &snapshot, error), -EINVAL);
    assert_non_null(strstr(error, "/cluster: "));
    assert_non_null(strstr(error, "-o json"));
    assert_null(strstr(error, ":0"));
    folder_done(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_cluster_values),
        cmocka_unit_test(test_dump_reads_back),
        cmocka_unit_test(test_cluster_errors),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_large_yaml),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
