/* nodeAffinity: reads and matches its terms. */

#include "model/node-affinity.h"

/* An expression on labels, or a field. */
typedef struct Condition {
    Str key, op;
    const Str *values;
    size_t n_values;
    bool is_too_large;
} Condition;

static void decode_condition(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"key", JSON_FIELD_TEXT, offsetof(Condition, key)},
        {"operator", JSON_FIELD_TEXT, offsetof(Condition, op)},
        JSON_LIST_CUT(
            "values", Condition, values, n_values, is_too_large, TERM_VALUES_MAX, json_read_text),
    };

    JSON_READ_FIELDS(reader, arena, fields, target);
}

/* False: it is invalid. */
static bool make_requirement(const Condition *condition, Requirement *ret) {
    *ret = (Requirement){
        .key = condition->key,
        .values = condition->values,
        .n_values = condition->n_values,
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

static bool make_name_test(const Condition *condition, NameTest *ret) {
    bool is_one = condition->n_values == 1;

    *ret = (NameTest){
        .value = is_one ? condition->values[0] : STR_NULL,
        .is_not = str_is(condition->op, "NotIn"),
    };
    return is_one && str_is(condition->key, "metadata.name") &&
           (ret->is_not || str_is(condition->op, "In"));
}

/* The conditions of a term. */
static Condition *decode_conditions(
    JsonReader *reader, Arena *arena, NodeTerm *term, size_t *ret_n) {
    Condition *conditions = json_read_items(reader, arena, TERM_CONDITIONS_MAX, sizeof(*conditions),
        decode_condition, ret_n, &term->is_too_large);

    for (size_t i = 0; i < *ret_n; i++)
        term->is_too_large |= conditions[i].is_too_large;
    return conditions;
}

static void decode_labels(JsonReader *reader, Arena *arena, void *target) {
    NodeTerm *term = target;
    size_t n;
    const Condition *conditions = decode_conditions(reader, arena, term, &n);
    Requirement *requirements = ARENA_RAW(arena, Requirement, n);

    for (size_t i = 0; requirements && i < n; i++)
        term->holds_nowhere |= !make_requirement(&conditions[i], &requirements[i]);
    if (!requirements)
        json_fail(reader, JSON_E_MEMORY, "a node affinity");
    else
        term->labels = (Selector){.items = requirements, .n = n};
}

static void decode_names(JsonReader *reader, Arena *arena, void *target) {
    NodeTerm *term = target;
    const Condition *conditions = decode_conditions(reader, arena, term, &term->n_names);
    NameTest *names = ARENA_RAW(arena, NameTest, term->n_names);

    for (size_t i = 0; names && i < term->n_names; i++)
        term->holds_nowhere |= !make_name_test(&conditions[i], &names[i]);
    if (!names)
        json_fail(reader, JSON_E_MEMORY, "a node affinity");
    term->names = names;
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

static void decode_list(JsonReader *reader, Arena *arena, JsonRead *decode, NodeTerms *ret) {
    ret->items = json_read_items(
        reader, arena, TERMS_MAX, sizeof(*ret->items), decode, &ret->n, &ret->is_too_large);
    for (size_t i = 0; i < ret->n; i++)
        ret->is_too_large |= ret->items[i].is_too_large;
}

static void decode_terms(JsonReader *reader, Arena *arena, void *target) {
    decode_list(reader, arena, decode_term, target);
}

void terms_decode_required(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {{"nodeSelectorTerms", JSON_FIELD_CUSTOM, 0, decode_terms}};
    NodeTerms *terms = target;

    *terms = (NodeTerms){.is_given = !json_null(reader)};
    if (terms->is_given)
        JSON_READ_FIELDS(reader, arena, fields, terms);
}

void terms_decode_preferred(JsonReader *reader, Arena *arena, void *target) {
    NodeTerms *terms = target;

    *terms = (NodeTerms){.is_given = !json_null(reader)};
    if (terms->is_given)
        decode_list(reader, arena, decode_weighted, terms);
}

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
