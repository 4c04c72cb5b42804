/* Numbers terms, and finds the domains of their keys and the pods that they select. */

#include "scheduler/term-index.h"

#include <errno.h>
#include <stdlib.h>

#define KEY_MAX ((size_t)64 * 1024 * 1024)

typedef VEC(Requirement) Requirements;

/* Returns the number of texts copied: 0 without memory. */
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

/* SELECTOR_OPS: the operator is unknown, or its values are wrong. */
static size_t find_op(const MatchExpression *expression) {
    for (size_t op = SELECTOR_IN; op <= SELECTOR_ABSENT; op++)
        if (str_eq(expression->operator, selector_op_words[op]))
            return (op <= SELECTOR_NOT_IN) == (expression->n_values > 0) ? op : SELECTOR_OPS;
    return SELECTOR_OPS;
}

/* Returns false if it is invalid. */
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

static void put_text(Buf *out, Str text) {
    buf_printf(out, "%zu:", text.len);
    buf_append(out, text);
}

static void print_selector(const Selector *selector, Buf *out) {
    buf_printf(out, "%zu;", selector->n);
    for (size_t i = 0; i < selector->n; i++) {
        const Requirement *item = &selector->items[i];

        buf_printf(out, "%d %zu ", (int)item->op, item->n_values);
        put_text(out, item->key);
        for (size_t k = 0; k < item->n_values; k++)
            put_text(out, item->values[k]);
    }
}

/* Prints the same text for equal selectors only. */
static void print_term_selector(const TermSelector *selector, Buf *out) {
    buf_printf(out, "/%d%d%zu ", selector->selects_none, selector->by_namespace_labels,
        selector->n_namespaces);
    for (size_t i = 0; i < selector->n_namespaces; i++)
        put_text(out, selector->namespaces[i]);
    print_selector(&selector->labels, out);
    print_selector(&selector->namespace_labels, out);
    put_text(out, selector->owner_kind);
    put_text(out, selector->owner_name);
}

TermIndex *term_index_new(void) {
    _cleanup_(term_index_freep) TermIndex *index = calloc(1, sizeof(*index));

    if (!index)
        return NULL;
    index->arena = arena_new(TERM_INDEX_BUDGET);
    index->scratch = arena_new(TERM_INDEX_BUDGET);
    if (!index->arena || !index->scratch)
        return NULL;
    index->term_texts = index->keys = index->read_labels = index->kind_texts = index->owner_texts =
        INTERN_INIT_IN(index->arena);
    index->text = BUF_INIT(KEY_MAX);
    return VEC_PUSH(&index->kinds, index->arena) ? TAKE_PTR(index) : NULL;
}

TermIndex *term_index_free(TermIndex *index) {
    if (!index)
        return NULL;
    buf_done(&index->text);
    arena_free(index->scratch);
    arena_free(index->arena);
    free(index);
    return NULL;
}

int term_index_error(const TermIndex *index) {
    return index->has_failed || arena_has_failed(index->arena) ? -ENOMEM : 0;
}

uint32_t term_index_number_key(TermIndex *index, Str key) {
    return intern_add(&index->keys, key) - 1; /* the arena remembers a failure */
}

static void make_selector(
    const TermSource *source, size_t number, Arena *arena, TermSelector *ret) {
    term_selector_make(source->pod, &source->first[number], arena, ret);
    if (!source->by_owner)
        return;
    ret->owner_kind = arena_copy(arena, source->pod->owner_kind);
    ret->owner_name = arena_copy(arena, source->pod->owner_name);
}

static void print_owner(const Pod *pod, Buf *out) {
    put_text(out, pod->namespace);
    put_text(out, pod->owner_kind);
    put_text(out, pod->owner_name);
}

