/* The lexer: the next byte decides which token comes. The longest token wins, as in cel-go's
 * grammar: ".5" is a number, also after a name; r, b and br before a quote belong to the string. */

#include "cel/lex.h"

#include <stdio.h>

#include "base/ascii.h"
#include "base/double.h"
#include "base/utf8.h"
#include "cel/parser-internal.h"

#define NUMBER_SHOWN 24u /* bytes of a number with a unit; longer ones get no fix */

enum {
    LETTER = 1, /* a name starts with it */
    DIGIT = 2,
    HEX = 4,
    SPACE = 8,
    QUOTABLE = 16, /* between back quotes */
};

/* Classes of ASCII; everything above has none. */
static const uint8_t classes[256] = {
    ['\t'] = SPACE,
    ['\n'] = SPACE,
    ['\f'] = SPACE,
    ['\r'] = SPACE,
    [' '] = SPACE | QUOTABLE,
    ['.'] = QUOTABLE,
    ['-'] = QUOTABLE,
    ['/'] = QUOTABLE,
    ['_'] = LETTER | QUOTABLE,
    ['0' ... '9'] = DIGIT | HEX | QUOTABLE,
    ['a' ... 'f'] = LETTER | HEX | QUOTABLE,
    ['g' ... 'z'] = LETTER | QUOTABLE,
    ['A' ... 'F'] = LETTER | HEX | QUOTABLE,
    ['G' ... 'Z'] = LETTER | QUOTABLE,
};

/* The byte at @at, 0 after the end; a NUL in the text is not a token either. */
static char byte_at(const CelLexer *lexer, size_t at) {
    return at < lexer->source.len ? lexer->source.ptr[at] : '\0';
}

static bool is_class(const CelLexer *lexer, size_t at, unsigned class) {
    return at < lexer->source.len && classes[(unsigned char)lexer->source.ptr[at]] & class;
}

/* The first offset from @at on whose byte is not of @class. */
static uint32_t skip_class(const CelLexer *lexer, uint32_t at, unsigned class) {
    while (is_class(lexer, at, class))
        at++;
    return at;
}

static CelToken token_to(CelLexer *lexer, CelTokenKind kind, uint32_t to) {
    CelToken token = {.kind = kind, .from = lexer->at, .to = to};

    lexer->at = to;
    return token;
}

static uint32_t line_end(const CelLexer *lexer, uint32_t at) {
    while (at < lexer->source.len && lexer->source.ptr[at] != '\n')
        at++;
    return at;
}

/* Skips a comment as in C, which CEL does not have. */
static uint32_t foreign_comment_end(const CelLexer *lexer, uint32_t at) {
    for (at += 2; at < lexer->source.len; at++)
        if (byte_at(lexer, at) == '*' && byte_at(lexer, at + 1) == '/')
            return at + 2;
    return at;
}

static void skip_blank(CelLexer *lexer) {
    for (;;) {
        uint32_t at = skip_class(lexer, lexer->at, SPACE);
        char next = byte_at(lexer, at + 1);
        bool is_hash;

        lexer->at = at;
        if (byte_at(lexer, at) == '/' && next == '/') {
            lexer->at = line_end(lexer, at);
            continue;
        }
        if (byte_at(lexer, at) != '#' && (byte_at(lexer, at) != '/' || next != '*'))
            return;
        is_hash = byte_at(lexer, at) == '#';
        cel_syntax_error(lexer->errors, at, is_hash ? at + 1 : at + 2,
            "a comment starts with // and goes to the end of its line",
            "'%s' does not start a comment", is_hash ? "#" : "/*");
        lexer->at = is_hash ? line_end(lexer, at) : foreign_comment_end(lexer, at);
    }
}

/* Digits and, where there are some, their fraction and exponent. */
static uint32_t decimal_end(const CelLexer *lexer, CelTokenKind *ret_kind) {
    uint32_t at = skip_class(lexer, lexer->at, DIGIT), digits;

    *ret_kind = CEL_TOKEN_INT;
    if (byte_at(lexer, at) == '.' && is_class(lexer, at + 1, DIGIT)) {
        at = skip_class(lexer, at + 1, DIGIT);
        *ret_kind = CEL_TOKEN_DOUBLE;
    }
    if (byte_at(lexer, at) != 'e' && byte_at(lexer, at) != 'E')
        return at;
    digits = at + 1;
    if (byte_at(lexer, digits) == '+' || byte_at(lexer, digits) == '-')
        digits++;
    if (!is_class(lexer, digits, DIGIT))
        return at;
    *ret_kind = CEL_TOKEN_DOUBLE;
    return skip_class(lexer, digits, DIGIT);
}

