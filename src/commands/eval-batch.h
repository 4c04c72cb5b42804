#pragma once

/* EvalBatch: one record a line in, one line out, whatever is wrong with it. */

#include "commands/eval-context.h"

/* From the file at @path; NULL or "-": standard input. The exit code: 1 when a line was no
 * record, 3 when the file cannot be read. */
int eval_batch(const char *path, const EvalContext *context);
