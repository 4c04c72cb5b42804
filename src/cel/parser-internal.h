#pragma once

/*
 * Parser internals: parse.c is the parser and makes the nodes, in post-order; parse-errors.c
 * reports errors, macro.c expands macros.
 *
 * At a limit or without memory the builder stops: it drops further nodes, and the parser checks
 * is_stopped. While the tree grows, an IDENT's @call is a distance, because macros may move parts
 * of the tree; cel_parse() converts it.
 *
 * CelOpen is a bracket that is not closed yet, or an operator whose right side is not read yet.
 * Brackets and conditionals are counted, up to CEL_NESTING_MAX.
 */

#include "cel/lex.h"
#include "cel/parse.h"
#include "cel/tree.h"
#include "cel/value.h"

typedef struct CelBuilder {
    Arena *arena;
    CelLexer *lexer; /* the source, and the list of errors */
    VEC(CelNode) nodes;
    bool is_stopped;
    CelNode spare; /* returned by a stopped builder */
} CelBuilder;

/* A position in the source. */
typedef struct CelSpan {
    uint32_t from, to, at;
} CelSpan;

/* The next node's number. */
static inline uint32_t cel_builder_next(const CelBuilder *builder) {
    return (uint32_t)builder->nodes.n;
}

/* The last node: the root of the part finished last. The tree must not be empty. */
static inline CelNode *cel_builder_last(CelBuilder *builder) {
    return &builder->nodes.items[builder->nodes.n - 1];
}

/* A node whose @n_children are the nodes from @first to the last one. Never NULL; valid until the
 * next is added. */
CelNode *cel_builder_add(
    CelBuilder *builder, CelNodeKind kind, uint32_t first, uint32_t n_children, CelSpan span);

/* A call whose arguments were just added. */
typedef struct CelCall {
    Str name;
    bool is_receiver, is_absolute;
    uint32_t first; /* the first node of the receiver, or else of the arguments */
    uint32_t args;  /* the first node of the arguments */
    uint32_t n_args;
    CelSpan span;
} CelCall;

void cel_builder_add_call(CelBuilder *builder, const CelCall *call);

/* A placeholder for a part whose error was reported. */
void cel_builder_add_broken(CelBuilder *builder, CelSpan span);
bool cel_node_is_broken(const CelNode *node);

/* Removes the nodes from @first on. */
static inline void cel_builder_drop(CelBuilder *builder, uint32_t first) {
    builder->nodes.n = first < builder->nodes.n ? first : builder->nodes.n;
}

/* A copy of the @n nodes from @first on; NULL: stopped. */
CelNode *cel_builder_copy(CelBuilder *builder, uint32_t first, uint32_t n);

/* Adds copies of finished parts again. */
void cel_builder_append(CelBuilder *builder, const CelNode *nodes, uint32_t n);

typedef enum CelOpenKind {
    CEL_OPEN_TEXT, /* the expression as a whole: at the bottom, never taken off */
    CEL_OPEN_GROUP,
    CEL_OPEN_CALL,
    CEL_OPEN_INDEX,
    CEL_OPEN_LIST,
    CEL_OPEN_MAP,
    CEL_OPEN_STRUCT,
    /* Operators, from here on. */
    CEL_OPEN_THEN, /* condition ? … */
    CEL_OPEN_ELSE, /* condition ? value : … */
    CEL_OPEN_BINARY,
    CEL_OPEN_UNARY,
} CelOpenKind;

typedef struct CelOpen {
    CelOpenKind kind;
    CelToken token; /* the bracket or operator */
    uint32_t from;  /* where the text of its node starts */
    uint32_t first; /* the first node that will be below its node */
    uint32_t n;     /* finished children */
    uint32_t args;  /* CALL: the first node of the arguments */
    CelToken name;  /* CALL: the function; STRUCT: the current field */
    Str type_name;  /* STRUCT */
    uint32_t optional_at;
    bool is_optional; /* the current element has a '?'; INDEX: [? */
    bool has_key;     /* MAP, STRUCT: key and colon were read */
    bool has_comma;   /* a comma was the last thing read */
    bool is_receiver, is_absolute;
    bool is_odd;      /* UNARY: an odd number of signs: !!!x is !x, and !!x is x */
    bool is_reported; /* a mistake with its colons or its closing bracket was reported */
} CelOpen;

