#include "cel/run.h"

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/test-value.h"

static void test_charge(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);

    (void)state;
    run.fuel = 10;
    assert_true(cel_charge(&run, 10));
    assert_int_equal(run.fuel, 0);
    assert_true(cel_charge(&run, 0));
    assert_false(cel_charge(&run, 1));
    run.fuel = 10;
    assert_false(cel_charge(&run, UINT64_MAX));
    assert_int_equal(run.fuel, 0);
    run.fuel = 10;
    assert_true(cel_charge_bytes(&run, 71));
    assert_int_equal(run.fuel, 1);
    assert_null(run.limit); /* set by the code that runs out of fuel */
    assert_value(&run, "fuel", cel_exhausted(&run),
        "error: out of fuel: the expression does more work than one evaluation may");
    assert_true(cel_no_memory(&run).error == run.limit); /* the first reason is kept */
}

static void test_errors(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    char changing[] = "text";
    CelValue v = cel_fail(&run, "%s %d", changing, 5);

    (void)state;
    changing[0] = 'X';
    assert_value(&run, "copied", v, "error: text 5");
    assert_false(v.error->is_limit);
    assert_value(&run, "plain", cel_fail(&run, "plain"), "error: plain");
    v = cel_fail_hint(&run, str_of(changing, 4), STR("hint"));
    changing[0] = 'Y';
    assert_text("text", v.error->text, "Xext");
    assert_text("hint", v.error->hint, "hint");
    assert_value(&run, "overload", cel_no_overload(&run), "error: no such overload");
    assert_value(&run, "key", cel_no_such_key(&run, S("zone")), "error: no such key: zone");
    assert_value(&run, "key", cel_no_such_key(&run, S("")), "error: no such key: ");
    assert_value(&run, "key", cel_no_such_key(&run, cel_uint(5)), "error: no such key: 5u");
    assert_true(cel_no_such_key(&run, S("zone")).error->hint.len > 0);
    v = cel_no_such_thing(&run, "metric", STR("load"));
    assert_value(&run, "thing", v, "error: metric load is absent");
    assert_true(v.error->is_absence && v.error->hint.len > 0);
    assert_true(cel_no_such_key(&run, S("zone")).error->is_absence);
    assert_true(cel_no_such_key(&run, cel_uint(5)).error->is_absence);
    assert_false(cel_no_overload(&run).error->is_absence);
}

static void test_excerpt(void **state) {
    static const char umlauts[] = "aäääääääääääääääääääääääääääääääääääääääää";
    Str whole = str_from_c(umlauts), cut = cel_excerpt(whole);

    (void)state;
    assert_int_equal(cut.len, 63); /* a code point is not cut */
    assert_true(str_has_prefix(whole, cut));
    assert_text("short", cel_excerpt(STR("a")), "a");
}

/* An error's text has a limit, for values of any length. */
static void test_long_error(void **state) {
    static char text[100000];
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_true(cel_fail(&run, "%.*s", (int)sizeof(text), text).error->text.len == 1023);
    memcpy(text + 1022, "\xc3\xa9", 2);
    assert_true(cel_fail(&run, "%.*s", (int)sizeof(text), text).error->text.len == 1022);
    assert_true(
        cel_no_such_key(&run, cel_string(str_of(text, sizeof(text)))).error->text.len < 300);
    assert_true(cel_no_such_key(&run, cel_bytes(str_of(text, sizeof(text)))).error->text.len < 300);
}

static void test_no_memory(void **state) {
    static char text[4096];
    _cleanup_(arena_freep) Arena *arena = arena_new(1024);
    CelRun run = CEL_RUN(arena);
    CelValue v;

    (void)state;
    v = cel_make_string(&run, str_of(text, sizeof(text)));
    assert_int_equal(v.kind, CEL_ERROR);
    assert_true(v.error->is_limit && v.error == run.limit);
    assert_null(cel_list_begin(&run, 100));
    assert_null(cel_list_begin(&run, SIZE_MAX / 8));
    assert_null(cel_map_begin(&run, SIZE_MAX / 16));
    while (cel_alloc(&run, 64))
        ;
    while (cel_alloc(&run, 1))
        ;
    assert_true(cel_fail(&run, "no room even for this").error->is_limit);
}

