#include "json/token.h"

#include "base/buf.h"
#include "base/test-assert.h"

/* Writes what a reader found as one line: one letter per token, with the text of keys, strings and
 * numbers, and "." or the error at the end. */
static void trace_token(const JsonReader *reader, JsonToken token, Buf *out) {
    static const char letters[] = "{}[]ksntfz.!";

    buf_append_char(out, letters[token]);
    if (token == JSON_KEY || token == JSON_STRING || token == JSON_NUMBER) {
        buf_append(out, reader->text);
        buf_append_char(out, reader->escaped ? '\\' : ' ');
    }
    if (token == JSON_BAD)
        buf_printf(out, "%d@%zu %s", reader->error, reader->error_at, reader->error_text);
}

static void trace_tokens(Str input, Buf *out) {
    JsonReader reader;
    JsonToken token;

    json_reader_init(&reader, input);
    do {
        token = json_next(&reader);
        trace_token(&reader, token, out);
    } while (token != JSON_DONE && token != JSON_BAD);
    assert_int_equal(json_next(&reader), token); /* returns the same again */
}

typedef struct TokenCase {
    Str input;
    const char *trace;
} TokenCase;

static const TokenCase token_cases[] = {
    {STR("{}"), "{}."},
    {STR("[]"), "[]."},
    {STR(" \t\r\n[ ] \n"), "[]."},
    {STR("{\"a\":1,\"b\":[true,false,null]}"), "{ka n1 kb [tfz]}."},
    {STR(" { \"a\" : { } , \"\" : [ \"x\" , -1.5e+3 ] } "), "{ka {}k [sx n-1.5e+3 ]}."},
    {STR("\"\""), "s ."},
    {STR("0"), "n0 ."},
    {STR("-0"), "n-0 ."},
    {STR("10.25E07"), "n10.25E07 ."},
    {STR("null"), "z."},
    {STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\""), "s\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\."},
    {STR("[\"\\ud83d\\udea2\"]"), "[s\\ud83d\\udea2\\]."},
    {STR("[\"\\u0000\"]"), "[s\\u0000\\]."},
    {STR("{\"a\":1,\"a\":2}"), "{ka n1 ka n2 }."},
    {STR("[123456789012345678901234567890]"), "[n123456789012345678901234567890 ]."},
    {STR("\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\xa2 \x7f\""),
        "scaf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\xa2 \x7f ."},
    {STR("[\"0123456789012345678901234567890123456789012345678901234567890123456789\",\"a\"]"),
        "[s0123456789012345678901234567890123456789012345678901234567890123456789 sa ]."},

    /* Errors: number of the JsonError, offset, text. */
    {STR(""), "!6@0 the input ends where a value should be"},
    {STR("  "), "!6@2 the input ends where a value should be"},
    {STR("{"), "{!6@1 the input ends inside an object"},
    {STR("[1"), "[n1 !6@2 the input ends inside an array"},
    {STR("[1,"), "[n1 !6@3 the input ends where a value should be"},
    {STR("{\"a\""), "{!6@4 the input ends behind a key"},
    {STR("{\"a\":"), "{ka !6@5 the input ends where a value should be"},
    {STR("{\"a\":1,"), "{ka n1 !6@7 the input ends where a key should be"},
    {STR("[1,]"), "[n1 !1@3 expected a value"},
    {STR("[,1]"), "[!1@1 expected a value"},
    {STR("[1 2]"), "[n1 !1@3 expected ',' or ']'"},
    {STR("[1,2}"), "[n1 n2 !1@4 expected ',' or ']'"},
    {STR("{\"a\":1]"), "{ka n1 !1@6 expected ',' or '}'"},
    {STR("{\"a\":1,}"), "{ka n1 !1@7 expected a key"},
    {STR("{\"a\" 1}"), "{!1@5 expected ':'"},
    {STR("{\"a\",1}"), "{!1@4 expected ':'"},
    {STR("{a:1}"), "{!1@1 expected a key"},
    {STR("{'a':1}"), "{!1@1 expected a key"},
    {STR("['a']"), "[!1@1 expected a value"},
    {STR("{} {}"), "{}!7@3 something follows the value"},
    {STR("1 2"), "n1 !7@2 something follows the value"},
    {STR("[1]]"), "[n1 ]!7@3 something follows the value"},
    {STR("NaN"), "!1@0 expected a value"},
    {STR("nul"), "!6@3 the input ends inside a word"},
    {STR("nulL"), "!1@0 expected a value"},
    {STR("truefalse"), "t!7@4 something follows the value"},
    {STR("01"), "!1@0 a number may not have a leading 0"},
    {STR("[-012]"), "[!1@2 a number may not have a leading 0"},
    {STR("-"), "!6@1 the input ends inside a number"},
    {STR("-a"), "!1@1 expected a digit"},
    {STR("+1"), "!1@0 expected a value"},
    {STR(".5"), "!1@0 expected a value"},
    {STR("1."), "!6@2 the input ends inside a number"},
    {STR("[1.]"), "[!1@3 expected a digit"},
    {STR("[1e]"), "[!1@3 expected a digit"},
    {STR("[1e+]"), "[!1@4 expected a digit"},
    {STR("0x10"), "n0 !7@1 something follows the value"},
    {STR("\xef\xbb\xbf{}"), "!1@0 expected a value"}, /* a byte order mark */
    {STR("\""), "!6@1 the input ends inside a string"},
    {STR("\"\\"), "!6@2 the input ends inside an escape"},
    {STR("\"\\u12"), "!6@5 the input ends inside an escape"},
    {STR("\"\\x\""), "!1@1 no such escape"},
    {STR("\"\\u12g4\""), "!1@5 expected four hex digits behind \\u"},
    {STR("\"a\nb\""), "!1@2 a control character inside a string"},
    {STR("\"a\0b\""), "!1@2 a control character inside a string"},
    {STR("\"\\ud800\""), "!2@1 half a surrogate pair"},
    {STR("\"\\ud800"), "!6@7 the input ends inside a surrogate pair"},
    {STR("\"\\ud800\\n\""), "!2@1 half a surrogate pair"},
    {STR("\"\\ud800\\u0041\""), "!2@1 half a surrogate pair"},
    {STR("\"\\ud800\\ud800\""), "!2@1 half a surrogate pair"},
    {STR("\"\\ud800\\udc"), "!6@11 the input ends inside an escape"},
    {STR("\"\\ud800\\udcg0\""), "!1@11 expected four hex digits behind \\u"},
    {STR("\"\\udc00\""), "!2@1 half a surrogate pair"},
    {STR("\"\\udc00\\udc00\""), "!2@1 half a surrogate pair"},
    {STR("\"\xff\""), "!2@1 not UTF-8"},
    {STR("\"\xc0\x80\""), "!2@1 not UTF-8"},         /* overlong */
    {STR("\"\xe0\x80\xaf\""), "!2@1 not UTF-8"},     /* overlong */
    {STR("\"\xf0\x80\x80\xaf\""), "!2@1 not UTF-8"}, /* overlong */
    {STR("\"\xed\xa0\x80\""), "!2@1 not UTF-8"},     /* a surrogate */
    {STR("\"\xf4\x90\x80\x80\""), "!2@1 not UTF-8"}, /* over U+10FFFF */
    {STR("\"\xe2\x82\""), "!2@1 not UTF-8"},         /* cut off */
    {STR("\"ab\xe2\x82"), "!2@3 not UTF-8"},
    {STR("{\"\xff\":1}"), "{!2@2 not UTF-8"},
};

