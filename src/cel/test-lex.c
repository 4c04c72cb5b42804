#include "cel/lex.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/test-assert.h"
#include "cel/parser-internal.h"

#define BUDGET ((size_t)1 << 20)

static const char *const kind_names[CEL_N_TOKENS] = {
    [CEL_TOKEN_END] = "end",
    [CEL_TOKEN_IDENT] = "ident",
    [CEL_TOKEN_QUOTED] = "quoted",
    [CEL_TOKEN_INT] = "int",
    [CEL_TOKEN_UINT] = "uint",
    [CEL_TOKEN_DOUBLE] = "double",
    [CEL_TOKEN_STRING] = "string",
    [CEL_TOKEN_BYTES] = "bytes",
    [CEL_TOKEN_TRUE] = "true",
    [CEL_TOKEN_FALSE] = "false",
    [CEL_TOKEN_NULL] = "null",
    [CEL_TOKEN_BROKEN] = "broken",
    [CEL_TOKEN_LPAREN] = "(",
    [CEL_TOKEN_RPAREN] = ")",
    [CEL_TOKEN_LBRACKET] = "[",
    [CEL_TOKEN_RBRACKET] = "]",
    [CEL_TOKEN_LBRACE] = "{",
    [CEL_TOKEN_RBRACE] = "}",
    [CEL_TOKEN_DOT] = ".",
    [CEL_TOKEN_COMMA] = ",",
    [CEL_TOKEN_COLON] = ":",
    [CEL_TOKEN_QUESTION] = "?",
    [CEL_TOKEN_NOT] = "!",
    [CEL_TOKEN_OR] = "||",
    [CEL_TOKEN_AND] = "&&",
    [CEL_TOKEN_LESS] = "<",
    [CEL_TOKEN_LESS_EQUAL] = "<=",
    [CEL_TOKEN_GREATER] = ">",
    [CEL_TOKEN_GREATER_EQUAL] = ">=",
    [CEL_TOKEN_EQUAL] = "==",
    [CEL_TOKEN_NOT_EQUAL] = "!=",
    [CEL_TOKEN_IN] = "in",
    [CEL_TOKEN_PLUS] = "+",
    [CEL_TOKEN_MINUS] = "-",
    [CEL_TOKEN_STAR] = "*",
    [CEL_TOKEN_SLASH] = "/",
    [CEL_TOKEN_PERCENT] = "%",
};

/* The tokens of @text with their offsets: "ident:0-1 +:2-3". */
static void print_tokens(const char *text, DiagList *diags, Buf *out) {
    CelSyntaxErrors errors = {.source = str_from_c(text), .diags = diags};
    CelLexer lexer = {.source = str_from_c(text), .errors = &errors};
    CelToken token;

    while ((token = cel_lex_next(&lexer)).kind != CEL_TOKEN_END)
        buf_printf(out, "%s%s:%u-%u", out->len > 0 ? " " : "", kind_names[token.kind], token.from,
            token.to);
}

typedef struct TokenCase {
    const char *text, *tokens;
    const char *mistake; /* the first, or NULL */
    size_t n_mistakes;
} TokenCase;

static void check_tokens(const TokenCase *cases, size_t n) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);

    assert_non_null(arena);
    for (size_t i = 0; i < n; i++) {
        _cleanup_(buf_done) Buf got = BUF_INIT(BUDGET);
        DiagList diags = DIAG_LIST_IN(arena);

        print_tokens(cases[i].text, &diags, &got);
        assert_text(cases[i].text, buf_str(&got), cases[i].tokens);
        assert_case(cases[i].text, diags.n_errors == cases[i].n_mistakes);
        if (cases[i].mistake)
            assert_text(cases[i].text, diags.diags.items[0].text, cases[i].mistake);
    }
}