/* Terms by owner are looked up, the others are tried one by one. The arena remembers a failure. */
static void link_term(TermIndex *index, const TermSource *source, uint32_t number) {
    uint32_t owner;

    if (!source->by_owner) {
        (void)VEC_ADD(&index->tried, index->arena, number);
        return;
    }
    buf_reset(&index->text);
    print_owner(source->pod, &index->text);
    owner = intern_add(&index->owner_texts, buf_str(&index->text));
    if (owner > index->owners.n && !VEC_PUSH(&index->owners, index->arena))
        return;
    if (owner != INTERN_ABSENT)
        (void)VEC_ADD(&index->owners.items[owner - 1], index->arena, number);
}

static uint32_t add_term(TermIndex *index, const TermSource *source) {
    uint32_t number = intern_add(&index->term_texts, buf_str(&index->text)) - 1;
    TermSelector *selectors = ARENA_ARRAY(index->arena, TermSelector, source->n);
    Term term = {
        .key = term_index_number_key(index, source->key),
        .selectors = selectors,
        .n_selectors = source->n,
        .is_spread = source->is_spread,
    };

    for (size_t i = 0; selectors && i < source->n; i++)
        make_selector(source, i, index->arena, &selectors[i]);
    index->has_spread |= source->is_spread;
    if (VEC_ADD(&index->terms, index->arena, term))
        link_term(index, source, number);
    return term_index_error(index) < 0 ? NO_TERM : number;
}

uint32_t term_index_number(TermIndex *index, const TermSource *source) {
    uint32_t number;

    arena_reset(index->scratch);
    buf_reset(&index->text);
    buf_append_char(&index->text, source->is_spread ? 's' : 'a');
    put_text(&index->text, source->key);
    for (size_t i = 0; i < source->n; i++) {
        TermSelector selector;

        make_selector(source, i, index->scratch, &selector);
        print_term_selector(&selector, &index->text);
    }
    index->has_failed |= arena_has_failed(index->scratch);
    number = buf_error(&index->text) ? INTERN_ABSENT
                                     : intern_find(&index->term_texts, buf_str(&index->text));
    if (number != INTERN_ABSENT)
        return number - 1;
    if (buf_error(&index->text) ||
        (source->by_owner ? index->terms.n - index->tried.n >= TERM_INDEX_OWNERS_MAX
                          : index->tried.n >= TERM_INDEX_TERMS_MAX)) {
        index->has_lost = true;
        return NO_TERM;
    }
    return add_term(index, source);
}

typedef VEC(TermUse) TermUses;

/* These return false if there are too many terms, or no memory. */
static bool add_use(
    TermIndex *index, const TermSource *source, TermRole role, int64_t weight, TermUses *uses) {
    TermUse use = {
        .term = term_index_number(index, source), .role = role, .weight = (int32_t)weight};

    if (use.term == NO_TERM)
        return false;
    if (role == TERM_AFFINITY)
        index->terms.items[use.term].is_sought = true;
    return VEC_ADD(uses, index->arena, use);
}

static bool add_required(
    TermIndex *index, const Pod *pod, const PodAffinityTerms *list, bool is_anti, TermUses *uses) {
    TermSource all = {.pod = pod, .first = list->required, .n = list->n_required};

    for (size_t i = 0; i < list->n_required; i++) {
        const PodAffinityTerm *term = &list->required[i];
        TermSource one = {.pod = pod, .first = term, .n = 1, .key = term->topology_key};

        all.key = term->topology_key;
        if (is_anti ? !add_use(index, &one, TERM_ANTI_AFFINITY, 0, uses)
                    : !add_use(index, &all, TERM_AFFINITY, 0, uses) ||
                          !add_use(index, &one, TERM_ATTRACTS, 1, uses))
            return false;
    }
    return true;
}

static bool add_preferred(
    TermIndex *index, const Pod *pod, const PodAffinityTerms *list, int sign, TermUses *uses) {
    for (size_t i = 0; i < list->n_preferred; i++) {
        const PodAffinityTerm *term = &list->preferred[i];
        TermSource one = {.pod = pod, .first = term, .n = 1, .key = term->topology_key};
        int64_t weight = term->weight < 0 ? 0 : term->weight > 100 ? 100 : term->weight;

        if (!add_use(index, &one, TERM_PREFERRED, sign * weight, uses))
            return false;
    }
    return true;
}

