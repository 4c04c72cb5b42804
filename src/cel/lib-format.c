/* "%s has %d".format([name, n]), in one pass over the format. Values inside of lists and maps are
 * printed as by %s, maps sorted by the text of their keys. */

#include "cel/format.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/calendar.h"
#include "base/double.h"
#include "base/utf8.h"
#include "cel/elements.h"
#include "cel/library.h"
#include "cel/time.h"
#include "cel/type.h"

/* Bytes of a text, which is made on the heap before it becomes a string of the run. */
#define FORMAT_MAX CEL_MEMORY_DEFAULT

/* The longest number: 309 digits, a point, the precision, a sign, an exponent. */
#define NUMBER_MAX (CEL_PRECISION_MAX + 320)

#define TIME_FUEL 4 /* to print a timestamp or a duration */

/* An int or uint. */
static void append_integer(CelValue v, unsigned base, bool is_upper, Buf *out) {
    const char *digits = is_upper ? "0123456789ABCDEF" : "0123456789abcdef";
    bool is_negative = v.kind == CEL_INT && v.i < 0;
    uint64_t n = is_negative ? 0 - v.u : v.u;
    char text[65];
    size_t at = sizeof(text);

    do {
        text[--at] = digits[n % base];
        n /= base;
    } while (n > 0);
    if (is_negative)
        text[--at] = '-';
    buf_append(out, str_of(text + at, sizeof(text) - at));
}

/* Appends NaN or an infinity; false for all other numbers. */
static bool append_special(double d, Buf *out) {
    if (isfinite(d))
        return false;
    buf_append(out, isnan(d) ? STR("NaN") : d > 0 ? STR("Infinity") : STR("-Infinity"));
    return true;
}

/* The fewest digits that read back as this number, never with an exponent. */
static void append_shortest(double d, Buf *out) {
    DoubleDigits shortest;
    Str digits;
    int point;

    if (append_special(d, out))
        return;
    shortest = double_digits(d);
    digits = str_of(shortest.digits, (size_t)shortest.n);
    point = shortest.n > 0 ? shortest.point : 0;
    if (shortest.is_negative)
        buf_append_char(out, '-');
    if (point <= 0) {
        buf_append_char(out, '0');
        if (digits.len > 0)
            buf_append_char(out, '.');
        buf_append_repeat(out, '0', (size_t)-point);
        buf_append(out, digits);
    } else {
        buf_append(out, str_take(digits, (size_t)point));
        if (digits.len > (size_t)point)
            buf_append_char(out, '.');
        else
            buf_append_repeat(out, '0', (size_t)point - digits.len);
        buf_append(out, str_skip(digits, (size_t)point));
    }
}

/* %f and %e, exactly, with halves to even. An int or uint is a double first, as in cel-go. */
static void append_precise(CelValue v, const CelFormatPiece *piece, Buf *out) {
    char text[NUMBER_MAX];
    int n;

    if (v.kind == CEL_DOUBLE && append_special(v.d, out))
        return;
    if (piece->clause == 'f')
        n = snprintf(text, sizeof(text), "%.*f", (int)piece->precision, cel_as_double(v));
    else
        n = snprintf(text, sizeof(text), "%.*e", (int)piece->precision, cel_as_double(v));
    if (n > 0)
        buf_append(out, str_take(str_of(text, (size_t)n), sizeof(text) - 1));
}

static void append_hex(Str bytes, bool is_upper, Buf *out) {
    const char *digits = is_upper ? "0123456789ABCDEF" : "0123456789abcdef";

    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.ptr[i];

        buf_append_char(out, digits[byte >> 4]);
        buf_append_char(out, digits[byte & 15]);
    }
}

static CelValue refuse(CelRun *run, char clause, CelValue v) {
    Str name = v.kind == CEL_RECORD ? v.record->type->name : cel_type_of(v)->name;

    return cel_fail(run, "error during formatting: %s, was given %.*s",
        cel_format_clause(clause)->refusal, STR_FMT(name));
}

/* %s. Each appends and returns null, or returns an error. */

