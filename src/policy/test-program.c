/* Tests compiled programs: what they copy, their limits, and the numbers of their parts. */

#include "policy/program.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test-assert.h"

#define HEAD(name)                                                                                 \
    "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: " name "}\nspec:\n"

static int compile(Str text, Arena *arena, Program **ret, Buf *messages) {
    PolicySource source = {.file = STR("p.yaml"), .text = text};
    DiagList diags = DIAG_LIST_IN(arena);
    int r = program_compile(&source, 1, &diags, ret);

    diag_list_print(&diags, /* colour= */ false, messages);
    return r;
}

/* A program copies what it needs: the source may be freed. */
static void test_keeps_copies(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf messages = BUF_INIT(65536);
    char *text = strdup(HEAD("mine") "  match: {namespaces: [here]}\n"
                                     "  filters: [{name: pool, nodeLabels: {a: b}, reason: why}]\n"
                                     "  scores: [{name: s, spread: {cpu: 1}, weight: 2.5}]\n");
    Pod here = {.namespace = STR("here")}, there = {.namespace = STR("there")};

    (void)state;
    assert_int_equal(compile(str_from_c(text), arena, &program, &messages), 0);
    memset(text, 'x', strlen(text));
    free(text);
    assert_int_equal(program->n_policies, 1);
    assert_text("name", program->policies[0].name, "mine");
    assert_text("file", program->policies[0].place.file, "p.yaml");
    assert_int_equal(program->policies[0].place.line, 3);
    assert_text("reason", program->filters[0]->reason, "why");
    assert_ptr_equal(program->filters[0]->policy, &program->policies[0]);
    assert_true(program->scores[0]->weight == 2.5);
    assert_ptr_equal(program->scores[0]->policy, &program->policies[0]);
    assert_true(policy_selects(&program->policies[0], &here));
    assert_false(policy_selects(&program->policies[0], &there));
}

static void test_unresolvable_filters_come_first(void **state) {
    static const char text[] =
        /* one */
        HEAD("one") "  filters:\n"
                    "    - {name: a, nodeReady: true}\n"
                    "    - {name: b, nodeReady: true, unresolvable: true}\n"
                    "  scores: [{name: s, spread: {cpu: 1}}]\n"
                    "---\n"
        /* two */
        HEAD("two") "  filters:\n"
                    "    - {name: c, nodeReady: true, unresolvable: true}\n"
                    "    - {name: d, nodeReady: true}\n"
                    "  scores: [{name: t, spread: {cpu: 1}}]\n";
    static const char *const order[] = {"b", "c", "a", "d"};
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf messages = BUF_INIT(65536);

    (void)state;
    assert_int_equal(compile(STR(text), arena, &program, &messages), 0);
    assert_int_equal(program->n_filters, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_text("filter", program->filters[i]->name, order[i]);
        assert_int_equal(program->filters[i]->number, i);
    }
    assert_int_equal(program->n_scores, 2);
    assert_text("score", program->scores[0]->name, "s");
    assert_text("score", program->scores[1]->name, "t");
    assert_int_equal(program->scores[1]->number, 1);
}

static void test_program_without_policies(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    DiagList diags = DIAG_LIST_IN(arena);
    Program *program = NULL, *other;

    (void)state;
    assert_int_equal(program_compile(NULL, 0, &diags, &program), 0);
    assert_int_equal(program->n_policies + program->n_filters + program->n_scores, 0);
    other = program_ref(program);
    assert_null(program_unref(program));
    assert_int_equal(other->n_policies, 0);
    assert_null(program_unref(other));
    assert_null(program_unref(NULL));
}

/* With an earlier error (like an unreadable file), no program is compiled. */
static void test_earlier_errors(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    DiagList diags = DIAG_LIST_IN(arena);
    Program *program = NULL;

    (void)state;
    diag_add(&diags, DIAG_ERROR, (Place){0}, STR_NULL, STR("unreadable"), STR_NULL);
    assert_int_equal(program_compile(NULL, 0, &diags, &program), PROGRAM_E_INVALID);
    assert_null(program);
}

/* Appends @n different rules: each is @rule, a number and @end. */
static void append_rules(
    Buf *text, const char *list, const char *rule, const char *end, unsigned n) {
    buf_printf(text, "  %s:\n", list);
    for (unsigned i = 0; i < n; i++)
        buf_printf(text, "    - {name: r%u, %s%u%s}\n", i, rule, i + 1, end);
}