void term_index_add(TermIndex *index, const Pod *pod, PodTerms *ret) {
    const PodAffinity *affinity = pod->details ? pod->details->affinity : NULL;
    TermUses uses = {0};

    *ret = (PodTerms){0};
    if (affinity && add_required(index, pod, &affinity->pods, /* is_anti= */ false, &uses) &&
        add_required(index, pod, &affinity->anti, /* is_anti= */ true, &uses) &&
        add_preferred(index, pod, &affinity->pods, 1, &uses) &&
        add_preferred(index, pod, &affinity->anti, -1, &uses))
        *ret = (PodTerms){.uses = uses.items, .n_uses = (uint32_t)uses.n};
}

/* Numbers the values of @key on nodes. For the key ROWS each node is a domain. */
static void find_domains(TermIndex *index, const NodeTable *table, Str key, TermDomains *ret) {
    uint32_t *by_row = ARENA_ARRAY(index->arena, uint32_t, table->n_rows + 1);
    bool is_rows = str_eq(key, ROWS);
    Map numbers = MAP_INIT_IN(index->arena);

    ret->by_row = by_row;
    ret->n = is_rows ? table->n_rows : 0;
    for (uint32_t row = 0; by_row && row < table->n_rows; row++) {
        const Node *node = is_rows ? NULL : table_node(table, row);
        const Str *value = node ? labels_find(&node->labels, key) : NULL;

        by_row[row] = is_rows ? row : value ? map_find(&numbers, *value) : NO_DOMAIN;
        if (!value || by_row[row] != MAP_NONE)
            continue;
        by_row[row] = (uint32_t)ret->n++;
        if (map_add(&numbers, *value, by_row[row]) < 0)
            return;
    }
}

static void note_labels(TermIndex *index, const Selector *selector) {
    for (size_t i = 0; i < selector->n; i++)
        (void)!intern_add(&index->read_labels, selector->items[i].key);
}

void term_index_settle(TermIndex *index, const NodeTable *table, const RelatedObjects *related) {
    index->namespaces.kinds[RELATED_NAMESPACES] = related->kinds[RELATED_NAMESPACES];
    index->domains = ARENA_ARRAY(index->arena, TermDomains, index->keys.strings.n + 1);
    for (size_t i = 0; index->domains && i < index->keys.strings.n; i++)
        find_domains(index, table, index->keys.strings.items[i], &index->domains[i]);
    for (size_t i = 0; term_index_error(index) == 0 && i < index->terms.n; i++)
        for (size_t k = 0; k < index->terms.items[i].n_selectors; k++)
            note_labels(index, &index->terms.items[i].selectors[k].labels);
}

/* All selectors must select: otherwise NOT if one does not, else UNSURE. */
static TermSelects term_selects(const Term *term, const Pod *pod, const Namespace *namespace) {
    TermSelects all = TERM_SELECTS;

    for (size_t i = 0; i < term->n_selectors; i++) {
        TermSelects one = term_selector_selects(&term->selectors[i], pod, namespace);

        if (one == TERM_SELECTS_NOT)
            return one;
        all = one == TERM_SELECTS_UNSURE ? one : all;
    }
    return all;
}

typedef VEC(uint32_t) TermNumbers;

static void try_term(TermIndex *index, const Pod *pod, const Namespace *namespace, uint32_t number,
    TermNumbers *selecting, PodKind *kind) {
    const Term *term = &index->terms.items[number];
    TermSelects selects = term->is_spread && pod->is_terminating
                              ? TERM_SELECTS_NOT
                              : term_selects(term, pod, namespace);

    kind->is_unsure |= selects == TERM_SELECTS_UNSURE;
    if (selects == TERM_SELECTS)
        (void)VEC_ADD(selecting, index->arena, number); /* the arena remembers */
}

