/*
 * Policy cases as data: the files NAME.test in test/data/policy, one YAML document a case.
 *
 * A case is a scene (policy/test-scene.h) and the expected results:
 *
 *     case: what it shows
 *     policy: ...
 *     nodes: ...
 *     expect:                              # every node of the scene
 *       a: pass
 *       b: "pool: node is not in the pool" # RULE: REASON; POLICY/RULE with several policies
 *       c: "unresolvable pool: ..."
 *     observed: {a: pass, b: ...}          # verdicts of policies in mode Observe
 *     scores: {a: 50, b: 33.3333333333}    # every node; to nine decimals
 *     explain: {b: "label pool is absent"} # message of the filter that rejects it
 *     main: "gpus 2, never pool 3"         # main reason: its rule and nodes, and those that can
 *                                          # never take the pod ("never nvidia.com/gpu 3")
 *
 * Each verdict is also compared with the filters evaluated one by one by the scalar machine.
 */

#include <math.h>
#include <stdio.h>

#include "base/test-assert.h"
#include "judge/judge.h"
#include "judge/main-reason.h"
#include "policy/test-scene.h"

/* Time zones of the system, read again for each case. */
typedef struct CaseZones {
    CelZones finder; /* first */
    Arena *arena;
} CaseZones;

typedef struct Case {
    TestScene scene;
    CaseZones zones;
    const char *name;
    NodeFacts facts;
    JudgeInput input;
    Judge *judge;
} Case;

static const CelZone *find_zone(const CelZones *finder, Str name) {
    const CaseZones *zones = (const CaseZones *)finder;
    Str path = arena_printf(zones->arena, "/usr/share/zoneinfo/%.*s", STR_FMT(name));

    return cel_zone_parse(scene_read(path.ptr, zones->arena), zones->arena);
}

static void case_init(Case *test, const YamlNode *document) {
    static const Str keys[] = {
        STR("case"), STR("expect"), STR("observed"), STR("scores"), STR("explain"), STR("main")};
    const YamlNode *name = yaml_find(document, STR("case"));
    const NodeTable *table;
    uint32_t *rows;

    scene_require(name != NULL, document->place, "a case needs a name");
    scene_init(&test->scene, document, keys, ELEMENTS_OF(keys));
    scene_require(test->scene.snapshot != NULL, document->place, "a case needs nodes");
    test->name = arena_copy(test->scene.arena, name->text).ptr;
    test->zones = (CaseZones){.finder.find = find_zone, .arena = test->scene.arena};
    table = &test->scene.table;
    assert_int_equal(
        facts_build(test->scene.program, table, &(FactsOptions){.zones = &test->zones.finder},
            test->scene.arena, &test->facts),
        0);
    rows = ARENA_ARRAY(test->scene.arena, uint32_t, table->n_rows);
    for (size_t i = 0; i < table->n_rows; i++)
        rows[i] = (uint32_t)i;
    test->input = (JudgeInput){
        .program = test->scene.program,
        .table = table,
        .facts = &test->facts,
        .pod = &test->scene.pod,
        .rows = rows,
        .n = table->n_rows,
        .now_nsec = test->scene.now,
        .zones = &test->zones.finder,
        .arena = test->scene.arena,
    };
    assert_int_equal(judge_open(&test->input, &test->judge), 0);
}

static Str verdict_text(const Case *test, uint16_t verdict) {
    const Filter *filter;
    bool with_policy = test->scene.program->n_policies > 1;

    if (verdict == VERDICT_PASS)
        return STR("pass");
    filter = test->scene.program->filters[verdict];
    return arena_printf(test->scene.arena, "%s%.*s%s%.*s: %.*s",
        filter->is_unresolvable ? "unresolvable " : "",
        STR_FMT(with_policy ? filter->policy->name : STR_NULL), with_policy ? "/" : "",
        STR_FMT(filter->name), STR_FMT(filter->reason));
}

/* The row of a key that names a node; every node must be named once. */
static uint32_t row_of(const Case *test, const YamlNode *list, size_t i) {
    uint32_t row = table_find(test->input.table, list->pairs[i].key->text);

    scene_require(row < test->input.n, list->pairs[i].key->place, "no such node");
    scene_require(list->n == test->input.n, list->place, "every node must be named");
    return row;
}

static void check_verdicts(const Case *test, Str key, const uint16_t *verdicts) {
    const YamlNode *expected = yaml_find(test->scene.document, key);

    for (size_t i = 0; expected && i < expected->n; i++) {
        char want[512], name[256];
        uint32_t row = row_of(test, expected, i);

        (void)snprintf(want, sizeof(want), "%.*s", STR_FMT(expected->pairs[i].value->text));
        (void)snprintf(
            name, sizeof(name), "%s, node %.*s", test->name, STR_FMT(expected->pairs[i].key->text));
        assert_text(name, verdict_text(test, verdicts[row]), want);
    }
}

/* The scalar machine's result for one filter and one node. */
static bool passes(const Case *test, const Filter *filter, uint32_t row) {
    CelValue value = judge_value(test->judge, &filter->test, row, test->scene.arena);
    Fallback otherwise = filter->on_error;

    if (value.kind == CEL_ERROR && expression_is_given(&filter->missing) &&
        cel_is_true(judge_value(test->judge, &filter->missing, row, test->scene.arena)))
        otherwise = filter->on_missing;
    return cel_is_true(value) || (value.kind == CEL_ERROR && otherwise == FALLBACK_ALLOW);
}

