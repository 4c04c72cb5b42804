/* The parser and the builder of its tree: a loop with two states, "an operand must come" and "an
 * operator may come". An operator stays on a stack until one that binds less tightly, a bracket
 * until it is closed; so nodes are added in post-order, without recursion. */

#include "cel/parse.h"

#include <errno.h>

#include "base/utf8.h"
#include "cel/limits.h"
#include "cel/parser-internal.h"

/* The nodes of the tree while it is parsed. */

/* Adds a node. NULL: the builder has stopped. */
static CelNode *push(CelBuilder *builder, uint32_t at) {
    CelNode *node;

    if (builder->is_stopped)
        return NULL;
    if (builder->nodes.n >= CEL_NODES_MAX) {
        cel_syntax_error(builder->lexer->errors, at, at + 1, NULL,
            "the expression is too large: it has more than %d parts", CEL_NODES_MAX);
        builder->is_stopped = true;
        return NULL;
    }
    node = VEC_PUSH(&builder->nodes, builder->arena);
    builder->is_stopped = !node;
    return node;
}

CelNode *cel_builder_add(
    CelBuilder *builder, CelNodeKind kind, uint32_t first, uint32_t n_children, CelSpan span) {
    CelNode *node = push(builder, span.at);

    if (!node)
        return &builder->spare;
    *node = (CelNode){
        .kind = (uint8_t)kind,
        .n_children = n_children,
        .size = (uint32_t)builder->nodes.n - first,
        .from = span.from,
        .to = span.to,
        .at = span.at,
    };
    return node;
}

/* Whether the nodes from @first to @root are one name with dots: a, a.b, a.b.c. */
static bool is_dotted(const CelBuilder *builder, uint32_t first, uint32_t root) {
    for (uint32_t i = root; i > first; i--)
        if (builder->nodes.items[i].kind != CEL_NODE_SELECT)
            return false;
    return builder->nodes.items[first].kind == CEL_NODE_IDENT;
}

void cel_builder_add_call(CelBuilder *builder, const CelCall *call) {
    uint32_t number = cel_builder_next(builder);
    CelNode *node = cel_builder_add(builder, CEL_NODE_CALL, call->first,
        call->n_args + (call->is_receiver ? 1 : 0), call->span);

    node->name = call->name;
    node->is_receiver = call->is_receiver;
    node->is_absolute = call->is_absolute;
    if (call->is_receiver && is_dotted(builder, call->first, call->args - 1))
        builder->nodes.items[call->first].call = number - call->first;
}

void cel_builder_add_broken(CelBuilder *builder, CelSpan span) {
    (void)cel_builder_add(
        builder, CEL_NODE_LITERAL, cel_builder_next(builder), 0, span); /* CEL_ABSENT */
}

bool cel_node_is_broken(const CelNode *node) {
    return node->kind == CEL_NODE_LITERAL && node->literal.kind == CEL_ABSENT;
}

CelNode *cel_builder_copy(CelBuilder *builder, uint32_t first, uint32_t n) {
    CelNode *copy = builder->is_stopped ? NULL : ARENA_RAW(builder->arena, CelNode, n);

    builder->is_stopped |= !copy;
    if (copy && n > 0)
        memcpy(copy, builder->nodes.items + first, n * sizeof(CelNode));
    return copy;
}

void cel_builder_append(CelBuilder *builder, const CelNode *nodes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        CelNode *node = push(builder, nodes[i].at);

        if (!node)
            return;
        *node = nodes[i];
    }
}

/* Makes the tree. NULL: out of memory. */
static CelTree *finish_tree(CelBuilder *builder, Str file) {
    CelTree *tree = ARENA_NEW(builder->arena, CelTree);

    if (!tree)
        return NULL;
    for (uint32_t i = 0; i < builder->nodes.n; i++)
        if (builder->nodes.items[i].call > 0)
            builder->nodes.items[i].call += i;
    *tree = (CelTree){
        .file = file,
        .source = builder->lexer->source,
        .nodes = builder->nodes.items,
        .n_nodes = (uint32_t)builder->nodes.n,
    };
    return tree;
}

void cel_parser_advance(CelParser *parser) {
    parser->previous = parser->token;
    parser->token = cel_lex_next(&parser->lexer);
}

