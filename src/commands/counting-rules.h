#pragma once

/*
 * Filters of a policy that count pods, and whether their counts are exact (policy/exactness.h), for
 * users and for programs.
 */

#include "checkup/facts.h"
#include "policy/exactness.h"
#include "json/write.h"

/* The first filter of @policy after @after (NULL: of all) that is @exactness; NULL: none. */
const Filter *counting_rules_next(
    const Policy *policy, BindWiring bind, Exactness exactness, const Filter *after);

/* All of them: "policy/rule, policy/rule". */
void counting_rules_print(const Policy *policy, BindWiring bind, Exactness exactness, Buf *out);

/* The same of a policy that a running berth reported. False: none is @exactness, and nothing is
 * printed. */
bool counting_rules_print_fact(
    const PolicyFact *policy, BindWiring bind, Exactness exactness, Buf *out);

/* Members of an object: exact (true, false; null: it depends on the wiring) and text. Not for
 * EXACT_NOTHING. */
void counting_rules_write(Exactness exactness, JsonWriter *writer);
