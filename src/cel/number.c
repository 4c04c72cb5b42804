/* Numbers as text. */

#include "cel/number.h"

#include "base/ascii.h"
#include "base/double.h"

#define NUMBER_TEXT_MAX 4096 /* bytes of a number with "_" in it, or of an invalid one */

bool cel_number_uint(Str text, uint64_t *ret) {
    uint64_t value = 0;

    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c < '0' || c > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(c - '0'), &value))
            return false;
    }
    *ret = value;
    return true;
}

bool cel_number_int(Str text, int64_t *ret) {
    bool has_plus = text.len > 1 && text.ptr[0] == '+' && ascii_is_digit(text.ptr[1]);

    return str_to_int64(str_skip(text, has_plus), ret);
}

/* [+-]inf, [+-]infinity, nan (without a sign). */
static bool read_word(Str text, double *ret) {
    bool is_negative = str_has_prefix(text, STR("-"));
    Str word = is_negative || str_has_prefix(text, STR("+")) ? str_skip(text, 1) : text;

    if (str_eq_nocase(word, STR("inf")) || str_eq_nocase(word, STR("infinity"))) {
        *ret = is_negative ? -__builtin_inf() : __builtin_inf();
        return true;
    }
    if (!str_eq_nocase(text, STR("nan")))
        return false;
    *ret = __builtin_nan("");
    return true;
}

static bool is_digit(char c, bool is_hex) {
    return is_hex ? ascii_hex_value(c) >= 0 : ascii_is_digit(c);
}

/* "_" is allowed between digits, or between 0x and the first. Copies all else to @out. */
static bool drop_separators(Str text, char *out, Str *ret) {
    size_t start = text.len > 0 && (text.ptr[0] == '+' || text.ptr[0] == '-');
    bool is_hex =
        text.len > start + 1 && text.ptr[start] == '0' && (text.ptr[start + 1] | 0x20) == 'x';
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '_') {
            out[n++] = text.ptr[i];
            continue;
        }
        if (i == 0 || i + 1 == text.len || !is_digit(text.ptr[i + 1], is_hex))
            return false;
        if (!is_digit(text.ptr[i - 1], is_hex) && !(is_hex && i == start + 2))
            return false;
    }
    *ret = str_of(out, n);
    return true;
}

bool cel_number_double(Str text, double *ret) {
    char plain[NUMBER_TEXT_MAX];

    if (str_find(text, '_') == SIZE_MAX)
        return double_parse(text, ret, NULL) || read_word(text, ret);
    if (text.len > sizeof(plain) || !drop_separators(text, plain, &text))
        return false;
    return double_parse(text, ret, NULL);
}
