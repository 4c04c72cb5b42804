#pragma once

/* EvalFunctions: the functions that expressions can call, as a list for people. */

#include "base/buf.h"

/* Library by library, one overload a line, with its types; operators are left out. */
void eval_functions_print(Buf *out);
