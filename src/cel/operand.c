/* Operands: names, literals, opening brackets and signs; everything that can start a value. */

#include "cel/parser-internal.h"

static CelSpan span_of(CelToken token) {
    return (CelSpan){.from = token.from, .to = token.to, .at = token.from};
}

void cel_parser_got_operand(CelParser *parser, bool is_name) {
    parser->needs_operand = false;
    parser->is_name = is_name;
}

/* The kind of the token after the next one. Its errors are reported when it is read. */
static CelTokenKind peek(const CelParser *parser) {
    CelSyntaxErrors ignored = {.is_quiet = true};
    CelLexer ahead = parser->lexer;

    ahead.errors = &ignored;
    return cel_lex_next(&ahead).kind;
}

static void add_literal(CelParser *parser, CelSpan span, CelValue value) {
    CelNode *node = cel_builder_add(
        &parser->builder, CEL_NODE_LITERAL, cel_builder_next(&parser->builder), 0, span);

    node->literal = value;
    cel_parser_got_operand(parser, /* is_name= */ false);
}

/* @sign: the minus before it, or NULL. */
static void read_number(CelParser *parser, const CelToken *sign) {
    CelToken token = parser->token;
    CelSpan span = span_of(token);
    CelValue value = cel_literal_number(&parser->lexer, token, sign != NULL);

    if (sign)
        span.from = span.at = sign->from;
    cel_parser_advance(parser);
    add_literal(parser, span, value);
}

/* A literal other than a number. */
static void read_constant(CelParser *parser) {
    CelToken token = parser->token;
    CelValue value = token.kind == CEL_TOKEN_NULL    ? cel_null()
                     : token.kind == CEL_TOKEN_TRUE  ? cel_bool(true)
                     : token.kind == CEL_TOKEN_FALSE ? cel_bool(false)
                                                     : cel_absent();
    int r = 0;

    if (token.kind == CEL_TOKEN_STRING || token.kind == CEL_TOKEN_BYTES)
        r = cel_literal_text(&parser->lexer, token, parser->builder.arena, &value);
    if (r < 0)
        cel_builder_fail(&parser->builder, r);
    cel_parser_advance(parser);
    add_literal(parser, span_of(token), value);
}

/* A name: a variable, or a function when a bracket follows. @from: of the dot before it. */
static void read_name(CelParser *parser, uint32_t from, bool is_absolute) {
    CelToken name = parser->token;
    CelSpan span = {.from = from, .to = name.to, .at = name.from};
    CelNode *node;

    if (cel_word_is_reserved(cel_token_text(&parser->lexer, name))) {
        cel_parser_report_reserved(parser);
        return;
    }
    cel_parser_advance(parser);
    if (parser->token.kind == CEL_TOKEN_LPAREN) {
        CelOpen *open = cel_parser_open(parser, CEL_OPEN_CALL, /* takes_last= */ false);

        open->from = from;
        open->name = name;
        open->is_absolute = is_absolute;
        return;
    }
    node = cel_builder_add(
        &parser->builder, CEL_NODE_IDENT, cel_builder_next(&parser->builder), 0, span);
    node->name = cel_token_text(&parser->lexer, name);
    node->is_absolute = is_absolute;
    cel_parser_got_operand(parser, /* is_name= */ true);
}

static void read_absolute_name(CelParser *parser) {
    uint32_t from = parser->token.from;

    cel_parser_advance(parser);
    if (parser->token.kind == CEL_TOKEN_IDENT) {
        read_name(parser, from, /* is_absolute= */ true);
        return;
    }
    cel_parser_report_selector(parser);
    cel_builder_add_broken(&parser->builder, span_of(parser->previous));
    cel_parser_got_operand(parser, /* is_name= */ false);
}

/*
 * One or more '!' or '-' before an operand. As in cel-go, two of them are none, and a
 * single minus before a number is part of it: -9223372036854775808 is a number, while
 * --9223372036854775808 is not (its digits alone are too large).
 */
static void read_signs(CelParser *parser) {
    CelToken sign = parser->token;
    CelTokenKind kind = sign.kind;
    CelOpen *top = cel_parser_top(parser);
    bool is_odd = false;

    if (top->kind == CEL_OPEN_UNARY) { /* the other sign before this one */
        CelTokenKind next = peek(parser);

        if (kind != CEL_TOKEN_MINUS || (next != CEL_TOKEN_INT && next != CEL_TOKEN_DOUBLE))
            cel_parser_report_sign(parser);
    }
    cel_parser_advance(parser);
    if (kind == CEL_TOKEN_MINUS &&
        (parser->token.kind == CEL_TOKEN_INT || parser->token.kind == CEL_TOKEN_DOUBLE)) {
        read_number(parser, &sign);
        return;
    }
    for (is_odd = true; parser->token.kind == kind; is_odd = !is_odd)
        cel_parser_advance(parser);
    top = cel_parser_open(parser, CEL_OPEN_UNARY, /* takes_last= */ false);
    top->token = sign;
    top->from = sign.from;
    top->is_odd = is_odd;
}

