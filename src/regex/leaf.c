/* The leaves of a pattern: characters, escapes and brackets, as classes of code points. Under (?i)
 * a class is folded before it is negated: [^k] then leaves out K and the Kelvin sign too. */

#include <errno.h>

#include "base/ascii.h"
#include "regex/parse-internal.h"

typedef struct NamedClass {
    const char *name;
    size_t n;
    RegexRange ranges[4];
} NamedClass;

/* ASCII only, all of them. */
static const NamedClass posix_classes[] = {
    {"alnum", 3, {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
    {"alpha", 2, {{'A', 'Z'}, {'a', 'z'}}},
    {"ascii", 1, {{0, 0x7F}}},
    {"blank", 2, {{'\t', '\t'}, {' ', ' '}}},
    {"cntrl", 2, {{0, 0x1F}, {0x7F, 0x7F}}},
    {"digit", 1, {{'0', '9'}}},
    {"graph", 1, {{'!', '~'}}},
    {"lower", 1, {{'a', 'z'}}},
    {"print", 1, {{' ', '~'}}},
    {"punct", 4, {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
    {"space", 2, {{'\t', '\r'}, {' ', ' '}}},
    {"upper", 1, {{'A', 'Z'}}},
    {"word", 4, {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    {"xdigit", 3, {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
};

/* \d \s \w; the capital letter is the complement. \v is not part of \s (RE2). */
static const NamedClass perl_classes[] = {
    {"d", 1, {{'0', '9'}}},
    {"s", 3, {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}},
    {"w", 4, {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
};

/* A node of a finished class. */
static uint32_t make_leaf(RegexParser *parser, RegexClass *class) {
    RegexNode node = {.kind = REGEX_NODE_CLASS};

    regex_class_sort(class);
    parser->n_ranges += class->ranges.n;
    if (class->failed && class->ranges.n < REGEX_CLASS_MAX)
        parser->failed = -ENOMEM;
    else if (class->failed || parser->n_ranges > REGEX_RANGES_MAX)
        (void)regex_parser_refuse(parser, "expression too large", 0, parser->pattern.len);
    if (parser->failed)
        return REGEX_NONE;
    node.ranges = class->ranges.items;
    node.n_ranges = (uint32_t) class->ranges.n;
    return regex_parser_add(parser, node);
}

uint32_t regex_leaf_char(RegexParser *parser, uint32_t c) {
    RegexClass class = {.arena = parser->arena};

    regex_class_add(&class, c, c);
    if (parser->flags & REGEX_FOLD)
        regex_class_fold(&class);
    return make_leaf(parser, &class);
}

uint32_t regex_leaf_dot(RegexParser *parser) {
    RegexClass class = {.arena = parser->arena};

    if (parser->flags & REGEX_DOT_ALL) {
        regex_class_add(&class, 0, REGEX_CODE_POINT_MAX);
    } else {
        regex_class_add(&class, 0, '\n' - 1);
        regex_class_add(&class, '\n' + 1, REGEX_CODE_POINT_MAX);
    }
    return make_leaf(parser, &class);
}

/* Adds @part, which is used up, or all that is not in it. */
static void add_part(RegexParser *parser, RegexClass *class, RegexClass *part, bool is_negated) {
    if (parser->flags & REGEX_FOLD)
        regex_class_fold(part);
    if (is_negated)
        regex_class_negate(part);
    regex_class_add_all(class, part->ranges.items, part->ranges.n);
    class->failed |= part->failed;
}

static void add_named(
    RegexParser *parser, RegexClass *class, const NamedClass *named, bool is_negated) {
    RegexClass part = {.arena = parser->arena};

    regex_class_add_all(&part, named->ranges, named->n);
    add_part(parser, class, &part, is_negated);
}

/* \d and its like. Whether there was one; then it is taken. */
static bool take_perl_class(RegexParser *parser, RegexClass *class) {
    Str rest = regex_parser_rest(parser);

    if (rest.len < 2 || rest.ptr[0] != '\\')
        return false;
    for (size_t i = 0; i < ELEMENTS_OF(perl_classes); i++) {
        char name = perl_classes[i].name[0];
        char capital = (char)(name - 'a' + 'A');

        if (rest.ptr[1] != name && rest.ptr[1] != capital)
            continue;
        add_named(parser, class, &perl_classes[i], rest.ptr[1] == capital);
        parser->at += 2;
        return true;
    }
    return false;
}

/* \pN, \p{Name}, \P{Name}, \p{^Name}, at the \. */
static bool take_unicode_class(RegexParser *parser, RegexClass *class) {
    RegexClass part = {.arena = parser->arena};
    size_t from = parser->at, length;
    bool is_negated = parser->pattern.ptr[from + 1] == 'P';
    Str name = STR_NULL;
    uint32_t c;

    parser->at += 2;
    if (regex_parser_sees(parser, '{')) {
        length = str_find(regex_parser_rest(parser), '}');
        if (length == SIZE_MAX)
            return regex_parser_refuse(
                parser, "invalid character class range", from, parser->pattern.len);
        name = str_of(parser->pattern.ptr + parser->at + 1, length - 1);
        parser->at += length + 1;
    } else if (parser->at < parser->pattern.len) {
        if (!regex_parser_take(parser, &c))
            return false;
        name = str_of(parser->pattern.ptr + from + 2, parser->at - from - 2);
    }
    if (name.len > 0 && name.ptr[0] == '^') {
        is_negated = !is_negated;
        name = str_skip(name, 1);
    }
    if (!regex_unicode_add(&part, name))
        return regex_parser_refuse(parser, "invalid character class range", from, parser->at);
    add_part(parser, class, &part, is_negated);
    return true;
}

static bool sees_unicode_class(const RegexParser *parser) {
    Str rest = regex_parser_rest(parser);

    return rest.len > 1 && rest.ptr[0] == '\\' && (rest.ptr[1] == 'p' || rest.ptr[1] == 'P');
}

static int hex_digit(uint32_t c) {
    return c < 0x80 ? ascii_hex_value((char)c) : -1;
}

/* The digits of \x{…} after its {. False: not a number, or too large. */
static bool take_hex_braces(RegexParser *parser, uint32_t *ret) {
    uint32_t value = 0, n = 0, c = 0;

    while (parser->at < parser->pattern.len && regex_parser_take(parser, &c)) {
        if (c == '}') {
            *ret = value;
            return n > 0;
        }
        if (hex_digit(c) < 0)
            return false;
        value = value * 16 + (uint32_t)hex_digit(c);
        if (value > REGEX_CODE_POINT_MAX)
            return false;
        n++;
    }
    return false;
}

/* After \x: two digits, or any number of them in braces. */
static bool take_hex(RegexParser *parser, uint32_t *ret) {
    uint32_t first, second;

    if (parser->at == parser->pattern.len || !regex_parser_take(parser, &first))
        return false;
    if (first == '{')
        return take_hex_braces(parser, ret);
    if (parser->at == parser->pattern.len || !regex_parser_take(parser, &second))
        return false;
    if (hex_digit(first) < 0 || hex_digit(second) < 0)
        return false;
    *ret = (uint32_t)(hex_digit(first) * 16 + hex_digit(second));
    return true;
}

/* The rest of up to three octal digits, of which @first was the first. A single one that is
 * not 0 would be a back-reference: refused. */
static bool take_octal(RegexParser *parser, uint32_t first, uint32_t *ret) {
    uint32_t value = first - '0';
    int n = 1;

    for (; n < 3 && parser->at < parser->pattern.len; n++) {
        char c = parser->pattern.ptr[parser->at];

        if (c < '0' || c > '7')
            break;
        value = value * 8 + (uint32_t)(c - '0');
        parser->at++;
    }
    *ret = value;
    return n > 1 || first == '0';
}

/* The meaning of the character after a \; @ret may need more of the pattern. */
static bool take_escaped(RegexParser *parser, uint32_t c, uint32_t *ret) {
    static const char letters[] = "afnrtv", meanings[] = "\a\f\n\r\t\v";
    const char *letter = c > 0 && c < 0x80 ? strchr(letters, (int)c) : NULL;

    if (letter) {
        *ret = (uint32_t)meanings[letter - letters];
        return true;
    }
    if (c >= '0' && c <= '7')
        return take_octal(parser, c, ret);
    if (c == 'x')
        return take_hex(parser, ret);
    *ret = c;
    return c < 0x80 && !ascii_is_alnum((char)c); /* \. is a dot; \q is refused */
}

/* A single character written with a \. */
static bool take_escape(RegexParser *parser, uint32_t *ret) {
    size_t from = parser->at++;
    uint32_t c = 0;

    if (parser->at == parser->pattern.len)
        return regex_parser_refuse(
            parser, "trailing backslash at end of expression", parser->at, parser->at);
    if (regex_parser_take(parser, &c) && take_escaped(parser, c, ret))
        return true;
    /* Unless it was not UTF-8, which was reported. */
    return parser->failed == 0 &&
           regex_parser_refuse(parser, "invalid escape sequence", from, parser->at);
}

uint32_t regex_leaf_escape(RegexParser *parser) {
    RegexClass class = {.arena = parser->arena};
    uint32_t c = 0;

    if (sees_unicode_class(parser))
        return take_unicode_class(parser, &class) ? make_leaf(parser, &class) : REGEX_NONE;
    if (take_perl_class(parser, &class))
        return make_leaf(parser, &class);
    return take_escape(parser, &c) ? regex_leaf_char(parser, c) : REGEX_NONE;
}

/* [:name:] or [:^name:] in a bracket. Whether there was one; then it is taken, or refused. */
static bool take_posix_class(RegexParser *parser, RegexClass *class) {
    Str rest = regex_parser_rest(parser), name;
    size_t length;
    const char *end;
    bool is_negated;

    if (rest.len < 3 || rest.ptr[0] != '[' || rest.ptr[1] != ':')
        return false;
    end = memmem(rest.ptr + 2, rest.len - 2, ":]", 2);
    if (!end)
        return false;
    length = (size_t)(end - rest.ptr);
    name = str_of(rest.ptr + 2, length - 2);
    is_negated = name.len > 0 && name.ptr[0] == '^';
    name = str_skip(name, is_negated);
    parser->at += length + 2;
    for (size_t i = 0; i < ELEMENTS_OF(posix_classes); i++) {
        if (!str_is(name, posix_classes[i].name))
            continue;
        add_named(parser, class, &posix_classes[i], is_negated);
        return true;
    }
    (void)regex_parser_refuse(
        parser, "invalid character class range", parser->at - length - 2, parser->at);
    return true;
}

/* One end of a range in the bracket that begins at @bracket. */
static bool take_class_char(RegexParser *parser, size_t bracket, uint32_t *ret) {
    if (parser->at == parser->pattern.len)
        return regex_parser_refuse(parser, "missing closing ]", bracket, parser->pattern.len);
    if (regex_parser_sees(parser, '\\'))
        return take_escape(parser, ret);
    return regex_parser_take(parser, ret);
}

/* a or a-z. A - before the ] is a character. */
static bool take_range(RegexParser *parser, RegexClass *class, size_t bracket) {
    size_t from = parser->at;
    uint32_t lo = 0, hi;
    Str rest;

    if (!take_class_char(parser, bracket, &lo))
        return false;
    hi = lo;
    rest = regex_parser_rest(parser);
    if (rest.len >= 2 && rest.ptr[0] == '-' && rest.ptr[1] != ']') {
        parser->at++;
        if (!take_class_char(parser, bracket, &hi))
            return false;
        if (hi < lo)
            return regex_parser_refuse(parser, "invalid character class range", from, parser->at);
    }
    regex_class_add(class, lo, hi);
    return true;
}

static bool take_bracket_item(RegexParser *parser, RegexClass *class, size_t bracket) {
    if (take_posix_class(parser, class))
        return parser->failed == 0;
    if (sees_unicode_class(parser))
        return take_unicode_class(parser, class);
    return take_perl_class(parser, class) || take_range(parser, class, bracket);
}

uint32_t regex_leaf_bracket(RegexParser *parser) {
    RegexClass class = {.arena = parser->arena};
    size_t bracket = parser->at++;
    bool is_negated = regex_parser_sees(parser, '^');

    parser->at += is_negated;
    do { /* a ] that comes first is a character */
        if (!take_bracket_item(parser, &class, bracket))
            return REGEX_NONE;
    } while (!regex_parser_sees(parser, ']'));
    parser->at++;
    if (parser->flags & REGEX_FOLD)
        regex_class_fold(&class);
    if (is_negated)
        regex_class_negate(&class);
    return make_leaf(parser, &class);
}
