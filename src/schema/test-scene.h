#pragma once

/* Shared by the tests of this folder: a small cluster from JSON, and evaluating an expression in
 * one call. */

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test-assert.h"
#include "base/vec.h"
#include "cel/program.h"
#include "schema/schema.h"

#define SCENE_BUDGET ((size_t)64 * 1024 * 1024)
#define SCENE_NOW INT64_C(1800000000500000000) /* 2027-01-15T08:00:00.5Z */

typedef struct Scene {
    Arena *arena; /* for all allocations */
    Schema *schema;
    VEC(Node) nodes;
    VEC(PodChange) pods;
    NodeTable empty, table; /* without pods, and with them */
    Pod pod;
    CelValue variables[8];
    DiagList diags;
    CelRun run;
} Scene;

static inline void scene_init(Scene *scene) {
    *scene = (Scene){.arena = arena_new(SCENE_BUDGET)};
    assert_non_null(scene->arena);
    scene->diags = DIAG_LIST_IN(scene->arena);
    scene->run = CEL_RUN(scene->arena);
    scene->schema = schema_new(scene->arena);
    assert_non_null(scene->schema);
}

static inline void scene_done(Scene *scene) {
    scene->arena = arena_free(scene->arena);
}

static inline void scene_add_node(Scene *scene, Str json) {
    Node *node = VEC_PUSH(&scene->nodes, scene->arena);
    JsonReader reader;

    assert_non_null(node);
    json_reader_init(&reader, arena_copy(scene->arena, json));
    node_decode(&reader, scene->arena, node);
    assert_int_equal(json_error(&reader), JSON_OK);
}

static inline void scene_read_pod(Scene *scene, Str json, Pod *ret) {
    JsonReader reader;

    json_reader_init(&reader, arena_copy(scene->arena, json));
    pod_decode(&reader, scene->arena, ret);
    assert_int_equal(json_error(&reader), JSON_OK);
}

/* Adds a pod to the node that it names. Call it after all nodes are added. */
static inline void scene_add_pod(Scene *scene, Str json) {
    PodChange *change = VEC_PUSH(&scene->pods, scene->arena);
    Pod *pod = ARENA_NEW(scene->arena, Pod);

    assert_true(change && pod);
    scene_read_pod(scene, json, pod);
    *change = (PodChange){.add = pod};
}

/* Builds the table. @pod is the pod to place; `node` in expressions is row 0. */
static inline void scene_build(Scene *scene, Str pod) {
    Schema *schema = scene->schema;

    assert_int_equal(
        table_build(scene->nodes.items, scene->nodes.n, scene->arena, &scene->empty), 0);
    for (size_t i = 0; i < scene->pods.n; i++)
        scene->pods.items[i].row = table_find(&scene->empty, scene->pods.items[i].add->node_name);
    assert_int_equal(
        table_change(&scene->empty, scene->pods.items, scene->pods.n, scene->arena, &scene->table),
        0);
    scene_read_pod(scene, pod, &scene->pod);
    assert_true(cel_env_n_slots(schema->env) <= ELEMENTS_OF(scene->variables));
    scene->variables[schema->pod_slot] = schema_pod(&scene->pod, scene->arena);
    scene->variables[schema->namespace_slot] = schema_namespace(&scene->pod, scene->arena);
    scene->variables[schema->node_slot] = schema_node(&scene->table, 0, scene->arena);
    scene->variables[schema->cluster_slot] = schema_cluster(&scene->table, scene->arena);
    scene->variables[schema->now_slot] = schema_now(SCENE_NOW);
}

static inline void scene_set_row(Scene *scene, uint32_t row) {
    scene->variables[scene->schema->node_slot] = schema_node(&scene->table, row, scene->arena);
}

static inline CelProgram *scene_compile(Scene *scene, const char *source) {
    CelProgram *program = NULL;
    int r = cel_compile(scene->schema->env, STR("test"), str_from_c(source), NULL, scene->arena,
        &scene->diags, &program);

    assert_case(source, r == 0);
    return program;
}

static inline CelValue scene_eval(Scene *scene, const char *source) {
    const CelProgram *program = scene_compile(scene, source);

    scene->run.limit = NULL;
    scene->run.fuel = CEL_FUEL_DEFAULT;
    return cel_run(program->code, &scene->run, scene->variables);
}

/* The value as text, or "error: TEXT". */
static inline void assert_scene(Scene *scene, const char *source, const char *want) {
    CelValue v = scene_eval(scene, source);
    Buf out = BUF_INIT(1 << 16);

    if (v.kind == CEL_ERROR)
        buf_printf(&out, "error: %.*s", STR_FMT(v.error->text));
    else
        cel_value_print(v, &scene->run, 0, &out);
    assert_text(source, buf_str(&out), want);
    buf_done(&out);
}

typedef struct SceneCase {
    const char *source, *want;
} SceneCase;

static inline void assert_scenes(Scene *scene, const SceneCase *cases, size_t n) {
    for (size_t i = 0; i < n; i++)
        assert_scene(scene, cases[i].source, cases[i].want);
}
