/* nodeAffinity: compiles the terms of the spec, and matches them. */

#include "model/node-affinity.h"

/* Returns false if it is invalid. */
static bool make_requirement(const MatchExpression *condition, Requirement *ret) {
    *ret = (Requirement){
        .key = condition->key,
        .values = condition->values,
        .n_values = condition->n_values,
    };
    for (size_t op = 0; op < SELECTOR_OPS; op++) {
        if (!str_eq(condition->operator, selector_op_words[op]))
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

static bool make_name_test(const MatchExpression *condition, NameTest *ret) {
    bool is_one = condition->n_values == 1;

    *ret = (NameTest){
        .value = is_one ? condition->values[0] : STR_NULL,
        .is_not = str_is(condition->operator, "NotIn"),
    };
    return is_one && str_is(condition->key, "metadata.name") &&
           (ret->is_not || str_is(condition->operator, "In"));
}

static bool make_term(const NodeSelectorTerm *written, Arena *arena, NodeTerm *ret) {
    Requirement *requirements = ARENA_RAW(arena, Requirement, written->n_expressions);
    NameTest *names = ARENA_RAW(arena, NameTest, written->n_fields);

    *ret = (NodeTerm){
        .labels = {.items = requirements, .n = written->n_expressions},
        .names = names,
        .n_names = written->n_fields,
        .holds_nowhere = written->n_expressions + written->n_fields == 0,
        .weight = written->weight,
    };
    for (size_t i = 0; requirements && i < written->n_expressions; i++)
        ret->holds_nowhere |= !make_requirement(&written->expressions[i], &requirements[i]);
    for (size_t i = 0; names && i < written->n_fields; i++)
        ret->holds_nowhere |= !make_name_test(&written->fields[i], &names[i]);
    return requirements && names;
}

static bool is_cut(const NodeSelectorTerm *term) {
    bool is_any = term->is_cut;

    for (size_t i = 0; i < term->n_expressions; i++)
        is_any |= term->expressions[i].is_cut;
    for (size_t i = 0; i < term->n_fields; i++)
        is_any |= term->fields[i].is_cut;
    return is_any;
}

static void make_terms(
    JsonReader *reader, Arena *arena, const NodeSelectorTerm *written, size_t n, NodeTerms *ret) {
    bool is_ok = true;

    if (n == 0 || json_error(reader))
        return;
    ret->items = ARENA_RAW(arena, NodeTerm, n);
    for (size_t i = 0; ret->items && i < n; i++) {
        is_ok &= make_term(&written[i], arena, &ret->items[i]);
        ret->is_too_large |= is_cut(&written[i]);
    }
    if (ret->items && is_ok)
        ret->n = n;
    else
        json_fail(reader, JSON_E_MEMORY, "a node affinity");
}

NodeTerms terms_required(JsonReader *reader, Arena *arena, const PodAffinity *affinity) {
    NodeTerms terms = {
        .is_given = affinity->is_node_required,
        .is_too_large = affinity->is_node_required_cut,
    };

    make_terms(reader, arena, affinity->node_required, affinity->n_node_required, &terms);
    return terms;
}

void terms_decode_required(JsonReader *reader, Arena *arena, void *target) {
    PodAffinity affinity = {0};

    node_required_decode(reader, arena, &affinity);
    *(NodeTerms *)target = terms_required(reader, arena, &affinity);
}

static void decode_weighted(JsonReader *reader, Arena *arena, void *target) {
    const NodeSelectorTerm *term = target;

    node_preference_decode(reader, arena, target);
    if (term->weight < 0 || term->weight > 100)
        json_fail(reader, JSON_E_RANGE, "the weight of a preferred node affinity is 1 to 100");
}

void terms_decode_preferred(JsonReader *reader, Arena *arena, void *target) {
    const NodeSelectorTerm *written;
    NodeTerms *terms = target;
    size_t n;

    *terms = (NodeTerms){.is_given = !json_null(reader)};
    if (!terms->is_given)
        return;
    written = json_read_items(
        reader, arena, TERMS_MAX, sizeof(*written), decode_weighted, &n, &terms->is_too_large);
    make_terms(reader, arena, written, n, terms);
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
