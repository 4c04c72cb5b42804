#include "base/rng.h"
#include "json/write.h"

#include <errno.h>
#include <math.h>

#include "base/test-assert.h"
#include "json/read.h"

static void assert_written(Buf *out, const char *expected) {
    assert_int_equal(buf_error(out), 0);
    assert_text(expected, buf_str(out), expected);
    buf_reset(out);
}

static void write_sample(JsonWriter *w) {
    json_write_object(w);
    json_write_key(w, STR("empty"));
    json_write_object(w);
    json_write_end_object(w);
    json_write_key(w, STR("list"));
    json_write_array(w);
    json_write_int(w, -1);
    json_write_bool(w, true);
    json_write_null(w);
    json_write_array(w);
    json_write_end_array(w);
    json_write_raw(w, STR("{\"a\":1}"));
    json_write_end_array(w);
    json_write_member(w, STR("last"), STR("x"));
    json_write_end_object(w);
}

static void test_compact(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);
    JsonWriter w = JSON_WRITER(&out);

    write_sample(&w);
    assert_written(&out, "{\"empty\":{},\"list\":[-1,true,null,[],{\"a\":1}],\"last\":\"x\"}");
}

static void test_indent(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);
    JsonWriter w = JSON_WRITER(&out);

    w.indent = 2;
    write_sample(&w);
    assert_written(&out, "{\n"
                         "  \"empty\": {},\n"
                         "  \"list\": [\n"
                         "    -1,\n"
                         "    true,\n"
                         "    null,\n"
                         "    [],\n"
                         "    {\"a\":1}\n"
                         "  ],\n"
                         "  \"last\": \"x\"\n"
                         "}");
}

static void test_texts(void **state) {
    static const Str texts[] = {STR("a"), STR("\"")};
    Buf out = BUF_INIT(1024);
    JsonWriter writer = JSON_WRITER(&out);

    (void)state;
    json_write_object(&writer);
    json_member_texts(&writer, "none", NULL, 0);
    json_member_texts(&writer, "two", texts, ELEMENTS_OF(texts));
    json_write_end_object(&writer);
    assert_true(str_is(buf_str(&out), "{\"none\":[],\"two\":[\"a\",\"\\\"\"]}"));
    buf_done(&out);
}

static void test_quote(void **state) {
    static const struct {
        Str text;
        const char *quoted;
    } cases[] = {
        {STR(""), "\"\""}, {STR("node-1"), "\"node-1\""}, {STR("a\"b\\c/d"), "\"a\\\"b\\\\c/d\""},
        {STR("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""}, {STR("\x01\x1f\x7f"), "\"\\u0001\\u001f\x7f\""},
        {STR("a\0b"), "\"a\\u0000b\""}, {STR("<&>"), "\"<&>\""},
        {STR("caf\xc3\xa9 \xf0\x9f\x9a\xa2"), "\"caf\xc3\xa9 \xf0\x9f\x9a\xa2\""},
        {STR("\xe2\x80\xa8|\xe2\x80\xa9|\xe2\x80\xaa"), "\"\\u2028|\\u2029|\xe2\x80\xaa\""},
        {STR("\xff|\xc3"), "\"\\ufffd|\\ufffd\""},
        {STR("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\""}, /* a surrogate */
        {STR("\xc0\xaf"), "\"\\ufffd\\ufffd\""},            /* overlong */
    };
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        json_quote(&out, cases[i].text);
        assert_written(&out, cases[i].quoted);
    }
    json_quote(&out, STR_NULL);
    assert_written(&out, "\"\"");
}

/* A quoted string reads back unchanged, at any length. */
static void test_quote_reads_back(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(10000);
    _cleanup_(arena_freep) Arena *arena = arena_new(100000);
    char text[200];

    for (size_t len = 0; len < sizeof(text); len++) {
        JsonReader reader;
        Str read = STR_NULL;

        for (size_t i = 0; i < len; i++)
            text[i] = (char)((i * 7 + len) % 128);
        json_quote(&out, str_of(text, len));
        json_reader_init(&reader, buf_str(&out));
        json_string(&reader, arena, &read);
        json_end(&reader);
        assert_int_equal(json_error(&reader), JSON_OK);
        assert_true(str_eq(read, str_of(text, len)));
        buf_reset(&out);
        arena_reset(arena);
    }
}

static void test_int(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);
    JsonWriter w = JSON_WRITER(&out);

    json_write_array(&w);
    json_write_int(&w, 0);
    json_write_int(&w, INT64_MAX);
    json_write_int(&w, INT64_MIN);
    json_write_end_array(&w);
    assert_written(&out, "[0,9223372036854775807,-9223372036854775808]");
}

static void test_double(void **state) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {0.1, "0.1"},
        {-2.5, "-2.5"},
        {1e15, "1e+15"},
        {123456789012345, "123456789012345"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {1e300, "1e+300"},
        {NAN, "null"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
    };
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        JsonWriter w = JSON_WRITER(&out);

        json_write_double(&w, cases[i].value);
        assert_written(&out, cases[i].text);
    }
}