typedef struct CelParser {
    const CelOptions *options;
    CelSyntaxErrors errors;
    CelLexer lexer;
    CelBuilder builder;
    VEC(CelOpen) opens;
    CelToken token;       /* the next one, not yet taken */
    CelToken previous;    /* the last one taken */
    uint32_t depth;       /* open brackets */
    uint32_t n_choices;   /* open conditionals */
    uint32_t quiet_depth; /* depth at which the recovery began */
    bool needs_operand;   /* else an operator or a closing bracket is next */
    bool is_name;         /* the last operand is a plain name with dots: T{…} may follow */
    bool is_done;
} CelParser;

static inline CelOpen *cel_parser_top(CelParser *parser) {
    return &parser->opens.items[parser->opens.n - 1];
}

void cel_parser_advance(CelParser *parser);

/* An operand was read; @is_name: a plain name with dots. */
void cel_parser_got_operand(CelParser *parser, bool is_name);

/* Pushes a CelOpen for the next token, which it takes. Its first node is the next one; with
 * @takes_last, that of the operand just finished. Never NULL: when there is no memory or the
 * nesting is too deep the builder is stopped. */
CelOpen *cel_parser_open(CelParser *parser, CelOpenKind kind, bool takes_last);

/* Makes nodes of the operators on top that bind at least as tightly as @precedence; 0: of
 * whole conditionals too, but not of one that has no ':' yet. */
void cel_parser_reduce(CelParser *parser, unsigned precedence);
/* The same for all operators above the innermost open bracket, which is returned. */
CelOpen *cel_parser_reduce_all(CelParser *parser);

/* How tightly an operator binds: 1 (||) to 5 (*). 6: ! and -. 0: no operator. */
unsigned cel_precedence(CelTokenKind kind);

/* Finishes the element before a comma or closing bracket. */
void cel_parser_finish_element(CelParser *parser, CelOpen *open);

/* Closes the topmost bracket with the next token, its closing bracket. */
void cel_parser_close(CelParser *parser);

/* --- mistakes (parse-errors.c) ------------------------------------------------ */

/* Ends error recovery: a token fits again. */
void cel_parser_settle(CelParser *parser);

/* Each reports the error and leaves the parser in a state to continue. */
void cel_parser_report_operand(CelParser *parser);                 /* an operand is missing here */
void cel_parser_report_operator(CelParser *parser);                /* two operands in a row */
void cel_parser_report_reserved(CelParser *parser);                /* a reserved word as a name */
void cel_parser_report_selector(CelParser *parser);                /* no name after a dot */
void cel_parser_report_field(CelParser *parser);                   /* no field's name in T{…} */
void cel_parser_report_colon(CelParser *parser);                   /* a ':' without '?' */
void cel_parser_report_no_colon(CelParser *parser, CelOpen *open); /* a ':' is missing */
void cel_parser_report_comma(CelParser *parser);                   /* a ',' where none can be */
void cel_parser_report_closing(CelParser *parser); /* a bracket that closes nothing */
void cel_parser_report_open(CelParser *parser);    /* the end, and a bracket is open */
void cel_parser_report_choice(CelParser *parser);  /* a ? b ? c : d : e */
void cel_parser_report_sign(CelParser *parser);    /* !-x, -!x */

/* Adds the expansion of @call. Returns false if it is not a macro, or one that only changed its
 * arguments (math.least() of many); then @call is a plain call. */
bool cel_macro_expand(CelBuilder *builder, CelCall *call);

/* @token is an INT, UINT or DOUBLE; @is_negative: a minus stood before it, which for an INT
 * makes one more value possible. CEL_ABSENT after an error, which has been reported. */
CelValue cel_literal_number(const CelLexer *lexer, CelToken token, bool is_negative);

/* @token is a STRING or BYTES. CEL_ABSENT after an error, which has been reported, or when @arena
 * is full. */
CelValue cel_literal_text(const CelLexer *lexer, CelToken token, Arena *arena);
