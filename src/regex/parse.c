/* From a pattern to its tree, in one loop. Every open parenthesis is a frame: the sequence being
 * collected and the alternatives before it; depth is a longer stack of frames, not recursion. What
 * is refused, and in which words, follows Go's regexp, as Kubernetes uses it. */

#include <errno.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "regex/parse-internal.h"

/* An open group, or the whole pattern. */
typedef struct Frame {
    uint32_t first, last;               /* the sequence; REGEX_NONE: nothing yet */
    uint32_t first_choice, last_choice; /* alternatives before the last | */
    uint32_t group;                     /* 0: does not capture */
    uint8_t flags;                      /* what holds again after it */
    size_t from;                        /* where it begins, for errors */
} Frame;

typedef struct Parse {
    RegexParser parser;
    VEC(Frame) frames;
    size_t repeat_from; /* where the repetition just before begins; SIZE_MAX: none */
} Parse;

bool regex_parser_refuse(RegexParser *parser, const char *text, size_t from, size_t to) {
    *parser->error = (RegexError){
        .text = str_from_c(text),
        .part = str_of(parser->pattern.ptr + from, to - from),
        .offset = from,
    };
    parser->failed = REGEX_MALFORMED;
    return false;
}

bool regex_parser_take(RegexParser *parser, uint32_t *ret) {
    size_t n = utf8_decode(regex_parser_rest(parser), ret);

    parser->at += n;
    return n > 0 || regex_parser_refuse(parser, "invalid UTF-8", parser->at, parser->pattern.len);
}

uint32_t regex_parser_add(RegexParser *parser, RegexNode node) {
    bool is_leaf = node.kind == REGEX_NODE_EMPTY || node.kind == REGEX_NODE_CLASS ||
                   node.kind == REGEX_NODE_ASSERT;

    node.next = REGEX_NONE;
    if (is_leaf) {
        node.child = REGEX_NONE;
        node.height = node.copies = 1;
    }
    if (parser->tree->nodes.n >= REGEX_NODES_MAX)
        (void)regex_parser_refuse(parser, "expression too large", 0, parser->pattern.len);
    else if (VEC_ADD(&parser->tree->nodes, parser->arena, node))
        return (uint32_t)(parser->tree->nodes.n - 1);
    else
        parser->failed = -ENOMEM;
    return REGEX_NONE;
}

static RegexNode *node_at(Parse *p, uint32_t number) {
    return &p->parser.tree->nodes.items[number];
}

static Frame *top(Parse *p) {
    return &p->frames.items[p->frames.n - 1];
}

static bool refuse_depth(Parse *p) {
    return regex_parser_refuse(&p->parser, "expression nests too deeply", 0, p->parser.pattern.len);
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
    if (!VEC_ADD(&p->frames, p->parser.arena, frame))
        p->parser.failed = -ENOMEM;
    return p->parser.failed == 0;
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

/* A node over the chain that begins with @first: the only one itself, when it is alone. */
static uint32_t make_parent(Parse *p, RegexNodeKind kind, uint32_t first) {
    RegexNode node = {.kind = (uint8_t)kind, .child = first, .height = 1, .copies = 1};

    if (first == REGEX_NONE) /* it was not made */
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
    return regex_parser_add(&p->parser, node);
}

/* The sequence collected so far is one alternative. */
static bool end_choice(Parse *p) {
    static const RegexNode empty = {.kind = REGEX_NODE_EMPTY, .is_nullable = true};
    Frame *frame = top(p);
    uint32_t sequence = frame->first == REGEX_NONE
                            ? regex_parser_add(&p->parser, empty)
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
    p->parser.flags = top(p)->flags;
    p->frames.n--;
    return node;
}

static bool parse_close(Parse *p) {
    RegexParser *parser = &p->parser;

    if (p->frames.n == 1) {
        (void)regex_parser_refuse(parser, "unexpected )", parser->at, parser->pattern.len);
        parser->error->part = parser->pattern; /* as Go shows it */
        return false;
    }
    parser->at++;
    return append(p, close_frame(p));
}

static bool open_group(Parse *p, size_t from) {
    return open_frame(p, ++p->parser.tree->n_groups, p->parser.flags, from);
}

static bool is_group_name(Str name) {
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (c != '_' && !ascii_is_alnum(c))
            return false;
    }
    return name.len > 0;
}

