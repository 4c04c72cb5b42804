#pragma once

/* Turns an expression into a graph. */

#include "schema/test-scene.h"

static inline uint32_t scene_lower(Scene *scene, CelGraph *graph, const char *source) {
    CelOptions options = {0};
    CelChecked *checked = NULL;
    uint32_t root = CEL_NO_NODE;

    assert_case(source, cel_compile_tree(scene->schema->env, STR("test"), str_from_c(source),
                            &options, scene->arena, &scene->diags, &checked) == 0);
    assert_case(source, cel_lower(graph, checked, &options, &scene->diags, &root) == 0);
    return root;
}

static inline CelGraph *scene_graph(Scene *scene) {
    CelGraph *graph = cel_graph_new(scene->arena, scene->arena);

    assert_non_null(graph);
    return graph;
}
