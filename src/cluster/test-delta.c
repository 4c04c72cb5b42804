/* Random histories of a store, written as a dump and deltas, and restored from them. */

#include "cluster/delta.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/rng.h"
#include "base/test-assert.h"
#include "cluster/difference.h"
#include "cluster/dump.h"

#define N_NODES 150u
#define N_PODS 400u
#define N_SNAPSHOTS 40u
#define TEXT_MAX ((size_t)64 * 1024 * 1024)

static Rng rng;

static unsigned pick(unsigned n) {
    return (unsigned)rng_pick(&rng, n);
}

static void apply_node(Store *store, unsigned i) {
    char name[16];
    Label labels[] = {{STR("pool"), pick(2) ? STR("a") : STR("b")}};
    Resource resources[] = {{STR("cpu"), 1000 * (1 + pick(3))}, {STR("gpu"), pick(2)}};
    Taint taints[] = {{STR("only"), STR("us"), TAINT_NO_SCHEDULE}};
    bool is_ready = pick(4) > 0;
    Condition conditions[] = {{STR("Ready"), is_ready ? STR("True") : STR("False")}};
    Node node = {
        .is_ready = is_ready,
        .labels = {.items = labels, .n = 1},
        .taints = {.items = taints, .n = pick(3) == 0},
        .allocatable = {.items = resources, .n = 1 + pick(2)},
        .conditions = conditions,
        .n_conditions = 1,
        .resource_version = STR("7"),
        .created_at = 1000 + i,
    };

    (void)snprintf(name, sizeof(name), "n-%u", i);
    node.name = str_from_c(name);
    assert_int_equal(store_apply_node(store, &node), 0);
}

/* Adds pod @i: bound, assumed, nominated or only pending. */
static void apply_pod(Store *store, unsigned i) {
    char name[16], uid[16], where[16];
    Resource resources[] = {{STR("cpu"), pick(900)}};
    Toleration tolerations[] = {{.key = STR("only"), .exists = true}};
    Pod pod = {
        .namespace = STR("ns"),
        .requests = {.items = resources, .n = pick(2)},
        .tolerations = {.items = tolerations, .n = 1},
        .priority = pick(3),
        .scheduled_at = pick(2) ? 5000 + pick(100) : 0,
        .is_terminating = pick(9) == 0,
    };
    unsigned kind = pick(8);

    (void)snprintf(name, sizeof(name), "p-%u", i);
    (void)snprintf(uid, sizeof(uid), "u-%u-%u", i, pick(2));
    (void)snprintf(where, sizeof(where), "n-%u", pick(N_NODES + 3));
    pod.name = str_from_c(name);
    pod.uid = str_from_c(uid);
    if (kind == 0) {
        pod.is_guessed = pick(2);
        assert_true(store_assume(store, &pod, str_from_c(where), 1) >= 0);
        return;
    }
    if (kind == 1)
        pod.nominated_node_name = str_from_c(where);
    else if (kind > 2)
        pod.node_name = str_from_c(where);
    assert_true(store_apply_pod(store, &pod) >= 0);
}

static void remove_something(Store *store, unsigned i) {
    char name[16];

    if (pick(3) == 0) {
        (void)snprintf(name, sizeof(name), "n-%u", i % N_NODES);
        store_remove_node(store, str_from_c(name));
    } else if (pick(2) == 0) {
        (void)snprintf(name, sizeof(name), "p-%u", i);
        store_remove_pod(store, STR("ns"), str_from_c(name), STR_NULL);
    } else {
        (void)snprintf(name, sizeof(name), "u-%u-%u", i, pick(2));
        store_forget(store, str_from_c(name));
    }
}

static void remove_nodes(Store *store, unsigned first, unsigned end) {
    for (unsigned i = first; i < end; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n-%u", i);
        store_remove_node(store, str_from_c(name));
    }
}

static void change(Store *store, unsigned n) {
    while (n-- > 0) {
        unsigned what = pick(10);

        if (what < 3)
            apply_node(store, pick(N_NODES));
        else if (what < 8)
            apply_pod(store, pick(N_PODS));
        else
            remove_something(store, pick(N_PODS));
    }
}

/* --- round trip -------------------------------------------------------------------------- */

static int keep(void *context, Str bytes) {
    buf_append(context, bytes);
    return 0;
}

static void write_line(
    const Snapshot *before, const Snapshot *after, const ObjectMask *mask, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write_object(&writer);
    if (before)
        assert_int_equal(delta_write(&writer, before, after, mask), 0);
    else
        assert_int_equal(delta_write_order(&writer, after, mask), 0);
    json_write_end_object(&writer);
    assert_int_equal(buf_error(out), 0);
}

static void read_line(Str line, Arena *arena, Delta *delta) {
    JsonReader reader;
    Str key;

    json_reader_init(&reader, line);
    json_object(&reader);
    while (json_key(&reader, &key))
        assert_true(delta_read(delta, &reader, arena, key));
    json_end(&reader);
    assert_int_equal(json_error(&reader), JSON_OK);
}

