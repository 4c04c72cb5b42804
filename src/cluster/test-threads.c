/* One thread changes and publishes, others hold snapshots, read them and release them: any thread
 * may release the last reference to a record. For ThreadSanitizer and AddressSanitizer. */

#include <pthread.h>
#include <stdio.h>

#include "base/test-assert.h"
#include "cluster/store.h"

#define N_NODES 130u
#define N_PODS 200u
#define N_TURNS 1500u
#define N_READERS 3u

typedef struct Shared {
    pthread_mutex_t mutex; /* guards what follows */
    Snapshot *current;
    bool is_over;
} Shared;

static Snapshot *take_current(Shared *shared, bool *ret_over) {
    Snapshot *snapshot;

    pthread_mutex_lock(&shared->mutex);
    snapshot = snapshot_ref(shared->current);
    *ret_over = shared->is_over;
    pthread_mutex_unlock(&shared->mutex);
    return snapshot;
}

/* Takes over the reference. */
static void set_current(Shared *shared, Snapshot *snapshot) {
    Snapshot *old;

    pthread_mutex_lock(&shared->mutex);
    old = shared->current;
    shared->current = snapshot;
    pthread_mutex_unlock(&shared->mutex);
    snapshot_unref(old);
}

/* Whether sums and lists agree at any time. */
static bool is_coherent(const NodeTable *table) {
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const NodeChunk *chunk = table_chunk(table, row);
        size_t slot = table_slot(row);
        const Node *node = chunk->nodes[slot];
        int64_t requested = 0;

        for (uint32_t i = 0; i < chunk->n_pods[slot]; i++) {
            const Pod *pod = chunk->pods[slot]->items[i];

            requested += resources_get(&pod->requests, STR("cpu"));
            if (!str_eq(pod->node_name, node->name) || !labels_find(&pod->labels, STR("app")))
                return false;
        }
        if (requested != table_amount(table, row, TABLE_CPU, AMOUNT_REQUESTED))
            return false;
        if (node && !labels_find(table_labels(table, row), STR("pool")))
            return false;
    }
    return true;
}

static void *read_snapshots(void *argument) {
    Shared *shared = argument;
    bool is_over = false, is_fine = true;

    while (is_fine && !is_over) {
        Snapshot *snapshot = take_current(shared, &is_over);

        is_fine = is_coherent(snapshot_table(snapshot));
        snapshot_unref(snapshot);
    }
    return is_fine ? shared : NULL;
}

static void apply_node(Store *store, unsigned index, unsigned variant) {
    char name[32], value[32];
    Label label = {.key = STR("pool")};
    Resource cpu = {STR("cpu"), 1000};

    (void)snprintf(name, sizeof(name), "node-%u", index);
    (void)snprintf(value, sizeof(value), "pool-%u", variant);
    label.value = str_from_c(value);
    assert_true(store_apply_node(store, &(Node){.name = str_from_c(name),
                                            .labels = {.items = &label, .n = 1},
                                            .allocatable = {.items = &cpu, .n = 1}}) >= 0);
}

static void apply_pod(Store *store, unsigned index, unsigned variant) {
    char name[32], value[32], node[32];
    Label label = {.key = STR("app")};
    Resource cpu = {STR("cpu"), variant % 50};

    (void)snprintf(name, sizeof(name), "pod-%u", index);
    (void)snprintf(value, sizeof(value), "app-%u", variant);
    (void)snprintf(node, sizeof(node), "node-%u", variant % N_NODES);
    label.value = str_from_c(value);
    assert_true(store_apply_pod(store, &(Pod){.name = str_from_c(name),
                                           .uid = str_from_c(name),
                                           .node_name = str_from_c(node),
                                           .labels = {.items = &label, .n = 1},
                                           .requests = {.items = &cpu, .n = 1}}) >= 0);
}

static void change(Store *store, unsigned turn) {
    char name[32];

    for (unsigned i = 0; i < 4; i++)
        apply_pod(store, (turn * 4 + i) * 7 % N_PODS, turn * 13 + i);
    if (turn % 5 == 0)
        apply_node(store, turn / 5 % N_NODES, turn);
    if (turn % 11 == 0) {
        (void)snprintf(name, sizeof(name), "node-%u", turn / 11 % N_NODES);
        store_remove_node(store, str_from_c(name));
    }
}

static void test_readers(void **state) {
    Store *store = store_new();
    Shared shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    pthread_t readers[N_READERS];

    (void)state;
    for (unsigned i = 0; i < N_NODES; i++)
        apply_node(store, i, 0);
    assert_int_equal(store_publish(store, &shared.current), 0);
    for (size_t i = 0; i < N_READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_snapshots, &shared), 0);
    for (unsigned turn = 1; turn <= N_TURNS; turn++) {
        Snapshot *snapshot;

        change(store, turn);
        assert_int_equal(store_publish(store, &snapshot), 0);
        set_current(&shared, snapshot);
    }
    pthread_mutex_lock(&shared.mutex);
    shared.is_over = true;
    pthread_mutex_unlock(&shared.mutex);
    store_free(store); /* snapshots live on */
    for (size_t i = 0; i < N_READERS; i++) {
        void *result = NULL;

        assert_int_equal(pthread_join(readers[i], &result), 0);
        assert_ptr_equal(result, &shared);
    }
    assert_true(is_coherent(snapshot_table(shared.current)));
    snapshot_unref(shared.current);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
