#include "monitor/rule-figures.h"

#include <stdio.h>

#include "history/test-view-fixture.h"

#define PAGE_MAX ((size_t)4 * 1024 * 1024)

static const char nodes_text[] = "nodes:\n"
                                 "  n1: {labels: {zone: a}}\n"
                                 "  n2: {labels: {zone: b}}\n"
                                 "  n3: {}\n";

static const char policies_text[] =
    "policies:\n"
    "  zones:\n"
    "    filters:\n"
    "      - {name: zone, expression: \"node.metadata.labels['zone'] == 'a'\"}\n"
    "      - {name: lenient, expression: \"node.metadata.labels['zone'] != pod.metadata.name\","
    "         onError: allow}\n"
    "    scores:\n"
    "      - {name: near, expression: \"node.metadata.labels['zone'] == 'a' ? 100 : 0\"}\n"
    "  some:\n"
    "    match: {expression: \"pod.metadata.labels['app'] == 'web'\"}\n"
    "  trial:\n"
    "    mode: Observe\n"
    "    filters:\n"
    "      - {name: far, expression: \"node.metadata.labels['zone'] == 'b'\"}\n";

/* Opens @policies with three nodes. */
static void open_fixture(ViewFixture *fixture, const char *policies) {
    _cleanup_(buf_done) Buf text = BUF_INIT(PAGE_MAX);

    buf_printf(&text, "%s%s", policies, nodes_text);
    buf_append_char(&text, '\0');
    fixture_init(fixture, text.data);
}

static void ask(RuleFigures *figures, const View *view, Verb verb) {
    _cleanup_(arena_freep) Arena *arena = arena_new(FIXTURE_BUDGET);
    Str body = STR("{\"Pod\":{},\"NodeNames\":[\"n1\",\"n2\",\"n3\",\"ghost\"]}");
    Answer answer;

    (verb == VERB_FILTER ? extender_filter : extender_prioritize)(
        view, /* time= */ NULL, body, arena, &answer);
    rule_figures_note(figures, view->program, &answer.decision, /* at_nsec= */ 1);
}

/* Checks whether the page has @line. */
static void assert_line(RuleFigures *figures, const Program *program, const char *line, bool has) {
    _cleanup_(buf_done) Buf page = BUF_INIT(PAGE_MAX);
    bool found = false;
    Str rest, next;

    rule_figures_print(figures, program, &page);
    assert_int_equal(buf_error(&page), 0);
    for (rest = buf_str(&page); rest.len > 0; rest = next) {
        size_t end = str_find(rest, '\n');

        assert_int_not_equal(end, SIZE_MAX);
        found |= str_is(str_take(rest, end), line);
        next = str_skip(rest, end + 1);
    }
    if (found != has)
        fail_msg("%s: %s\n%.*s", line, has ? "missing" : "there", STR_FMT(buf_str(&page)));
}

#define REJECTED "berth_nodes_rejected_total"
#define OBSERVED "berth_nodes_observed_total"
#define ERRORS "berth_rule_errors_total"
#define MISSING "berth_rule_missing_total"

static void test_series_exist_from_the_start(void **state) {
    static const char *const there[] = {
        REJECTED "{policy=\"zones\",rule=\"zone\"} 0",
        OBSERVED "{policy=\"trial\",rule=\"far\"} 0",
        ERRORS "{policy=\"zones\",rule=\"lenient\"} 0",
        ERRORS "{policy=\"zones\",rule=\"near\"} 0",
        ERRORS "{policy=\"some\",rule=\"(match)\"} 0",
    };
    static const char *const missing[] = {
        REJECTED "{policy=\"zones\",rule=\"near\"} 0", /* a score rejects no node */
        REJECTED "{policy=\"some\",rule=\"(match)\"} 0",
        ERRORS "{policy=\"zones\",rule=\"(match)\"} 0", /* it has no match */
    };
    RuleFigures *figures = rule_figures_new();
    ViewFixture fixture;

    (void)state;
    open_fixture(&fixture, policies_text);
    for (size_t i = 0; i < ELEMENTS_OF(there); i++)
        assert_line(figures, fixture.scene.program, there[i], true);
    for (size_t i = 0; i < ELEMENTS_OF(missing); i++)
        assert_line(figures, fixture.scene.program, missing[i], false);
    fixture_done(&fixture);
    rule_figures_free(figures);
}