/* Takes the next token if it is of @kind. */
static bool take(CelParser *parser, CelTokenKind kind) {
    if (parser->token.kind != kind)
        return false;
    cel_parser_advance(parser);
    return true;
}

/* An operator or bracket on the stack becomes a node once its last part is there: its parts are the
 * last finished ones of the tree, from open->first on. */

enum {
    PRECEDENCE_OR = 1,
    PRECEDENCE_AND,
    PRECEDENCE_RELATION,
    PRECEDENCE_SUM,
    PRECEDENCE_PRODUCT,
    PRECEDENCE_SIGN,
};

/* Operators with two sides. */
static const struct {
    uint8_t precedence;
    Str function;
} operators[CEL_N_TOKENS] = {
    [CEL_TOKEN_OR] = {PRECEDENCE_OR, STR("_||_")},
    [CEL_TOKEN_AND] = {PRECEDENCE_AND, STR("_&&_")},
    [CEL_TOKEN_LESS] = {PRECEDENCE_RELATION, STR("_<_")},
    [CEL_TOKEN_LESS_EQUAL] = {PRECEDENCE_RELATION, STR("_<=_")},
    [CEL_TOKEN_GREATER] = {PRECEDENCE_RELATION, STR("_>_")},
    [CEL_TOKEN_GREATER_EQUAL] = {PRECEDENCE_RELATION, STR("_>=_")},
    [CEL_TOKEN_EQUAL] = {PRECEDENCE_RELATION, STR("_==_")},
    [CEL_TOKEN_NOT_EQUAL] = {PRECEDENCE_RELATION, STR("_!=_")},
    [CEL_TOKEN_IN] = {PRECEDENCE_RELATION, STR("@in")},
    [CEL_TOKEN_PLUS] = {PRECEDENCE_SUM, STR("_+_")},
    [CEL_TOKEN_MINUS] = {PRECEDENCE_SUM, STR("_-_")},
    [CEL_TOKEN_STAR] = {PRECEDENCE_PRODUCT, STR("_*_")},
    [CEL_TOKEN_SLASH] = {PRECEDENCE_PRODUCT, STR("_/_")},
    [CEL_TOKEN_PERCENT] = {PRECEDENCE_PRODUCT, STR("_%_")},
};

unsigned cel_precedence(CelTokenKind kind) {
    return operators[kind].precedence;
}

/* Counts a new bracket or conditional; stops the builder at CEL_NESTING_MAX. */
static void count_nesting(CelParser *parser, CelOpenKind kind) {
    if (kind >= CEL_OPEN_BINARY)
        return;
    if (kind == CEL_OPEN_THEN)
        parser->n_choices++;
    else
        parser->depth++;
    if (parser->depth + parser->n_choices <= CEL_NESTING_MAX)
        return;
    parser->errors.is_quiet = false;
    cel_syntax_error(&parser->errors, parser->token.from, parser->token.to, NULL,
        "the expression is nested too deeply: more than %d brackets and conditionals inside each "
        "other",
        CEL_NESTING_MAX);
    parser->builder.is_stopped = true;
}

CelOpen *cel_parser_open(CelParser *parser, CelOpenKind kind, bool takes_last) {
    uint32_t next = cel_builder_next(&parser->builder);
    CelOpen *open = VEC_PUSH(&parser->opens, parser->builder.arena);

    if (!open) {
        parser->builder.is_stopped = true;
        return cel_parser_top(parser);
    }
    *open = (CelOpen){
        .kind = kind,
        .token = parser->token,
        .from = parser->token.from,
        .first = next,
        .args = next,
    };
    if (takes_last) {
        open->from = cel_builder_last(&parser->builder)->from;
        open->first = next - cel_builder_last(&parser->builder)->size;
    }
    count_nesting(parser, kind);
    parser->needs_operand = true;
    if (kind != CEL_OPEN_UNARY) /* the caller took its tokens */
        cel_parser_advance(parser);
    return open;
}

static void add_operator(CelParser *parser, const CelOpen *open, CelNodeKind kind, uint32_t n) {
    CelSpan span = {
        .from = open->from,
        .to = cel_builder_last(&parser->builder)->to,
        .at = open->token.from,
    };
    CelNode *node = cel_builder_add(&parser->builder, kind, open->first, n, span);

    if (kind != CEL_NODE_CALL)
        return;
    node->is_operator = true;
    if (n == 2)
        node->name = operators[open->token.kind].function;
    else
        node->name = open->token.kind == CEL_TOKEN_NOT ? STR("!_") : STR("-_");
}