static void test_make_string(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    char changing[] = "text";
    CelValue v = cel_make_string(&run, str_of(changing, 4));

    (void)state;
    changing[0] = 'X';
    assert_value(&run, "copied", v, "\"text\"");
    assert_value(&run, "empty", cel_make_string(&run, STR_NULL), "\"\"");
    assert_value(&run, "bytes", cel_make_bytes(&run, STR("a\0b")), "b\"a\\x00b\"");
    run.fuel = 3;
    assert_true(cel_make_string(&run, STR("more than three times eight bytes")).error->is_limit);
}

static CelValue map_of_two(CelRun *run, CelValue a, CelValue b) {
    CelEntry *entries = cel_map_begin(run, 2);

    assert_non_null(entries);
    entries[0] = (CelEntry){a, cel_int(1)};
    entries[1] = (CelEntry){b, cel_int(2)};
    return cel_map_end(run, entries, 2);
}

/* fields/…/map_value_repeat_key, …_heterogeneous, map_key_float, map_key_null */
static void test_map_keys(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    const struct {
        CelValue a, b;
        const char *text;
    } cases[] = {
        {S("a"), S("b"), "{\"a\": 1, \"b\": 2}"},
        {S("a"), S("a"), "error: repeated key: \"a\""},
        {cel_int(0), cel_uint(0), "error: repeated key: 0u"},
        {cel_int(0), cel_bool(false), "{0: 1, false: 2}"},
        {cel_bool(true), cel_bool(true), "error: repeated key: true"},
        {S("1"), cel_int(1), "{\"1\": 1, 1: 2}"},
        {S("a"), cel_double(1), "error: unsupported key type"},
        {S("a"), cel_null(), "error: unsupported key type"},
        {B("a"), S("a"), "error: unsupported key type"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_value(&run, cases[i].text, map_of_two(&run, cases[i].a, cases[i].b), cases[i].text);
}

/* Repeated keys among many are found, in linear time. */
static void test_many_keys(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(64 * TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    const size_t n = 200000;
    CelEntry *entries = cel_map_begin(&run, n);

    (void)state;
    assert_non_null(entries);
    for (size_t i = 0; i < n; i++)
        entries[i] = (CelEntry){cel_int((int64_t)i << 20), cel_null()};
    assert_int_equal(cel_map_end(&run, entries, n).kind, CEL_MAP);
    entries[n - 1].key = cel_uint(5 << 20);
    assert_value(&run, "repeated", cel_map_end(&run, entries, n), "error: repeated key: 5242880u");
    run.fuel = (int64_t)n;
    assert_true(cel_map_end(&run, entries, n).error->is_limit);
}

static void test_depth(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    CelValue list = cel_list_end(&run, NULL, 0), optional = cel_none();

    (void)state;
    assert_int_equal(cel_depth(list), 1);
    for (int i = 1; i < CEL_VALUE_DEPTH_MAX; i++) {
        CelValue *items = cel_list_begin(&run, 1);

        assert_non_null(items);
        items[0] = list;
        list = cel_list_end(&run, items, 1);
    }
    assert_int_equal(cel_depth(list), CEL_VALUE_DEPTH_MAX);
    assert_true(cel_equal(list, list, &run));
    assert_int_equal(cel_list_end(&run, &list, 1).kind, CEL_ERROR);
    assert_int_equal(cel_make_optional(&run, list).kind, CEL_ERROR);
    assert_null(run.limit); /* an error like others */

    for (int i = 0; i < CEL_VALUE_DEPTH_MAX; i++)
        optional = cel_make_optional(&run, optional);
    assert_int_equal(optional.kind, CEL_OPTIONAL);
    assert_true(cel_equal(optional, optional, &run));
    assert_int_equal(cel_make_optional(&run, optional).kind, CEL_ERROR);
    assert_int_equal(cel_list_end(&run, &optional, 1).kind, CEL_ERROR);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_charge),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_excerpt),
        cmocka_unit_test(test_long_error),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_make_string),
        cmocka_unit_test(test_map_keys),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
