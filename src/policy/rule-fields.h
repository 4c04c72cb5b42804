#pragma once

/* RuleFields: what a rule may say besides its kind; and what others say in the same way. */

#include "policy/policy.h"
#include "policy/reader.h"
#include "policy/shape.h"

/* What a rule may say besides its kind; filters and scores use their part of it. */
typedef struct RuleFields {
    Str name;
    Str reason;
    bool is_unresolvable;
    Fallback on_error, on_missing;
    double weight, score_on_error, score_on_missing;
    bool has_on_missing; /* else onError counts */
    Normalize normalize;
    const YamlNode *message;
} RuleFields;

#define RULE_FILTER_FIELDS 6u
#define RULE_SCORE_FIELDS 5u

/* They read into a RuleFields. */
extern const Field rule_filter_fields[RULE_FILTER_FIELDS], rule_score_fields[RULE_SCORE_FIELDS];

/* A name for people and metrics: letters, digits, '-', '_' and '.', at most 63. */
bool rule_name_is_valid(Str name);

/* Reads one. False, with an error reported, when it is none. */
bool reader_name(PolicyReader *reader, const YamlNode *value, Str *ret);

/* allow or reject. The hint says what counts unless given. */
void reader_fallback(
    PolicyReader *reader, const YamlNode *value, const char *what, Str hint, Fallback *ret);
#define FALLBACK_HINT STR("reject (the default), or allow: as if the node had passed")
extern const Shape fallback_shape;
