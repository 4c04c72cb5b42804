/* The text of string.format(), read piece by piece. */

#include "cel/format.h"

#include "base/ascii.h"
#include "base/utf8.h"

#define BIT(kind) (1u << CEL_##kind)
#define NUMBERS (BIT(INT) | BIT(UINT) | BIT(DOUBLE))
#define TEXTS (BIT(STRING) | BIT(BYTES))

/* The errors are those of string_ext/format_errors, word for word, even if a clause accepts more
 * than they list. */
static const CelFormatClause clauses[] = {
    {'s',
        NUMBERS | TEXTS | BIT(NULL) | BIT(BOOL) | BIT(DURATION) | BIT(TIMESTAMP) | BIT(TYPE) |
            BIT(LIST) | BIT(MAP),
        "null, numbers, bool, string, bytes, duration, timestamp, type, list and map",
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps"},
    {'d', NUMBERS, "int, uint and double", "decimal clause can only be used on integers"},
    {'f', NUMBERS, "int, uint and double", "fixed-point clause can only be used on doubles"},
    {'e', NUMBERS, "int, uint and double", "scientific clause can only be used on doubles"},
    {'b', BIT(BOOL) | BIT(INT) | BIT(UINT), "int, uint and bool",
        "only integers and bools can be formatted as binary"},
    {'o', BIT(INT) | BIT(UINT), "int and uint", "octal clause can only be used on integers"},
    {'x', BIT(INT) | BIT(UINT) | TEXTS, "int, uint, string and bytes",
        "only integers, byte buffers, and strings can be formatted as hex"},
    {'X', BIT(INT) | BIT(UINT) | TEXTS, "int, uint, string and bytes",
        "only integers, byte buffers, and strings can be formatted as hex"},
};

const CelFormatClause *cel_format_clause(char clause) {
    for (size_t i = 0; i < ELEMENTS_OF(clauses); i++)
        if (clauses[i].clause == clause)
            return &clauses[i];
    return NULL;
}

Str cel_format_problem(const CelFormatPiece *piece, Arena *arena) {
    const char *quote = piece->culprit.len > 0 ? "\"" : "";

    return arena_printf(arena, "could not parse formatting clause: %s%s%s%.*s%s", piece->problem,
        piece->culprit.len > 0 ? " " : "", quote, STR_FMT(piece->culprit), quote);
}

static void set_problem(CelFormatPiece *piece, const char *problem, Str culprit) {
    piece->problem = problem;
    piece->culprit = culprit;
}

/* The digits after a point. */
static Str read_precision(Str rest, CelFormatPiece *piece) {
    size_t n = 0;

    piece->precision = 0;
    while (n < rest.len && ascii_is_digit(rest.ptr[n])) {
        if (piece->precision <= CEL_PRECISION_MAX)
            piece->precision = piece->precision * 10 + (uint32_t)(rest.ptr[n] - '0');
        n++;
    }
    if (n == rest.len)
        set_problem(piece,
            "error while parsing precision: could not find end of precision specifier", STR_NULL);
    else if (n == 0)
        set_problem(piece, "error while parsing precision: no digits after the point", STR_NULL);
    else if (piece->precision > CEL_PRECISION_MAX)
        set_problem(piece, "error while parsing precision: more than 1000", str_take(rest, n));
    return str_skip(rest, n);
}

/* The text after a %. */
static Str read_clause(Str rest, CelFormatPiece *piece) {
    uint32_t c;
    size_t n;

    if (rest.len == 0) {
        set_problem(piece, "unexpected end of string", STR_NULL);
        return rest;
    }
    if (rest.ptr[0] == '.')
        rest = read_precision(str_skip(rest, 1), piece);
    if (piece->problem)
        return rest;
    n = utf8_decode(rest, &c);
    if (!cel_format_clause(rest.ptr[0]))
        set_problem(piece, "unrecognized formatting clause", str_take(rest, n > 0 ? n : 1));
    piece->clause = rest.ptr[0];
    return str_skip(rest, n > 0 ? n : 1);
}

bool cel_format_next(Str *rest, CelFormatPiece *ret) {
    size_t percent = str_find(*rest, '%');

    *ret = (CelFormatPiece){.text = str_take(*rest, percent), .precision = CEL_PRECISION_DEFAULT};
    if (rest->len == 0)
        return false;
    *rest = str_skip(*rest, percent);
    if (rest->len == 0)
        return true;
    *rest = str_skip(*rest, 1);
    if (rest->len > 0 && rest->ptr[0] == '%') { /* the first one of %% is text */
        ret->text.len++;
        *rest = str_skip(*rest, 1);
        return true;
    }
    ret->is_clause = true;
    *rest = read_clause(*rest, ret);
    return true;
}
