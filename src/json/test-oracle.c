/*
 * Compares the reader with jansson: both must accept the same texts.
 *
 * Known differences are not compared:
 *
 *   depth     we stop at 64, jansson at 2048
 *   numbers   jansson converts and refuses what overflows; we keep the text
 *   \u0000    legal; jansson refuses it in keys
 *   NUL       nowhere legal as a byte; jansson overlooks it behind a number or word
 *   keys      the same key twice is fine for both
 */

#include "json/test-oracle.h"

#include "base/cleanup.h"
#include "base/rng.h"
#include "base/test-assert.h"
#include "json/token.h"

#define MUTATIONS 200000
#define TEXT_MAX 600u

static JsonError verdict(Str text) {
    JsonReader reader;
    JsonToken token;

    json_reader_init(&reader, text);
    do
        token = json_next(&reader);
    while (token != JSON_DONE && token != JSON_BAD);
    return json_error(&reader);
}

static void compare(Str text) {
    JsonError error = verdict(text);
    OracleSays oracle;

    if (text.len > 0 && memchr(text.ptr, '\0', text.len)) {
        assert_int_not_equal(error, JSON_OK);
        return;
    }
    oracle = oracle_ask(text.ptr, text.len);
    if (error == JSON_E_DEPTH || oracle == ORACLE_ABSTAINS)
        return;
    if ((error == JSON_OK) != (oracle == ORACLE_ACCEPTS)) {
        print_message("<%.*s>\n", STR_FMT(text));
        fail_msg("reader: error %d, jansson: %d", error, oracle);
    }
}

static const Str cases[] = {
    STR("{}"),
    STR("[]"),
    STR(" \t\r\n[ ] \n"),
    STR("\"\""),
    STR("null"),
    STR("true"),
    STR("false"),
    STR("0"),
    STR("-0"),
    STR("-0.0e-0"),
    STR("10.25E+07"),
    STR("{\"a\":1,\"a\":2}"),
    STR("[\"\\u0000\"]"),
    STR("[\"\\ud83d\\udea2\"]"),
    STR("[123456789012345678901234567890]"),
    STR("[\"\xf4\x8f\xbf\xbf\",\"\xed\x9f\xbf\",\"\xee\x80\x80\",\"\x7f\"]"),
    STR(""),
    STR(" "),
    STR("{"),
    STR("[1"),
    STR("[1,]"),
    STR("[,1]"),
    STR("[1 2]"),
    STR("[1,2}"),
    STR("{\"a\":1]"),
    STR("{\"a\":1,}"),
    STR("{,}"),
    STR("{\"a\"}"),
    STR("{\"a\" 1}"),
    STR("{a:1}"),
    STR("{1:1}"),
    STR("{'a':1}"),
    STR("[1]]"),
    STR("1 2"),
    STR("{} x"),
    STR("nul"),
    STR("nullx"),
    STR("True"),
    STR("NaN"),
    STR("Infinity"),
    STR("-"),
    STR("+1"),
    STR("01"),
    STR("-01"),
    STR("1."),
    STR(".5"),
    STR("1.e1"),
    STR("1e"),
    STR("1e+"),
    STR("0x10"),
    STR("1a"),
    STR("\""),
    STR("\"\\"),
    STR("\"\\\""),
    STR("\"\\x\""),
    STR("\"\\u12\""),
    STR("\"\\u12g4\""),
    STR("\"\\ud800\""),
    STR("\"\\ud800x\""),
    STR("\"\\ud800\\n\""),
    STR("\"\\ud800\\ud800\""),
    STR("\"\\ud800\\u0041\""),
    STR("\"\\udc00\""),
    STR("\"\\udc00\\ud800\""),
    STR("\"\\udc00\\udc00\""),
    STR("\"a\nb\""),
    STR("\"a\tb\""),
    STR("\"a\0b\""),
    STR("\0"),
    STR("[1]\0"),
    STR("\xef\xbb\xbf{}"),
    STR("\"\x80\""),
    STR("\"\xc0\x80\""),
    STR("\"\xc1\xbf\""),
    STR("\"\xe0\x80\xaf\""),
    STR("\"\xf0\x80\x80\xaf\""),
    STR("\"\xed\xa0\x80\""),
    STR("\"\xf4\x90\x80\x80\""),
    STR("\"\xf5\x80\x80\x80\""),
    STR("\"\xc3\""),
    STR("\"\xe2\x82\""),
    STR("\"\xff\""),
    STR("[\"a\xc3\xa9\"]"),
    STR("[\v1]"),
    STR("[1]\xc2\xa0"),
    STR("// x\n1"),
    STR("/**/1"),
};