static void assert_same_order(const Snapshot *a, const Snapshot *b) {
    const NodeTable *x = snapshot_table(a), *y = snapshot_table(b);

    assert_int_equal(x->n_rows, y->n_rows);
    for (uint32_t row = 0; row < x->n_rows; row++) {
        const PodList *left = table_chunk(x, row)->pods[table_slot(row)];
        const PodList *right = table_chunk(y, row)->pods[table_slot(row)];

        assert_int_equal(!table_node(x, row), !table_node(y, row));
        if (!table_node(x, row))
            continue;
        assert_true(str_eq(table_node(x, row)->name, table_node(y, row)->name));
        assert_int_equal(left ? left->n : 0, right ? right->n : 0);
        for (uint32_t i = 0; left && i < left->n; i++)
            assert_true(str_eq(left->items[i]->uid, right->items[i]->uid));
    }
}

static void assert_same_pods(const Pod *const *a, size_t n_a, const Pod *const *b, size_t n_b) {
    assert_int_equal(n_a, n_b);
    for (size_t i = 0; i < n_a; i++) {
        assert_true(str_eq(a[i]->uid, b[i]->uid));
        assert_true(str_eq(a[i]->node_name, b[i]->node_name));
        assert_int_equal(a[i]->is_guessed, b[i]->is_guessed);
    }
}

static void assert_same(const Snapshot *a, const Snapshot *b) {
    const NodeTable *x = snapshot_table(a), *y = snapshot_table(b);
    Buf lines = BUF_INIT(TEXT_MAX);
    Difference difference;

    assert_int_equal(difference_find(a, b, 5, &lines, &difference), 0);
    assert_text("differences", buf_str(&lines), "");
    buf_done(&lines);
    assert_same_order(a, b);
    assert_same_pods(x->nominated, x->n_nominated, y->nominated, y->n_nominated);
    assert_same_pods(x->assumed, x->n_assumed, y->assumed, y->n_assumed);
}

static void apply(const Snapshot *before, const Snapshot *after, const Snapshot *shown, Store *copy,
    size_t *spare, Snapshot **ret) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEXT_MAX);
    _cleanup_(buf_done) Buf list = BUF_INIT(TEXT_MAX), line = BUF_INIT(TEXT_MAX);
    Delta delta = {0};
    JsonReader reader;

    if (!before) {
        assert_int_equal(
            dump_write(after, /* mask= */ NULL, (DumpSink){.write = keep, .context = &list}), 0);
        json_reader_init(&reader, buf_str(&list));
        delta_read_list(&delta, &reader, arena);
        assert_int_equal(json_error(&reader), JSON_OK);
    }
    write_line(before, after, NULL, &line);
    read_line(buf_str(&line), arena, &delta);
    if (!before)
        assert_int_equal(delta_put_in_order(&delta, arena), 0);
    assert_int_equal(delta_apply(&delta, copy, shown, arena, spare), 0);
    assert_int_equal(store_publish(copy, ret), 0);
}

static void test_random_histories_round_trip(void **state) {
    size_t n_shared = 0;

    (void)state;
    for (uint64_t run = 1; run <= 3; run++) {
        _cleanup_(store_freep) Store *store = store_new(), *copy = store_new();
        Snapshot *before = NULL, *shown = NULL;
        size_t spare = 100000;

        rng = (Rng){run};
        change(store, 600);
        remove_nodes(store, 0, 20); /* free rows, from the beginning */
        for (unsigned i = 0; i < N_SNAPSHOTS; i++) {
            Snapshot *after = NULL, *made = NULL;

            assert_int_equal(store_publish(store, &after), 0);
            apply(before, after, shown, copy, &spare, &made);
            assert_same(after, made);
            n_shared +=
                before && snapshot_table(made)->chunks[0] == snapshot_table(shown)->chunks[0];
            snapshot_unref(before);
            snapshot_unref(shown);
            before = after;
            shown = made;
            change(store, 1 + pick(40));
        }
        snapshot_unref(before);
        snapshot_unref(shown);
    }
    assert_true(n_shared > 0);
}

/* An equal snapshot is no change. */
static void test_equal_snapshots_have_no_delta(void **state) {
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(buf_done) Buf out = BUF_INIT(4096);
    Snapshot *snapshot = NULL;

    (void)state;
    assert_int_equal(store_publish(store, &snapshot), 0);
    write_line(snapshot, snapshot, NULL, &out);
    assert_text("no change", buf_str(&out), "{}");
    snapshot_unref(snapshot);
}

/* The result of reading @line. */
static JsonError try_line(const char *line, Arena *arena, Delta *delta) {
    JsonReader reader;
    Str key;

    json_reader_init(&reader, str_from_c(line));
    json_object(&reader);
    while (json_key(&reader, &key))
        if (!delta_read(delta, &reader, arena, key))
            json_skip(&reader, NULL);
    json_end(&reader);
    return json_error(&reader);
}

