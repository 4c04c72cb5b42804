/*
 * Loads over a changing cluster, each sharing with the previous ones, compared row by row with a
 * simple implementation of the contract.
 */

#include <stdio.h>

#include "base/rng.h"
#include "cluster/test-measured.h"
#include "model/time.h"

#define NODES 150u
#define PODS 200u
#define WORKLOADS 6u
#define STEPS 1500u

typedef struct Random {
    Rng rng;
    LoadsFixture fixture;
    Snapshot *before; /* for which fixture.loads were built; NULL: none yet */
    size_t n_shared, n_present, n_placed, n_future;
    struct {
        bool has_text;
        double number;
        int64_t at_sec;
    } notes[NODES];
} Random;

static unsigned pick(Random *random, unsigned n) {
    return (unsigned)rng_pick(&random->rng, n);
}

static Str name_of(char *out, unsigned i) {
    return str_of(out, (size_t)snprintf(out, 16, "n%u", i));
}

/* --- changes ----------------------------------------------------------------------------- */

static void open_random(Random *random, uint64_t seed) {
    *random = (Random){.rng = {seed}};
    fixture_open(&random->fixture);
    random->fixture.gauges[0].placements =
        (GaugePlacements){.is_counted = true, .resource = STR("cpu"), .settle_nsec = 20 * SEC};
    random->fixture.gauges[1] = (Gauge){.max_age_nsec = 40 * SEC,
        .placements = {.is_counted = true,
            .resource = STR("memory"),
            .unit = GAUGE_PERCENT,
            .settle_nsec = 10 * SEC,
            .by = STR("use"),
            .by_gauge = 3}};
    random->fixture.gauges[2] =
        (Gauge){.source = GAUGE_ANNOTATION, .annotation = STR("load"), .max_age_nsec = 60 * SEC};
    random->fixture.gauges[3] = (Gauge){.is_of_pods = true, .max_age_nsec = 25 * SEC};
}

static void close_random(Random *random) {
    snapshot_unref(random->before);
    fixture_close(&random->fixture);
}

static void change_node(Random *random) {
    unsigned i = pick(random, NODES);
    char name[16], text[64];
    Resource resources[] = {{STR("cpu"), 1000 * pick(random, 3)}, {STR("memory"), 1 << 20}};
    Label note = {STR("load"), STR_NULL};
    Node node = {.name = name_of(name, i),
        .annotations = {.items = &note},
        .allocatable = {.items = resources, .n = pick(random, 3)}};

    if (pick(random, 4) == 0) {
        store_remove_node(random->fixture.store, node.name);
        return;
    }
    random->notes[i].has_text = pick(random, 3) > 0;
    random->notes[i].number = pick(random, 9);
    random->notes[i].at_sec = random->fixture.input.now_nsec / SEC +
                              (int64_t)pick(random, pick(random, 9) ? 80 : 400) - 79;
    if (random->notes[i].has_text) {
        Buf buf = BUF_INIT(64);

        buf_printf(&buf, "%g,", random->notes[i].number);
        time_print(random->notes[i].at_sec, &buf);
        memcpy(text, buf.data, buf.len);
        note.value = str_of(text, buf.len);
        node.annotations.n = 1;
        buf_done(&buf);
    }
    assert_int_equal(store_apply_node(random->fixture.store, &node), 0);
}

static void change_pod(Random *random) {
    char name[16], node[16], owner[16];
    Resource request = {pick(random, 2) ? STR("cpu") : STR("memory"), pick(random, 4) * 250};
    Pod pod = {.namespace = STR("shop"),
        .name = name_of(name, pick(random, PODS)),
        .uid = str_from_c(name),
        .node_name = name_of(node, pick(random, NODES)),
        .owner_kind = STR("Job"),
        .owner_name = name_of(owner, pick(random, 2 * WORKLOADS)),
        .requests = {.items = &request, .n = pick(random, 3) > 0}};

    pod.scheduled_at = random->fixture.input.now_nsec / SEC - pick(random, 40);
    if (pick(random, 3) == 0)
        store_remove_pod(random->fixture.store, STR("shop"), pod.name, STR_NULL);
    else
        assert_true(store_apply_pod(random->fixture.store, &pod) >= 0);
}

