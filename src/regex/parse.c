/* Parses a pattern to its tree, in one loop. Every open parenthesis is a frame on a stack, without
 * recursion: the sequence being collected and the alternatives before it. Errors and their words
 * are those of Go's regexp, which Kubernetes uses. */

#include "regex/parse-internal.h"

#include <errno.h>

#include "base/ascii.h"
#include "base/utf8.h"

/* An open group, or the whole pattern. */
typedef struct Frame {
    uint32_t first, last;               /* the sequence; REGEX_NONE: nothing yet */
    uint32_t first_choice, last_choice; /* alternatives before the last | */
    uint32_t group;                     /* 0: does not capture */
    uint8_t flags;                      /* the flags after it */
    size_t from;                        /* where it begins, for errors */
} Frame;

typedef struct Parse {
    Str pattern;
    size_t at; /* the next byte */
    uint8_t flags;
    Arena *arena;
    RegexTree *tree;
    RegexError *error;
    bool is_malformed; /* and reported */
    size_t n_ranges;   /* of all classes so far */
    VEC(Frame) frames;
    size_t repeat_from; /* where the repetition just before begins; SIZE_MAX: none */
} Parse;

/* Parse.flags */
#define FOLD 1u       /* i */
#define MULTI_LINE 2u /* m */
#define DOT_ALL 4u    /* s */
#define LAZY 8u       /* U: * and *? swap their meaning */

/* On failure functions return false, or REGEX_NONE for a node: it was reported, or the arena is
 * full. */

/* Whether @c is the next byte. */
static bool sees(const Parse *p, char c) {
    return p->at < p->pattern.len && p->pattern.ptr[p->at] == c;
}

/* The rest of the pattern. */
static Str rest_of(const Parse *p) {
    return str_of(p->pattern.ptr + p->at, p->pattern.len - p->at);
}

/* Reports the error in the pattern from byte @from to @to. Returns false. */
static bool refuse(Parse *p, const char *text, size_t from, size_t to) {
    *p->error = (RegexError){
        .text = str_from_c(text),
        .part = str_of(p->pattern.ptr + from, to - from),
        .offset = from,
    };
    p->is_malformed = true;
    return false;
}

/* Takes one code point. */
static bool take(Parse *p, uint32_t *ret) {
    size_t n = utf8_decode(rest_of(p), ret);

    p->at += n;
    return n > 0 || refuse(p, "invalid UTF-8", p->at, p->pattern.len);
}

/* Adds a node, and returns its number. */
static uint32_t add_node(Parse *p, RegexNode node) {
    bool is_leaf = node.kind == REGEX_NODE_EMPTY || node.kind == REGEX_NODE_CLASS ||
                   node.kind == REGEX_NODE_ASSERT;

    node.next = REGEX_NONE;
    if (is_leaf) {
        node.child = REGEX_NONE;
        node.height = node.copies = 1;
    }
    if (p->tree->nodes.n >= REGEX_NODES_MAX)
        (void)refuse(p, "expression too large", 0, p->pattern.len);
    else if (VEC_ADD(&p->tree->nodes, p->arena, node))
        return (uint32_t)(p->tree->nodes.n - 1);
    return REGEX_NONE;
}

/* The leaves of a pattern: characters, escapes and brackets, as classes of code points. Under (?i)
 * a class is folded before it is negated: [^k] then leaves out K and the Kelvin sign too. */

typedef struct NamedClass {
    const char *name;
    size_t n;
    RegexRange ranges[4];
} NamedClass;

/* All of them have only ASCII characters. */
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

/* Makes a node of a finished class. */
static uint32_t make_leaf(Parse *p, RegexClass *class) {
    RegexNode node = {.kind = REGEX_NODE_CLASS};

    regex_class_sort(class);
    p->n_ranges += class->ranges.n;
    if (class->failed || p->n_ranges > REGEX_RANGES_MAX)
        (void)refuse(p, "expression too large", 0, p->pattern.len);
    if (p->is_malformed)
        return REGEX_NONE;
    node.ranges = class->ranges.items;
    node.n_ranges = (uint32_t) class->ranges.n;
    return add_node(p, node);
}

static uint32_t leaf_char(Parse *p, uint32_t c) {
    RegexClass class = {.arena = p->arena};

    regex_class_add(&class, c, c);
    if (p->flags & FOLD)
        regex_class_fold(&class);
    return make_leaf(p, &class);
}