#define NODE "\"node\":{\"metadata\":{\"name\":\"a\"}}"
#define POD "\"pod\":{\"metadata\":{\"name\":\"p\"}}"

/* Texts are untrusted input. */
static void test_reads_untrusted_texts(void **state) {
    static const struct {
        const char *line;
        JsonError error;
    } cases[] = {
        {"{\"forgotten\":[\"u\"],\"removedNodes\":[\"n\"],\"removedPods\":[[\"ns\",\"p\"]]}",
            JSON_OK},
        {"{\"more\":{},\"nodes\":[{\"more\":[1]," NODE "}]}", JSON_OK},
        {"{\"pods\":[{\"more\":null," POD ",\"assumed\":true}],\"order\":{\"more\":{}}}", JSON_OK},
        {"{\"nodes\":[{\"row\":999999," NODE "}]}", JSON_OK},
        {"{\"forgotten\":[1]}", JSON_E_TYPE},
        {"{\"removedPods\":[[\"ns\"]]}", JSON_E_TYPE},
        {"{\"removedPods\":[[\"ns\",\"p\",\"more\"]]}", JSON_E_TYPE},
        {"{\"nodes\":[{\"row\":0}]}", JSON_E_TYPE},
        {"{\"nodes\":[{\"row\":-1," NODE "}]}", JSON_E_RANGE},
        {"{\"nodes\":[{\"row\":1000000," NODE "}]}", JSON_E_RANGE},
        {"{\"order\":{\"rows\":[null,-1]}}", JSON_E_RANGE},
        {"{\"order\":[]}", JSON_E_TYPE},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(TEXT_MAX);
        Delta delta = {0};

        assert_case(cases[i].line, try_line(cases[i].line, arena, &delta) == cases[i].error);
    }
}

/* Too little memory is an error until there is enough, which is more than the store itself
 * needs. */
static void test_too_small_budgets(void **state) {
    static const char line[] =
        "{\"forgotten\":[\"u\"],\"removedPods\":[[\"ns\",\"p\"]],\"nodes\":[{\"row\":3," NODE
        "},{\"node\":{\"metadata\":{\"name\":\"b\"}}}],\"pods\":[{" POD
        "}],\"order\":{\"rows\":[1,0]}}";
    _cleanup_(store_freep) Store *store = store_new();
    size_t n_failed = 0, spare = 10;
    int r = -1;

    (void)state;
    store_limit(store, 5, 5, 5);
    for (size_t budget = 0; r != 0 && budget < TEXT_MAX; budget += 64) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);
        Delta delta = {0};
        JsonError error = try_line(line, arena, &delta);

        assert_true(error == JSON_OK || error == JSON_E_MEMORY);
        r = error == JSON_OK ? delta_put_in_order(&delta, arena) : -1;
        if (r == 0)
            r = delta_apply(&delta, store, NULL, arena, &spare);
        n_failed += r != 0;
    }
    assert_true(r == 0 && n_failed > 2);
    assert_non_null(store_find_node(store, STR("a")));
    assert_null(store_find_node(store, STR("\001held-0"))); /* no row is reserved any more */
    {
        _cleanup_(arena_freep) Arena *arena = arena_new(TEXT_MAX);
        Delta delta = {0};

        store_limit(store, 1, 1, 1);
        assert_int_equal(
            try_line("{\"nodes\":[{\"node\":{\"metadata\":{\"name\":\"c\"}}}]}", arena, &delta),
            JSON_OK);
        assert_int_equal(delta_apply(&delta, store, NULL, arena, &spare), DELTA_E_FULL);
    }
}

#undef NODE
#undef POD

static void test_malformed(void **state) {
    static const char *const lines[] = {
        "{\"order\":{\"rows\":[0,0]}}",
        "{\"order\":{\"rows\":[7]}}",
        "{\"order\":{\"pods\":[3]}}",
        "{\"order\":{\"assumed\":[3]}}",
    };
    static const char list[] = "{\"items\":[{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"}},"
                               "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}}]}";

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(TEXT_MAX);
        Delta delta = {0};
        JsonReader reader;

        json_reader_init(&reader, str_from_c(list));
        delta_read_list(&delta, &reader, arena);
        assert_int_equal(delta.nodes.n, 1);
        assert_int_equal(delta.pods.n, 1);
        read_line(str_from_c(lines[i]), arena, &delta);
        assert_int_equal(delta_put_in_order(&delta, arena), DELTA_E_MALFORMED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_histories_round_trip),
        cmocka_unit_test(test_equal_snapshots_have_no_delta),
        cmocka_unit_test(test_reads_untrusted_texts),
        cmocka_unit_test(test_too_small_budgets),
        cmocka_unit_test(test_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
