/* Lists: objects are staged next to the current ones, and replace them at the end of the list. */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "cluster/record.h"
#include "cluster/store-internal.h"

#define STAGED_FIRST 64u

/* Records of one kind. */
typedef struct StagedOps {
    uint64_t (*hash)(const void *item);
    SetMatch match; /* the key is a record too */
    void (*drop)(const void *item);
} StagedOps;

static uint64_t hash_node(const void *item) {
    return hash_str(((const Node *)item)->name);
}

static bool match_node(const void *item, const void *key) {
    return str_eq(((const Node *)item)->name, ((const Node *)key)->name);
}

static void drop_node(const void *item) {
    node_record_unref(item);
}

static uint64_t hash_pod(const void *item) {
    return pods_hash(item);
}

static void drop_pod(const void *item) {
    pod_record_unref(item);
}

static const StagedOps staged_ops[_STORE_KINDS] = {
    [STORE_NODES] = {hash_node, match_node, drop_node},
    [STORE_PODS] = {hash_pod, pods_match, drop_pod},
};

/* Forgets the records; @is_open from now on. */
static void staged_list_reset(Store *store, StoreKind kind, bool is_open) {
    StagedList *staged = &store->staged[kind];

    for (size_t i = 0; i < staged->n; i++)
        staged_ops[kind].drop(staged->items[i]);
    set_done(&staged->current);
    free(staged->items);
    *staged = (StagedList){.is_open = is_open};
}

static int make_room(StagedList *staged) {
    size_t n_rooms = staged->n_rooms ? staged->n_rooms * 2 : STAGED_FIRST;
    const void **items;

    if (staged->n < staged->n_rooms)
        return 0;
    items = realloc(staged->items, n_rooms * sizeof(*items));
    if (!items)
        return -ENOMEM;
    staged->items = items;
    staged->n_rooms = n_rooms;
    return 0;
}

/* Takes the reference to @item. 0, or -ENOMEM: not added. */
static int staged_list_add(Store *store, StoreKind kind, const void *item) {
    const StagedOps *ops = &staged_ops[kind];
    StagedList *staged = &store->staged[kind];
    uint64_t hash = ops->hash(item);
    const void *earlier = set_find(&staged->current, hash, ops->match, item);
    int r = make_room(staged);

    if (r == 0 && earlier)
        set_replace(&staged->current, hash, earlier, item);
    else if (r == 0)
        r = set_add(&staged->current, hash, item);
    if (r < 0) {
        ops->drop(item);
        return r;
    }
    staged->items[staged->n++] = item;
    staged->n_added++;
    return 0;
}

/* An item may have been added twice, so this walks from the end: the last one counts, and is
 * removed from the index until all are visited. */
static void staged_list_compact(Store *store, StoreKind kind) {
    const StagedOps *ops = &staged_ops[kind];
    StagedList *staged = &store->staged[kind];
    size_t n = 0;

    for (size_t i = staged->n; i-- > 0;) {
        if (set_remove(&staged->current, ops->hash(staged->items[i]), staged->items[i]))
            continue;
        ops->drop(staged->items[i]);
        staged->items[i] = NULL;
    }
    for (size_t i = 0; i < staged->n; i++) {
        int r = 0;

        if (!staged->items[i])
            continue;
        r = set_add(&staged->current, ops->hash(staged->items[i]), staged->items[i]);
        assert(r == 0); /* they all were in it before */
        (void)r;
        staged->items[n++] = staged->items[i];
    }
    staged->n = n;
}

void store_unstage(Store *store) {
    staged_list_reset(store, STORE_NODES, /* is_open= */ false);
    staged_list_reset(store, STORE_PODS, /* is_open= */ false);
}

void store_list_begin(Store *store, StoreKind kind) {
    staged_list_reset(store, kind, /* is_open= */ true);
}

int store_list_node(Store *store, const Node *node) {
    const Node *record = store_find_node(store, node->name);

    assert(store->staged[STORE_NODES].is_open);
    if (str_is_empty(node->name))
        return 0;
    if (store->staged[STORE_NODES].n_added >= store->nodes_max)
        return STORE_FULL;
    record = record && node_record_equal(record, node) ? node_record_ref(record)
                                                       : node_record_new(store->pool, node);
    return record ? staged_list_add(store, STORE_NODES, record) : -ENOMEM;
}