/* (?P<name> or (?<name>, at its ( ; the name begins @skip bytes after. Groups are not
 * read by name: the name is only checked. */
static bool parse_named_group(Parse *p, size_t skip) {
    RegexParser *parser = &p->parser;
    size_t from = parser->at, length = str_find(regex_parser_rest(parser), '>');
    Str name;

    if (length == SIZE_MAX)
        return regex_parser_refuse(parser, "invalid named capture", from, parser->pattern.len);
    name = str_of(parser->pattern.ptr + from + skip, length - skip);
    if (!is_group_name(name))
        return regex_parser_refuse(parser, "invalid named capture", from, from + length + 1);
    parser->at = from + length + 1;
    return open_group(p, from);
}

static uint8_t flag_of(uint32_t c) {
    return c == 'i'   ? REGEX_FOLD
           : c == 'm' ? REGEX_MULTI_LINE
           : c == 's' ? REGEX_DOT_ALL
           : c == 'U' ? REGEX_LAZY
                      : 0;
}

/* (?flags) and (?flags:, at the ( ; the flags may be none, and some after a - taken away. */
static bool parse_flags(Parse *p) {
    RegexParser *parser = &p->parser;
    size_t from = parser->at;
    uint8_t flags = parser->flags;
    bool minus = false, saw_flag = false;
    uint32_t c;

    parser->at += 2;
    while (parser->at < parser->pattern.len) {
        if (!regex_parser_take(parser, &c))
            return false;
        if (flag_of(c)) {
            flags = (uint8_t)(minus ? flags & ~flag_of(c) : flags | flag_of(c));
            saw_flag = true;
        } else if (c == '-' && !minus) {
            minus = true;
            saw_flag = false;
        } else if ((c == ':' || c == ')') && (!minus || saw_flag)) {
            uint8_t before = parser->flags;

            parser->flags = flags;
            return c != ':' || open_frame(p, 0, before, from);
        } else {
            break;
        }
    }
    return regex_parser_refuse(parser, "invalid or unsupported Perl syntax", from, parser->at);
}

static bool parse_open(Parse *p) {
    RegexParser *parser = &p->parser;
    Str rest = regex_parser_rest(parser);

    if (rest.len > 4 && memcmp(rest.ptr, "(?P<", 4) == 0)
        return parse_named_group(p, 4);
    if (rest.len > 3 && memcmp(rest.ptr, "(?<", 3) == 0)
        return parse_named_group(p, 3);
    if (rest.len > 1 && rest.ptr[1] == '?')
        return parse_flags(p);
    parser->at++;
    return open_group(p, parser->at - 1);
}

/* A decimal number without leading zeros. False: none. A number that is too large is capped at one
 * that is still too large. */
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

/* {n}, {n,}, {n,m} at the {. Its length; 0: not a repetition, and the { is an ordinary
 * character. */
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

/* The last of the sequence is repeated: its node moves away and its place becomes the
 * repetition. */