static void test_tokens(void **state) {
    static const TokenCase cases[] = {
        {"", "", NULL, 0}, {" \t\r\n\f", "", NULL, 0},
        {"a//b\nc // d", "ident:0-1 ident:5-6", NULL, 0}, {"a//", "ident:0-1", NULL, 0},
        {"_a1 B", "ident:0-3 ident:4-5", NULL, 0},
        {"in true false null inn", "in:0-2 true:3-7 false:8-13 null:14-18 ident:19-22", NULL, 0},
        {"( ) [ ] { } . , : ? !",
            "(:0-1 ):2-3 [:4-5 ]:6-7 {:8-9 }:10-11 .:12-13 ,:14-15 ::16-17 "
            "?:18-19 !:20-21",
            NULL, 0},
        {"||&&< <=> >===!=", "||:0-2 &&:2-4 <:4-5 <=:6-8 >:8-9 >=:10-12 ==:12-14 !=:14-16", NULL,
            0},
        {"+-*/%", "+:0-1 -:1-2 *:2-3 /:3-4 %:4-5", NULL, 0},
        {"1 23 0x1F 007", "int:0-1 int:2-4 int:5-9 int:10-13", NULL, 0},
        {"1u 0xaU", "uint:0-2 uint:3-7", NULL, 0},
        {"1.5 .5 1e3 1.5E-3 2e+1", "double:0-3 double:4-6 double:7-10 double:11-17 double:18-22",
            NULL, 0},
        {"1.a 1..5", "int:0-1 .:1-2 ident:2-3 int:4-5 .:5-6 double:6-8", NULL, 0},
        {"a.5", "ident:0-1 double:1-3", NULL, 0}, {"1in", "int:0-1 in:1-3", NULL, 0},
        {"0x1in", "int:0-3 in:3-5", NULL, 0},
        {"'a' \"b\" '' \"\"", "string:0-3 string:4-7 string:8-10 string:11-13", NULL, 0},
        {"'''a'b\n''c''' '\\''", "string:0-13 string:14-18", NULL, 0},
        {"r'\\' R\"\\\" r'''\n'''", "string:0-4 string:5-9 string:10-18", NULL, 0},
        {"b'a' B'a' br'\\' bR'a' Br'a' BR'''a'''",
            "bytes:0-4 bytes:5-9 bytes:10-15 bytes:16-21 "
            "bytes:22-27 bytes:28-37",
            NULL, 0},
        {"b r br", "ident:0-1 ident:2-3 ident:4-6", NULL, 0},
        {"`a-b.c/d e_1`", "quoted:0-13", NULL, 0},
        {"''''a'''", "string:0-8", NULL, 0}, /* the content is 'a */
    };

    (void)state;
    check_tokens(cases, ELEMENTS_OF(cases));
}

