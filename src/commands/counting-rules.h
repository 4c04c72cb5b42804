#pragma once

/*
 * Filters of a policy that count pods, and whether their counts are exact (policy/exactness.h), for
 * users and for programs.
 */

#include "checkup/facts.h"
#include "policy/exactness.h"
#include "policy/program.h"
#include "json/write.h"

/* A policy of a program, or one that a running berth reported; the other pointer is NULL. */
typedef struct CountingPolicy {
    const Policy *policy;
    const PolicyFact *fact;
} CountingPolicy;

/* Prints @before, and the filters whose counts are @exactness: "policy/rule, policy/rule". Prints
 * nothing and returns false if there are none. */
bool counting_rules_print(
    CountingPolicy policy, BindWiring bind, Exactness exactness, const char *before, Buf *out);

/* Prints whether the counts are exact, with a line for each policy that has such filters: for all
 * policies of @program, or else of @berth (both may be NULL). */
void counting_rules_print_all(
    const Program *program, const BerthFact *berth, BindWiring bind, Buf *out);

/* Writes the members exact (true, false; null: it depends on the wiring) and text. Not for
 * EXACT_NOTHING. */
void counting_rules_write(Exactness exactness, JsonWriter *writer);