/* [?x], {?k: v}. */
static void read_optional_mark(CelParser *parser) {
    CelOpen *top = cel_parser_top(parser);

    if ((top->kind != CEL_OPEN_LIST && (top->kind != CEL_OPEN_MAP || top->has_key)) ||
        top->is_optional) {
        cel_parser_report_operand(parser);
        return;
    }
    top->is_optional = true;
    top->optional_at = parser->token.from;
    cel_parser_advance(parser);
}

/* Whether the next token may close the topmost bracket where an operand could start: [], f(), and
 * after a comma in all but calls. */
static bool may_close(CelParser *parser) {
    const CelOpen *top = cel_parser_top(parser);

    if (top->is_optional || top->has_key)
        return false;
    switch (top->kind) {
    case CEL_OPEN_CALL:
        return parser->token.kind == CEL_TOKEN_RPAREN && !top->has_comma;
    case CEL_OPEN_LIST:
        return parser->token.kind == CEL_TOKEN_RBRACKET;
    case CEL_OPEN_MAP:
    case CEL_OPEN_STRUCT:
        return parser->token.kind == CEL_TOKEN_RBRACE;
    default:
        return false;
    }
}

/* A comma where an operand should be. [,] and {,} are legal: the grammar has it so. */
static void read_lone_comma(CelParser *parser) {
    CelOpen *top = cel_parser_top(parser);
    CelTokenKind next = peek(parser);

    if (top->n == 0 && !top->has_comma && !top->has_key && !top->is_optional &&
        ((top->kind == CEL_OPEN_LIST && next == CEL_TOKEN_RBRACKET) ||
            ((top->kind == CEL_OPEN_MAP || top->kind == CEL_OPEN_STRUCT) &&
                next == CEL_TOKEN_RBRACE))) {
        top->has_comma = true;
        cel_parser_advance(parser);
        return;
    }
    if (top->kind == CEL_OPEN_STRUCT)
        cel_parser_report_field(parser);
    else
        cel_parser_report_operand(parser);
}

/* f: of T{f: x}. */
static void read_field(CelParser *parser) {
    CelOpen *top = cel_parser_top(parser);

    if (may_close(parser)) {
        cel_parser_close(parser);
        return;
    }
    if (parser->token.kind == CEL_TOKEN_COMMA) {
        read_lone_comma(parser);
        return;
    }
    top->optional_at = parser->token.from;
    top->is_optional = cel_parser_take(parser, CEL_TOKEN_QUESTION);
    if (parser->token.kind != CEL_TOKEN_IDENT && parser->token.kind != CEL_TOKEN_QUOTED) {
        cel_parser_report_field(parser);
        return;
    }
    top->name = parser->token;
    top->has_key = true;
    cel_parser_advance(parser);
    if (!cel_parser_take(parser, CEL_TOKEN_COLON))
        cel_parser_report_no_colon(parser, top);
}

void cel_parser_read_operand(CelParser *parser) {
    const CelOpen *top = cel_parser_top(parser);

    if (top->kind == CEL_OPEN_STRUCT && !top->has_key) {
        read_field(parser);
        return;
    }
    switch (parser->token.kind) {
    case CEL_TOKEN_IDENT:
        read_name(parser, parser->token.from, /* is_absolute= */ false);
        break;
    case CEL_TOKEN_DOT:
        read_absolute_name(parser);
        break;
    case CEL_TOKEN_INT:
    case CEL_TOKEN_UINT:
    case CEL_TOKEN_DOUBLE:
        read_number(parser, /* sign= */ NULL);
        break;
    case CEL_TOKEN_STRING:
    case CEL_TOKEN_BYTES:
    case CEL_TOKEN_TRUE:
    case CEL_TOKEN_FALSE:
    case CEL_TOKEN_NULL:
    case CEL_TOKEN_BROKEN:
        read_constant(parser);
        break;
    case CEL_TOKEN_LPAREN:
        (void)cel_parser_open(parser, CEL_OPEN_GROUP, /* takes_last= */ false);
        break;
    case CEL_TOKEN_LBRACKET:
        (void)cel_parser_open(parser, CEL_OPEN_LIST, /* takes_last= */ false);
        break;
    case CEL_TOKEN_LBRACE:
        (void)cel_parser_open(parser, CEL_OPEN_MAP, /* takes_last= */ false);
        break;
    case CEL_TOKEN_NOT:
    case CEL_TOKEN_MINUS:
        read_signs(parser);
        break;
    case CEL_TOKEN_QUESTION:
        read_optional_mark(parser);
        break;
    case CEL_TOKEN_COMMA:
        read_lone_comma(parser);
        break;
    default:
        if (may_close(parser))
            cel_parser_close(parser);
        else
            cel_parser_report_operand(parser);
    }
}