static bool is_hex_start(const CelLexer *lexer, uint32_t at) {
    return byte_at(lexer, at) == '0' && byte_at(lexer, at + 1) == 'x';
}

/* Whether the unit is that of 90s or 1h30m; 5m is a quantity. */
static bool is_duration(Str unit) {
    static const Str units[] = {STR("s"), STR("h"), STR("ms"), STR("us"), STR("ns"), STR("d")};

    if (str_is_one_of(unit, units, ELEMENTS_OF(units)))
        return true;
    for (size_t i = 0; i < unit.len; i++)
        if (!ascii_is_digit(unit.ptr[i]) && str_find(STR("hms"), unit.ptr[i]) == SIZE_MAX)
            return false;
    return unit.len > 1 && !ascii_is_digit(unit.ptr[unit.len - 1]);
}

/* The suffix of a quantity for this unit; NULL: none. */
static const char *find_suffix(Str unit) {
    static const struct {
        Str unit;
        const char *suffix;
    } table[] = {{STR("m"), "m"}, {STR("k"), "k"}, {STR("K"), "k"}, {STR("M"), "M"},
        {STR("G"), "G"}, {STR("T"), "T"}, {STR("P"), "P"}, {STR("Ki"), "Ki"}, {STR("Mi"), "Mi"},
        {STR("Gi"), "Gi"}, {STR("Ti"), "Ti"}, {STR("Pi"), "Pi"}, {STR("KB"), "k"}, {STR("MB"), "M"},
        {STR("GB"), "G"}, {STR("TB"), "T"}, {STR("KiB"), "Ki"}, {STR("MiB"), "Mi"},
        {STR("GiB"), "Gi"}, {STR("TiB"), "Ti"}};

    for (size_t i = 0; i < ELEMENTS_OF(table); i++)
        if (str_eq(unit, table[i].unit))
            return table[i].suffix;
    return NULL;
}

/* Writes what to use instead of 100Mi or 90s to @out. Returns false for an unknown unit. */
static bool write_unit(Str number, Str unit, char *out, size_t size) {
    const char *suffix = find_suffix(unit);
    int64_t days;

    if (number.len + unit.len > NUMBER_SHOWN)
        return false;
    if (suffix)
        (void)snprintf(
            out, size, "quantity('%.*s%s').asApproximateFloat()", STR_FMT(number), suffix);
    else if (str_is(unit, "d") && str_to_int64(number, &days) && days < 100000)
        (void)snprintf(out, size, "duration('%dh')", (int)days * 24);
    else if (is_duration(unit))
        (void)snprintf(out, size, "duration('%.*s%.*s')", STR_FMT(number), STR_FMT(unit));
    else
        return false;
    return true;
}

/* Refuses letters directly after the number, which goes from lexer->at to @end. */
static CelToken lex_number_tail(CelLexer *lexer, CelTokenKind kind, uint32_t end) {
    uint32_t from = lexer->at, to = skip_class(lexer, end, LETTER | DIGIT);
    Str number = str_of(lexer->source.ptr + from, end - from);
    Str unit = str_of(lexer->source.ptr + end, to - end);
    char tail = byte_at(lexer, end), written[64], text[96];
    CelFix fix = {.from = from, .to = to};
    const char *hint = NULL;

    if (to == end || str_is(unit, "in"))
        return token_to(lexer, kind, end); /* 1in [1] is legal, if not pretty */
    if (is_hex_start(lexer, from) && end == from + 1)
        hint = "0x needs at least one digit 0-9 or a-f";
    else if (tail == 'X')
        hint = "write 0x with a small x";
    else if (tail == 'e' || tail == 'E')
        hint = "an exponent needs digits: 1e3";
    else if (kind == CEL_TOKEN_DOUBLE && (tail == 'u' || tail == 'U'))
        hint = "only a whole number can be a uint";
    else if (tail == '_')
        hint = "digits are written without '_' between them";
    else if (write_unit(number, unit, written, sizeof(written))) {
        (void)snprintf(text, sizeof(text), "write %s", written);
        hint = text;
        fix.text = str_from_c(written);
    }
    if (cel_syntax_error(lexer->errors, from, to, hint, "'%.*s' is not a number", (int)(to - from),
            lexer->source.ptr + from))
        cel_report_fix(lexer->errors->diags, lexer->source, fix);
    return token_to(lexer, CEL_TOKEN_BROKEN, to);
}

