#pragma once

/* Rules: the filters and scores of a policy file, read. */

#include "policy/policy.h"
#include "policy/reader.h"
#include "policy/shape.h"

/* A name for people and metrics: letters, digits, '-', '_' and '.', at most 63. False, with an
 * error reported, when it is none. */
bool reader_name(PolicyReader *reader, const YamlNode *value, Str *ret);

/* allow or reject. */
void reader_fallback(PolicyReader *reader, const YamlNode *value, const char *what, Fallback *ret);

/* The lists; @policy has its scope. */
void filters_read(PolicyReader *reader, const YamlNode *value, Policy *policy);
void scores_read(PolicyReader *reader, const YamlNode *value, Policy *policy);

/* Rules of one policy are told apart by name, in metrics and explanations. 0 or -ENOMEM. */
int rule_names_check(PolicyReader *reader, const YamlNode *document);

extern const Shape fallback_shape, filters_shape, scores_shape;