static uint32_t leaf_dot(Parse *p) {
    RegexClass class = {.arena = p->arena};

    if (p->flags & DOT_ALL) {
        regex_class_add(&class, 0, REGEX_CODE_POINT_MAX);
    } else {
        regex_class_add(&class, 0, '\n' - 1);
        regex_class_add(&class, '\n' + 1, REGEX_CODE_POINT_MAX);
    }
    return make_leaf(p, &class);
}

/* Adds @part, or its complement, to @class. Changes @part. */
static void add_part(Parse *p, RegexClass *class, RegexClass *part, bool is_negated) {
    if (p->flags & FOLD)
        regex_class_fold(part);
    if (is_negated)
        regex_class_negate(part);
    regex_class_add_all(class, part->ranges.items, part->ranges.n);
    class->failed |= part->failed;
}

static void add_named(Parse *p, RegexClass *class, const NamedClass *named, bool is_negated) {
    RegexClass part = {.arena = p->arena};

    regex_class_add_all(&part, named->ranges, named->n);
    add_part(p, class, &part, is_negated);
}

/* Takes \d, \s or \w. Returns whether there was one. */
static bool take_perl_class(Parse *p, RegexClass *class) {
    Str rest = rest_of(p);

    if (rest.len < 2 || rest.ptr[0] != '\\')
        return false;
    for (size_t i = 0; i < ELEMENTS_OF(perl_classes); i++) {
        char name = perl_classes[i].name[0];
        char capital = (char)(name - 'a' + 'A');

        if (rest.ptr[1] != name && rest.ptr[1] != capital)
            continue;
        add_named(p, class, &perl_classes[i], rest.ptr[1] == capital);
        p->at += 2;
        return true;
    }
    return false;
}

/* Takes \pN, \p{Name}, \P{Name} or \p{^Name}, at the \. */
static bool take_unicode_class(Parse *p, RegexClass *class) {
    RegexClass part = {.arena = p->arena};
    size_t from = p->at, length;
    bool is_negated = p->pattern.ptr[from + 1] == 'P';
    Str name = STR_NULL;
    uint32_t c;

    p->at += 2;
    if (sees(p, '{')) {
        length = str_find(rest_of(p), '}');
        if (length == SIZE_MAX)
            return refuse(p, "invalid character class range", from, p->pattern.len);
        name = str_of(p->pattern.ptr + p->at + 1, length - 1);
        p->at += length + 1;
    } else if (p->at < p->pattern.len) {
        if (!take(p, &c))
            return false;
        name = str_of(p->pattern.ptr + from + 2, p->at - from - 2);
    }
    if (name.len > 0 && name.ptr[0] == '^') {
        is_negated = !is_negated;
        name = str_skip(name, 1);
    }
    if (!regex_unicode_add(&part, name))
        return refuse(p, "invalid character class range", from, p->at);
    add_part(p, class, &part, is_negated);
    return true;
}

static bool sees_unicode_class(const Parse *p) {
    Str rest = rest_of(p);

    return rest.len > 1 && rest.ptr[0] == '\\' && (rest.ptr[1] == 'p' || rest.ptr[1] == 'P');
}

static int hex_digit(uint32_t c) {
    return c < 0x80 ? ascii_hex_value((char)c) : -1;
}