static void test_too_many_rules_are_an_error(void **state) {
    static const struct {
        const char *list, *rule, *end;
        unsigned n;
        int result;
        const char *messages;
    } cases[] = {
        {"filters", "maxPods: ", "", PROGRAM_FILTERS_MAX, 0, ""},
        {"scores", "labelOrder: {key: k", ", values: [a]}", PROGRAM_SCORES_MAX, 0, ""},
        {"filters", "maxPods: ", "", PROGRAM_FILTERS_MAX + 1, PROGRAM_E_INVALID,
            "p.yaml:6:5: error: filters must have at most 1000 entries, not 1001\n"
            "  6 |     - {name: r0, maxPods: 1}\n    |     ^\n1 error\n"},
        {"scores", "labelOrder: {key: k", ", values: [a]}", PROGRAM_SCORES_MAX + 1,
            PROGRAM_E_INVALID,
            "p.yaml:6:5: error: scores must have at most 1000 entries, not 1001\n"
            "  6 |     - {name: r0, labelOrder: {key: k1, values: [a]}}\n    |     ^\n1 error\n"},
        {"filters", "maxPods: ", "", 20000, PROGRAM_E_INVALID,
            "p.yaml:6:5: error: filters must have at most 1000 entries, not 20000\n"
            "  6 |     - {name: r0, maxPods: 1}\n    |     ^\n1 error\n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        _cleanup_(program_unrefp) Program *program = NULL;
        _cleanup_(buf_done) Buf messages = BUF_INIT(65536);
        _cleanup_(buf_done) Buf text = BUF_INIT((size_t)8 << 20);

        buf_append(&text, STR(HEAD("p")));
        append_rules(&text, cases[i].list, cases[i].rule, cases[i].end, cases[i].n);
        assert_int_equal(compile(buf_str(&text), arena, &program, &messages), cases[i].result);
        assert_text(cases[i].list, buf_str(&messages), cases[i].messages);
    }
}

static void test_limit_of_all_policies(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)8 << 20), messages = BUF_INIT(65536);
    Program *program = NULL;

    (void)state;
    buf_append(&text, STR(HEAD("p")));
    append_rules(&text, "filters", "maxPods: ", "", 600);
    buf_append(&text, STR("---\n" HEAD("q")));
    append_rules(&text, "filters", "maxPods: ", "", 600);
    assert_int_equal(compile(buf_str(&text), arena, &program, &messages), PROGRAM_E_INVALID);
    assert_text("two policies", buf_str(&messages),
        "error: there are 1200 filters, and the limit is 1000\n1 error\n");
}

/* Appends @n different metrics. */
static void append_metrics(Buf *text, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (i % SCOPE_METRICS_MAX == 0)
            buf_printf(text,
                "%sapiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\n"
                "metadata: {name: p%u}\nspec:\n  filters: [{name: a, maxPods: 1}]\n  metrics:\n",
                i > 0 ? "---\n" : "", i);
        buf_printf(text, "    - {name: m%u, prometheus: {query: q%u}}\n", i, i);
    }
}

static void test_equal_metrics_share_a_gauge(void **state) {
    static const struct {
        unsigned n;
        const char *messages;
    } cases[] = {
        {SCOPE_GAUGES_MAX, ""},
        {SCOPE_GAUGES_MAX + 1,
            "error: there are more than 256 different metrics in all policies\n1 error\n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        _cleanup_(program_unrefp) Program *program = NULL;
        _cleanup_(buf_done) Buf messages = BUF_INIT(65536);
        _cleanup_(buf_done) Buf text = BUF_INIT((size_t)8 << 20);

        append_metrics(&text, cases[i].n);
        buf_append(&text, STR("---\napiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\n"
                              "metadata: {name: last}\nspec:\n  filters: [{name: a, maxPods: 1}]\n"
                              "  metrics: [{name: again, prometheus: {query: q0}}]\n"));
        assert_int_equal(compile(buf_str(&text), arena, &program, &messages),
            cases[i].messages[0] ? PROGRAM_E_INVALID : 0);
        assert_text("metrics", buf_str(&messages), cases[i].messages);
        if (program)
            assert_int_equal(program->n_gauges, cases[i].n);
    }
}

/* Which parts of a request's nodes are read depends on the metrics and rules. */
static void test_finds_parts_of_nodes_that_are_read(void **state) {
    static const struct {
        const char *metric;
        bool allocatable, rest;
    } cases[] = {
        {"prometheus: {query: q}", false, false},
        {"resourceMetrics: cpu", false, false},
        {"prometheus: {query: q}, placements: {resource: cpu, unit: percent}", true, false},
        {"annotation: {key: k}", false, true},
        {"annotation: {key: k}, placements: {resource: cpu, unit: fraction}", true, true},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        _cleanup_(program_unrefp) Program *program = NULL;
        _cleanup_(buf_done) Buf messages = BUF_INIT(65536);
        _cleanup_(buf_done) Buf text = BUF_INIT(65536);
        const NodeParts *parts;

        buf_append(&text, STR(HEAD("p")));
        buf_printf(&text, "  metrics: [{name: m, %s}]\n", cases[i].metric);
        buf_append(
            &text, STR("  filters: [{name: a, expression: 'metrics.m < 1.0', onMissing: allow}]\n"
                       "  scores: [{name: b, expression: 'metrics.m.measured', onMissing: 0}]\n"));
        assert_int_equal(compile(buf_str(&text), arena, &program, &messages), 0);
        for (int k = 0; k < 2; k++) {
            parts = k ? &program->score_parts : &program->filter_parts;
            assert_case(cases[i].metric, parts->allocatable == cases[i].allocatable &&
                                             parts->rest == cases[i].rest && !parts->all_labels &&
                                             parts->n_labels == 0 && !parts->taints &&
                                             !parts->conditions);
        }
    }
}

/* A list of values that is too large is an error: half of it would be a different rule. */
static void test_too_large_lists_are_an_error(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)4 << 20);
    DiagList diags = DIAG_LIST_IN(arena);
    PolicySource source;

    (void)state;
    buf_append(
        &text, STR("apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: x}\n"
                   "spec: {filters: [{name: p, nodeLabels: {pool: [x"));
    for (size_t i = 0; i < 450000; i++)
        buf_append(&text, STR(",a"));
    buf_append(&text, STR("]}}]}\n"));
    source = (PolicySource){.file = STR("large.yaml"), .text = buf_str(&text)};
    assert_int_equal(program_compile(&source, 1, &diags, &program), PROGRAM_E_INVALID);
    assert_null(program);
    assert_true(diags.n_errors > 0);
}

