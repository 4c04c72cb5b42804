#pragma once

/* Syntax: libfyaml's complaints in words for people who write policies. */

#include "base/str.h"

typedef struct SyntaxError {
    Str text;
    Str hint; /* may be empty */
} SyntaxError;

/* What @message, one of libfyaml's, means. One we have no words for is passed on
 * as it is; the result may point into @message. */
SyntaxError syntax_explain(Str message);
