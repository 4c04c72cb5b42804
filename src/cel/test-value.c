#include "cel/value.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/run.h"
#include "cel/test-value.h"
#include "cel/type.h"

static CelValue list_of(CelRun *run, size_t n, const CelValue *values) {
    CelValue *items = cel_list_begin(run, n);

    assert_non_null(items);
    for (size_t i = 0; i < n; i++)
        items[i] = values[i];
    return cel_list_end(run, items, n);
}
#define LIST(...)                                                                                  \
    list_of(&run, sizeof((CelValue[]){__VA_ARGS__}) / sizeof(CelValue), (CelValue[]){__VA_ARGS__})

static CelValue map_of(CelRun *run, size_t n, const CelValue *keys_and_values) {
    CelEntry *entries = cel_map_begin(run, n);

    assert_non_null(entries);
    for (size_t i = 0; i < n; i++)
        entries[i] = (CelEntry){keys_and_values[2 * i], keys_and_values[2 * i + 1]};
    return cel_map_end(run, entries, n);
}
#define MAP(...)                                                                                   \
    map_of(                                                                                        \
        &run, sizeof((CelValue[]){__VA_ARGS__}) / sizeof(CelValue) / 2, (CelValue[]){__VA_ARGS__})

/* Numbers across kinds; LOSSY: the integer is rounded to a double, as the conformance suite
 * requires. */
static void test_compare(void **state) {
    const double big = 0x1p63, bigger = 0x1p64;
    const struct {
        CelValue a, b;
        CelOrder order;
    } cases[] = {
        {cel_int(1), cel_int(2), CEL_LESS},
        {cel_int(-1), cel_uint(UINT64_MAX), CEL_LESS},
        {cel_int(-1), cel_uint(0), CEL_LESS},
        {cel_int(INT64_MAX), cel_uint(INT64_MAX), CEL_SAME},
        {cel_int(INT64_MAX), cel_uint((uint64_t)INT64_MAX + 1), CEL_LESS},
        {cel_int(1), cel_double(1.5), CEL_LESS},
        {cel_int(INT64_MAX), cel_double(big), CEL_SAME}, /* LOSSY */
        {cel_int(INT64_MAX - 1), cel_double(big), CEL_SAME},
        {cel_int(INT64_MAX), cel_double(nextafter(big, INFINITY)), CEL_LESS},
        {cel_int(INT64_MIN), cel_double(-big), CEL_SAME},
        {cel_int(INT64_MIN), cel_double(nextafter(-big, -INFINITY)), CEL_GREATER},
        {cel_int(9007199254740993), cel_double(9007199254740992.0), CEL_SAME}, /* LOSSY */
        {cel_uint(UINT64_MAX), cel_double(bigger), CEL_SAME},                  /* LOSSY */
        {cel_uint(UINT64_MAX), cel_double(nextafter(bigger, INFINITY)), CEL_LESS},
        {cel_uint(0), cel_double(-0.5), CEL_GREATER},
        {cel_uint(0), cel_double(-0.0), CEL_SAME},
        {cel_int(0), cel_double(NAN), CEL_UNORDERED},
        {cel_uint(0), cel_double(NAN), CEL_UNORDERED},
        {cel_double(NAN), cel_double(NAN), CEL_UNORDERED},
        {cel_int(0), cel_double(INFINITY), CEL_LESS},
        {cel_double(-0.0), cel_double(0), CEL_SAME},
        {cel_bool(false), cel_bool(true), CEL_LESS},
        {S("a"), S("ab"), CEL_LESS},
        {S(""), S(""), CEL_SAME},
        {S("\xf0\x90\x80\x80"), S("\xef\xbf\xbf"), CEL_GREATER}, /* U+10000, U+FFFF */
        {B("\xff"), B("a"), CEL_GREATER},
        {cel_duration(-1), cel_duration(1), CEL_LESS},
        {cel_timestamp(1, 999999999), cel_timestamp(2, 0), CEL_LESS},
        {cel_timestamp(1, 5), cel_timestamp(1, 4), CEL_GREATER},
        {S("a"), B("a"), CEL_NO_ORDER},
        {cel_int(1), cel_bool(true), CEL_NO_ORDER},
        {cel_null(), cel_null(), CEL_NO_ORDER},
        {cel_type(&cel_int_type), cel_type(&cel_int_type), CEL_NO_ORDER},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelOrder order = cases[i].order;
        CelOrder back = order == CEL_LESS ? CEL_GREATER : order == CEL_GREATER ? CEL_LESS : order;

        if (cel_compare(cases[i].a, cases[i].b) != order ||
            cel_compare(cases[i].b, cases[i].a) != back)
            fail_msg("case %zu", i);
    }
}

