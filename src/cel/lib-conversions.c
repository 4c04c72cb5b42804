/* Conversions (those of times are in lib-time.c) and base64. A value that does not fit is an error,
 * never the nearest value; only fractions are cut. Base64 is decoded as leniently as in cel-go:
 * padding may be missing, lines broken (encoders_ext/decode/hello_without_padding). */

#include <inttypes.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/double.h"
#include "base/utf8.h"
#include "cel/library.h"
#include "cel/number.h"
#include "cel/operators.h"

CEL_RETURNS(same, args[0])

CEL_RETURNS(
    int_from_uint, args[0].u <= INT64_MAX ? cel_int((int64_t)args[0].u) : cel_overflow_int(run))

/* Cut, not rounded; NaN is an error. Both limits of int64 are rejected, because a double near them
 * may be a rounded larger number (conversions/int/double_int_…_range). */
CEL_RETURNS(int_from_double,
    args[0].d > -0x1p63 && args[0].d < 0x1p63 ? cel_int((int64_t)args[0].d) : cel_overflow_int(run))

CEL_RETURNS(uint_from_int, args[0].i >= 0 ? cel_uint((uint64_t)args[0].i) : cel_overflow_uint(run))

CEL_RETURNS(uint_from_double,
    args[0].d >= 0 && args[0].d < 0x1p64 ? cel_uint((uint64_t)args[0].d) : cel_overflow_uint(run))

CEL_RETURNS(double_from_integer, cel_double(cel_as_double(args[0])))
CEL_RETURNS(string_from_bool, cel_string(args[0].boolean ? STR("true") : STR("false")))

CEL_FUNCTION(string_from_integer) {
    char text[24];
    int n = args[0].kind == CEL_INT ? snprintf(text, sizeof(text), "%" PRId64, args[0].i)
                                    : snprintf(text, sizeof(text), "%" PRIu64, args[0].u);

    return cel_make_string(run, str_of(text, (size_t)n));
}

CEL_FUNCTION(string_from_double) {
    char text[DOUBLE_TEXT_MAX];

    if (!cel_charge(run, CEL_DOUBLE_FUEL))
        return cel_exhausted(run);
    return cel_make_string(run, str_of(text, double_print(args[0].d, text)));
}

static CelValue fail_text(CelRun *run, Str text, const char *type, const char *why) {
    return cel_fail(run, "type conversion error from 'string' to '%s': '%.*s' is %s", type,
        STR_FMT(cel_excerpt(text)), why);
}

/* Only these spellings are allowed: conversions/bool/…. */
CEL_FUNCTION(bool_from_string) {
    static const char *const words[2][6] = {
        {"false", "False", "FALSE", "f", "F", "0"},
        {"true", "True", "TRUE", "t", "T", "1"},
    };
    Str text = cel_str(args[0]);

    for (size_t yes = 0; yes < 2; yes++)
        for (size_t i = 0; i < ELEMENTS_OF(words[yes]); i++)
            if (str_is(text, words[yes][i]))
                return cel_bool(yes);
    return fail_text(run, text, "bool", "none of true, t, 1, false, f, 0");
}

static CelValue read_number(CelRun *run, Str text, CelKind kind) {
    CelValue v = {.kind = (uint8_t)kind};

    if (!cel_charge_bytes(run, text.len))
        return cel_exhausted(run);
    if (kind == CEL_INT && !cel_number_int(text, &v.i))
        return fail_text(run, text, "int", "no whole number in the range of int");
    if (kind == CEL_UINT && !cel_number_uint(text, &v.u))
        return fail_text(run, text, "uint", "no whole number in the range of uint, without a sign");
    if (kind == CEL_DOUBLE && !cel_number_double(text, &v.d))
        return fail_text(run, text, "double", "no number in the range of double");
    return v;
}

CEL_RETURNS(int_from_string, read_number(run, cel_str(args[0]), CEL_INT))
CEL_RETURNS(uint_from_string, read_number(run, cel_str(args[0]), CEL_UINT))
CEL_RETURNS(double_from_string, read_number(run, cel_str(args[0]), CEL_DOUBLE))

/* A string and its bytes are the same bytes: nothing is copied. */
CEL_RETURNS(bytes_from_string, cel_bytes(cel_str(args[0])))

CEL_CHARGED(string_from_bytes, args[0].len) {
    Str bytes = cel_str(args[0]);

    if (utf8_valid_length(bytes) != bytes.len)
        return cel_fail(run, "invalid UTF-8 in bytes, cannot convert to string");
    return cel_string(bytes);
}

static const CelOverloadSpec overloads[] = {
    {"bool", "(bool) -> bool", same},
    {"bool", "(string) -> bool", bool_from_string},
    {"int", "(int) -> int", same},
    {"int", "(uint) -> int", int_from_uint},
    {"int", "(double) -> int", int_from_double},
    {"int", "(string) -> int", int_from_string, .cost = CEL_COST_BYTES},
    {"uint", "(uint) -> uint", same},
    {"uint", "(int) -> uint", uint_from_int},
    {"uint", "(double) -> uint", uint_from_double},
    {"uint", "(string) -> uint", uint_from_string, .cost = CEL_COST_BYTES},
    {"double", "(double) -> double", same},
    {"double", "(int) -> double", double_from_integer},
    {"double", "(uint) -> double", double_from_integer},
    {"double", "(string) -> double", double_from_string, .cost = CEL_COST_BYTES},
    {"string", "(string) -> string", same, .result_size = CEL_SIZE_FIRST},
    {"string", "(bool) -> string", string_from_bool},
    {"string", "(int) -> string", string_from_integer},
    {"string", "(uint) -> string", string_from_integer},
    {"string", "(double) -> string", string_from_double},
    {"string", "(bytes) -> string", string_from_bytes, CEL_SIZED(BYTES, FIRST)},
    {"bytes", "(bytes) -> bytes", same, .result_size = CEL_SIZE_FIRST},
    {"bytes", "(string) -> bytes", bytes_from_string, CEL_SIZED(BYTES, FIRST)},
    {"dyn", "(A) -> dyn", same, .result_size = CEL_SIZE_FIRST},
};

CEL_LIBRARY(cel_conversions_library, "conversions", overloads);

CEL_CHARGED(decode, 2 * (size_t)args[0].len) {
    _cleanup_(buf_done) Buf bytes = BUF_INIT(args[0].len);

    if (!base64_decode_loose(cel_str(args[0]), &bytes))
        return cel_fail(run, "illegal base64 data");
    if (buf_error(&bytes))
        return cel_no_memory(run);
    return cel_make_bytes(run, buf_str(&bytes));
}

CEL_CHARGED(encode, 2 * (size_t)args[0].len) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)args[0].len / 3 * 4 + 4);

    base64_encode(cel_str(args[0]), &text);
    if (buf_error(&text))
        return cel_no_memory(run);
    return cel_make_string(run, buf_str(&text));
}

static const CelOverloadSpec encoders[] = {
    {"base64.decode", "(string) -> bytes", decode, CEL_SIZED(BYTES, FIRST), .reads_text = true},
    {"base64.encode", "(bytes) -> string", encode, CEL_SIZED(BYTES, TWICE), .reads_text = true},
};

CEL_LIBRARY(cel_encoders_library, "encoders", encoders);
