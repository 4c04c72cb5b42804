#pragma once

/*
 * Literal: the value of a number or text as it was written.
 *
 * Text without escapes stays where it is, in the source; other text is written anew in
 * the arena. A value that cannot be is a mistake, and then the value is CEL_ABSENT.
 */

#include <stdbool.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "cel/lex.h"
#include "cel/value.h"

/* @token is an INT, UINT or DOUBLE; @is_negative: a minus stood before it, which for an INT
 * makes one more value possible. 0 or -ENOMEM. */
int cel_literal_number(const CelLexer *lexer, CelToken token, bool is_negative, Arena *arena,
    CelValue *ret) MUST_CHECK;

/* @token is a STRING or BYTES. 0 or -ENOMEM. */
int cel_literal_text(const CelLexer *lexer, CelToken token, Arena *arena, CelValue *ret) MUST_CHECK;
