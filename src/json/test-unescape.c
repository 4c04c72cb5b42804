/* Tests json_unescape() and the comparison of keys with escapes. */

#include "base/test-assert.h"
#include "json/read.h"

static void test_unescape(void **state) {
    static const struct {
        Str raw, text;
    } texts[] = {
        {STR(""), STR("")},
        {STR("plain"), STR("plain")},
        {STR("\\\"\\\\\\/\\b\\f\\n\\r\\t"), STR("\"\\/\b\f\n\r\t")},
        {STR("a\\u0041\\u00e9\\u20AC\\uD83D\\uDEA2z"),
            STR("aA\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\xa2z")},
        {STR("\\u0000"), STR("\0")},
        {STR("\\udbff\\udfff"), STR("\xf4\x8f\xbf\xbf")},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(10000);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        Str text = json_unescape(texts[i].raw, arena);

        assert_non_null(text.ptr);
        assert_true(str_eq(text, texts[i].text));
    }
}

static void test_key_is(void **state) {
    static const struct {
        Str object;
        const char *name;
        bool is;
    } keys[] = {
        {STR("{\"name\":1}"), "name", true},
        {STR("{\"name\":1}"), "nam", false},
        {STR("{\"nam\":1}"), "name", false},
        {STR("{\"n\\u0061me\":1}"), "name", true},
        {STR("{\"n\\u0061m\":1}"), "name", false},
        {STR("{\"n\\u0061mes\":1}"), "name", false},
        {STR("{\"a\\nb\":1}"), "a\\nb", false}, /* the same bytes, but not the same text */
        {STR("{\"a\\nb\":1}"), "a\nb", true},
        {STR("{\"\\u20ac\":1}"), "\xe2\x82\xac", true},
        {STR("{\"\\u20ac\":1}"), "\xe2\x82", false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(keys); i++) {
        JsonReader reader;
        Str key;

        json_reader_init(&reader, keys[i].object);
        json_object(&reader);
        assert_true(json_key(&reader, &key));
        assert_int_equal(json_key_is(&reader, key, str_from_c(keys[i].name)), keys[i].is);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unescape),
        cmocka_unit_test(test_key_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
