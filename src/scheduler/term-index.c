/* Numbers terms, and finds the domains of their keys and the pods that they select. */

#include "scheduler/term-index.h"

#include <errno.h>
#include <stdlib.h>

#include "scheduler/term-index-internal.h"

#define KEY_MAX ((size_t)64 * 1024 * 1024)

TermIndex *term_index_new(void) {
    _cleanup_(term_index_freep) TermIndex *index = calloc(1, sizeof(*index));

    if (!index)
        return NULL;
    index->arena = arena_new(TERM_INDEX_BUDGET);
    index->scratch = arena_new(TERM_INDEX_BUDGET);
    if (!index->arena || !index->scratch)
        return NULL;
    index->numbers = index->key_numbers = index->read_labels = index->kind_numbers =
        index->owner_numbers = MAP_INIT_IN(index->arena);
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

/* --- terms ---------------------------------------------------------------- */

int term_index_number_key(TermIndex *index, Str key) {
    uint32_t number = map_find(&index->key_numbers, key);
    Str kept, *at;

    if (number != MAP_NONE)
        return (int)number;
    kept = arena_copy(index->arena, key);
    at = VEC_PUSH(&index->keys, index->arena);
    number = (uint32_t)index->keys.n - 1;
    if (!kept.ptr || !at || map_add(&index->key_numbers, kept, number) < 0)
        return -ENOMEM;
    *at = kept;
    return (int)number;
}

static int make_selector(const TermSource *source, size_t number, Arena *arena, TermSelector *ret) {
    int r = term_selector_make(source->pod, &source->first[number], arena, ret);

    if (r < 0 || !source->by_owner)
        return r;
    ret->owner_kind = arena_copy(arena, source->pod->owner_kind);
    ret->owner_name = arena_copy(arena, source->pod->owner_name);
    return ret->owner_kind.ptr && ret->owner_name.ptr ? 0 : -ENOMEM;
}

static void print_owner(const Pod *pod, Buf *out) {
    term_text_put(out, pod->namespace);
    term_text_put(out, pod->owner_kind);
    term_text_put(out, pod->owner_name);
}

/* Terms by owner are looked up, the others are tried one by one. */
static int link_term(TermIndex *index, const TermSource *source, uint32_t number) {
    uint32_t *at = source->by_owner ? NULL : VEC_PUSH(&index->tried, index->arena);
    OwnerTerms *owner;
    uint32_t known;
    Str text;

    if (at)
        *at = number;
    if (!source->by_owner)
        return at ? 0 : -ENOMEM;
    buf_reset(&index->text);
    print_owner(source->pod, &index->text);
    known = map_find(&index->owner_numbers, buf_str(&index->text));
    if (known == MAP_NONE) {
        text = arena_copy(index->arena, buf_str(&index->text));
        known = (uint32_t)index->owners.n;
        if (!VEC_PUSH(&index->owners, index->arena) || !text.ptr ||
            map_add(&index->owner_numbers, text, known) < 0)
            return -ENOMEM;
    }
    owner = &index->owners.items[known];
    at = VEC_PUSH(&owner->terms, index->arena);
    if (!at)
        return -ENOMEM;
    *at = number;
    return 0;
}

static int add_term(TermIndex *index, const TermSource *source, uint32_t *ret) {
    Str text = arena_copy(index->arena, buf_str(&index->text));
    TermSelector *selectors = ARENA_ARRAY(index->arena, TermSelector, source->n);
    Term *term = VEC_PUSH(&index->terms, index->arena);
    int key = term_index_number_key(index, source->key);

    if (!text.ptr || !selectors || !term || key < 0)
        return -ENOMEM;
    for (size_t i = 0; i < source->n; i++)
        if (make_selector(source, i, index->arena, &selectors[i]) < 0)
            return -ENOMEM;
    *term = (Term){
        .key = (uint32_t)key,
        .selectors = selectors,
        .n_selectors = source->n,
        .is_spread = source->is_spread,
    };
    index->has_spread |= source->is_spread;
    *ret = (uint32_t)index->terms.n - 1;
    if (map_add(&index->numbers, text, *ret) < 0)
        return -ENOMEM;
    return link_term(index, source, *ret);
}

int term_index_number(TermIndex *index, const TermSource *source, uint32_t *ret) {
    arena_reset(index->scratch);
    buf_reset(&index->text);
    buf_append_char(&index->text, source->is_spread ? 's' : 'a');
    term_text_put(&index->text, source->key);
    for (size_t i = 0; i < source->n; i++) {
        TermSelector selector;

        if (make_selector(source, i, index->scratch, &selector) < 0)
            return -ENOMEM;
        term_selector_print(&selector, &index->text);
    }
    if (buf_error(&index->text))
        return 1;
    *ret = map_find(&index->numbers, buf_str(&index->text));
    if (*ret != MAP_NONE)
        return 0;
    if (source->by_owner ? index->terms.n - index->tried.n >= TERM_INDEX_OWNERS_MAX
                         : index->tried.n >= TERM_INDEX_TERMS_MAX)
        return 1;
    return add_term(index, source, ret);
}

typedef VEC(TermUse) TermUses;

static int add_use(
    TermIndex *index, const TermSource *source, TermRole role, int64_t weight, TermUses *uses) {
    TermUse *use = VEC_PUSH(uses, index->arena);
    int r;

    if (!use)
        return -ENOMEM;
    *use = (TermUse){.role = role, .weight = (int32_t)weight};
    r = term_index_number(index, source, &use->term);
    if (r == 0 && role == TERM_AFFINITY)
        index->terms.items[use->term].is_sought = true;
    return r;
}

static int add_required(
    TermIndex *index, const Pod *pod, const PodAffinity *affinity, TermUses *uses) {
    const PodAffinityTerms *lists[] = {&affinity->pods, &affinity->anti};
    int r = 0;

    for (size_t k = 0; k < ELEMENTS_OF(lists); k++)
        for (size_t i = 0; r == 0 && i < lists[k]->n_required; i++) {
            const PodAffinityTerm *term = &lists[k]->required[i];
            TermSource one = {.pod = pod, .first = term, .n = 1, .key = term->topology_key};
            TermSource all = one;

            all.first = lists[k]->required;
            all.n = lists[k]->n_required;
            if (lists[k] == &affinity->anti) {
                r = add_use(index, &one, TERM_ANTI_AFFINITY, 0, uses);
                continue;
            }
            r = add_use(index, &all, TERM_AFFINITY, 0, uses);
            if (r == 0)
                r = add_use(index, &one, TERM_ATTRACTS, 1, uses);
        }
    return r;
}

static int add_preferred(
    TermIndex *index, const Pod *pod, const PodAffinityTerms *list, int sign, TermUses *uses) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < list->n_preferred; i++) {
        const PodAffinityTerm *term = &list->preferred[i];
        TermSource one = {.pod = pod, .first = term, .n = 1, .key = term->topology_key};
        int64_t weight = term->weight < 0 ? 0 : term->weight > 100 ? 100 : term->weight;

        r = add_use(index, &one, TERM_PREFERRED, sign * weight, uses);
    }
    return r;
}

