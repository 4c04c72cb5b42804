/* Every form of leaf gives the scalar machine's values for random nodes. */

#include <stdio.h>

#include "base/rng.h"
#include "schema/schema-internal.h"
#include "schema/test-graph.h"

#define N_NODES 200u

static void random_labels(Rng *rng, const char *title, Buf *out) {
    static const char *const keys[] = {"a", "b", "zone", "example.com/x"};
    static const char *const values[] = {"", "1", "z1", "z2", "long-value"};
    bool is_first = true;

    buf_printf(out, ",\"%s\":{", title);
    for (size_t i = 0; i < ELEMENTS_OF(keys); i++)
        if (rng_pick(rng, 2)) {
            buf_printf(out, "%s\"%s\":\"%s\"", is_first ? "" : ",", keys[i],
                values[rng_pick(rng, ELEMENTS_OF(values))]);
            is_first = false;
        }
    buf_append_char(out, '}');
}

static void random_allocatable(Rng *rng, Buf *out) {
    static const char *const amounts[] = {"0", "1", "2500m", "7", "9223372036854775807", "100m"};
    static const char *const names[] = {"cpu", "memory", "example.com/device", "rare"};
    bool is_first = true;

    buf_append(out, STR("\"allocatable\":{"));
    for (size_t i = 0; i < ELEMENTS_OF(names); i++)
        if (rng_pick(rng, 4) > (i == 3 ? 2 : 0)) {
            buf_printf(out, "%s\"%s\":\"%s\"", is_first ? "" : ",", names[i],
                amounts[rng_pick(rng, ELEMENTS_OF(amounts))]);
            is_first = false;
        }
    buf_append_char(out, '}');
}

static void random_node(Rng *rng, uint32_t number, Buf *out) {
    static const char *const times[] = {"2026-01-02T03:04:05Z", "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z"};
    static const char *const states[] = {"True", "False", "Unknown"};
    static const char *const taints[] = {"{\"key\":\"k\",\"effect\":\"NoSchedule\"}",
        "{\"key\":\"v\",\"value\":\"1\",\"effect\":\"NoExecute\"}",
        "{\"key\":\"v\",\"value\":\"2\",\"effect\":\"NoExecute\"}",
        "{\"key\":\"v\",\"value\":\"2\",\"effect\":\"PreferNoSchedule\"}",
        "{\"key\":\"a=b\",\"value\":\"c\",\"effect\":\"NoSchedule\"}",
        "{\"key\":\"\",\"effect\":\"NoSchedule\"}"};

    buf_printf(out, "{\"metadata\":{\"name\":\"n%u\"", number);
    if (rng_pick(rng, 2))
        buf_printf(out, ",\"uid\":\"u%u\"", number);
    if (rng_pick(rng, 2))
        buf_printf(out, ",\"creationTimestamp\":\"%s\"", times[rng_pick(rng, ELEMENTS_OF(times))]);
    random_labels(rng, "labels", out);
    random_labels(rng, "annotations", out);
    buf_printf(out, "},\"spec\":{\"unschedulable\":%s", rng_pick(rng, 2) ? "true" : "false");
    if (rng_pick(rng, 2))
        buf_printf(out, ",\"taints\":[%s,%s]", taints[rng_pick(rng, ELEMENTS_OF(taints) - 2)],
            taints[rng_pick(rng, ELEMENTS_OF(taints))]);
    buf_printf(out, "},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}],",
        states[rng_pick(rng, ELEMENTS_OF(states))]);
    random_allocatable(rng, out);
    buf_append(out, STR("}}"));
}

static void random_pod(Rng *rng, uint32_t number, Buf *out) {
    static const char *const amounts[] = {"1", "250m", "9223372036854775807", "3"};
    static const char *const names[] = {"cpu", "memory", "example.com/device", "nobody"};

    buf_printf(out,
        "{\"metadata\":{\"name\":\"p%u\",\"uid\":\"u%u\"},\"spec\":{\"nodeName\":\"n%u\","
        "\"containers\":[{\"resources\":{\"requests\":{\"%s\":\"%s\"}}}]}}",
        number, number, (unsigned)rng_pick(rng, N_NODES), names[rng_pick(rng, ELEMENTS_OF(names))],
        amounts[rng_pick(rng, ELEMENTS_OF(amounts))]);
}

