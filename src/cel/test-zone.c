#include "cel/zone.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/calendar.h"
#include "base/cleanup.h"
#include "base/test-assert.h"

#define FILE_MAX ((size_t)64 * 1024)

static void read_whole(const char *path, Buf *out) {
    FILE *file = fopen(path, "rb");
    char *at = buf_reserve(out, FILE_MAX);

    assert_case(path, file != NULL);
    assert_non_null(at);
    buf_advance(out, fread(at, 1, FILE_MAX, file));
    (void)fclose(file);
}

/* --- zones.tsv, made with Python -------------------------------------------- */

/* zones.tsv describes how it was made. */
static void test_offsets_agree_with_python(void **state) {
    _cleanup_(buf_done) Buf facts = BUF_INIT(FILE_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    const CelZone *zone = NULL;
    Str rest, line, current = STR_NULL;
    size_t n = 0;

    (void)state;
    read_whole(TEST_DATA "/cel/zones.tsv", &facts);
    rest = buf_str(&facts);
    while (str_split(&rest, '\n', &line)) {
        Str name = STR_NULL, sec_text = STR_NULL, offset_text = STR_NULL;
        int64_t sec = 0, offset = 0;

        if (line.len == 0 || line.ptr[0] == '#')
            continue;
        assert_true(str_split(&line, '\t', &name) && str_split(&line, '\t', &sec_text) &&
                    str_split(&line, '\t', &offset_text));
        assert_true(str_to_int64(sec_text, &sec) && str_to_int64(offset_text, &offset));
        if (!str_eq(name, current)) {
            _cleanup_(buf_done) Buf bytes = BUF_INIT(FILE_MAX);
            char path[256];

            (void)snprintf(path, sizeof(path), TEST_DATA "/cel/zoneinfo/%.*s", STR_FMT(name));
            read_whole(path, &bytes);
            zone = cel_zone_parse(buf_str(&bytes), arena);
            assert_case(path, zone != NULL);
            current = name;
        }
        if (cel_zone_offset(zone, sec) != offset)
            print_error("%.*s at %lld: got %d\n", STR_FMT(name), (long long)sec,
                (int)cel_zone_offset(zone, sec));
        assert_int_equal(cel_zone_offset(zone, sec), offset);
        n++;
    }
    assert_true(n > 1000);
}

/* --- files made here -------------------------------------------------------- */

static void put_number(Buf *out, uint64_t value, int n_bytes) {
    for (int shift = (n_bytes - 1) * 8; shift >= 0; shift -= 8)
        buf_append_char(out, (char)(value >> shift & 0xff));
}

static void put_header(Buf *out, char version, uint32_t n_times, uint32_t n_types) {
    buf_append(out, STR("TZif"));
    buf_append_char(out, version);
    buf_append_repeat(out, '\0', 15 + 12); /* reserved; no flags, no leap seconds */
    put_number(out, n_times, 4);
    put_number(out, n_types, 4);
    put_number(out, n_types > 0 ? 4 : 0, 4);
}

/* One type and no transitions, then a rule for all time. */
static void put_rule_file(Buf *out, const char *rule) {
    put_header(out, '2', 0, 0);
    put_header(out, '2', 0, 1);
    put_number(out, 0, 6);
    buf_append(out, STR("UTC\0"));
    buf_printf(out, "\n%s\n", rule);
}

static void test_rules(void **state) {
    static const struct {
        const char *rule;
        const char *time; /* UTC */
        int32_t offset;
    } cases[] = {
        {"UTC0", "2020-06-01T00:00:00Z", 0},
        {"<-03>3", "2020-06-01T00:00:00Z", -10800},
        {"<+0545>-5:45", "2020-06-01T00:00:00Z", 20700},
        {"XXX+0:00:30", "2020-06-01T00:00:00Z", -30},
        /* the last Sunday, in a month with four and with five of them */
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2025-03-30T00:59:59Z", 3600},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2025-03-30T01:00:00Z", 7200},
        {"CET-1CEST,M2.5.0,M10.5.0/3", "2026-02-22T00:59:59Z", 3600},
        {"CET-1CEST,M2.5.0,M10.5.0/3", "2026-02-22T01:00:00Z", 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2025-10-26T00:59:59Z", 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2025-10-26T01:00:00Z", 3600},
        /* the southern hemisphere: summer time over the new year */
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2024-12-31T23:00:00Z", 39600},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2025-01-01T00:00:00Z", 39600},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2025-07-01T00:00:00Z", 36000},
        /* Jn skips February 29th, n does not */
        {"AAA0BBB,J60/0,J300/0", "2024-02-29T23:59:59Z", 0},
        {"AAA0BBB,J60/0,J300/0", "2024-03-01T00:00:00Z", 3600},
        {"AAA0BBB,J60/0,J300/0", "2023-03-01T00:00:00Z", 3600},
        {"AAA0BBB,59/0,300/0", "2024-02-28T23:59:59Z", 0},
        {"AAA0BBB,59/0,300/0", "2024-02-29T00:00:00Z", 3600},
        {"AAA0BBB,59/0,300/0", "2023-03-01T00:00:00Z", 3600},
        /* before midnight, after it by days */
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2025-03-30T00:59:59Z", -7200},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2025-03-30T01:00:00Z", -3600},
        {"EET-2EEST,M3.4.4/50,M10.4.4/50", "2025-03-28T23:59:59Z", 7200},
        {"EET-2EEST,M3.4.4/50,M10.4.4/50", "2025-03-29T00:00:00Z", 10800},
        /* a transition that falls into the year before or after its own */
        {"AAA0BBB,0/-167,J100/0", "2024-12-25T01:00:00Z", 3600},
        {"AAA0BBB,0/-167,J100/0", "2024-12-25T00:59:59Z", 0},
        {"AAA0BBB,J100/0,J365/167", "2025-01-06T21:00:00Z", 3600},
        {"AAA0BBB,J100/0,J365/167", "2025-01-06T22:00:00Z", 0},
        /* summer time all year */
        {"EST5EDT,0/0,J365/25", "2025-01-01T04:59:59Z", -14400},
        {"EST5EDT,0/0,J365/25", "2025-01-01T05:00:00Z", -14400},
        {"EST5EDT,0/0,J365/25", "2024-12-31T12:00:00Z", -14400},
        {"EST5EDT,0/0,J365/25", "2025-07-01T00:00:00Z", -14400},
        /* winter time as the exception (Ireland) */
        {"IST-1GMT0,M10.5.0,M3.5.0/1", "2025-01-01T00:00:00Z", 0},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", "2025-07-01T00:00:00Z", 3600},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "0001-01-01T00:00:00Z", 3600},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "9999-07-01T00:00:00Z", 7200},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf bytes = BUF_INIT(FILE_MAX);
        _cleanup_(arena_freep) Arena *arena = arena_new(4096);
        const CelZone *zone;
        char name[128];
        int64_t sec;
        uint32_t nanos;

        (void)snprintf(name, sizeof(name), "%s at %s", cases[i].rule, cases[i].time);
        put_rule_file(&bytes, cases[i].rule);
        zone = cel_zone_parse(buf_str(&bytes), arena);
        assert_case(name, zone != NULL);
        assert_case(name, calendar_parse(str_from_c(cases[i].time), &sec, &nanos));
        assert_case(name, cel_zone_offset(zone, sec) == cases[i].offset);
    }
}