static void test_double_reads_back(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);
    Rng rng = {.state = 42};

    for (int i = 0; i < 20000; i++) {
        JsonWriter w = JSON_WRITER(&out);
        JsonReader reader;
        uint64_t bits = rng_next(&rng);
        double value, read = 0;

        memcpy(&value, &bits, sizeof(value));
        if (!isfinite(value))
            continue;
        json_write_double(&w, value);
        json_reader_init(&reader, buf_str(&out));
        json_double(&reader, &read);
        json_end(&reader);
        assert_int_equal(json_error(&reader), JSON_OK);
        assert_memory_equal(&read, &value, sizeof(value));
        buf_reset(&out);
    }
}

static void test_template_of_literals(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);
    JsonWriter w = JSON_WRITER(&out);

    json_write(&w, "{kind: 'a \"b\"', list: [1, -2.5, true], o: {}, last: null}");
    assert_written(
        &out, "{\"kind\":\"a \\\"b\\\"\",\"list\":[1,-2.5,true],\"o\":{},\"last\":null}");
}

static void test_template_of_arguments(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);
    JsonWriter w = JSON_WRITER(&out);

    json_write(&w, "{a/b.c: %s, %s: %.*s, %.*s: [%zu, %u, %d, %jd], ", "x\n", "key", 2, "yes", 1,
        "kz", (size_t)1, 4294967295u, -1, INTMAX_MIN);
    json_write(&w, "flags: [%i, %i], numbers: [%g, %g]}", true, false, 0.5, (double)NAN);
    assert_written(&out, "{\"a/b.c\":\"x\\n\",\"key\":\"ye\",\"k\":[1,4294967295,-1,"
                         "-9223372036854775808],\"flags\":[true,false],\"numbers\":[0.5,null]}");
}

static void test_template_of_arguments_in_texts(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);
    JsonWriter w = JSON_WRITER(&out);

    json_write(&w, "['%dm', 'a-%s', '%.*s/%zu-', '']", 250, "\"", 1, "bc", (size_t)7);
    assert_written(&out, "[\"250m\",\"a-\\\"\",\"b/7-\",\"\"]");
}

static void test_template_leaves_out_what_is_empty(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);
    JsonWriter w = JSON_WRITER(&out);

    json_write(&w, "{a?: %s, b?: %.*s, c?: %zu, d?: %i, e?: %g, %s?: %s, f: %s}", "", 0, "x",
        (size_t)0, false, 0.0, "g", "", "");
    assert_written(&out, "{\"f\":\"\"}");
    w = JSON_WRITER(&out);
    json_write(
        &w, "{a?: %s, b?: %.*s, c?: %zu, d?: %i, e?: %g}", "a", 1, "x", (size_t)1, true, 0.5);
    assert_written(&out, "{\"a\":\"a\",\"b\":\"x\",\"c\":1,\"d\":true,\"e\":0.5}");
}

static void test_template_of_times(void **state) {
    const ptrdiff_t at = 1767351845678901234;
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);
    JsonWriter w = JSON_WRITER(&out);

    json_write(&w, "[%td, %td, %.6td, %.9td, %.0td]", at, (ptrdiff_t)0, at, at, (ptrdiff_t)0);
    assert_written(&out, "[\"2026-01-02T11:04:05.678Z\",null,\"2026-01-02T11:04:05.678901Z\","
                         "\"2026-01-02T11:04:05.678901234Z\",\"1970-01-01T00:00:00Z\"]");
}

static void test_template_of_times_before_1970(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);
    JsonWriter w = JSON_WRITER(&out);

    json_write(&w, "[%.9td, %td, %.0td, %.9td]", (ptrdiff_t)-1, (ptrdiff_t)-1500000000,
        (ptrdiff_t)-1500000000, (ptrdiff_t)INT64_MIN);
    assert_written(&out, "[\"1969-12-31T23:59:59.999999999Z\",\"1969-12-31T23:59:58.5Z\","
                         "\"1969-12-31T23:59:58Z\",\"1677-09-21T00:12:43.145224192Z\"]");
}

static void test_template_stays_open(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1000);
    JsonWriter w = JSON_WRITER(&out);

    w.indent = 1;
    json_write(&w, "{list: [");
    json_write(&w, "%d", 1);
    json_write(&w, "], name: ");
    json_write_raw(&w, STR("{}"));
    json_write(&w, "}\n");
    assert_written(&out, "{\n \"list\": [\n  1\n ],\n \"name\": {}\n}\n");
}

static void test_ceiling(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(10);
    JsonWriter w = JSON_WRITER(&out);

    json_write_array(&w);
    json_write_string(&w, STR("longer than ten"));
    json_write_string(&w, STR("x"));
    json_write_end_array(&w);
    assert_int_equal(buf_error(&out), -EFBIG);
    assert_true(out.len <= 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compact),
        cmocka_unit_test(test_indent),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_quote),
        cmocka_unit_test(test_quote_reads_back),
        cmocka_unit_test(test_int),
        cmocka_unit_test(test_double),
        cmocka_unit_test(test_double_reads_back),
        cmocka_unit_test(test_template_of_literals),
        cmocka_unit_test(test_template_of_arguments),
        cmocka_unit_test(test_template_of_arguments_in_texts),
        cmocka_unit_test(test_template_leaves_out_what_is_empty),
        cmocka_unit_test(test_template_of_times),
        cmocka_unit_test(test_template_of_times_before_1970),
        cmocka_unit_test(test_template_stays_open),
        cmocka_unit_test(test_ceiling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
