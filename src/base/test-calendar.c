#include "base/calendar.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/test-assert.h"

/* model/test-time.c compares whole times with libc. Here are the cases it does not cover: other
 * years, weekdays, fractions. */

static void test_dates_far_away(void **state) {
    static const struct {
        CalendarDate date;
        int64_t days;
        int weekday;
    } cases[] = {
        {{1970, 1, 1}, 0, 4},
        {{1969, 12, 31}, -1, 3},
        {{2000, 2, 29}, 11016, 2},
        {{2000, 3, 1}, 11017, 3},
        {{1, 1, 1}, -719162, 1},
        {{0, 12, 31}, -719163, 0},
        {{0, 3, 1}, -719468, 3},
        {{0, 2, 29}, -719469, 2},
        {{0, 1, 1}, -719528, 6},
        {{-1, 12, 31}, -719529, 5},
        {{-400, 3, 1}, -719468 - 146097, 3},
        {{-401, 1, 1}, -719528 - 146097 - 365, 5},
        {{9999, 12, 31}, 2932896, 5},
        {{10000, 1, 1}, 2932897, 6},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char name[32];
        CalendarDate back = calendar_date(cases[i].days);

        (void)snprintf(name, sizeof(name), "%lld", (long long)cases[i].days);
        assert_case(name, calendar_days(cases[i].date) == cases[i].days);
        assert_case(name, back.year == cases[i].date.year);
        assert_case(name, back.month == cases[i].date.month && back.day == cases[i].date.day);
        assert_case(name, calendar_weekday(cases[i].days) == cases[i].weekday);
    }
}

/* Day after day through 1,200 years around year 0: the next date is the next day. */
static void test_dates_follow(void **state) {
    CalendarDate date = {.year = -600, .month = 1, .day = 1};
    int64_t days = calendar_days(date);

    (void)state;
    for (; date.year < 600; days++) {
        CalendarDate got = calendar_date(days);

        assert_int_equal(got.year, date.year);
        assert_int_equal(got.month, date.month);
        assert_int_equal(got.day, date.day);
        assert_int_equal(calendar_days(date), days);
        if (++date.day > calendar_month_days(date.year, date.month)) {
            date.day = 1;
            if (++date.month > 12) {
                date.month = 1;
                date.year++;
            }
        }
    }
}

static void test_day_of_a_second(void **state) {
    int second;

    (void)state;
    assert_int_equal(calendar_day_of(0, &second), 0);
    assert_int_equal(second, 0);
    assert_int_equal(calendar_day_of(-1, &second), -1);
    assert_int_equal(second, 86399);
    assert_int_equal(calendar_day_of(-86400, &second), -1);
    assert_int_equal(second, 0);
    assert_int_equal(calendar_day_of(86399, &second), 0);
    assert_int_equal(second, 86399);
}

static void test_fractions(void **state) {
    static const struct {
        const char *text;
        uint32_t nanos;
        const char *again;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0, NULL}, {"1970-01-01T00:00:00.0Z", 0, "1970-01-01T00:00:00Z"},
        {"1970-01-01T00:00:00.5Z", 500000000, NULL},
        {"1970-01-01T00:00:00.500Z", 500000000, "1970-01-01T00:00:00.5Z"},
        {"1969-12-31T23:59:59.000000001Z", 1, NULL},
        {"1969-12-31T23:59:59.999999999Z", 999999999, NULL},
        {"1970-01-01T00:00:00.9999999999Z", 999999999, "1970-01-01T00:00:00.999999999Z"},
        {"1970-01-01T01:00:00.01+01:00", 10000000, "1970-01-01T00:00:00.01Z"},
        {"0000-12-31T23:59:59-00:01", 0, "0001-01-01T00:00:59Z"}, /* in year 1 of UTC */
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(64);
        int64_t sec;
        uint32_t nanos;

        assert_case(cases[i].text, calendar_parse(str_from_c(cases[i].text), &sec, &nanos));
        assert_case(cases[i].text, nanos == cases[i].nanos);
        calendar_print(sec, nanos, &out);
        assert_text(cases[i].text, buf_str(&out), cases[i].again ? cases[i].again : cases[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dates_far_away),
        cmocka_unit_test(test_dates_follow),
        cmocka_unit_test(test_day_of_a_second),
        cmocka_unit_test(test_fractions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
