/* Programs as wholes: what they keep, how large they may be, how they are numbered. */

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

/* The text may be gone. */
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

static void test_numbers(void **state) {
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

static void test_nothing(void **state) {
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

/* An error from before (a file that could not be read) counts: no program. */
static void test_earlier_errors(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    DiagList diags = DIAG_LIST_IN(arena);
    Program *program = NULL;

    (void)state;
    diag_add(&diags, DIAG_ERROR, (Place){0}, STR_NULL, STR("unreadable"), STR_NULL);
    assert_int_equal(program_compile(NULL, 0, &diags, &program), PROGRAM_E_INVALID);
    assert_null(program);
}

/* No two are the same: @rule, which a number follows, and @end. */
static void append_rules(
    Buf *text, const char *list, const char *rule, const char *end, unsigned n) {
    buf_printf(text, "  %s:\n", list);
    for (unsigned i = 0; i < n; i++)
        buf_printf(text, "    - {name: r%u, %s%u%s}\n", i, rule, i, end);
}

static void test_limits(void **state) {
    static const struct {
        const char *list, *rule, *end;
        unsigned n;
        int result;
        const char *messages;
    } cases[] = {
        {"filters", "maxPods: ", "", PROGRAM_FILTERS_MAX, 0, ""},
        {"scores", "labelOrder: {key: k", ", values: [a]}", PROGRAM_SCORES_MAX, 0, ""},
        {"filters",
            "maxPods: ",
            "",
            PROGRAM_FILTERS_MAX + 1,
            PROGRAM_E_INVALID,
            "error: there are 1001 filters, and the limit is 1000\n1 error\n"},
        {"scores",
            "labelOrder: {key: k",
            ", values: [a]}",
            PROGRAM_SCORES_MAX + 1,
            PROGRAM_E_INVALID,
            "error: there are 1001 scores, and the limit is 1000\n1 error\n"},
        {"filters",
            "maxPods: ",
            "",
            20000,
            PROGRAM_E_INVALID,
            "error: there are 20000 filters, and the limit is 1000\n1 error\n"},
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

/* Half a list of values would be another rule: too large is refused whole. */
static void test_too_large(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)4 << 20);
    DiagList diags = DIAG_LIST_IN(arena);
    PolicySource source;

    (void)state;
    buf_append(&text,
        STR("apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: x}\n"
            "spec: {filters: [{name: p, nodeLabels: {pool: [x"));
    for (size_t i = 0; i < 450000; i++)
        buf_append(&text, STR(",a"));
    buf_append(&text, STR("]}}]}\n"));
    source = (PolicySource){.file = STR("large.yaml"), .text = buf_str(&text)};
    assert_int_equal(program_compile(&source, 1, &diags, &program), PROGRAM_E_INVALID);
    assert_null(program);
    assert_true(diags.n_errors > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_keeps_copies),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_earlier_errors),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
