/* Adding nodes, and computing those whose arguments are constants: they are emitted and run like
 * any code, with little fuel. An error is never folded: it happens when a run gets there. */

#include "cel/code.h"
#include "cel/lower-internal.h"
#include "cel/report.h"
#include "cel/value.h"

#define FOLD_FUEL 20000               /* for one node */
#define FOLD_BYTES_MAX 4096           /* of a value; a larger one is computed when needed */
#define FOLD_LITERAL_MAX (128 * 1024) /* of a list or map that was written out */

uint8_t cel_lower_kind(const CelLower *l, uint32_t number) {
    const CelGraphNode *node = cel_lower_node(l, number);

    return node->op == OP_CONSTANT ? node->constant.kind : node->type->value_kind;
}

/* [null, timestamp(0)][0]: where the checker was lenient, the machine relies on nothing. */
const CelType *cel_lower_type(const CelLower *l, uint32_t i) {
    const CelType *type = l->checked->infos[i].type;

    return type && !l->checked->is_loose ? type : &cel_dyn_type;
}

CelGraphNode cel_lower_blank(const CelLower *l, const CelPart *part, uint16_t op) {
    return (CelGraphNode){
        .op = op,
        .type = cel_lower_type(l, part->i),
        .args = part->args,
        .n_args = part->n_args,
        .from = part->node->from,
        .to = part->node->to,
        .at = part->node->at,
    };
}

/* A CONSTANT or FAIL. */
static uint32_t add_leaf(
    CelLower *l, const CelPart *part, uint16_t op, CelValue v, const CelType *type) {
    CelGraphNode node = cel_lower_blank(l, part, op);

    node.args = NULL;
    node.n_args = 0;
    node.type = type;
    node.constant = v;
    return cel_graph_add(l->graph, &node);
}

uint32_t cel_lower_constant(CelLower *l, const CelPart *part, CelValue v) {
    return add_leaf(l, part, OP_CONSTANT, v, cel_lower_type(l, part->i));
}

uint32_t cel_lower_fail(CelLower *l, const CelPart *part, Str text) {
    return text.ptr ? add_leaf(l, part, OP_FAIL, cel_string(text), cel_lower_type(l, part->i))
                    : CEL_NO_NODE;
}

void cel_lower_refuse(CelLower *l, const CelNode *place, Str text, Str hint) {
    cel_report(l->diags, l->tree->file, l->tree->source, place->from, place->to, text, hint);
    l->is_refused = true;
}

/* Constants that fail, like timestamp(''): an error of the expression only where every run meets
 * them. Behind && || ?: or in a loop they are CEL's to absorb, and get a warning. */

/* Kubernetes refuses timestamp('x') wherever it is written: it cannot be meant. Parameters and
 * variables have other values elsewhere, and may be guarded. */
static bool is_written_out(const CelLower *l, uint32_t node) {
    for (uint32_t i = node + 1 - l->tree->nodes[node].size; i <= node; i++)
        if (l->checked->infos[i].ref != CEL_REF_NONE && l->checked->infos[i].ref != CEL_REF_SKIP)
            return false;
    return true;
}

/* The arguments are the last children; before them may be the function's name space. */
static uint32_t argument(const CelLower *l, const CelPart *part, uint32_t arg) {
    uint32_t child = part->i - 1;

    for (uint32_t i = part->n_args - 1; i > arg; i--)
        child -= l->tree->nodes[child].size;
    return child;
}

void cel_lower_failing(
    CelLower *l, const CelPart *part, uint32_t arg, uint32_t number, Str text, Str hint) {
    uint32_t cause = arg < part->n_args ? argument(l, part, arg) : part->i;
    const CelNode *place = &l->tree->nodes[cause];
    CelFailing failing = {.number = number, .text = text, .hint = hint, .place = place};

    if (is_written_out(l, cause))
        cel_lower_refuse(l, place, text, hint);
    else
        l->has_failed |= !VEC_ADD(&l->graph->failing, l->graph->arena, failing);
}

