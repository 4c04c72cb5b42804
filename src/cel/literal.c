/* Literals: digits and escapes to values. In text \x41, \101 and \u0041 are a code point; in bytes
 * \x and \101 are one byte, and \u is not allowed. The end of a line inside of three quotes is
 * "\n", also of raw text and CRLF, as in cel-go. */

#include "cel/parser-internal.h"

#include <errno.h>

#include "base/ascii.h"
#include "base/double.h"
#include "base/utf8.h"

/* UINT32_MAX: none. */
static unsigned digit_value(char c) {
    return (unsigned)ascii_hex_value(c);
}

/* Digits, with 0x before them or not. False: more than 64 bits. */
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

/* @n digits of @base at @at. False: they are not there. */
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

/* From u->at to u->end, escapes only where there are any. */
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

int cel_literal_text(const CelLexer *lexer, CelToken token, Arena *arena, CelValue *ret) {
    Str text = str_of(lexer->source.ptr + token.from, token.to - token.from);
    CelQuote quote = cel_quote_of(text);
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
            return -ENOMEM;
        unescape(&u, quote.is_raw);
        content = str_of(u.out, u.n_out);
    }
    *ret = u.is_wrong ? cel_absent() : quote.is_bytes ? cel_bytes(content) : cel_string(content);
    return 0;
}