static bool wrap_last(Parse *p, uint32_t min, uint32_t max, bool is_lazy, size_t from) {
    RegexParser *parser = &p->parser;
    uint32_t place = top(p)->last;
    uint32_t times = max == REGEX_UNBOUNDED ? min : max;
    RegexNode moved = *node_at(p, place);
    uint32_t copies = max == 0 ? 1 : moved.copies * (times > 0 ? times : 1);
    uint32_t child = regex_parser_add(parser, moved);

    if (child == REGEX_NONE)
        return false;
    if (copies > REGEX_REPEAT_MAX)
        return regex_parser_refuse(parser, "invalid repeat count", from, parser->at);
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

/* The repetition of @length bytes here, and the ? that may follow. */
static bool parse_repeat(Parse *p, uint32_t min, uint32_t max, size_t length) {
    RegexParser *parser = &p->parser;
    size_t from = parser->at;
    bool is_lazy = parser->flags & REGEX_LAZY;

    parser->at += length;
    if (min > REGEX_REPEAT_MAX || (max != REGEX_UNBOUNDED && (max > REGEX_REPEAT_MAX || min > max)))
        return regex_parser_refuse(parser, "invalid repeat count", from, parser->at);
    if (regex_parser_sees(parser, '?')) {
        is_lazy = !is_lazy;
        parser->at++;
    }
    if (p->repeat_from != SIZE_MAX)
        return regex_parser_refuse(
            parser, "invalid nested repetition operator", p->repeat_from, parser->at);
    if (top(p)->last == REGEX_NONE)
        return regex_parser_refuse(
            parser, "missing argument to repetition operator", from, parser->at);
    p->repeat_from = from;
    return wrap_last(p, min, max, is_lazy, from);
}

static bool add_assert(Parse *p, RegexAssert assert, size_t length) {
    RegexNode new = {.kind = REGEX_NODE_ASSERT, .assert = (uint8_t)assert, .is_nullable = true};

    p->parser.at += length;
    return append(p, regex_parser_add(&p->parser, new));
}

/* \Q…\E: literal text. Without an \E it goes to the end. */
static bool parse_quoted(Parse *p) {
    RegexParser *parser = &p->parser;
    const char *close;
    size_t end;

    parser->at += 2;
    close = memmem(parser->pattern.ptr + parser->at, parser->pattern.len - parser->at, "\\E", 2);
    end = close ? (size_t)(close - parser->pattern.ptr) : parser->pattern.len;
    while (parser->at < end) {
        uint32_t c;

        if (!regex_parser_take(parser, &c) || !append(p, regex_leaf_char(parser, c)))
            return false;
    }
    if (close)
        parser->at = end + 2;
    return true;
}

static bool parse_backslash(Parse *p) {
    Str rest = regex_parser_rest(&p->parser);

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
        return append(p, regex_leaf_escape(&p->parser));
    }
}

static bool parse_leaf(Parse *p) {
    RegexParser *parser = &p->parser;
    uint32_t c;

    if (regex_parser_sees(parser, '['))
        return append(p, regex_leaf_bracket(parser));
    if (regex_parser_sees(parser, '.')) {
        parser->at++;
        return append(p, regex_leaf_dot(parser));
    }
    return regex_parser_take(parser, &c) && append(p, regex_leaf_char(parser, c));
}

/* One element of the pattern that is not a repetition. */
static bool parse_element(Parse *p) {
    bool is_multi_line = p->parser.flags & REGEX_MULTI_LINE;

    switch (p->parser.pattern.ptr[p->parser.at]) {
    case '(':
        return parse_open(p);
    case ')':
        return parse_close(p);
    case '|':
        p->parser.at++;
        return end_choice(p);
    case '^':
        return add_assert(p, is_multi_line ? REGEX_BEGIN_LINE : REGEX_BEGIN_TEXT, 1);
    case '$':
        return add_assert(p, is_multi_line ? REGEX_END_LINE : REGEX_END_TEXT, 1);
    case '\\':
        return parse_backslash(p);
    default:
        return parse_leaf(p);
    }
}

static bool parse_one(Parse *p) {
    uint32_t min = 0, max = REGEX_UNBOUNDED;
    size_t length;
    bool is_parsed;

    switch (p->parser.pattern.ptr[p->parser.at]) {
    case '*':
        return parse_repeat(p, 0, REGEX_UNBOUNDED, 1);
    case '+':
        return parse_repeat(p, 1, REGEX_UNBOUNDED, 1);
    case '?':
        return parse_repeat(p, 0, 1, 1);
    case '{':
        length = read_counts(regex_parser_rest(&p->parser), &min, &max);
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
        .parser = {.pattern = pattern, .arena = arena, .tree = ret, .error = ret_error},
        .repeat_from = SIZE_MAX,
    };

    *ret = (RegexTree){0};
    if (!open_frame(&p, 0, 0, 0))
        return p.parser.failed;
    while (p.parser.at < pattern.len)
        if (!parse_one(&p))
            return p.parser.failed;
    if (p.frames.n > 1) {
        (void)regex_parser_refuse(&p.parser, "missing closing )", top(&p)->from, pattern.len);
        ret_error->part = pattern; /* as Go shows it */
        return p.parser.failed;
    }
    ret->root = close_frame(&p);
    return p.parser.failed;
}
