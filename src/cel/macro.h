#pragma once

/*
 * Macro: calls that are more than calls.
 *
 * has(), all() and the others are expanded when their closing bracket is read: their
 * arguments are the last nodes of the tree, and the macro's node takes them, the name of
 * its variable turned into a BINDER.
 */

#include <stdbool.h>

#include "cel/builder.h"

/* Adds what @call stands for. False: it is no macro, or one that only changed its arguments
 * (math.least() of many) and @call with them; then it is a plain call. */
bool cel_macro_expand(CelBuilder *builder, CelCall *call);
