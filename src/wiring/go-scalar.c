/* Applies the rules of Go's YAML 1.1 to the plain scalars of a tree where they differ from 1.2. */

#include "wiring/read-internal.h"

#include <math.h>

#include "base/ascii.h"
#include "base/double.h"

#define NUMBER_MAX 64u /* a longer text is not a number */

static bool resolve_word(YamlNode *node) {
    static const Str no[] = {
        STR("n"), STR("N"), STR("no"), STR("No"), STR("NO"), STR("off"), STR("Off"), STR("OFF")};
    static const Str yes[] = {
        STR("y"), STR("Y"), STR("yes"), STR("Yes"), STR("YES"), STR("on"), STR("On"), STR("ON")};
    bool is_yes = str_is_one_of(node->text, yes, ELEMENTS_OF(yes));

    if (!is_yes && !str_is_one_of(node->text, no, ELEMENTS_OF(no)))
        return false;
    node->kind = YAML_BOOL;
    node->boolean = is_yes;
    return true;
}

/* Removes the prefix of the base: 0x, 0o, 0b, or a 0 before other digits. */
static unsigned take_base(Str *digits) {
    static const struct {
        Str prefix;
        unsigned base;
    } bases[] = {{STR("0x"), 16}, {STR("0o"), 8}, {STR("0b"), 2}};

    for (size_t i = 0; i < ELEMENTS_OF(bases); i++)
        if (str_eq_nocase(str_take(*digits, bases[i].prefix.len), bases[i].prefix)) {
            *digits = str_skip(*digits, bases[i].prefix.len);
            return bases[i].base;
        }
    return digits->len > 1 && digits->ptr[0] == '0' ? 8 : 10;
}

static bool parse_int(Str text, int64_t *ret) {
    bool is_negative = str_has_prefix(text, STR("-"));
    int64_t value = 0;
    unsigned base;

    text = str_skip(text, is_negative || str_has_prefix(text, STR("+")));
    base = take_base(&text);
    for (size_t i = 0; i < text.len; i++) {
        int digit = ascii_hex_value(text.ptr[i]);
        int64_t step = is_negative ? -digit : digit;

        if (digit < 0 || digit >= (int)base ||
            __builtin_mul_overflow(value, (int64_t)base, &value) ||
            __builtin_add_overflow(value, step, &value))
            return false;
    }
    *ret = value;
    return text.len > 0;
}

static void set_int(YamlNode *node, int64_t value) {
    node->kind = YAML_INT;
    node->integer = value;
    node->real = (double)value;
}

/* JSON writes a number without a fraction as a whole one. */
static void set_real(YamlNode *node, double value) {
    node->kind = YAML_FLOAT;
    node->real = value;
    if (value > -0x1p63 && value < 0x1p63 && value == trunc(value))
        set_int(node, (int64_t)value);
}

/* Removes the underscores between digits. */
static void resolve_number(YamlNode *node) {
    char text[NUMBER_MAX];
    size_t n = 0;
    bool is_over = false;
    int64_t value;
    double real;

    if (node->text.len == 0 || node->text.len > NUMBER_MAX ||
        !memchr("+-.0123456789", node->text.ptr[0], 13))
        return;
    for (size_t i = 0; i < node->text.len; i++)
        if (node->text.ptr[i] != '_')
            text[n++] = node->text.ptr[i];
    if (parse_int(str_of(text, n), &value)) {
        set_int(node, value);
        return;
    }
    if (str_contains_nocase(str_of(text, n), STR("x"))) /* 0x1p3 */
        return;
    if (double_parse(str_of(text, n), &real, &is_over))
        set_real(node, real);
    else if (is_over)
        node->kind = YAML_STRING; /* 1e400: not a number in Go */
}

/* yaml_parse() limits the recursion to YAML_DEPTH_MAX. */
void go_scalars_resolve(YamlNode *root) {
    for (size_t i = 0; root->kind == YAML_SEQUENCE && i < root->n; i++)
        go_scalars_resolve(root->items[i]);
    for (size_t i = 0; root->kind == YAML_MAPPING && i < root->n; i++)
        go_scalars_resolve(root->pairs[i].value);
    if (root->is_plain && root->kind != YAML_NULL && root->kind != YAML_BOOL && !resolve_word(root))
        resolve_number(root);
}
