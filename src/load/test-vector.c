#include "load/vector.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/test-assert.h"

#define BUDGET ((size_t)256 * 1024 * 1024)

#define ANSWER(result)                                                                             \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[" result "]}}"
#define SERIES(labels, value) "{\"metric\":{" labels "},\"value\":[1700000000.123,\"" value "\"]}"

/* --- valid answers --------------------------------------------------------- */

/* All series as text: "{a=b,c=d} 0.5 @123;" */
static void print_vector(const Vector *vector, Buf *out) {
    for (size_t i = 0; i < vector->n; i++) {
        const Series *series = &vector->items[i];

        buf_append(out, STR("{"));
        for (size_t k = 0; k < series->n_labels; k++)
            buf_printf(out, "%s%.*s=%.*s", k > 0 ? "," : "", STR_FMT(series->labels[k].name),
                STR_FMT(series->labels[k].value));
        buf_printf(out, "} %.17g @%lld;", series->value, (long long)series->at_msec);
    }
}

static void check_read(const char *body, const char *want) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)16 * 1024 * 1024);
    char error[VECTOR_ERROR_MAX] = "?";
    Vector vector;
    int r = vector_read_prometheus(str_from_c(body), arena, &vector, error);

    if (r < 0)
        print_error("%s: %s\n", body, error);
    assert_int_equal(r, 0);
    assert_string_equal(error, "");
    print_vector(&vector, &text);
    assert_text(body, buf_str(&text), want);
}

/* The series of one answer with this time and value; false: an error. */
static bool read_one(const char *time, const char *value, Series *ret) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(buf_done) Buf body = BUF_INIT(4096);
    char error[VECTOR_ERROR_MAX];
    Vector vector;

    buf_printf(&body, ANSWER("{\"metric\":{},\"value\":[%s,\"%s\"]}"), time, value);
    if (vector_read_prometheus(buf_str(&body), arena, &vector, error) < 0)
        return false;
    *ret = vector.items[0];
    return true;
}

static void test_values(void **state) {
    static const struct {
        const char *text;
        double value; /* 0: an error */
    } cases[] = {
        {"0.42", 0.42},
        {"-1.5e-3", -1.5e-3},
        {"Inf", INFINITY},
        {"1e999", INFINITY},
        {"-1e999", -INFINITY},
        {"nan", 0},
        {"inf", 0},
        {"", 0},
        {"1 ", 0},
        {"1,5", 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Series series = {0};
        bool is_number = read_one("1700000000", cases[i].text, &series);

        assert_case(cases[i].text, is_number == (cases[i].value != 0));
        assert_case(cases[i].text, series.value == cases[i].value);
    }
}

static void test_times(void **state) {
    static const struct {
        const char *text;
        int64_t msec; /* -1: an error */
    } cases[] = {
        {"1700000000.123", 1700000000123},
        {"1700000000", 1700000000000},
        {"1700000000.1", 1700000000100},
        {"1700000000.1239999", 1700000000124},
        {"1.7e9", 1700000000000},
        {"0", 0},
        {"253402300799", 253402300799000},
        {"253402300800", -1},
        {"9999999999999999999", -1},
        {"1e300", -1},
        {"1e999", -1},
        {"-1", -1},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Series series = {.at_msec = -1};
        bool is_time = read_one(cases[i].text, "1", &series);

        assert_case(cases[i].text, is_time == (cases[i].msec >= 0));
        assert_case(cases[i].text, series.at_msec == cases[i].msec);
    }
}

static void test_series(void **state) {
    (void)state;
    check_read(ANSWER(""), "");
    check_read(ANSWER(SERIES("", "1")), "{} 1 @1700000000123;");
    check_read(ANSWER(SERIES("\"node\":\"a\"", "0.5") "," SERIES("\"node\":\"b\"", "2")),
        "{node=a} 0.5 @1700000000123;{node=b} 2 @1700000000123;");
    check_read(ANSWER(SERIES("\"node\":\"a\"", "NaN") "," SERIES(
                   "\"node\":\"b\"", "+Inf") "," SERIES("\"node\":\"c\"", "-Inf")),
        "{node=a} nan @1700000000123;{node=b} inf @1700000000123;{node=c} -inf @1700000000123;");
    /* Any order of keys, unknown keys, white space, escapes. */
    check_read(
        "{\"infos\":[],\"data\":{\"stats\":{},\"result\":[ {\"value\" : [1, \"3\"], \"x\":[1],"
        "\"metric\":{\"n\\u006fde\":\"a\\\"b\"}} ],\"resultType\":\"vector\"},"
        "\"status\":\"success\"}",
        "{node=a\"b} 3 @1000;");
    check_read(ANSWER("{\"metric\":null,\"value\":[1.5,\"1\"]}"), "{} 1 @1500;");
    check_read("{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":null}}", "");
}

