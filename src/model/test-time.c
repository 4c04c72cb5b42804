#include "base/rng.h"
#include "model/time.h"

#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/test-assert.h"

static void test_parse(void **state) {
    static const struct {
        const char *text;
        int64_t sec;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:01Z", 1},
        {"1969-12-31T23:59:59Z", -1},
        {"2026-11-15T08:09:10Z", INT64_C(1794730150)},
        {"2038-01-19T03:14:08Z", INT64_C(1) << 31},
        {"2000-02-29T00:00:00Z", 951782400},
        {"1900-03-01T00:00:00Z", INT64_C(-2203891200)},
        {"0001-01-01T00:00:00Z", CALENDAR_FIRST},
        {"9999-12-31T23:59:59Z", CALENDAR_LAST},
        /* offsets: local time less the offset is UTC */
        {"1970-01-01T01:00:00+01:00", 0},
        {"1969-12-31T18:30:00-05:30", 0},
        {"1970-01-01T00:00:00+00:00", 0},
        {"1970-01-01T00:00:00-00:00", 0},
        {"1970-01-01T23:59:00+23:59", 0},
        {"9999-12-31T23:59:59+00:01", CALENDAR_LAST - 60},
        /* fractions are dropped, also before 1970 */
        {"1970-01-01T00:00:00.999999Z", 0},
        {"1970-01-01T00:00:01.5+00:00", 1},
        {"1969-12-31T23:59:59.999Z", -1},
        {"1970-01-01T00:00:00.1234567890123456789012345678901234567890Z", 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        int64_t sec = INT64_MIN;

        assert_case(cases[i].text, time_parse(str_from_c(cases[i].text), &sec));
        assert_case(cases[i].text, sec == cases[i].sec);
    }
}

static void test_rejects_invalid_times(void **state) {
    static const char *const texts[] = {
        "",
        "Z",
        "2026",
        "2026-11-15",
        "2026-11-15T08:09:10",
        "2026-11-15T08:09Z",
        "2026-11-15 08:09:10Z",
        "2026-11-15t08:09:10Z",
        "2026-11-15T08:09:10z",
        "2026-11-15T8:09:10Z",
        "026-11-15T08:09:10Z",
        "12026-11-15T08:09:10Z",
        "+2026-11-15T08:09:10Z",
        " 2026-11-15T08:09:10Z",
        "2026-11-15T08:09:10Z ",
        "2026-11-15T08:09:10ZZ",
        "2026/11/15T08:09:10Z",
        "2026-11-15T08-09-10Z",
        "2026-1x-15T08:09:10Z",
        "2026-00-15T08:09:10Z",
        "2026-13-15T08:09:10Z",
        "2026-11-00T08:09:10Z",
        "2026-11-31T08:09:10Z",
        "2026-12-32T08:09:10Z",
        "2025-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-11-15T24:00:00Z",
        "2026-11-15T08:60:10Z",
        "2016-12-31T23:59:60Z", /* a leap second that was */
        "2026-11-15T08:09:10.Z",
        "2026-11-15T08:09:10,5Z",
        "2026-11-15T08:09:10.5",
        "2026-11-15T08:09:10+01",
        "2026-11-15T08:09:10+0100",
        "2026-11-15T08:09:10+24:00",
        "2026-11-15T08:09:10+00:60",
        "2026-11-15T08:09:10+-1:00",
        "2026-11-15T08:09:10+01:00Z",
        "0000-12-31T23:59:59Z",
        "0001-01-01T00:00:00+00:01", /* in year 0 of UTC */
        "9999-12-31T23:59:59-00:01",
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        int64_t sec = 42;

        assert_case(texts[i], !time_parse(str_from_c(texts[i]), &sec));
        assert_case(texts[i], sec == 42);
    }
    assert_false(time_parse(STR("2026-11-15T08:09:10Z\0"), &(int64_t){0}));
    assert_false(time_parse(STR("2026-11-15\00008:09:10Z"), &(int64_t){0}));
}

static void check_print(int64_t sec, const char *want) {
    _cleanup_(buf_done) Buf out = BUF_INIT(64);

    time_print(sec, &out);
    assert_text(want, buf_str(&out), want);
}

static void test_print(void **state) {
    (void)state;
    check_print(0, "1970-01-01T00:00:00Z");
    check_print(-1, "1969-12-31T23:59:59Z");
    check_print(INT64_C(1794730150), "2026-11-15T08:09:10Z");
    check_print(CALENDAR_FIRST, "0001-01-01T00:00:00Z");
    check_print(CALENDAR_FIRST - 1, "0001-01-01T00:00:00Z");
    check_print(INT64_MIN, "0001-01-01T00:00:00Z");
    check_print(CALENDAR_LAST, "9999-12-31T23:59:59Z");
    check_print(CALENDAR_LAST + 1, "9999-12-31T23:59:59Z");
    check_print(INT64_MAX, "9999-12-31T23:59:59Z");
}

/* Parsing and printing, compared with libc. */
static void check_against_libc(int64_t sec) {
    _cleanup_(buf_done) Buf out = BUF_INIT(64);
    struct tm parts;
    time_t as_time = (time_t)sec;
    char want[64];
    int64_t back = INT64_MIN;

    assert_non_null(gmtime_r(&as_time, &parts));
    (void)snprintf(want, sizeof(want), "%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900,
        parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
    time_print(sec, &out);
    assert_text(want, buf_str(&out), want);
    assert_case(want, time_parse(buf_str(&out), &back));
    assert_case(want, back == sec);
    assert_case(want, timegm(&parts) == (time_t)sec);
}

static void test_every_day(void **state) {
    (void)state;
    for (int64_t sec = CALENDAR_FIRST; sec <= CALENDAR_LAST; sec += INT64_C(86400) * 7 + 1)
        check_against_libc(sec);
    for (int year = 1; year <= 9999; year += 1) { /* around the days that leap years move */
        struct tm march = {.tm_year = year - 1900, .tm_mon = 2, .tm_mday = 1};
        struct tm january = {.tm_year = year - 1900, .tm_mon = 0, .tm_mday = 1};

        check_against_libc((int64_t)timegm(&march) - 1);
        check_against_libc((int64_t)timegm(&march));
        check_against_libc((int64_t)timegm(&january));
    }
}

static void test_random_seconds(void **state) {
    Rng rng = {.state = 1};

    (void)state;
    for (size_t i = 0; i < 100000; i++)
        check_against_libc(
            CALENDAR_FIRST + (int64_t)rng_pick(&rng, CALENDAR_LAST - CALENDAR_FIRST + 1));
}

static void test_decode(void **state) {
    static const struct {
        const char *json;
        JsonError error;
        int64_t sec;
    } cases[] = {
        {"\"1970-01-01T00:00:07Z\"", JSON_OK, 7},
        {"\"1970-01-01T00:00:0\\u0037Z\"", JSON_OK, 7},
        {"null", JSON_OK, 42},
        {"\"\"", JSON_OK, 0},
        {"\"yesterday\"", JSON_OK, 0},
        {"\"2026-01-02 03:04:05Z\"", JSON_OK, 0},
        {"7", JSON_OK, 0},
        {"{\"a\":[1]}", JSON_OK, 0},
        {"{\"a\":tru}", JSON_E_SYNTAX, 42},
        {"\"1970", JSON_E_END, 42},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(4096);
        int64_t sec = 42;
        JsonReader reader;

        json_reader_init(&reader, str_from_c(cases[i].json));
        time_decode(&reader, arena, &sec);
        assert_case(cases[i].json, json_error(&reader) == cases[i].error);
        assert_case(cases[i].json, sec == cases[i].sec);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_rejects_invalid_times),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_every_day),
        cmocka_unit_test(test_random_seconds),
        cmocka_unit_test(test_decode),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
