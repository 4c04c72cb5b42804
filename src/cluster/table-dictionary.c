/* Names of resource columns and lists of taints: the dictionary of a snapshot, and the next one. */

#include "cluster/table-dictionary.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/map.h"
#include "cluster/object-fields.h"
#include "cluster/table.h"

const TableDictionary *table_dictionary_new(const TableDictionary *from) {
    TableDictionary *dictionary = calloc(1, sizeof(*dictionary));

    if (!dictionary)
        return NULL;
    dictionary->ref = REF_ONE;
    if (!object_take(/* pool= */ NULL, &table_dictionary_type, 0, from, dictionary))
        return table_dictionary_unref(dictionary);
    return dictionary;
}

const TableDictionary *table_dictionary_unref(const TableDictionary *dictionary) {
    if (!dictionary || !ref_drop(&dictionary->ref))
        return NULL;
    object_drop(&table_dictionary_type, dictionary);
    free((TableDictionary *)(uintptr_t)dictionary);
    return NULL;
}

/* Leaves a name without room out: table_dictionary_builder_choose_columns() decides later. */
void table_dictionary_builder_add_resource(
    TableDictionaryBuilder *builder, Str name, size_t position) {
    size_t *guess = &builder->guesses[position < RESOURCES_MAX ? position : RESOURCES_MAX - 1];
    size_t found;

    if (*guess < builder->resources.n && str_eq(builder->resources.items[*guess], name))
        return;
    found = str_index(name, builder->resources.items, builder->resources.n);
    if (found != SIZE_MAX) {
        *guess = found;
        return;
    }
    if (builder->resources.n == TABLE_RESOURCES_MAX) {
        builder->n_left_out++;
        return;
    }
    (void)VEC_ADD(&builder->resources, builder->arena, name);
    builder->has_new_entries = builder->has_new_columns = true;
}

/* Pods add no columns: they may request any number of names, and only offered ones can be free. */
void table_dictionary_builder_add_offers(TableDictionaryBuilder *builder, const Node *node) {
    for (size_t i = 0; i < node->allocatable.n; i++)
        if (node->allocatable.items[i].amount > 0)
            table_dictionary_builder_add_resource(builder, node->allocatable.items[i].name, i);
}

/* Names of resources by number: first the existing columns, then others in the order of rows. */
typedef struct OfferedNames {
    Map numbers;
    Str names[DICTIONARY_NAMES_MAX];
    bool is_offered[DICTIONARY_NAMES_MAX];
    uint32_t n;
} OfferedNames;

static void add_offer(OfferedNames *offers, Str name, bool is_offered) {
    uint32_t number = map_find(&offers->numbers, name);

    if (number == MAP_NONE) {
        if (offers->n == DICTIONARY_NAMES_MAX || map_add(&offers->numbers, name, offers->n) < 0)
            return;
        number = offers->n++;
        offers->names[number] = name;
    }
    offers->is_offered[number] |= is_offered;
}

static void list_offers(
    const TableDictionaryBuilder *builder, const NodeRows *rows, OfferedNames *offers) {
    for (size_t i = 0; i < builder->resources.n; i++)
        add_offer(offers, builder->resources.items[i], i == TABLE_CPU || i == TABLE_MEMORY);
    for (size_t row = 0; row < rows->n_rows; row++) {
        const NodeEntry *entry = rows->by_row[row];

        for (size_t i = 0; entry && i < entry->node->allocatable.n; i++)
            if (entry->node->allocatable.items[i].amount > 0)
                add_offer(offers, entry->node->allocatable.items[i].name, true);
    }
}

/* Looks at every row, so it must be rare: only while there are, or were, too many names.
 * Columns that a node still offers stay, in their order; the others make room. */
void table_dictionary_builder_choose_columns(
    TableDictionaryBuilder *builder, const NodeRows *rows) {
    OfferedNames *offers = ARENA_NEW(builder->arena, OfferedNames);
    Str *columns = ARENA_ARRAY(builder->arena, Str, TABLE_RESOURCES_MAX);
    size_t n = 0, n_before = builder->resources.n;

    if (!offers || !columns)
        return;
    offers->numbers = MAP_INIT_IN(builder->arena);
    list_offers(builder, rows, offers);
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
}

static uint64_t hash_taints(const Taints *taints) {
    uint64_t hash = taints->n;

    for (size_t i = 0; i < taints->n; i++) {
        const Taint *taint = &taints->items[i];

        hash = (hash ^ hash_str(taint->key)) * UINT64_C(0x9E3779B97F4A7C15);
        hash = (hash ^ hash_str(taint->value)) * UINT64_C(0x9E3779B97F4A7C15) + taint->effect;
    }
    return hash;
}

/* Clusters have a handful of distinct lists; one in which every node has its own pays
 * with a search over hashes whenever a node's taints change. */
uint32_t table_dictionary_builder_number_taints(
    TableDictionaryBuilder *builder, const Taints *taints, uint32_t before) {
    uint64_t hash;

    if (taints->n == 0) /* the first set */
        return 0;
    if (taints_equal(&builder->taint_sets.items[before], taints))
        return before;
    for (size_t i = builder->taint_hashes.n; i < builder->taint_sets.n; i++) /* rare */
        (void)VEC_ADD(
            &builder->taint_hashes, builder->arena, hash_taints(&builder->taint_sets.items[i]));
    hash = hash_taints(taints);
    for (size_t i = 0; i < builder->taint_hashes.n; i++)
        if (builder->taint_hashes.items[i] == hash &&
            taints_equal(&builder->taint_sets.items[i], taints))
            return (uint32_t)i;
    (void)VEC_ADD(&builder->taint_sets, builder->arena, *taints);
    builder->has_new_entries = true;
    return (uint32_t)builder->taint_sets.n - 1;
}

void table_dictionary_builder_init(
    TableDictionaryBuilder *builder, const TableDictionary *before, Arena *arena) {
    static Str resources[] = {[TABLE_CPU] = STR("cpu"), [TABLE_MEMORY] = STR("memory")};
    static Taints no_taints[1];
    static const TableDictionary first = {
        .resources = resources,
        .n_resources = ELEMENTS_OF(resources),
        .taint_sets = no_taints,
        .n_taint_sets = 1,
    };
    const TableDictionary *from = before ? before : &first;

    *builder = (TableDictionaryBuilder){.arena = arena, .n_left_out = from->n_left_out};
    for (size_t i = 0; i < from->n_resources; i++)
        table_dictionary_builder_add_resource(builder, from->resources[i], i);
    for (size_t i = 0; i < from->n_taint_sets; i++)
        (void)VEC_ADD(&builder->taint_sets, arena, from->taint_sets[i]);
    builder->has_new_entries = !before;
    builder->has_new_columns = false;
}

const TableDictionary *table_dictionary_builder_finish(
    const TableDictionaryBuilder *builder, const TableDictionary *before) {
    if (!builder->has_new_entries)
        return table_dictionary_ref(before);
    return table_dictionary_new(&(TableDictionary){
        .resources = builder->resources.items,
        .n_resources = builder->resources.n,
        .n_left_out = builder->n_left_out,
        .taint_sets = builder->taint_sets.items,
        .n_taint_sets = builder->taint_sets.n,
    });
}