static void test_rules_refused(void **state) {
    static const char *const rules[] = {
        "X",
        "UT0",
        "UTC",
        "UTC25",
        "UTC0:60",
        "UTC0:30:60",
        "UTC0 ",
        "<UTC0",
        "<+1>0x",
        ":Europe/Berlin",
        "CET-1CEST",
        "CET-1CEST-25,M3.5.0,M10.5.0",
        "CET-1CEST,",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M3.5.0,",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M0.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.0.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,M3.5,M10.5.0",
        "CET-1CEST,J0,J1",
        "CET-1CEST,J366,J1",
        "CET-1CEST,366,1",
        "CET-1CEST,M3.5.0/168,M10.5.0",
        "CET-1CEST,M3.5.0/-168,M10.5.0",
        "CET-1CEST,M3.5.0,M10.5.0/",
        "CET-1CEST,M3.5.0,M10.5.0,",
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(rules); i++) {
        _cleanup_(buf_done) Buf bytes = BUF_INIT(FILE_MAX);
        _cleanup_(arena_freep) Arena *arena = arena_new(4096);

        put_rule_file(&bytes, rules[i]);
        assert_case(rules[i], cel_zone_parse(buf_str(&bytes), arena) == NULL);
    }
}

/* Version 1: 32 bits, no rule; the last offset holds for ever. */
static void put_old_file(Buf *out, int32_t first, int32_t second, uint8_t type, int32_t offset) {
    put_header(out, '\0', 2, 2);
    put_number(out, (uint32_t)first, 4);
    put_number(out, (uint32_t)second, 4);
    buf_append_char(out, '\0');
    buf_append_char(out, (char)type);
    put_number(out, 100, 4);
    put_number(out, 0, 2);
    put_number(out, (uint32_t)offset, 4);
    put_number(out, 0, 2);
    buf_append(out, STR("UTC\0"));
}