static int setup(void **state) {
    static Scene scene;
    Rng rng = {1};
    Buf text = BUF_INIT(1 << 16);

    scene_init(&scene);
    for (uint32_t i = 0; i < N_NODES; i++) {
        buf_reset(&text);
        random_node(&rng, i, &text);
        scene_add_node(&scene, buf_str(&text));
    }
    for (uint32_t i = 0; i < 2 * N_NODES; i++) {
        buf_reset(&text);
        random_pod(&rng, i, &text);
        scene_add_pod(&scene, buf_str(&text));
    }
    buf_done(&text);
    scene_build(&scene,
        STR("{\"metadata\":{\"name\":\"p\",\"labels\":{\"key\":\"zone\",\"rest\":\"com/x\","
            "\"resource\":\"memory\",\"rare\":\"rare\"}},\"spec\":{\"tolerations\":[{\"key\":\"k\","
            "\"operator\":\"Exists\"},{\"key\":\"v\",\"value\":\"1\"},{\"key\":\"a\",\"operator\":"
            "\"Exists\"}]}}"));
    *state = &scene;
    return 0;
}

static int teardown(void **state) {
    scene_done(*state);
    return 0;
}

/* The columns of one leaf, for rows in a shuffled order that includes the unknown node's. */
typedef struct Loaded {
    size_t n;
    uint32_t rows[N_NODES + 1];
    uint8_t states[N_NODES + 1];
    union {
        int64_t ints[N_NODES + 1];
        double doubles[N_NODES + 1];
    };
    CelValue texts[N_NODES + 1];
    Column column;
} Loaded;

/* Loads @n rows from the @from-th on; @key NULL: the leaf has none. */
static void load_some(Scene *scene, ColumnLane lane, uint32_t leaf, const CelValue *key,
    SchemaBlock *block, uint32_t from, size_t n, Loaded *loaded) {
    PlanTable table = schema_table(scene->schema, &scene->table);

    table.block = block;
    loaded->n = n;
    for (uint32_t i = 0; i < n; i++) {
        loaded->rows[i] = ((from + i) * 64 + 5) % (N_NODES + 1);
        loaded->states[i] = COLUMN_FALLBACK;
    }
    loaded->column = (Column){.lane = lane, .states = loaded->states};
    if (lane == LANE_DOUBLE)
        loaded->column.doubles = loaded->doubles;
    else
        loaded->column.ints = loaded->ints;
    if (key)
        table.load_keyed(&table, leaf, *key, loaded->rows, n, &loaded->column, loaded->texts);
    else
        table.load(&table, leaf, loaded->rows, n, &loaded->column, loaded->texts);
}

static void load(
    Scene *scene, ColumnLane lane, uint32_t leaf, const CelValue *key, Loaded *loaded) {
    load_some(scene, lane, leaf, key, NULL, 0, N_NODES + 1, loaded);
}

static CelValue loaded_at(const Loaded *loaded, size_t i) {
    uint8_t state = loaded->column.states ? loaded->column.states[i] : COLUMN_OK;
    int64_t at = loaded->ints[i];

    if (loaded->column.lane == LANE_BOOL && state <= COLUMN_TRUE)
        return cel_bool(state == COLUMN_TRUE);
    if (state == COLUMN_ERROR)
        return (CelValue){.kind = CEL_ERROR};
    if (state == COLUMN_FALLBACK)
        return cel_absent();
    switch (loaded->column.lane) {
    case LANE_INT:
        return cel_int(at);
    case LANE_DOUBLE:
        return cel_double(loaded->doubles[i]);
    case LANE_TIME:
        return schema_now(at);
    default:
        return loaded->texts[i];
    }
}

/* Compares bit for bit. A FALLBACK row (@a is absent) has no value to compare. */
static bool same(CelValue a, CelValue b) {
    if (a.kind == CEL_ABSENT || (a.kind == CEL_ERROR && b.kind == CEL_ERROR))
        return true;
    if (a.kind != b.kind || a.len != b.len)
        return false;
    return a.kind == CEL_STRING ? str_eq(cel_str(a), cel_str(b)) : a.u == b.u;
}

