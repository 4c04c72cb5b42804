#include "cel/fold.h"

#include "cel/copy.h"
#include "cel/machine.h"

static CelValue run_once(const CelCode *code, Arena *arena, int64_t *fuel) {
    int64_t given = *fuel < CEL_FOLD_FUEL ? *fuel : CEL_FOLD_FUEL;
    CelRun run = CEL_RUN(arena);
    CelValue v;

    run.fuel = given;
    v = cel_run(code, &run, NULL);
    *fuel -= given - run.fuel;
    return run.limit ? cel_absent() : v;
}

/* A part of a constant was as large before. */
static size_t size_max(uint16_t op) {
    bool is_part = op >= OP_FIELD && op <= OP_OPT_INDEX;

    return is_part || op == OP_LIST || op == OP_MAP ? CEL_FOLD_LITERAL_MAX : CEL_FOLD_BYTES_MAX;
}

/* What a library made of its own kind, or a host of its records, cannot be copied from one
 * arena to another, so it is made again where it can stay. */
CelValue cel_fold(CelGraph *graph, uint32_t number, int64_t *fuel) {
    CelEmitOptions options = {.flat = true};
    Arena *arena = cel_graph_arena(graph);
    CelCode *code;
    CelValue v;

    if (cel_emit(graph, number, &options, arena, &code) < 0)
        return cel_absent();
    v = run_once(code, arena, fuel);
    if (v.kind == CEL_ABSENT || v.kind == CEL_ERROR)
        return v;
    if (cel_value_size(v, size_max(cel_graph_node(graph, number)->op)) == SIZE_MAX)
        return cel_absent();
    return cel_value_has_opaque(v) ? run_once(code, cel_graph_keep(graph), fuel) : v;
}
