/* Makes selectors from the terms of a pod, and matches them. */

#include "scheduler/term-selector.h"

#include <errno.h>

/* --- making --------------------------------------------------------------- */

/* NULL: no room. */
static const Str *copy_texts(const Str *from, size_t n, Arena *arena) {
    Str *to = ARENA_ARRAY(arena, Str, n + 1);

    for (size_t i = 0; to && i < n; i++) {
        to[i] = arena_copy(arena, from[i]);
        if (!to[i].ptr)
            return NULL;
    }
    return to;
}

static int make_requirement(
    Str key, SelectorOp op, const Str *values, size_t n, Arena *arena, Requirement *ret) {
    *ret = (Requirement){
        .key = arena_copy(arena, key),
        .op = op,
        .values = copy_texts(values, n, arena),
        .n_values = n,
    };
    return ret->key.ptr && ret->values ? 0 : -ENOMEM;
}

/* SELECTOR_OPS: there is no such, or its values are wrong. */
static size_t find_op(const MatchExpression *expression) {
    for (size_t op = SELECTOR_IN; op <= SELECTOR_ABSENT; op++)
        if (str_eq(expression->operator, selector_op_words[op]))
            return (op <= SELECTOR_NOT_IN) == (expression->n_values > 0) ? op : SELECTOR_OPS;
    return SELECTOR_OPS;
}

/* 0; 1: it is invalid; or -ENOMEM. @n_more: room for others behind. */
static int make_selector(
    const LabelSelector *from, size_t n_more, Arena *arena, Requirement **ret, size_t *ret_n) {
    Requirement *items =
        ARENA_ARRAY(arena, Requirement, from->labels.n + from->n_expressions + n_more + 1);
    size_t n = 0;
    int r = items ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < from->labels.n; i++)
        r = make_requirement(from->labels.items[i].key, SELECTOR_IN, &from->labels.items[i].value,
            1, arena, &items[n++]);
    for (size_t i = 0; r == 0 && i < from->n_expressions; i++) {
        const MatchExpression *expression = &from->expressions[i];
        size_t op = find_op(expression);

        r = op == SELECTOR_OPS ? 1
                               : make_requirement(expression->key, (SelectorOp)op,
                                     expression->values, expression->n_values, arena, &items[n++]);
    }
    *ret = items;
    *ret_n = n;
    return r;
}

/* Keys that the pod lacks are ignored. */
static int add_own_keys(const Pod *pod, const Str *keys, size_t n_keys, SelectorOp op, Arena *arena,
    Requirement *items, size_t *n) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < n_keys; i++) {
        const Str *value = labels_find(&pod->labels, keys[i]);

        if (value)
            r = make_requirement(keys[i], op, value, 1, arena, &items[(*n)++]);
    }
    return r;
}

static int make_labels(
    const Pod *pod, const PodAffinityTerm *term, Arena *arena, TermSelector *ret) {
    Requirement *items;
    size_t n;
    int r = make_selector(
        &term->selector, term->n_match_keys + term->n_mismatch_keys, arena, &items, &n);

    ret->selects_none = !term->selector.is_given || r == 1;
    if (r == 0)
        r = add_own_keys(pod, term->match_keys, term->n_match_keys, SELECTOR_IN, arena, items, &n);
    if (r == 0)
        r = add_own_keys(
            pod, term->mismatch_keys, term->n_mismatch_keys, SELECTOR_NOT_IN, arena, items, &n);
    ret->labels = (Selector){.items = items, .n = r == 0 ? n : 0};
    return r < 0 ? r : 0;
}

int term_selector_make(
    const Pod *pod, const PodAffinityTerm *term, Arena *arena, TermSelector *ret) {
    bool is_own = term->n_namespaces == 0 && !term->namespace_selector.is_given;
    Requirement *items = NULL;
    size_t n = 0;
    int r;

    *ret = (TermSelector){.by_namespace_labels = term->namespace_selector.is_given};
    r = make_labels(pod, term, arena, ret);
    if (r == 0 && ret->by_namespace_labels)
        r = make_selector(&term->namespace_selector, 0, arena, &items, &n);
    ret->selects_none |= r == 1;
    ret->namespace_labels = (Selector){.items = items, .n = r == 0 ? n : 0};
    ret->namespaces = is_own ? copy_texts(&pod->namespace, 1, arena)
                             : copy_texts(term->namespaces, term->n_namespaces, arena);
    ret->n_namespaces = is_own ? 1 : term->n_namespaces;
    return r < 0 || !ret->namespaces ? -ENOMEM : 0;
}

/* --- matching ------------------------------------------------------------- */

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

/* --- texts ---------------------------------------------------------------- */

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
