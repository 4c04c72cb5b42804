#pragma once

/* A store and helpers that change it, for tests. */

#include <stdio.h>

#include "base/test-assert.h"
#include "cluster/store.h"

#define N_MANY 200u /* nodes: four chunks */

static inline int new_store(void **state) {
    *state = store_new();
    return *state ? 0 : -1;
}

static inline int free_store(void **state) {
    *state = store_free(*state);
    return 0;
}

static inline Str numbered(char *text, size_t size, const char *word, unsigned n) {
    (void)snprintf(text, size, "%s-%u", word, n);
    return str_from_c(text);
}

static inline Node node_of(const char *name) {
    return (Node){.name = str_from_c(name), .is_ready = true};
}

/* On @node, or pending when that is empty. */
static inline Pod pod_of(const char *name, const char *uid, const char *node) {
    return (Pod){.namespace = STR("space"),
        .name = str_from_c(name),
        .uid = str_from_c(uid),
        .node_name = str_from_c(node)};
}

static inline void add_node(Store *store, const char *name) {
    Node node = node_of(name);

    assert_int_equal(store_apply_node(store, &node), 0);
}

static inline void add_many(Store *store) {
    for (unsigned i = 0; i < N_MANY; i++) {
        char name[32];
        Node node = {.name = numbered(name, sizeof(name), "node", i)};

        assert_int_equal(store_apply_node(store, &node), 0);
    }
}

static inline int apply_pod(Store *store, const char *name, const char *uid, const char *node) {
    Pod pod = pod_of(name, uid, node);

    return store_apply_pod(store, &pod);
}

static inline Snapshot *publish(Store *store) {
    Snapshot *snapshot = NULL;

    assert_int_equal(store_publish(store, &snapshot), 0);
    return snapshot;
}

/* How many pods @node has in the next snapshot; UINT32_MAX: no such node. */
static inline uint32_t count_on(Store *store, const char *node) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = publish(store);
    const NodeTable *table = snapshot_table(snapshot);
    uint32_t row = table_find(table, str_from_c(node));

    return row == table->n_rows ? UINT32_MAX : table_chunk(table, row)->n_pods[table_slot(row)];
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, new_store, free_store)