static void test_cases(void **state) {
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        compare(cases[i]);
}

static const Str seeds[] = {
    STR("{\"metadata\":{\"name\":\"node-1\",\"labels\":{\"zone\":\"a\",\"x\":\"\"}},\"spec\":"
        "{\"unschedulable\":false,\"taints\":null},\"n\":[0,-1,2.5,1e10,-0.0E-2]}"),
    STR("[\"plain text that is longer than sixty-four bytes, so that a window ends in it\","
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\ud83d\\udea2\",\"caf\xc3\xa9 \xe2\x82\xac "
        "\xf0\x9f\x9a\xa2\"]"),
    STR(" { \"a\" : [ 1 , [ ] , { } , [ [ true ] ] , null ] ,\n\t\"b\" : \"c\" } \r\n"),
    STR("[[[[[[[[[[[[{\"a\":[{\"b\":[{}]}]}]]]]]]]]]]]]"),
    STR("-12.5e+3"),
    STR("\"\\uD834\\uDD1E\""),
};

/* Replaces, inserts, removes or repeats a byte. */
static size_t mutate(char *text, size_t len, Rng *rng) {
    static const char bytes[] = "{}[]\",:\\/ \n\tu0189aAeE.+-tfn\x7f\x80\xbf\xc3\xe2\xf0\x1f";
    char byte = bytes[rng_pick(rng, sizeof(bytes))]; /* including the NUL at the end */
    size_t at = rng_pick(rng, len + 1);

    switch (rng_pick(rng, 4)) {
    case 0:
        if (at < len)
            text[at] = byte;
        return len;
    case 1:
        if (len == TEXT_MAX)
            return len;
        memmove(text + at + 1, text + at, len - at);
        text[at] = byte;
        return len + 1;
    case 2:
        if (at == len)
            return len;
        memmove(text + at, text + at + 1, len - at - 1);
        return len - 1;
    default:
        if (at >= len || len + 8 > TEXT_MAX)
            return len;
        at = at > len - 4 ? 0 : at;
        if (len < 4)
            return len;
        memmove(text + at + 4, text + at, len - at);
        return len + 4;
    }
}

static void test_mutations(void **state) {
    Rng rng = {.state = 7};
    char text[TEXT_MAX];

    for (int i = 0; i < MUTATIONS; i++) {
        Str start = seeds[i % ELEMENTS_OF(seeds)];
        size_t len = start.len, n = 1 + rng_pick(&rng, 3);

        memcpy(text, start.ptr, len);
        while (n-- > 0)
            len = mutate(text, len, &rng);
        compare(str_of(text, len));
    }
}

/* Checks the oracle itself: it can tell valid from invalid texts, and is not our own reader (both
 * define json_object()). */
static void test_oracle(void **state) {
    for (size_t i = 0; i < ELEMENTS_OF(seeds); i++) {
        assert_int_equal(oracle_ask(seeds[i].ptr, seeds[i].len), ORACLE_ACCEPTS);
        assert_int_equal(verdict(seeds[i]), JSON_OK);
    }
    assert_int_equal(oracle_ask("[1,2}", 5), ORACLE_REJECTS);
    assert_int_equal(oracle_ask("1e999", 5), ORACLE_ABSTAINS);
    assert_int_equal(oracle_ask("{\"\\u0000\":1}", 12), ORACLE_ABSTAINS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_mutations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
