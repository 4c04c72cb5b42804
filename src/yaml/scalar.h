#pragma once

/* Scalar: what a plain YAML scalar means, by the core schema of YAML 1.2. */

#include "yaml/document.h"

/* Sets the kind of @node, and boolean, integer and real with it, from its text.
 * The text must have a NUL after it (arena_copy). Words that only YAML 1.1 took
 * for something else ("yes", "off", "1:30") are strings. */
void scalar_resolve(YamlNode *node);