static const struct {
    const char *source;
    uint32_t n_fallbacks_max; /* rows whose value does not fit the lane */
} forms[] = {
    {"node.metadata.name", 0},
    {"node.metadata.uid", 0},
    {"node.metadata.creationTimestamp", N_NODES},
    {"has(node.metadata.creationTimestamp)", 0},
    {"has(node.metadata.name)", 0},
    {"node.ready", 0},
    {"has(node.ready)", 0},
    {"node.spec.unschedulable", 0},
    {"node.pods.size()", 0},
    {"size(node.pods)", 0},
    {"node.spec.taints.size()", 0},
    {"node.metadata.labels['zone']", 0},
    {"node.metadata.labels.a", 0},
    {"node.metadata.labels['nobody']", 0},
    {"'zone' in node.metadata.labels", 0},
    {"has(node.metadata.labels.a)", 0},
    {"node.metadata.labels[?'a'].hasValue()", 0},
    {"node.metadata.labels[?'a'].value()", 0},
    {"node.metadata.labels[?'a'].orValue('none')", 0},
    {"node.metadata.labels.?zone.orValue('')", 0},
    {"node.metadata.annotations['example.com/x']", 0},
    {"'b' in node.metadata.annotations", 0},
    {"node.metadata.annotations[?'b'].orValue('x')", 0},
    {"node.allocatable['cpu']", 0},
    {"node.allocatable.milliCPU", 0},
    {"node.allocatable['rare']", 0},
    {"node.allocatable['nobody']", 0},
    {"node.requested['cpu']", 0},
    {"node.requested['memory']", 0},
    {"node.requested['example.com/device']", 0},
    {"node.free['cpu']", 0},
    {"node.free['milliCPU']", 0},
    {"node.free['memory']", 0},
    {"node.free['example.com/device']", 0},
    {"node.free['nobody']", 0},
    {"'rare' in node.allocatable", 0},
    {"'milliCPU' in node.allocatable", 0},
    {"'memory' in node.requested", 0},
    {"has(node.free.rare)", 0},
    {"node.free[?'rare'].hasValue()", 0},
    {"node.free[?'rare'].value()", 0},
    {"node.free[?'rare'].orValue(-1.0)", 0},
    {"node.requested[?'memory'].value()", 0},
};

static CelValue run_node(Scene *scene, const CelGraph *graph, uint32_t node) {
    CelCode *code;
    CelValue v;

    assert_int_equal(cel_emit(graph, node, &(CelEmitOptions){0}, scene->arena, &code), 0);
    v = cel_run(code, &scene->run, scene->variables);
    scene->run.fuel = CEL_FUEL_DEFAULT;
    return v;
}

/* How many rows fall back; the others have the scalar machine's value. */
static uint32_t check_rows(
    Scene *scene, const char *source, const CelGraph *graph, uint32_t root, const Loaded *loaded) {
    uint32_t n_fallbacks = 0;
    CelCode *code;

    assert_int_equal(cel_emit(graph, root, &(CelEmitOptions){0}, scene->arena, &code), 0);
    for (size_t i = 0; i < loaded->n; i++) {
        CelValue got = loaded_at(loaded, i), want;

        scene_set_row(scene, loaded->rows[i]);
        want = cel_run(code, &scene->run, scene->variables);
        scene->run.fuel = CEL_FUEL_DEFAULT;
        assert_case(source, same(got, want));
        n_fallbacks += got.kind == CEL_ABSENT;
    }
    return n_fallbacks;
}

static void check_form(Scene *scene, const char *source, uint32_t n_fallbacks_max) {
    CelGraph *graph = scene_graph(scene);
    uint32_t root = scene_lower(scene, graph, source), n_fallbacks;
    const PlanHost *host = &scene->schema->host;
    uint32_t leaf = host->leaf(host, graph, root);
    Loaded loaded;

    assert_case(source, leaf != PLAN_NO_LEAF);
    assert_case(source, host->leaf(host, graph, root) == leaf);
    load(scene, column_lane_of(cel_graph_node(graph, root)->type), leaf, NULL, &loaded);
    n_fallbacks = check_rows(scene, source, graph, root, &loaded);
    assert_case(source, n_fallbacks <= n_fallbacks_max);
    assert_case(source, n_fallbacks_max == 0 || (n_fallbacks > 0 && n_fallbacks < N_NODES / 2));
}

static void test_forms(void **state) {
    for (size_t i = 0; i < ELEMENTS_OF(forms); i++)
        check_form(*state, forms[i].source, forms[i].n_fallbacks_max);
}

/* Reads enough keys that blocks have an index. */
static void read_many_keys(Scene *scene, CelGraph *graph) {
    const PlanHost *host = &scene->schema->host;
    char source[64];

    for (unsigned i = 0; i < LABEL_INDEX_KEYS_MIN; i++) {
        (void)snprintf(source, sizeof(source), "'key-%u' in node.metadata.labels", i);
        (void)host->leaf(host, graph, scene_lower(scene, graph, source));
        (void)snprintf(source, sizeof(source), "'key-%u' in node.metadata.annotations", i);
        (void)host->leaf(host, graph, scene_lower(scene, graph, source));
    }
}

