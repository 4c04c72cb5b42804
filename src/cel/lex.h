#pragma once

/*
 * Lex: text to tokens, one at a time.
 *
 * A token is a kind and two offsets; nothing is allocated. The parser reads a literal's value
 * later, because it depends on the context: the minus of -9223372036854775808 is a separate token.
 * '=' for '==' and '&' for '&&' are reported, and read as the intended token.
 */

#include "cel/report.h"

typedef enum CelTokenKind {
    CEL_TOKEN_END,
    CEL_TOKEN_IDENT,
    CEL_TOKEN_QUOTED, /* `a-b`; only after a dot or as a field */
    CEL_TOKEN_INT,
    CEL_TOKEN_UINT,
    CEL_TOKEN_DOUBLE,
    CEL_TOKEN_STRING,
    CEL_TOKEN_BYTES,
    CEL_TOKEN_TRUE,
    CEL_TOKEN_FALSE,
    CEL_TOKEN_NULL,
    CEL_TOKEN_BROKEN, /* an invalid literal; already reported */
    CEL_TOKEN_LPAREN,
    CEL_TOKEN_RPAREN,
    CEL_TOKEN_LBRACKET,
    CEL_TOKEN_RBRACKET,
    CEL_TOKEN_LBRACE,
    CEL_TOKEN_RBRACE,
    CEL_TOKEN_DOT,
    CEL_TOKEN_COMMA,
    CEL_TOKEN_COLON,
    CEL_TOKEN_QUESTION,
    CEL_TOKEN_NOT,
    /* Binary operators, from here on. */
    CEL_TOKEN_OR,
    CEL_TOKEN_AND,
    CEL_TOKEN_LESS,
    CEL_TOKEN_LESS_EQUAL,
    CEL_TOKEN_GREATER,
    CEL_TOKEN_GREATER_EQUAL,
    CEL_TOKEN_EQUAL,
    CEL_TOKEN_NOT_EQUAL,
    CEL_TOKEN_IN,
    CEL_TOKEN_PLUS,
    CEL_TOKEN_MINUS,
    CEL_TOKEN_STAR,
    CEL_TOKEN_SLASH,
    CEL_TOKEN_PERCENT,
    CEL_N_TOKENS,
} CelTokenKind;

typedef struct CelToken {
    CelTokenKind kind;
    uint32_t from, to; /* offsets in the source */
} CelToken;

typedef struct CelLexer {
    Str source; /* valid UTF-8 */
    uint32_t at;
    CelSyntaxErrors *errors;
} CelLexer;

CelToken cel_lex_next(CelLexer *lexer);

/* As written; of a QUOTED the text between the quotes. */
Str cel_token_text(const CelLexer *lexer, CelToken token);
