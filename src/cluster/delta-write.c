/*
 * The steps that turn a store which shows one snapshot into one that shows the other: first
 * removals, then nodes by row, then pods in the order of their rows.
 *
 * Pods of a row: the store takes one out where it stands, puts another in its place if it has the
 * same name, and adds new ones at the end. So one walk over both lists finds the steps: pods that
 * are not next in the new list are removed, the rest of the new list is added.
 */

#include <errno.h>

#include "cluster/delta.h"
#include "cluster/inventory.h"
#include "cluster/record.h"

#define DELTA_BUDGET ((size_t)512 * 1024 * 1024)

typedef struct DeltaWrite {
    const NodeTable *before, *after; /* empty ones, not NULL */
    const ObjectMask *mask;
    Arena *arena;
    VEC(Str) forgotten, removed_nodes;
    VEC(const Pod *) removed_pods;
    VEC(uint32_t) nodes; /* rows of after */
    VEC(InventoryPod) pods;
    bool has_failed; /* the mask */
} DeltaWrite;

/* When memory runs out, the arena has failed. */
#define ADD(write, vec, ...) ((void)VEC_ADD(&(write)->vec, (write)->arena, __VA_ARGS__))

static const NodeTable nothing;

static bool is_assumed(const NodeTable *table, const Pod *pod) {
    return table_find_assumed(table, pod->uid) == pod;
}

static bool pods_equal(const Pod *a, const Pod *b) {
    return a == b || (pod_record_equal(a, b) && str_eq(a->resource_version, b->resource_version));
}

/* Whether the store would treat @b as a new version of @a, and put it in the same place. */
static bool is_same_pod(const DeltaWrite *write, const Pod *a, const Pod *b) {
    bool was_assumed = is_assumed(write->before, a), is_now = is_assumed(write->after, b);

    if (was_assumed || is_now)
        return was_assumed && is_now && pods_equal(a, b);
    return a == b || (str_eq(a->name, b->name) && str_eq(a->namespace, b->namespace));
}

static void drop_pod(DeltaWrite *write, const Pod *pod) {
    if (is_assumed(write->before, pod))
        ADD(write, forgotten, pod->uid);
    else
        ADD(write, removed_pods, pod);
}

static void add_pod(DeltaWrite *write, const Pod *pod, Str node) {
    ADD(write, pods, (InventoryPod){.pod = pod, .node = node});
}

static void compare_pods(DeltaWrite *write, const PodList *before, const PodList *after, Str node) {
    uint32_t n_before = before ? before->n : 0, n_after = after ? after->n : 0, next = 0;

    if (before == after)
        return;
    for (uint32_t i = 0; i < n_before; i++) {
        const Pod *pod = before->items[i];

        if (next == n_after || !is_same_pod(write, pod, after->items[next])) {
            drop_pod(write, pod);
            continue;
        }
        if (!pods_equal(pod, after->items[next]))
            add_pod(write, after->items[next], node);
        next++;
    }
    for (; next < n_after; next++)
        add_pod(write, after->items[next], node);
}

static void compare_slot(
    DeltaWrite *write, const NodeChunk *before, const NodeChunk *after, uint32_t row) {
    size_t slot = table_slot(row);
    const Node *old = before ? before->nodes[slot] : NULL, *new = after ? after->nodes[slot] : NULL;
    const PodList *left = old ? before->pods[slot] : NULL;
    bool is_same = old && new &&str_eq(old->name, new->name);

    if (old && !is_same)
        ADD(write, removed_nodes, old->name);
    if (left && !is_same)
        compare_pods(write, left, NULL, old->name);
    if (new &&
        !(is_same && (old == new || (node_record_equal(old, new) &&
                                        str_eq(old->resource_version, new->resource_version)))))
        ADD(write, nodes, row);
    if (new)
        compare_pods(write, is_same ? left : NULL, after->pods[slot], new->name);
}

static void compare_rows(DeltaWrite *write) {
    const NodeTable *from = write->before, *to = write->after;

    for (size_t i = 0; i < from->n_chunks || i < to->n_chunks; i++) {
        const NodeChunk *before = i < from->n_chunks ? from->chunks[i] : NULL;
        const NodeChunk *after = i < to->n_chunks ? to->chunks[i] : NULL;

        for (size_t slot = 0; before != after && slot < CHUNK_ROWS; slot++)
            compare_slot(write, before, after, (uint32_t)(i * CHUNK_ROWS + slot));
    }
}

