#include "cluster/dictionary-builder.h"

#include <errno.h>

#include "base/hash.h"
#include "base/map.h"

/* --- resources -------------------------------------------------------------------- */

/* The column of a resource that a node offers. One that finds no room is left out for now:
 * table_dictionary_builder_choose_columns() decides. */
static int add_resource(TableDictionaryBuilder *builder, Str name, size_t hint) {
    Str *added;

    if (hint < builder->resources.n && str_eq(builder->resources.items[hint], name))
        return 0;
    for (size_t i = 0; i < builder->resources.n; i++)
        if (str_eq(builder->resources.items[i], name))
            return 0;
    if (builder->resources.n == TABLE_RESOURCES_MAX) {
        builder->n_left_out++;
        return 0;
    }
    added = VEC_PUSH(&builder->resources, builder->arena);
    if (!added)
        return -ENOMEM;
    *added = name;
    builder->has_new_entries = builder->has_new_columns = true;
    return 0;
}

/* Only what nodes offer: of anything else nothing is free anywhere, whatever pods ask for, and
 * pods may ask for as many names as they like. */
int table_dictionary_builder_add_offers(TableDictionaryBuilder *builder, const Node *node) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < node->allocatable.n; i++)
        if (node->allocatable.items[i].amount > 0)
            r = add_resource(builder, node->allocatable.items[i].name, i);
    return r;
}

/* --- more names than columns ------------------------------------------------------- */

/* By number: the columns there are, then other names as rows have them. */
typedef struct OfferedNames {
    Map numbers;
    Str names[DICTIONARY_NAMES_MAX];
    bool is_offered[DICTIONARY_NAMES_MAX];
    uint32_t n;
} OfferedNames;

static int add_offer(OfferedNames *offers, Str name, bool is_offered) {
    uint32_t number = map_find(&offers->numbers, name);

    if (number == MAP_NONE) {
        int r;

        if (offers->n == DICTIONARY_NAMES_MAX)
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

static int list_offers(
    const TableDictionaryBuilder *builder, const NodeRows *rows, OfferedNames *offers) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < builder->resources.n; i++)
        r = add_offer(offers, builder->resources.items[i], i == TABLE_CPU || i == TABLE_MEMORY);
    for (size_t row = 0; row < rows->n_rows; row++) {
        const NodeEntry *entry = rows->by_row[row];

        for (size_t i = 0; r == 0 && entry && i < entry->node->allocatable.n; i++)
            if (entry->node->allocatable.items[i].amount > 0)
                r = add_offer(offers, entry->node->allocatable.items[i].name, true);
    }
    return r;
}

/* Looks at every row, so it must be rare: only while there are, or were, too many names.
 * Columns that somebody still offers stay, in their order; what nobody offers any more makes
 * room for others. */
int table_dictionary_builder_choose_columns(TableDictionaryBuilder *builder, const NodeRows *rows) {
    OfferedNames *offers = ARENA_NEW(builder->arena, OfferedNames);
    Str *columns = ARENA_ARRAY(builder->arena, Str, TABLE_RESOURCES_MAX);
    size_t n = 0, n_before = builder->resources.n;
    int r;

    if (!offers || !columns)
        return -ENOMEM;
    offers->numbers = MAP_INIT_IN(builder->arena);
    r = list_offers(builder, rows, offers);
    if (r < 0)
        return r;
    builder->n_left_out = 0;
    for (uint32_t i = 0; i < offers->n; i++) {
        bool has_column = offers->is_offered[i] && n < TABLE_RESOURCES_MAX;

        if (has_column)
            columns[n++] = offers->names[i];
        builder->n_left_out += offers->is_offered[i] && !has_column;
        builder->has_new_columns |= has_column != (i < n_before);
    }
    builder->resources.items = columns;
    builder->resources.n = n;
    builder->has_new_entries = true;
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

static int add_taint_set(TableDictionaryBuilder *builder, const Taints *taints) {
    Taints *added = VEC_PUSH(&builder->taint_sets, builder->arena);

    if (!added)
        return -ENOMEM;
    *added = *taints;
    builder->has_new_entries = true;
    return 0;
}

/* Of all sets; only when one is searched for, which is rare. */
static int hash_taint_sets(TableDictionaryBuilder *builder) {
    while (builder->taint_hashes.n < builder->taint_sets.n) {
        const Taints *taints = &builder->taint_sets.items[builder->taint_hashes.n];
        uint64_t *hash = VEC_PUSH(&builder->taint_hashes, builder->arena);

        if (!hash)
            return -ENOMEM;
        *hash = hash_taints(taints);
    }
    return 0;
}

/* Clusters have a handful of distinct lists; one in which every node has its own pays
 * with a search over hashes whenever a node's taints change. */
int table_dictionary_builder_number_taints(
    TableDictionaryBuilder *builder, const Taints *taints, uint32_t *number) {
    uint64_t hash;
    int r;

    if (taints_equal(&builder->taint_sets.items[*number], taints))
        return 0;
    r = hash_taint_sets(builder);
    if (r < 0)
        return r;
    hash = hash_taints(taints);
    for (size_t i = 0; i < builder->taint_sets.n; i++) {
        if (builder->taint_hashes.items[i] == hash &&
            taints_equal(&builder->taint_sets.items[i], taints)) {
            *number = (uint32_t)i;
            return 0;
        }
    }
    *number = (uint32_t)builder->taint_sets.n;
    return add_taint_set(builder, taints);
}

/* --- together ---------------------------------------------------------------------- */

/* The first starts with those that are always there. */
int table_dictionary_builder_init(
    TableDictionaryBuilder *builder, const Snapshot *before, Arena *arena) {
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

    *builder = (TableDictionaryBuilder){
        .arena = arena, .n_left_out = before ? snapshot_dictionary(before)->n_left_out : 0};
    for (size_t i = 0; r == 0 && i < from->n_resources; i++)
        r = add_resource(builder, from->resources[i], i);
    for (size_t i = 0; r == 0 && i < from->n_taint_sets; i++)
        r = add_taint_set(builder, &from->taint_sets[i]);
    builder->has_new_entries = !before;
    builder->has_new_columns = false;
    return r;
}

const TableDictionary *table_dictionary_builder_words(
    const TableDictionaryBuilder *builder, const Snapshot *before) {
    if (!builder->has_new_entries)
        return table_dictionary_ref(snapshot_dictionary(before));
    return table_dictionary_new(builder->resources.items,
        builder->resources.n,
        builder->n_left_out,
        builder->taint_sets.items,
        builder->taint_sets.n);
}