#define NEXT ","

/* Series that differ from the one before in one thing. */
static void test_shapes(void **state) {
    static const char labels[] = ANSWER(SERIES("\"n\":\"a\"", "1") NEXT SERIES("\"n\":\"b\"", "2")
            NEXT SERIES("\"n\":\"c\\n\"", "3") NEXT SERIES("\"n\":\"d\"", "4")
                NEXT SERIES("\"m\":\"e\"", "5") NEXT SERIES("\"m\":\"\"", "6")
                    NEXT SERIES("\"m\":\"f\",\"n\":\"g\"", "7") NEXT
        " " SERIES("\"m\":\"h\",\"n\":\"i\"", "8"));

    (void)state;
    check_read(labels, "{n=a} 1 @1700000000123;{n=b} 2 @1700000000123;{n=c\n} 3 @1700000000123;"
                       "{n=d} 4 @1700000000123;{m=e} 5 @1700000000123;{m=} 6 @1700000000123;"
                       "{m=f,n=g} 7 @1700000000123;{m=h,n=i} 8 @1700000000123;");
    check_read(ANSWER("{\"metric\":{\"a\":\"x\"},\"value\":[1,\"1\"]},"
                      "{\"metric\":{\"a\":\"y\"},\"value\":[2,\"2\"]},"
                      "{\"metric\":{\"a\":\"z\"},\"value\":[2,\"3\"]},"
                      "{\"value\":[2,\"4\"],\"metric\":{\"a\":\"w\"}},"
                      "{\"value\":[2,\"5\"],\"metric\":{\"a\":\"v\"}}"),
        "{a=x} 1 @1000;{a=y} 2 @2000;{a=z} 3 @2000;{a=w} 4 @2000;{a=v} 5 @2000;");
}

/* The same series with and without white space must be equal: one is read by comparing, the other
 * is parsed. */
static void write_random(Buf *out, const char *space, unsigned seed) {
    static const char *const values[] = {"", "a", "abc", "node-17.example", "ab\\t", "\\u00e9x"};

    srand(seed);
    buf_append(
        out, STR("{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["));
    for (int i = 0; i < 300; i++) {
        int n = rand() % 8 == 0 ? rand() % 20 : 2;

        buf_printf(out, "%s%s{\"metric\":{", i > 0 ? "," : "", space);
        for (int k = 0; k < n; k++)
            buf_printf(out, "%s\"l%d\":\"%s\"", k > 0 ? "," : "", k, values[rand() % 6]);
        buf_printf(out, "},\"value\":[%d,\"%.*f\"]}", rand() % 6 == 0 ? 1700000001 : 1700000000,
            rand() % 18, (double)rand() / 1000);
    }
    buf_append(out, STR("]}}"));
}

static void read_random(const char *space, unsigned seed, Buf *text) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    _cleanup_(buf_done) Buf body = BUF_INIT((size_t)16 * 1024 * 1024);
    char error[VECTOR_ERROR_MAX];
    Vector vector;

    write_random(&body, space, seed);
    assert_int_equal(vector_read_prometheus(buf_str(&body), arena, &vector, error), 0);
    assert_int_equal(vector.n, 300);
    print_vector(&vector, text);
}