static void test_equal(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    CelValue one = cel_int(1), nan = cel_double(NAN);
    const struct {
        CelValue a, b;
        bool equal;
    } cases[] = {
        {cel_null(), cel_null(), true},
        {cel_null(), cel_bool(false), false},
        {cel_bool(true), cel_bool(true), true},
        {cel_bool(true), one, false},
        {one, cel_uint(1), true},
        {one, cel_double(1), true},
        {one, S("1"), false},
        {nan, nan, false},
        {S("a"), S("a"), true},
        {S("a"), B("a"), false},
        {cel_duration(5), cel_duration(5), true},
        {cel_duration(5), cel_int(5), false},
        {cel_timestamp(5, 1), cel_timestamp(5, 1), true},
        {cel_timestamp(5, 1), cel_timestamp(5, 2), false},
        {cel_type(&cel_int_type), cel_type(&cel_int_type), true},
        {cel_type(&cel_int_type), cel_type(&cel_uint_type), false},
        {LIST(one, S("a")), LIST(cel_double(1), S("a")), true},
        {LIST(one, S("a")), LIST(S("a"), one), false},
        {LIST(one), LIST(one, one), false},
        {LIST(nan), LIST(nan), false},
        {LIST(one), MAP(one, one), false},
        {MAP(S("a"), one, S("b"), nan), MAP(S("b"), nan, S("a"), one), false},
        {MAP(S("a"), one, S("b"), one), MAP(S("b"), one, S("a"), one), true},
        {MAP(one, one), MAP(cel_uint(1), cel_double(1)), true},
        {MAP(one, one), MAP(cel_bool(true), one), false},
        {MAP(one, one), MAP(one, cel_int(2)), false},
        {cel_none(), cel_none(), true},
        {cel_none(), cel_make_optional(&run, one), false},
        {cel_make_optional(&run, one), cel_make_optional(&run, cel_uint(1)), true},
        {cel_make_optional(&run, one), one, false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        if (cel_equal(cases[i].a, cases[i].b, &run) != cases[i].equal ||
            cel_equal(cases[i].b, cases[i].a, &run) != cases[i].equal)
            fail_msg("case %zu", i);
    }
    assert_null(run.limit);
}

/* Equality charges for the bytes it compares. */
static void test_equal_fuel(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    CelValue *items = cel_list_begin(&run, 1000);
    CelValue list;

    (void)state;
    assert_non_null(items);
    for (size_t i = 0; i < 1000; i++)
        items[i] = cel_int((int64_t)i);
    list = cel_list_end(&run, items, 1000);
    run.fuel = 500;
    assert_false(cel_equal(list, list, &run));
    assert_non_null(run.limit);
    assert_true(run.limit->is_limit);
    assert_int_equal(run.fuel, 0);
}

static void test_map_find(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    CelValue small = MAP(cel_int(1), S("int"), cel_bool(true), S("bool"), S("1"), S("string"),
        cel_uint(UINT64_MAX), S("max"), cel_int(-1), S("minus"));
    const struct {
        CelValue key;
        const char *found;
    } cases[] = {
        {cel_int(1), "\"int\""},
        {cel_uint(1), "\"int\""},
        {cel_double(1), "\"int\""},
        {cel_double(1.5), "absent"},
        {cel_double(NAN), "absent"},
        {cel_double(INFINITY), "absent"},
        {cel_bool(true), "\"bool\""},
        {cel_bool(false), "absent"},
        {S("1"), "\"string\""},
        {S(""), "absent"},
        {B("1"), "absent"},
        {cel_int(-1), "\"minus\""},
        {cel_double(-1), "\"minus\""},
        {cel_uint(UINT64_MAX), "\"max\""},
        {cel_double(0x1p64), "absent"},
        {cel_double(-0x1p63), "absent"},
        {cel_null(), "absent"},
        {small, "absent"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_value(
            &run, cases[i].found, cel_map_find(small.map, cases[i].key, &run), cases[i].found);
}

/* With an index: the same results, for many keys of all kinds. */
static void test_map_find_indexed(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    CelEntry *entries = cel_map_begin(&run, 3000);
    CelValue map;

    (void)state;
    assert_non_null(entries);
    for (int64_t i = 0; i < 1000; i++) {
        Str name = arena_printf(arena, "key-%d", (int)i);

        assert_non_null(name.ptr);
        entries[3 * i] = (CelEntry){cel_string(name), cel_int(i)};
        entries[3 * i + 1] = (CelEntry){cel_int(-i), cel_int(i)};
        entries[3 * i + 2] = (CelEntry){cel_uint((uint64_t)i + 1), cel_int(i)};
    }
    map = cel_map_end(&run, entries, 3000);
    assert_int_equal(map.kind, CEL_MAP);
    assert_non_null(map.map->index);
    for (int64_t i = 0; i < 1000; i++) {
        Str name = arena_printf(arena, "key-%d", (int)i);

        assert_true(cel_map_find(map.map, cel_string(name), &run).i == i);
        assert_true(cel_map_find(map.map, cel_double(-(double)i), &run).i == i);
        assert_true(cel_map_find(map.map, cel_int(i + 1), &run).i == i);
    }
    assert_int_equal(cel_map_find(map.map, S("key-1000"), &run).kind, CEL_ABSENT);
    assert_int_equal(cel_map_find(map.map, cel_int(1001), &run).kind, CEL_ABSENT);
    assert_int_equal(cel_map_find(map.map, cel_bool(true), &run).kind, CEL_ABSENT);
}

static void test_print(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    const struct {
        CelValue v;
        const char *text;
    } cases[] = {
        {cel_null(), "null"},
        {cel_bool(true), "true"},
        {cel_int(INT64_MIN), "-9223372036854775808"},
        {cel_uint(UINT64_MAX), "18446744073709551615u"},
        {cel_double(1), "1.0"},
        {cel_double(-0.0), "-0.0"},
        {cel_double(1e20), "1e+20"},
        {cel_double(0.1), "0.1"},
        {cel_double(NAN), "double(\"NaN\")"},
        {cel_double(INFINITY), "double(\"Infinity\")"},
        {cel_double(-INFINITY), "double(\"-Infinity\")"},
        {S(""), "\"\""},
        {S("a'\"\\\n\r\t\x01\x7f"), "\"a'\\\"\\\\\\n\\r\\t\\u0001\\u007f\""},
        {S("\xc3\xa9\xe2\x80\xae"), "\"\xc3\xa9\\u202e\""},
        {B("a\"\xff\n\x01"), "b\"a\\\"\\xff\\n\\x01\""},
        {cel_duration(1500000000), "duration(\"1.5s\")"},
        {cel_timestamp(0, 0), "timestamp(\"1970-01-01T00:00:00Z\")"},
        {cel_type(&cel_int_type), "int"},
        {cel_type(&cel_list_type), "list"},
        {LIST(cel_int(1), cel_uint(2)), "[1, 2u]"},
        {MAP(S("a"), cel_double(1.5), cel_bool(true), cel_null()), "{\"a\": 1.5, true: null}"},
        {cel_none(), "optional.none()"},
        {cel_make_optional(&run, LIST(S("a"))), "optional.of([\"a\"])"},
        {cel_fail(&run, "x"), "error: x"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_value(&run, cases[i].text, cases[i].v, cases[i].text);
}

static void test_print_cut(void **state) {
    const struct {
        CelValue v;
        size_t max;
        const char *text;
    } cases[] = {
        {S("abc"), 5, "\"abc\""},
        {S("abcd"), 5, "\"abcd…"},
        {S("abcdef"), 4, "\"abc…"},
        {S("\xc3\xa9\xc3\xa9"), 4, "\"\xc3\xa9…"}, /* not in the middle of a character */
        {cel_int(12345), 2, "12…"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(1024);

        buf_append(&out, STR("> "));
        cel_value_print(cases[i].v, NULL, cases[i].max, &out);
        assert_text(cases[i].text, str_skip(buf_str(&out), 2), cases[i].text);
    }
}

/* An object of the host: two fields, the second of which may be absent; it contains itself. */
typedef struct Box {
    CelRecord head;
    int64_t size;
    const struct Box *next;
} Box;

static CelValue box_get(const CelRecord *record, uint32_t field, CelRun *run) {
    const Box *box = (const Box *)record;

    (void)run;
    if (field == 0)
        return cel_int(box->size);
    return box->next ? cel_record(&box->next->head) : cel_absent();
}

static const CelField box_fields[] = {{.name = {"size", 4}}, {.name = {"next", 4}}};
static const CelRecordType box_type = {
    .name = {"Box", 3}, .fields = box_fields, .n_fields = 2, .get = box_get};

static void test_records(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    _cleanup_(buf_done) Buf out = BUF_INIT(1024 * 1024);
    CelRun run = CEL_RUN(arena);
    Box inner = {{&box_type}, 1, NULL}, twin = {{&box_type}, 1, NULL};
    Box a = {{&box_type}, 2, &inner}, b = {{&box_type}, 2, &twin}, round = {{&box_type}, 3, NULL},
        other = round;

    (void)state;
    assert_value(&run, "record", cel_record(&a.head), "Box{size: 2, next: Box{size: 1}}");
    assert_true(cel_equal(cel_record(&a.head), cel_record(&b.head), &run));
    assert_false(cel_equal(cel_record(&a.head), cel_record(&inner.head), &run));
    twin.size = 7;
    assert_false(cel_equal(cel_record(&a.head), cel_record(&b.head), &run));

    round.next = &round; /* deeper than any value may be; it still ends */
    other.next = &other;
    assert_null(run.limit);
    assert_false(cel_equal(cel_record(&round.head), cel_record(&other.head), &run));
    assert_non_null(run.limit);
    cel_value_print(cel_record(&round.head), &run, 0, &out);
    assert_int_equal(buf_error(&out), 0);
}

/* A list and a map of the host: nothing is copied, elements are fetched. */
static CelValue square_at(const CelList *list, uint32_t i, CelRun *run) {
    (void)list;
    (void)run;
    return cel_int((int64_t)i * i);
}

static CelEntry square_entry(const CelMap *map, uint32_t i, CelRun *run) {
    (void)map;
    (void)run;
    return (CelEntry){cel_int(i), cel_int((int64_t)i * i)};
}

static CelValue square_find(const CelMap *map, CelValue key, CelRun *run) {
    (void)run;
    if (key.kind != CEL_INT || (uint64_t)key.i >= map->n)
        return cel_absent();
    return cel_int(key.i * key.i);
}

static void test_host_lists_and_maps(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    const CelList squares = {.n = 3, .depth = 1, .at = square_at};
    const CelMap map = {.n = 3, .depth = 1, .find = square_find, .at = square_entry};

    (void)state;
    assert_value(&run, "list", cel_list(&squares), "[0, 1, 4]");
    assert_value(&run, "map", cel_map(&map), "{0: 0, 1: 1, 2: 4}");
    assert_true(cel_equal(cel_list(&squares), LIST(cel_int(0), cel_int(1), cel_int(4)), &run));
    assert_value(&run, "find", cel_map_find(&map, cel_double(2), &run), "4");
    assert_value(&run, "find", cel_map_find(&map, cel_uint(3), &run), "absent");
}

static void test_type_of(void **state) {
    (void)state;
    assert_ptr_equal(cel_type_of(cel_int(1)), &cel_int_type);
    assert_ptr_equal(cel_type_of(cel_none()), &cel_optional_type);
    assert_ptr_equal(cel_type_of(cel_type(&cel_int_type)), &cel_type_type);
    for (int kind = 0; kind < CEL_N_KINDS; kind++)
        assert_non_null(cel_type_of((CelValue){.kind = (uint8_t)kind}));
    for (int kind = CEL_QUANTITY; kind < CEL_N_KINDS; kind++)
        assert_non_null(cel_opaque_of_kind((CelKind)kind));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_equal_fuel),
        cmocka_unit_test(test_map_find),
        cmocka_unit_test(test_map_find_indexed),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_print_cut),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_host_lists_and_maps),
        cmocka_unit_test(test_type_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
