#include "cluster/loads.h"

#include "cluster/test-measured.h"

/* Paris, as it is in winter. */
static bool to_utc(const LoadZones *zones, Str zone, int64_t local_sec, int64_t *ret_sec) {
    (void)zones;
    *ret_sec = local_sec - 3600;
    return str_is(zone, "Europe/Paris");
}

static const LoadZones paris = {.to_utc = to_utc};

static void test_texts_of_annotations(void **state) {
    static const struct {
        const char *text, *zone;
        double number; /* NaN: no value */
        int64_t at;    /* after NOW */
    } cases[] = {
        {"0.25,2026-01-02T03:04:05Z", "", 0.25, 0},
        {"0,2026-01-02T03:04:05Z", "", 0, 0},
        {"-1.5e3,2026-01-02T03:04:06Z", "", -1500, SEC},
        {" 0.25 , 2026-01-02T03:04:05Z ", "", 0.25, 0},
        {"0.25,2026-01-02T04:04:05+01:00", "", 0.25, 0},
        {"0.25,2026-01-02T03:04:05.5Z", "", 0.25, SEC / 2},
        {"", "", NAN, 0},
        {"0.25", "", NAN, 0},
        {"0.25,", "", NAN, 0},
        {",2026-01-02T03:04:05Z", "", NAN, 0},
        {"x,2026-01-02T03:04:05Z", "", NAN, 0},
        {"NaN,2026-01-02T03:04:05Z", "", NAN, 0},
        {"+Inf,2026-01-02T03:04:05Z", "", NAN, 0},
        {"1e999,2026-01-02T03:04:05Z", "", NAN, 0},
        {"0.25,2026-01-02T03:04:05", "", NAN, 0},
        {"0.25,2026-13-02T03:04:05Z", "", NAN, 0},
        {"0.25,2026-01-02T03:04:05Z,more", "", NAN, 0},
        {"0.25,1767323045", "", NAN, 0},
        {"0.25,0001-01-01T00:00:00Z", "", NAN, 0}, /* not in nanoseconds since 1970 */
        {"0.25,9999-12-31T23:59:59Z", "", NAN, 0},
        {"0.25,2026-01-02T04:04:05Z", "Europe/Paris", 0.25, 0},
        {"0.25,2026-01-02T04:04:05", "Europe/Paris", 0.25, 0},
        {"0.25,2026-01-02T04:04:05+09:00", "Europe/Paris", 0.25, 0},
        {"0.25,2026-01-02T04:04:05x", "Europe/Paris", NAN, 0},
        {"0.25,2026-01-02T04:04", "Europe/Paris", NAN, 0},
        {"0.25,2026-01-02T04:04:05Z", "Nowhere", NAN, 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        double number = NAN;
        int64_t at = 0;
        bool is_there = annotation_read(
            str_from_c(cases[i].text), str_from_c(cases[i].zone), &paris, &number, &at);

        assert_case(cases[i].text, is_there == !isnan(cases[i].number));
        assert_case(cases[i].text, is_number(number, cases[i].number));
        assert_case(cases[i].text, !is_there || at == NOW + cases[i].at);
    }
    assert_false(annotation_read(
        STR("1,2026-01-02T04:04:05Z"), STR("Europe/Paris"), NULL, &(double){0}, &(int64_t){0}));
}

/* Ages are relative to the wall clock; until_nsec is on the monotonic clock. */
static void test_annotations(void **state) {
    LoadsFixture fixture;

    (void)state;
    fixture_open(&fixture);
    fixture_use_annotations(&fixture);
    fixture_annotate(&fixture, "a", "0.5,2026-01-02T03:04:05Z");
    fixture_annotate(&fixture, "old", "0.5,2026-01-02T02:56:04Z");
    fixture_annotate(&fixture, "odd", "0.5");
    fixture_add_node(&fixture, "none");
    fixture_publish(&fixture);
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "a"), 0.5);
    assert_number(fixture_number(&fixture, 2, LOAD_MEASURED, "a"), 0.5);
    assert_int_equal(fixture_time(&fixture, 2, "a"), NOW);
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "old"), NAN);
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "odd"), NAN);
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "none"), NAN);
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "nobody"), NAN);
    assert_int_equal(fixture.loads.until_nsec, UPTIME + 480 * SEC + 1);
    fixture.input.now_nsec += 480 * SEC; /* the clock was set */
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "a"), 0.5);
    assert_int_equal(fixture.loads.until_nsec, UPTIME + 1);
    fixture.input.now_nsec++;
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "a"), NAN);
    assert_int_equal(fixture_time(&fixture, 2, "a"), 0);
    assert_int_equal(fixture.loads.until_nsec, INT64_MAX);
    fixture_close(&fixture);
}

