#pragma once

/* Prints the rules of a valid program: as CEL, with costs, as JSON. */

#include "base/buf.h"
#include "policy/program.h"

/* How often the value of root @root of the plan is computed, whose expression is @expression. */
const char *check_time(const Program *program, uint32_t root, const Expression *expression);

/* Whether part of it is computed for one node at a time, by the scalar machine. */
bool check_is_slow(const Program *program, uint32_t root);

/* One line a rule. */
void check_print_costs(const Program *program, Buf *out);

/* Every rule as the CEL it stands for; with @messages, those too. */
void check_print_cel(const Program *program, bool messages, Buf *out);

/* Diagnostics, and the rules if @program is not NULL, as JSON. */
void check_print_json(const DiagList *diags, const Program *program, Buf *out);
