#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "json/fields.h"

typedef struct Item {
    Str text, nested, deep, raw, inner;
    bool flag;
    int64_t number;
    uint64_t count;
    double real;
    size_t n_elements, n_custom;
    const Str *names;
    size_t n_names;
} Item;

static void count_element(JsonReader *reader, Arena *arena, void *target) {
    ((Item *)target)->n_elements++;
    json_skip(reader, NULL);
}

static void count_custom(JsonReader *reader, Arena *arena, void *target) {
    ((Item *)target)->n_custom++;
    json_skip(reader, NULL);
}

static const JsonField object_fields[] = {JSON_MEMBER("inner", TEXT, Item, inner)};

static const JsonField fields[] = {
    {"text", JSON_FIELD_TEXT, offsetof(Item, text)},
    {"a.nested", JSON_FIELD_TEXT, offsetof(Item, nested)},
    {"a.b.c.deep", JSON_FIELD_TEXT, offsetof(Item, deep)},
    {"flag", JSON_FIELD_BOOL, offsetof(Item, flag)},
    {"number", JSON_FIELD_INT, offsetof(Item, number)},
    {"count", JSON_FIELD_COUNT, offsetof(Item, count)},
    {"real", JSON_FIELD_DOUBLE, offsetof(Item, real)},
    {"raw", JSON_FIELD_RAW, offsetof(Item, raw)},
    {"list", JSON_FIELD_ARRAY, .read = count_element},
    {"custom", JSON_FIELD_CUSTOM, .read = count_custom},
    {"object", JSON_FIELD_CUSTOM, JSON_FIELDS(object_fields)},
    JSON_LIST("names", Item, names, n_names, 2, json_read_text),
};

static JsonError read_item(const char *json, Arena *arena, Item *ret) {
    JsonReader reader;

    *ret = (Item){0};
    json_reader_init(&reader, str_from_c(json));
    JSON_READ_FIELDS(&reader, arena, fields, ret);
    json_end(&reader);
    return json_error(&reader);
}

static void test_reads_fields_by_path_and_skips_others(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1024 * 1024);
    Item item;

    assert_int_equal(
        read_item("{\"other\": {\"text\": \"no\"}, \"text\": \"yes\", \"flag\": true,"
                  " \"a\": {\"x\": [1], \"nested\": \"in\", \"b\": {\"c\": {\"deep\": \"down\"}}},"
                  " \"number\": -3, \"count\": -1, \"real\": 2.5,"
                  " \"list\": [1, {}, []], \"custom\": [1, 2],"
                  " \"object\": {\"text\": \"no\", \"inner\": \"here\"}}",
            arena, &item),
        JSON_OK);
    assert_true(str_is(item.text, "yes") && str_is(item.nested, "in") && str_is(item.deep, "down"));
    assert_true(item.flag && item.number == -3 && item.count == 0 && item.real == 2.5);
    assert_true(item.n_elements == 3 && item.n_custom == 1);
    assert_true(str_is(item.inner, "here"));
    (void)state;
}

static void test_null_number_is_nan(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1024 * 1024);
    Item item;

    assert_int_equal(read_item("{\"real\": null}", arena, &item), JSON_OK);
    assert_true(isnan(item.real));
    (void)state;
}

static void test_raw_value_is_its_text(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1024 * 1024);
    Item item;

    assert_int_equal(read_item("{\"raw\": {\"a\": [1, \"\\n\"]} }", arena, &item), JSON_OK);
    assert_true(str_is(item.raw, "{\"a\": [1, \"\\n\"]}"));
    assert_int_equal(read_item("{\"raw\": null}", arena, &item), JSON_OK);
    assert_null(item.raw.ptr);
    assert_int_equal(read_item("{\"raw\": [1,]}", arena, &item), JSON_E_SYNTAX);
    (void)state;
}

static void test_wrong_types_are_errors_of_the_reader(void **state) {
    static const char *const wrong[] = {"[]", "{\"text\": 1}", "{\"flag\": \"x\"}",
        "{\"number\": 1.5}", "{\"list\": {}}", "{\"a\":"};
    _cleanup_(arena_freep) Arena *arena = arena_new(1024 * 1024);
    Item item;

    for (size_t i = 0; i < ELEMENTS_OF(wrong); i++)
        if (read_item(wrong[i], arena, &item) == JSON_OK)
            fail_msg("accepted: %s", wrong[i]);
    (void)state;
}

static void test_keys_that_are_too_long_are_skipped(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1024 * 1024);
    char json[512];
    Item item;

    memset(json, 'k', sizeof(json));
    memcpy(json, "{\"", 2);
    memcpy(json + 300, "\": 1, \"text\": \"x\"}", sizeof("\": 1, \"text\": \"x\"}"));
    assert_int_equal(read_item(json, arena, &item), JSON_OK);
    assert_true(str_is(item.text, "x"));
    (void)state;
}

