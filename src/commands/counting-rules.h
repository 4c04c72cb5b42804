#pragma once

/*
 * CountingRules: for the filters of a policy that count pods, whether their counts are exact
 * (policy/exactness.h), for users and for programs.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "policy/exactness.h"
#include "json/write.h"

/* The wiring: what exactness_of() wants besides the filter. */
typedef struct CountingRules {
    uint32_t narrow_to;
    BindWiring bind;
} CountingRules;

/* The first filter of @policy after @after (NULL: of all) that is @exactness; NULL: none. */
const Filter *counting_rules_next(
    const CountingRules *rules, const Policy *policy, Exactness exactness, const Filter *after);

/* All of them: "policy/rule, policy/rule". */
void counting_rules_print(
    const CountingRules *rules, const Policy *policy, Exactness exactness, Buf *out);

/* Members of an object: exact (true, false; null: it depends on the wiring) and text. @filter
 * counts. */
void counting_rules_write(const CountingRules *rules, const Filter *filter, JsonWriter *writer);