/* After a step of the wall clock no chunk is shared, not even an unchanged one. */
static void test_annotations_after_a_step(void **state) {
    static const struct {
        int64_t step, value;
    } cases[] = {
        {3600, -1}, {0, 1}, {-3600, -1}, {0, 1}, {400, 1}, {479, 1}, {31536000, -1}, {0, 1}};
    LoadsFixture fixture;

    (void)state;
    fixture_open(&fixture);
    fixture_use_annotations(&fixture);
    fixture_annotate(&fixture, "a", "1,2026-01-02T03:04:05Z");
    fixture_publish(&fixture);
    fixture_sample(&fixture, 0);
    fixture_set(&fixture, 0, "a", 5, 0);
    fixture_build(&fixture);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        KnownLoads known = {fixture_table(&fixture), &fixture.loads};
        Loads next;

        fixture.input.now_nsec = NOW + cases[i].step * SEC;
        assert_true(loads_clock_was_set(&fixture.loads, fixture.input.now_nsec, UPTIME));
        assert_int_equal(
            loads_build(&fixture.input, fixture_table(&fixture), &known, fixture.arena, &next), 0);
        loads_release(&fixture.loads);
        fixture.loads = next;
        assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "a"),
            cases[i].value < 0 ? NAN : (double)cases[i].value);
        assert_number(
            fixture_number(&fixture, 0, LOAD_VALUE, "a"), 5); /* more than any clock differs */
        assert_false(
            loads_clock_was_set(&fixture.loads, fixture.input.now_nsec + SEC, UPTIME + SEC));
    }
    fixture_close(&fixture);
}

static void test_annotations_from_the_future(void **state) {
    LoadsFixture fixture;

    (void)state;
    fixture_open(&fixture);
    fixture_use_annotations(&fixture);
    fixture_annotate(&fixture, "soon", "1,2026-01-02T03:09:05Z"); /* five minutes ahead */
    fixture_annotate(&fixture, "late", "2,2026-01-02T03:09:06Z");
    fixture_publish(&fixture);
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "soon"), 1);
    assert_int_equal(fixture_time(&fixture, 2, "soon"), NOW); /* it counts as now */
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "late"), NAN);
    assert_int_equal(fixture.loads.until_nsec, UPTIME + SEC); /* then it may expire */
    fixture_pass(&fixture, SEC);
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "late"), 2);
    fixture_close(&fixture);
}

static void test_annotations_with_a_zone(void **state) {
    LoadsFixture fixture;

    (void)state;
    fixture_open(&fixture);
    fixture_use_annotations(&fixture);
    fixture.gauges[2].zone = STR("Europe/Paris");
    fixture_annotate(&fixture, "a", "1,2026-01-02T04:04:05Z");
    fixture_publish(&fixture);
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "a"), NAN); /* no zone is known */
    fixture.input.zones = &paris;
    fixture_build(&fixture);
    assert_number(fixture_number(&fixture, 2, LOAD_VALUE, "a"), 1);
    assert_int_equal(fixture_time(&fixture, 2, "a"), NOW);
    fixture_close(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_of_annotations),
        cmocka_unit_test(test_annotations),
        cmocka_unit_test(test_annotations_after_a_step),
        cmocka_unit_test(test_annotations_from_the_future),
        cmocka_unit_test(test_annotations_with_a_zone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
