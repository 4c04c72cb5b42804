/*
 * Pods of a store: where each counts, and the steps of a change.
 *
 * A change has two steps: allocations first, which may fail and leave everything unchanged, then
 * steps that cannot fail.
 */

#include "cluster/store-internal.h"

#include <assert.h>

#include "base/hash.h"
#include "cluster/record.h"

bool pods_match(const void *item, const void *key) {
    const Pod *pod = item, *wanted = key;

    return str_eq(pod->name, wanted->name) && str_eq(pod->namespace, wanted->namespace);
}

/* Both hashes are keyed, so nobody can choose names that collide. */
uint64_t pods_hash(const Pod *pod) {
    return hash_str(pod->namespace) * UINT64_C(0x9E3779B97F4A7C15) + hash_str(pod->name);
}

const Pod *pods_find(const Set *pods, const Pod *pod) {
    return set_find(pods, pods_hash(pod), pods_match, pod);
}

static bool is_same_node(const Pod *a, const Pod *b) {
    return pod_is_counted(a) && pod_is_counted(b) && str_eq(a->node_name, b->node_name);
}

/* The kept fields, to compare with a record. A pod that has ended needs only its identity, and only
 * while it is staged. */
static Pod kept_of(const Store *store, const Pod *pod) {
    Pod kept = *pod;

    if (pod->is_terminal)
        return (Pod){
            .name = pod->name, .namespace = pod->namespace, .uid = pod->uid, .is_terminal = true};
    if (!str_is_empty(pod->node_name) && !(store->pod_parts.fields & POD_BIT(POD_TOLERATIONS)))
        kept.tolerations = (Tolerations){0};
    if (str_is_empty(pod->node_name) && str_is_empty(pod->nominated_node_name))
        kept.details = NULL; /* on no node */
    return kept;
}

const Pod *store_pod_record(Store *store, const Pod *known, const Pod *pod) {
    Pod kept = kept_of(store, pod);

    return pod_record_replace(store->pool, known, &kept, &store->pod_parts);
}

/* A snapshot has the nominated pods whose node is known and that are not assumed. A change of nodes
 * marks rows anyway; a change of assumed pods does not if their node is unknown. */
void store_touch_nominated(Store *store) {
    if (store->nominated.n_used > 0)
        store->has_nominated_changed = true;
}

void store_forget(Store *store, Str uid) {
    const Pod *assumed = assumed_pods_take(&store->assumed, uid);

    if (!assumed)
        return;
    rows_remove_pod(&store->rows, assumed);
    pod_record_unref(assumed);
    store_touch_nominated(store);
}

bool store_needs_room(const Pod *old, const Pod *record) {
    return pod_is_counted(record) && !(old && is_same_node(old, record));
}

void store_withdraw_room(Store *store, const Pod *old, const Pod *record) {
    if (store_needs_room(old, record))
        rows_withdraw(&store->rows, record->node_name);
}

int store_make_room(Store *store, const Pod *old, const Pod *record) {
    int r = 0;

    if (store_needs_room(old, record))
        r = rows_promise(&store->rows, record->node_name, /* is_pod= */ true);
    if (r < 0)
        return r;
    r = set_reserve(&store->pods, old ? 0 : 1);
    if (r == 0)
        r = set_reserve(&store->nominated, pod_is_nominated(record) ? 1 : 0);
    if (r < 0)
        store_withdraw_room(store, old, record);
    return r;
}

static void add_reserved(Set *set, const Pod *pod) {
    int r = set_add(set, pods_hash(pod), pod);

    assert(r == 0);
    (void)r;
}

static void unlist_nominated(Store *store, const Pod *pod) {
    if (!pod_is_nominated(pod))
        return;
    (void)set_remove(&store->nominated, pods_hash(pod), pod);
    store->has_nominated_changed = true;
}

void store_drop_pod(Store *store, const Pod *pod) {
    store_forget(store, pod->uid);
    if (pod_is_counted(pod))
        rows_remove_pod(&store->rows, pod);
    unlist_nominated(store, pod);
    (void)set_remove(&store->pods, pods_hash(pod), pod);
    pod_record_unref(pod);
}

static void move_pod(Store *store, const Pod *old, const Pod *record) {
    if (old && is_same_node(old, record)) {
        rows_replace_pod(&store->rows, old, record);
        return;
    }
    if (old && pod_is_counted(old))
        rows_remove_pod(&store->rows, old);
    if (pod_is_counted(record))
        rows_add_pod(&store->rows, record);
}

/* Removes the assumed entry in the same step in which the pod itself starts to count. */
void store_put_pod(Store *store, const Pod *old, const Pod *record) {
    if (old && !pod_is_same(old, record))
        store_forget(store, old->uid);
    if (pod_is_counted(record)) {
        const AssumedPod *entry = assumed_pods_find(&store->assumed, record->uid);

        if (entry && entry->pod->is_guessed)
            store->n_guesses[str_eq(entry->pod->node_name, record->node_name)]++;
        store_forget(store, record->uid);
    }
    move_pod(store, old, record);
    if (old)
        unlist_nominated(store, old);
    if (pod_is_nominated(record)) {
        add_reserved(&store->nominated, record);
        store->has_nominated_changed = true;
    }
    if (old)
        set_replace(&store->pods, pods_hash(record), old, record);
    else
        add_reserved(&store->pods, record);
    pod_record_unref(old);
}

void store_end_pod(Store *store, const Pod *old, const Pod *pod) {
    if (old)
        store_drop_pod(store, old);
    store_forget(store, pod->uid);
}
