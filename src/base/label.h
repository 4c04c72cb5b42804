#pragma once

/* Label: what Kubernetes takes as a key: of labels, of annotations, of resources; and as the name
 * of a namespace, which DNS calls a label. */

#include "base/str.h"

#define LABEL_PREFIX_MAX 253u
#define LABEL_NAME_MAX 63u

/* Letters, digits, '-', '_' and '.', a letter or digit at both ends. */
bool label_is_name(Str name);

/* A name of small letters, digits and '-' alone: of a namespace. */
bool label_is_namespace(Str name);

/* The first, or one after the name of a domain and a slash: "example.com/gpu". */
bool label_is_key(Str key);
