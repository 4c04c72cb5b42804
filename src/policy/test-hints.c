/*
 * Tests that hints and fixes lead to valid expressions: test/data/hints/expressions.test.
 *
 *     [filter]
 *     node.free.memory > 2Gi   => node.free.memory > quantity('2Gi').asApproximateFloat()
 *
 * Each expression on the left is wrong. Applying the fix of its first diagnostic, at most twice,
 * must give the expression on the right, which compiles without errors and warnings. Each case is
 * tested in every YAML style, because fixes change the policy file.
 *
 *     [template]
 *     now > '2026'   => a point in time is a timestamp: … => now > timestamp('2026-…')
 *
 * The first diagnostic has no fix, only the hint in the middle. The expression on the right is what
 * a user would write then; it compiles.
 */

#include <stdio.h>

#include "base/test-assert.h"
#include "policy/program.h"
#include "policy/test-scene.h"

#define STEPS_MAX 2

/* How an expression is written in a policy file. */
typedef struct Style {
    const char *name, *before, *after;
    char quote; /* written doubled (') or escaped (\") inside the string */
} Style;

static const Style styles[] = {
    {"block", "|-\n        ", "\n", 0},
    {"in single quotes", "'", "'\n", '\''},
    {"in double quotes", "\"", "\"\n", '"'},
};

static Str write_policy(const Style *style, Str role, Str expression, Arena *arena) {
    Buf text = BUF_INIT((size_t)1 << 20);
    bool is_score = str_is(role, "score");
    Str copy;

    buf_printf(&text,
        "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: p}\nspec:\n"
        "  %s:\n    - name: r\n%s      expression: %s",
        is_score ? "scores" : "filters", is_score ? "" : "      reason: r\n", style->before);
    for (size_t i = 0; i < expression.len; i++) {
        if (style->quote && expression.ptr[i] == style->quote)
            buf_append_char(&text, style->quote == '"' ? '\\' : style->quote);
        buf_append_char(&text, expression.ptr[i]);
    }
    buf_append(&text, str_from_c(style->after));
    copy = arena_copy(arena, buf_str(&text));
    buf_done(&text);
    assert_non_null(copy.ptr);
    return copy;
}

/* Returns @text with the fix applied. */
static Str apply(Str text, const DiagFix *fix, Arena *arena) {
    Str rest = text, line = STR_NULL;
    size_t at;

    for (size_t i = 0; i < fix->place.line; i++)
        assert_true(str_split(&rest, '\n', &line));
    at = (size_t)(line.ptr - text.ptr) + fix->place.column - 1;
    return arena_printf(arena, "%.*s%.*s%.*s", STR_FMT(str_take(text, at)), STR_FMT(fix->text),
        STR_FMT(str_skip(text, at + fix->place.width)));
}

static const Diag *first_with_fix(const DiagList *diags) {
    for (size_t i = 0; i < diags->diags.n; i++)
        if (diags->diags.items[i].fix.text.ptr)
            return &diags->diags.items[i];
    return NULL;
}

static void show(const char *place, const Style *style, Str text, const DiagList *diags) {
    _cleanup_(buf_done) Buf out = BUF_INIT((size_t)1 << 20);

    diag_list_print(diags, /* colour= */ false, &out);
    print_message("%s, %s:\n%.*s%.*s\n", place, style->name, STR_FMT(text), STR_FMT(buf_str(&out)));
}

/* Whether the fixes of @wrong give @right; if not, prints the diagnostics. */
static bool check_fixes(const char *place, const Style *style, Str role, Str wrong, Str right) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)64 << 20);
    Str text = write_policy(style, role, wrong, arena);
    Str wanted = write_policy(style, role, right, arena);

    for (int step = 0;; step++) {
        _cleanup_(program_unrefp) Program *program = NULL;
        DiagList diags = DIAG_LIST_IN(arena);
        PolicySource source = {STR("p.yaml"), text};
        const Diag *first;

        assert_true(program_compile(&source, 1, &diags, &program) >= 0);
        if (step > 0 && diags.diags.n == 0)
            break;
        first = first_with_fix(&diags);
        if (!first || step == STEPS_MAX) {
            show(place, style, text, &diags);
            return false;
        }
        text = apply(text, &first->fix, arena);
    }
    if (!str_eq(text, wanted))
        print_message("%s: got\n%.*s", place, STR_FMT(text));
    return str_eq(text, wanted);
}

/* Splits at the first " => ". */
static bool split_arrow(Str line, Str *ret_left, Str *ret_right) {
    for (size_t i = 0; i < line.len; i++)
        if (str_has_prefix(str_skip(line, i), STR(" => "))) {
            *ret_left = str_trim(str_take(line, i));
            *ret_right = str_trim(str_skip(line, i + 4));
            return true;
        }
    return false;
}

/* @advice is "HINT => RIGHT". Whether @wrong gives exactly this hint and no fix, and RIGHT
 * compiles. */
static bool check_hint(const char *place, Str wrong, Str advice) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)64 << 20);
    Str hint, right, texts[2];
    DiagList diags[2] = {DIAG_LIST_IN(arena), DIAG_LIST_IN(arena)};
    bool is_right;

    assert_case(place, split_arrow(advice, &hint, &right));
    texts[0] = write_policy(&styles[0], STR("filter"), wrong, arena);
    texts[1] = write_policy(&styles[0], STR("filter"), right, arena);
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(program_unrefp) Program *program = NULL;
        PolicySource source = {STR("p.yaml"), texts[i]};

        assert_true(program_compile(&source, 1, &diags[i], &program) >= 0);
    }
    is_right = diags[0].diags.n > 0 && str_eq(diags[0].diags.items[0].hint, hint) &&
               !first_with_fix(&diags[0]) && diags[1].diags.n == 0;
    for (size_t i = 0; !is_right && i < 2; i++)
        show(place, &styles[0], texts[i], &diags[i]);
    return is_right;
}

static void test_fixes_lead_to_a_valid_expression(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
    Str text = scene_read(TEST_DATA "/hints/expressions.test", arena), line, role = STR("filter");
    size_t number = 0, n_cases = 0, n_wrong = 0;

    (void)state;
    while (str_split(&text, '\n', &line)) {
        Str wrong, right;
        char place[64];

        number++;
        line = str_trim(line);
        if (line.len == 0 || line.ptr[0] == '#')
            continue;
        if (line.ptr[0] == '[' && str_has_suffix(line, STR("]")) &&
            (str_is(line, "[filter]") || str_is(line, "[score]") || str_is(line, "[template]"))) {
            role = str_take(str_skip(line, 1), line.len - 2);
            continue;
        }
        (void)snprintf(place, sizeof(place), "expressions.test:%zu", number);
        assert_case(place, split_arrow(line, &wrong, &right));
        n_cases++;
        if (str_is(role, "template")) {
            n_wrong += !check_hint(place, wrong, right);
            continue;
        }
        for (size_t i = 0; i < ELEMENTS_OF(styles); i++)
            n_wrong += !check_fixes(place, &styles[i], role, wrong, right);
    }
    assert_true(n_cases > 0);
    assert_int_equal(n_wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fixes_lead_to_a_valid_expression)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
