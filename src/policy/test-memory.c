/* Tests compiling while one allocation fails, or all after some point. The result must be the
 * complete program or none: with a rule missing, pods would run where they must not. Linked with
 * --wrap, so that this file sees every allocation. */

#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/test-assert.h"
#include "base/test-failing.h"
#include "policy/program.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size) {
    return is_due() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
    return is_due() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size) {
    return is_due() ? NULL : __real_realloc(old, size);
}

static const char text[] =
    "apiVersion: berth.dev/v1alpha1\n"
    "kind: PlacementPolicy\n"
    "metadata: {name: one}\n"
    "spec:\n"
    "  match: {namespaces: [a], expression: \"pod.owner != '' && size(params.list) > 1\"}\n"
    "  params: {limit: 3, list: [a, b], by: {a: 1, b: 2}}\n"
    "  metrics:\n"
    "    - {name: load, prometheus: {query: up, nodePattern: '(.*):', nodes: {a: b, c: d}}}\n"
    "    - {name: used, resourceMetrics: cpu, placements: {by: podCpu}}\n"
    "    - {name: podCpu, prometheus: {query: p}, pods: {podSelector: {matchLabels: {a: b}}}}\n"
    "  variables:\n"
    "    - {name: n, expression: \"node.pods.filter(p, p.owner == pod.owner).size()\"}\n"
    "    - {name: m, expression: \"variables.n + params.limit\"}\n"
    "  filters:\n"
    "    - {name: a, expression: \"variables.m < params.by['b'] + 9\"}\n"
    "    - {name: b, expression: \"node.metadata.name.matches('^[a-z]+[0-9]*$')\",\n"
    "       messageExpression: \"'no: ' + node.metadata.name\"}\n"
    "    - {name: c, nodeLabels: {pool: [x, y], zone: {notIn: [z]}}, unresolvable: true}\n"
    "    - {name: d, headroom: {cpu: 500m, memory: 10%}}\n"
    "    - {name: e, maxPods: {limit: 4, podSelector: {matchLabels: {app: w}}}}\n"
    "  scores:\n"
    "    - {name: s, binPack: {cpu: 1, memory: 2}, weight: 3}\n"
    "    - {name: t, expression: \"has(metrics.load) ? metrics.load : workload.metrics.podCpu\"}\n"
    "  bind: {annotations: {k: v, n: {expression: node.metadata.name}}}\n";

static int compile(Program **ret, size_t *ret_errors) {
    PolicySource source = {.file = STR("p.yaml"), .text = STR(text)};
    Arena *arena = arena_new((size_t)1 << 20);
    DiagList diags = DIAG_LIST_IN(arena);
    int r = arena ? program_compile(&source, 1, &diags, ret) : -1;

    *ret_errors = diags.n_errors;
    arena_free(arena);
    return r;
}

static bool expressions_equal(const Expression *a, const Expression *b) {
    return str_eq(a->text, b->text) && !a->code == !b->code && a->groups == b->groups &&
           a->node == b->node && a->cost.max == b->cost.max && a->variables == b->variables;
}

static void assert_same(const Program *program, const Program *whole) {
    assert_int_equal(program->n_policies, whole->n_policies);
    assert_int_equal(program->n_filters, whole->n_filters);
    assert_int_equal(program->n_scores, whole->n_scores);
    assert_int_equal(program->groups, whole->groups);
    assert_int_equal(program->n_gauges, whole->n_gauges);
    for (size_t i = 0; i < whole->n_gauges; i++)
        assert_true(gauge_equal(&program->gauges[i], &whole->gauges[i]));
    assert_int_equal(program->policies[0].n_bind_annotations, 2);
    assert_true(expressions_equal(
        &program->policies[0].match.expression, &whole->policies[0].match.expression));
    for (size_t i = 0; i < whole->n_filters; i++) {
        assert_true(str_eq(program->filters[i]->reason, whole->filters[i]->reason));
        assert_true(expressions_equal(&program->filters[i]->test, &whole->filters[i]->test));
        assert_true(expressions_equal(&program->filters[i]->message, &whole->filters[i]->message));
    }
    for (size_t i = 0; i < whole->n_scores; i++) {
        assert_true(expressions_equal(&program->scores[i]->value, &whole->scores[i]->value));
        assert_true(expressions_equal(&program->scores[i]->missing, &whole->scores[i]->missing));
    }
}

static void test_failed_allocation_gives_no_partial_program(void **state) {
    _cleanup_(program_unrefp) Program *whole = NULL;
    size_t n_errors, n_all, n_refused = 0;

    (void)state;
    n_seen = 0;
    due = SIZE_MAX;
    assert_int_equal(compile(&whole, &n_errors), 0);
    n_all = n_seen;
    for (size_t i = 0; i < 2 * n_all; i++) { /* one allocation alone, or it and all after it */
        _cleanup_(program_unrefp) Program *program = NULL;
        int r;

        n_seen = 0;
        due = i / 2;
        is_lasting = i % 2;
        r = compile(&program, &n_errors);
        due = SIZE_MAX;
        assert_true((r == 0) == (program != NULL));
        if (program && whole)
            assert_same(program, whole);
        assert_true(r <= 0 || n_errors > 0);
        n_refused += r != 0;
    }
    assert_true(n_refused > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed_allocation_gives_no_partial_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