/* Recurses for the parts of lists and maps, whose depth is CEL_VALUE_DEPTH_MAX at most. */
static CelValue append_value(CelRun *run, CelValue v, Buf *out);

static CelValue append_list(CelRun *run, const CelList *list, Buf *out) {
    buf_append_char(out, '[');
    for (uint32_t i = 0; i < list->n; i++) {
        CelValue item = cel_list_at(list, i, run), r;

        if (item.kind == CEL_ERROR)
            return item;
        if (i > 0)
            buf_append(out, STR(", "));
        r = append_value(run, item, out);
        if (r.kind == CEL_ERROR)
            return r;
    }
    buf_append_char(out, ']');
    return cel_null();
}

/* The key as it is printed, as a string. */
static CelValue key_text(CelRun *run, CelValue key) {
    _cleanup_(buf_done) Buf out = BUF_INIT(64);
    CelValue r;

    if (key.kind == CEL_STRING || key.kind == CEL_ERROR)
        return key;
    r = append_value(run, key, &out);
    return r.kind != CEL_ERROR ? cel_make_string(run, buf_str(&out)) : r;
}

/* All entries, and the texts of their keys; null or an error. */
static CelValue fetch_entries(
    CelRun *run, const CelMap *map, const CelEntry **ret_entries, const CelValue **ret_keys) {
    CelEntry *entries = cel_map_begin(run, map->n);
    CelValue *keys = cel_list_begin(run, map->n);

    if (!entries || !keys)
        return cel_no_memory(run);
    for (uint32_t i = 0; i < map->n; i++) {
        entries[i] = cel_map_at(map, i, run);
        if (entries[i].value.kind == CEL_ERROR)
            return entries[i].value;
        keys[i] = key_text(run, entries[i].key);
        if (keys[i].kind == CEL_ERROR)
            return keys[i];
    }
    *ret_entries = entries;
    *ret_keys = keys;
    return cel_null();
}

static CelValue append_map(CelRun *run, const CelMap *map, Buf *out) {
    const CelEntry *entries = NULL;
    const CelValue *keys = NULL;
    const uint32_t *order;
    CelValue r = fetch_entries(run, map, &entries, &keys);

    if (r.kind == CEL_ERROR)
        return r;
    order = cel_order(run, keys, map->n, &r);
    if (!order)
        return r;
    assert(map->n == 0 || (keys && entries));
    buf_append_char(out, '{');
    for (uint32_t i = 0; i < map->n; i++) {
        if (i > 0)
            buf_append(out, STR(", "));
        buf_append(out, cel_str(keys[order[i]]));
        buf_append(out, STR(": "));
        r = append_value(run, entries[order[i]].value, out);
        if (r.kind == CEL_ERROR)
            return r;
    }
    buf_append_char(out, '}');
    return cel_null();
}

/* The cost of printing @v, without its parts. */
static uint64_t value_price(CelValue v) {
    switch (v.kind) {
    case CEL_STRING:
    case CEL_BYTES:
        return 1 + v.len / 8;
    case CEL_DOUBLE:
        return CEL_DOUBLE_FUEL;
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        return TIME_FUEL;
    default:
        return 1;
    }
}

static CelValue append_value(CelRun *run, CelValue v, Buf *out) {
    if (!cel_charge(run, value_price(v)))
        return cel_exhausted(run);
    switch (v.kind) {
    case CEL_NULL:
        buf_append(out, STR("null"));
        break;
    case CEL_BOOL:
        buf_append(out, v.boolean ? STR("true") : STR("false"));
        break;
    case CEL_INT:
    case CEL_UINT:
        append_integer(v, 10, false, out);
        break;
    case CEL_DOUBLE:
        append_shortest(v.d, out);
        break;
    case CEL_STRING:
        buf_append(out, cel_str(v));
        break;
    case CEL_BYTES:
        utf8_append_valid(out, cel_str(v));
        break;
    case CEL_DURATION:
        cel_duration_print(v.i, out);
        break;
    case CEL_TIMESTAMP:
        calendar_print(v.i, v.len, out);
        break;
    case CEL_TYPE:
        buf_append(out, v.type->name);
        break;
    case CEL_LIST:
        return append_list(run, v.list, out);
    case CEL_MAP:
        return append_map(run, v.map, out);
    default:
        return refuse(run, 's', v);
    }
    return cel_null();
}

