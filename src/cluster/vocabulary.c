#include "cluster/vocabulary.h"

#include <errno.h>

#include "base/hash.h"
#include "base/map.h"

/* --- resources -------------------------------------------------------------------- */

/* The column of a resource that a node offers. One that finds no room is left out for now:
 * vocabulary_choose_columns() decides. */
static int add_resource(Vocabulary *vocabulary, Str name, size_t guess) {
    Str *added;

    if (guess < vocabulary->resources.n && str_eq(vocabulary->resources.items[guess], name))
        return 0;
    for (size_t i = 0; i < vocabulary->resources.n; i++)
        if (str_eq(vocabulary->resources.items[i], name))
            return 0;
    if (vocabulary->resources.n == TABLE_RESOURCES_MAX) {
        vocabulary->n_left_out++;
        return 0;
    }
    added = VEC_PUSH(&vocabulary->resources, vocabulary->arena);
    if (!added)
        return -ENOMEM;
    *added = name;
    vocabulary->has_new_words = vocabulary->has_new_columns = true;
    return 0;
}

/* Only what nodes offer: of anything else nothing is free anywhere, whatever pods ask for, and
 * pods may ask for as many names as they like. */
int vocabulary_add_offers(Vocabulary *vocabulary, const Node *node) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < node->allocatable.n; i++)
        if (node->allocatable.items[i].amount > 0)
            r = add_resource(vocabulary, node->allocatable.items[i].name, i);
    return r;
}

/* --- more names than columns ------------------------------------------------------- */

/* By number: the columns there are, then other names as rows have them. */
typedef struct Offers {
    Map numbers;
    Str names[VOCABULARY_NAMES_MAX];
    bool is_offered[VOCABULARY_NAMES_MAX];
    uint32_t n;
} Offers;

static int add_offer(Offers *offers, Str name, bool is_offered) {
    uint32_t number = map_find(&offers->numbers, name);

    if (number == MAP_NONE) {
        int r;

        if (offers->n == VOCABULARY_NAMES_MAX)
            return 0;
        r = map_add(&offers->numbers, name, offers->n);
        if (r < 0)
            return r;
        number = offers->n++;
        offers->names[number] = name;
    }
    offers->is_offered[number] |= is_offered;
    return 0;
}

static int list_offers(const Vocabulary *vocabulary, const Rows *rows, Offers *offers) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < vocabulary->resources.n; i++)
        r = add_offer(offers, vocabulary->resources.items[i], i == TABLE_CPU || i == TABLE_MEMORY);
    for (size_t row = 0; row < rows->n_rows; row++) {
        const Site *site = rows->by_row[row];

        for (size_t i = 0; r == 0 && site && i < site->node->allocatable.n; i++)
            if (site->node->allocatable.items[i].amount > 0)
                r = add_offer(offers, site->node->allocatable.items[i].name, true);
    }
    return r;
}

/* Looks at every row, so it must be rare: only while there are, or were, too many names.
 * Columns that somebody still offers stay, in their order; what nobody offers any more makes
 * room for others. */
int vocabulary_choose_columns(Vocabulary *vocabulary, const Rows *rows) {
    Offers *offers = ARENA_NEW(vocabulary->arena, Offers);
    Str *columns = ARENA_ARRAY(vocabulary->arena, Str, TABLE_RESOURCES_MAX);
    size_t n = 0, n_before = vocabulary->resources.n;
    int r;

    if (!offers || !columns)
        return -ENOMEM;
    offers->numbers = MAP_INIT_IN(vocabulary->arena);
    r = list_offers(vocabulary, rows, offers);
    if (r < 0)
        return r;
    vocabulary->n_left_out = 0;
    for (uint32_t i = 0; i < offers->n; i++) {
        bool has_column = offers->is_offered[i] && n < TABLE_RESOURCES_MAX;

        if (has_column)
            columns[n++] = offers->names[i];
        vocabulary->n_left_out += offers->is_offered[i] && !has_column;
        vocabulary->has_new_columns |= has_column != (i < n_before);
    }
    vocabulary->resources.items = columns;
    vocabulary->resources.n = n;
    vocabulary->has_new_words = true;
    return 0;
}