/* Pops the topmost operator and adds its node. */
static void reduce_top(CelParser *parser) {
    CelOpen open = *cel_parser_top(parser);

    parser->opens.n--;
    switch (open.kind) {
    case CEL_OPEN_UNARY:
        if (open.is_odd)
            add_operator(parser, &open, CEL_NODE_CALL, 1);
        else
            cel_builder_last(&parser->builder)->from = open.from;
        break;
    case CEL_OPEN_BINARY:
        add_operator(parser, &open,
            open.token.kind == CEL_TOKEN_AND  ? CEL_NODE_AND
            : open.token.kind == CEL_TOKEN_OR ? CEL_NODE_OR
                                              : CEL_NODE_CALL,
            2);
        break;
    case CEL_OPEN_THEN:
        cel_parser_report_no_colon(parser, &open);
        cel_builder_add_broken(&parser->builder, (CelSpan){0});
        __attribute__((fallthrough));
    case CEL_OPEN_ELSE:
        parser->n_choices--;
        add_operator(parser, &open, CEL_NODE_CONDITIONAL, 3);
        break;
    default:
        break;
    }
}

static unsigned open_precedence(const CelOpen *open) {
    return open->kind == CEL_OPEN_UNARY    ? PRECEDENCE_SIGN
           : open->kind == CEL_OPEN_BINARY ? cel_precedence(open->token.kind)
                                           : 0;
}

void cel_parser_reduce(CelParser *parser, unsigned precedence) {
    while (cel_parser_top(parser)->kind >= CEL_OPEN_ELSE &&
           open_precedence(cel_parser_top(parser)) >= precedence)
        reduce_top(parser);
}

CelOpen *cel_parser_reduce_all(CelParser *parser) {
    while (cel_parser_top(parser)->kind >= CEL_OPEN_THEN)
        reduce_top(parser);
    return cel_parser_top(parser);
}

/* Puts an OPTIONAL around the last element or value: it was written after a '?'. */
static void wrap_optional(CelParser *parser, const CelOpen *open) {
    const CelNode *last = cel_builder_last(&parser->builder);
    CelSpan span = {.from = last->from, .to = last->to, .at = open->optional_at};

    if (open->kind == CEL_OPEN_LIST)
        span.from = open->optional_at;
    (void)cel_builder_add(&parser->builder, CEL_NODE_OPTIONAL,
        cel_builder_next(&parser->builder) - last->size, 1, span);
}

static void add_field(CelParser *parser, const CelOpen *open) {
    const CelNode *last = cel_builder_last(&parser->builder);
    CelSpan span = {
        .from = open->is_optional ? open->optional_at : open->name.from,
        .to = last->to,
        .at = open->name.from,
    };
    CelNode *field = cel_builder_add(
        &parser->builder, CEL_NODE_FIELD, cel_builder_next(&parser->builder) - last->size, 1, span);

    field->name = cel_token_text(&parser->lexer, open->name);
}

void cel_parser_finish_element(CelParser *parser, CelOpen *open) {
    if (open->kind <= CEL_OPEN_GROUP || open->kind == CEL_OPEN_INDEX)
        return;
    if (open->kind == CEL_OPEN_MAP && !open->has_key) {
        cel_parser_report_no_colon(parser, open);
        cel_builder_add_broken(&parser->builder, (CelSpan){0});
        open->n++;
    }
    if (open->is_optional)
        wrap_optional(parser, open);
    if (open->kind == CEL_OPEN_STRUCT)
        add_field(parser, open);
    open->n++;
    open->is_optional = open->has_key = open->has_comma = false;
}

/* The token that closes a bracket, and the node it becomes. */
static const struct {
    CelTokenKind closing;
    CelNodeKind node;
} brackets[] = {
    [CEL_OPEN_TEXT] = {.closing = CEL_TOKEN_END},
    [CEL_OPEN_GROUP] = {.closing = CEL_TOKEN_RPAREN},
    [CEL_OPEN_CALL] = {.closing = CEL_TOKEN_RPAREN},
    [CEL_OPEN_INDEX] = {CEL_TOKEN_RBRACKET, CEL_NODE_CALL},
    [CEL_OPEN_LIST] = {CEL_TOKEN_RBRACKET, CEL_NODE_LIST},
    [CEL_OPEN_MAP] = {CEL_TOKEN_RBRACE, CEL_NODE_MAP},
    [CEL_OPEN_STRUCT] = {CEL_TOKEN_RBRACE, CEL_NODE_STRUCT},
};

