/* The parser: a loop with two states, "an operand must come" and "an operator may come". An
 * operator waits on a stack until one comes that binds less tightly, a bracket until it is closed;
 * so the tree comes out in post-order, without recursion. */

#include "cel/parse.h"

#include <errno.h>

#include "base/utf8.h"
#include "cel/limits.h"
#include "cel/parser-internal.h"

void cel_parser_advance(CelParser *parser) {
    parser->previous = parser->token;
    parser->token = cel_lex_next(&parser->lexer);
}

bool cel_parser_take(CelParser *parser, CelTokenKind kind) {
    if (parser->token.kind != kind)
        return false;
    cel_parser_advance(parser);
    return true;
}

static void read_question(CelParser *parser) {
    cel_parser_settle(parser);
    cel_parser_reduce(parser, 1);
    if (cel_parser_top(parser)->kind == CEL_OPEN_THEN)
        cel_parser_report_choice(parser);
    (void)cel_parser_open(parser, CEL_OPEN_THEN, /* takes_last= */ true);
}

static void read_colon(CelParser *parser) {
    CelOpen *top;

    cel_parser_reduce(parser, 0);
    top = cel_parser_top(parser);
    if (top->kind == CEL_OPEN_THEN) {
        top->kind = CEL_OPEN_ELSE;
    } else if (top->kind == CEL_OPEN_MAP && !top->has_key) {
        top->has_key = true;
        top->n++;
    } else {
        cel_parser_report_colon(parser);
        return;
    }
    cel_parser_settle(parser);
    cel_parser_advance(parser);
    parser->needs_operand = true;
}

/* .b, .?b, .`b` and .b( */
static void read_selector(CelParser *parser) {
    CelNodeKind kind = CEL_NODE_SELECT;
    CelToken name;
    CelNode *node;

    cel_parser_advance(parser);
    if (cel_parser_take(parser, CEL_TOKEN_QUESTION))
        kind = CEL_NODE_OPT_SELECT;
    name = parser->token;
    if (name.kind != CEL_TOKEN_IDENT && name.kind != CEL_TOKEN_QUOTED) {
        cel_parser_report_selector(parser);
        return;
    }
    cel_parser_advance(parser);
    if (parser->token.kind == CEL_TOKEN_LPAREN && name.kind == CEL_TOKEN_IDENT &&
        kind == CEL_NODE_SELECT) {
        CelOpen *open = cel_parser_open(parser, CEL_OPEN_CALL, /* takes_last= */ true);

        open->name = name;
        open->is_receiver = true;
        return;
    }
    node = cel_builder_last(&parser->builder);
    node = cel_builder_add(&parser->builder, kind, cel_builder_next(&parser->builder) - node->size,
        1, (CelSpan){.from = node->from, .to = name.to, .at = name.from});
    node->name = cel_token_text(&parser->lexer, name);
    cel_parser_got_operand(
        parser, parser->is_name && kind == CEL_NODE_SELECT && name.kind == CEL_TOKEN_IDENT);
}

static void read_index(CelParser *parser) {
    CelOpen *open = cel_parser_open(parser, CEL_OPEN_INDEX, /* takes_last= */ true);

    open->is_optional = cel_parser_take(parser, CEL_TOKEN_QUESTION);
}

/* The name of a type, of which the nodes of a name with dots are left over. */
static Str join_name(CelParser *parser, uint32_t first) {
    const CelNode *nodes = parser->builder.nodes.items;
    uint32_t n = cel_builder_next(&parser->builder);
    size_t len = n - first - 1;
    char *name;

    for (uint32_t i = first; i < n; i++)
        len += nodes[i].name.len;
    if (nodes[n - 1].to - nodes[first].at == len) /* no spaces in it: as it was written */
        return str_of(parser->lexer.source.ptr + nodes[first].at, len);
    name = arena_alloc(parser->builder.arena, len);
    if (!name) {
        cel_builder_fail(&parser->builder, -ENOMEM);
        return STR_NULL;
    }
    return str_of(name, cel_join_names(nodes, first, n - 1, name));
}

/* T{ */
static void read_struct(CelParser *parser) {
    const CelNode *last = cel_builder_last(&parser->builder);
    uint32_t first = cel_builder_next(&parser->builder) - last->size, from = last->from;
    bool is_absolute = parser->builder.nodes.items[first].is_absolute;
    Str name = join_name(parser, first);
    CelOpen *open;

    cel_builder_drop(&parser->builder, first);
    open = cel_parser_open(parser, CEL_OPEN_STRUCT, /* takes_last= */ false);
    open->from = from;
    open->type_name = name;
    open->is_absolute = is_absolute;
}

static void read_comma(CelParser *parser) {
    CelOpen *open = cel_parser_reduce_all(parser);

    if (open->kind == CEL_OPEN_TEXT || open->kind == CEL_OPEN_GROUP ||
        open->kind == CEL_OPEN_INDEX) {
        cel_parser_report_comma(parser);
        return;
    }
    cel_parser_finish_element(parser, open);
    open->has_comma = true;
    cel_parser_settle(parser);
    cel_parser_advance(parser);
    parser->needs_operand = true;
}