/* The cost of printing @v by a clause other than %s. The digits of %f and %e are computed one by
 * one, before the point too. */
static uint64_t clause_price(const CelFormatPiece *piece, CelValue v) {
    int exponent = v.kind == CEL_DOUBLE && isfinite(v.d) && v.d != 0 ? ilogb(v.d) : 0;

    if (piece->clause == 'f' || piece->clause == 'e')
        return CEL_DOUBLE_FUEL + (piece->precision + (uint64_t)abs(exponent) / 3) / 2;
    if (v.kind == CEL_STRING || v.kind == CEL_BYTES)
        return 1 + v.len / 4;
    return v.kind == CEL_DOUBLE ? CEL_DOUBLE_FUEL : 1;
}

static CelValue append_clause(CelRun *run, const CelFormatPiece *piece, CelValue v, Buf *out) {
    unsigned base = piece->clause == 'd'   ? 10
                    : piece->clause == 'o' ? 8
                    : piece->clause == 'b' ? 2
                                           : 16;

    if (!cel_format_takes(cel_format_clause(piece->clause), v.kind))
        return refuse(run, piece->clause, v);
    if (piece->clause == 's')
        return append_value(run, v, out);
    if (!cel_charge(run, clause_price(piece, v)))
        return cel_exhausted(run);
    if (piece->clause == 'f' || piece->clause == 'e')
        append_precise(v, piece, out);
    else if (v.kind == CEL_DOUBLE)
        append_shortest(v.d, out);
    else if (v.kind == CEL_STRING || v.kind == CEL_BYTES)
        append_hex(cel_str(v), piece->clause == 'X', out);
    else
        append_integer(
            v.kind == CEL_BOOL ? cel_uint(v.boolean) : v, base, piece->clause == 'X', out);
    return cel_null();
}

/* Appends one piece, with argument @i of @list if it has a clause. Null or an error. */
static CelValue append_piece(
    CelRun *run, const CelFormatPiece *piece, const CelList *list, uint32_t i, Buf *out) {
    CelValue v;

    buf_append(out, piece->text);
    if (!piece->is_clause)
        return cel_null();
    if (i >= list->n)
        return cel_fail(run, "index %" PRIu32 " out of range", i);
    if (piece->problem) {
        Str text = cel_format_problem(piece, run->arena);

        return text.ptr ? cel_fail(run, "%.*s", STR_FMT(text)) : cel_no_memory(run);
    }
    v = cel_list_at(list, i, run);
    return v.kind != CEL_ERROR ? append_clause(run, piece, v, out) : v;
}

CEL_CHARGED(format, args[0].len) {
    _cleanup_(buf_done) Buf out = BUF_INIT(FORMAT_MAX);
    Str rest = cel_str(args[0]);
    CelFormatPiece piece;
    uint32_t n_taken = 0;

    while (cel_format_next(&rest, &piece)) {
        CelValue r = append_piece(run, &piece, args[1].list, n_taken, &out);

        if (r.kind == CEL_ERROR)
            return r;
        if (buf_error(&out))
            return cel_no_memory(run);
        n_taken += piece.is_clause;
    }
    return cel_make_string(run, buf_str(&out));
}

/* A constant format is checked when the expression is compiled. The result is not kept: reading the
 * format again costs less than printing one number. */
static const void *check_format(CelValue argument, Arena *arena, Str *ret_error) {
    static const char fine[] = "fine";
    Str rest = cel_str(argument);
    CelFormatPiece piece;

    while (cel_format_next(&rest, &piece))
        if (piece.problem) {
            *ret_error = cel_format_problem(&piece, arena);
            return NULL;
        }
    return fine;
}

static const CelOverloadSpec overloads[] = {
    {"format", "string.(list(dyn)) -> string", format, .cost = CEL_COST_BYTES,
        .prepare = check_format, .prepare_arg = 0, .is_literal = true, .reads_text = true},
};

CEL_LIBRARY(cel_format_library, "format", overloads);