static CelToken lex_number(CelLexer *lexer) {
    CelTokenKind kind = CEL_TOKEN_INT;
    uint32_t end;

    if (is_hex_start(lexer, lexer->at) && is_class(lexer, lexer->at + 2, HEX))
        end = skip_class(lexer, lexer->at + 2, HEX);
    else
        end = decimal_end(lexer, &kind);
    if (kind == CEL_TOKEN_INT && (byte_at(lexer, end) == 'u' || byte_at(lexer, end) == 'U')) {
        kind = CEL_TOKEN_UINT;
        end++;
    }
    return lex_number_tail(lexer, kind, end);
}

/* The parts of a string or bytes literal. */
typedef struct Quote {
    bool is_bytes, is_raw, is_triple;
    uint32_t prefix; /* bytes before the content: b, r and the quotes */
} Quote;

/* @text is a STRING or BYTES token. */
static Quote quote_of(Str text) {
    Quote quote = {0};
    char mark;

    if (text.ptr[quote.prefix] == 'b' || text.ptr[quote.prefix] == 'B') {
        quote.is_bytes = true;
        quote.prefix++;
    }
    if (text.ptr[quote.prefix] == 'r' || text.ptr[quote.prefix] == 'R') {
        quote.is_raw = true;
        quote.prefix++;
    }
    mark = text.ptr[quote.prefix];
    quote.is_triple = quote.prefix + 3 <= text.len && text.ptr[quote.prefix + 1] == mark &&
                      text.ptr[quote.prefix + 2] == mark;
    quote.prefix += quote.is_triple ? 3 : 1;
    return quote;
}

/* A quote, or the letters before one that belong to the literal. */
static bool is_text_start(const CelLexer *lexer, uint32_t at) {
    if (byte_at(lexer, at) == 'b' || byte_at(lexer, at) == 'B')
        at++;
    if (byte_at(lexer, at) == 'r' || byte_at(lexer, at) == 'R')
        at++;
    return byte_at(lexer, at) == '"' || byte_at(lexer, at) == '\'';
}

/* The end of the literal whose content starts at @at. UINT32_MAX: it is not closed; lexing goes on
 * at @ret_stop. A string in one pair of quotes must end on its line. */
static uint32_t text_end(
    const CelLexer *lexer, Quote quote, uint32_t at, char mark, uint32_t *ret_stop) {
    for (; at < lexer->source.len; at++) {
        char c = lexer->source.ptr[at];

        if (c == '\\' && !quote.is_raw) {
            if (!quote.is_triple &&
                (byte_at(lexer, at + 1) == '\n' || byte_at(lexer, at + 1) == '\r'))
                continue;
            at++;
        } else if (c == mark && !quote.is_triple) {
            return at + 1;
        } else if (c == mark && byte_at(lexer, at + 1) == mark && byte_at(lexer, at + 2) == mark) {
            return at + 3;
        } else if ((c == '\n' || c == '\r') && !quote.is_triple) {
            break;
        }
    }
    *ret_stop = at < lexer->source.len ? at : (uint32_t)lexer->source.len;
    return UINT32_MAX;
}

static CelToken lex_text(CelLexer *lexer) {
    Quote quote = quote_of(str_skip(lexer->source, lexer->at));
    char mark = lexer->source.ptr[lexer->at + quote.prefix - 1];
    uint32_t stop = 0, end = text_end(lexer, quote, lexer->at + quote.prefix, mark, &stop);

    if (end != UINT32_MAX)
        return token_to(lexer, quote.is_bytes ? CEL_TOKEN_BYTES : CEL_TOKEN_STRING, end);
    cel_syntax_error(lexer->errors, lexer->at, lexer->at + quote.prefix,
        stop < lexer->source.len ? "text that goes over several lines is written in three quotes"
                                 : NULL,
        "the text that starts here has no closing %.*s", quote.is_triple ? 3 : 1,
        mark == '"' ? "\"\"\"" : "'''");
    return token_to(lexer, CEL_TOKEN_BROKEN, stop);
}