/* OPT_ELEMENT may be no value at all; only the LIST around it knows what that means. */
static bool can_fold(const CelLower *l, const CelGraphNode *node) {
    if (cel_ops[node->op].class != CEL_OP_VALUE || node->op == OP_CONSTANT ||
        node->op == OP_VARIABLE || node->op == OP_LOCAL || node->op == OP_FAIL ||
        node->op == OP_OPT_ELEMENT)
        return false;
    for (uint32_t i = 0; i < node->n_args; i++) {
        if (!cel_lower_is_constant(l, node->args[i]))
            return false;
    }
    return true;
}

static bool is_literal(const CelGraphNode *node) {
    return node->n_overloads == 1 && node->overloads[0]->spec->is_literal;
}

static CelValue run_once(const CelCode *code, Arena *arena, int64_t *fuel) {
    int64_t given = *fuel < FOLD_FUEL ? *fuel : FOLD_FUEL;
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

    return is_part || op == OP_LIST || op == OP_MAP ? FOLD_LITERAL_MAX : FOLD_BYTES_MAX;
}

/* The value of node @number, whose arguments are all constants: a value; an error; CEL_ABSENT: not
 * known in advance. Subtracts the used fuel from *@fuel. Values of a library's own kind, or a
 * host's records, cannot be copied to another arena, so they are made again there. */
static CelValue fold(CelGraph *graph, uint32_t number, int64_t *fuel) {
    CelEmitOptions options = {.flat = true};
    Arena *arena = graph->arena;
    CelCode *code;
    CelValue v;

    if (cel_emit(graph, number, &options, arena, &code) < 0)
        return cel_absent();
    v = run_once(code, arena, fuel);
    if (v.kind == CEL_ABSENT || v.kind == CEL_ERROR)
        return v;
    if (cel_value_size(v, size_max(cel_graph_node(graph, number)->op)) == SIZE_MAX)
        return cel_absent();
    return cel_value_has_opaque(v) ? run_once(code, graph->keep, fuel) : v;
}

uint32_t cel_lower_fold(CelLower *l, const CelPart *part, uint32_t number) {
    const CelGraphNode *node = cel_lower_node(l, number);
    uint32_t constant;
    CelValue v;

    if (node->folded > 0)
        return node->folded - 1;
    if (!can_fold(l, node) || (!l->is_folding && !is_literal(node)) || l->fuel <= 0)
        return number;
    v = fold(l->graph, number, &l->fuel);
    /* timestamp('x') is not left to fail, if every run would. */
    if (v.kind == CEL_ERROR && is_literal(node) && !l->options->lazy_literals)
        cel_lower_failing(
            l, part, part->n_args == 1 ? 0 : part->n_args, number, v.error->text, v.error->hint);
    if (!l->is_folding || v.kind == CEL_ABSENT || v.kind == CEL_ERROR)
        return number;
    constant = add_leaf(l, part, OP_CONSTANT, v, node->type);
    if (constant != CEL_NO_NODE)
        l->graph->nodes.items[number].folded = constant + 1;
    return constant;
}

uint32_t cel_lower_add(CelLower *l, const CelPart *part, const CelGraphNode *node) {
    uint32_t number = cel_graph_add(l->graph, node);

    return number != CEL_NO_NODE ? cel_lower_fold(l, part, number) : CEL_NO_NODE;
}

bool cel_lower_is_bool(const CelLower *l, uint32_t number, bool want) {
    const CelGraphNode *node = cel_lower_node(l, number);

    return node->op == OP_CONSTANT && node->constant.kind == CEL_BOOL &&
           node->constant.boolean == want;
}

uint32_t cel_lower_choice(CelLower *l, const CelGraphNode *node) {
    if (l->is_folding && cel_lower_is_bool(l, node->args[0], true))
        return node->args[1];
    if (l->is_folding && cel_lower_is_bool(l, node->args[0], false))
        return node->args[2];
    return cel_graph_add(l->graph, node);
}

uint32_t cel_lower_unary(
    CelLower *l, const CelPart *part, uint16_t op, uint32_t arg, const CelType *type) {
    CelGraphNode node = cel_lower_blank(l, part, op);

    node.args = &arg;
    node.n_args = 1;
    node.type = type;
    return cel_lower_add(l, part, &node);
}