static void test_random_series(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < 60; seed++) {
        _cleanup_(buf_done) Buf tight = BUF_INIT((size_t)16 * 1024 * 1024);
        _cleanup_(buf_done) Buf loose = BUF_INIT((size_t)16 * 1024 * 1024);

        read_random("", seed, &tight);
        read_random(" ", seed, &loose);
        assert_true(str_eq(buf_str(&tight), buf_str(&loose)));
    }
}

static void test_warnings_and_histograms(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    char error[VECTOR_ERROR_MAX];
    Vector vector;

    (void)state;
    assert_int_equal(
        vector_read_prometheus(
            STR("{\"status\":\"success\",\"infos\":[\"i\"],\"warnings\":[\"careful\\u001b"
                "[0m\",\"b\"],\"data\":{\"resultType\":\"vector\",\"result\":["
                "{\"metric\":{\"node\":\"a\"},\"histogram\":[1,{\"count\":\"1\"}]},"
                "{\"metric\":{\"node\":\"b\"},\"value\":[1,\"1\"]}]}}"),
            arena, &vector, error),
        0);
    assert_int_equal(vector.n, 1);
    assert_int_equal(vector.n_histograms, 1);
    assert_text("warning", vector.warning, "careful\\x1b[0m");
    assert_text("label", series_label(&vector.items[0], STR("node")), "b");
    assert_int_equal(series_label(&vector.items[0], STR("pod")).len, 0);
}

/* --- errors ---------------------------------------------------------------- */

static void check_error(Str body, int want, const char *part) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    char error[VECTOR_ERROR_MAX] = "";
    Vector vector;
    int r = vector_read_prometheus(body, arena, &vector, error);

    if (r != want || !strstr(error, part) || strchr(error, '\n') || strchr(error, '\x1b'))
        print_error("%.*s:\n  %d: %s\n  want %s\n", (int)(body.len < 200 ? body.len : 200),
            body.ptr, r, error, part);
    assert_int_equal(r, want);
    assert_non_null(strstr(error, part));
    assert_null(strchr(error, '\n'));
    assert_null(strchr(error, '\x1b'));
}

