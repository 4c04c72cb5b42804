/* Evaluates one expression for one row, in a graph of its own with a node for every part. */

#include "judge/probe.h"

#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "judge/judge-internal.h"
#include "policy/scope.h"
#include "schema/amounts.h"

#define LEAF_VALUE_MAX 80u /* bytes of a value */
#define TREE_VALUE_MAX 40u /* shorter in a tree, which also shows the text of each part */

struct Probe {
    Judge *judge;
    const Expression *expression;
    CelExplainer explainer;
};

int probe_new(Judge *judge, const Expression *expression, Arena *arena, Probe **ret) {
    Probe *probe = ARENA_NEW(arena, Probe);
    CelGraph *graph = cel_graph_new(arena, arena);
    DiagList nothing = DIAG_LIST_IN(arena);
    uint32_t *nodes = ARENA_ARRAY(arena, uint32_t, SCOPE_VARIABLES_MAX);
    CelComposite composite;
    CelOptions options = {.composite = &composite};
    int r;

    if (!probe || !graph || !nodes)
        return -ENOMEM;
    *probe = (Probe){.judge = judge, .expression = expression};
    r = expression_lower_variables(expression, graph, nodes, &composite);
    if (r == 0)
        r = cel_explainer_init(
            &probe->explainer, expression->checked, graph, &options, arena, &nothing);
    *ret = probe;
    return error_fold(r);
}

static int run(const Probe *probe, uint32_t row, Arena *arena, CelExplained *ret) {
    Judge *judge = probe->judge;
    CelRun *cel = judge_run_new(judge, arena);
    uint32_t slot = judge->input.program->schema->node_slot;
    int r;

    if (!cel)
        return -ENOMEM;
    judge->variables[slot] = schema_node(judge->input.table, row, arena);
    r = cel_explained_run(ret, &probe->explainer, judge->variables, cel, arena);
    judge->variables[slot] = cel_absent();
    return r;
}

int probe_values(Probe *probe, uint32_t row, Arena *arena, CelLeaf *ret, size_t *ret_n) {
    CelExplained explained = {0};
    int r = run(probe, row, arena, &explained);

    *ret_n = r == 0 ? cel_explained_leaves(&explained, ret, PROBE_VALUES_MAX) : 0;
    return r;
}

static int print_one(const Probe *probe, uint32_t row, bool colour, Arena *arena, Buf *out) {
    CelExplained explained = {0};
    int r = run(probe, row, arena, &explained);

    if (r == 0)
        cel_explained_print(&explained, TREE_VALUE_MAX, colour, out);
    return r;
}

int probe_print(Probe *probe, uint32_t row, bool colour, Arena *arena, Buf *out) {
    const Expression *expression = probe->expression;
    int r = print_one(probe, row, colour, arena, out);

    for (uint32_t i = 0; r == 0 && i < expression->scope->variables_type.n_fields; i++) {
        const Variable *variable = &expression->scope->variables[i];

        if (!(expression->variables >> i & 1))
            continue;
        r = probe_new(probe->judge, &variable->expression, arena, &probe);
        buf_printf(out, "variables.%.*s:\n", STR_FMT(variable->name));
        if (r == 0)
            r = print_one(probe, row, colour, arena, out);
    }
    return r;
}

static const char *const amount_maps[] = {
    "node.free", "node.requested", "node.allocatable", "pod.requests"};

/* Reads the key after a map: cpu of ".cpu", nvidia.com/gpu of "['nvidia.com/gpu']". */
static bool read_key(Str text, Str *ret) {
    if (str_has_prefix(text, STR("."))) {
        *ret = str_skip(text, 1);
        return str_find(*ret, '.') == SIZE_MAX && str_find(*ret, '[') == SIZE_MAX;
    }
    if (text.len < 5 || text.ptr[0] != '[' || text.ptr[text.len - 1] != ']')
        return false;
    *ret = str_take(str_skip(text, 2), text.len - 4);
    return true;
}

static bool print_amount(const CelLeaf *leaf, Buf *out) {
    for (size_t i = 0; leaf->value.kind == CEL_DOUBLE && i < ELEMENTS_OF(amount_maps); i++) {
        Str map = str_from_c(amount_maps[i]), name;
        AmountKey key;
        double units;

        if (!str_has_prefix(leaf->text, map) || !read_key(str_skip(leaf->text, map.len), &name))
            continue;
        key = amount_key(name);
        units = round(leaf->value.d * key.scale);
        if (!(fabs(units) < 9e18))
            return false;
        resource_amount_print(key.resource, (int64_t)units, out);
        return true;
    }
    return false;
}

/* An absent value, or the error of reading an absent map entry or metric without `?`. */
static bool is_absent(const CelLeaf *leaf) {
    return leaf->value.kind == CEL_ABSENT ||
           (leaf->value.kind == CEL_ERROR && leaf->value.error->is_absence);
}

void probe_leaf_print(const CelLeaf *leaf, Buf *out) {
    buf_append(out, leaf->text);
    buf_append(out, STR(" = "));
    if (is_absent(leaf))
        buf_append(out, STR("absent"));
    else if (leaf->value.kind == CEL_ERROR)
        buf_append(out, leaf->value.error->text);
    else if (!print_amount(leaf, out))
        cel_value_print(leaf->value, NULL, LEAF_VALUE_MAX, out);
}
