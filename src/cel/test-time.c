#include "cel/test-library.h"

#include "base/calendar.h"
#include "cel/time.h"
#include "cel/zone.h"

/* --- durations -------------------------------------------------------------- */

static void test_durations(void **state) {
    static const struct {
        const char *text;
        int64_t ns;
        const char *again;
    } cases[] = {
        {"0", 0, "0s"},
        {"-0", 0, "0s"},
        {"0s", 0, "0s"},
        {"1h30m", INT64_C(5400000000000), "5400s"},
        {"1.5h", INT64_C(5400000000000), "5400s"},
        {"-2m", INT64_C(-120000000000), "-120s"},
        {"+2m", INT64_C(120000000000), "120s"},
        {"100ms", 100000000, "0.1s"},
        {"-1ms", -1000000, "-0.001s"},
        {"1us", 1000, "0.000001s"},
        {"1\u00b5s", 1000, "0.000001s"},
        {"1\u03bcs", 1000, "0.000001s"},
        {"1ns", 1, "0.000000001s"},
        {"1.5ns", 1, "0.000000001s"},
        {".5s", 500000000, "0.5s"},
        {"1.s", 1000000000, "1s"},
        {"1m1m", INT64_C(120000000000), "120s"}, /* any order, any number of times */
        {"1s1h", INT64_C(3601000000000), "3601s"},
        {"0.33333333333333333333h", INT64_C(1200000000000), "1200s"}, /* as Go rounds */
        {"0.100000000000000000000h", INT64_C(360000000000), "360s"},
        {"12345678.123456789s", INT64_C(12345678123456789), "12345678.123456789s"},
        {"9223372036854775807ns", INT64_MAX, "9223372036.854775807s"},
        {"2562047h47m16.854775807s", INT64_MAX, "9223372036.854775807s"},
        {"-9223372036854775808ns", INT64_MIN, "-9223372036.854775808s"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(64);
        int64_t ns = 42;

        assert_case(cases[i].text, cel_duration_parse(str_from_c(cases[i].text), &ns));
        assert_case(cases[i].text, ns == cases[i].ns);
        cel_duration_print(ns, &out);
        assert_text(cases[i].text, buf_str(&out), cases[i].again);
    }
}

static void test_durations_refused(void **state) {
    static const char *const texts[] = {"", "-", "+", "1", "00", "1.", ".s", "-.s", "s", "1d",
        "1 s", " 1s", "1s ", "--1s", "1s-1s", "1H", "1.2.3s", "9223372036854775808ns",
        "-9223372036854775809ns", "9223372037s", "99999999999999999999s",
        "2562047h47m16.854775808s", "1e3s", "1\u00b5"};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        int64_t ns = 42;

        assert_case(texts[i], !cel_duration_parse(str_from_c(texts[i]), &ns));
        assert_case(texts[i], ns == 42);
    }
}

/* --- instants --------------------------------------------------------------- */

static void test_add_and_subtract(void **state) {
    int64_t sec = CALENDAR_LAST, ns;
    uint32_t nanos = 999999999;

    (void)state;
    assert_false(cel_timestamp_add(&sec, &nanos, 1));
    assert_false(cel_timestamp_subtract(&sec, &nanos, INT64_MIN + 1));
    assert_true(cel_timestamp_add(&sec, &nanos, INT64_MIN)); /* it has no negative */
    assert_true(cel_timestamp_subtract(&sec, &nanos, INT64_MIN));
    assert_true(sec == CALENDAR_LAST && nanos == 999999999);
    sec = CALENDAR_FIRST;
    nanos = 0;
    assert_false(cel_timestamp_subtract(&sec, &nanos, 1));
    assert_true(sec == CALENDAR_FIRST && nanos == 0);

    assert_true(cel_timestamp_difference(0, 0, INT64_C(9223372036), 854775808, &ns));
    assert_true(ns == INT64_MIN);
    assert_false(cel_timestamp_difference(0, 0, INT64_C(9223372036), 854775809, &ns));
    assert_true(cel_timestamp_difference(INT64_C(9223372036), 854775807, 0, 0, &ns));
    assert_true(ns == INT64_MAX);
    assert_false(cel_timestamp_difference(INT64_C(9223372036), 854775808, 0, 0, &ns));
}

/* --- functions -------------------------------------------------------------- */

#define FROM_TEXT "(string) -> timestamp"
#define UTC "timestamp.() -> int"
#define ZONE "timestamp.(string) -> int"
#define LENGTH "duration.() -> int"
/* 2009-02-13T23:31:30.123456789Z, a Friday */
#define INSTANT cel_timestamp(1234567890, 123456789)