int term_index_add(TermIndex *index, const Pod *pod, PodTerms *ret) {
    const PodAffinity *affinity = pod->details ? pod->details->affinity : NULL;
    TermUses uses = {0};
    int r;

    *ret = (PodTerms){0};
    if (!affinity)
        return 0;
    r = add_required(index, pod, affinity, &uses);
    if (r == 0)
        r = add_preferred(index, pod, &affinity->pods, 1, &uses);
    if (r == 0)
        r = add_preferred(index, pod, &affinity->anti, -1, &uses);
    if (r == 0)
        *ret = (PodTerms){.uses = uses.items, .n_uses = (uint32_t)uses.n};
    return r;
}

/* --- domains -------------------------------------------------------------- */

/* The key ROWS: each node is a domain. */
static int find_domains(TermIndex *index, const NodeTable *table, Str key, TermDomains *ret) {
    uint32_t *by_row = ARENA_ARRAY(index->arena, uint32_t, table->n_rows + 1);
    Map numbers = MAP_INIT_IN(index->arena);

    if (!by_row)
        return -ENOMEM;
    ret->by_row = by_row;
    if (str_eq(key, ROWS)) {
        for (uint32_t row = 0; row < table->n_rows; row++)
            by_row[row] = row;
        ret->n = table->n_rows;
        return 0;
    }
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const Node *node = table_node(table, row);
        const Str *value = node ? labels_find(&node->labels, key) : NULL;
        uint32_t number = value ? map_find(&numbers, *value) : NO_DOMAIN;

        if (value && number == MAP_NONE &&
            map_add(&numbers, *value, number = (uint32_t)ret->n++) < 0)
            return -ENOMEM;
        by_row[row] = number;
    }
    return 0;
}

static int note_labels(TermIndex *index, const Selector *selector) {
    for (size_t i = 0; i < selector->n; i++)
        if (map_find(&index->read_labels, selector->items[i].key) == MAP_NONE &&
            map_add(&index->read_labels, selector->items[i].key, 0) < 0)
            return -ENOMEM;
    return 0;
}

