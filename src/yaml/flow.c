/*
 * Texts whose documents are each one [ ] or { }: JSON, and YAML written like it.
 *
 * libfyaml needs 200 times their size (feed.c), so they are read here. Only what JSON has, plain
 * and single-quoted scalars, comments and a comma before a closing bracket: a text with anything
 * else (tags, anchors, "?", scalars of several lines) is left to libfyaml, and so are all syntax
 * errors. A first pass builds nothing and finds out which it is.
 */

#include "yaml/yaml-internal.h"

#include <errno.h>

#include "json/read.h"

typedef enum FlowToken {
    FLOW_MAPPING,
    FLOW_SEQUENCE,
    FLOW_CLOSE,
    FLOW_SCALAR, /* with the colon after it, if it is a key */
    FLOW_END,
    FLOW_DEEP,  /* a bracket deeper than YAML_DEPTH_MAX */
    FLOW_OTHER, /* libfyaml must read this text */
} FlowToken;

typedef enum FlowState {
    FLOW_AT_KEY,   /* a key, or the end of a mapping */
    FLOW_AT_VALUE, /* the value of a key */
    FLOW_AT_ITEM,  /* an item, or the end of a sequence */
    FLOW_BEHIND,   /* a comma, or the end of the collection */
} FlowState;

typedef struct Flow {
    const YamlSource *source;
    size_t at;
    size_t start, end; /* of the last token, with its quotes */
    FlowState state;
    bool is_mapping[YAML_DEPTH_MAX];
    unsigned depth;
} Flow;

static char byte_at(const Flow *flow, size_t at) {
    return at < flow->source->text.len ? flow->source->text.ptr[at] : '\0';
}

static bool is_bracket_or_comma(char c) {
    return c == ',' || c == '[' || c == ']' || c == '{' || c == '}';
}

/* Whether a colon before @c ends a plain key. */
static bool ends_key(char c) {
    return c == '\0' || source_is_blank(c) || is_bracket_or_comma(c);
}

/* Ends of scalars: each returns that of the one at @at, or 0: libfyaml must read it. */

/* Escapes as in JSON; YAML's others are left to libfyaml. */
static size_t find_double_quoted_end(const Flow *flow, size_t at) {
    Str rest = str_skip(flow->source->text, at);
    JsonReader reader;
    bool is_escaped;
    Str raw;

    json_reader_init(&reader, rest);
    json_string_raw(&reader, &raw, &is_escaped);
    return json_error(&reader) ? 0 : at + (size_t)(raw.ptr - rest.ptr) + raw.len + 1;
}

static size_t find_single_quoted_end(const Flow *flow, size_t at) {
    for (at++;; at++) {
        char c = byte_at(flow, at);

        if (c == '\0' || c == '\n' || c == '\r')
            return 0;
        if (c == '\'' && byte_at(flow, ++at) != '\'')
            return at;
    }
}

static bool starts_plain(const Flow *flow, size_t at) {
    char c = byte_at(flow, at);

    if (c == '-')
        return !ends_key(byte_at(flow, at + 1)) &&
               !str_has_prefix(str_skip(flow->source->text, at), STR("---"));
    return c != '\0' && !source_is_blank(c) && !strchr("?:,[]{}#&*!|>'\"%@`.<=", c);
}

static size_t find_plain_end(const Flow *flow, size_t at) {
    size_t end = at;

    if (!starts_plain(flow, at))
        return 0;
    for (;; at++) {
        char c = byte_at(flow, at);

        if (c == '\0' || c == '\n' || c == '\r' || is_bracket_or_comma(c) ||
            (c == '#' && source_is_blank(byte_at(flow, at - 1))) ||
            (c == ':' && ends_key(byte_at(flow, at + 1))))
            return end;
        if (!source_is_blank(c))
            end = at + 1;
    }
}

static FlowToken take_open(Flow *flow, char bracket) {
    if (flow->depth == YAML_DEPTH_MAX)
        return FLOW_DEEP;
    flow->end = ++flow->at;
    flow->is_mapping[flow->depth++] = bracket == '{';
    flow->state = bracket == '{' ? FLOW_AT_KEY : FLOW_AT_ITEM;
    return bracket == '{' ? FLOW_MAPPING : FLOW_SEQUENCE;
}

static FlowToken take_close(Flow *flow, char bracket) {
    if (flow->depth == 0 || flow->is_mapping[flow->depth - 1] != (bracket == '}') ||
        flow->state == FLOW_AT_VALUE)
        return FLOW_OTHER;
    flow->end = ++flow->at;
    flow->depth--;
    flow->state = FLOW_BEHIND;
    return FLOW_CLOSE;
}

/* The colon after a key. A plain key has it on its line, with a blank or a bracket after it. */
static bool take_colon(Flow *flow, bool is_plain) {
    size_t at = is_plain ? flow->end : source_skip_blank(flow->source, flow->end);

    while (byte_at(flow, at) == ' ')
        at++;
    if (byte_at(flow, at) != ':' || (is_plain && !ends_key(byte_at(flow, at + 1))))
        return false;
    flow->at = at + 1;
    flow->state = FLOW_AT_VALUE;
    return true;
}