static const OwnerTerms *find_owner(TermIndex *index, const Pod *pod) {
    uint32_t number;

    buf_reset(&index->text);
    print_owner(pod, &index->text);
    number = intern_find(&index->owner_texts, buf_str(&index->text));
    return number == INTERN_ABSENT ? NULL : &index->owners.items[number - 1];
}

static void make_kind(TermIndex *index, const Pod *pod, PodKind *ret) {
    Pod only = {.namespace = pod->namespace};
    Related related = {0};
    Namespace unlabelled = {.name = pod->namespace};
    const Namespace *found = NULL;
    const OwnerTerms *owner = find_owner(index, pod);
    TermNumbers selecting = {0};

    if (related_objects_find(&index->namespaces, &only, index->arena, &related) < 0)
        index->has_failed = true;
    if (related.knows_namespaces)
        found = related.namespace ? related.namespace : &unlabelled;
    for (size_t i = 0; i < index->tried.n; i++)
        try_term(index, pod, found, index->tried.items[i], &selecting, ret);
    for (size_t i = 0; owner && i < owner->n; i++)
        try_term(index, pod, found, owner->items[i], &selecting, ret);
    ret->terms = selecting.items;
    ret->n_terms = selecting.n;
}

static void print_kind(TermIndex *index, const Pod *pod) {
    buf_reset(&index->text);
    put_text(&index->text, pod->namespace);
    if (index->has_spread && pod->is_terminating)
        buf_append_char(&index->text, 't');
    if (index->owners.n > 0)
        print_owner(pod, &index->text);
    for (size_t i = 0; i < pod->labels.n; i++)
        if (intern_find(&index->read_labels, pod->labels.items[i].key) != INTERN_ABSENT) {
            put_text(&index->text, pod->labels.items[i].key);
            put_text(&index->text, pod->labels.items[i].value);
        }
}

void term_index_classify(TermIndex *index, const Pod *pod, PodTerms *terms) {
    PodKind *kind;

    terms->kind = 0;
    if (index->terms.n == 0 || term_index_error(index) < 0)
        return;
    print_kind(index, pod);
    terms->kind = intern_find(&index->kind_texts, buf_str(&index->text));
    if (terms->kind != INTERN_ABSENT)
        return;
    if ((uint64_t)index->tried.n * index->kinds.n > TERM_INDEX_MATCHES_MAX) {
        index->has_lost = true;
        return;
    }
    kind = VEC_PUSH(&index->kinds, index->arena);
    index->has_failed |= buf_error(&index->text) != 0;
    if (index->has_failed || !kind)
        return;
    terms->kind = intern_add(&index->kind_texts, buf_str(&index->text));
    make_kind(index, pod, kind);
}

static bool reads_namespaces(const Term *term) {
    for (size_t i = 0; i < term->n_selectors; i++)
        if (term->selectors[i].namespace_labels.n > 0)
            return true;
    return false;
}

bool term_index_is_unsure(const TermIndex *index, const PodTerms *terms) {
    if (term_index_kind(index, terms)->is_unsure)
        return true;
    for (size_t i = 0; !index->namespaces.kinds[RELATED_NAMESPACES] && i < terms->n_uses; i++)
        if (reads_namespaces(&index->terms.items[terms->uses[i].term]))
            return true;
    return false;
}

bool term_index_is_sought(const TermIndex *index, const PodTerms *terms) {
    const PodKind *kind = term_index_kind(index, terms);

    for (size_t i = 0; i < kind->n_terms; i++)
        if (index->terms.items[kind->terms[i]].is_sought)
            return true;
    return false;
}

bool pod_kind_has_term(const PodKind *kind, uint32_t term) {
    for (size_t i = 0; i < kind->n_terms; i++)
        if (kind->terms[i] == term)
            return true;
    return false;
}
