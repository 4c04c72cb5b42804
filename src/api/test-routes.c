/* Which row of the table is found for a path. */

#include "api/routes.h"

#include "base/test-assert.h"

static bool has_pods(Str path) {
    return str_is(path, "/pods");
}

static const Route *find(const char *path, const DashboardHook *dashboard) {
    const ApiContext api = {.dashboard = dashboard};

    return route_find(&api, &(HttpRequest){.path = str_from_c(path)});
}

static void test_finds_verbs_behind_any_prefix(void **state) {
    static const struct {
        const char *path;
        RequestKind kind;
    } cases[] = {
        {"/filter", REQUEST_FILTER},
        {"/any/prefix/filter/", REQUEST_FILTER},
        {"/scheduler//predicates", REQUEST_FILTER},
        {"/prioritize", REQUEST_PRIORITIZE},
        {"/a/priority", REQUEST_PRIORITIZE},
        {"/a/priorities", REQUEST_PRIORITIZE},
        {"/preempt", REQUEST_PREEMPT},
        {"/x/preemption", REQUEST_PREEMPT},
        {"/bind", REQUEST_BIND},
        {"/predicate", REQUEST_FILTER},
        {"/scheduler/predicates/always_true", REQUEST_FILTER},
        {"/priorities/zero_score/", REQUEST_PRIORITIZE},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const Route *route = find(cases[i].path, NULL);

        assert_case(cases[i].path, route_is_verb(route) && route->kind == cases[i].kind);
        assert_string_equal(route->method, "POST");
    }
}

static void test_finds_pages_by_their_whole_path(void **state) {
    static const DashboardHook dashboard = {.has = has_pods};
    static const struct {
        const char *path;
        RequestKind kind;
        RoutePace pace;
    } cases[] = {
        {"/livez", REQUEST_HEALTH, ROUTE_AT_ONCE},
        {"/readyz/", REQUEST_HEALTH, ROUTE_AT_ONCE},
        {"/metrics", REQUEST_METRICS, ROUTE_QUICK},
        {"/api/v1/decisions", REQUEST_DECISIONS, ROUTE_FAST},
        {"/api/v1/decisions/17", REQUEST_DECISIONS, ROUTE_FAST},
        {"/api/v1/policies", REQUEST_PAGES, ROUTE_SLOW},
        {"/api/v1/what-if", REQUEST_PAGES, ROUTE_SLOW},
        {"/api/v1/events", REQUEST_EVENTS, ROUTE_STREAM},
        {"/admission/validate", REQUEST_ADMISSION, ROUTE_AT_ONCE},
        {"/pods", REQUEST_DASHBOARD, ROUTE_FAST},
        {"/", REQUEST_OTHER, ROUTE_FAST},
        {"/version", REQUEST_OTHER, ROUTE_FAST},
        {"/api/v1/decisions/17/x", REQUEST_OTHER, ROUTE_FAST},
        {"/x/metrics", REQUEST_OTHER, ROUTE_FAST},
        {"/predicate/x", REQUEST_OTHER, ROUTE_FAST},
        {"/predicates/x/y", REQUEST_OTHER, ROUTE_FAST},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const Route *route = find(cases[i].path, &dashboard);

        assert_case(cases[i].path,
            !route_is_verb(route) && route->kind == cases[i].kind && route->pace == cases[i].pace);
        assert_ptr_equal(route_of_tag(route_tag(route)), route);
    }
    assert_ptr_equal(route_of_tag(-1), find("/nowhere", NULL));
    assert_ptr_equal(find("/pods", NULL), find("/nowhere", NULL));
}

static void test_id_is_the_part_behind_decisions(void **state) {
    (void)state;
    assert_true(str_is(route_id(STR("/api/v1/decisions/17/")), "17"));
    assert_true(str_is_empty(route_id(STR("/api/v1/decisions"))));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_verbs_behind_any_prefix),
        cmocka_unit_test(test_finds_pages_by_their_whole_path),
        cmocka_unit_test(test_id_is_the_part_behind_decisions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
