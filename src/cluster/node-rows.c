/* Nodes, the pods on them and their rows, while they change. */

#include "cluster/node-rows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "cluster/record.h"

#define POD_ROOMS_FIRST 4u

static NodeEntry *entry_free(NodeEntry *entry) {
    node_record_unref(entry->node);
    free(entry->pods);
    free(entry);
    return NULL;
}

void rows_done(NodeRows *rows) {
    NodeEntry *entry;

    for (size_t i = 0; (entry = set_next(&rows->entries, &i)); i++) {
        assert(entry->n_promised == 0);           /* each was used or withdrawn */
        assert(entry->node || entry->n_pods > 0); /* drop_if_idle() removes others */
        entry_free(entry);
    }
    set_done(&rows->entries);
    free(rows->by_row);
    free(rows->changed);
    *rows = (NodeRows){0};
}

static bool is_entry_named(const void *item, const void *key) {
    return str_eq(((const NodeEntry *)item)->name, *(const Str *)key);
}

NodeEntry *rows_find(const NodeRows *rows, Str name) {
    return set_find(&rows->entries, hash_str(name), is_entry_named, &name);
}

static NodeEntry *find_or_make(NodeRows *rows, Str name) {
    NodeEntry *entry = rows_find(rows, name);

    if (entry)
        return entry;
    entry = calloc(1, sizeof(*entry) + name.len);
    if (!entry)
        return NULL;
    memcpy(entry->text, name.ptr, name.len);
    entry->name = str_of(entry->text, name.len);
    return set_add(&rows->entries, hash_str(name), entry) < 0 ? entry_free(entry) : entry;
}

static void drop_if_idle(NodeRows *rows, NodeEntry *entry) {
    if (entry->node || entry->n_pods > 0 || entry->n_promised > 0)
        return;
    (void)set_remove(&rows->entries, hash_str(entry->name), entry);
    entry_free(entry);
}

static int entry_reserve(NodeEntry *entry) {
    size_t needed = (size_t)entry->n_pods + entry->n_promised + 1;
    size_t n_rooms = entry->n_rooms ? entry->n_rooms : POD_ROOMS_FIRST;
    const Pod **pods;

    if (needed <= entry->n_rooms)
        return 0;
    while (n_rooms < needed)
        n_rooms += n_rooms / 2;
    pods = realloc(entry->pods, n_rooms * sizeof(*pods));
    if (!pods)
        return -ENOMEM;
    entry->pods = pods;
    entry->n_rooms = (uint32_t)n_rooms;
    return 0;
}

int rows_promise(NodeRows *rows, Str name, bool is_pod) {
    NodeEntry *entry = find_or_make(rows, name);

    if (!entry)
        return -ENOMEM;
    if (is_pod && entry_reserve(entry) < 0) {
        drop_if_idle(rows, entry);
        return -ENOMEM;
    }
    entry->n_promised++;
    return 0;
}

void rows_withdraw(NodeRows *rows, Str name) {
    NodeEntry *entry = rows_find(rows, name);

    assert(entry && entry->n_promised > 0);
    entry->n_promised--;
    drop_if_idle(rows, entry);
}

int rows_reserve(NodeRows *rows, size_t n_more) {
    size_t n_before = rows->n_rooms, n_rooms = n_before ? n_before : CHUNK_ROWS;
    NodeEntry **by_row;
    uint64_t *changed;

    while (n_rooms < rows->n_rows + n_more)
        n_rooms *= 2;
    if (n_rooms == n_before)
        return 0;
    by_row = realloc(rows->by_row, n_rooms * sizeof(NodeEntry *));
    rows->by_row = by_row ? by_row : rows->by_row;
    changed = by_row ? realloc(rows->changed, n_rooms / CHUNK_ROWS * sizeof(*changed)) : NULL;
    if (!changed)
        return -ENOMEM;
    rows->changed = changed;
    memset(by_row + n_before, 0, (n_rooms - n_before) * sizeof(NodeEntry *));
    memset(changed + n_before / CHUNK_ROWS, 0, (n_rooms - n_before) / CHUNK_ROWS * 8);
    rows->n_rooms = n_rooms;
    return 0;
}

