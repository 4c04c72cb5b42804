#include "cluster/store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/set.h"
#include "cluster/edition.h"
#include "cluster/ledger.h"
#include "cluster/pool.h"
#include "cluster/record.h"
#include "cluster/rows.h"
#include "cluster/staging.h"

/* So many parts more than twice those left by the last sweep make the next one worth it. */
#define SWEEP_SPARE 1024u

struct Store {
    Pool *pool;
    size_t n_parts_swept; /* parts left by the last sweep */

    Rows rows;     /* nodes, and which pods are on them */
    Set pods;      /* by namespace and name, pending ones too; references */
    Set nominated; /* those of them that wait for a node they were promised; borrowed */
    bool has_nominated_changed;
    Ledger ledger; /* its pods are at their rows too */
    Staging staged_nodes, staged_pods;

    Snapshot *published; /* NULL: none yet */
    size_t n_chunks_copied;

    size_t nodes_max, pods_max, ledger_max;
};

static void unstage_nodes(Store *store, bool is_open) {
    for (size_t i = 0; i < store->staged_nodes.n; i++)
        node_record_unref(store->staged_nodes.items[i]);
    staging_reset(&store->staged_nodes, is_open);
}

static void unstage_pods(Store *store, bool is_open) {
    for (size_t i = 0; i < store->staged_pods.n; i++)
        pod_record_unref(store->staged_pods.items[i]);
    staging_reset(&store->staged_pods, is_open);
}

Store *store_new(void) {
    Store *store = calloc(1, sizeof(*store));

    if (!store)
        return NULL;
    store_limit(store, STORE_NODES_MAX, STORE_PODS_MAX, STORE_LEDGER_MAX);
    store->pool = pool_new();
    return store->pool ? store : store_free(store);
}

Store *store_free(Store *store) {
    const Pod *pod;

    if (!store)
        return NULL;
    unstage_nodes(store, false);
    unstage_pods(store, false);
    rows_done(&store->rows);
    ledger_done(&store->ledger);
    set_done(&store->nominated);
    for (size_t i = 0; (pod = set_next(&store->pods, &i)); i++)
        pod_record_unref(pod);
    set_done(&store->pods);
    snapshot_unref(store->published);
    pool_free(store->pool);
    free(store);
    return NULL;
}

void store_limit(Store *store, size_t nodes_max, size_t pods_max, size_t ledger_max) {
    store->nodes_max = nodes_max;
    store->pods_max = pods_max;
    store->ledger_max = ledger_max;
}

/* --- keys ------------------------------------------------------------------------ */

static bool is_node(const void *item, const void *key) {
    return str_eq(((const Node *)item)->name, *(const Str *)key);
}

typedef struct PodKey {
    Str namespace, name;
} PodKey;

static bool is_pod(const void *item, const void *key) {
    const PodKey *wanted = key;
    const Pod *pod = item;

    return str_eq(pod->name, wanted->name) && str_eq(pod->namespace, wanted->namespace);
}

/* Both under the process's secret: whoever chooses names cannot make them collide. */
static uint64_t hash_key(PodKey key) {
    return hash_str(key.namespace) * UINT64_C(0x9E3779B97F4A7C15) + hash_str(key.name);
}

static PodKey key_of(const Pod *pod) {
    return (PodKey){.namespace = pod->namespace, .name = pod->name};
}

static uint64_t hash_of(const Pod *pod) {
    return hash_key(key_of(pod));
}

static const Pod *find_pod(const Set *pods, PodKey key) {
    return set_find(pods, hash_key(key), is_pod, &key);
}

const Node *store_find_node(const Store *store, Str name) {
    const Site *site = rows_find(&store->rows, name);

    return site ? site->node : NULL;
}

const Pod *store_find_pod(const Store *store, Str namespace, Str name) {
    return find_pod(&store->pods, (PodKey){.namespace = namespace, .name = name});
}

/* --- what a pod does -------------------------------------------------------------- */

/* It takes something of a node, known or not. */
static bool is_counted(const Pod *pod) {
    return !pod->is_terminal && !str_is_empty(pod->node_name);
}

static bool is_nominated(const Pod *pod) {
    return !pod->is_terminal && str_is_empty(pod->node_name) &&
           !str_is_empty(pod->nominated_node_name);
}

static bool is_same_site(const Pod *a, const Pod *b) {
    return is_counted(a) && is_counted(b) && str_eq(a->node_name, b->node_name);
}