/* Mistakes that are reported, and read as the intended token. */
static void test_reads_habits_of_other_languages(void **state) {
    static const TokenCase cases[] = {
        {"a = b", "ident:0-1 ==:2-3 ident:4-5", "there is no operator '='", 1},
        {"a === b", "ident:0-1 ==:2-5 ident:6-7", "there is no operator '==='", 1},
        {"a !== b", "ident:0-1 !=:2-5 ident:6-7", "there is no operator '!=='", 1},
        {"a <> b", "ident:0-1 !=:2-4 ident:5-6", "there is no operator '<>'", 1},
        {"a & b", "ident:0-1 &&:2-3 ident:4-5", "there is no operator '&'", 1},
        {"a | b", "ident:0-1 ||:2-3 ident:4-5", "there is no operator '|'", 1},
        {"a # b\nc", "ident:0-1 ident:6-7", "'#' does not start a comment", 1},
        {"a /* b */ c", "ident:0-1 ident:10-11", "'/*' does not start a comment", 1},
        {"a /* b", "ident:0-1", "'/*' does not start a comment", 1},
        {"0x", "broken:0-2", "'0x' is not a number", 1},
        {"0xfg", "broken:0-4", "'0xfg' is not a number", 1},
        {"0X1", "broken:0-3", "'0X1' is not a number", 1},
        {"1e", "broken:0-2", "'1e' is not a number", 1},
        {"1e+", "broken:0-2 +:2-3", "'1e' is not a number", 1},
        {"1.5u", "broken:0-4", "'1.5u' is not a number", 1},
        {"1_000", "broken:0-5", "'1_000' is not a number", 1},
        {"'a", "broken:0-2", "the text that starts here has no closing '", 1},
        {"'a\nb", "broken:0-2 ident:3-4", "the text that starts here has no closing '", 1},
        {"'a\\\nb", "broken:0-3 ident:4-5", "the text that starts here has no closing '", 1},
        {"'a\\", "broken:0-3", "the text that starts here has no closing '", 1},
        {"\"\"\"a\"", "broken:0-5", "the text that starts here has no closing \"\"\"", 1},
        {"rb'a'", "bytes:1-5", "the r of raw bytes stands behind the b", 1},
        {"``", "quoted:0-2", "there is no name between the back quotes", 1},
        {"`a", "quoted:0-2", "the name that starts here has no closing `", 1},
        {"`a*b`", "quoted:0-5", "this is not allowed in a name between back quotes", 1},
        {"\xe2\x80\x9c"
         "a b\xe2\x80\x9d c",
            "broken:0-9 ident:10-11", "these are not the quotes of an expression", 1},
        {"a\xc2\xa0+b", "ident:0-1 +:3-4 ident:4-5", "U+00A0 means nothing outside of quotes", 1},
        {"a $@ b", "ident:0-1 ident:5-6", "'$' means nothing here", 2},
    };

    (void)state;
    check_tokens(cases, ELEMENTS_OF(cases));
}

static CelValue read_literal(const char *text, Arena *arena, DiagList *diags) {
    CelSyntaxErrors errors = {.source = str_from_c(text), .diags = diags};
    CelLexer lexer = {.source = str_from_c(text), .errors = &errors};
    CelToken token = cel_lex_next(&lexer);
    CelValue value = cel_absent();
    bool is_negative = token.kind == CEL_TOKEN_MINUS;

    if (is_negative)
        token = cel_lex_next(&lexer);
    if (token.kind == CEL_TOKEN_STRING || token.kind == CEL_TOKEN_BYTES)
        value = cel_literal_text(&lexer, token, arena);
    else
        value = cel_literal_number(&lexer, token, is_negative);
    return value;
}

static void test_numbers(void **state) {
    static const struct {
        const char *text;
        CelValue want;
    } cases[] = {
        {"0", {.kind = CEL_INT, .i = 0}},
        {"9223372036854775807", {.kind = CEL_INT, .i = INT64_MAX}},
        {"-9223372036854775808", {.kind = CEL_INT, .i = INT64_MIN}},
        {"-0x8000000000000000", {.kind = CEL_INT, .i = INT64_MIN}},
        {"- 1", {.kind = CEL_INT, .i = -1}},
        {"0xfF", {.kind = CEL_INT, .i = 255}},
        {"000000000000000000000000000007", {.kind = CEL_INT, .i = 7}},
        {"18446744073709551615u", {.kind = CEL_UINT, .u = UINT64_MAX}},
        {"0xffffffffffffffffU", {.kind = CEL_UINT, .u = UINT64_MAX}},
        {"1.5", {.kind = CEL_DOUBLE, .d = 1.5}},
        {".5e1", {.kind = CEL_DOUBLE, .d = 5}},
        {"-2e-1", {.kind = CEL_DOUBLE, .d = -0.2}},
        {"1.7976931348623157e308", {.kind = CEL_DOUBLE, .d = 1.7976931348623157e308}},
        {"1e-400", {.kind = CEL_DOUBLE, .d = 0}},
    };
    static const char *const refused[] = {
        "9223372036854775808",
        "-9223372036854775809",
        "0x8000000000000000",
        "99999999999999999999",
        "18446744073709551616u",
        "0x10000000000000000u",
        "1e309",
        "-1e309",
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelValue got = read_literal(cases[i].text, arena, &diags);

        assert_case(cases[i].text, got.kind == cases[i].want.kind && got.u == cases[i].want.u);
    }
    assert_int_equal(diags.n_errors, 0);
    for (size_t i = 0; i < ELEMENTS_OF(refused); i++) {
        assert_case(refused[i], read_literal(refused[i], arena, &diags).kind == CEL_ABSENT);
        assert_case(refused[i], diags.n_errors == i + 1);
    }
}