static void test_time_functions(void **state) {
    const LibraryCase cases[] = {
        {"timestamp", FROM_TEXT, {text("1970-01-01T01:00:00.5+01:00")},
            "timestamp(\"1970-01-01T00:00:00.5Z\")"},
        {"timestamp", FROM_TEXT, {text("10000-01-01T00:00:00Z")}, "error: range"},
        {"timestamp", FROM_TEXT, {cel_string(STR_NULL)}, "error: '' is no RFC 3339 time"},
        {"timestamp", "(int) -> timestamp", {cel_int(-1)}, "timestamp(\"1969-12-31T23:59:59Z\")"},
        {"timestamp", "(int) -> timestamp", {cel_int(INT64_MAX)}, "error: timestamp overflow"},
        {"duration", "(string) -> duration", {text("1h")}, "duration(\"3600s\")"},
        {"duration", "(string) -> duration", {text("1y")}, "error: '1y' is no duration"},
        {"int", "(timestamp) -> int", {cel_timestamp(-1, 500000000)}, "-1"},
        {"int", "(duration) -> int", {cel_duration(-1)}, "-1"},
        {"string", "(timestamp) -> string", {INSTANT}, "\"2009-02-13T23:31:30.123456789Z\""},
        {"string", "(duration) -> string", {cel_duration(INT64_MIN)}, "\"-9223372036.854775808s\""},
        {"_+_", "(duration, duration) -> duration", {cel_duration(INT64_MAX), cel_duration(1)},
            "error: duration overflow"},
        {"_-_", "(duration, duration) -> duration", {cel_duration(0), cel_duration(INT64_MIN)},
            "error: duration overflow"},
        {"_-_", "(timestamp, timestamp) -> duration",
            {cel_timestamp(CALENDAR_FIRST, 0), cel_timestamp(CALENDAR_LAST, 0)},
            "error: duration overflow"},
        {"_-_", "(timestamp, duration) -> timestamp",
            {cel_timestamp(CALENDAR_FIRST, 0), cel_duration(1)}, "error: timestamp overflow"},
        {"_+_", "(duration, timestamp) -> timestamp",
            {cel_duration(1), cel_timestamp(CALENDAR_LAST, 999999999)},
            "error: timestamp overflow"},
        {"getFullYear", UTC, {INSTANT}, "2009"},
        {"getMonth", UTC, {INSTANT}, "1"},
        {"getDayOfYear", UTC, {INSTANT}, "43"},
        {"getDayOfMonth", UTC, {INSTANT}, "12"},
        {"getDate", UTC, {INSTANT}, "13"},
        {"getDayOfWeek", UTC, {INSTANT}, "5"},
        {"getHours", UTC, {INSTANT}, "23"},
        {"getMinutes", UTC, {INSTANT}, "31"},
        {"getSeconds", UTC, {INSTANT}, "30"},
        {"getMilliseconds", UTC, {INSTANT}, "123"},
        {"getMilliseconds", UTC, {cel_timestamp(-1, 999000000)}, "999"},
        {"getHours", ZONE, {INSTANT, text("UTC")}, "23"},
        {"getHours", ZONE, {INSTANT, cel_string(STR_NULL)}, "23"},
        {"getDate", ZONE, {INSTANT, text("+00:29")}, "14"},
        {"getHours", ZONE, {INSTANT, text("-5:3")}, "18"},
        {"getMinutes", ZONE, {INSTANT, text("-00:30")}, "1"},
        {"getFullYear", ZONE, {cel_timestamp(CALENDAR_FIRST, 0), text("-00:01")}, "0"},
        {"getFullYear", ZONE, {cel_timestamp(CALENDAR_LAST, 0), text("00:01")}, "10000"},
        {"getHours", ZONE, {INSTANT, text("+24:00")}, "error: unknown time zone '+24:00'"},
        {"getHours", ZONE, {INSTANT, text("+01:60")}, "error: unknown time zone"},
        {"getHours", ZONE, {INSTANT, text("+01:")}, "error: unknown time zone"},
        {"getHours", ZONE, {INSTANT, text(":30")}, "error: unknown time zone"},
        {"getHours", ZONE, {INSTANT, text("+01:00:00")}, "error: unknown time zone"},
        {"getHours", ZONE, {INSTANT, text("+-1:00")}, "error: unknown time zone"},
        {"getHours", ZONE, {INSTANT, text("Local")}, "error: unknown time zone 'Local'"},
        {"getHours", ZONE, {INSTANT, text("Europe/Berlin")}, "error: unknown time zone"},
        {"getHours", LENGTH, {cel_duration(INT64_C(-90000000000000))}, "-25"},
        {"getMinutes", LENGTH, {cel_duration(INT64_C(3730000000000))}, "62"},
        {"getSeconds", LENGTH, {cel_duration(INT64_C(-3730500000000))}, "-3730"},
        {"getMilliseconds", LENGTH, {cel_duration(INT64_C(123321456789))}, "321"},
        {"getMilliseconds", LENGTH, {cel_duration(INT64_C(-3730500000000))}, "-500"},
        {"getMilliseconds", LENGTH, {cel_duration(INT64_MIN)}, "-854"},
    };

    (void)state;
    library_check_all(cel_time_library, cases);
    library_starve_all(cel_time_library, cases);
}

/* --- zones ------------------------------------------------------------------ */

/* One zone named X, an hour ahead. */
typedef struct OneZone {
    CelZones base;
    const CelZone *zone;
} OneZone;

static const CelZone *find_x(const CelZones *zones, Str name) {
    return str_is(name, "X") ? ((const OneZone *)zones)->zone : NULL;
}

static void test_zones(void **state) {
    static const char bytes[] = "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4"
                                "\0\0\0\0\0\0XXX\0\nXXX-1\n";
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 16);
    OneZone zones = {{find_x}, cel_zone_parse(str_of(bytes, sizeof(bytes) - 1), arena)};
    LibraryCase wanted = {"getHours", ZONE, {INSTANT, text("X")}, NULL};
    CelRun run = CEL_RUN(arena);
    CelValue v;

    (void)state;
    assert_non_null(zones.zone);
    run.zones = &zones.base;
    v = library_call(&cel_time_library, &wanted, &run);
    assert_int_equal(v.kind, CEL_INT);
    assert_int_equal(v.i, 0);
    wanted.args[1] = text("Y");
    v = library_call(&cel_time_library, &wanted, &run);
    assert_int_equal(v.kind, CEL_ERROR);
    assert_text("Y", v.error->text, "unknown time zone 'Y'");
    assert_true(v.error->hint.len > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_durations_refused),
        cmocka_unit_test(test_add_and_subtract),
        cmocka_unit_test(test_time_functions),
        cmocka_unit_test(test_zones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