/* Both lists are in the same order, so a search begins where the last one ended. */
static bool has_nominated(const NodeTable *table, const Pod *pod, size_t *position) {
    for (size_t n = table->n_nominated; n > 0; n--) {
        *position = *position < table->n_nominated ? *position : 0;
        if (table->nominated[(*position)++] == pod)
            return true;
    }
    return false;
}

/* Finds the nominated pods that are in only one of the two tables. */
static void compare_nominated(DeltaWrite *write) {
    const NodeTable *before = write->before, *after = write->after;
    size_t position = 0;

    for (size_t i = 0; i < before->n_nominated; i++)
        if (!has_nominated(after, before->nominated[i], &position))
            drop_pod(write, before->nominated[i]);
    position = 0;
    for (size_t i = 0; i < after->n_nominated; i++)
        if (!has_nominated(before, after->nominated[i], &position))
            add_pod(write, after->nominated[i], STR_NULL);
}

/* Whether @pod is assumed on an unknown node, and so is in no row. */
static bool has_no_row(const NodeTable *table, const Pod *pod) {
    return is_assumed(table, pod) && table_find(table, pod->node_name) == table->n_rows;
}

static void compare_without_row(DeltaWrite *write) {
    const NodeTable *before = write->before, *after = write->after;

    for (size_t i = 0; i < before->n_assumed; i++)
        if (has_no_row(before, before->assumed[i]) && !has_no_row(after, before->assumed[i]))
            drop_pod(write, before->assumed[i]);
    for (size_t i = 0; i < after->n_assumed; i++)
        if (has_no_row(after, after->assumed[i]) && !has_no_row(before, after->assumed[i]))
            add_pod(write, after->assumed[i], after->assumed[i]->node_name);
}

static Str mask_name(DeltaWrite *write, Str name) {
    Str masked = write->mask ? write->mask->name(write->mask->context, name) : name;

    if (!masked.ptr && name.len > 0)
        write->has_failed = true;
    return masked;
}

static void write_names(
    DeltaWrite *write, JsonWriter *writer, const char *key, const Str *names, size_t n) {
    if (n == 0)
        return;
    json_member_array(writer, key);
    for (size_t i = 0; i < n; i++)
        json_write_string(writer, mask_name(write, names[i]));
    json_write_end_array(writer);
}

static void write_removed_pods(DeltaWrite *write, JsonWriter *writer) {
    if (write->removed_pods.n == 0)
        return;
    json_member_array(writer, "removedPods");
    for (size_t i = 0; i < write->removed_pods.n; i++) {
        Str namespace = mask_name(write, write->removed_pods.items[i]->namespace);
        Str name = mask_name(write, write->removed_pods.items[i]->name);

        json_write(writer, "[%.*s, %.*s]", STR_FMT(namespace), STR_FMT(name));
    }
    json_write_end_array(writer);
}

static void write_node(DeltaWrite *write, JsonWriter *writer, uint32_t row) {
    const Node *node = table_node(write->after, row);
    bool is_new = row >= write->before->n_rows || !table_node(write->before, row) ||
                  !str_eq(table_node(write->before, row)->name, node->name);

    if (write->mask)
        node = write->mask->node(write->mask->context, node);
    if (!node) {
        write->has_failed = true;
        return;
    }
    json_write_object(writer);
    if (is_new)
        json_member_int(writer, "row", row);
    json_write_key(writer, STR("node"));
    object_write_node(writer, node);
    json_write_end_object(writer);
}

static void write_pod(DeltaWrite *write, JsonWriter *writer, const InventoryPod *item) {
    Str node = mask_name(write, item->node);
    const Pod *pod = item->pod;

    json_write(
        writer, "{assumed?: %i, guessed?: %i", is_assumed(write->after, pod), pod->is_guessed);
    if (write->mask)
        pod = write->mask->pod(write->mask->context, pod);
    json_write_key(writer, STR("pod"));
    if (pod)
        object_write_pod(writer, pod, node);
    else
        json_write_null(writer);
    write->has_failed |= !pod;
    json_write_end_object(writer);
}