static CelToken lex_quoted(CelLexer *lexer) {
    uint32_t from = lexer->at, end = skip_class(lexer, from + 1, QUOTABLE);

    if (byte_at(lexer, end) == '`' && end > from + 1)
        return token_to(lexer, CEL_TOKEN_QUOTED, end + 1);
    if (byte_at(lexer, end) == '`')
        cel_syntax_error(
            lexer->errors, from, end + 1, NULL, "there is no name between the back quotes");
    else if (end < lexer->source.len && str_find(str_skip(lexer->source, end), '`') != SIZE_MAX)
        cel_syntax_error(lexer->errors, end, end + 1,
            "letters, digits, spaces and _ . - / are; index with [\"…\"] for anything else",
            "this is not allowed in a name between back quotes");
    else
        cel_syntax_error(
            lexer->errors, from, from + 1, NULL, "the name that starts here has no closing `");
    while (end < lexer->source.len && byte_at(lexer, end) != '`' && byte_at(lexer, end) != '\n')
        end++;
    return token_to(lexer, CEL_TOKEN_QUOTED, byte_at(lexer, end) == '`' ? end + 1 : end);
}

static CelToken lex_word(CelLexer *lexer) {
    uint32_t end = skip_class(lexer, lexer->at, LETTER | DIGIT);
    Str word = str_of(lexer->source.ptr + lexer->at, end - lexer->at);
    CelTokenKind kind = CEL_TOKEN_IDENT;

    if (str_eq(word, STR("in")))
        kind = CEL_TOKEN_IN;
    else if (str_eq(word, STR("true")))
        kind = CEL_TOKEN_TRUE;
    else if (str_eq(word, STR("false")))
        kind = CEL_TOKEN_FALSE;
    else if (str_eq(word, STR("null")))
        kind = CEL_TOKEN_NULL;
    else if (word.len == 2 && (byte_at(lexer, end) == '"' || byte_at(lexer, end) == '\'') &&
             str_eq_nocase(word, STR("rb"))) {
        cel_syntax_error(lexer->errors, lexer->at, end, "write br\"…\"",
            "the r of raw bytes stands behind the b");
        lexer->at++;
        return lex_text(lexer); /* as bytes; its value is not used */
    }
    return token_to(lexer, kind, end);
}

/* Longest first. One with a hint is not part of CEL; the hint tells what to write instead. */
static const struct {
    const char text[4];
    uint8_t kind;
    const char *hint;
    const char *meant; /* the operator to write instead; NULL: one is not enough */
} operators[] = {
    {"!==", CEL_TOKEN_NOT_EQUAL, "write '!='", "!="},
    {"===", CEL_TOKEN_EQUAL, "write '=='", "=="},
    {"!=", CEL_TOKEN_NOT_EQUAL, NULL},
    {"==", CEL_TOKEN_EQUAL, NULL},
    {"=~", CEL_TOKEN_EQUAL, "a pattern is matched by text.matches(\"…\")"},
    {"=>", CEL_TOKEN_GREATER_EQUAL,
        "write '>='; the variable of a macro is followed by a comma: list.all(x, …)", ">="},
    {"=<", CEL_TOKEN_LESS_EQUAL, "write '<='", "<="},
    {"=", CEL_TOKEN_EQUAL, "to compare two values write '=='", "=="},
    {"!", CEL_TOKEN_NOT, NULL},
    {"<>", CEL_TOKEN_NOT_EQUAL, "write '!='", "!="},
    {"<<", CEL_TOKEN_LESS, "write math.bitShiftLeft(a, b)"},
    {">>", CEL_TOKEN_GREATER, "write math.bitShiftRight(a, b)"},
    {"<=", CEL_TOKEN_LESS_EQUAL, NULL},
    {"<", CEL_TOKEN_LESS, NULL},
    {">=", CEL_TOKEN_GREATER_EQUAL, NULL},
    {">", CEL_TOKEN_GREATER, NULL},
    {"&&", CEL_TOKEN_AND, NULL},
    {"&", CEL_TOKEN_AND, "a logical 'and' is written '&&'", "&&"},
    {"||", CEL_TOKEN_OR, NULL},
    {"|", CEL_TOKEN_OR, "a logical 'or' is written '||'", "||"},
    {"(", CEL_TOKEN_LPAREN, NULL},
    {")", CEL_TOKEN_RPAREN, NULL},
    {"[", CEL_TOKEN_LBRACKET, NULL},
    {"]", CEL_TOKEN_RBRACKET, NULL},
    {"{", CEL_TOKEN_LBRACE, NULL},
    {"}", CEL_TOKEN_RBRACE, NULL},
    {".", CEL_TOKEN_DOT, NULL},
    {",", CEL_TOKEN_COMMA, NULL},
    {":=", CEL_TOKEN_EQUAL, "a name for a value: cel.bind(name, value, expression)"},
    {":", CEL_TOKEN_COLON, NULL},
    {"??", CEL_TOKEN_OR, "a value for what is absent is written a.?b.orValue(…)"},
    {"?", CEL_TOKEN_QUESTION, NULL},
    {"+=", CEL_TOKEN_EQUAL, "nothing is ever changed; the sum is a + b"},
    {"+", CEL_TOKEN_PLUS, NULL},
    {"->", CEL_TOKEN_MINUS,
        "a field is a.b; the variable of a macro is followed by a comma: list.all(x, …)"},
    {"-=", CEL_TOKEN_EQUAL, "nothing is ever changed; the difference is a - b"},
    {"-", CEL_TOKEN_MINUS, NULL},
    {"**", CEL_TOKEN_STAR, "there is no operator for powers"},
    {"*", CEL_TOKEN_STAR, NULL},
    {"/", CEL_TOKEN_SLASH, NULL},
    {"%", CEL_TOKEN_PERCENT, NULL},
};

