#pragma once

/*
 * A small cluster and a gauge, for tests of joining.
 *
 *     node-a  InternalIP 10.0.0.1, Hostname a.example, label kubernetes.io/hostname host-a
 *     node-b  InternalIP 10.0.0.2 and 2001:db8::2, Hostname b.example
 *     node-c  InternalIP 10.0.0.3, ExternalIP 192.0.2.3, Hostname c.example
 */

#include <math.h>

#include "base/buf.h"
#include "base/test-assert.h"
#include "cluster/store.h"
#include "cluster/test-load.h"
#include "load/join.h"
#include "load/vector.h"

#define SCENE_SEC INT64_C(1000000000)

typedef struct Scene {
    Store *store;
    Snapshot *snapshot;
    JoinIndex *index;
    JoinMemory *memory; /* NULL: none */
    Arena *arena;
    Gauge gauge;
    JoinTime time;
    Vector vector;
    JoinReport report;
    Measurement *measurement;
} Scene;

static inline void scene_publish(Scene *scene) {
    snapshot_unref(scene->snapshot);
    scene->snapshot = test_load_publish(scene->store);
}

static inline void scene_begin(Scene *scene) {
    *scene = (Scene){
        .store = store_new(),
        .index = join_index_new(),
        .arena = arena_new((size_t)64 * 1024 * 1024),
        .gauge = {.name = STR("x"), .max_age_nsec = 60 * SCENE_SEC},
        .time = {.asked_nsec = 1, .uptime_nsec = 2},
    };
    assert_true(scene->store && scene->index && scene->arena);
    test_load_node(scene->store,
        STR("{\"metadata\":{\"name\":\"node-a\",\"labels\":{\"kubernetes.io/"
            "hostname\":\"host-a\"}},"
            "\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"},"
            "{\"type\":\"Hostname\",\"address\":\"a.example\"}]}}"));
    test_load_node(
        scene->store, STR("{\"metadata\":{\"name\":\"node-b\"},\"status\":{\"addresses\":["
                          "{\"type\":\"InternalIP\",\"address\":\"10.0.0.2\"},"
                          "{\"type\":\"InternalIP\",\"address\":\"2001:db8::2\"},"
                          "{\"type\":\"Hostname\",\"address\":\"b.example\"}]}}"));
    test_load_node(
        scene->store, STR("{\"metadata\":{\"name\":\"node-c\"},\"status\":{\"addresses\":["
                          "{\"type\":\"InternalIP\",\"address\":\"10.0.0.3\"},"
                          "{\"type\":\"ExternalIP\",\"address\":\"192.0.2.3\"},"
                          "{\"type\":\"Hostname\",\"address\":\"c.example\"}]}}"));
    scene_publish(scene);
}

static inline void scene_done(Scene *scene) {
    measurement_unref(scene->measurement);
    join_memory_free(scene->memory);
    join_index_free(scene->index);
    snapshot_unref(scene->snapshot);
    store_free(scene->store);
    arena_free(scene->arena);
}

/* The answer of a server: each text has labels and a value, "node=a,job=x 0.5", or also a time in
 * seconds, "node=a 0.5 1700000000". */
static inline void scene_answer(Scene *scene, const char *const *texts, size_t n) {
    _cleanup_(buf_done) Buf body = BUF_INIT((size_t)1024 * 1024);
    char error[VECTOR_ERROR_MAX];
    Str kept;

    arena_reset(scene->arena);
    buf_append(
        &body, STR("{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["));
    for (size_t i = 0; i < n; i++) {
        Str text = str_from_c(texts[i]), labels, label, value, time;
        bool is_first = true;

        (void)str_split(&text, ' ', &labels);
        (void)str_split(&text, ' ', &value);
        if (!str_split(&text, ' ', &time))
            time = STR("1700000000");
        buf_printf(&body, "%s{\"metric\":{", i > 0 ? "," : "");
        while (labels.len > 0 && str_split(&labels, ',', &label)) {
            size_t at = str_find(label, '=');

            buf_printf(&body, "%s\"%.*s\":\"%.*s\"", is_first ? "" : ",",
                STR_FMT(str_take(label, at)), STR_FMT(str_skip(label, at + 1)));
            is_first = false;
        }
        buf_printf(&body, "},\"value\":[%.*s,\"%.*s\"]}", STR_FMT(time), STR_FMT(value));
    }
    buf_append(&body, STR("]}}"));
    kept = arena_copy(scene->arena, buf_str(&body));
    assert_int_equal(vector_read_prometheus(kept, scene->arena, &scene->vector, error), 0);
}

static inline void scene_join(Scene *scene) {
    measurement_unref(scene->measurement);
    scene->measurement = NULL;
    assert_int_equal(
        join_vector(&scene->gauge, &scene->vector, snapshot_table(scene->snapshot), &scene->time,
            scene->index, scene->memory, scene->arena, &scene->report, &scene->measurement),
        0);
    assert_non_null(scene->measurement);
}

#define SCENE_JOIN(scene, ...)                                                                     \
    do {                                                                                           \
        static const char *const _texts[] = {__VA_ARGS__};                                         \
        scene_answer((scene), _texts, sizeof(_texts) / sizeof(_texts[0]));                         \
        scene_join(scene);                                                                         \
    } while (0)

/* NaN: none. */
static inline double scene_value(const Scene *scene, const char *node) {
    const NodeTable *table = snapshot_table(scene->snapshot);

    return scene->measurement->values[table_find(table, str_from_c(node))];
}

#define assert_value(scene, node, want) assert_case(node, scene_value((scene), (node)) == (want))
#define assert_absent(scene, node) assert_case(node, isnan(scene_value((scene), (node))))

/* Prints both if @part is not in @text. */
static inline bool scene_says(const char *text, const char *part) {
    bool is_in = strstr(text, part);

    if (!is_in)
        print_error("says \"%s\", not \"%s\"\n", text, part);
    return is_in;
}

/* Asserts a part of the report's text. */
#define assert_says(text, part) assert_true(scene_says((text), (part)))