static int write_members(DeltaWrite *write, JsonWriter *writer) {
    if (arena_has_failed(write->arena))
        return -ENOMEM;
    write_names(write, writer, "forgotten", write->forgotten.items, write->forgotten.n);
    write_removed_pods(write, writer);
    write_names(write, writer, "removedNodes", write->removed_nodes.items, write->removed_nodes.n);
    if (write->nodes.n > 0) {
        json_member_array(writer, "nodes");
        for (size_t i = 0; i < write->nodes.n; i++)
            write_node(write, writer, write->nodes.items[i]);
        json_write_end_array(writer);
    }
    if (write->pods.n > 0) {
        json_member_array(writer, "pods");
        for (size_t i = 0; i < write->pods.n; i++)
            write_pod(write, writer, &write->pods.items[i]);
        json_write_end_array(writer);
    }
    return write->has_failed ? -ENOMEM : 0;
}

int delta_write(
    JsonWriter *writer, const Snapshot *before, const Snapshot *after, const ObjectMask *mask) {
    _cleanup_(arena_freep) Arena *arena = NULL;
    DeltaWrite write = {
        .before = before ? snapshot_table(before) : &nothing,
        .after = after ? snapshot_table(after) : &nothing,
        .mask = mask,
    };

    if (before == after)
        return 0;
    write.arena = arena = arena_new(DELTA_BUDGET);
    if (!arena)
        return -ENOMEM;
    compare_rows(&write);
    compare_nominated(&write);
    compare_without_row(&write);
    return write_members(&write, writer);
}

static void write_numbers(JsonWriter *writer, const char *key, const uint32_t *numbers, size_t n) {
    json_member_array(writer, key);
    for (size_t i = 0; i < n; i++)
        json_write_int_or_null(writer, numbers[i], DELTA_NO_ROW);
    json_write_end_array(writer);
}

static void write_order(DeltaWrite *write, JsonWriter *writer, const Inventory *inventory) {
    const NodeTable *table = write->after;
    uint32_t *rows = ARENA_RAW(write->arena, uint32_t, table->n_rows);
    uint32_t *pods = ARENA_RAW(write->arena, uint32_t, inventory->n_pods);
    uint32_t *assumed = ARENA_RAW(write->arena, uint32_t, table->n_assumed);
    uint32_t *guessed = ARENA_RAW(write->arena, uint32_t, table->n_assumed);
    size_t n_pods = 0, n_assumed = 0, n_guessed = 0;

    if (arena_has_failed(write->arena))
        return;
    for (size_t row = 0; row < table->n_rows; row++)
        rows[row] = DELTA_NO_ROW;
    for (size_t i = 0; i < inventory->n_rows; i++)
        rows[inventory->rows[i]] = (uint32_t)i;
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const PodList *list = table_chunk(table, row)->pods[table_slot(row)];

        for (uint32_t i = 0; table_node(table, row) && list && i < list->n; i++) {
            pods[n_pods++] = (uint32_t)inventory_get_pod(inventory, list->items[i]);
            if (is_assumed(table, list->items[i]))
                assumed[n_assumed++] = pods[n_pods - 1];
            if (list->items[i]->is_guessed)
                guessed[n_guessed++] = pods[n_pods - 1];
        }
    }
    json_member_object(writer, "order");
    write_numbers(writer, "rows", rows, table->n_rows);
    write_numbers(writer, "pods", pods, n_pods);
    write_numbers(writer, "assumed", assumed, n_assumed);
    if (n_guessed > 0)
        write_numbers(writer, "guessed", guessed, n_guessed);
    json_write_end_object(writer);
}

int delta_write_order(JsonWriter *writer, const Snapshot *first, const ObjectMask *mask) {
    _cleanup_(inventory_done) Inventory inventory = {0};
    _cleanup_(arena_freep) Arena *arena = arena_new(DELTA_BUDGET);
    DeltaWrite write = {
        .before = &nothing, .after = snapshot_table(first), .mask = mask, .arena = arena};
    int r = arena ? inventory_init(&inventory, write.after) : -ENOMEM;

    if (r < 0)
        return r;
    write_order(&write, writer, &inventory);
    compare_without_row(&write);
    return write_members(&write, writer);
}
