/* nodeAffinity: reads and matches its terms. */

#include "model/node-affinity.h"

#include "base/vec.h"
#include "json/fields.h"

typedef struct Condition {
    Str key, op;
    VEC(Str) values;
    bool is_too_large;
} Condition;

/* --- reading ------------------------------------------------------------ */

/* Skips a value that is one too many, or for which there is no memory. */
static void leave_out(JsonReader *reader, bool has_room, bool *ret_too_large) {
    if (has_room)
        json_fail(reader, JSON_E_MEMORY, "a node affinity");
    *ret_too_large = true;
    json_skip(reader, NULL);
}

/* A new element of @vec, in @arena; NULL when there are too many: the value is left out. */
#define PUSH(vec, max, reader, arena, is_too_large)                                                \
    ((vec)->n < (max) && VEC_PUSH(vec, arena)                                                      \
            ? &(vec)->items[(vec)->n - 1]                                                          \
            : (leave_out(reader, (vec)->n < (max), (is_too_large)), NULL))

static void decode_value(JsonReader *reader, Arena *arena, void *target) {
    Condition *condition = target;
    Str *value = PUSH(&condition->values, TERM_VALUES_MAX, reader, arena, &condition->is_too_large);

    if (value)
        json_string(reader, arena, value);
}

static void decode_condition(JsonReader *reader, Arena *arena, Condition *ret) {
    static const JsonField fields[] = {
        {"key", JSON_FIELD_TEXT, offsetof(Condition, key)},
        {"operator", JSON_FIELD_TEXT, offsetof(Condition, op)},
        {"values", JSON_FIELD_ARRAY, 0, decode_value},
    };

    *ret = (Condition){0};
    JSON_READ_FIELDS(reader, arena, fields, ret);
}

/* False: it is invalid. */
static bool make_requirement(const Condition *condition, Requirement *ret) {
    *ret = (Requirement){
        .key = condition->key,
        .values = condition->values.items,
        .n_values = condition->values.n,
    };
    for (size_t op = 0; op < SELECTOR_OPS; op++) {
        if (!str_eq(condition->op, selector_op_words[op]))
            continue;
        ret->op = (SelectorOp)op;
        if (ret->op == SELECTOR_IN || ret->op == SELECTOR_NOT_IN)
            return ret->n_values > 0;
        if (ret->op == SELECTOR_EXISTS || ret->op == SELECTOR_ABSENT)
            return ret->n_values == 0;
        return ret->n_values == 1 && str_to_int64(ret->values[0], &ret->bound);
    }
    return false;
}

static void decode_labels(JsonReader *reader, Arena *arena, void *target) {
    NodeTerm *term = target;
    VEC(Requirement) requirements = {0};
    Condition condition;

    json_array(reader);
    while (json_element(reader)) {
        Requirement *requirement =
            PUSH(&requirements, TERM_CONDITIONS_MAX, reader, arena, &term->is_too_large);

        if (!requirement)
            continue;
        decode_condition(reader, arena, &condition);
        term->is_too_large |= condition.is_too_large;
        if (!make_requirement(&condition, requirement))
            term->holds_nowhere = true;
    }
    term->labels = (Selector){.items = requirements.items, .n = requirements.n};
}

static void decode_names(JsonReader *reader, Arena *arena, void *target) {
    NodeTerm *term = target;
    VEC(NameTest) names = {0};
    Condition condition;

    json_array(reader);
    while (json_element(reader)) {
        NameTest *test = PUSH(&names, TERM_CONDITIONS_MAX, reader, arena, &term->is_too_large);

        if (!test)
            continue;
        decode_condition(reader, arena, &condition);
        term->is_too_large |= condition.is_too_large;
        test->is_not = str_is(condition.op, "NotIn");
        if (condition.values.n == 1)
            test->value = condition.values.items[0];
        if (!str_is(condition.key, "metadata.name") || condition.values.n != 1 ||
            (!test->is_not && !str_is(condition.op, "In")))
            term->holds_nowhere = true;
    }
    term->names = names.items;
    term->n_names = names.n;
}

static void decode_term(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"matchExpressions", JSON_FIELD_CUSTOM, 0, decode_labels},
        {"matchFields", JSON_FIELD_CUSTOM, 0, decode_names},
    };
    NodeTerm *term = target;

    JSON_READ_FIELDS(reader, arena, fields, term);
    term->holds_nowhere |= term->labels.n == 0 && term->n_names == 0;
}

static void decode_weighted(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"weight", JSON_FIELD_INT, offsetof(NodeTerm, weight)},
        {"preference", JSON_FIELD_CUSTOM, 0, decode_term},
    };
    NodeTerm *term = target;

    JSON_READ_FIELDS(reader, arena, fields, term);
    term->holds_nowhere |= term->labels.n == 0 && term->n_names == 0;
    if (term->weight < 0 || term->weight > 100)
        json_fail(reader, JSON_E_RANGE, "the weight of a preferred node affinity is 1 to 100");
}

static void decode_list(JsonReader *reader, Arena *arena,
    void (*decode)(JsonReader *reader, Arena *arena, void *term), NodeTerms *ret) {
    VEC(NodeTerm) terms = {0};

    json_array(reader);
    while (json_element(reader)) {
        NodeTerm *term = PUSH(&terms, TERMS_MAX, reader, arena, &ret->is_too_large);

        if (!term)
            continue;
        decode(reader, arena, term);
        ret->is_too_large |= term->is_too_large;
    }
    ret->items = terms.items;
    ret->n = terms.n;
}

static void decode_terms(JsonReader *reader, Arena *arena, void *target) {
    decode_list(reader, arena, decode_term, target);
}

void terms_decode_required(JsonReader *reader, Arena *arena, NodeTerms *ret) {
    static const JsonField fields[] = {{"nodeSelectorTerms", JSON_FIELD_CUSTOM, 0, decode_terms}};

    *ret = (NodeTerms){.is_given = !json_null(reader)};
    if (ret->is_given)
        JSON_READ_FIELDS(reader, arena, fields, ret);
}

void terms_decode_preferred(JsonReader *reader, Arena *arena, NodeTerms *ret) {
    *ret = (NodeTerms){.is_given = !json_null(reader)};
    if (ret->is_given)
        decode_list(reader, arena, decode_weighted, ret);
}

/* --- matching ------------------------------------------------------------- */

static bool term_holds(const NodeTerm *term, Str name, const Labels *labels) {
    if (term->holds_nowhere || !selector_matches(&term->labels, labels))
        return false;
    for (size_t i = 0; i < term->n_names; i++)
        if (str_eq(term->names[i].value, name) == term->names[i].is_not)
            return false;
    return true;
}

bool terms_hold(const NodeTerms *terms, Str name, const Labels *labels) {
    if (!terms->is_given)
        return true;
    for (size_t i = 0; i < terms->n; i++)
        if (term_holds(&terms->items[i], name, labels))
            return true;
    return false;
}

int64_t terms_weigh(const NodeTerms *terms, Str name, const Labels *labels) {
    int64_t sum = 0;

    for (size_t i = 0; i < terms->n; i++)
        if (terms->items[i].weight > 0 && term_holds(&terms->items[i], name, labels))
            sum += terms->items[i].weight;
    return sum;
}

static bool term_names_nodes(const NodeTerm *term) {
    for (size_t i = 0; i < term->n_names; i++)
        if (!term->names[i].is_not)
            return true;
    return false;
}

bool terms_name_nodes(const NodeTerms *terms) {
    for (size_t i = 0; i < terms->n; i++)
        if (!term_names_nodes(&terms->items[i]))
            return false;
    return terms->n > 0;
}
