/* The cluster while it changes: events, assumed pods, publishing. */

#include "cluster/store-internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "cluster/record.h"
#include "cluster/snapshot.h"

/* The pool is swept when it has over twice the parts that the last sweep left, plus this many. */
#define SWEEP_SPARE 1024u

Store *store_new(void) {
    Store *store = calloc(1, sizeof(*store));

    if (!store)
        return NULL;
    store_limit(store, STORE_NODES_MAX, STORE_PODS_MAX, STORE_ASSUMED_MAX);
    store->pod_parts = pod_parts_all;
    store->pool = record_pool_new();
    return store->pool ? store : store_free(store);
}

Store *store_free(Store *store) {
    const Pod *pod;

    if (!store)
        return NULL;
    store_unstage(store);
    related_objects_done(&store->related);
    related_objects_done(&store->staged_related);
    rows_done(&store->rows);
    assumed_pods_done(&store->assumed);
    set_done(&store->nominated);
    for (size_t i = 0; (pod = set_next(&store->pods, &i)); i++)
        pod_record_unref(pod);
    set_done(&store->pods);
    snapshot_unref(store->published);
    record_pool_free(store->pool);
    free(store);
    return NULL;
}

void store_limit(Store *store, size_t nodes_max, size_t pods_max, size_t assumed_max) {
    store->nodes_max = nodes_max;
    store->pods_max = pods_max;
    store->assumed_max = assumed_max;
}

void store_keep_pod_parts(Store *store, const PodParts *parts) {
    store->pod_parts = *parts;
}

const Node *store_find_node(const Store *store, Str name) {
    const NodeEntry *entry = rows_find(&store->rows, name);

    return entry ? entry->node : NULL;
}

const Pod *store_find_pod(const Store *store, Str namespace, Str name) {
    return pods_find(&store->pods, &(Pod){.namespace = namespace, .name = name});
}

int store_apply_node(Store *store, const Node *node) {
    const Node *known = store_find_node(store, node->name);
    _cleanup_(node_record_unrefp) const Node *record = NULL;
    int r;

    if (str_is_empty(node->name) || (known && node_record_equal(known, node)))
        return 0;
    if (!known && store->rows.n_nodes >= store->nodes_max)
        return STORE_FULL;
    record = node_record_new(store->pool, node);
    if (!record)
        return -ENOMEM;
    r = rows_reserve(&store->rows, 1);
    if (r == 0)
        r = rows_promise(&store->rows, node->name, /* is_pod= */ false);
    if (r < 0)
        return r;
    rows_set_node(&store->rows, TAKE_PTR(record));
    return 0;
}

void store_remove_node(Store *store, Str name) {
    NodeEntry *entry = rows_find(&store->rows, name);

    if (entry && entry->node)
        rows_remove_node(&store->rows, entry);
}

int store_apply_pod(Store *store, const Pod *pod) {
    const Pod *old = pods_find(&store->pods, pod);
    _cleanup_(pod_record_unrefp) const Pod *record = NULL;
    bool is_bound;
    int r;

    if (pod->is_terminal) {
        store_end_pod(store, old, pod);
        return 0;
    }
    if (!old && store->pods.n_used >= store->pods_max)
        return STORE_FULL;
    record = store_pod_record(store, old, pod);
    if (!record)
        return -ENOMEM;
    if (record == old)
        return 0;
    r = store_make_room(store, old, record);
    if (r < 0)
        return r;
    is_bound = pod_is_counted(record) && !(old && pod_is_same(old, record) && pod_is_counted(old));
    store_put_pod(store, old, TAKE_PTR(record));
    return is_bound ? STORE_BOUND : 0;
}

void store_remove_pod(Store *store, Str namespace, Str name, Str uid) {
    const Pod *pod = store_find_pod(store, namespace, name);

    if (!str_is_empty(uid)) {
        store->removed[store->n_removed++ % STORE_REMOVED_MAX] = hash_str(uid);
        store_forget(store, uid);
    }
    if (pod && (str_is_empty(uid) || str_eq(pod->uid, uid)))
        store_drop_pod(store, pod);
}

/* If another UID has the same hash, one pod is missing in the ledger until the watch shows it. */
bool store_was_removed(const Store *store, Str uid) {
    uint64_t hash = hash_str(uid);

    for (size_t i = 0; i < STORE_REMOVED_MAX && i < store->n_removed; i++)
        if (store->removed[i] == hash)
            return true;
    return false;
}

int store_assume(Store *store, const Pod *pod, Str node, int64_t until_nsec) {
    const Pod *known = pods_find(&store->pods, pod);
    AssumedPod *entry = assumed_pods_find(&store->assumed, pod->uid);
    _cleanup_(pod_record_unrefp) const Pod *record = NULL;
    Pod assumed = *pod;
    int r;

    if (str_is_empty(node) || (known && pod_is_same(known, pod) && pod_is_counted(known)))
        return 0;
    if (!entry && assumed_pods_count(&store->assumed) >= store->assumed_max)
        return STORE_FULL;
    assumed.node_name = node;
    assumed.is_terminal = false;
    record = store_pod_record(store, entry ? entry->pod : NULL, &assumed);
    if (!record)
        return -ENOMEM;
    if (entry && entry->pod == record) {
        entry->until_nsec = until_nsec;
        return 0;
    }
    r = rows_promise(&store->rows, node, /* is_pod= */ true);
    if (r < 0)
        return r;
    if (entry) {
        rows_remove_pod(&store->rows, entry->pod);
        pod_record_unref(entry->pod);
        *entry = (AssumedPod){.pod = record, .until_nsec = until_nsec};
    } else {
        r = assumed_pods_add(&store->assumed, record, until_nsec);
    }
    if (r < 0) {
        rows_withdraw(&store->rows, node);
        return r;
    }
    rows_add_pod(&store->rows, TAKE_PTR(record));
    store_touch_nominated(store);
    return 0;
}

