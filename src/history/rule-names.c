/* Copies the names of a program's filters into one block. */

#include "history/rule-names.h"

#include <stdlib.h>

#include "history/put-text.h"

RuleNames *rule_names_load(const RuleName *rules, size_t n, Digest digest) {
    size_t head = sizeof(RuleNames) + n * sizeof(RuleName), bytes = head;
    RuleNames *rule_names;
    char *at;

    for (size_t i = 0; i < n; i++)
        bytes += rules[i].policy.len + rules[i].name.len + rules[i].reason.len;
    rule_names = malloc(bytes);
    if (!rule_names)
        return NULL;
    *rule_names = (RuleNames){.ref = REF_ONE, .digest = digest, .bytes = bytes, .n_rules = n};
    at = (char *)rule_names + head;
    for (size_t i = 0; i < n; i++)
        rule_names->rules[i] = (RuleName){
            .policy = put_text(&at, rules[i].policy),
            .name = put_text(&at, rules[i].name),
            .reason = put_text(&at, rules[i].reason),
            .is_unresolvable = rules[i].is_unresolvable,
            .is_permanent = rules[i].is_permanent,
        };
    return rule_names;
}

static RuleName name_of(const Filter *filter) {
    return (RuleName){
        .policy = filter->policy->name,
        .name = filter->name,
        .reason = filter->reason,
        .is_unresolvable = filter->is_unresolvable,
        .is_permanent = filter->is_permanent,
    };
}

RuleNames *rule_names_new(const Program *program) {
    RuleName *rules = calloc(program->n_filters + 1, sizeof(*rules));
    RuleNames *rule_names;

    if (!rules)
        return NULL;
    for (size_t i = 0; i < program->n_filters; i++)
        rules[i] = name_of(program->filters[i]);
    rule_names = rule_names_load(rules, program->n_filters, program->digest);
    free(rules);
    return rule_names;
}

RuleNames *rule_names_unref(RuleNames *rule_names) {
    if (rule_names && ref_drop(&rule_names->ref))
        free(rule_names);
    return NULL;
}