static void test_texts(void **state) {
    static const struct {
        const char *text;
        CelKind kind;
        Str want;
    } cases[] = {
        {"''", CEL_STRING, STR("")},
        {"'a\"b'", CEL_STRING, STR("a\"b")},
        {"'\\a\\b\\f\\n\\r\\t\\v\\\\\\?\\\"\\'\\`'", CEL_STRING, STR("\a\b\f\n\r\t\v\\?\"'`")},
        {"'\\x41\\X42\\u0043\\U00000044\\105'", CEL_STRING, STR("ABCDE")},
        {"'\\xff\\377\\u20ac\\U0001f600'", CEL_STRING, STR("ÿÿ€😀")},
        {"'\\x00'", CEL_STRING, STR("\0")},
        {"b'\\xff\\377\\x00'", CEL_BYTES, STR("\xff\xff\0")},
        {"b'ÿ'", CEL_BYTES, STR("ÿ")},
        {"r'\\n'", CEL_STRING, STR("\\n")},
        {"bR\"\\x41\"", CEL_BYTES, STR("\\x41")},
        {"'''a\r\nb\rc\nd'''", CEL_STRING, STR("a\nb\nc\nd")},
        {"r\"\"\"a\r\nb\"\"\"", CEL_STRING, STR("a\nb")},
        {"b'''a\r\n'''", CEL_BYTES, STR("a\n")},
        {"'''\\r\\n'''", CEL_STRING, STR("\r\n")},
        {"'''a''b\\''''", CEL_STRING, STR("a''b'")},
    };
    static const struct {
        const char *text, *mistake;
        size_t column;
    } refused[] = {
        {"'a\\q'", "there is no such escape", 3},
        {"'\\€'", "there is no such escape", 2},
        {"'\\400'", "there is no such escape", 2},
        {"'\\08x'", "a digit behind '\\' starts a number of three octal digits", 2},
        {"'\\x4'", "this escape has too few hexadecimal digits", 2},
        {"'\\u004g'", "this escape has too few hexadecimal digits", 2},
        {"'\\U0000004'", "this escape has too few hexadecimal digits", 2},
        {"'\\ud800'", "this is not a Unicode character", 2},
        {"'\\U0000dfff'", "this is not a Unicode character", 2},
        {"'\\U00110000'", "this is not a Unicode character", 2},
        {"'\\Uffffffff'", "this is not a Unicode character", 2},
        {"b'\\u0041'", "bytes have no \\u, only text has", 3},
        {"b'\\U00000041'", "bytes have no \\u, only text has", 3},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        DiagList diags = DIAG_LIST_IN(arena);
        CelValue got = read_literal(cases[i].text, arena, &diags);

        assert_case(cases[i].text, diags.n_errors == 0 && got.kind == cases[i].kind);
        assert_case(cases[i].text, str_eq(cel_str(got), cases[i].want));
    }
    for (size_t i = 0; i < ELEMENTS_OF(refused); i++) {
        DiagList diags = DIAG_LIST_IN(arena);

        assert_case(
            refused[i].text, read_literal(refused[i].text, arena, &diags).kind == CEL_ABSENT);
        assert_case(refused[i].text, diags.n_errors == 1);
        assert_text(refused[i].text, diags.diags.items[0].text, refused[i].mistake);
        assert_case(refused[i].text, diags.diags.items[0].place.column == refused[i].column);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_reads_habits_of_other_languages),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