static bool is_same_pod(const Pod *a, const Pod *b) {
    return str_eq(a->uid, b->uid);
}

/* Of what is kept, so that it can be compared with a record. Of a pod that has ended only
 * who it was is needed, and only while it is staged. */
static Pod kept_of(const Pod *pod) {
    Pod kept = *pod;

    if (pod->is_terminal)
        return (Pod){
            .name = pod->name, .namespace = pod->namespace, .uid = pod->uid, .is_terminal = true};
    if (!str_is_empty(pod->node_name))
        kept.tolerations = (Tolerations){0};
    return kept;
}

/* A reference to @known when it says all that @pod says; else a new record. */
static const Pod *pod_record_for(Store *store, const Pod *known, const Pod *pod) {
    Pod kept = kept_of(pod);

    if (known && pod_record_equal(known, &kept))
        return pod_record_ref(known);
    return pod_record_new(store->pool, &kept);
}

static const Node *node_record_for(Store *store, const Node *known, const Node *node) {
    if (known && node_record_equal(known, node))
        return node_record_ref(known);
    return node_record_new(store->pool, node);
}

/* Nominated pods are shown while their node is known and they do not count yet. A change of
 * nodes is a change of rows; one of the ledger is not, when nobody knows the node. */
static void touch_nominated(Store *store) {
    if (store->nominated.n_used > 0)
        store->has_nominated_changed = true;
}

/* The pod @uid does not count by the ledger any more. */
static void settle(Store *store, Str uid) {
    const Pod *assumed = ledger_take(&store->ledger, uid);

    if (!assumed)
        return;
    rows_remove_pod(&store->rows, assumed);
    pod_record_unref(assumed);
    touch_nominated(store);
}

/* --- changing a pod: room first, then what cannot fail ------------------------------ */

static bool needs_room(const Pod *old, const Pod *record) {
    return is_counted(record) && !(old && is_same_site(old, record));
}

static void withdraw_room(Store *store, const Pod *old, const Pod *record) {
    if (needs_room(old, record))
        rows_withdraw(&store->rows, record->node_name);
}

static int make_room(Store *store, const Pod *old, const Pod *record) {
    int r = needs_room(old, record) ? rows_promise_pod(&store->rows, record->node_name) : 0;

    if (r < 0)
        return error_trace(r);
    r = set_reserve(&store->pods, old ? 0 : 1);
    if (r == 0)
        r = set_reserve(&store->nominated, is_nominated(record) ? 1 : 0);
    if (r < 0)
        withdraw_room(store, old, record);
    return error_trace(r);
}

static void unlist_nominated(Store *store, const Pod *pod) {
    if (!is_nominated(pod))
        return;
    (void)set_remove(&store->nominated, hash_of(pod), pod);
    store->has_nominated_changed = true;
}

static void add_reserved(Set *set, const Pod *pod) {
    int r = set_add(set, hash_of(pod), pod);

    assert(r == 0);
    (void)r;
}

static void drop_pod(Store *store, const Pod *pod) {
    settle(store, pod->uid);
    if (is_counted(pod))
        rows_remove_pod(&store->rows, pod);
    unlist_nominated(store, pod);
    (void)set_remove(&store->pods, hash_of(pod), pod);
    pod_record_unref(pod);
}

static void move_pod(Store *store, const Pod *old, const Pod *record) {
    if (old && is_same_site(old, record)) {
        rows_replace_pod(&store->rows, old, record);
        return;
    }
    if (old && is_counted(old))
        rows_remove_pod(&store->rows, old);
    if (is_counted(record))
        rows_add_pod(&store->rows, record);
}

/* Puts @record, whose reference it takes, in the place of @old (NULL: there was none). The
 * ledger's entry goes in the same step in which the pod itself starts to count. */
static void put_pod(Store *store, const Pod *old, const Pod *record) {
    if (old && !is_same_pod(old, record))
        settle(store, old->uid);
    if (is_counted(record))
        settle(store, record->uid);
    move_pod(store, old, record);
    if (is_nominated(record)) {
        if (old)
            unlist_nominated(store, old);
        add_reserved(&store->nominated, record);
        store->has_nominated_changed = true;
    } else if (old) {
        unlist_nominated(store, old);
    }
    if (old)
        set_replace(&store->pods, hash_of(record), old, record);
    else
        add_reserved(&store->pods, record);
    pod_record_unref(old);
}