static void test_forms_of_block(void **state) {
    Scene *scene = *state;
    const PlanHost *host = &scene->schema->host;
    CelGraph *graph = scene_graph(scene);
    uint32_t roots[ELEMENTS_OF(forms)], leaves[ELEMENTS_OF(forms)];

    for (size_t i = 0; i < ELEMENTS_OF(forms); i++) {
        roots[i] = scene_lower(scene, graph, forms[i].source);
        leaves[i] = host->leaf(host, graph, roots[i]);
    }
    read_many_keys(scene, graph);
    for (uint32_t from = 0; from < N_NODES + 1; from += CHUNK_ROWS) {
        size_t n = N_NODES + 1 - from < CHUNK_ROWS ? N_NODES + 1 - from : CHUNK_ROWS;
        SchemaBlock block = {.arena = scene->arena};
        Loaded loaded;

        for (size_t i = 0; i < ELEMENTS_OF(forms); i++) {
            load_some(scene, column_lane_of(cel_graph_node(graph, roots[i])->type), leaves[i], NULL,
                &block, from, n, &loaded);
            (void)check_rows(scene, forms[i].source, graph, roots[i], &loaded);
        }
        assert_true(block.indexes[0] && block.indexes[1]);
    }
}

/* Checks a leaf whose key is a field of the pod. */
static void check_keyed(Scene *scene, const char *source) {
    CelGraph *graph = scene_graph(scene);
    uint32_t root = scene_lower(scene, graph, source), key_node, leaf;
    const PlanHost *host = &scene->schema->host;
    Loaded loaded;
    CelValue key;

    assert_case(source, host->leaf(host, graph, root) == PLAN_NO_LEAF);
    leaf = host->keyed_leaf(host, graph, root, &key_node);
    assert_case(source, leaf != PLAN_NO_LEAF);
    key = run_node(scene, graph, key_node);
    assert_case(source, key.kind == CEL_STRING);
    load(scene, column_lane_of(cel_graph_node(graph, root)->type), leaf, &key, &loaded);
    assert_case(source, check_rows(scene, source, graph, root, &loaded) == 0);
}

static void test_keyed(void **state) {
    static const char *const keyed[] = {
        "node.metadata.labels[pod.metadata.labels['key']]",
        "node.metadata.labels[pod.metadata.name]",
        "pod.metadata.labels['key'] in node.metadata.labels",
        "('example.' + pod.metadata.labels['rest']) in node.metadata.annotations",
        "node.metadata.labels[?pod.metadata.labels['key']].hasValue()",
        "node.metadata.labels[?pod.metadata.labels['key']].value()",
        "node.metadata.labels[?pod.metadata.labels['key']].orValue('none')",
        "node.metadata.annotations[?('example.' + pod.metadata.labels['rest'])].orValue('')",
        "node.free[pod.metadata.labels['resource']]",
        "node.free[pod.metadata.name]",
        "pod.metadata.labels['resource'] in node.allocatable",
        "node.requested[?pod.metadata.labels['resource']].orValue(-1.0)",
        "node.free[?pod.metadata.labels['rare']].value()",
    };
    static const char *const others[] = {
        "node.metadata.labels['a']",
        "'a' in node.metadata.labels",
        "node.metadata.name",
        "pod.metadata.labels[node.metadata.name]",
        "node.metadata.labels[?pod.metadata.name]",
        "node.metadata.labels[?pod.metadata.name].orValue(pod.metadata.name)",
    };
    Scene *scene = *state;
    const PlanHost *host = &scene->schema->host;

    for (size_t i = 0; i < ELEMENTS_OF(keyed); i++)
        check_keyed(scene, keyed[i]);
    for (size_t i = 0; i < ELEMENTS_OF(others); i++) {
        CelGraph *graph = scene_graph(scene);
        uint32_t root = scene_lower(scene, graph, others[i]), key;

        assert_case(others[i], host->keyed_leaf(host, graph, root, &key) == PLAN_NO_LEAF);
    }
}

