#include "base/cleanup.h"
#include "base/str.h"
#include "base/test-assert.h"

static int sign(int r) {
    return (r > 0) - (r < 0);
}

static void test_order(void **state) {
    static const struct {
        Str a, b;
        int order;
    } cases[] = {
        {STR(""), STR(""), 0},
        {STR(""), STR("a"), -1},
        {STR("a"), STR("ab"), -1},
        {STR("b"), STR("ab"), 1},
        {STR("\xff"), STR("a"), 1}, /* bytes are unsigned */
        {STR("a\0b"), STR("a\0c"), -1},
        {{NULL, 0}, STR(""), 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        assert_int_equal(sign(str_cmp(cases[i].a, cases[i].b)), cases[i].order);
        assert_int_equal(sign(str_cmp(cases[i].b, cases[i].a)), -cases[i].order);
        assert_int_equal(str_eq(cases[i].a, cases[i].b), cases[i].order == 0);
    }
}

static void test_parts(void **state) {
    Str s = STR("abcabc");

    (void)state;
    assert_true(str_has_prefix(s, STR("abc")));
    assert_true(str_has_prefix(s, STR("")));
    assert_false(str_has_prefix(STR("ab"), STR("abc")));
    assert_true(str_has_suffix(s, STR("bc")));
    assert_false(str_has_suffix(s, STR("ab")));
    assert_int_equal(str_find(s, 'b'), 1);
    assert_int_equal(str_find_last(s, 'b'), 4);
    assert_true(str_find(s, 'x') == SIZE_MAX);
    assert_true(str_find(STR_NULL, 'x') == SIZE_MAX);
    assert_true(str_find_last(STR_NULL, 'x') == SIZE_MAX);
    assert_text("skip", str_skip(s, 4), "bc");
    assert_text("skip too much", str_skip(s, 99), "");
    assert_text("take too much", str_take(s, 99), "abcabc");
    assert_text("trim", str_trim(STR(" \t\r\na b\n ")), "a b");
    assert_text("trim blanks", str_trim(STR("  \n")), "");
    assert_true(str_eq_nocase(STR("Content-LENGTH"), STR("content-length")));
    assert_false(str_eq_nocase(STR("@"), STR("`"))); /* differ in the same bit as letters */
    assert_false(str_eq_nocase(STR("a"), STR("ab")));
    assert_true(str_contains_nocase(s, STR("BCa")));
    assert_true(str_contains_nocase(s, s));
    assert_false(str_contains_nocase(s, STR("ac")));
    assert_false(str_contains_nocase(STR("ab"), s));
    assert_true(str_contains_nocase(STR_NULL, STR("")));
}

static void test_split(void **state) {
    static const struct {
        const char *text;
        const char *parts[4]; /* NULL ends */
    } cases[] = {
        {"a,b,c", {"a", "b", "c"}},
        {"a", {"a"}},
        {"", {""}},
        {",", {"", ""}},
        {"a,", {"a", ""}},
        {",a", {"", "a"}},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Str rest = str_from_c(cases[i].text), part;
        size_t n = 0;

        for (; str_split(&rest, ',', &part); n++)
            assert_text(cases[i].text, part, cases[i].parts[n]);
        assert_null(cases[i].parts[n]);
    }
}

static void test_int64(void **state) {
    static const struct {
        const char *text;
        bool is_number;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"0x10", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        int64_t value = 42;

        assert_case(
            cases[i].text, str_to_int64(str_from_c(cases[i].text), &value) == cases[i].is_number);
        assert_case(cases[i].text, value == (cases[i].is_number ? cases[i].value : 42));
    }
}

static void test_edit_distance(void **state) {
    static const struct {
        const char *a, *b;
        size_t limit, distance;
    } cases[] = {
        {"", "", 3, 0},
        {"abc", "abc", 3, 0},
        {"abc", "ABC", 3, 0}, /* case does not count */
        {"abc", "", 3, 3},
        {"abc", "abcd", 3, 1},
        {"abc", "ac", 3, 1},
        {"abc", "axc", 3, 1},
        {"abc", "acb", 3, 1}, /* neighbours swapped */
        {"nodeLabel", "nodeLabels", 3, 1},
        {"kitten", "sitting", 3, 3},
        {"kitten", "sitting", 1, 2}, /* over the limit: limit + 1 */
        {"abcdef", "uvwxyz", 3, 4},
    };
    char longer[65];

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Str a = str_from_c(cases[i].a), b = str_from_c(cases[i].b);

        assert_case(cases[i].a, str_edit_distance(a, b, cases[i].limit) == cases[i].distance);
        assert_case(cases[i].a, str_edit_distance(b, a, cases[i].limit) == cases[i].distance);
    }
    memset(longer, 'a', sizeof(longer));
    assert_int_equal(str_edit_distance(str_of(longer, 64), str_of(longer, 64), 3), 0);
    assert_true(str_edit_distance(str_of(longer, 65), STR("a"), 3) == SIZE_MAX);
}