static void test_tokens(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(10000);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(token_cases); i++) {
        const TokenCase *c = &token_cases[i];

        trace_tokens(c->input, &out);
        assert_text(c->trace, buf_str(&out), c->trace);
        buf_reset(&out);
    }
}

static void test_depth(void **state) {
    char text[JSON_DEPTH_MAX * 2 + 2];
    JsonReader reader;

    memset(text, '[', JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    json_reader_init(&reader, str_of(text, JSON_DEPTH_MAX * 2));
    json_skip(&reader, NULL);
    json_end(&reader);
    assert_int_equal(json_error(&reader), JSON_OK);

    text[JSON_DEPTH_MAX] = '[';
    json_reader_init(&reader, str_of(text, JSON_DEPTH_MAX * 2));
    json_skip(&reader, NULL);
    assert_int_equal(json_error(&reader), JSON_E_DEPTH);
    assert_int_equal(reader.error_at, JSON_DEPTH_MAX);
}

/* Nests objects and arrays in turn: each level must remember its kind. */
static void test_levels(void **state) {
    _cleanup_(buf_done) Buf text = BUF_INIT(10000);
    JsonReader reader;

    for (unsigned i = 0; i < JSON_DEPTH_MAX; i++)
        buf_append(&text, i % 3 == 1 ? STR("[") : STR("{\"a\":"));
    buf_append_char(&text, '1');
    for (unsigned i = JSON_DEPTH_MAX; i-- > 0;)
        buf_append_char(&text, i % 3 == 1 ? ']' : '}');
    json_reader_init(&reader, buf_str(&text));
    json_skip(&reader, NULL);
    json_end(&reader);
    assert_int_equal(json_error(&reader), JSON_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_levels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