int store_list_pod(Store *store, const Pod *pod) {
    const Pod *record;

    assert(store->staged[STORE_PODS].is_open);
    if (store->staged[STORE_PODS].n_added >= store->pods_max)
        return STORE_FULL;
    record = store_pod_record(store, pods_find(&store->pods, pod), pod);
    return record ? staged_list_add(store, STORE_PODS, record) : -ENOMEM;
}

/* --- the end of a list: first reserves all memory, then nothing can fail -------------- */

/* Item @i of the list; NULL when the store has this very record already. */
static const Node *listed_node(const Store *store, size_t i) {
    const Node *node = store->staged[STORE_NODES].items[i];

    return store_find_node(store, node->name) == node ? NULL : node;
}

static const Pod *listed_pod(const Store *store, size_t i, const Pod **ret_old) {
    const Pod *pod = store->staged[STORE_PODS].items[i];

    *ret_old = pods_find(&store->pods, pod);
    return *ret_old == pod ? NULL : pod;
}

static int make_room_for_nodes(Store *store) {
    size_t n_new = 0, i;
    int r = 0;

    for (i = 0; r == 0 && i < store->staged[STORE_NODES].n; i++) {
        const Node *node = listed_node(store, i);

        if (!node)
            continue;
        n_new += !store_find_node(store, node->name);
        r = rows_promise(&store->rows, node->name, /* is_pod= */ false);
    }
    if (r < 0)
        i--; /* that one was not promised */
    else
        r = rows_reserve(&store->rows, n_new);
    while (r < 0 && i-- > 0) {
        const Node *node = listed_node(store, i);

        if (node)
            rows_withdraw(&store->rows, node->name);
    }
    return r;
}

static void end_nodes(Store *store) {
    for (size_t row = store->rows.n_rows; row-- > 0;) {
        NodeEntry *entry = row < store->rows.n_rows ? store->rows.by_row[row] : NULL;

        if (entry && !set_find(&store->staged[STORE_NODES].current, hash_str(entry->name),
                         match_node, &(Node){.name = entry->name}))
            rows_remove_node(&store->rows, entry);
    }
    for (size_t i = 0; i < store->staged[STORE_NODES].n; i++) {
        const Node *node = listed_node(store, i);

        if (node)
            rows_set_node(&store->rows, node_record_ref(node));
    }
}

static int make_room_for_pods(Store *store) {
    size_t n_new = 0, n_nominated = 0, i;
    int r = 0;

    for (i = 0; r == 0 && i < store->staged[STORE_PODS].n; i++) {
        const Pod *old, *pod = listed_pod(store, i, &old);

        if (!pod)
            continue;
        n_new += !old;
        n_nominated += pod_is_nominated(pod);
        if (store_needs_room(old, pod))
            r = rows_promise(&store->rows, pod->node_name, /* is_pod= */ true);
    }
    if (r < 0)
        i--; /* that one was not promised */
    else
        r = set_reserve(&store->pods, n_new);
    if (r == 0)
        r = set_reserve(&store->nominated, n_nominated);
    while (r < 0 && i-- > 0) {
        const Pod *old, *pod = listed_pod(store, i, &old);

        if (pod)
            store_withdraw_room(store, old, pod);
    }
    return r;
}

/* A loop over a set may visit an entry twice, but never misses one. */
static void drop_unlisted_pods(Store *store) {
    const Pod *pod;

    for (size_t i = 0; (pod = set_next(&store->pods, &i)); i++) {
        if (!pods_find(&store->staged[STORE_PODS].current, pod)) {
            store_drop_pod(store, pod);
            i--;
        }
    }
}

static void end_pods(Store *store) {
    drop_unlisted_pods(store);
    for (size_t i = 0; i < store->staged[STORE_PODS].n; i++) {
        const Pod *old, *pod = listed_pod(store, i, &old);

        if (pod && pod->is_terminal)
            store_end_pod(store, old, pod);
        else if (pod)
            store_put_pod(store, old, pod_record_ref(pod));
    }
}

int store_list_end(Store *store, StoreKind kind) {
    int r;

    assert(store->staged[kind].is_open);
    staged_list_compact(store, kind);
    r = kind == STORE_NODES ? make_room_for_nodes(store) : make_room_for_pods(store);
    if (r < 0)
        return r;
    if (kind == STORE_NODES)
        end_nodes(store);
    else
        end_pods(store);
    staged_list_reset(store, kind, /* is_open= */ false);
    store_sweep(store);
    return 0;
}