static void test_key_with_nul_is_another_key(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1024 * 1024);
    Item item;

    assert_int_equal(read_item("{\"text\\u0000x\": \"no\"}", arena, &item), JSON_OK);
    assert_null(item.text.ptr);
    (void)state;
}

/* A key that cannot be decoded must not be skipped: its field would be lost. */
static void test_key_over_the_budget_is_an_error(void **state) {
    static const JsonField keys[] = {{JSON_NAME("flag"), JSON_FIELD_BOOL, offsetof(Item, flag)}};
    static const char *const texts[] = {"{\"fl\\u0061g\": true}", "{\"fl\\u0061g\": [true]}"};

    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(2);
        Item item = {0};
        JsonReader reader;
        Str key;

        assert_int_equal(read_item(texts[i], arena, &item), JSON_E_MEMORY);
        json_reader_init(&reader, str_from_c(texts[i]));
        JSON_READ_KEYS(&reader, arena, keys, &item);
        assert_int_equal(json_error(&reader), JSON_E_MEMORY);
        json_reader_init(&reader, str_from_c(texts[i]));
        json_read_parts(&reader, arena, keys, ELEMENTS_OF(keys), 0, &item);
        assert_int_equal(json_error(&reader), JSON_E_MEMORY);
        json_reader_init(&reader, str_from_c(texts[i]));
        json_object(&reader);
        assert_true(json_key(&reader, &key));
        assert_false(json_read_key(&reader, arena, keys, ELEMENTS_OF(keys), key, &item));
        assert_int_equal(json_error(&reader), JSON_E_MEMORY);
    }
    (void)state;
}

static void test_keys_in_any_order(void **state) {
    static const JsonField keys[] = {
        {JSON_NAME("text"), JSON_FIELD_TEXT, offsetof(Item, text)},
        {JSON_NAME("flag"), JSON_FIELD_BOOL, offsetof(Item, flag), .part = 1},
        {JSON_NAME("number"), JSON_FIELD_INT, offsetof(Item, number), .part = 2},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(1024 * 1024);
    Item item = {0};
    JsonReader reader;

    json_reader_init(&reader, STR("{\"number\": 3, \"x\": {}, \"te\\u0078t\": \"a\","
                                  " \"flag\": true, \"text\": \"b\", \"tex\": 1}"));
    JSON_READ_KEYS(&reader, arena, keys, &item);
    assert_int_equal(json_error(&reader), JSON_OK);
    assert_true(item.number == 3 && item.flag && str_is(item.text, "b"));

    item = (Item){0};
    json_reader_init(&reader, STR("{\"flag\": true, \"number\": 3, \"text\": \"a\"}"));
    json_read_parts(&reader, arena, keys, ELEMENTS_OF(keys), 2, &item);
    assert_true(item.number == 3 && !item.flag && str_is(item.text, "a"));
    (void)state;
}

static void test_reads_a_list_up_to_its_limit(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1024 * 1024);
    Item item;

    assert_int_equal(
        read_item("{\"names\": [\"a\", null, {\"skipped\": 1}]}", arena, &item), JSON_OK);
    assert_int_equal(item.n_names, 2);
    assert_true(str_is(item.names[0], "a"));
    assert_true(str_is_empty(item.names[1]));
    assert_int_equal(read_item("{\"names\": null}", arena, &item), JSON_OK);
    assert_int_equal(item.n_names, 0);
    assert_int_equal(read_item("{\"names\": [1]}", arena, &item), JSON_E_TYPE);
    assert_int_equal(read_item("{\"names\": [\"a\", \"b\", tru]}", arena, &item), JSON_E_SYNTAX);
}

static void test_list_over_the_budget_is_an_error(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(8);
    Item item;

    assert_int_equal(read_item("{\"names\": [\"a\"]}", arena, &item), JSON_E_MEMORY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_fields_by_path_and_skips_others),
        cmocka_unit_test(test_reads_a_list_up_to_its_limit),
        cmocka_unit_test(test_list_over_the_budget_is_an_error),
        cmocka_unit_test(test_key_with_nul_is_another_key),
        cmocka_unit_test(test_key_over_the_budget_is_an_error),
        cmocka_unit_test(test_keys_in_any_order),
        cmocka_unit_test(test_null_number_is_nan),
        cmocka_unit_test(test_raw_value_is_its_text),
        cmocka_unit_test(test_wrong_types_are_errors_of_the_reader),
        cmocka_unit_test(test_keys_that_are_too_long_are_skipped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
