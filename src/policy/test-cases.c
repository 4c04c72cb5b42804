/*
 * Policy cases as data: the files NAME.test in test/policy, one YAML document a case.
 *
 * A case is a scene (policy/test-scene.h) and what is to come of it:
 *
 *     case: what it shows
 *     policy: ...
 *     nodes: ...
 *     expect:                              # every node of the scene
 *       a: pass
 *       b: "pool: node is not in the pool" # RULE: REASON; POLICY/RULE with several policies
 *       c: "unresolvable pool: ..."
 *     observed: {a: pass, b: ...}          # what policies in mode Observe would have said
 *     scores: {a: 50, b: 33.3333333333}    # every node; to nine decimals
 *     explain: {b: "label pool is absent"} # of the filter that speaks against it
 *
 * Besides, each verdict is held against every filter asked one by one.
 */

#include <math.h>
#include <stdio.h>

#include "base/test-assert.h"
#include "policy/evaluate.h"
#include "policy/test-scene.h"

typedef struct Case {
    Scene scene;
    const char *name;
    Facts facts;
    Question question;
} Case;

static void case_init(Case *test, const YamlNode *document) {
    static const Str keys[] = {
        STR("case"), STR("expect"), STR("observed"), STR("scores"), STR("explain")};
    const YamlNode *name = yaml_find(document, STR("case"));
    const NodeTable *table;
    uint32_t *rows;

    scene_require(name != NULL, document->place, "a case needs a name");
    scene_init(&test->scene, document, keys, ELEMENTS_OF(keys));
    scene_require(test->scene.snapshot != NULL, document->place, "a case needs nodes");
    test->name = arena_copy(test->scene.arena, name->text).ptr;
    table = snapshot_table(test->scene.snapshot);
    assert_int_equal(facts_build(test->scene.program,
                         table,
                         FACTS_OF_ALL,
                         /* known= */ NULL,
                         test->scene.arena,
                         &test->facts),
        0);
    rows = ARENA_ARRAY(test->scene.arena, uint32_t, table->n_rows);
    for (size_t i = 0; i < table->n_rows; i++)
        rows[i] = (uint32_t)i;
    test->question = (Question){
        .program = test->scene.program,
        .table = table,
        .facts = &test->facts,
        .pod = &test->scene.pod,
        .rows = rows,
        .n = table->n_rows,
        .arena = test->scene.arena,
    };
}

static Str verdict_text(const Case *test, uint16_t verdict) {
    const Filter *filter;
    bool with_policy = test->scene.program->n_policies > 1;

    if (verdict == VERDICT_PASS)
        return STR("pass");
    filter = test->scene.program->filters[verdict];
    return arena_printf(test->scene.arena,
        "%s%.*s%s%.*s: %.*s",
        filter->is_unresolvable ? "unresolvable " : "",
        STR_FMT(with_policy ? filter->policy->name : STR_NULL),
        with_policy ? "/" : "",
        STR_FMT(filter->name),
        STR_FMT(filter->reason));
}

/* The row of a key that names a node; every node must be named once. */
static uint32_t row_of(const Case *test, const YamlNode *list, size_t i) {
    uint32_t row = table_find(test->question.table, list->pairs[i].key->text);

    scene_require(row < test->question.n, list->pairs[i].key->place, "no such node");
    scene_require(list->n == test->question.n, list->place, "every node must be named");
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

/* The verdict is the first filter, by number, that fails when each is asked. */
static void check_against_each(const Case *test, const uint16_t *verdicts, bool observed) {
    const Program *program = test->scene.program;
    uint8_t *pass = ARENA_ARRAY(test->scene.arena, uint8_t, test->question.n);
    uint16_t *first = ARENA_ARRAY(test->scene.arena, uint16_t, test->question.n);

    memset(first, 0xff, test->question.n * sizeof(*first));
    for (size_t i = 0; i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];

        assert_int_equal(filter->number, i);
        if (filter->policy->is_observed != observed ||
            !policy_matches(filter->policy, test->question.pod))
            continue;
        assert_int_equal(evaluate_filter(&test->question, filter, pass), 0);
        for (size_t row = 0; row < test->question.n; row++)
            if (!pass[row] && first[row] == VERDICT_PASS)
                first[row] = (uint16_t)i;
    }
    for (size_t row = 0; row < test->question.n; row++)
        assert_case(test->name, first[row] == verdicts[row]);
}

static void check_explanations(const Case *test, const uint16_t *verdicts) {
    const YamlNode *expected = yaml_find(test->scene.document, STR("explain"));

    for (size_t i = 0; expected && i < expected->n; i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(4096);
        uint32_t row = table_find(test->question.table, expected->pairs[i].key->text);
        Batch batch = {.table = test->question.table,
            .rows = &row,
            .n = 1,
            .pod = test->question.pod,
            .arena = test->scene.arena};
        const Filter *filter;
        char want[512];

        scene_require(row < test->question.n && verdicts[row] != VERDICT_PASS,
            expected->pairs[i].key->place,
            "no node that failed");
        filter = test->scene.program->filters[verdicts[row]];
        filter->kind->explain(filter->config, &batch, &text);
        (void)snprintf(want, sizeof(want), "%.*s", STR_FMT(expected->pairs[i].value->text));
        assert_text(test->name, buf_str(&text), want);
    }
}

/* Whoever is turned away is owed a word why. */
static void check_explained(const Case *test, const uint16_t *verdicts) {
    for (uint32_t row = 0; row < test->question.n; row++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(4096);
        Batch batch = {.table = test->question.table,
            .rows = &row,
            .n = 1,
            .pod = test->question.pod,
            .arena = test->scene.arena};
        const Filter *filter;

        if (verdicts[row] == VERDICT_PASS)
            continue;
        filter = test->scene.program->filters[verdicts[row]];
        filter->kind->explain(filter->config, &batch, &text);
        assert_case(test->name, text.len > 0);
    }
}

static void check_filters(const Case *test) {
    uint16_t *verdicts = ARENA_ARRAY(test->scene.arena, uint16_t, test->question.n);
    bool any = false;

    assert_int_equal(evaluate_filters(&test->question, verdicts), 0);
    check_verdicts(test, STR("expect"), verdicts);
    check_against_each(test, verdicts, /* observed= */ false);
    check_explanations(test, verdicts);
    check_explained(test, verdicts);

    memset(verdicts, 0xff, test->question.n * sizeof(*verdicts));
    assert_int_equal(evaluate_observed(&test->question, &any, verdicts), 0);
    assert_case(test->name, any || !yaml_find(test->scene.document, STR("observed")));
    check_verdicts(test, STR("observed"), verdicts);
    check_against_each(test, verdicts, /* observed= */ true);
}

static void check_scores(const Case *test) {
    const YamlNode *expected = yaml_find(test->scene.document, STR("scores"));
    double *scores = ARENA_ARRAY(test->scene.arena, double, test->question.n);
    bool any;

    assert_int_equal(evaluate_scores(&test->question, &any, scores), 0);

    for (size_t i = 0; expected && i < expected->n; i++) {
        const YamlPair *pair = &expected->pairs[i];
        double got = scores[row_of(test, expected, i)];

        if (fabs(got - pair->value->real) < 1e-9)
            continue;
        print_error("%s, node %.*s: got %.12g, want %.*s\n",
            test->name,
            STR_FMT(pair->key->text),
            got,
            STR_FMT(pair->value->text));
        fail();
    }
    for (size_t i = 0; i < test->question.n; i++)
        assert_case(test->name, scores[i] >= 0 && scores[i] <= 100);
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
