/* Makes selectors from the terms of a pod, and matches them. */

#include "scheduler/term-selector.h"

#include "base/vec.h"

typedef VEC(Requirement) Requirements;

/* Empty when there is no room. */
static size_t copy_texts(const Str *from, size_t n, Arena *arena, const Str **ret) {
    Str *to = ARENA_ARRAY(arena, Str, n + 1);

    for (size_t i = 0; to && i < n; i++)
        to[i] = arena_copy(arena, from[i]);
    *ret = to;
    return to ? n : 0;
}

static void add_requirement(
    Str key, SelectorOp op, const Str *values, size_t n, Arena *arena, Requirements *list) {
    Requirement one = {.key = arena_copy(arena, key), .op = op};

    one.n_values = copy_texts(values, n, arena, &one.values);
    (void)VEC_ADD(list, arena, one); /* the arena remembers */
}

/* SELECTOR_OPS: there is no such, or its values are wrong. */
static size_t find_op(const MatchExpression *expression) {
    for (size_t op = SELECTOR_IN; op <= SELECTOR_ABSENT; op++)
        if (str_eq(expression->operator, selector_op_words[op]))
            return (op <= SELECTOR_NOT_IN) == (expression->n_values > 0) ? op : SELECTOR_OPS;
    return SELECTOR_OPS;
}

/* False: it is invalid. */
static bool add_selector(const LabelSelector *from, Arena *arena, Requirements *list) {
    for (size_t i = 0; i < from->labels.n; i++)
        add_requirement(
            from->labels.items[i].key, SELECTOR_IN, &from->labels.items[i].value, 1, arena, list);
    for (size_t i = 0; i < from->n_expressions; i++) {
        const MatchExpression *expression = &from->expressions[i];
        size_t op = find_op(expression);

        if (op == SELECTOR_OPS)
            return false;
        add_requirement(
            expression->key, (SelectorOp)op, expression->values, expression->n_values, arena, list);
    }
    return true;
}

/* Keys that the pod lacks are ignored. */
static void add_own_keys(const Pod *pod, const Str *keys, size_t n_keys, SelectorOp op,
    Arena *arena, Requirements *list) {
    for (size_t i = 0; i < n_keys; i++) {
        const Str *value = labels_find(&pod->labels, keys[i]);

        if (value)
            add_requirement(keys[i], op, value, 1, arena, list);
    }
}

void term_selector_make(
    const Pod *pod, const PodAffinityTerm *term, Arena *arena, TermSelector *ret) {
    bool by_labels = term->namespace_selector.is_given;
    bool is_own = term->n_namespaces == 0 && !by_labels;
    Requirements labels = {0}, of_namespace = {0};
    bool is_valid = add_selector(&term->selector, arena, &labels);
    bool is_namespace_valid =
        !by_labels || add_selector(&term->namespace_selector, arena, &of_namespace);

    add_own_keys(pod, term->match_keys, term->n_match_keys, SELECTOR_IN, arena, &labels);
    add_own_keys(pod, term->mismatch_keys, term->n_mismatch_keys, SELECTOR_NOT_IN, arena, &labels);
    *ret = (TermSelector){
        .selects_none = !term->selector.is_given || !is_valid || !is_namespace_valid,
        .labels = {.items = labels.items, .n = is_valid ? labels.n : 0},
        .by_namespace_labels = by_labels,
        .namespace_labels = {.items = of_namespace.items,
            .n = is_namespace_valid ? of_namespace.n : 0},
    };
    ret->n_namespaces =
        is_own ? copy_texts(&pod->namespace, 1, arena, &ret->namespaces)
               : copy_texts(term->namespaces, term->n_namespaces, arena, &ret->namespaces);
}

static TermSelects selects_namespace(
    const TermSelector *selector, Str name, const Namespace *namespace) {
    if (str_is_one_of(name, selector->namespaces, selector->n_namespaces))
        return TERM_SELECTS;
    if (!selector->by_namespace_labels)
        return TERM_SELECTS_NOT;
    if (selector->namespace_labels.n > 0 && !namespace)
        return TERM_SELECTS_UNSURE;
    return selector->namespace_labels.n == 0 ||
                   selector_matches(&selector->namespace_labels, &namespace->labels)
               ? TERM_SELECTS
               : TERM_SELECTS_NOT;
}

TermSelects term_selector_selects(
    const TermSelector *selector, const Pod *pod, const Namespace *namespace) {
    if (selector->selects_none || !selector_matches(&selector->labels, &pod->labels))
        return TERM_SELECTS_NOT;
    if (!str_is_empty(selector->owner_name) && !(str_eq(selector->owner_name, pod->owner_name) &&
                                                   str_eq(selector->owner_kind, pod->owner_kind)))
        return TERM_SELECTS_NOT;
    return selects_namespace(selector, pod->namespace, namespace);
}

void term_text_put(Buf *out, Str text) {
    buf_printf(out, "%zu:", text.len);
    buf_append(out, text);
}

static void print_selector(const Selector *selector, Buf *out) {
    buf_printf(out, "%zu;", selector->n);
    for (size_t i = 0; i < selector->n; i++) {
        const Requirement *item = &selector->items[i];

        buf_printf(out, "%d %zu ", (int)item->op, item->n_values);
        term_text_put(out, item->key);
        for (size_t k = 0; k < item->n_values; k++)
            term_text_put(out, item->values[k]);
    }
}

void term_selector_print(const TermSelector *selector, Buf *out) {
    buf_printf(out, "/%d%d%zu ", selector->selects_none, selector->by_namespace_labels,
        selector->n_namespaces);
    for (size_t i = 0; i < selector->n_namespaces; i++)
        term_text_put(out, selector->namespaces[i]);
    print_selector(&selector->labels, out);
    print_selector(&selector->namespace_labels, out);
    term_text_put(out, selector->owner_kind);
    term_text_put(out, selector->owner_name);
}