static void read_closing(CelParser *parser) {
    static const CelTokenKind closing[] = {
        [CEL_OPEN_TEXT] = CEL_TOKEN_END,
        [CEL_OPEN_GROUP] = CEL_TOKEN_RPAREN,
        [CEL_OPEN_CALL] = CEL_TOKEN_RPAREN,
        [CEL_OPEN_INDEX] = CEL_TOKEN_RBRACKET,
        [CEL_OPEN_LIST] = CEL_TOKEN_RBRACKET,
        [CEL_OPEN_MAP] = CEL_TOKEN_RBRACE,
        [CEL_OPEN_STRUCT] = CEL_TOKEN_RBRACE,
    };
    CelOpen *open = cel_parser_reduce_all(parser);

    if (closing[open->kind] != parser->token.kind) {
        cel_parser_report_closing(parser);
        return;
    }
    cel_parser_finish_element(parser, open);
    cel_parser_close(parser);
}

static void read_end(CelParser *parser) {
    if (cel_parser_reduce_all(parser)->kind != CEL_OPEN_TEXT)
        cel_parser_report_open(parser);
    parser->is_done = true;
}

static void read_brace(CelParser *parser) {
    if (parser->is_name)
        read_struct(parser);
    else
        cel_parser_report_operator(parser);
}

static void read_operator(CelParser *parser) {
    static void (*const readers[CEL_N_TOKENS])(CelParser * parser) = {
        [CEL_TOKEN_END] = read_end,
        [CEL_TOKEN_DOT] = read_selector,
        [CEL_TOKEN_LBRACKET] = read_index,
        [CEL_TOKEN_LBRACE] = read_brace,
        [CEL_TOKEN_QUESTION] = read_question,
        [CEL_TOKEN_COLON] = read_colon,
        [CEL_TOKEN_COMMA] = read_comma,
        [CEL_TOKEN_RPAREN] = read_closing,
        [CEL_TOKEN_RBRACKET] = read_closing,
        [CEL_TOKEN_RBRACE] = read_closing,
    };
    CelTokenKind kind = parser->token.kind;

    if (readers[kind])
        readers[kind](parser);
    else if (cel_precedence(kind) > 0) {
        cel_parser_settle(parser);
        cel_parser_reduce(parser, cel_precedence(kind));
        (void)cel_parser_open(parser, CEL_OPEN_BINARY, /* takes_last= */ true);
    } else
        cel_parser_report_operator(parser);
}

/* Whether the text is valid UTF-8 within the limit. */
static bool check_source(CelSyntaxErrors *errors) {
    size_t valid;

    if (errors->source.len > CEL_SOURCE_MAX) {
        cel_syntax_error(errors, CEL_SOURCE_MAX, CEL_SOURCE_MAX + 1, NULL,
            "the expression is too long: %zu bytes, and %d are allowed", errors->source.len,
            CEL_SOURCE_MAX);
        return false;
    }
    valid = utf8_valid_length(errors->source);
    if (valid < errors->source.len)
        cel_syntax_error(errors, (uint32_t)valid, (uint32_t)valid + 1, "the text must be UTF-8",
            "byte 0x%02x is not part of a character", (unsigned char)errors->source.ptr[valid]);
    return valid == errors->source.len;
}

static int parse_text(CelParser *parser, Arena *arena) {
    CelBuilder *builder = &parser->builder;

    *builder = (CelBuilder){.arena = arena, .lexer = &parser->lexer};
    /* A node for every three bytes: what expressions usually have. It grows if not. */
    builder->nodes.size = parser->lexer.source.len / 3 + 8;
    builder->nodes.items = ARENA_RAW(arena, CelNode, builder->nodes.size);
    if (!builder->nodes.items || !VEC_PUSH(&parser->opens, arena)) /* CEL_OPEN_TEXT */
        return -ENOMEM;
    parser->needs_operand = true;
    parser->token = cel_lex_next(&parser->lexer);
    while (!parser->is_done && !parser->builder.is_stopped) {
        if (parser->needs_operand)
            cel_parser_read_operand(parser);
        else
            read_operator(parser);
    }
    return parser->builder.error;
}

int cel_parse(Str file, Str source, const CelParseOptions *options, Arena *arena, DiagList *diags,
    CelTree **ret) {
    CelParser parser = {
        .options = options,
        .errors = {.file = file, .source = source, .diags = diags},
        .lexer = {.source = source},
    };
    size_t first = diags->diags.n;
    int r;

    parser.lexer.errors = &parser.errors;
    if (!check_source(&parser.errors))
        return CEL_PARSE_REFUSED;
    r = parse_text(&parser, arena);
    if (r < 0)
        return r;
    diag_list_sort(diags, first);
    if (parser.errors.n > 0)
        return CEL_PARSE_REFUSED;
    *ret = cel_builder_finish(&parser.builder, file);
    return *ret ? 0 : -ENOMEM;
}