/* Whether @open is the bracket of a list, a map or T{…}. */
static bool is_literal(const CelOpen *open) {
    return open->kind >= CEL_OPEN_LIST && open->kind <= CEL_OPEN_STRUCT;
}

static void close_call(CelParser *parser, const CelOpen *open, uint32_t to) {
    CelCall call = {
        .name = cel_token_text(&parser->lexer, open->name),
        .is_receiver = open->is_receiver,
        .is_absolute = open->is_absolute,
        .first = open->first,
        .args = open->args,
        .n_args = open->n,
        .span = {.from = open->from, .to = to, .at = open->name.from},
    };
    bool has_macros = !parser->options || !parser->options->no_macros;

    if (!has_macros || !cel_macro_expand(&parser->builder, &call))
        cel_builder_add_call(&parser->builder, &call);
}

/* Adds the node of an index, a list, a map or T{…}. */
static void close_elements(CelParser *parser, const CelOpen *open, CelNodeKind kind, CelSpan span) {
    bool is_index = open->kind == CEL_OPEN_INDEX;
    CelNode *node =
        cel_builder_add(&parser->builder, kind, open->first, is_index ? 2 : open->n, span);

    node->name = !is_index ? open->type_name : open->is_optional ? STR("_[?_]") : STR("_[_]");
    node->is_absolute = open->is_absolute;
    node->is_operator = is_index;
}

void cel_parser_close(CelParser *parser) {
    CelOpen open = *cel_parser_top(parser);
    CelSpan span = {.from = open.from,
        .to = parser->token.to,
        .at = open.kind == CEL_OPEN_STRUCT ? open.from : open.token.from};

    parser->opens.n--;
    parser->depth--;
    if (open.kind == CEL_OPEN_CALL) {
        close_call(parser, &open, span.to);
    } else if (open.kind != CEL_OPEN_GROUP) {
        close_elements(parser, &open, brackets[open.kind].node, span);
    } else { /* the text of a part includes the brackets around it */
        cel_builder_last(&parser->builder)->from = span.from;
        cel_builder_last(&parser->builder)->to = span.to;
    }
    if (parser->depth < parser->quiet_depth)
        parser->errors.is_quiet = false;
    cel_parser_got_operand(parser, /* is_name= */ false);
    cel_parser_advance(parser);
}

/* Operands: names, literals, opening brackets and signs; everything that can start a value. */

static CelSpan span_of(CelToken token) {
    return (CelSpan){.from = token.from, .to = token.to, .at = token.from};
}

void cel_parser_got_operand(CelParser *parser, bool is_name) {
    parser->needs_operand = false;
    parser->is_name = is_name;
}

/* The kind of the token after the next one. Its errors are reported only when it is taken. */
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

    if (token.kind == CEL_TOKEN_STRING || token.kind == CEL_TOKEN_BYTES)
        value = cel_literal_text(&parser->lexer, token, parser->builder.arena);
    cel_parser_advance(parser);
    add_literal(parser, span_of(token), value);
}

/* Whether @word cannot name a variable or function. CEL also reserves "namespace", which is a
 * variable here (schema/schema.h). */
static bool is_reserved(Str word) {
    static const Str reserved[] = {STR("as"), STR("break"), STR("const"), STR("continue"),
        STR("else"), STR("for"), STR("function"), STR("if"), STR("import"), STR("let"), STR("loop"),
        STR("package"), STR("return"), STR("var"), STR("void"), STR("while")};

    return str_is_one_of(word, reserved, ELEMENTS_OF(reserved));
}