/* Returns false for any other text. */
static bool lex_operator(CelLexer *lexer, CelToken *ret) {
    Str rest = str_skip(lexer->source, lexer->at);

    for (size_t i = 0; i < ELEMENTS_OF(operators); i++) {
        Str text;

        if (rest.ptr[0] != operators[i].text[0])
            continue;
        text = str_from_c(operators[i].text);
        if (!str_has_prefix(rest, text))
            continue;
        *ret = token_to(lexer, (CelTokenKind)operators[i].kind, lexer->at + (uint32_t)text.len);
        if (operators[i].hint &&
            cel_syntax_error(lexer->errors, ret->from, ret->to, operators[i].hint,
                "there is no operator '%s'", operators[i].text))
            cel_report_fix(lexer->errors->diags, lexer->source,
                (CelFix){ret->from, ret->to, str_from_c(operators[i].meant)});
        return true;
    }
    return false;
}

/* “abc”: typographic quotes. Skipped like a string, up to the end of the line if the closing one is
 * missing. */
static bool lex_curly(CelLexer *lexer, CelToken *ret) {
    Str rest = str_skip(lexer->source, lexer->at);
    const char *closing;
    uint32_t c = 0;
    size_t end = 3;

    (void)utf8_decode(rest, &c);
    if (c != 0x201c && c != 0x201d && c != 0x2018 && c != 0x2019)
        return false;
    rest = str_take(rest, line_end(lexer, lexer->at) - lexer->at);
    closing = c >= 0x201c ? "\xe2\x80\x9d" : "\xe2\x80\x99";
    while (end + 3 <= rest.len && memcmp(rest.ptr + end, closing, 3) != 0)
        end++;
    end = end + 3 <= rest.len ? end + 3 : rest.len;
    cel_syntax_error(lexer->errors, lexer->at, lexer->at + 3,
        "text is written in straight quotes, \"…\" or '…'",
        "these are not the quotes of an expression");
    *ret = token_to(lexer, CEL_TOKEN_BROKEN, lexer->at + (uint32_t)end);
    return true;
}

/* A character that is valid only in strings: reports it and continues after it. */
static void skip_foreign(CelLexer *lexer) {
    uint32_t c = 0, from = lexer->at;
    size_t len = utf8_decode(str_skip(lexer->source, from), &c);
    const char *hint = NULL;

    lexer->at += len > 0 ? (uint32_t)len : 1;
    if (c == 0xa0 || c == 0x200b || c == 0xfeff)
        hint = "it looks like a space or like nothing, but is not";
    else if (c == ';')
        hint = "an expression is not ended by anything";
    if (c == 0)
        cel_syntax_error(lexer->errors, from, lexer->at, NULL, "there is a NUL byte in the text");
    else if (c < 0x80)
        cel_syntax_error(lexer->errors, from, lexer->at, hint, "'%c' means nothing here", (char)c);
    else
        cel_syntax_error(lexer->errors, from, lexer->at, hint,
            "U+%04X means nothing outside of quotes", (unsigned)c);
}

