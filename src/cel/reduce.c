/* An operator or bracket on the stack becomes a node once its last part is there: its parts are the
 * last finished ones of the tree, from open->first on. */

#include <errno.h>

#include "cel/limits.h"
#include "cel/parser-internal.h"

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

/* Counts a new bracket or conditional; stops the builder at the ceiling. */
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
        cel_builder_fail(&parser->builder, -ENOMEM);
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
    if (kind != CEL_OPEN_UNARY) /* its tokens were taken before */
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

/* The topmost operator. */
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

/* Puts an OPTIONAL around the element or value that a '?' was written before. */
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

/* An index, or a literal of elements in square or curly brackets. */
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
    static const CelNodeKind kinds[] = {
        [CEL_OPEN_INDEX] = CEL_NODE_CALL,
        [CEL_OPEN_LIST] = CEL_NODE_LIST,
        [CEL_OPEN_MAP] = CEL_NODE_MAP,
        [CEL_OPEN_STRUCT] = CEL_NODE_STRUCT,
    };
    CelSpan span = {.from = open.from,
        .to = parser->token.to,
        .at = open.kind == CEL_OPEN_STRUCT ? open.from : open.token.from};

    parser->opens.n--;
    parser->depth--;
    if (open.kind == CEL_OPEN_CALL) {
        close_call(parser, &open, span.to);
    } else if (open.kind != CEL_OPEN_GROUP) {
        close_elements(parser, &open, kinds[open.kind], span);
    } else { /* brackets around something are part of its text */
        cel_builder_last(&parser->builder)->from = span.from;
        cel_builder_last(&parser->builder)->to = span.to;
    }
    if (parser->depth < parser->quiet_depth)
        parser->errors.is_quiet = false;
    cel_parser_got_operand(parser, /* is_name= */ false);
    cel_parser_advance(parser);
}