static void mark(NodeRows *rows, uint32_t row) {
    uint64_t bit = UINT64_C(1) << (row % CHUNK_ROWS);

    if (!(rows->changed[row / CHUNK_ROWS] & bit))
        rows->n_changed++;
    rows->changed[row / CHUNK_ROWS] |= bit;
}

static void mark_pods(NodeRows *rows, NodeEntry *entry) {
    entry->has_pods_changed = true;
    if (entry->node)
        mark(rows, entry->row);
}

void rows_add_pod(NodeRows *rows, const Pod *pod) {
    NodeEntry *entry = rows_find(rows, pod->node_name);

    assert(entry && entry->n_promised > 0 && entry->n_pods < entry->n_rooms);
    entry->n_promised--;
    entry->pods[entry->n_pods++] = pod;
    mark_pods(rows, entry);
}

static uint32_t position_of(const NodeEntry *entry, const Pod *pod) {
    uint32_t i = 0;

    while (i < entry->n_pods && entry->pods[i] != pod)
        i++;
    assert(i < entry->n_pods);
    return i;
}

void rows_remove_pod(NodeRows *rows, const Pod *pod) {
    NodeEntry *entry = rows_find(rows, pod->node_name);
    uint32_t i;

    assert(entry);
    i = position_of(entry, pod);
    entry->n_pods--;
    memmove(entry->pods + i, entry->pods + i + 1, (entry->n_pods - i) * sizeof(*entry->pods));
    mark_pods(rows, entry);
    drop_if_idle(rows, entry);
}

void rows_replace_pod(NodeRows *rows, const Pod *old, const Pod *pod) {
    NodeEntry *entry = rows_find(rows, old->node_name);

    assert(entry);
    entry->pods[position_of(entry, old)] = pod;
    mark_pods(rows, entry);
}

static void give_row(NodeRows *rows, NodeEntry *entry) {
    size_t row = rows->first_free;

    while (row < rows->n_rows && rows->by_row[row])
        row++;
    assert(row < rows->n_rooms);
    rows->by_row[row] = entry;
    rows->first_free = row + 1;
    if (row == rows->n_rows)
        rows->n_rows++;
    rows->n_nodes++;
    rows->has_set_changed = true;
    entry->row = (uint32_t)row;
    entry->has_pods_changed = true; /* any earlier contents of this row differ */
}

void rows_set_node(NodeRows *rows, const Node *node) {
    NodeEntry *entry = rows_find(rows, node->name);

    assert(entry && entry->n_promised > 0);
    entry->n_promised--;
    if (entry->node)
        node_record_unref(entry->node);
    else
        give_row(rows, entry);
    entry->node = node;
    mark(rows, entry->row);
}

void rows_remove_node(NodeRows *rows, NodeEntry *entry) {
    rows->by_row[entry->row] = NULL;
    if (entry->row < rows->first_free)
        rows->first_free = entry->row;
    while (rows->n_rows > 0 && !rows->by_row[rows->n_rows - 1])
        rows->n_rows--;
    rows->n_nodes--;
    rows->has_set_changed = true;
    mark(rows, entry->row);
    entry->node = node_record_unref(entry->node);
    drop_if_idle(rows, entry);
}

void rows_settle(NodeRows *rows) {
    for (size_t chunk = 0; chunk < rows->n_rooms / CHUNK_ROWS; chunk++) {
        for (uint64_t left = rows->changed[chunk]; left; left &= left - 1) {
            NodeEntry *entry = rows->by_row[chunk * CHUNK_ROWS + (size_t)__builtin_ctzll(left)];

            if (entry)
                entry->has_pods_changed = false;
        }
        rows->changed[chunk] = 0;
    }
    rows->n_changed = 0;
    rows->has_set_changed = false;
}
