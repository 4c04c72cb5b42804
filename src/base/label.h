#pragma once

/* Label: the syntax of keys in Kubernetes (of labels, annotations and resources), and of names of
 * namespaces, which DNS calls labels. */

#include "base/str.h"

#define LABEL_PREFIX_MAX 253u
#define LABEL_NAME_MAX 63u

/* Letters, digits, '-', '_' and '.', a letter or digit at both ends. */
bool label_is_name(Str name);

/* A label_is_name() of lower-case letters, digits and '-' only: the name of a namespace. */
bool label_is_namespace(Str name);

/* A label_is_name(), perhaps after a domain name and a slash: "example.com/gpu". */
bool label_is_key(Str key);
