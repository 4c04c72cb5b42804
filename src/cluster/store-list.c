/* Lists: objects are staged next to the current ones, and replace them at the end of the list. */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "cluster/record.h"
#include "cluster/store-internal.h"

/* --- lists while they come in ------------------------------------------------------------ */

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

static const StagedOps node_ops = {hash_node, match_node, drop_node};
static const StagedOps pod_ops = {hash_pod, pods_match, drop_pod};

/* Forgets the records; @is_open from now on. */
static void staged_list_reset(StagedList *staged, const StagedOps *ops, bool is_open) {
    for (size_t i = 0; i < staged->n; i++)
        ops->drop(staged->items[i]);
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
static int staged_list_add(StagedList *staged, const StagedOps *ops, const void *item) {
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
static void staged_list_compact(StagedList *staged, const StagedOps *ops) {
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

/* --- the list so far ----------------------------------------------------------------- */

void store_unstage(Store *store) {
    staged_list_reset(&store->staged_nodes, &node_ops, /* is_open= */ false);
    staged_list_reset(&store->staged_pods, &pod_ops, /* is_open= */ false);
}

/* As store_pod_record(). */
static const Node *node_record_for(Store *store, const Node *known, const Node *node) {
    if (known && node_record_equal(known, node))
        return node_record_ref(known);
    return node_record_new(store->pool, node);
}

void store_list_begin(Store *store, StoreKind kind) {
    if (kind == STORE_NODES)
        staged_list_reset(&store->staged_nodes, &node_ops, /* is_open= */ true);
    else
        staged_list_reset(&store->staged_pods, &pod_ops, /* is_open= */ true);
}

int store_list_node(Store *store, const Node *node) {
    const Node *record;

    assert(store->staged_nodes.is_open);
    if (str_is_empty(node->name))
        return 0;
    if (store->staged_nodes.n_added >= store->nodes_max)
        return STORE_FULL;
    record = node_record_for(store, store_find_node(store, node->name), node);
    return record ? staged_list_add(&store->staged_nodes, &node_ops, record) : -ENOMEM;
}

int store_list_pod(Store *store, const Pod *pod) {
    const Pod *record;

    assert(store->staged_pods.is_open);
    if (store->staged_pods.n_added >= store->pods_max)
        return STORE_FULL;
    record = store_pod_record(store, pods_find(&store->pods, pod), pod);
    return record ? staged_list_add(&store->staged_pods, &pod_ops, record) : -ENOMEM;
}

/* --- its end: room for all of it first, then what cannot fail ------------------------ */

/* Item @i of the list; NULL when it is the record that is there already. */
static const Node *listed_node(const Store *store, size_t i) {
    const Node *node = store->staged_nodes.items[i];

    return store_find_node(store, node->name) == node ? NULL : node;
}

static const Pod *listed_pod(const Store *store, size_t i, const Pod **ret_old) {
    const Pod *pod = store->staged_pods.items[i];

    *ret_old = pods_find(&store->pods, pod);
    return *ret_old == pod ? NULL : pod;
}

/* --- nodes --------------------------------------------------------------------------- */

static void withdraw_nodes(Store *store, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const Node *node = listed_node(store, i);

        if (node)
            rows_withdraw(&store->rows, node->name);
    }
}

static int make_room_for_nodes(Store *store) {
    size_t n_new = 0, i;
    int r = 0;

    for (i = 0; r == 0 && i < store->staged_nodes.n; i++) {
        const Node *node = listed_node(store, i);

        if (!node)
            continue;
        n_new += !store_find_node(store, node->name);
        r = rows_promise_node(&store->rows, node->name);
    }
    if (r < 0)
        i--; /* that one was not promised */
    else
        r = rows_reserve(&store->rows, n_new);
    if (r < 0)
        withdraw_nodes(store, i);
    return r;
}

static int end_nodes(Store *store) {
    int r;

    staged_list_compact(&store->staged_nodes, &node_ops);
    r = make_room_for_nodes(store);
    if (r < 0)
        return r;
    for (size_t row = store->rows.n_rows; row-- > 0;) {
        NodeEntry *entry = row < store->rows.n_rows ? store->rows.by_row[row] : NULL;

        if (entry && !set_find(&store->staged_nodes.current, hash_str(entry->name), match_node,
                         &(Node){.name = entry->name}))
            rows_remove_node(&store->rows, entry);
    }
    for (size_t i = 0; i < store->staged_nodes.n; i++) {
        const Node *node = listed_node(store, i);

        if (node)
            rows_set_node(&store->rows, node_record_ref(node));
    }
    staged_list_reset(&store->staged_nodes, &node_ops, /* is_open= */ false);
    return 0;
}

/* --- pods ---------------------------------------------------------------------------- */

static void withdraw_pods(Store *store, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const Pod *old, *pod = listed_pod(store, i, &old);

        if (pod)
            store_withdraw_room(store, old, pod);
    }
}

static int make_room_for_pods(Store *store) {
    size_t n_new = 0, n_nominated = 0, i;
    int r = 0;

    for (i = 0; r == 0 && i < store->staged_pods.n; i++) {
        const Pod *old, *pod = listed_pod(store, i, &old);

        if (!pod)
            continue;
        n_new += !old;
        n_nominated += pod_is_nominated(pod);
        if (store_needs_room(old, pod))
            r = rows_promise_pod(&store->rows, pod->node_name);
    }
    if (r < 0)
        i--; /* that one was not promised */
    else
        r = set_reserve(&store->pods, n_new);
    if (r == 0)
        r = set_reserve(&store->nominated, n_nominated);
    if (r < 0)
        withdraw_pods(store, i);
    return r;
}

/* A loop over a set may visit an entry twice, but never misses one. */
static void drop_unlisted_pods(Store *store) {
    const Pod *pod;

    for (size_t i = 0; (pod = set_next(&store->pods, &i)); i++) {
        if (!pods_find(&store->staged_pods.current, pod)) {
            store_drop_pod(store, pod);
            i--;
        }
    }
}

static int end_pods(Store *store) {
    int r;

    staged_list_compact(&store->staged_pods, &pod_ops);
    r = make_room_for_pods(store);
    if (r < 0)
        return r;
    drop_unlisted_pods(store);
    for (size_t i = 0; i < store->staged_pods.n; i++) {
        const Pod *old, *pod = listed_pod(store, i, &old);

        if (pod && pod->is_terminal)
            store_end_pod(store, old, pod);
        else if (pod)
            store_put_pod(store, old, pod_record_ref(pod));
    }
    staged_list_reset(&store->staged_pods, &pod_ops, /* is_open= */ false);
    return 0;
}

/* --- either -------------------------------------------------------------------------- */

int store_list_end(Store *store, StoreKind kind) {
    int r;

    assert(kind == STORE_NODES ? store->staged_nodes.is_open : store->staged_pods.is_open);
    r = kind == STORE_NODES ? end_nodes(store) : end_pods(store);
    if (r == 0)
        store_sweep(store);
    return r;
}
