#include "cluster/snapshot.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/ref.h"
#include "base/vec.h"

struct Snapshot {
    Ref ref;
    Arena *arena; /* owns all that the table points to */
    NodeTable table;
};

struct SnapshotBuilder {
    Arena *arena;
    Intern strings;
    Map names;
    VEC(Node) nodes;
    VEC(Pod) pods;
};

Snapshot *snapshot_ref(Snapshot *snapshot) {
    ref_take(&snapshot->ref);
    return snapshot;
}

Snapshot *snapshot_unref(Snapshot *snapshot) {
    if (snapshot && ref_drop(&snapshot->ref)) {
        arena_free(snapshot->arena);
        free(snapshot);
    }
    return NULL;
}

const NodeTable *snapshot_table(const Snapshot *snapshot) {
    return &snapshot->table;
}

SnapshotBuilder *snapshot_builder_new(void) {
    SnapshotBuilder *builder = calloc(1, sizeof(*builder));

    if (!builder)
        return NULL;
    builder->arena = arena_new(SNAPSHOT_BUDGET);
    if (!builder->arena) {
        free(builder);
        return NULL;
    }
    builder->strings = INTERN_INIT_IN(builder->arena);
    builder->names = MAP_INIT;
    return builder;
}

SnapshotBuilder *snapshot_builder_free(SnapshotBuilder *builder) {
    if (!builder)
        return NULL;
    map_done(&builder->names);
    arena_free(builder->arena);
    free(builder);
    return NULL;
}

/* --- copies: each distinct string once --------------------------------- */

static bool keep(SnapshotBuilder *builder, Str *string) {
    uint32_t id;

    if (str_is_empty(*string)) {
        *string = STR_NULL;
        return true;
    }
    id = intern_add(&builder->strings, *string);
    if (id == INTERN_ABSENT)
        return false;
    *string = intern_get(&builder->strings, id);
    return true;
}

static bool keep_labels(SnapshotBuilder *builder, Labels *labels) {
    Label *copy = ARENA_ARRAY(builder->arena, Label, labels->n);

    if (!copy)
        return false;
    for (size_t i = 0; i < labels->n; i++) {
        copy[i] = labels->items[i];
        if (!keep(builder, &copy[i].key) || !keep(builder, &copy[i].value))
            return false;
    }
    labels->items = copy;
    return true;
}

static bool keep_taints(SnapshotBuilder *builder, Taints *taints) {
    Taint *copy = ARENA_ARRAY(builder->arena, Taint, taints->n);

    if (!copy)
        return false;
    for (size_t i = 0; i < taints->n; i++) {
        copy[i] = taints->items[i];
        if (!keep(builder, &copy[i].key) || !keep(builder, &copy[i].value))
            return false;
    }
    taints->items = copy;
    return true;
}

static bool keep_resources(SnapshotBuilder *builder, Resources *resources) {
    Resource *copy = ARENA_ARRAY(builder->arena, Resource, resources->n);

    if (!copy)
        return false;
    for (size_t i = 0; i < resources->n; i++) {
        copy[i] = resources->items[i];
        if (!keep(builder, &copy[i].name))
            return false;
    }
    resources->items = copy;
    return true;
}

int snapshot_builder_add_node(SnapshotBuilder *builder, const Node *node) {
    Node copy = *node;
    Node *added;

    if (map_find(&builder->names, node->name) != MAP_NONE)
        return SNAPSHOT_E_DUPLICATE;
    if (!keep(builder, &copy.name) || !keep_labels(builder, &copy.labels) ||
        !keep_taints(builder, &copy.taints) || !keep_resources(builder, &copy.allocatable))
        return error_origin(-ENOMEM);
    added = VEC_PUSH(&builder->nodes, builder->arena);
    if (!added)
        return error_origin(-ENOMEM);
    *added = copy;
    return error_trace(map_add(&builder->names, copy.name, 1));
}

/* Tolerations are dropped: they matter to a pod that is being placed, not to one
 * that runs. */
int snapshot_builder_add_pod(SnapshotBuilder *builder, const Pod *pod) {
    Pod copy = *pod;
    Pod *added;

    copy.tolerations = (Tolerations){0};
    if (!keep(builder, &copy.name) || !keep(builder, &copy.namespace) ||
        !keep(builder, &copy.uid) || !keep(builder, &copy.owner_kind) ||
        !keep(builder, &copy.owner_name) || !keep(builder, &copy.owner_uid) ||
        !keep(builder, &copy.node_name) || !keep(builder, &copy.nominated_node_name) ||
        !keep(builder, &copy.scheduler_name) || !keep_labels(builder, &copy.labels) ||
        !keep_resources(builder, &copy.requests))
        return error_origin(-ENOMEM);
    added = VEC_PUSH(&builder->pods, builder->arena);
    if (!added)
        return error_origin(-ENOMEM);
    *added = copy;
    return 0;
}

int snapshot_builder_finish(SnapshotBuilder *builder, Snapshot **ret) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = calloc(1, sizeof(*snapshot));
    int r;

    if (!snapshot)
        return error_origin(-ENOMEM);
    snapshot->ref = REF_ONE;
    snapshot->arena = TAKE_PTR(builder->arena);
    r = table_build(builder->nodes.items,
        builder->nodes.n,
        builder->pods.items,
        builder->pods.n,
        snapshot->arena,
        &snapshot->table);
    if (r < 0)
        return error_trace(r);
    *ret = TAKE_PTR(snapshot);
    return 0;
}
