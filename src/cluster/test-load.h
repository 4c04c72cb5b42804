#pragma once

/* Clusters for tests, from JSON text. */

#include "base/arena.h"
#include "base/test-assert.h"
#include "cluster/store.h"
#include "json/read.h"

static inline void test_load_node(Store *store, Str json) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    JsonReader reader;
    Node node;

    assert_non_null(arena);
    json_reader_init(&reader, json);
    node_decode(&reader, arena, &node);
    json_end(&reader);
    assert_int_equal(json_error(&reader), JSON_OK);
    assert_int_equal(store_apply_node(store, &node), 0);
}

static inline void test_load_pod(Store *store, Str json) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    JsonReader reader;
    Pod pod;

    assert_non_null(arena);
    json_reader_init(&reader, json);
    pod_decode(&reader, arena, &pod);
    json_end(&reader);
    assert_int_equal(json_error(&reader), JSON_OK);
    assert_true(store_apply_pod(store, &pod) >= 0);
}

/* The items of a v1 List, which start with their kind. */
static inline void test_load_list(Store *store, Str json) {
    JsonReader reader;
    Str key, item;

    json_reader_init(&reader, json);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (!str_is(key, "items")) {
            json_skip(&reader, NULL);
            continue;
        }
        json_array(&reader);
        while (json_element(&reader)) {
            json_skip(&reader, &item);
            if (str_has_prefix(item, STR("{\"apiVersion\":\"v1\",\"kind\":\"Node\"")))
                test_load_node(store, item);
            else
                test_load_pod(store, item);
        }
    }
    json_end(&reader);
    assert_int_equal(json_error(&reader), JSON_OK);
}

/* To be released with snapshot_unref(). */
static inline Snapshot *test_load_publish(Store *store) {
    Snapshot *snapshot = NULL;

    assert_int_equal(store_publish(store, &snapshot), 0);
    return snapshot;
}