static void test_errors(void **state) {
    static const struct {
        const char *body, *part;
    } cases[] = {
        {"", "an empty answer, not JSON"},
        {" \n", "an empty answer, not JSON"},
        {"<!DOCTYPE html>\n<p>\x1b[31m", "an HTML page, not JSON: \"<!DOCTYPE html>\\x0a<p>\\x1b"},
        {"<HTML><body>502", "an HTML page, not JSON"},
        {"<?xml version='1.0'?>", "XML, not JSON"},
        {"upstream connect error", "text, not JSON: \"upstream connect error\""},
        {"\x1f\x8b\x08", "compressed data, not JSON"},
        {"# HELP node_load1 1m", "an exporter's own metrics"},
        {"{}", "no \"status\""},
        {"[]", "expected an object"},
        {"{\"status\":\"success\"}", "no \"resultType\""},
        {"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[",
            "cut off after 60 bytes"},
        {"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{\"a",
            "cut off after"},
        {ANSWER("") "x", "something follows"},
        {"{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"1:3: parse\\nerror\"}",
            "the server answered: bad_data: 1:3: parse\\x0aerror"},
        {"{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[1,\"2\"]}}",
            "the query gives a scalar: wrap it in vector()"},
        {"{\"status\":\"success\",\"data\":{\"result\":[1,\"2\"],\"resultType\":\"string\"}}",
            "the query gives a string"},
        {"{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{},"
         "\"values\":[[1,\"2\"]]}]}}",
            "a matrix): ask for an instant"},
        {"{\"status\":\"success\",\"data\":{\"resultType\":\"tensor\",\"result\":[]}}",
            "of type \"tensor\", not a vector"},
        {ANSWER(SERIES("\"a\":\"b\",\"a\":\"c\"", "1")), "a label twice in one series"},
        {ANSWER("{\"metric\":{}}"), "a series without a value"},
        {ANSWER("{\"metric\":{\"a\":1},\"value\":[1,\"1\"]}"), "expected a string"},
        {ANSWER("{\"metric\":{},\"value\":[1]}"), "expected a time and a value"},
        {ANSWER("{\"metric\":{},\"value\":[1,\"1\",2]}"), "expected a time and a value"},
        {ANSWER("{\"metric\":{},\"value\":[\"1\",\"1\"]}"), "expected a number"},
        {ANSWER("{\"metric\":{},\"value\":[1,1]}"), "expected a string"},
        {ANSWER("{\"metric\":{},\"value\":[-1,\"1\"]}"), "expected a time"},
        {ANSWER(SERIES("", "abc")), "expected a number in a string"},
        {ANSWER(SERIES("\"n\":\"a\"", "1") "," SERIES("\"n\":\"b\"", "1") "," SERIES(
             "\"n\":\"c\"", "one")),
            "expected a number in a string"},
        {ANSWER("7"), "expected an object"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_error(str_from_c(cases[i].body), -EPROTO, cases[i].part);
}

static void test_nesting(void **state) {
    _cleanup_(buf_done) Buf body = BUF_INIT(4096);

    (void)state;
    buf_append(&body, STR("{\"status\":\"success\",\"x\":"));
    buf_append_repeat(&body, '[', 1000);
    check_error(buf_str(&body), -EPROTO, "nested deeper than 64 levels");
}

/* --- limits ---------------------------------------------------------------- */

static void test_ceilings(void **state) {
    _cleanup_(buf_done) Buf body = BUF_INIT(VECTOR_BYTES_MAX + 1024);

    (void)state;
    buf_append(&body, STR("{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
                          "{\"metric\":{"));
    for (unsigned i = 0; i <= VECTOR_LABELS_MAX; i++)
        buf_printf(&body, "%s\"l%u\":\"\"", i > 0 ? "," : "", i);
    check_error(buf_str(&body), -EFBIG, "too large: a series of more than 64 labels");

    buf_reset(&body);
    buf_append(&body, STR("{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
                          "{\"metric\":{\"a\":\""));
    buf_append_repeat(&body, 'x', 9000);
    buf_append(&body, STR("\"},\"value\":[1,\"1\"]}]}}"));
    check_error(buf_str(&body), -EFBIG, "a label of more than 8192 bytes");

    buf_reset(&body);
    buf_append(
        &body, STR("{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["));
    for (unsigned i = 0; i <= VECTOR_SERIES_MAX; i++)
        buf_printf(&body, "%s{\"metric\":{},\"value\":[1,\"1\"]}", i > 0 ? "," : "");
    buf_append(&body, STR("]}}"));
    check_error(buf_str(&body), -EFBIG, "more than 250000 series");

    buf_reset(&body);
    buf_append_repeat(&body, ' ', VECTOR_BYTES_MAX + 1);
    check_error(buf_str(&body), -EFBIG, "an answer of 33554433 bytes");
}

static void test_memory(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(20000);
    _cleanup_(buf_done) Buf body = BUF_INIT((size_t)1024 * 1024);
    char error[VECTOR_ERROR_MAX];
    Vector vector;

    (void)state;
    buf_append(
        &body, STR("{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["));
    for (int i = 0; i < 1000; i++)
        buf_printf(&body, "%s{\"metric\":{\"n\":\"%d\"},\"value\":[1,\"1\"]}", i > 0 ? "," : "", i);
    buf_append(&body, STR("]}}"));
    assert_int_equal(vector_read_prometheus(buf_str(&body), arena, &vector, error), -ENOMEM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_random_series),
        cmocka_unit_test(test_warnings_and_histograms),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_ceilings),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