/* It has ended: as if it were gone. */
static void end_pod(Store *store, const Pod *old, const Pod *pod) {
    if (old)
        drop_pod(store, old);
    settle(store, pod->uid);
}

/* --- events ---------------------------------------------------------------------- */

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
        return error_origin(-ENOMEM);
    r = rows_reserve(&store->rows, 1);
    if (r == 0)
        r = rows_promise_node(&store->rows, node->name);
    if (r < 0)
        return error_trace(r);
    rows_set_node(&store->rows, TAKE_PTR(record));
    return 0;
}

int store_remove_node(Store *store, Str name) {
    Site *site = rows_find(&store->rows, name);

    if (site && site->node)
        rows_remove_node(&store->rows, site);
    return 0;
}

int store_apply_pod(Store *store, const Pod *pod) {
    const Pod *old = find_pod(&store->pods, key_of(pod));
    _cleanup_(pod_record_unrefp) const Pod *record = NULL;
    bool is_bound;
    int r;

    if (pod->is_terminal) {
        end_pod(store, old, pod);
        return 0;
    }
    if (!old && store->pods.n_used >= store->pods_max)
        return STORE_FULL;
    record = pod_record_for(store, old, pod);
    if (!record)
        return error_origin(-ENOMEM);
    if (record == old)
        return 0;
    r = make_room(store, old, record);
    if (r < 0)
        return error_trace(r);
    is_bound = is_counted(record) && !(old && is_same_pod(old, record) && is_counted(old));
    put_pod(store, old, TAKE_PTR(record));
    return is_bound ? STORE_BOUND : 0;
}

int store_remove_pod(Store *store, Str namespace, Str name, Str uid) {
    const Pod *pod = store_find_pod(store, namespace, name);

    if (!str_is_empty(uid))
        settle(store, uid);
    if (pod && (str_is_empty(uid) || str_eq(pod->uid, uid)))
        drop_pod(store, pod);
    return 0;
}

/* --- lists ----------------------------------------------------------------------- */

void store_list_begin(Store *store, StoreKind kind) {
    if (kind == STORE_NODES)
        unstage_nodes(store, true);
    else
        unstage_pods(store, true);
}

int store_list_node(Store *store, const Node *node) {
    _cleanup_(node_record_unrefp) const Node *record = NULL;
    int r;

    assert(store->staged_nodes.is_open);
    if (str_is_empty(node->name))
        return 0;
    if (store->staged_nodes.n_added >= store->nodes_max)
        return STORE_FULL;
    record = node_record_for(store, store_find_node(store, node->name), node);
    if (!record)
        return error_origin(-ENOMEM);
    r = staging_add(&store->staged_nodes, hash_str(record->name), is_node, &record->name, record);
    if (r < 0)
        return error_trace(r);
    TAKE_PTR(record);
    return 0;
}

int store_list_pod(Store *store, const Pod *pod) {
    PodKey key = key_of(pod);
    _cleanup_(pod_record_unrefp) const Pod *record = NULL;
    int r;

    assert(store->staged_pods.is_open);
    if (store->staged_pods.n_added >= store->pods_max)
        return STORE_FULL;
    record = pod_record_for(store, find_pod(&store->pods, key), pod);
    if (!record)
        return error_origin(-ENOMEM);
    r = staging_add(&store->staged_pods, hash_key(key), is_pod, &key, record);
    if (r < 0)
        return error_trace(r);
    TAKE_PTR(record);
    return 0;
}

static uint64_t hash_listed_node(const void *item) {
    return hash_str(((const Node *)item)->name);
}

static uint64_t hash_listed_pod(const void *item) {
    return hash_of(item);
}

static void drop_listed_node(const void *item) {
    node_record_unref(item);
}

static void drop_listed_pod(const void *item) {
    pod_record_unref(item);
}

/* Item @i of the list; NULL when it is the record that is there already. */
static const Node *listed_node(const Store *store, size_t i) {
    const Node *node = store->staged_nodes.items[i];

    return store_find_node(store, node->name) == node ? NULL : node;
}

static const Pod *listed_pod(const Store *store, size_t i, const Pod **ret_old) {
    const Pod *pod = store->staged_pods.items[i];

    *ret_old = find_pod(&store->pods, key_of(pod));
    return *ret_old == pod ? NULL : pod;
}

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
    return error_trace(r);
}

