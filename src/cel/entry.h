#pragma once

/* Entry: one value of a column, written and read as the scalar machine's. */

#include "cel/column.h"
#include "cel/run.h"

/* The state of @v in a column of values of @kind: an error if it is one, odd if it is another
 * kind, or one of those that nothing absorbs (the scalar machine ends there). */
uint8_t cel_entry_state(CelKind kind, CelValue v);

/* Writes entry @i of a column whose values are of @kind; not for strings. Its states are there. */
void cel_entry_set(CelColumn *column, size_t i, CelKind kind, CelValue v);

/* Entry @i, which is not odd, as a value; an error that says nothing where there is one. Not for
 * strings. */
CelValue cel_entry_get(const CelColumn *column, size_t i, CelKind kind);

/* The error that stands for all. */
CelValue cel_entry_error(void);