static FlowToken take_scalar(Flow *flow, char first) {
    bool is_plain = first != '"' && first != '\'';

    flow->end = first == '"'    ? find_double_quoted_end(flow, flow->at)
                : first == '\'' ? find_single_quoted_end(flow, flow->at)
                                : find_plain_end(flow, flow->at);
    if (flow->end == 0)
        return FLOW_OTHER;
    flow->at = flow->end;
    if (flow->state == FLOW_AT_KEY)
        return take_colon(flow, is_plain) ? FLOW_SCALAR : FLOW_OTHER;
    flow->state = FLOW_BEHIND;
    return FLOW_SCALAR;
}

/* Moves to the bracket of the next document. */
static FlowToken take_document(Flow *flow) {
    Str rest = str_skip(flow->source->text, flow->at);
    bool is_line = flow->at == 0 || rest.ptr[-1] == '\n';

    if (is_line && str_has_prefix(rest, STR("---")) && rest.len > 3 && source_is_blank(rest.ptr[3]))
        flow->at = source_skip_blank(flow->source, flow->at + 3);
    else if (flow->state == FLOW_BEHIND && rest.len > 0) /* something after the document */
        return FLOW_OTHER;
    flow->start = flow->at;
    switch (byte_at(flow, flow->at)) {
    case '[':
    case '{':
        return take_open(flow, byte_at(flow, flow->at));
    default:
        return flow->at == flow->source->text.len ? FLOW_END : FLOW_OTHER;
    }
}

static FlowToken flow_next(Flow *flow) {
    char c;

    flow->at = source_skip_blank(flow->source, flow->at);
    c = byte_at(flow, flow->at);
    if (flow->depth == 0)
        return take_document(flow);
    if (flow->state == FLOW_BEHIND && c == ',') {
        flow->at = source_skip_blank(flow->source, flow->at + 1);
        flow->state = flow->is_mapping[flow->depth - 1] ? FLOW_AT_KEY : FLOW_AT_ITEM;
        c = byte_at(flow, flow->at);
    }
    flow->start = flow->at;
    if (c == ']' || c == '}')
        return take_close(flow, c);
    if (flow->state == FLOW_BEHIND)
        return FLOW_OTHER;
    if (c == '[' || c == '{')
        return flow->state == FLOW_AT_KEY ? FLOW_OTHER : take_open(flow, c);
    return take_scalar(flow, c);
}

/* 'it''s' */
static Str copy_single_quoted(Str raw, Arena *arena) {
    char *copy = arena_alloc(arena, raw.len);
    size_t n = 0;

    if (!copy)
        return STR_NULL;
    for (size_t i = 0; i < raw.len; i++) {
        copy[n++] = raw.ptr[i];
        i += raw.ptr[i] == '\'';
    }
    return str_of(copy, n);
}

static void add_scalar(YamlBuilder *builder, const Flow *flow) {
    Str raw = str_of(flow->source->text.ptr + flow->start, flow->end - flow->start);
    YamlNode *node = ARENA_NEW(builder->arena, YamlNode);
    char first = raw.ptr[0];

    if (!node)
        return;
    node->place = builder_place_between(builder, flow->start, flow->end);
    node->is_plain = first != '"' && first != '\'';
    node->text = node->is_plain ? raw : str_of(raw.ptr + 1, raw.len - 2);
    if (first == '"' && str_find(node->text, '\\') != SIZE_MAX)
        node->text = json_unescape(node->text, builder->arena);
    else if (first == '\'' && str_find(node->text, '\'') != SIZE_MAX)
        node->text = copy_single_quoted(node->text, builder->arena);
    node->text = builder_keep_text(builder, node->text);
    node->kind = YAML_STRING;
    if (node->is_plain)
        scalar_resolve(node);
    builder_check_text(builder, node);
    builder_add(builder, node);
}

int flow_parse(YamlBuilder *builder) {
    Flow flow = {.source = &builder->source, .state = FLOW_AT_ITEM};
    Flow first = flow; /* the first pass: whether the text can be read here */
    FlowToken token;
    int r = 0;

    do
        token = flow_next(&first);
    while (token < FLOW_END);
    if (token == FLOW_OTHER)
        return YAML_FLOW_NONE;
    while (
        r == 0 && !builder_has_failed(builder) && builder->diags->n_errors < builder->errors_max) {
        token = flow_next(&flow);
        switch (token) {
        case FLOW_MAPPING:
        case FLOW_SEQUENCE:
            r = builder_open(builder, token == FLOW_MAPPING ? YAML_MAPPING : YAML_SEQUENCE,
                flow.start, flow.end);
            break;
        case FLOW_CLOSE:
            builder_close(builder, flow.end);
            break;
        case FLOW_SCALAR:
            add_scalar(builder, &flow);
            break;
        case FLOW_DEEP: /* reports it */
            r = builder_open(builder, YAML_SEQUENCE, flow.start, flow.start + 1);
            break;
        default:
            return 0;
        }
    }
    return builder_has_failed(builder) ? -ENOMEM : 0;
}
