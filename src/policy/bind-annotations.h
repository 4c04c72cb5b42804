#pragma once

/*
 * bind.annotations of a policy: constants and expressions, by key.
 */

#include "policy/policy.h"

#define BIND_ANNOTATIONS_MAX 32u          /* of one policy */
#define BIND_VALUE_MAX ((size_t)4 * 1024) /* bytes of an expression's value; more is an error */

/* Reads the mapping into @policy, whose scope is there. Problems are reported. */
void bind_annotations_read(YamlReader *reader, const YamlNode *value, Policy *policy);

extern const Shape bind_annotations_shape;
