/* Reports errors and recovers: a missing operand or operator is replaced by a stand-in, so that
 * brackets still match. Errors found before the parser has settled (an operator or comma that fits,
 * at the depth of the error or further out) follow from the first and are not reported. */

#include <stdio.h>

#include "cel/parser-internal.h"

/* Reports a mistake in [from, to) and starts the recovery. */
#define REPORT(parser, ...)                                                                        \
    do {                                                                                           \
        cel_syntax_error(&(parser)->errors, __VA_ARGS__);                                          \
        start_recovery(parser);                                                                    \
    } while (0)

/* The same for the next token. */
#define REPORT_NEXT(parser, ...)                                                                   \
    REPORT(parser, found_span(parser).from, found_span(parser).to, __VA_ARGS__)

static void start_recovery(CelParser *parser) {
    if (parser->errors.is_quiet)
        return;
    parser->errors.is_quiet = true;
    parser->quiet_depth = parser->depth;
}

/* Whether the lexer has just refused something between the last token and the next. */
static bool is_reported_by_lexer(const CelParser *parser) {
    return parser->errors.last > parser->previous.to && parser->errors.last <= parser->token.from;
}

void cel_parser_settle(CelParser *parser) {
    if (parser->depth <= parser->quiet_depth)
        parser->errors.is_quiet = false;
}

typedef struct Found {
    char text[48];
} Found;

/* The next token, as text for messages. */
static Found found(const CelParser *parser) {
    Str text = cel_token_text(&parser->lexer, parser->token);
    Found found = {0};

    if (parser->token.kind == CEL_TOKEN_END)
        (void)snprintf(found.text, sizeof(found.text), "the end of the expression");
    else if (parser->token.kind == CEL_TOKEN_STRING)
        (void)snprintf(found.text, sizeof(found.text), "text in quotes");
    else if (parser->token.kind == CEL_TOKEN_BYTES)
        (void)snprintf(found.text, sizeof(found.text), "bytes in quotes");
    else
        (void)snprintf(found.text, sizeof(found.text), "'%.*s'%s",
            text.len > 32 ? 32 : (int)text.len, text.ptr, text.len > 32 ? " …" : "");
    return found;
}

/* An expression ends directly after its last token, not after the spaces and comments that may
 * follow. */
static CelSpan found_span(const CelParser *parser) {
    if (parser->token.kind != CEL_TOKEN_END)
        return (CelSpan){.from = parser->token.from, .to = parser->token.to};
    return (CelSpan){.from = parser->previous.to, .to = parser->previous.to + 1};
}

static void add_broken(CelParser *parser) {
    CelSpan span = found_span(parser);

    span.at = span.from;
    cel_builder_add_broken(&parser->builder, span);
    cel_parser_got_operand(parser, /* is_name= */ false);
}

static char opening_text(const CelParser *parser, const CelOpen *open) {
    return parser->lexer.source.ptr[open->token.from];
}

static char closing_text(const CelParser *parser, const CelOpen *open) {
    char c = opening_text(parser, open);

    return c == '(' ? ')' : c == '[' ? ']' : '}';
}

static void report_empty(CelParser *parser, const CelOpen *top) {
    Found what = found(parser);

    switch (top->kind) {
    case CEL_OPEN_TEXT:
        if (parser->token.kind == CEL_TOKEN_END)
            REPORT_NEXT(parser, NULL, "the expression is empty");
        else if (parser->token.kind == CEL_TOKEN_RPAREN ||
                 parser->token.kind == CEL_TOKEN_RBRACKET || parser->token.kind == CEL_TOKEN_RBRACE)
            REPORT_NEXT(parser, NULL, "%s closes nothing", what.text);
        else
            REPORT_NEXT(parser, NULL, "an expression cannot start with %s", what.text);
        return;
    case CEL_OPEN_CALL:
        REPORT_NEXT(parser,
            parser->token.kind == CEL_TOKEN_RPAREN ? "a call has no comma behind its last argument"
                                                   : NULL,
            "an argument is missing before %s", what.text);
        return;
    case CEL_OPEN_LIST:
        REPORT_NEXT(parser, NULL, "an element is missing before %s", what.text);
        return;
    case CEL_OPEN_MAP:
        REPORT_NEXT(
            parser, NULL, "%s is missing before %s", top->has_key ? "a value" : "a key", what.text);
        return;
    case CEL_OPEN_INDEX:
        REPORT_NEXT(parser, NULL, "there is no index between the brackets");
        return;
    default:
        REPORT_NEXT(parser, NULL, "there is nothing between the brackets");
    }
}