const Pod *store_find_assumed(const Store *store, Str uid, int64_t *ret_until_nsec) {
    const AssumedPod *entry = assumed_pods_find(&store->assumed, uid);

    if (!entry)
        return NULL;
    *ret_until_nsec = entry->until_nsec;
    return entry->pod;
}

size_t store_expire(Store *store, int64_t now_nsec, int64_t *ret_next) {
    size_t n = 0, i = 0;
    const Pod *pod;

    while ((pod = assumed_pods_take_expired(&store->assumed, now_nsec, &i))) {
        n += !pod->is_guessed;
        rows_remove_pod(&store->rows, pod);
        pod_record_unref(pod);
        store_touch_nominated(store);
    }
    *ret_next = assumed_pods_next(&store->assumed);
    return n;
}

bool store_is_dirty(const Store *store) {
    return !store->published || store->rows.n_changed > 0 || store->has_nominated_changed ||
           store->has_related_changed;
}

/* The highest priority first, so that less important pods are dropped. Then by key: the order of
 * arrival must not decide which pod exceeds the limit. */
static int compare_nominated(const void *a, const void *b) {
    const Pod *x = *(const Pod *const *)a, *y = *(const Pod *const *)b;
    int order = (x->priority < y->priority) - (x->priority > y->priority);

    return order ? order : pod_compare_names(x, y);
}

static int compare_uids(const void *a, const void *b) {
    return str_cmp((*(const Pod *const *)a)->uid, (*(const Pod *const *)b)->uid);
}

static size_t collect_nominated(const Store *store, const Pod **pods) {
    const Pod *pod;
    size_t n = 0;

    for (size_t i = 0; (pod = set_next(&store->nominated, &i)); i++)
        if (store_find_node(store, pod->nominated_node_name) &&
            !assumed_pods_find(&store->assumed, pod->uid))
            pods[n++] = pod;
    qsort(pods, n, sizeof(*pods), compare_nominated);
    return n < TABLE_NOMINATED_MAX ? n : TABLE_NOMINATED_MAX;
}

static size_t collect_assumed(const Store *store, const Pod **pods) {
    const AssumedPod *entry;
    size_t n = 0;

    for (size_t i = 0; (entry = set_next(&store->assumed.entries, &i)); i++)
        pods[n++] = entry->pod;
    qsort(pods, n, sizeof(*pods), compare_uids);
    return n;
}

void store_sweep(Store *store) {
    if (record_pool_size(store->pool) <= 2 * store->n_parts_swept + SWEEP_SPARE)
        return;
    (void)record_pool_sweep(store->pool);
    store->n_parts_swept = record_pool_size(store->pool);
}

static int publish_new(Store *store) {
    size_t n_max = store->nominated.n_used + assumed_pods_count(&store->assumed);
    const Pod **nominated = malloc((n_max + 1) * sizeof(*nominated));
    const Pod **assumed;
    Snapshot *snapshot = NULL;
    size_t n_copied = 0;
    int r;

    if (!nominated)
        return -ENOMEM;
    assumed = nominated + store->nominated.n_used;
    r = snapshot_build(&store->rows, store->published,
        &(NodeTable){
            .nominated = nominated,
            .n_nominated = collect_nominated(store, nominated),
            .assumed = assumed,
            .n_assumed = collect_assumed(store, assumed),
        },
        &snapshot, &n_copied);
    free(nominated);
    if (r < 0)
        return r;
    snapshot_set_related(snapshot, &store->related);
    rows_settle(&store->rows);
    store->has_nominated_changed = false;
    store->has_related_changed = false;
    store->n_chunks_copied += n_copied;
    snapshot_unref(store->published);
    store->published = snapshot;
    store_sweep(store);
    return 0;
}

int store_publish(Store *store, Snapshot **ret) {
    int r = store_is_dirty(store) ? publish_new(store) : 0;

    if (r < 0)
        return r;
    *ret = snapshot_ref(store->published);
    return 0;
}

void store_figures(const Store *store, StoreFigures *ret) {
    *ret = (StoreFigures){
        .n_nodes = store->rows.n_nodes,
        .n_pods = store->pods.n_used,
        .n_assumed = assumed_pods_count(&store->assumed),
        .n_guesses = {store->n_guesses[false], store->n_guesses[true]},
        .n_chunks_copied = store->n_chunks_copied,
        .n_parts = record_pool_size(store->pool),
        .n_resources_left_out =
            store->published ? snapshot_dictionary(store->published)->n_left_out : 0,
    };
}