/* The verdict is the first filter, by number, that rejects. */
static void check_against_each(const Case *test, const uint16_t *verdicts, bool observed) {
    const Program *program = test->scene.program;

    for (uint32_t row = 0; row < test->input.n; row++) {
        uint16_t first = VERDICT_PASS;

        for (size_t i = program->n_filters; i > 0; i--) {
            const Filter *filter = program->filters[i - 1];

            assert_int_equal(filter->number, i - 1);
            if (filter->policy->is_observed == observed &&
                judge_applies(test->judge, filter->policy) && !passes(test, filter, row))
                first = filter->number;
        }
        assert_case(test->name, first == verdicts[row]);
    }
}

/* The message of the filter that rejects the node. */
static Str message_of(const Case *test, uint16_t verdict, uint32_t row) {
    const Filter *filter = test->scene.program->filters[verdict];
    const Expression *expression =
        expression_is_given(&filter->message) ? &filter->message : &filter->test;
    CelValue value = judge_value(test->judge, expression, row, test->scene.arena);

    if (value.kind == CEL_ERROR)
        return value.error->text;
    return value.kind == CEL_STRING ? cel_str(value) : STR_NULL;
}

static void check_explanations(const Case *test, const uint16_t *verdicts) {
    const YamlNode *expected = yaml_find(test->scene.document, STR("explain"));

    for (size_t i = 0; expected && i < expected->n; i++) {
        uint32_t row = table_find(test->input.table, expected->pairs[i].key->text);
        char want[512];

        scene_require(row < test->input.n && verdicts[row] < test->scene.program->n_filters,
            expected->pairs[i].key->place, "no node that failed");
        (void)snprintf(want, sizeof(want), "%.*s", STR_FMT(expected->pairs[i].value->text));
        assert_text(test->name, message_of(test, verdicts[row], row), want);
    }
}

/* Every rejection by a built-in rule must have a message. */
static void check_explained(const Case *test, const uint16_t *verdicts) {
    for (uint32_t row = 0; row < test->input.n; row++)
        if (verdicts[row] < test->scene.program->n_filters &&
            test->scene.program->filters[verdicts[row]]->kind)
            assert_case(test->name, message_of(test, verdicts[row], row).len > 0);
}

static void check_main(const Case *test, const uint16_t *verdicts) {
    const YamlNode *expected = yaml_find(test->scene.document, STR("main"));
    const Program *program = test->scene.program;
    _cleanup_(buf_done) Buf text = BUF_INIT(512);
    MainReason reason;
    char want[512];

    if (!expected)
        return;
    assert_int_equal(main_reason_find(test->judge, verdicts, &reason), 0);
    buf_printf(&text, "%.*s %u", STR_FMT(program->filters[reason.filter]->name), reason.n_nodes);
    if (reason.n_never > 0)
        buf_printf(&text, ", never %.*s %u",
            STR_FMT(str_is_empty(reason.never_resource)
                        ? program->filters[reason.never_filter]->name
                        : reason.never_resource),
            reason.n_never);
    (void)snprintf(want, sizeof(want), "%.*s", STR_FMT(expected->text));
    assert_text(test->name, buf_str(&text), want);
}

static void check_filters(const Case *test) {
    uint16_t *verdicts = ARENA_ARRAY(test->scene.arena, uint16_t, test->input.n);

    assert_int_equal(judge_filters(test->judge, verdicts), 0);
    check_verdicts(test, STR("expect"), verdicts);
    check_against_each(test, verdicts, /* observed= */ false);
    check_explanations(test, verdicts);
    check_explained(test, verdicts);
    check_main(test, verdicts);

    assert_int_equal(judge_observed(test->judge, verdicts), 0);
    assert_case(test->name, judge_has_filters(test->judge, /* observed= */ true) ||
                                !yaml_find(test->scene.document, STR("observed")));
    check_verdicts(test, STR("observed"), verdicts);
    check_against_each(test, verdicts, /* observed= */ true);
}

static void check_scores(const Case *test) {
    const YamlNode *expected = yaml_find(test->scene.document, STR("scores"));
    double *scores = ARENA_ARRAY(test->scene.arena, double, test->input.n);

    assert_int_equal(judge_scores(test->judge, scores), 0);

    for (size_t i = 0; expected && i < expected->n; i++) {
        const YamlPair *pair = &expected->pairs[i];
        double got = scores[row_of(test, expected, i)];

        if (fabs(got - pair->value->real) < 1e-9)
            continue;
        print_error("%s, node %.*s: got %.12g, want %.*s\n", test->name, STR_FMT(pair->key->text),
            got, STR_FMT(pair->value->text));
        fail();
    }
    for (size_t i = 0; i < test->input.n; i++)
        assert_case(test->name, scores[i] >= 0 && scores[i] <= 100 + 1e-9);
}

static void check_file(const char *path, void *user) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)64 << 20);
    YamlStream stream = scene_parse(path, scene_read(path, arena), arena);

    for (size_t i = 0; i < stream.n_documents; i++) {
        Case test;

        case_init(&test, stream.documents[i]);
        check_filters(&test);
        check_scores(&test);
        scene_done(&test.scene);
        ++*(size_t *)user;
    }
}

static void test_cases(void **state) {
    size_t n_cases = 0;

    (void)state;
    assert_true(scene_each(TEST_DATA "/policy", ".test", check_file, &n_cases) > 0);
    assert_true(n_cases > 0);
    print_message("%zu cases\n", n_cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