void cel_parser_report_operand(CelParser *parser) {
    const CelOpen *top = cel_parser_top(parser);

    if (is_reported_by_lexer(parser))
        start_recovery(parser);
    if (parser->token.kind == CEL_TOKEN_PLUS) {
        REPORT_NEXT(parser, NULL, "there is no '+' before a value, only between two");
        cel_parser_advance(parser);
        return;
    }
    if (parser->token.kind == CEL_TOKEN_QUOTED) {
        REPORT_NEXT(
            parser, NULL, "a name in back quotes can only stand behind a dot, or as a field");
        add_broken(parser);
        cel_parser_advance(parser);
        return;
    }
    /* At the end, behind a bracket or comma, the mistake is the open bracket. */
    if (parser->token.kind == CEL_TOKEN_END && top->kind != CEL_OPEN_TEXT &&
        top->kind < CEL_OPEN_THEN) {
        add_broken(parser);
        return;
    }
    if (top->kind >= CEL_OPEN_THEN) {
        CelToken sign = top->kind == CEL_OPEN_ELSE ? parser->previous : top->token;
        Str text = cel_token_text(&parser->lexer, sign);

        REPORT_NEXT(parser, NULL, "a value must follow '%.*s', but here is %s", STR_FMT(text),
            found(parser).text);
    } else {
        report_empty(parser, top);
    }
    add_broken(parser);
}

void cel_parser_report_reserved(CelParser *parser) {
    static const struct {
        Str word;
        const char *hint;
    } hints[] = {
        {STR("if"), "a choice is written: condition ? value : other"},
        {STR("else"), "a choice is written: condition ? value : other"},
        {STR("for"), "loops are list.all(x, …), exists, map and filter"},
        {STR("while"), "loops are list.all(x, …), exists, map and filter"},
        {STR("loop"), "loops are list.all(x, …), exists, map and filter"},
        {STR("let"), "a name for a value: cel.bind(name, value, expression)"},
        {STR("var"), "a name for a value: cel.bind(name, value, expression)"},
        {STR("const"), "a name for a value: cel.bind(name, value, expression)"},
        {STR("return"), "the value of the expression is its result"},
    };
    Str word = cel_token_text(&parser->lexer, parser->token);
    const char *hint = NULL;

    for (size_t i = 0; i < ELEMENTS_OF(hints); i++)
        if (str_eq(word, hints[i].word))
            hint = hints[i].hint;
    REPORT_NEXT(parser, hint, "'%.*s' is a reserved word and cannot be a name", STR_FMT(word));
    add_broken(parser);
    cel_parser_advance(parser);
}

void cel_parser_report_sign(CelParser *parser) {
    REPORT_NEXT(parser, "put brackets around what the first one is for",
        "'!' and '-' cannot follow each other");
}

