#pragma once

/* EvalData: variables of an expression from the command line and from files. */

#include "base/vec.h"
#include "cel/value.h"
#include "commands/eval-context.h"

/* In the order of their slots. */
typedef VEC(CelValue) EvalValues;

/* Each declares variables of type dyn and adds their values. 0, or an exit code after saying
 * on stderr what is wrong. */

/* "NAME=JSON". */
int eval_bind_option(EvalContext *context, const char *option, EvalValues *values);

/* JSON or YAML: each key of the object; "-" is standard input. */
int eval_bind_file(EvalContext *context, const char *path, EvalValues *values);