static int end_nodes(Store *store) {
    int r;

    staging_compact(&store->staged_nodes, hash_listed_node, drop_listed_node);
    r = make_room_for_nodes(store);
    if (r < 0)
        return error_trace(r);
    for (size_t row = store->rows.n_rows; row-- > 0;) {
        Site *site = row < store->rows.n_rows ? store->rows.by_row[row] : NULL;

        if (site &&
            !set_find(&store->staged_nodes.current, hash_str(site->name), is_node, &site->name))
            rows_remove_node(&store->rows, site);
    }
    for (size_t i = 0; i < store->staged_nodes.n; i++) {
        const Node *node = listed_node(store, i);

        if (node)
            rows_set_node(&store->rows, node_record_ref(node));
    }
    unstage_nodes(store, false);
    return 0;
}

static void withdraw_pods(Store *store, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const Pod *old, *pod = listed_pod(store, i, &old);

        if (pod)
            withdraw_room(store, old, pod);
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
        n_nominated += is_nominated(pod);
        if (needs_room(old, pod))
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
    return error_trace(r);
}

/* After the loop over a set it may be that one was looked at twice, never that one was not. */
static void drop_unlisted_pods(Store *store) {
    const Pod *pod;

    for (size_t i = 0; (pod = set_next(&store->pods, &i)); i++) {
        if (!find_pod(&store->staged_pods.current, key_of(pod))) {
            drop_pod(store, pod);
            i--;
        }
    }
}

static int end_pods(Store *store) {
    int r;

    staging_compact(&store->staged_pods, hash_listed_pod, drop_listed_pod);
    r = make_room_for_pods(store);
    if (r < 0)
        return error_trace(r);
    drop_unlisted_pods(store);
    for (size_t i = 0; i < store->staged_pods.n; i++) {
        const Pod *old, *pod = listed_pod(store, i, &old);

        if (pod && pod->is_terminal)
            end_pod(store, old, pod);
        else if (pod)
            put_pod(store, old, pod_record_ref(pod));
    }
    unstage_pods(store, false);
    return 0;
}

static void sweep_if_worth_it(Store *store) {
    if (pool_size(store->pool) <= 2 * store->n_parts_swept + SWEEP_SPARE)
        return;
    (void)pool_sweep(store->pool);
    store->n_parts_swept = pool_size(store->pool);
}

int store_list_end(Store *store, StoreKind kind) {
    int r;

    assert(kind == STORE_NODES ? store->staged_nodes.is_open : store->staged_pods.is_open);
    r = kind == STORE_NODES ? end_nodes(store) : end_pods(store);
    if (r == 0)
        sweep_if_worth_it(store);
    return error_trace(r);
}

/* --- the ledger ------------------------------------------------------------------ */

/* Takes the reference to @pod, for which there is room at its place. */
static int enter(Store *store, LedgerEntry *entry, const Pod *pod, int64_t until_nsec) {
    int r;

    if (entry) {
        rows_remove_pod(&store->rows, entry->pod);
        pod_record_unref(entry->pod);
        *entry = (LedgerEntry){.pod = pod, .until_nsec = until_nsec};
    } else {
        r = ledger_add(&store->ledger, pod, until_nsec);
        if (r < 0) {
            rows_withdraw(&store->rows, pod->node_name);
            pod_record_unref(pod);
            return error_trace(r);
        }
    }
    rows_add_pod(&store->rows, pod);
    touch_nominated(store);
    return 0;
}

int store_assume(Store *store, const Pod *pod, Str node, int64_t until_nsec) {
    const Pod *known = find_pod(&store->pods, key_of(pod));
    LedgerEntry *entry = ledger_find(&store->ledger, pod->uid);
    _cleanup_(pod_record_unrefp) const Pod *record = NULL;
    Pod assumed = *pod;
    int r;

    if (str_is_empty(node) || (known && is_same_pod(known, pod) && is_counted(known)))
        return 0;
    if (!entry && ledger_count(&store->ledger) >= store->ledger_max)
        return STORE_FULL;
    assumed.node_name = node;
    assumed.is_terminal = false;
    record = pod_record_for(store, entry ? entry->pod : NULL, &assumed);
    if (!record)
        return error_origin(-ENOMEM);
    if (entry && entry->pod == record) {
        entry->until_nsec = until_nsec;
        return 0;
    }
    r = rows_promise_pod(&store->rows, node);
    if (r < 0)
        return error_trace(r);
    return error_trace(enter(store, entry, TAKE_PTR(record), until_nsec));
}