CelToken cel_lex_next(CelLexer *lexer) {
    for (;;) {
        CelToken token;

        skip_blank(lexer);
        if (lexer->at >= lexer->source.len)
            return token_to(lexer, CEL_TOKEN_END, lexer->at);
        if (is_text_start(lexer, lexer->at))
            return lex_text(lexer);
        if (is_class(lexer, lexer->at, LETTER))
            return lex_word(lexer);
        if (is_class(lexer, lexer->at, DIGIT) ||
            (byte_at(lexer, lexer->at) == '.' && is_class(lexer, lexer->at + 1, DIGIT)))
            return lex_number(lexer);
        if (byte_at(lexer, lexer->at) == '`')
            return lex_quoted(lexer);
        if (lex_operator(lexer, &token) || lex_curly(lexer, &token))
            return token;
        skip_foreign(lexer);
    }
}

Str cel_token_text(const CelLexer *lexer, CelToken token) {
    Str text = str_of(lexer->source.ptr + token.from, token.to - token.from);

    return token.kind == CEL_TOKEN_QUOTED && text.len >= 2 ? str_of(text.ptr + 1, text.len - 2)
                                                           : text;
}

/* Literals: digits and escapes to values. In text \x41, \101 and \u0041 are a code point; in bytes
 * \x and \101 are one byte, and \u is not allowed. The end of a line inside of three quotes is
 * "\n", also of raw text and CRLF, as in cel-go. */

/* UINT32_MAX: not a digit. */
static unsigned digit_value(char c) {
    return (unsigned)ascii_hex_value(c);
}

/* Reads digits, with or without 0x. Returns false for more than 64 bits. */
static bool read_whole(Str text, uint64_t *ret) {
    bool is_hex = text.len > 2 && text.ptr[1] == 'x';
    uint64_t value = 0;

    for (size_t i = is_hex ? 2 : 0; i < text.len; i++)
        if (__builtin_mul_overflow(value, is_hex ? 16u : 10u, &value) ||
            __builtin_add_overflow(value, digit_value(text.ptr[i]), &value))
            return false;
    *ret = value;
    return true;
}

CelValue cel_literal_number(const CelLexer *lexer, CelToken token, bool is_negative) {
    Str text = cel_token_text(lexer, token);
    uint64_t whole = 0;
    double number;
    const char *hint;

    if (token.kind == CEL_TOKEN_DOUBLE) {
        if (double_parse(text, &number, NULL))
            return cel_double(is_negative ? -number : number);
        hint = "a double is at most 1.7976931348623157e308";
    } else if (token.kind == CEL_TOKEN_UINT) {
        if (read_whole(str_take(text, text.len - 1), &whole))
            return cel_uint(whole);
        hint = "a uint is at most 18446744073709551615u";
    } else {
        bool fits = read_whole(text, &whole);

        if (fits && whole <= (uint64_t)INT64_MAX + is_negative)
            return cel_int(is_negative ? (int64_t)(0 - whole) : (int64_t)whole);
        hint = is_negative ? "an int is at least -9223372036854775808"
               : fits ? "an int is at most 9223372036854775807; with a u behind it this is a uint"
                      : "an int is at most 9223372036854775807";
    }
    cel_syntax_error(lexer->errors, token.from, token.to, hint, "this number is too large");
    return cel_absent();
}

typedef struct Unescape {
    const CelLexer *lexer;
    bool is_bytes, is_wrong;
    uint32_t at, end; /* the unread rest */
    char *out;        /* never longer than the source */
    size_t n_out;
} Unescape;

static void refuse(Unescape *u, uint32_t to, const char *hint, const char *text) {
    cel_syntax_error(u->lexer->errors, u->at, to, hint, "%s", text);
    u->is_wrong = true;
    u->at = to;
}

