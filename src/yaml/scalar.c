/* Determines types of scalars by the core schema of YAML 1.2.2, section 10.3.2: some fixed words
 * and three forms of numbers. Anything else is a string. */

#include "yaml/yaml-internal.h"

#include <math.h>

#include "base/ascii.h"
#include "base/double.h"

#define SPELLINGS_MAX 5u

static const struct {
    Str spellings[SPELLINGS_MAX]; /* unused ones have no ptr */
    YamlKind kind;
    bool boolean;
    double real;
} words[] = {
    {{STR(""), STR("~"), STR("null"), STR("Null"), STR("NULL")}, YAML_NULL},
    {{STR("true"), STR("True"), STR("TRUE")}, YAML_BOOL, .boolean = true},
    {{STR("false"), STR("False"), STR("FALSE")}, YAML_BOOL},
    {{STR(".inf"), STR(".Inf"), STR(".INF")}, YAML_FLOAT, .real = INFINITY},
    {{STR("+.inf"), STR("+.Inf"), STR("+.INF")}, YAML_FLOAT, .real = INFINITY},
    {{STR("-.inf"), STR("-.Inf"), STR("-.INF")}, YAML_FLOAT, .real = -INFINITY},
    {{STR(".nan"), STR(".NaN"), STR(".NAN")}, YAML_FLOAT, .real = NAN},
};

static bool resolve_word(YamlNode *node) {
    for (size_t i = 0; i < ELEMENTS_OF(words); i++)
        for (size_t k = 0; k < SPELLINGS_MAX && words[i].spellings[k].ptr; k++)
            if (str_eq(node->text, words[i].spellings[k])) {
                node->kind = words[i].kind;
                node->boolean = words[i].boolean;
                node->real = words[i].real;
                return true;
            }
    return false;
}

/* Parses numbers like 0x1f and 0o17. Returns false for signs, anything else, and on overflow. */
static bool parse_based(Str text, int64_t *ret) {
    int base = str_has_prefix(text, STR("0x")) ? 16 : str_has_prefix(text, STR("0o")) ? 8 : 0;
    uint64_t value = 0;

    if (base == 0 || text.len == 2)
        return false;
    for (size_t i = 2; i < text.len; i++) {
        int digit = ascii_hex_value(text.ptr[i]);

        if (digit < 0 || digit >= base || value > (uint64_t)INT64_MAX / (unsigned)base)
            return false;
        value = value * (unsigned)base + (unsigned)digit;
    }
    if (value > INT64_MAX)
        return false;
    *ret = (int64_t)value;
    return true;
}

static bool is_decimal(Str text) {
    size_t i = 0;

    if (text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+'))
        text = str_skip(text, 1);
    while (i < text.len && ascii_is_digit(text.ptr[i]))
        i++;
    return i > 0 && i == text.len;
}

static bool resolve_int(YamlNode *node) {
    Str unsigned_text = str_skip(node->text, str_has_prefix(node->text, STR("+")) ? 1 : 0);

    if (is_decimal(node->text) ? !str_to_int64(unsigned_text, &node->integer) /* rejects '+' */
                               : !parse_based(node->text, &node->integer))
        return false;
    node->kind = YAML_INT;
    node->real = (double)node->integer;
    return true;
}

/* Reads a number with a point or exponent. A whole number that is too large stays a string. */
static bool resolve_float(YamlNode *node) {
    bool has_mark =
        str_find(node->text, '.') != SIZE_MAX || str_contains_nocase(node->text, STR("e"));
    bool is_over = false;

    if (!has_mark || str_contains_nocase(node->text, STR("x")))
        return false;
    if (!double_parse(node->text, &node->real, &is_over)) {
        if (!is_over)
            return false;
        node->real = str_has_prefix(node->text, STR("-")) ? -INFINITY : INFINITY;
    }
    node->kind = YAML_FLOAT;
    return true;
}

void scalar_resolve(YamlNode *node) {
    if (!resolve_word(node) && !resolve_int(node) && !resolve_float(node))
        node->kind = YAML_STRING;
}
