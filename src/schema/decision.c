/* The decision of a bind as a value. */

#include "schema/schema-internal.h"

#define POLICIES_ASSUMED 16

typedef struct DecisionValue {
    CelRecord head;
    const Str *policies;
    size_t n_policies;
    double score;
} DecisionValue;

#define DECISION(X)                                                                                \
    X(policies, STRINGS(POLICIES_ASSUMED, value->policies, value->n_policies),                     \
        "names of the policies that apply to the pod, without those in mode Observe")              \
    X(score, VALUE(cel_double_type, 0), cel_double(value->score),                                  \
        "the node's score, 0 to 100, computed again at the bind and for this node alone: a rule "  \
        "with `normalize` gives it 100")
SCHEMA_RECORD(schema_decision_record, "Decision",
    const DecisionValue *value = OBJECT_OF(record, DecisionValue, head), DECISION);

CelValue schema_decision(const Str *policies, size_t n, double score, Arena *arena) {
    const DecisionValue value = {.head = {.type = &schema_decision_record.type},
        .policies = policies,
        .n_policies = n,
        .score = score};

    return schema_keep(arena, &value, sizeof(value));
}
