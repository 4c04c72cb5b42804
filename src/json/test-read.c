#include "json/read.h"

#include "base/buf.h"
#include "json/test-reader.h"

typedef struct Sample {
    Str name;
    int64_t count;
    bool ready;
    double ratio;
    Str names[4];
    size_t n_names;
    size_t n_unknown;
} Sample;

static void decode_sample(JsonReader *r, Arena *arena, Sample *ret) {
    Str key;

    json_object(r);
    while (json_key(r, &key)) {
        if (json_key_is(r, key, STR("name"))) {
            json_string(r, arena, &ret->name);
        } else if (json_key_is(r, key, STR("count"))) {
            json_int64(r, &ret->count);
        } else if (json_key_is(r, key, STR("ready"))) {
            json_bool(r, &ret->ready);
        } else if (json_key_is(r, key, STR("ratio"))) {
            json_double(r, &ret->ratio);
        } else if (json_key_is(r, key, STR("names"))) {
            json_array(r);
            while (json_element(r)) {
                assert_true(ret->n_names < ELEMENTS_OF(ret->names));
                json_string(r, arena, &ret->names[ret->n_names++]);
            }
        } else {
            ret->n_unknown++;
            json_skip(r, NULL);
        }
    }
    json_end(r);
}

static void test_decodes_an_object(void **state) {
    static const Str inputs[] = {
        STR("{\"name\":\"a\\nb\",\"count\":-7,\"ready\":true,\"ratio\":0.5,\"names\":[\"x\",\"y\"],"
            "\"other\":{\"a\":[1,{}]}}"),
        STR(" { \"other\" : null , \"names\" : [ \"x\" , \"y\" ] , \"ratio\" : 5e-1 ,\n"
            " \"ready\" : true , \"count\" : -7 , \"n\\u0061me\" : \"a\\u000ab\" } "),
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(10000);

    for (size_t i = 0; i < ELEMENTS_OF(inputs); i++) {
        JsonReader reader;
        Sample s = {0};

        json_reader_init(&reader, inputs[i]);
        decode_sample(&reader, arena, &s);
        assert_error(&reader, JSON_OK, 0);
        assert_true(str_is(s.name, "a\nb"));
        assert_int_equal(s.count, -7);
        assert_true(s.ready);
        assert_true(s.ratio == 0.5);
        assert_int_equal(s.n_names, 2);
        assert_true(str_is(s.names[1], "y"));
        assert_int_equal(s.n_unknown, 1);
    }
}

/* A null is not a container, string or number: the old value stays. */
static void test_nulls(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(10000);
    Sample s = {.name = STR("old"), .count = 5, .ready = true, .ratio = 2};
    JsonReader reader;

    json_reader_init(&reader,
        STR("{\"name\":null,\"count\":null,\"ready\":null,\"ratio\":null,\"names\":null,\"x\":1}"));
    decode_sample(&reader, arena, &s);
    assert_error(&reader, JSON_OK, 0);
    assert_true(str_is(s.name, "old"));
    assert_int_equal(s.count, 5);
    assert_true(s.ready && s.ratio == 2);
    assert_int_equal(s.n_names, 0);
    assert_int_equal(s.n_unknown, 1);

    json_reader_init(&reader, STR("null "));
    decode_sample(&reader, arena, &s);
    assert_error(&reader, JSON_OK, 0);
}

static void test_decoder_errors(void **state) {
    static const struct {
        Str input;
        JsonError error;
        size_t at;
        const char *text;
    } errors[] = {
        {STR("[]"), JSON_E_TYPE, 0, "byte 0: expected an object"},
        {STR("{\"name\":1}"), JSON_E_TYPE, 8, "byte 8: expected a string"},
        {STR("{\"name\": }"), JSON_E_SYNTAX, 9, "byte 9: expected a value"},
        {STR("{\"count\":\"1\"}"), JSON_E_TYPE, 9, "byte 9: expected a whole number"},
        {STR("{\"count\":1.0}"), JSON_E_TYPE, 9, "byte 9: expected a whole number"},
        {STR("{\"count\":1e3}"), JSON_E_TYPE, 9, "byte 9: expected a whole number"},
        {STR("{\"count\":9223372036854775808}"), JSON_E_RANGE, 9,
            "byte 9: a number that does not fit 64 bits"},
        {STR("{\"ready\":0}"), JSON_E_TYPE, 9, "byte 9: expected true or false"},
        {STR("{\"ready\":tru}"), JSON_E_SYNTAX, 9, "byte 9: expected a value"},
        {STR("{\"ratio\":1e999}"), JSON_E_RANGE, 9, "byte 9: a number that does not fit a double"},
        {STR("{\"names\":{}}"), JSON_E_TYPE, 9, "byte 9: expected an array"},
        {STR("{\"names\":[1]}"), JSON_E_TYPE, 10, "byte 10: expected a string"},
        {STR("{\"names\":[\"a\",]}"), JSON_E_SYNTAX, 14, "byte 14: expected a value"},
        {STR("{\"names\":[\"a\""), JSON_E_END, 13, "byte 13: the input ends inside an array"},
        {STR("{\"x\":[1,2}"), JSON_E_SYNTAX, 9, "byte 9: expected ',' or ']'"},
        {STR("{} {"), JSON_E_TRAILING, 3, "byte 3: something follows the value"},
        {STR(""), JSON_E_END, 0, "byte 0: the input ends where a value should be"},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(10000);

    for (size_t i = 0; i < ELEMENTS_OF(errors); i++) {
        JsonReader reader;
        Sample s = {0};
        char text[100];

        json_reader_init(&reader, errors[i].input);
        decode_sample(&reader, arena, &s);
        assert_error(&reader, errors[i].error, errors[i].at);
        json_describe(&reader, text, sizeof(text));
        assert_string_equal(text, errors[i].text);
    }
}

static void test_first_error_stays(void **state) {
    JsonReader reader;
    Str text = STR("untouched"), key;
    bool escaped = true, flag = true;
    int64_t number = 3;

    json_reader_init(&reader, STR("[1]"));
    json_array(&reader);
    assert_true(json_element(&reader));
    json_string_raw(&reader, &text, &escaped);
    assert_error(&reader, JSON_E_TYPE, 1);

    json_fail(&reader, JSON_E_RANGE, "later");
    json_int64(&reader, &number);
    json_bool(&reader, &flag);
    json_skip(&reader, &text);
    json_skip_fast(&reader, &text);
    json_object(&reader);
    assert_false(json_key(&reader, &key));
    assert_false(json_element(&reader));
    assert_false(json_null(&reader));
    assert_true(str_is_empty(json_ahead(&reader)));
    assert_int_equal(json_peek(&reader), JSON_BAD);
    json_end(&reader);
    assert_error(&reader, JSON_E_TYPE, 1);
    assert_true(str_is(text, "untouched"));
    assert_true(escaped && flag && number == 3);
}

static void test_error_of_the_caller(void **state) {
    JsonReader reader;
    Str text = STR_NULL;
    bool escaped;
    char described[16];

    json_reader_init(&reader, STR(" \"In\" "));
    json_describe(&reader, described, sizeof(described));
    assert_string_equal(described, "no error");
    json_string_raw(&reader, &text, &escaped);
    json_fail(&reader, JSON_E_TYPE, "no such operator");
    assert_error(&reader, JSON_E_TYPE, 1);
    json_describe(&reader, described, sizeof(described));
    assert_string_equal(described, "byte 1: no such"); /* shortened to fit */
}

static void test_peek(void **state) {
    static const JsonToken expected[] = {JSON_OBJECT_BEGIN, JSON_ARRAY_BEGIN, JSON_STRING,
        JSON_NUMBER, JSON_NUMBER, JSON_TRUE, JSON_FALSE, JSON_NULL};
    JsonReader reader;

    json_reader_init(&reader, STR("[{}, [], \"\", 0, -1, true, false, null, x]"));
    json_array(&reader);
    assert_int_equal(json_peek(&reader), JSON_BAD); /* before json_element() there is no value */
    assert_int_equal(json_error(&reader), JSON_OK);
    for (size_t i = 0; i < ELEMENTS_OF(expected); i++) {
        assert_true(json_element(&reader));
        assert_int_equal(json_peek(&reader), expected[i]);
        json_skip(&reader, NULL);
    }
    assert_true(json_element(&reader));
    assert_int_equal(json_peek(&reader), JSON_BAD);
    assert_error(&reader, JSON_E_SYNTAX, 39);
}

static void test_int64(void **state) {
    static const struct {
        Str text;
        int64_t value;
    } numbers[] = {
        {STR("0"), 0},
        {STR("-0"), 0},
        {STR(" 42 "), 42},
        {STR("9223372036854775807"), INT64_MAX},
        {STR("-9223372036854775808"), INT64_MIN},
    };

    for (size_t i = 0; i < ELEMENTS_OF(numbers); i++) {
        JsonReader reader;
        int64_t value = 99;

        json_reader_init(&reader, numbers[i].text);
        json_int64(&reader, &value);
        json_end(&reader);
        assert_error(&reader, JSON_OK, 0);
        assert_int_equal(value, numbers[i].value);
    }
}

static void test_double(void **state) {
    static const struct {
        Str text;
        double value;
    } numbers[] = {
        {STR("0"), 0},
        {STR("-2.5e-1"), -0.25},
        {STR("123456789012345678901234567890"), 123456789012345678901234567890.0},
        {STR("1e-999"), 0},
        {STR("1.7976931348623157e308"), 1.7976931348623157e308},
    };
    char digits[JSON_DOUBLE_TEXT_MAX + 1];
    JsonReader reader;
    double value = 99;

    for (size_t i = 0; i < ELEMENTS_OF(numbers); i++) {
        json_reader_init(&reader, numbers[i].text);
        json_double(&reader, &value);
        json_end(&reader);
        assert_error(&reader, JSON_OK, 0);
        assert_true(value == numbers[i].value);
    }

    memset(digits, '1', sizeof(digits));
    json_reader_init(&reader, str_of(digits, JSON_DOUBLE_TEXT_MAX));
    json_double(&reader, &value);
    assert_error(&reader, JSON_OK, 0);
    json_reader_init(&reader, str_of(digits, sizeof(digits)));
    json_double(&reader, &value);
    assert_error(&reader, JSON_E_RANGE, 0);
}

static void test_number(void **state) {
    JsonReader reader;
    Str text = STR_NULL;

    json_reader_init(&reader, STR("[1e+30,null]"));
    json_array(&reader);
    assert_true(json_element(&reader));
    json_number(&reader, &text);
    assert_true(str_is(text, "1e+30"));
    assert_true(json_element(&reader));
    json_number(&reader, &text);
    assert_error(&reader, JSON_E_TYPE, 7);
}

/* Tests both ways of skipping, for each value of an array. */
static void test_skip(void **state) {
    static const Str values[] = {
        STR("1"),
        STR("\"a\\\"]\""),
        STR("{\"a\":[\"}\",{}],\"b\":{}}"),
        STR("[[[]],\"\xc3\xa9\"]"),
        STR("null"),
        STR("-0.5e1"),
    };
    _cleanup_(buf_done) Buf text = BUF_INIT(1000);

    for (size_t i = 0; i < ELEMENTS_OF(values); i++) {
        buf_append(&text, i == 0 ? STR("[ ") : STR(" , "));
        buf_append(&text, values[i]);
    }
    buf_append(&text, STR(" ]"));

    for (int fast = 0; fast < 2; fast++) {
        JsonReader reader;
        Str raw = STR_NULL;
        size_t i = 0;

        json_reader_init(&reader, buf_str(&text));
        json_array(&reader);
        for (; json_element(&reader); i++) {
            if (fast)
                json_skip_fast(&reader, &raw);
            else
                json_skip(&reader, &raw);
            assert_true(str_eq(raw, values[i]));
        }
        json_end(&reader);
        assert_error(&reader, JSON_OK, 0);
        assert_int_equal(i, ELEMENTS_OF(values));
    }
}

static void test_skip_validates(void **state) {
    JsonReader reader;

    json_reader_init(&reader, STR("{\"a\":[1,2},\"b\":\"\xff\"}"));
    json_skip(&reader, NULL);
    assert_error(&reader, JSON_E_SYNTAX, 9);

    json_reader_init(&reader, STR("{\"a\":[1,nope],\"b\":\"\xff\"}"));
    json_skip_fast(&reader, NULL);
    json_end(&reader);
    assert_error(&reader, JSON_OK, 0);

    json_reader_init(&reader, STR("{\"a\":["));
    json_skip_fast(&reader, NULL);
    assert_error(&reader, JSON_E_END, 6);

    json_reader_init(&reader, STR("\"a\\\""));
    json_skip_fast(&reader, NULL);
    assert_error(&reader, JSON_E_END, 4);
}

/* Finds keys with and without white space and escapes, and their values. */
static void test_keys(void **state) {
    static const char *const keys[] = {"a", "b", "c", "d", "e\\u0066", "caf\xc3\xa9", ""};
    JsonReader reader;
    Str key = STR_NULL;
    int64_t n = 0, value = 0;

    (void)state;
    json_reader_init(&reader,
        STR("{\"a\":1,\"b\" :2,\"c\": 3, \"d\":4,\"e\\u0066\":5,\"caf\xc3\xa9\":6,\"\":7}"));
    json_object(&reader);
    for (; json_key(&reader, &key); n++) {
        assert_true(n < (int64_t)ELEMENTS_OF(keys));
        assert_text("key", key, keys[n]);
        assert_int_equal(reader.escaped, n == 4);
        json_int64(&reader, &value);
        assert_int_equal(value, n + 1);
    }
    json_end(&reader);
    assert_error(&reader, JSON_OK, 0);
    assert_int_equal(n, ELEMENTS_OF(keys));
}

static void test_string_member(void **state) {
    static const struct {
        Str input;
        JsonError error;
        const char *name;
    } cases[] = {
        {STR("{\"name\":\"a\"}"), JSON_OK, "a"},
        {STR("{\"x\":{\"name\":1},\"n\\u0061me\":\"a\\nb\",\"y\":[]}"), JSON_OK, "a\nb"},
        {STR("{\"name\":null}"), JSON_OK, "untouched"},
        {STR("{}"), JSON_OK, "untouched"},
        {STR("null"), JSON_OK, "untouched"},
        {STR("{\"name\":1}"), JSON_E_TYPE, "untouched"},
        {STR("{\"x\":[}"), JSON_E_SYNTAX, "untouched"},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(10000);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        JsonReader reader;
        Str name = STR("untouched");

        json_reader_init(&reader, cases[i].input);
        json_string_member(&reader, arena, STR("name"), &name);
        assert_case(cases[i].input.ptr, json_error(&reader) == cases[i].error);
        assert_text(cases[i].input.ptr, name, cases[i].name);
    }
}

static void test_budget(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(16);
    JsonReader reader;
    Str text = STR("untouched");

    json_reader_init(&reader, STR("\"a string with an \\u0065scape and over sixteen bytes\""));
    json_string(&reader, arena, &text);
    assert_error(&reader, JSON_E_MEMORY, 0);
    assert_true(str_is(text, "untouched"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decodes_an_object),
        cmocka_unit_test(test_nulls),
        cmocka_unit_test(test_decoder_errors),
        cmocka_unit_test(test_first_error_stays),
        cmocka_unit_test(test_error_of_the_caller),
        cmocka_unit_test(test_peek),
        cmocka_unit_test(test_int64),
        cmocka_unit_test(test_double),
        cmocka_unit_test(test_number),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_skip_validates),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_string_member),
        cmocka_unit_test(test_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