/* The key is the pod. A key with `=` falls back: its text is another taint, which is tolerated. */
static void test_tolerated(void **state) {
    static const char source[] = "node.spec.taints.all(t, pod.tolerates(t.text))";
    static const char *const others[] = {
        "node.spec.taints.all(t, pod.tolerates(t))",
        "node.spec.taints.all(t, pod.tolerates(t.key))",
        "node.spec.taints.exists(t, pod.tolerates(t.text))",
        "node.spec.taints.all(i, t, pod.tolerates(t.text))",
        "node.status.conditions.all(t, pod.tolerates(t.type))",
    };
    Scene *scene = *state;
    const PlanHost *host = &scene->schema->host;
    CelGraph *graph = scene_graph(scene);
    uint32_t root = scene_lower(scene, graph, source), key_node = 0;
    uint32_t leaf = host->keyed_leaf(host, graph, root, &key_node), n_fallbacks;
    size_t n_sets = scene->table.n_taint_sets;
    CelValue key;
    Loaded loaded;

    assert_int_not_equal(leaf, PLAN_NO_LEAF);
    key = run_node(scene, graph, key_node);
    load(scene, LANE_BOOL, leaf, &key, &loaded);
    n_fallbacks = check_rows(scene, source, graph, root, &loaded);
    assert_true(n_fallbacks > 0 && n_fallbacks < N_NODES / 2);
    scene->table.n_taint_sets = 1000; /* too many for a table of verdicts */
    load(scene, LANE_BOOL, leaf, &key, &loaded);
    assert_int_equal(check_rows(scene, source, graph, root, &loaded), n_fallbacks);
    scene->table.n_taint_sets = n_sets;
    for (size_t i = 0; i < ELEMENTS_OF(others); i++)
        assert_case(others[i], host->keyed_leaf(host, graph, scene_lower(scene, graph, others[i]),
                                   &key_node) == PLAN_NO_LEAF);
}

/* Whether a node of the graph that reads @field is a leaf. */
static bool has_element_leaf(Scene *scene, const char *source, const char *field) {
    CelGraph *graph = scene_graph(scene);
    const PlanHost *host = &scene->schema->host;
    bool is_leaf = false;

    (void)scene_lower(scene, graph, source);
    for (uint32_t i = 0; i < cel_graph_size(graph); i++) {
        const CelGraphNode *node = cel_graph_node(graph, i);

        if ((node->op == OP_FIELD || node->op == OP_TEST_FIELD) &&
            str_is(cel_str(node->constant), field))
            is_leaf |= host->element_leaf(host, graph, i) != PLAN_NO_LEAF;
    }
    return is_leaf;
}

static void test_elements(void **state) {
    static const struct {
        const char *source, *field;
        bool is_leaf;
    } cases[] = {
        {"node.pods.filter(p, now - p.scheduledTime < duration('5m')).size()", "scheduledTime",
            true},
        {"node.pods.exists(p, has(p.scheduledTime))", "scheduledTime", true},
        {"node.pods.exists(p, p.metadata.creationTimestamp < now)", "creationTimestamp", true},
        {"node.pods.exists(p, p.status.startTime < now)", "startTime", false},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(cases[i].source,
            has_element_leaf(*state, cases[i].source, cases[i].field) == cases[i].is_leaf);
}

/* Different leaves have different numbers; other nodes have none. */
static void test_numbers(void **state) {
    static const char *const not_leaves[] = {
        "node",
        "node.metadata",
        "node.metadata.labels",
        "node.metadata.labels['a'] == 'x'",
        "node.metadata.labels[?'a']",
        "node.pods",
        "node.pods.map(p, p.spec.priority)",
        "pod.metadata.name",
        "cluster.free['cpu']",
        "pod.requests['cpu']",
        "node.domain('zone').value",
        "node.status.images.size()",
        "node.metadata.labels[?'a'].orValue(pod.metadata.name)",
    };
    Scene *scene = *state;
    CelGraph *graph = scene_graph(scene);
    const PlanHost *host = &scene->schema->host;
    uint32_t a = host->leaf(host, graph, scene_lower(scene, graph, "node.free['a']"));
    uint32_t b = host->leaf(host, graph, scene_lower(scene, graph, "node.free['b']"));
    uint32_t c = host->leaf(host, graph, scene_lower(scene, graph, "node.requested['a']"));
    uint32_t d = host->leaf(host, graph, scene_lower(scene, graph, "'a' in node.free"));

    assert_true(a != b && a != c && a != d && b != c && b != d && c != d);
    for (size_t i = 0; i < ELEMENTS_OF(not_leaves); i++) {
        uint32_t root = scene_lower(scene, graph, not_leaves[i]);

        assert_case(not_leaves[i], host->leaf(host, graph, root) == PLAN_NO_LEAF);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_forms_of_block),
        cmocka_unit_test(test_keyed),
        cmocka_unit_test(test_tolerated),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