int term_index_settle(TermIndex *index, const NodeTable *table, const RelatedObjects *related) {
    int r = 0;

    index->namespaces.kinds[RELATED_NAMESPACES] = related->kinds[RELATED_NAMESPACES];
    index->domains = ARENA_ARRAY(index->arena, TermDomains, index->keys.n + 1);
    if (!index->domains)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < index->keys.n; i++)
        r = find_domains(index, table, index->keys.items[i], &index->domains[i]);
    for (size_t i = 0; r == 0 && i < index->terms.n; i++)
        for (size_t k = 0; r == 0 && k < index->terms.items[i].n_selectors; k++)
            r = note_labels(index, &index->terms.items[i].selectors[k].labels);
    return r;
}

/* --- pods ----------------------------------------------------------------- */

/* TERM_SELECTS_NOT if one of its selectors does not, and unsure if one is. */
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

static int try_term(TermIndex *index, const Pod *pod, const Namespace *namespace, uint32_t number,
    TermNumbers *selecting, PodKind *kind) {
    const Term *term = &index->terms.items[number];
    TermSelects selects = term->is_spread && pod->is_terminating
                              ? TERM_SELECTS_NOT
                              : term_selects(term, pod, namespace);
    uint32_t *at = selects == TERM_SELECTS ? VEC_PUSH(selecting, index->arena) : NULL;

    kind->is_unsure |= selects == TERM_SELECTS_UNSURE;
    if (at)
        *at = number;
    return selects == TERM_SELECTS && !at ? -ENOMEM : 0;
}

static const OwnerTerms *find_owner(TermIndex *index, const Pod *pod) {
    uint32_t number;

    buf_reset(&index->text);
    print_owner(pod, &index->text);
    number = map_find(&index->owner_numbers, buf_str(&index->text));
    return number == MAP_NONE ? NULL : &index->owners.items[number];
}

static int make_kind(TermIndex *index, const Pod *pod, PodKind *ret) {
    Pod only = {.namespace = pod->namespace};
    Related related = {0};
    int r = related_objects_find(&index->namespaces, &only, index->arena, &related);
    Namespace unlabelled = {.name = pod->namespace};
    const Namespace *namespace = related.namespace ? related.namespace : &unlabelled;
    const OwnerTerms *owner = find_owner(index, pod);
    TermNumbers selecting = {0};

    namespace = related.knows_namespaces ? namespace : NULL;
    for (size_t i = 0; r == 0 && i < index->tried.n; i++)
        r = try_term(index, pod, namespace, index->tried.items[i], &selecting, ret);
    for (size_t i = 0; r == 0 && owner && i < owner->terms.n; i++)
        r = try_term(index, pod, namespace, owner->terms.items[i], &selecting, ret);
    ret->terms = selecting.items;
    ret->n_terms = selecting.n;
    return r;
}

static void print_kind(TermIndex *index, const Pod *pod) {
    buf_reset(&index->text);
    term_text_put(&index->text, pod->namespace);
    if (index->has_spread && pod->is_terminating)
        buf_append_char(&index->text, 't');
    if (index->owners.n > 0)
        print_owner(pod, &index->text);
    for (size_t i = 0; i < pod->labels.n; i++)
        if (map_find(&index->read_labels, pod->labels.items[i].key) != MAP_NONE) {
            term_text_put(&index->text, pod->labels.items[i].key);
            term_text_put(&index->text, pod->labels.items[i].value);
        }
}

int term_index_classify(TermIndex *index, const Pod *pod, PodTerms *terms) {
    PodKind *kind;
    Str text;

    terms->kind = 0;
    if (index->terms.n == 0)
        return 0;
    print_kind(index, pod);
    terms->kind = map_find(&index->kind_numbers, buf_str(&index->text));
    if (terms->kind != MAP_NONE)
        return 0;
    if ((uint64_t)index->tried.n * index->kinds.n > TERM_INDEX_MATCHES_MAX) {
        terms->kind = 0;
        return 1;
    }
    text = arena_copy(index->arena, buf_str(&index->text));
    kind = VEC_PUSH(&index->kinds, index->arena);
    terms->kind = (uint32_t)index->kinds.n - 1;
    if (buf_error(&index->text) || !text.ptr || !kind ||
        map_add(&index->kind_numbers, text, terms->kind) < 0)
        return -ENOMEM;
    return make_kind(index, pod, kind);
}

/* --- reading -------------------------------------------------------------- */

bool term_index_is_empty(const TermIndex *index) {
    return index->keys.n == 0;
}

const TermDomains *term_index_key_domains(const TermIndex *index, uint32_t key) {
    return &index->domains[key];
}

size_t term_index_n_terms(const TermIndex *index) {
    return index->terms.n;
}

const TermDomains *term_index_domains(const TermIndex *index, uint32_t term) {
    return &index->domains[index->terms.items[term].key];
}

const PodKind *term_index_kind(const TermIndex *index, const PodTerms *terms) {
    return &index->kinds.items[terms->kind];
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