/* Reads a variable, or a function if a bracket follows. @from: its offset, or a dot's before it. */
static void read_name(CelParser *parser, uint32_t from, bool is_absolute) {
    CelToken name = parser->token;
    CelSpan span = {.from = from, .to = name.to, .at = name.from};
    CelNode *node;

    if (is_reserved(cel_token_text(&parser->lexer, name))) {
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

/* One or more '!' or '-' before an operand. As in cel-go two of them cancel out, and a single minus
 * belongs to its number: -9223372036854775808 is valid, --9223372036854775808 is too large. */
static void read_signs(CelParser *parser) {
    CelToken sign = parser->token;
    CelTokenKind kind = sign.kind;
    CelOpen *top = cel_parser_top(parser);
    bool is_odd = false;

    if (top->kind == CEL_OPEN_UNARY) { /* "!-x": another sign comes before this one */
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

/* The ? of [?x] and {?k: v}. */
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
    bool may_be_empty = top->kind == CEL_OPEN_CALL ? !top->has_comma : is_literal(top);

    return may_be_empty && !top->is_optional && !top->has_key &&
           parser->token.kind == brackets[top->kind].closing;
}

/* A comma in place of an operand. The grammar allows only [,] and {,}. */
static void read_lone_comma(CelParser *parser) {
    CelOpen *top = cel_parser_top(parser);
    CelTokenKind next = peek(parser);

    if (top->n == 0 && !top->has_comma && !top->has_key && !top->is_optional && is_literal(top) &&
        next == brackets[top->kind].closing) {
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
    top->is_optional = take(parser, CEL_TOKEN_QUESTION);
    if (parser->token.kind != CEL_TOKEN_IDENT && parser->token.kind != CEL_TOKEN_QUOTED) {
        cel_parser_report_field(parser);
        return;
    }
    top->name = parser->token;
    top->has_key = true;
    cel_parser_advance(parser);
    if (!take(parser, CEL_TOKEN_COLON))
        cel_parser_report_no_colon(parser, top);
}

/* Reads the start of a value: a name or literal, or an opening bracket. */
static void read_operand(CelParser *parser) {
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
    if (take(parser, CEL_TOKEN_QUESTION))
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

    open->is_optional = take(parser, CEL_TOKEN_QUESTION);
}

/* The name of a type: joins the nodes from @first to the last, which are one name with dots. */
static Str join_name(CelParser *parser, uint32_t first) {
    const CelNode *nodes = parser->builder.nodes.items;
    uint32_t n = cel_builder_next(&parser->builder);
    size_t len = n - first - 1;
    char *name;

    for (uint32_t i = first; i < n; i++)
        len += nodes[i].name.len;
    if (nodes[n - 1].to - nodes[first].at == len) /* without spaces it is a slice of the source */
        return str_of(parser->lexer.source.ptr + nodes[first].at, len);
    name = arena_alloc(parser->builder.arena, len);
    return name ? str_of(name, cel_join_names(nodes, first, n - 1, name)) : STR_NULL;
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
    CelOpen *open = cel_parser_reduce_all(parser);

    if (brackets[open->kind].closing != parser->token.kind) {
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

static void parse_text(CelParser *parser, Arena *arena) {
    CelBuilder *builder = &parser->builder;

    *builder = (CelBuilder){.arena = arena, .lexer = &parser->lexer};
    /* Room for a node per three bytes is usually enough; it grows if needed. */
    builder->nodes.size = parser->lexer.source.len / 3 + 8;
    builder->nodes.items = ARENA_RAW(arena, CelNode, builder->nodes.size);
    if (!builder->nodes.items || !VEC_PUSH(&parser->opens, arena)) /* CEL_OPEN_TEXT */
        return;
    parser->needs_operand = true;
    parser->token = cel_lex_next(&parser->lexer);
    while (!parser->is_done && !parser->builder.is_stopped) {
        if (parser->needs_operand)
            read_operand(parser);
        else
            read_operator(parser);
    }
}

int cel_parse(
    Str file, Str source, const CelOptions *options, Arena *arena, DiagList *diags, CelTree **ret) {
    CelParser parser = {
        .options = options,
        .errors = {.file = file, .source = source, .diags = diags},
        .lexer = {.source = source},
    };
    size_t first = diags->diags.n;

    parser.lexer.errors = &parser.errors;
    if (!check_source(&parser.errors))
        return CEL_REFUSED;
    parse_text(&parser, arena);
    if (arena_has_failed(arena))
        return -ENOMEM;
    diag_list_sort(diags, first);
    if (parser.errors.n > 0)
        return CEL_REFUSED;
    *ret = finish_tree(&parser.builder, file);
    return *ret ? 0 : -ENOMEM;
}
