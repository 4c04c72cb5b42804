#pragma once

/* The format of a policy document as a JSON Schema (draft 2020-12), for editors. It is made from
 * the tables that read policies (shape.h), and says what these can: not which expressions are
 * right, nor which names are taken. `berth check` says the rest. */

#include "base/buf.h"

void policy_json_schema(Buf *out);