int store_forget(Store *store, Str uid) {
    settle(store, uid);
    return 0;
}

const Pod *store_find_assumed(const Store *store, Str uid, int64_t *ret_until_nsec) {
    const LedgerEntry *entry = ledger_find(&store->ledger, uid);

    if (!entry)
        return NULL;
    *ret_until_nsec = entry->until_nsec;
    return entry->pod;
}

size_t store_expire(Store *store, int64_t now_nsec, int64_t *ret_next) {
    size_t n = 0, i = 0;
    const Pod *pod;

    while ((pod = ledger_take_expired(&store->ledger, now_nsec, &i))) {
        rows_remove_pod(&store->rows, pod);
        pod_record_unref(pod);
        n++;
    }
    if (n > 0)
        touch_nominated(store);
    *ret_next = ledger_next(&store->ledger);
    return n;
}

/* --- publishing ------------------------------------------------------------------ */

bool store_is_dirty(const Store *store) {
    return !store->published || store->rows.n_changed > 0 || store->has_nominated_changed;
}

/* The highest priority first: the more important a pod, the less it may be forgotten. Then by
 * key: the order in which they came must not decide who is over the ceiling. */
static int compare_nominated(const void *a, const void *b) {
    const Pod *x = *(const Pod *const *)a, *y = *(const Pod *const *)b;
    int order = (x->priority < y->priority) - (x->priority > y->priority);

    if (order == 0)
        order = str_cmp(x->namespace, y->namespace);
    return order ? order : str_cmp(x->name, y->name);
}

static int compare_uids(const void *a, const void *b) {
    return str_cmp((*(const Pod *const *)a)->uid, (*(const Pod *const *)b)->uid);
}

static size_t collect_nominated(const Store *store, const Pod **pods) {
    const Pod *pod;
    size_t n = 0;

    for (size_t i = 0; (pod = set_next(&store->nominated, &i)); i++)
        if (store_find_node(store, pod->nominated_node_name) &&
            !ledger_find(&store->ledger, pod->uid))
            pods[n++] = pod;
    if (n > 0)
        qsort(pods, n, sizeof(*pods), compare_nominated);
    return n < TABLE_NOMINATED_MAX ? n : TABLE_NOMINATED_MAX;
}

static size_t collect_assumed(const Store *store, const Pod **pods) {
    const LedgerEntry *entry;
    size_t n = 0;

    for (size_t i = 0; (entry = set_next(&store->ledger.entries, &i)); i++)
        pods[n++] = entry->pod;
    if (n > 0)
        qsort(pods, n, sizeof(*pods), compare_uids);
    return n;
}

static int publish_new(Store *store) {
    size_t n_max = store->nominated.n_used + ledger_count(&store->ledger);
    const Pod **nominated = malloc((n_max + 1) * sizeof(*nominated));
    const Pod **assumed;
    Snapshot *snapshot = NULL;
    size_t n_copied = 0;
    int r;

    if (!nominated)
        return error_origin(-ENOMEM);
    assumed = nominated + store->nominated.n_used;
    r = edition_make(&store->rows,
        store->published,
        &(Waiting){
            .nominated = nominated,
            .n_nominated = collect_nominated(store, nominated),
            .assumed = assumed,
            .n_assumed = collect_assumed(store, assumed),
        },
        &snapshot,
        &n_copied);
    free(nominated);
    if (r < 0)
        return error_trace(r);
    rows_settle(&store->rows);
    store->has_nominated_changed = false;
    store->n_chunks_copied += n_copied;
    snapshot_unref(store->published);
    store->published = snapshot;
    sweep_if_worth_it(store);
    return 0;
}

int store_publish(Store *store, Snapshot **ret) {
    int r = store_is_dirty(store) ? publish_new(store) : 0;

    if (r < 0)
        return error_trace(r);
    *ret = snapshot_ref(store->published);
    return 0;
}

void store_figures(const Store *store, StoreFigures *ret) {
    *ret = (StoreFigures){
        .n_nodes = store->rows.n_nodes,
        .n_pods = store->pods.n_used,
        .n_assumed = ledger_count(&store->ledger),
        .n_chunks_copied = store->n_chunks_copied,
        .n_parts = pool_size(store->pool),
        .n_resources_left_out = store->published ? snapshot_words(store->published)->n_left_out : 0,
    };
}