/* Words that other languages have for operators. */
static const struct {
    Str word;
    CelTokenKind kind;
    const char *hint;
    const char *meant; /* the operator to write instead; NULL: one is not enough */
} words[] = {
    {STR("and"), CEL_TOKEN_AND, "write '&&'", "&&"},
    {STR("or"), CEL_TOKEN_OR, "write '||'", "||"},
    {STR("is"), CEL_TOKEN_EQUAL, "write '=='", "=="},
    {STR("eq"), CEL_TOKEN_EQUAL, "write '=='", "=="},
    {STR("ne"), CEL_TOKEN_NOT_EQUAL, "write '!='", "!="},
    {STR("mod"), CEL_TOKEN_PERCENT, "write '%'", "%"},
    {STR("div"), CEL_TOKEN_SLASH, "write '/'", "/"},
    {STR("not"), CEL_TOKEN_IN, "write !(a in b)"},
    {STR("contains"), CEL_TOKEN_EQUAL, "it is a method: a.contains(b)"},
    {STR("matches"), CEL_TOKEN_EQUAL, "it is a method: a.matches(b)"},
    {STR("startsWith"), CEL_TOKEN_EQUAL, "it is a method: a.startsWith(b)"},
    {STR("endsWith"), CEL_TOKEN_EQUAL, "it is a method: a.endsWith(b)"},
};

/* Continues as if operator @kind stood before the next token. */
static void pretend_operator(CelParser *parser, CelTokenKind kind) {
    CelToken next = parser->token, previous = parser->previous;
    uint32_t at = parser->lexer.at;

    cel_parser_reduce(parser, cel_precedence(kind));
    parser->token.kind = kind;
    (void)cel_parser_open(parser, CEL_OPEN_BINARY, /* takes_last= */ true);
    parser->token = next;
    parser->previous = previous;
    parser->lexer.at = at;
}

/* a and b: read as &&. Returns false if there is no such word. */
static bool report_foreign_operator(CelParser *parser) {
    Str word = cel_token_text(&parser->lexer, parser->token);

    for (size_t i = 0; parser->token.kind == CEL_TOKEN_IDENT && i < ELEMENTS_OF(words); i++) {
        if (!str_eq_nocase(word, words[i].word))
            continue;
        if (cel_syntax_error(&parser->errors, parser->token.from, parser->token.to, words[i].hint,
                "'%.*s' is not an operator", STR_FMT(word)))
            cel_report_fix(parser->errors.diags, parser->errors.source,
                (CelFix){parser->token.from, parser->token.to, str_from_c(words[i].meant)});
        start_recovery(parser);
        pretend_operator(parser, words[i].kind);
        cel_parser_advance(parser);
        if (words[i].kind == CEL_TOKEN_IN && parser->token.kind == CEL_TOKEN_IN)
            cel_parser_advance(parser);
        cel_parser_settle(parser);
        return true;
    }
    return false;
}

static const CelOpen *open_bracket(const CelParser *parser) {
    size_t i = parser->opens.n - 1;

    while (parser->opens.items[i].kind >= CEL_OPEN_THEN)
        i--;
    return &parser->opens.items[i];
}

/* {key value}: reports the missing colon; the value follows. False: no key is expected here. */
static bool report_missing_colon(CelParser *parser) {
    const CelOpen *bracket = open_bracket(parser);
    CelOpen *open;

    if (bracket->kind != CEL_OPEN_MAP || bracket->has_key)
        return false;
    open = cel_parser_reduce_all(parser);
    cel_parser_report_no_colon(parser, open);
    open->has_key = true;
    open->n++;
    parser->needs_operand = true;
    return true;
}

static const char *operator_hint(const CelParser *parser, CelNodeKind last) {
    CelTokenKind next = parser->token.kind;

    if (next == CEL_TOKEN_LPAREN && last == CEL_NODE_OPT_SELECT)
        return "a method of an optional value: a.?b.optMap(x, x.method())";
    if (next == CEL_TOKEN_LPAREN && parser->previous.kind == CEL_TOKEN_QUOTED)
        return "a name in back quotes is a field and cannot be called";
    if (parser->previous.kind == CEL_TOKEN_STRING &&
        (next == CEL_TOKEN_STRING ||
            (next == CEL_TOKEN_IDENT && parser->previous.to == parser->token.from)))
        return "texts are joined with '+'; a quote inside of text is written \\\" or \\'";
    if (next == CEL_TOKEN_DOUBLE && parser->lexer.source.ptr[parser->token.from] == '.')
        return "an element of a list is list[0]";
    if (next == CEL_TOKEN_NOT)
        return "'!' stands before a value: !(a in b)";
    return NULL;
}