/* --- taints ----------------------------------------------------------------------- */

static uint64_t hash_taints(const Taints *taints) {
    uint64_t hash = taints->n;

    for (size_t i = 0; i < taints->n; i++) {
        const Taint *taint = &taints->items[i];

        hash = (hash ^ hash_str(taint->key)) * UINT64_C(0x9E3779B97F4A7C15);
        hash = (hash ^ hash_str(taint->value)) * UINT64_C(0x9E3779B97F4A7C15) + taint->effect;
    }
    return hash;
}

static int add_taint_set(Vocabulary *vocabulary, const Taints *taints) {
    Taints *added = VEC_PUSH(&vocabulary->taint_sets, vocabulary->arena);

    if (!added)
        return -ENOMEM;
    *added = *taints;
    vocabulary->has_new_words = true;
    return 0;
}

/* Of all sets; only when one is searched for, which is rare. */
static int hash_taint_sets(Vocabulary *vocabulary) {
    while (vocabulary->taint_hashes.n < vocabulary->taint_sets.n) {
        const Taints *taints = &vocabulary->taint_sets.items[vocabulary->taint_hashes.n];
        uint64_t *hash = VEC_PUSH(&vocabulary->taint_hashes, vocabulary->arena);

        if (!hash)
            return -ENOMEM;
        *hash = hash_taints(taints);
    }
    return 0;
}

/* Clusters have a handful of distinct lists; one in which every node has its own pays
 * with a search over hashes whenever a node's taints change. */
int vocabulary_number_taints(Vocabulary *vocabulary, const Taints *taints, uint32_t *number) {
    uint64_t hash;
    int r;

    if (taints_equal(&vocabulary->taint_sets.items[*number], taints))
        return 0;
    r = hash_taint_sets(vocabulary);
    if (r < 0)
        return r;
    hash = hash_taints(taints);
    for (size_t i = 0; i < vocabulary->taint_sets.n; i++) {
        if (vocabulary->taint_hashes.items[i] == hash &&
            taints_equal(&vocabulary->taint_sets.items[i], taints)) {
            *number = (uint32_t)i;
            return 0;
        }
    }
    *number = (uint32_t)vocabulary->taint_sets.n;
    return add_taint_set(vocabulary, taints);
}

/* --- together ---------------------------------------------------------------------- */

/* The first starts with those that are always there. */
int vocabulary_init(Vocabulary *vocabulary, const Snapshot *before, Arena *arena) {
    static const Str resources[] = {[TABLE_CPU] = STR("cpu"), [TABLE_MEMORY] = STR("memory")};
    static const Taints no_taints[1];
    static const NodeTable first = {
        .resources = resources,
        .n_resources = ELEMENTS_OF(resources),
        .taint_sets = no_taints,
        .n_taint_sets = 1,
    };
    const NodeTable *from = before ? snapshot_table(before) : &first;
    int r = 0;

    *vocabulary =
        (Vocabulary){.arena = arena, .n_left_out = before ? snapshot_words(before)->n_left_out : 0};
    for (size_t i = 0; r == 0 && i < from->n_resources; i++)
        r = add_resource(vocabulary, from->resources[i], i);
    for (size_t i = 0; r == 0 && i < from->n_taint_sets; i++)
        r = add_taint_set(vocabulary, &from->taint_sets[i]);
    vocabulary->has_new_words = !before;
    vocabulary->has_new_columns = false;
    return r;
}

const Words *vocabulary_words(const Vocabulary *vocabulary, const Snapshot *before) {
    if (!vocabulary->has_new_words)
        return words_ref(snapshot_words(before));
    return words_new(vocabulary->resources.items,
        vocabulary->resources.n,
        vocabulary->n_left_out,
        vocabulary->taint_sets.items,
        vocabulary->taint_sets.n);
}