static void sample(Random *random) {
    static const size_t polled[] = {0, 1, 3};
    Measurement *measurement = fixture_sample(&random->fixture, polled[pick(random, 3)]);
    bool has_lags = pick(random, 2);
    char key[32], name[16];

    for (uint32_t row = 0; row < measurement->names->n_rows; row++)
        if (!str_is_empty(measurement->names->names[row]) && pick(random, 5))
            assert_int_equal(
                measurement_set(measurement, row, pick(random, 9) ? pick(random, 100) : NAN,
                    has_lags ? (int64_t)pick(random, 30) * SEC : 0),
                0);
    assert_int_equal(measurement_reserve_workloads(measurement, WORKLOADS), 0);
    for (unsigned i = 0; i < WORKLOADS; i++) {
        (void)snprintf(key, sizeof(key), "shop/Job/%s", name_of(name, i).ptr);
        assert_int_equal(
            measurement_set_workload(measurement, str_from_c(key), pick(random, 1000)), 0);
    }
}

static void change_at_random(Random *random) {
    for (unsigned n = pick(random, 3); n > 0; n--)
        change_node(random);
    for (unsigned n = pick(random, 3); n > 0; n--)
        change_pod(random);
    fixture_publish(&random->fixture);
    if (pick(random, 4) == 0)
        sample(random);
    if (pick(random, 12) == 0)
        fixture_renew(&random->fixture);
    fixture_pass(&random->fixture, (int64_t)pick(random, 4) * SEC / 2 + pick(random, 2));
}

/* --- expected values --------------------------------------------------------------------- */

typedef struct Want {
    double value, measured;
    int64_t at;
    bool is_future; /* its time is not known exactly */
} Want;

static const Measurement *measurement_at(const Random *random, size_t i) {
    const Measurements *measurements = random->fixture.input.measurements;

    return measurements ? measurements->items[i] : NULL;
}

static void want_polled(const Random *random, size_t i, Str name, Want *want) {
    const LoadsInput *input = &random->fixture.input;
    const Measurement *measurement = measurement_at(random, i);

    for (uint32_t row = 0; measurement && row < measurement->names->n_rows; row++) {
        int64_t lag = measurement->lags_nsec ? measurement->lags_nsec[row] : 0;

        if (!str_eq(measurement->names->names[row], name) || isnan(measurement->values[row]) ||
            input->uptime_nsec - measurement->uptime_nsec + lag > input->gauges[i].max_age_nsec)
            continue;
        want->measured = measurement->values[row];
        want->at = measurement->at_nsec - lag;
    }
}

static void want_annotated(const Random *random, Str name, Want *want) {
    int64_t now = random->fixture.input.now_nsec, at, i = 0;

    assert_true(str_to_int64(str_skip(name, 1), &i));
    at = random->notes[i].at_sec * SEC;
    if (!random->notes[i].has_text || at - now > 300 * SEC || now - at > 60 * SEC)
        return;
    want->measured = random->notes[i].number;
    want->is_future = at > now;
    want->at = want->is_future ? now : at;
}

static double want_use(const Random *random, size_t i, const Pod *pod) {
    const GaugePlacements *rule = &random->fixture.gauges[i].placements;
    const Measurement *by = measurement_at(random, 3);
    bool is_cpu = str_is(rule->resource, "cpu");
    char key[64];

    if (rule->by.len > 0 && by &&
        random->fixture.input.uptime_nsec - by->uptime_nsec <=
            random->fixture.gauges[3].max_age_nsec) {
        (void)snprintf(key, sizeof(key), "shop/Job/%.*s", STR_FMT(pod->owner_name));
        if (!isnan(measurement_workload(by, str_from_c(key))))
            return measurement_workload(by, str_from_c(key));
    }
    for (size_t j = 0; j < pod->requests.n; j++)
        if (str_eq(pod->requests.items[j].name, rule->resource))
            return (double)pod->requests.items[j].amount / (is_cpu ? 1000 : 1);
    return is_cpu ? 0.1 : 200 * 1024 * 1024;
}