/* Takes the digits of \x{…} after its {. Returns false if it is not a number, or too large. */
static bool take_hex_braces(Parse *p, uint32_t *ret) {
    uint32_t value = 0, n = 0, c = 0;

    while (p->at < p->pattern.len && take(p, &c)) {
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

/* Takes two digits after \x, or any number of them in braces. */
static bool take_hex(Parse *p, uint32_t *ret) {
    uint32_t first, second;

    if (p->at == p->pattern.len || !take(p, &first))
        return false;
    if (first == '{')
        return take_hex_braces(p, ret);
    if (p->at == p->pattern.len || !take(p, &second))
        return false;
    if (hex_digit(first) < 0 || hex_digit(second) < 0)
        return false;
    *ret = (uint32_t)(hex_digit(first) * 16 + hex_digit(second));
    return true;
}

/* Takes the rest of up to three octal digits, which begin with @first. False for one digit that is
 * not 0: back-references are refused. */
static bool take_octal(Parse *p, uint32_t first, uint32_t *ret) {
    uint32_t value = first - '0';
    int n = 1;

    for (; n < 3 && p->at < p->pattern.len; n++) {
        char c = p->pattern.ptr[p->at];

        if (c < '0' || c > '7')
            break;
        value = value * 8 + (uint32_t)(c - '0');
        p->at++;
    }
    *ret = value;
    return n > 1 || first == '0';
}

/* Takes the rest of an escape; @c is the character after its \. */
static bool take_escaped(Parse *p, uint32_t c, uint32_t *ret) {
    static const char letters[] = "afnrtv", meanings[] = "\a\f\n\r\t\v";
    const char *letter = c > 0 && c < 0x80 ? strchr(letters, (int)c) : NULL;

    if (letter) {
        *ret = (uint32_t)meanings[letter - letters];
        return true;
    }
    if (c >= '0' && c <= '7')
        return take_octal(p, c, ret);
    if (c == 'x')
        return take_hex(p, ret);
    *ret = c;
    return c < 0x80 && !ascii_is_alnum((char)c); /* \. is a dot; \q is refused */
}

/* Takes a single character written with a \. */
static bool take_escape(Parse *p, uint32_t *ret) {
    size_t from = p->at++;
    uint32_t c = 0;

    if (p->at == p->pattern.len)
        return refuse(p, "trailing backslash at end of expression", p->at, p->at);
    if (take(p, &c) && take_escaped(p, c, ret))
        return true;
    /* If it is not UTF-8, that was reported. */
    return !p->is_malformed && refuse(p, "invalid escape sequence", from, p->at);
}

static uint32_t leaf_escape(Parse *p) {
    RegexClass class = {.arena = p->arena};
    uint32_t c = 0;

    if (sees_unicode_class(p))
        return take_unicode_class(p, &class) ? make_leaf(p, &class) : REGEX_NONE;
    if (take_perl_class(p, &class))
        return make_leaf(p, &class);
    return take_escape(p, &c) ? leaf_char(p, c) : REGEX_NONE;
}

/* Takes or refuses [:name:] or [:^name:] in a bracket. Returns whether there was one. */
static bool take_posix_class(Parse *p, RegexClass *class) {
    Str rest = rest_of(p), name;
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
    p->at += length + 2;
    for (size_t i = 0; i < ELEMENTS_OF(posix_classes); i++) {
        if (!str_is(name, posix_classes[i].name))
            continue;
        add_named(p, class, &posix_classes[i], is_negated);
        return true;
    }
    (void)refuse(p, "invalid character class range", p->at - length - 2, p->at);
    return true;
}

/* Takes one end of a range in the bracket that begins at @bracket. */
static bool take_class_char(Parse *p, size_t bracket, uint32_t *ret) {
    if (p->at == p->pattern.len)
        return refuse(p, "missing closing ]", bracket, p->pattern.len);
    if (sees(p, '\\'))
        return take_escape(p, ret);
    return take(p, ret);
}

/* Takes a or a-z. A - before the ] is a character. */
static bool take_range(Parse *p, RegexClass *class, size_t bracket) {
    size_t from = p->at;
    uint32_t lo = 0, hi;
    Str rest;

    if (!take_class_char(p, bracket, &lo))
        return false;
    hi = lo;
    rest = rest_of(p);
    if (rest.len >= 2 && rest.ptr[0] == '-' && rest.ptr[1] != ']') {
        p->at++;
        if (!take_class_char(p, bracket, &hi))
            return false;
        if (hi < lo)
            return refuse(p, "invalid character class range", from, p->at);
    }
    regex_class_add(class, lo, hi);
    return true;
}

static bool take_bracket_item(Parse *p, RegexClass *class, size_t bracket) {
    if (take_posix_class(p, class))
        return !p->is_malformed;
    if (sees_unicode_class(p))
        return take_unicode_class(p, class);
    return take_perl_class(p, class) || take_range(p, class, bracket);
}

static uint32_t leaf_bracket(Parse *p) {
    RegexClass class = {.arena = p->arena};
    size_t bracket = p->at++;
    bool is_negated = sees(p, '^');

    p->at += is_negated;
    do { /* a ] that comes first is a character */
        if (!take_bracket_item(p, &class, bracket))
            return REGEX_NONE;
    } while (!sees(p, ']'));
    p->at++;
    if (p->flags & FOLD)
        regex_class_fold(&class);
    if (is_negated)
        regex_class_negate(&class);
    return make_leaf(p, &class);
}

static RegexNode *node_at(Parse *p, uint32_t number) {
    return &p->tree->nodes.items[number];
}

static Frame *top(Parse *p) {
    return &p->frames.items[p->frames.n - 1];
}

static bool refuse_depth(Parse *p) {
    return refuse(p, "expression nests too deeply", 0, p->pattern.len);
}

static bool open_frame(Parse *p, uint32_t group, uint8_t flags, size_t from) {
    Frame frame = {
        .first = REGEX_NONE,
        .last = REGEX_NONE,
        .first_choice = REGEX_NONE,
        .last_choice = REGEX_NONE,
        .group = group,
        .flags = flags,
        .from = from,
    };

    if (p->frames.n >= REGEX_NODES_MAX)
        return refuse_depth(p);
    return VEC_ADD(&p->frames, p->arena, frame);
}

/* Adds @node to a chain of siblings. */
static void chain(Parse *p, uint32_t *first, uint32_t *last, uint32_t node) {
    if (*last == REGEX_NONE)
        *first = node;
    else
        node_at(p, *last)->next = node;
    *last = node;
}

/* Adds @node to the sequence, if making it succeeded. */
static bool append(Parse *p, uint32_t node) {
    if (node != REGEX_NONE)
        chain(p, &top(p)->first, &top(p)->last, node);
    return node != REGEX_NONE;
}

/* A parent of the chain that begins with @first; a single node needs none, except in a GROUP. */
static uint32_t make_parent(Parse *p, RegexNodeKind kind, uint32_t first) {
    RegexNode node = {.kind = (uint8_t)kind, .child = first, .height = 1, .copies = 1};

    if (first == REGEX_NONE) /* the child could not be made */
        return first;
    if (node_at(p, first)->next == REGEX_NONE && kind != REGEX_NODE_GROUP)
        return first;
    node.is_nullable = kind != REGEX_NODE_CHOICE;
    for (uint32_t i = first; i != REGEX_NONE; i = node_at(p, i)->next) {
        const RegexNode *child = node_at(p, i);

        if (child->height + 1 > node.height)
            node.height = (uint16_t)(child->height + 1);
        if (child->copies > node.copies)
            node.copies = child->copies;
        if (kind == REGEX_NODE_CHOICE ? child->is_nullable : !child->is_nullable)
            node.is_nullable = kind == REGEX_NODE_CHOICE;
    }
    if (node.height > REGEX_HEIGHT_MAX) {
        (void)refuse_depth(p);
        return REGEX_NONE;
    }
    if (kind == REGEX_NODE_GROUP)
        node.group = top(p)->group;
    return add_node(p, node);
}

/* Makes an alternative of the sequence collected so far. */
static bool end_choice(Parse *p) {
    static const RegexNode empty = {.kind = REGEX_NODE_EMPTY, .is_nullable = true};
    Frame *frame = top(p);
    uint32_t sequence = frame->first == REGEX_NONE
                            ? add_node(p, empty)
                            : make_parent(p, REGEX_NODE_SEQUENCE, frame->first);

    if (sequence == REGEX_NONE)
        return false;
    chain(p, &frame->first_choice, &frame->last_choice, sequence);
    frame->first = frame->last = REGEX_NONE;
    return true;
}

/* Closes the innermost frame; its contents become one node. */
static uint32_t close_frame(Parse *p) {
    uint32_t node = REGEX_NONE;

    if (end_choice(p))
        node = make_parent(p, REGEX_NODE_CHOICE, top(p)->first_choice);
    if (top(p)->group > 0)
        node = make_parent(p, REGEX_NODE_GROUP, node);
    p->flags = top(p)->flags;
    p->frames.n--;
    return node;
}

static bool parse_close(Parse *p) {
    if (p->frames.n == 1) {
        (void)refuse(p, "unexpected )", p->at, p->pattern.len);
        p->error->part = p->pattern; /* as Go shows it */
        return false;
    }
    p->at++;
    return append(p, close_frame(p));
}

static bool open_group(Parse *p, size_t from) {
    return open_frame(p, ++p->tree->n_groups, p->flags, from);
}

static bool is_group_name(Str name) {
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (c != '_' && !ascii_is_alnum(c))
            return false;
    }
    return name.len > 0;
}

/* Opens (?P<name> or (?<name>, at its ( ; the name begins @skip bytes later. It is only checked: no
 * caller reads groups by name. */
static bool parse_named_group(Parse *p, size_t skip) {
    size_t from = p->at, length = str_find(rest_of(p), '>');
    Str name;

    if (length == SIZE_MAX)
        return refuse(p, "invalid named capture", from, p->pattern.len);
    name = str_of(p->pattern.ptr + from + skip, length - skip);
    if (!is_group_name(name))
        return refuse(p, "invalid named capture", from, from + length + 1);
    p->at = from + length + 1;
    return open_group(p, from);
}

static uint8_t flag_of(uint32_t c) {
    return c == 'i' ? FOLD : c == 'm' ? MULTI_LINE : c == 's' ? DOT_ALL : c == 'U' ? LAZY : 0;
}

/* Takes (?flags) or (?flags:, at its ( ; there may be no flags, and a - clears those after it. */
static bool parse_flags(Parse *p) {
    size_t from = p->at;
    uint8_t flags = p->flags;
    bool minus = false, saw_flag = false;
    uint32_t c;

    p->at += 2;
    while (p->at < p->pattern.len) {
        if (!take(p, &c))
            return false;
        if (flag_of(c)) {
            flags = (uint8_t)(minus ? flags & ~flag_of(c) : flags | flag_of(c));
            saw_flag = true;
        } else if (c == '-' && !minus) {
            minus = true;
            saw_flag = false;
        } else if ((c == ':' || c == ')') && (!minus || saw_flag)) {
            uint8_t before = p->flags;

            p->flags = flags;
            return c != ':' || open_frame(p, 0, before, from);
        } else {
            break;
        }
    }
    return refuse(p, "invalid or unsupported Perl syntax", from, p->at);
}

static bool parse_open(Parse *p) {
    Str rest = rest_of(p);

    if (rest.len > 4 && memcmp(rest.ptr, "(?P<", 4) == 0)
        return parse_named_group(p, 4);
    if (rest.len > 3 && memcmp(rest.ptr, "(?<", 3) == 0)
        return parse_named_group(p, 3);
    if (rest.len > 1 && rest.ptr[1] == '?')
        return parse_flags(p);
    p->at++;
    return open_group(p, p->at - 1);
}

/* A decimal number without leading zeros. Returns false if there is none. A number that is too
 * large is capped at one that is still too large. */
static bool take_count(Str text, size_t *at, uint32_t *ret) {
    size_t from = *at;
    uint32_t n = 0;

    while (*at < text.len && ascii_is_digit(text.ptr[*at])) {
        if (n <= REGEX_REPEAT_MAX)
            n = n * 10 + (uint32_t)(text.ptr[*at] - '0');
        (*at)++;
    }
    *ret = n;
    return *at > from && (text.ptr[from] != '0' || *at == from + 1);
}

/* Reads {n}, {n,} or {n,m} at its {. Returns its length; 0: the { is an ordinary character. */
static size_t read_counts(Str text, uint32_t *ret_min, uint32_t *ret_max) {
    size_t at = 1;

    if (!take_count(text, &at, ret_min))
        return 0;
    *ret_max = *ret_min;
    if (at < text.len && text.ptr[at] == ',') {
        at++;
        *ret_max = REGEX_UNBOUNDED;
        if (at < text.len && text.ptr[at] != '}' && !take_count(text, &at, ret_max))
            return 0;
    }
    return at < text.len && text.ptr[at] == '}' ? at + 1 : 0;
}

/* Repeats the last node of the sequence: it is copied, and its place becomes the repetition. */
static bool wrap_last(Parse *p, uint32_t min, uint32_t max, bool is_lazy, size_t from) {
    uint32_t place = top(p)->last;
    uint32_t times = max == REGEX_UNBOUNDED ? min : max;
    RegexNode moved = *node_at(p, place);
    uint32_t copies = max == 0 ? 1 : moved.copies * (times > 0 ? times : 1);
    uint32_t child = add_node(p, moved);

    if (child == REGEX_NONE)
        return false;
    if (copies > REGEX_REPEAT_MAX)
        return refuse(p, "invalid repeat count", from, p->at);
    if (moved.height >= REGEX_HEIGHT_MAX)
        return refuse_depth(p);
    *node_at(p, place) = (RegexNode){
        .kind = REGEX_NODE_REPEAT,
        .is_lazy = is_lazy,
        .is_nullable = min == 0 || moved.is_nullable,
        .height = (uint16_t)(moved.height + 1),
        .copies = (uint16_t)copies,
        .next = REGEX_NONE,
        .child = child,
        .min = min,
        .max = max,
    };
    return true;
}

/* Takes a repetition of @length bytes, and the ? that may follow. */
static bool parse_repeat(Parse *p, uint32_t min, uint32_t max, size_t length) {
    size_t from = p->at;
    bool is_lazy = p->flags & LAZY;

    p->at += length;
    if (min > REGEX_REPEAT_MAX || (max != REGEX_UNBOUNDED && (max > REGEX_REPEAT_MAX || min > max)))
        return refuse(p, "invalid repeat count", from, p->at);
    if (sees(p, '?')) {
        is_lazy = !is_lazy;
        p->at++;
    }
    if (p->repeat_from != SIZE_MAX)
        return refuse(p, "invalid nested repetition operator", p->repeat_from, p->at);
    if (top(p)->last == REGEX_NONE)
        return refuse(p, "missing argument to repetition operator", from, p->at);
    p->repeat_from = from;
    return wrap_last(p, min, max, is_lazy, from);
}

static bool add_assert(Parse *p, RegexAssert assert, size_t length) {
    RegexNode new = {.kind = REGEX_NODE_ASSERT, .assert = (uint8_t)assert, .is_nullable = true};

    p->at += length;
    return append(p, add_node(p, new));
}

/* Takes \Q…\E, literal text. Without an \E it goes to the end. */
static bool parse_quoted(Parse *p) {
    const char *close;
    size_t end;

    p->at += 2;
    close = memmem(p->pattern.ptr + p->at, p->pattern.len - p->at, "\\E", 2);
    end = close ? (size_t)(close - p->pattern.ptr) : p->pattern.len;
    while (p->at < end) {
        uint32_t c;

        if (!take(p, &c) || !append(p, leaf_char(p, c)))
            return false;
    }
    if (close)
        p->at = end + 2;
    return true;
}

static bool parse_backslash(Parse *p) {
    Str rest = rest_of(p);

    switch (rest.len > 1 ? rest.ptr[1] : '\0') {
    case 'A':
        return add_assert(p, REGEX_BEGIN_TEXT, 2);
    case 'z':
        return add_assert(p, REGEX_END_TEXT, 2);
    case 'b':
        return add_assert(p, REGEX_WORD_EDGE, 2);
    case 'B':
        return add_assert(p, REGEX_NO_WORD_EDGE, 2);
    case 'Q':
        return parse_quoted(p);
    default:
        return append(p, leaf_escape(p));
    }
}

/* Takes one element of the pattern that is not a repetition. */
static bool parse_element(Parse *p) {
    bool is_multi_line = p->flags & MULTI_LINE;
    uint32_t c;

    switch (p->pattern.ptr[p->at]) {
    case '(':
        return parse_open(p);
    case ')':
        return parse_close(p);
    case '|':
        p->at++;
        return end_choice(p);
    case '^':
        return add_assert(p, is_multi_line ? REGEX_BEGIN_LINE : REGEX_BEGIN_TEXT, 1);
    case '$':
        return add_assert(p, is_multi_line ? REGEX_END_LINE : REGEX_END_TEXT, 1);
    case '\\':
        return parse_backslash(p);
    case '[':
        return append(p, leaf_bracket(p));
    case '.':
        p->at++;
        return append(p, leaf_dot(p));
    default:
        return take(p, &c) && append(p, leaf_char(p, c));
    }
}

static bool parse_one(Parse *p) {
    uint32_t min = 0, max = REGEX_UNBOUNDED;
    size_t length;
    bool is_parsed;

    switch (p->pattern.ptr[p->at]) {
    case '*':
        return parse_repeat(p, 0, REGEX_UNBOUNDED, 1);
    case '+':
        return parse_repeat(p, 1, REGEX_UNBOUNDED, 1);
    case '?':
        return parse_repeat(p, 0, 1, 1);
    case '{':
        length = read_counts(rest_of(p), &min, &max);
        if (length > 0)
            return parse_repeat(p, min, max, length);
        break;
    default:
        break;
    }
    is_parsed = parse_element(p);
    p->repeat_from = SIZE_MAX;
    return is_parsed;
}

int regex_parse(Str pattern, Arena *arena, RegexTree *ret, RegexError *ret_error) {
    Parse p = {
        .pattern = pattern,
        .arena = arena,
        .tree = ret,
        .error = ret_error,
        .repeat_from = SIZE_MAX,
    };
    bool is_parsed;

    *ret = (RegexTree){0};
    is_parsed = open_frame(&p, 0, 0, 0);
    while (is_parsed && p.at < pattern.len)
        is_parsed = parse_one(&p);
    if (is_parsed && p.frames.n > 1) {
        (void)refuse(&p, "missing closing )", top(&p)->from, pattern.len);
        ret_error->part = pattern; /* as Go shows it */
    } else if (is_parsed) {
        ret->root = close_frame(&p);
    }
    return arena_has_failed(arena) ? -ENOMEM : p.is_malformed ? REGEX_MALFORMED : 0;
}
