#pragma once

/* The format of a policy document as Markdown tables, made from the tables that read it (shape.h):
 * every field, what may stand there, and what it is for. docs/policy.md has it from here. */

#include "base/buf.h"

void policy_describe(Buf *out);
