/* Tests the fast path for arrays of names, and when it must not be used. */

#include "base/buf.h"
#include "json/test-reader.h"

static void test_string_raw(void **state) {
    JsonReader reader;
    Str text = STR_NULL;
    bool escaped;

    json_reader_init(&reader, STR("[\"plain\", \"caf\xc3\xa9\",\"a\\u0062\",null]"));
    json_array(&reader);
    assert_true(json_element(&reader));
    json_string_raw(&reader, &text, &escaped);
    assert_true(str_is(text, "plain") && !escaped);
    assert_true(json_element(&reader));
    json_string_raw(&reader, &text, &escaped);
    assert_true(str_is(text, "caf\xc3\xa9") && !escaped);
    assert_true(json_element(&reader));
    json_string_raw(&reader, &text, &escaped);
    assert_true(str_is(text, "a\\u0062") && escaped);
    assert_true(json_element(&reader));
    json_string_raw(&reader, &text, &escaped);
    assert_error(&reader, JSON_E_TYPE, 28);
}

/* Names of all lengths, so that they cross the borders of windows in every way. */
static void test_names_of_all_lengths(void **state) {
    _cleanup_(buf_done) Buf text = BUF_INIT(100000);
    JsonReader reader;
    Str name = STR_NULL;
    bool escaped;
    size_t n = 0;

    buf_append_char(&text, '[');
    for (size_t len = 0; len < 200; len++) {
        buf_append(&text, len > 0 ? STR(",\"") : STR("\""));
        buf_append_repeat(&text, (char)('a' + len % 26), len);
        buf_append_char(&text, '"');
    }
    buf_append_char(&text, ']');

    json_reader_init(&reader, buf_str(&text));
    json_array(&reader);
    for (; json_element(&reader); n++) {
        json_string_raw(&reader, &name, &escaped);
        assert_int_equal(name.len, n);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(name.ptr[i], 'a' + n % 26);
    }
    json_end(&reader);
    assert_error(&reader, JSON_OK, 0);
    assert_int_equal(n, 200);
}

/* A value skipped by its brackets may be longer than the window; strings after it must still be
 * read. */
static void test_string_behind_a_long_skip(void **state) {
    for (size_t len = 0; len < 300; len++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(1000);
        JsonReader reader;
        Str name = STR_NULL;
        bool escaped = true;

        buf_append(&text, STR("[\"first\",\""));
        buf_append_repeat(&text, 'x', len);
        buf_append(&text, STR("\",\"behind\",\""));
        buf_append_repeat(&text, 'y', 100);
        buf_append(&text, STR("\"]"));
        json_reader_init(&reader, buf_str(&text));
        json_array(&reader);
        assert_true(json_element(&reader));
        json_string_raw(&reader, &name, &escaped);
        assert_text("first", name, "first");
        assert_true(json_element(&reader));
        json_skip_fast(&reader, NULL);
        assert_true(json_element(&reader));
        json_string_raw(&reader, &name, &escaped);
        assert_text("behind", name, "behind");
        assert_true(json_element(&reader));
        json_string_raw(&reader, &name, &escaped);
        assert_int_equal(name.len, 100);
        assert_false(json_element(&reader));
        json_end(&reader);
        assert_error(&reader, JSON_OK, 0);
    }
}

/* An expected string is recognized by comparing its bytes. */
static void test_take_elements(void **state) {
    static const Str input = STR("[\"a\",\"b\",\"cc\", \"d\"]");
    JsonReader reader;
    Str text = STR_NULL;
    bool escaped;

    json_reader_init(&reader, input);
    assert_true(str_is_empty(json_ahead(&reader)));
    json_array(&reader);
    assert_true(str_is_empty(json_ahead(&reader))); /* the first one has no comma */
    assert_true(json_element(&reader));
    assert_true(str_is_empty(json_ahead(&reader)));
    json_string_raw(&reader, &text, &escaped);
    assert_true(str_is(json_ahead(&reader), ",\"b\",\"cc\", \"d\"]"));
    json_take_elements(&reader, strlen(",\"b\",\"cc\""), strlen("[\"a\",\"b\","));
    assert_true(str_is(json_ahead(&reader), ", \"d\"]"));
    assert_true(json_element(&reader));
    json_string_raw(&reader, &text, &escaped);
    assert_true(str_is(text, "d"));
    assert_false(json_element(&reader));
    assert_true(str_is_empty(json_ahead(&reader)));
    json_end(&reader);
    assert_error(&reader, JSON_OK, 0);
}

/* An error points to the last element. */
static void test_error_is_at_the_last_element(void **state) {
    JsonReader reader;
    Str text;
    bool escaped;

    json_reader_init(&reader, STR("[\"a\",\"b\",\"cc\"]"));
    json_array(&reader);
    assert_true(json_element(&reader));
    json_string_raw(&reader, &text, &escaped);
    json_take_elements(&reader, strlen(",\"b\",\"cc\""), strlen("[\"a\",\"b\","));
    json_fail(&reader, JSON_E_TYPE, "unwanted");
    assert_error(&reader, JSON_E_TYPE, 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_string_raw),
        cmocka_unit_test(test_names_of_all_lengths),
        cmocka_unit_test(test_string_behind_a_long_skip),
        cmocka_unit_test(test_take_elements),
        cmocka_unit_test(test_error_is_at_the_last_element),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