static void test_old_files(void **state) {
    _cleanup_(buf_done) Buf bytes = BUF_INIT(FILE_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 16);
    const CelZone *zone;

    (void)state;
    put_old_file(&bytes, -1000, 1000, 1, -7200);
    zone = cel_zone_parse(buf_str(&bytes), arena);
    assert_non_null(zone);
    assert_int_equal(cel_zone_offset(zone, INT64_MIN), 100);
    assert_int_equal(cel_zone_offset(zone, 999), 100);
    assert_int_equal(cel_zone_offset(zone, 1000), -7200);
    assert_int_equal(cel_zone_offset(zone, INT64_MAX), -7200);
}

static void test_files_refused(void **state) {
    static const struct {
        const char *name;
        int32_t first, second;
        uint8_t type;
        int32_t offset;
    } cases[] = {
        {"not ascending", 5, 5, 1, 0},
        {"descending", 5, 4, 1, 0},
        {"no such type", 1, 2, 2, 0},
        {"an offset of days", 1, 2, 1, 26 * 3600 + 1},
        {"an offset of minus days", 1, 2, 1, INT32_MIN},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf bytes = BUF_INIT(FILE_MAX);
        _cleanup_(arena_freep) Arena *arena = arena_new(1 << 16);

        put_old_file(&bytes, cases[i].first, cases[i].second, cases[i].type, cases[i].offset);
        assert_case(cases[i].name, cel_zone_parse(buf_str(&bytes), arena) == NULL);
    }
}

/* Every prefix of a valid file is an error. */
static void test_truncated_files_are_refused(void **state) {
    _cleanup_(buf_done) Buf bytes = BUF_INIT(FILE_MAX);

    (void)state;
    read_whole(TEST_DATA "/cel/zoneinfo/Europe/Dublin", &bytes);
    for (size_t n = 0; n <= bytes.len; n++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(1 << 16);

        assert_int_equal(cel_zone_parse(str_of(bytes.data, n), arena) != NULL, n == bytes.len);
    }
}

static void test_no_memory(void **state) {
    _cleanup_(buf_done) Buf bytes = BUF_INIT(FILE_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(256);

    (void)state;
    read_whole(TEST_DATA "/cel/zoneinfo/Europe/Dublin", &bytes);
    assert_null(cel_zone_parse(buf_str(&bytes), arena));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offsets_agree_with_python),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_rules_refused),
        cmocka_unit_test(test_old_files),
        cmocka_unit_test(test_files_refused),
        cmocka_unit_test(test_truncated_files_are_refused),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