void cel_parser_report_operator(CelParser *parser) {
    CelNodeKind last = (CelNodeKind)cel_builder_last(&parser->builder)->kind;
    CelOpenKind bracket = open_bracket(parser)->kind;
    Str before = cel_token_text(&parser->lexer, parser->previous);

    if (is_reported_by_lexer(parser))
        start_recovery(parser);
    if (parser->previous.kind == CEL_TOKEN_IDENT && str_eq_nocase(before, STR("not")))
        REPORT(parser, parser->previous.from, parser->previous.to, "write '!'",
            "'%.*s' is not an operator", STR_FMT(before));
    else if (report_foreign_operator(parser) || report_missing_colon(parser))
        return;
    else if (parser->token.kind == CEL_TOKEN_LPAREN)
        REPORT_NEXT(parser, operator_hint(parser, last),
            "what stands before this bracket cannot be called");
    else
        REPORT_NEXT(parser, operator_hint(parser, last), "an operator%s is missing before %s",
            bracket == CEL_OPEN_CALL || bracket >= CEL_OPEN_LIST ? " or a comma" : "",
            found(parser).text);
    if (parser->token.kind == CEL_TOKEN_QUOTED || parser->token.kind == CEL_TOKEN_NOT)
        cel_parser_advance(parser);
    else
        pretend_operator(parser, CEL_TOKEN_STAR);
}

void cel_parser_report_selector(CelParser *parser) {
    CelTokenKind kind = parser->token.kind;
    bool is_word = kind == CEL_TOKEN_IN || kind == CEL_TOKEN_TRUE || kind == CEL_TOKEN_FALSE ||
                   kind == CEL_TOKEN_NULL;
    bool is_number = !parser->needs_operand &&
                     cel_builder_last(&parser->builder)->literal.kind == CEL_INT &&
                     parser->previous.kind == CEL_TOKEN_DOT;

    REPORT_NEXT(parser,
        is_word                      ? "a field with this name is selected by a[\"…\"] or a.`…`"
        : kind == CEL_TOKEN_STRING   ? "a key in quotes is selected by a[\"key\"]"
        : kind == CEL_TOKEN_LBRACKET ? "an element is selected by a[0], without the dot"
        : is_number                  ? "a number with a point has digits behind it: 1.0"
                                     : NULL,
        "a name must follow '%s', but here is %s",
        parser->previous.kind == CEL_TOKEN_QUESTION ? ".?" : ".", found(parser).text);
    if (is_word || kind == CEL_TOKEN_STRING)
        cel_parser_advance(parser);
}

void cel_parser_report_field(CelParser *parser) {
    CelOpen *top = cel_parser_top(parser);

    top->has_key = true;
    if (parser->token.kind == CEL_TOKEN_END) { /* the open bracket is the mistake */
        add_broken(parser);
        return;
    }
    REPORT_NEXT(parser,
        parser->token.kind == CEL_TOKEN_STRING ? "the name of a field has no quotes" : NULL,
        "the name of a field must stand here, not %s", found(parser).text);
    if (parser->token.kind == CEL_TOKEN_COMMA || parser->token.kind == CEL_TOKEN_RBRACE) {
        add_broken(parser);
        return;
    }
    top->name = parser->token;
    cel_parser_advance(parser);
    if (parser->token.kind == CEL_TOKEN_COLON)
        cel_parser_advance(parser);
}

void cel_parser_report_colon(CelParser *parser) {
    const CelOpen *top = cel_parser_top(parser);

    REPORT_NEXT(parser,
        top->kind == CEL_OPEN_LIST    ? "a map is written in curly brackets: {key: value}"
        : top->kind == CEL_OPEN_CALL  ? "arguments have no names"
        : top->kind == CEL_OPEN_INDEX ? "a part of a list is list.slice(from, to)"
        : top->kind == CEL_OPEN_MAP || top->kind == CEL_OPEN_STRUCT
            ? "entries are separated by commas"
            : NULL,
        "there is no '?' that this ':' belongs to");
    pretend_operator(parser, CEL_TOKEN_OR);
    cel_parser_advance(parser);
}

