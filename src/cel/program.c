/* Compiling: text to tree, types, cost, graph and code. */

#include "cel/program.h"

#include <errno.h>

#include "base/error.h"
#include "cel/parse.h"

#define SCRATCH_MAX ((size_t)256 * 1024 * 1024)

/* The check's types are in its own arena, so the program needs a copy. Recursive: types are at most
 * CEL_TYPE_DEPTH_MAX deep. */
static const CelType *copy_type(const CelType *type, Arena *arena) {
    const CelType *params[CEL_TYPE_PARAMS_MAX];

    if (type->n_params == 0)
        return type;
    for (uint32_t i = 0; i < type->n_params; i++) {
        params[i] = copy_type(type->params[i], arena);
        if (!params[i])
            return NULL;
    }
    return cel_type_with(arena, type, params);
}

int cel_compile_tree(const CelEnv *env, Str file, Str source, const CelOptions *options,
    Arena *arena, DiagList *diags, CelChecked **ret) {
    CelTree *tree = NULL;
    int r = cel_parse(file, source, options, arena, diags, &tree);

    return r == 0 ? cel_check(env, tree, options, arena, diags, ret) : r;
}

static int compile_code(const CelChecked *checked, const CelOptions *options, Arena *scratch,
    Arena *arena, DiagList *diags, CelCode **ret) {
    CelGraph *graph = cel_graph_new(scratch, arena);
    CelEmitOptions emit = {.scratch = scratch};
    uint32_t root = CEL_NO_NODE;
    int r;

    if (!graph)
        return -ENOMEM;
    r = cel_lower(graph, checked, options, diags, &root);
    return r == 0 ? error_fold(cel_emit(graph, root, &emit, arena, ret)) : r;
}

int cel_compile(const CelEnv *env, Str file, Str source, const CelOptions *options, Arena *arena,
    DiagList *diags, CelProgram **ret) {
    static const CelOptions plain = {0};
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_MAX);
    CelProgram *program = ARENA_NEW(arena, CelProgram);
    CelChecked *checked = NULL;
    int r;

    if (!scratch || !program)
        return -ENOMEM;
    if (!options)
        options = &plain;
    r = cel_compile_tree(env, file, source, options, scratch, diags, &checked);
    if (r == 0)
        r = cel_cost_estimate(checked, scratch, &program->cost);
    if (r == 0 && options->cost_limit > 0 && program->cost.max > options->cost_limit) {
        cel_cost_refuse(checked, program->cost, options->cost_limit, diags);
        r = CEL_REFUSED;
    }
    if (r == 0)
        r = compile_code(checked, options, scratch, arena, diags, &program->code);
    if (r != 0)
        return r;
    program->type = copy_type(cel_checked_type(checked), arena);
    *ret = program;
    return program->type ? 0 : -ENOMEM;
}
