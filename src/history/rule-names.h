#pragma once

/*
 * RuleNames: the names of a program's filters, without the program.
 *
 * Decisions are kept for longer than policies are in force. A program is large: keeping old ones
 * for their names would grow memory with every reload.
 *
 * Threads: reference and read from any.
 */

#include "base/digest.h"
#include "base/ref.h"
#include "policy/program.h"

typedef struct RuleName {
    Str policy, name, reason;
    bool is_unresolvable;
    bool is_permanent; /* nodes that it rejects never take the pod */
} RuleName;

typedef struct RuleNames {
    Ref ref;
    Digest digest; /* of the program */
    size_t bytes;
    size_t n_users; /* for its owner: number of users */
    size_t n_rules;
    RuleName rules[]; /* by number of the filter; their texts follow */
} RuleNames;

RuleNames *rule_names_new(const Program *program); /* NULL when out of memory */

/* Copies of @rules, of a program with @digest that is gone. NULL when out of memory. */
RuleNames *rule_names_load(const RuleName *rules, size_t n, Digest digest);

DEFINE_REF(RuleNames, rule_names)
RuleNames *rule_names_unref(RuleNames *rule_names); /* takes NULL, returns NULL */