static double want_placed(const Random *random, size_t i, uint32_t row, int64_t at) {
    const GaugePlacements *rule = &random->fixture.gauges[i].placements;
    const NodeTable *table = fixture_table(&random->fixture);
    const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];
    double sum = 0;

    for (uint32_t j = 0; pods && j < pods->n; j++) {
        double before = (double)(at - pods->items[j]->scheduled_at * SEC);
        double weight = 1 - before / (double)rule->settle_nsec;

        weight = weight > 1 ? 1 : weight < 0 ? 0 : weight;
        sum += weight * want_use(random, i, pods->items[j]);
    }
    if (rule->unit == GAUGE_AMOUNT)
        return sum;
    if (resources_get(&table_node(table, row)->allocatable, rule->resource) == 0)
        return 0;
    return 100 * sum / (double)resources_get(&table_node(table, row)->allocatable, rule->resource);
}

static void check_row(Random *random, size_t i, uint32_t row) {
    const NodeTable *table = fixture_table(&random->fixture);
    const Node *node = table_node(table, row);
    const Loads *loads = &random->fixture.loads;
    Want want = {.value = NAN, .measured = NAN};
    int64_t at = loads_time(loads, i, row);
    double value = loads_value(loads, i, LOAD_VALUE, row);

    if (node && i == 2)
        want_annotated(random, node->name, &want);
    else if (node)
        want_polled(random, i, node->name, &want);
    want.value = want.measured;
    if (!isnan(want.value) && random->fixture.gauges[i].placements.is_counted)
        want.value += want_placed(random, i, row, want.at);
    assert_number(loads_value(loads, i, LOAD_MEASURED, row), want.measured);
    assert_true(at == want.at || (want.is_future && at <= want.at && at > want.at - 300 * SEC));
    assert_true(isnan(value) == isnan(want.value));
    assert_true(isnan(value) || fabs(value - want.value) <= 1e-9 * (1 + fabs(want.value)));
    random->n_present += !isnan(value);
    random->n_placed += value > want.measured;
    random->n_future += want.is_future;
}

/* Checks every row, and that the loads are valid until a later time. */
static void check_all(Random *random) {
    const NodeTable *table = fixture_table(&random->fixture);

    for (uint32_t row = 0; row <= table->n_rows; row++)
        for (size_t i = 0; i < FIXTURE_GAUGES; i++)
            check_row(random, i, row);
    assert_true(random->fixture.loads.until_nsec > random->fixture.input.uptime_nsec);
}

static void build_next(Random *random) {
    LoadsFixture *fixture = &random->fixture;
    KnownLoads known = {.loads = &fixture->loads};
    Arena *arena = arena_new(FIXTURE_BUDGET);
    Loads next;

    if (random->before)
        known.table = snapshot_table(random->before);
    assert_int_equal(loads_build(&fixture->input, fixture_table(fixture),
                         random->before ? &known : NULL, arena, &next),
        0);
    for (size_t i = 0; i < next.n_chunks && i < fixture->loads.n_chunks; i++)
        random->n_shared += next.chunks[i] == fixture->loads.chunks[i];
    loads_release(&fixture->loads);
    arena_free(fixture->arena);
    fixture->arena = arena;
    fixture->loads = next;
    snapshot_unref(random->before);
    random->before = snapshot_ref(fixture->snapshot);
}

static void test_random(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        Random random;

        open_random(&random, seed);
        for (unsigned i = 0; i < STEPS; i++) {
            change_at_random(&random);
            build_next(&random);
            check_all(&random);
        }
        assert_true(random.n_shared > STEPS / 8);
        assert_true(random.n_present > STEPS * 20);
        assert_true(random.n_placed > STEPS);
        assert_true(random.n_future > STEPS);
        close_random(&random);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
