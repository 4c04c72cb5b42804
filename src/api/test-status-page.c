#include "api/api-pages.h"

#include "api/test-api-fixture.h"
#include "base/nsec.h"

#define AT(sec) ((int64_t)(sec)*NSEC_PER_SEC)

static const char scene_text[] = "policies:\n"
                                 "  any: {filters: [{name: a, expression: 'true', reason: r}]}\n"
                                 "nodes: {n1: {}}\n";

/* Started 100 s after the machine. */
static const StatusFixed fixed = {
    .identity = "berth-0_1",
    .started_at_sec = 1794700800, /* 2026-11-15T00:00:00Z */
    .started_at_nsec = AT(100),
    .exempt = &(Exemptions){0},
};

static void assert_page_has(int64_t wall, int64_t now, const char *part) {
    _cleanup_(buf_done) Buf page = BUF_INIT(STATUS_PAGE_MAX);
    Reloads reloads = RELOADS_INIT;
    ApiFixture fixture;

    api_fixture_init(&fixture, scene_text);
    fixture.api.fixed = fixed;
    fixture.api.reloads = &reloads;
    status_page(
        &(StatusState){
            .api = &fixture.api,
            .health = &(HealthSummary){.text = STR("healthy")},
            .view = fixture.base.view,
            .wall_nsec = wall,
            .now_nsec = now,
        },
        &page);
    buf_append_char(&page, '\0');
    assert_int_equal(buf_error(&page), 0);
    assert_non_null(strstr(page.data, part));
    api_fixture_done(&fixture);
}

/* The wall clock may be set forward and back. */
static void test_uptime_ignores_the_wall_clock(void **state) {
    static const int64_t walls[] = {AT(1794700805), AT(1794707805), AT(1794690805), 0};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(walls); i++)
        assert_page_has(walls[i], AT(105), "\"uptimeSeconds\":5,");
    assert_page_has(AT(1794700805), AT(105),
        "\"startTime\":\"2026-11-15T00:00:00Z\",\"time\":\"2026-11-15T00:00:05Z\",");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uptime_ignores_the_wall_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
