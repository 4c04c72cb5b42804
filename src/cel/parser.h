#pragma once

/*
 * Parser: the state of one parse (parse.c), with the stack of what is open.
 *
 * Open is a bracket that was not closed yet, or an operator that waits for its right side.
 * Operators between two brackets stand with rising precedence, so there are few of them;
 * brackets and conditionals are counted, and CEL_NESTING_MAX is their ceiling.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "cel/builder.h"
#include "cel/lex.h"
#include "cel/parse.h"

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
    CelToken name;  /* CALL: the function; STRUCT: the field at hand */
    Str type_name;  /* STRUCT */
    uint32_t optional_at;
    bool is_optional; /* the element at hand has a '?'; INDEX: [? */
    bool has_key;     /* MAP, STRUCT: key and colon were read */
    bool has_comma;   /* a comma was the last thing read */
    bool is_receiver, is_absolute;
    bool is_odd;    /* UNARY: !!!x is !x, and !!x is x */
    bool is_blamed; /* a mistake with its colons or its closing bracket was reported */
} CelOpen;

typedef struct CelParser {
    const CelParseOptions *options;
    CelMistakes mistakes;
    CelLexer lexer;
    CelBuilder builder;
    VEC(CelOpen) opens;
    CelToken token;     /* the next one, not yet taken */
    CelToken previous;  /* the last one taken */
    uint32_t depth;     /* open brackets */
    uint32_t n_choices; /* open conditionals */
    uint32_t quiet_depth;
    bool needs_operand; /* else an operator, or an end */
    bool is_name;       /* the last operand is a plain name with dots: T{…} may follow */
    bool is_done;
} CelParser;

static inline CelOpen *cel_parser_top(CelParser *parser) {
    return &parser->opens.items[parser->opens.n - 1];
}

void cel_parser_advance(CelParser *parser);

/* Takes the next token if it is of @kind. */
bool cel_parser_take(CelParser *parser, CelTokenKind kind);

/* Where a value must come (operand.c): reads a name or literal, or opens a bracket. */
void cel_parser_read_operand(CelParser *parser);

/* An operand is there; @is_name: a plain name with dots. */
void cel_parser_got_operand(CelParser *parser, bool is_name);

/* A new one on top, for the next token, which is taken. The first node below it is the next
 * one; with @takes_last it is the operand just finished. Never NULL: when there is no
 * memory or the nesting is too deep the builder is stopped. */
CelOpen *cel_parser_open(CelParser *parser, CelOpenKind kind, bool takes_last);

/* Makes nodes of the operators on top that bind at least as tightly as @precedence; 0: of
 * whole conditionals too, but not of one that has no ':' yet. */
void cel_parser_reduce(CelParser *parser, unsigned precedence);
/* … of all, down to the bracket that is open; gives it. */
CelOpen *cel_parser_reduce_all(CelParser *parser);

/* How tightly an operator binds: 1 (||) to 5 (*). 6: ! and -. 0: no operator. */
unsigned cel_precedence(CelTokenKind kind);

/* The element before a comma or closing bracket is whole. */
void cel_parser_finish_element(CelParser *parser, CelOpen *open);

/* The closing bracket of the topmost bracket is the next token: takes both. */
void cel_parser_close(CelParser *parser);

/* --- mistakes (recover.c) ------------------------------------------------ */

/* Back on the way: something fitted, where the mistake was or further out. */
void cel_parser_settle(CelParser *parser);

/* Each says what is wrong and leaves the parser where it can go on. */
void cel_parser_blame_operand(CelParser *parser);                 /* none is here */
void cel_parser_blame_operator(CelParser *parser);                /* two operands in a row */
void cel_parser_blame_reserved(CelParser *parser);                /* a reserved word as a name */
void cel_parser_blame_selector(CelParser *parser);                /* no name after a dot */
void cel_parser_blame_field(CelParser *parser);                   /* no field's name in T{…} */
void cel_parser_blame_colon(CelParser *parser);                   /* a ':' without '?' */
void cel_parser_blame_no_colon(CelParser *parser, CelOpen *open); /* none, but needed */
void cel_parser_blame_comma(CelParser *parser);                   /* a ',' where none can be */
void cel_parser_blame_closing(CelParser *parser); /* a bracket that closes nothing */
void cel_parser_blame_open(CelParser *parser);    /* the end, and a bracket is open */
void cel_parser_blame_choice(CelParser *parser);  /* a ? b ? c : d : e */
void cel_parser_blame_sign(CelParser *parser);    /* !-x, -!x */