void cel_parser_report_no_colon(CelParser *parser, CelOpen *open) {
    if (open->kind == CEL_OPEN_THEN) {
        bool is_selection = open->token.to < parser->lexer.source.len &&
                            parser->lexer.source.ptr[open->token.to] == '.';

        REPORT(parser, open->token.from, open->token.to,
            is_selection ? "an optional selection is written a.?b"
                         : "a choice is written: condition ? value : other",
            "this '?' has no ':'");
    } else if (parser->token.kind != CEL_TOKEN_END && !open->is_reported &&
               (cel_builder_next(&parser->builder) == 0 || /* T{a}: no node exists yet */
                   parser->errors.last <= cel_builder_last(&parser->builder)->from)) {
        open->is_reported = true; /* {a, b} is one mistake */
        REPORT_NEXT(parser,
            parser->token.kind == CEL_TOKEN_COMMA ? "a list is written in square brackets" : NULL,
            "a ':' and a value must follow the %s, but here is %s",
            open->kind == CEL_OPEN_MAP ? "key" : "field's name", found(parser).text);
    }
}

void cel_parser_report_comma(CelParser *parser) {
    const CelOpen *top = cel_parser_top(parser);

    REPORT_NEXT(parser,
        top->kind == CEL_OPEN_INDEX ? NULL : "a list is written in square brackets: [a, b]",
        "there can be no comma here");
    pretend_operator(parser, CEL_TOKEN_OR);
    cel_parser_advance(parser);
}

void cel_parser_report_choice(CelParser *parser) {
    REPORT_NEXT(
        parser, "a ? (b ? c : d) : e", "a conditional between '?' and ':' must stand in brackets");
}

/* Whether the next token closes any open bracket. */
static bool has_opening(const CelParser *parser) {
    char closing = parser->lexer.source.ptr[parser->token.from];

    for (size_t i = 1; i < parser->opens.n; i++)
        if (parser->opens.items[i].kind < CEL_OPEN_THEN &&
            closing_text(parser, &parser->opens.items[i]) == closing)
            return true;
    return false;
}

/* (a]: with a '[' further out, closes the '('. Without one, skips the ']'; the '(' stays open, and
 * no second error is reported for it. */
void cel_parser_report_closing(CelParser *parser) {
    CelOpen *open = cel_parser_top(parser);
    CelToken token = parser->token;

    if (open->kind == CEL_OPEN_TEXT) {
        REPORT(parser, token.from, token.to, NULL, "%s closes nothing", found(parser).text);
    } else if (has_opening(parser)) {
        if (!open->is_reported)
            REPORT(parser, open->token.from, open->token.to, NULL,
                "this '%c' is not closed before %s", opening_text(parser, open),
                found(parser).text);
        cel_parser_finish_element(parser, open);
        cel_parser_close(parser);
        /* The token must still close its own bracket. */
        parser->lexer.at = token.to;
        parser->token = token;
        return;
    } else if (!open->is_reported) {
        REPORT(parser, token.from, token.to, NULL, "'%c' is closed by '%c', not by %s",
            opening_text(parser, open), closing_text(parser, open), found(parser).text);
        open->is_reported = true;
    }
    cel_parser_advance(parser);
}

void cel_parser_report_open(CelParser *parser) {
    const CelOpen *open = cel_parser_top(parser);

    if (open->is_reported || (parser->errors.is_quiet && parser->depth <= parser->quiet_depth))
        return;
    parser->errors.is_quiet = false;
    REPORT(parser, open->token.from, open->token.to, NULL, "this '%c' is never closed",
        opening_text(parser, open));
}
