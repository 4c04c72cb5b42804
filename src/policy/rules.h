#pragma once

/* Reads the filters and scores of a policy file. */

#include "policy/policy.h"
#include "policy/reader.h"
#include "policy/shape.h"

/* The lists, into a Policy that has its scope. */
void filters_read(YamlReader *reader, const YamlNode *value, void *policy);
void scores_read(YamlReader *reader, const YamlNode *value, void *policy);

/* Reports rules of one policy that have the same name. 0 or -ENOMEM. */
int rule_names_check(YamlReader *reader, const YamlNode *document);

extern const Shape filters_shape, scores_shape;

/* allow or reject: a Fallback. */
extern const Shape fallback_shape;