/* --- large policies ------------------------------------------------------------------ */

/* Compiles a policy with @spec and writes the messages to @messages. */
static int compile_spec(Str spec, Program **ret, Buf *messages) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)4 << 20);

    buf_append(&text, STR(HEAD("p")));
    buf_append(&text, spec);
    return compile(buf_str(&text), arena, ret, messages);
}

static void check_refused(const Buf *spec, const char *why) {
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf messages = BUF_INIT((size_t)1 << 20);
    char *text;

    assert_int_equal(buf_error(spec), 0);
    assert_case(why, compile_spec(buf_str(spec), &program, &messages) == PROGRAM_E_INVALID);
    text = buf_take(&messages);
    if (!strstr(text, why))
        print_error("%.2000s\n", text);
    assert_case(why, strstr(text, why));
    assert_case(why, strlen(text) < 4096); /* stays readable */
    free(text);
}

/* Annotations for bound pods are kept as written. */
static void test_keeps_annotations_of_bound_pods(void **state) {
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf messages = BUF_INIT(65536);
    static const char *const values[] = {"b", "2", "c", "3", "a", "x/1", "b.c/d", ""};
    const Policy *policy;

    (void)state;
    assert_int_equal(compile_spec(STR("  bind: {annotations: {b: 2, c: 3, a: x/1, b.c/d: ''}}\n"),
                         &program, &messages),
        0);
    policy = &program->policies[0];
    assert_int_equal(policy->n_bind_annotations, 4);
    for (size_t i = 0; i < policy->n_bind_annotations; i++) {
        assert_text("key", policy->bind_annotations[i].key, values[2 * i]);
        assert_text("value", policy->bind_annotations[i].value, values[2 * i + 1]);
    }
}

/* A saturated cost stays saturated when a variable's cost is added. */
static void test_saturated_cost_stays_saturated(void **state) {
    _cleanup_(buf_done) Buf spec = BUF_INIT(65536);
    static const char each[] = "(pod.metadata.name + 'a').split('').all(x, ";

    (void)state;
    buf_append(&spec, STR("  variables: [{name: v, expression: \"node.pods.size()\"}]\n"));
    buf_append(&spec, STR("  filters: [{name: f, expression: \"variables.v > 0 && "));
    for (size_t i = 0; i < 8; i++)
        buf_append(&spec, STR(each));
    buf_append(&spec, STR("pod.metadata.name.matches('a') || x == 'b'))))))))\"}]\n"));
    check_refused(&spec, "cost");
}

