#pragma once

/* Rules: the filters and scores of a policy file, read. */

#include "policy/policy.h"
#include "policy/reader.h"
#include "policy/rule-fields.h"
#include "policy/shape.h"

/* The lists; @policy has its scope. */
void filters_read(PolicyReader *reader, const YamlNode *value, Policy *policy);
void scores_read(PolicyReader *reader, const YamlNode *value, Policy *policy);

/* Rules of one policy are told apart by name, in metrics and explanations. 0 or -ENOMEM. */
int rule_names_check(PolicyReader *reader, const YamlNode *document);

extern const Shape filters_shape, scores_shape;
