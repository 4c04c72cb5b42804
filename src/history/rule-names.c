/* Copies the names of a program's filters into one block. */

#include "history/rule-names.h"

#include <stdlib.h>

static size_t text_bytes(const Program *program) {
    size_t bytes = 0;

    for (size_t i = 0; i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];

        bytes += filter->policy->name.len + filter->name.len + filter->reason.len;
    }
    return bytes;
}

/* A copy of @text at *at, which is advanced. */
static Str put(char **at, Str text) {
    Str copy = str_of(*at, text.len);

    if (text.len > 0)
        memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return copy;
}

RuleNames *rule_names_new(const Program *program) {
    size_t head = sizeof(RuleNames) + program->n_filters * sizeof(RuleName);
    size_t bytes = head + text_bytes(program);
    RuleNames *rule_names = malloc(bytes);
    char *at = (char *)rule_names + head;

    if (!rule_names)
        return NULL;
    *rule_names = (RuleNames){
        .ref = REF_ONE,
        .digest = program->digest,
        .bytes = bytes,
        .n_rules = program->n_filters,
    };
    for (size_t i = 0; i < rule_names->n_rules; i++) {
        const Filter *filter = program->filters[i];

        rule_names->rules[i] = (RuleName){
            .policy = put(&at, filter->policy->name),
            .name = put(&at, filter->name),
            .reason = put(&at, filter->reason),
            .is_unresolvable = filter->is_unresolvable,
        };
    }
    return rule_names;
}

RuleNames *rule_names_unref(RuleNames *rule_names) {
    if (rule_names && ref_drop(&rule_names->ref))
        free(rule_names);
    return NULL;
}

static bool is_same_rule(const RuleName *rule, const Filter *filter) {
    return str_eq(rule->policy, filter->policy->name) && str_eq(rule->name, filter->name) &&
           str_eq(rule->reason, filter->reason) && rule->is_unresolvable == filter->is_unresolvable;
}

bool rule_names_is_of(const RuleNames *rule_names, const Program *program) {
    if (!digest_equal(rule_names->digest, program->digest) ||
        rule_names->n_rules != program->n_filters)
        return false;
    for (size_t i = 0; i < rule_names->n_rules; i++)
        if (!is_same_rule(&rule_names->rules[i], program->filters[i]))
            return false;
    return true;
}