static void test_finds_a_string_in_a_list(void **state) {
    static const Str list[] = {STR("a"), STR(""), STR("bc"), STR("a")};

    (void)state;
    assert_int_equal(str_index(STR("a"), list, 4), 0);
    assert_int_equal(str_index(STR("bc"), list, 4), 2);
    assert_int_equal(str_index(STR_NULL, list, 4), 1);
    assert_true(str_index(STR("bc"), list, 2) == SIZE_MAX);
    assert_true(str_index(STR("a"), NULL, 0) == SIZE_MAX);
    assert_true(str_is_one_of(STR("bc"), list, 4) && !str_is_one_of(STR("b"), list, 4));
}

static void test_nearest(void **state) {
    static const Str known[] = {STR("nodeLabels"), STR("podLabels"), STR("name"), STR("max")};
    static const struct {
        const char *word, *nearest;
    } cases[] = {
        {"nodeLabel", "nodeLabels"},
        {"nodelabels", "nodeLabels"},
        {"podLables", "podLabels"},
        {"nmae", "name"},
        {"mx", "max"},
        {"replicas", ""},
        {"x", ""},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_text(cases[i].word,
            str_nearest(str_from_c(cases[i].word), known, ELEMENTS_OF(known)), cases[i].nearest);
    assert_null(str_nearest(STR("name"), NULL, 0).ptr);
}

static void test_cuts_paths_after_the_last_slash(void **state) {
    static const struct {
        Str path;
        const char *folder, *name;
    } cases[] = {
        {STR("a/b/c.yaml"), "a/b/", "c.yaml"},
        {STR("/c"), "/", "c"},
        {STR("c"), "", "c"},
        {STR("a/"), "a/", ""},
        {STR(""), "", ""},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        assert_true(str_is(str_folder(cases[i].path), cases[i].folder));
        assert_true(str_is(str_file_name(cases[i].path), cases[i].name));
    }
}

static void test_knows_tokens_of_http(void **state) {
    (void)state;
    assert_true(str_is_token(STR("X-Scope_OrgID!~0")));
    assert_false(str_is_token(STR("")));
    assert_false(str_is_token(STR("a b")));
    assert_false(str_is_token(STR("a:")));
    assert_false(str_is_token(STR("a\0b")));
    assert_false(str_is_token(STR("\xc3\xa4")));
}

static void test_cuts_one_character_off_the_front(void **state) {
    Str text = STR(",,x");

    (void)state;
    assert_true(str_cut_char(&text, ','));
    assert_true(str_cut_char(&text, ','));
    assert_false(str_cut_char(&text, ','));
    assert_true(str_is(text, "x"));
    text = STR_NULL;
    assert_false(str_cut_char(&text, ','));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_int64),
        cmocka_unit_test(test_edit_distance),
        cmocka_unit_test(test_finds_a_string_in_a_list),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_cuts_paths_after_the_last_slash),
        cmocka_unit_test(test_knows_tokens_of_http),
        cmocka_unit_test(test_cuts_one_character_off_the_front),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