/* Reads @n digits of @base at @at. Returns false if they are not there. */
static bool read_digits(
    const Unescape *u, uint32_t at, unsigned n, unsigned base, uint32_t *ret_value) {
    uint32_t value = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned digit = at + i < u->end ? digit_value(u->lexer->source.ptr[at + i]) : UINT32_MAX;

        if (digit >= base)
            return false;
        value = value * base + digit;
    }
    *ret_value = value;
    return true;
}

/* \x41, \u0041, \U00000041 or \101: @skip bytes before @n digits. */
static void read_numeric(Unescape *u, char letter, unsigned skip, unsigned n, unsigned base) {
    uint32_t value, to = u->at + skip + n < u->end ? u->at + skip + n : u->end;
    bool is_unicode = letter == 'u' || letter == 'U';

    if (is_unicode && u->is_bytes) {
        refuse(u, to, "write the bytes with \\x", "bytes have no \\u, only text has");
    } else if (!read_digits(u, u->at + skip, n, base, &value)) {
        refuse(u, u->at + 2 < u->end ? u->at + 2 : u->end,
            "\\x41, \\u0041, \\U00000041 and \\101 all are \"A\"",
            base == 8 ? "a digit behind '\\' starts a number of three octal digits"
                      : "this escape has too few hexadecimal digits");
    } else if (u->is_bytes) {
        u->out[u->n_out++] = (char)value;
        u->at = to;
    } else if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
        refuse(u, to,
            value > 0x10ffff ? "the last one is U+10FFFF"
                             : "half of a surrogate pair is no character: write it as \\U…",
            "this is not a Unicode character");
    } else {
        u->n_out += utf8_encode(value, u->out + u->n_out);
        u->at = to;
    }
}

static void read_escape(Unescape *u) {
    static const char names[] = "abfnrtv\\?\"'`", values[] = "\a\b\f\n\r\t\v\\?\"'`";
    char letter = u->at + 1 < u->end ? u->lexer->source.ptr[u->at + 1] : '\0';
    const char *name = letter ? strchr(names, letter) : NULL;
    uint32_t c;
    size_t len;

    if (name) {
        u->out[u->n_out++] = values[name - names];
        u->at += 2;
    } else if (letter == 'x' || letter == 'X') {
        read_numeric(u, letter, 2, 2, 16);
    } else if (letter == 'u') {
        read_numeric(u, letter, 2, 4, 16);
    } else if (letter == 'U') {
        read_numeric(u, letter, 2, 8, 16);
    } else if (letter >= '0' && letter <= '3') {
        read_numeric(u, letter, 1, 3, 8);
    } else {
        len = utf8_decode(str_skip(u->lexer->source, u->at + 1), &c);
        refuse(u, u->at + 1 + (len > 0 ? (uint32_t)len : 1),
            "a backslash itself is written \\\\; raw text r\"…\" has no escapes at all",
            "there is no such escape");
    }
}

/* Copies from u->at to u->end and replaces escapes. */
static void unescape(Unescape *u, bool is_raw) {
    const char *source = u->lexer->source.ptr;

    while (u->at < u->end) {
        char c = source[u->at];

        if (c == '\\' && !is_raw) {
            read_escape(u);
        } else if (c == '\r') {
            u->out[u->n_out++] = '\n';
            u->at += u->at + 1 < u->end && source[u->at + 1] == '\n' ? 2 : 1;
        } else {
            u->out[u->n_out++] = c;
            u->at++;
        }
    }
}

CelValue cel_literal_text(const CelLexer *lexer, CelToken token, Arena *arena) {
    Str text = str_of(lexer->source.ptr + token.from, token.to - token.from);
    Quote quote = quote_of(text);
    size_t len = text.len - quote.prefix - (quote.is_triple ? 3 : 1);
    Str content = str_of(text.ptr + quote.prefix, len);
    Unescape u = {
        .lexer = lexer,
        .is_bytes = quote.is_bytes,
        .at = token.from + quote.prefix,
        .end = token.from + quote.prefix + (uint32_t)len,
    };

    if (str_find(content, '\r') != SIZE_MAX ||
        (!quote.is_raw && str_find(content, '\\') != SIZE_MAX)) {
        u.out = arena_alloc(arena, len);
        if (!u.out)
            return cel_absent();
        unescape(&u, quote.is_raw);
        content = str_of(u.out, u.n_out);
    }
    return u.is_wrong ? cel_absent() : quote.is_bytes ? cel_bytes(content) : cel_string(content);
}
