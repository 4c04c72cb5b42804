/* Warns of rules that read all nodes for each candidate: fast in a test, but seconds in a large
 * cluster. Only the plan shows which rules do. */

#include "policy/lint.h"

/* For one mark per graph node. */
#define MARKS_BUDGET ((size_t)64 * 1024 * 1024)

typedef struct PlanLint {
    YamlReader *reader;
    const CelGraph *graph;
    const Plan *plan;
    Arena *scratch;
} PlanLint;

/* Whether @node is a column before the scalar machine runs the part of plan_falls_back(), which it
 * runs first, so all numbers that it reads are columns. (Texts may be part of it, but a text about
 * counted pods is made from a number.) */
static bool is_known(const CelGraphNode *node) {
    CelTypeKind kind = node->type->kind;

    return node->levels == 0 && (kind == CEL_T_BOOL || kind == CEL_T_INT || kind == CEL_T_DOUBLE);
}

/* Whether the scalar machine, running @slow, loops over nodes of the whole cluster. */
static bool reads_domains(const PlanLint *lint, uint32_t slow) {
    bool *marks = ARENA_ARRAY(lint->scratch, bool, (size_t)slow + 1);

    if (!marks)
        return false;
    marks[slow] = true;
    for (uint32_t i = slow + 1; i-- > 0;) { /* arguments have lower numbers than their users */
        const CelGraphNode *node = cel_graph_node(lint->graph, i);

        if (!marks[i] || (i != slow && is_known(node)))
            continue;
        if (cel_node_is_call(node, "domain") || cel_node_is_call(node, "domains"))
            return true;
        for (uint32_t k = 0; k < node->n_args; k++)
            marks[node->args[k]] = true;
    }
    return false;
}

static void check(PlanLint *lint, const Expression *expression, uint32_t root) {
    uint32_t slow;

    if (expression->is_built_in || !plan_falls_back(lint->plan, root, &slow))
        return;
    arena_reset(lint->scratch);
    if (reads_domains(lint, slow))
        expression_warn(lint->reader, expression,
            STR("counts and sums are fast: node.domain('zone').nodes.filter(n, …).size(), and the "
                "same of pods, with a constant label key and without the candidate in the loop"),
            STR("this reads every node of the cluster for each candidate: 1,000 nodes are "
                "1,000,000 reads a pod, 5,000 are 25,000,000"));
}

void lint_plan(YamlReader *reader, const Policy *policy, const CelGraph *graph, const Plan *plan) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(MARKS_BUDGET);
    PlanLint lint = {reader, graph, plan, scratch};

    if (!scratch)
        return;
    for (size_t i = 0; i < policy->n_filters; i++)
        check(&lint, &policy->filters[i].test, policy->filters[i].root);
    for (size_t i = 0; i < policy->n_scores; i++)
        check(&lint, &policy->scores[i].value, policy->scores[i].root);
}