static void test_counts_by_rule(void **state) {
    static const char *const lines[] = {
        REJECTED "{policy=\"zones\",rule=\"zone\"} 4", /* n2; and n3, where it failed */
        REJECTED "{policy=\"zones\",rule=\"lenient\"} 0",
        OBSERVED "{policy=\"trial\",rule=\"far\"} 4", /* n1; and n3, where it failed */
        ERRORS "{policy=\"zones\",rule=\"zone\"} 2",
        ERRORS "{policy=\"zones\",rule=\"lenient\"} 2",
        ERRORS "{policy=\"zones\",rule=\"near\"} 1",
        ERRORS "{policy=\"some\",rule=\"(match)\"} 3", /* requests */
        ERRORS "{policy=\"trial\",rule=\"far\"} 2",
    };
    RuleFigures *figures = rule_figures_new();
    ViewFixture fixture, other;

    (void)state;
    open_fixture(&fixture, policies_text);
    ask(figures, fixture.view, VERB_FILTER);
    ask(figures, fixture.view, VERB_FILTER);
    ask(figures, fixture.view, VERB_PRIORITIZE);
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++)
        assert_line(figures, fixture.scene.program, lines[i], true);

    /* The counts stay with other policies. */
    open_fixture(&other, "policy: {filters: [{name: any, expression: 'true'}]}\n");
    ask(figures, other.view, VERB_FILTER);
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++)
        assert_line(figures, other.scene.program, lines[i], true);
    fixture_done(&other);
    fixture_done(&fixture);
    rule_figures_free(figures);
}

/* A missing metric is not an error. */
static void test_counts_missing_metrics(void **state) {
    static const char *const lines[] = {
        REJECTED "{policy=\"policy\",rule=\"strict\"} 3",
        REJECTED "{policy=\"policy\",rule=\"lax\"} 0",
        ERRORS "{policy=\"policy\",rule=\"strict\"} 0",
        MISSING "{policy=\"policy\",rule=\"strict\"} 3",
        MISSING "{policy=\"policy\",rule=\"lax\"} 3",
        MISSING "{policy=\"policy\",rule=\"idle\"} 3",
        ERRORS "{policy=\"policy\",rule=\"idle\"} 0",
    };
    RuleFigures *figures = rule_figures_new();
    ViewFixture fixture;

    (void)state;
    open_fixture(&fixture,
        "policy:\n"
        "  metrics: [{name: load, prometheus: {query: load}}]\n"
        "  filters:\n"
        "    - {name: strict, expression: 'metrics.load < 0.8'}\n"
        "    - {name: lax, expression: 'metrics.load < 0.7', onMissing: allow}\n"
        "  scores: [{name: idle, expression: '100.0 - metrics.load', onMissing: 50}]\n");
    ask(figures, fixture.view, VERB_FILTER);
    ask(figures, fixture.view, VERB_PRIORITIZE);
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++)
        assert_line(figures, fixture.scene.program, lines[i], true);
    fixture_done(&fixture);
    rule_figures_free(figures);
}

/* Counts filters to which each policy applied, and those in which it rejected all known nodes. */
static void test_counts_by_policy(void **state) {
    static const char strict_text[] = "policies:\n"
                                      "  zones:\n"
                                      "    filters: [{name: none, expression: 'false'}]\n"
                                      "  trial:\n"
                                      "    mode: Observe\n"
                                      "    filters: [{name: none, expression: 'false'}]\n"
                                      "  idle: {}\n";
    static const struct {
        const char *policy;
        uint64_t matched, rejected_all;
    } cases[] = {
        {"zones", 4, 1}, /* the counts continue */
        {"trial", 4, 1},
        {"some", 0, 0},
        {"idle", 1, 0},
        {"unheard-of", 0, 0},
    };
    RuleFigures *figures = rule_figures_new();
    ViewFixture fixture;

    (void)state;
    open_fixture(&fixture, policies_text);
    for (size_t i = 0; i < 3; i++)
        ask(figures, fixture.view, VERB_FILTER);
    ask(figures, fixture.view, VERB_PRIORITIZE);
    fixture_done(&fixture);
    open_fixture(&fixture, strict_text);
    ask(figures, fixture.view, VERB_FILTER);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        PolicyFigure figure = rule_figures_of_policy(figures, str_from_c(cases[i].policy));

        assert_case(cases[i].policy, figure.n_matched == cases[i].matched);
        assert_case(cases[i].policy, figure.n_rejected_all == cases[i].rejected_all);
    }
    fixture_done(&fixture);
    rule_figures_free(figures);
}

/* There are more names than the limit, over many reloads. */
static void test_limits_series(void **state) {
    RuleFigures *figures = rule_figures_new();
    Policy policy = {.name = STR("p")};
    Filter filter = {.policy = &policy};
    const Filter *filters[] = {&filter};
    Program program = {.filters = filters, .n_filters = 1};
    uint32_t rejected[] = {7};
    Decision decision = {.rejected = rejected};
    char name[32];

    (void)state;
    for (unsigned i = 0; i < RULE_FIGURES_MAX + 100; i++) {
        (void)snprintf(name, sizeof(name), "rule-%u", i);
        filter.name = str_from_c(name);
        rule_figures_note(figures, &program, &decision, /* at_nsec= */ 1);
    }
    assert_line(figures, &program, REJECTED "{policy=\"p\",rule=\"rule-8191\"} 7", true);
    assert_line(figures, &program, REJECTED "{policy=\"p\",rule=\"rule-8192\"} 7", false);
    rule_figures_free(figures);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series_exist_from_the_start),
        cmocka_unit_test(test_counts_by_rule),
        cmocka_unit_test(test_counts_missing_metrics),
        cmocka_unit_test(test_counts_by_policy),
        cmocka_unit_test(test_limits_series),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