/* Finds the part of a condition that reads only the node. */
static void test_finds_the_part_that_reads_the_node(void **state) {
    static const struct {
        const char *test;
        bool has_part;
    } cases[] = {
        {"node.ready", false}, /* the whole condition does */
        {"pod.owner == ''", false},
        {"pod.owner == '' || node.ready", true},
        {"node.ready && pod.owner == ''", true},
        {"node.ready || pod.owner == '' || pod.terminating", true},
        {"pod.owner == '' || pod.terminating || node.ready && pod.owner == node.metadata.uid",
            true},
        {"pod.owner == '' || node.free.cpu >= pod.requests.cpu", false},
        {"!(pod.owner == '' || node.ready)", false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(program_unrefp) Program *program = NULL;
        _cleanup_(buf_done) Buf messages = BUF_INIT(65536), spec = BUF_INIT(65536);

        buf_printf(&spec, "  filters: [{name: f, expression: \"%s\"}]\n", cases[i].test);
        assert_int_equal(compile_spec(buf_str(&spec), &program, &messages), 0);
        assert_case(cases[i].test, (program->filters[0]->part != UINT32_MAX) == cases[i].has_part);
        if (cases[i].has_part)
            assert_int_equal(
                plan_frequency(program->plan, program->filters[0]->part), PLAN_PRECOMPUTED);
    }
}

/* Appends @before, @n times (@item, its number, @end), and @after. */
static void append_many(
    Buf *out, const char *before, size_t n, const char *item, const char *end, const char *after) {
    buf_append(out, str_from_c(before));
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%s%zu%s", i > 0 ? ", " : "", item, i, end);
    buf_append(out, str_from_c(after));
}

static void append_nested(Buf *out, const char *before, size_t depth, const char *after) {
    buf_append(out, str_from_c(before));
    buf_append_repeat(out, '[', depth);
    buf_append_repeat(out, ']', depth);
    buf_append(out, str_from_c(after));
}

/* A policy that is too large is reported at its place, with a short message. */
static void test_large_policies_get_short_messages(void **state) {
    static const struct {
        const char *before;
        size_t n;
        const char *item, *end, *after, *why;
    } cases[] = {
        {"  params: {l: [", 1001, "", "", "]}\n", "at most 1000 elements, nested at most 8 levels"},
        {"  params: {", 257, "p", ": 1", "}\n", "params must have at most 256 entries"},
        {"  metrics: [", 65, "{name: m", "}", "]\n", "metrics must have at most 64 entries"},
        {"  variables: [", 65, "{expression: '1', name: v", "}", "]\n",
            "variables must have at most 64 entries"},
        {"  filters: [{name: f, maxPods: {limit: 1, podSelector: {matchLabels: {", 400,
            "label-number-", ": x", "}}}}]\n", "the rule is too large: write it as several"},
        {"  bind: {annotations: {", 33, "a", ": x", "}}\n",
            "annotations must have at most 32 entries"},
        {"  metrics: [{name: m, prometheus: {query: '", 1000, "up", "", "'}}]\n",
            "query has 6888 bytes, and the limit is 4096"},
        {"  metrics:\n  - name: m\n    prometheus: {query: up, nodes: {", 8193, "n", ": x", "}}\n",
            "nodes must have at most 8192 entries"},
        {"  filters: [{name: f, nodeLabels: {a: [", 2000, "value-", "", "]}}]\n",
            "the rule is too large: write it as several"},
        {"  filters: [{name: f, nodeConditions: {", 60, "Type", ": 'True'", "}}]\n",
            "the rule is too large: write it as several"},
        {"  scores: [{name: f, labelOrder: {key: a, values: [", 2000, "value-", "", "]}}]\n",
            "the rule is too large: write it as several"},
        {"  filters: [{name: f, expression: \"node.metadata.name in [", 3000, "'x", "'", "]\"}]\n",
            "10240 are allowed"},
        {"  filters:\n    - name: f\n      expression: >-\n        node.metadata.name in [", 900,
            "'x", "'", ", nope]\n", "undeclared reference to 'nope', in \"…', 'x"},
        {"  filters:\n    - name: f\n      expression: >-\n        node.metadata.name in [", 120,
            "'öööööööööööööööööööööööööööööö", "'", ", nope]\n",
            "undeclared reference to 'nope', in \"…öööööööö117', '"}, /* cut between characters */
    };
    _cleanup_(buf_done) Buf spec = BUF_INIT((size_t)4 << 20);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        buf_reset(&spec);
        append_many(
            &spec, cases[i].before, cases[i].n, cases[i].item, cases[i].end, cases[i].after);
        check_refused(&spec, cases[i].why);
    }
    buf_reset(&spec);
    append_nested(&spec, "  params: {l: ", 9, "}\n");
    check_refused(&spec, "at most 1000 elements, nested at most 8 levels");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_large_lists_are_an_error),
        cmocka_unit_test(test_keeps_copies),
        cmocka_unit_test(test_unresolvable_filters_come_first),
        cmocka_unit_test(test_program_without_policies),
        cmocka_unit_test(test_earlier_errors),
        cmocka_unit_test(test_too_many_rules_are_an_error),
        cmocka_unit_test(test_limit_of_all_policies),
        cmocka_unit_test(test_equal_metrics_share_a_gauge),
        cmocka_unit_test(test_finds_parts_of_nodes_that_are_read),
        cmocka_unit_test(test_keeps_annotations_of_bound_pods),
        cmocka_unit_test(test_saturated_cost_stays_saturated),
        cmocka_unit_test(test_finds_the_part_that_reads_the_node),
        cmocka_unit_test(test_large_policies_get_short_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
