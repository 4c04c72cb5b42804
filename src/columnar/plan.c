/* Making a plan: classify the nodes below the roots, find those that are needed, order them. */

#include "columnar/plan.h"

#include <errno.h>

#include "columnar/plan-internal.h"

static void reach(Planner *p, bool *is_reached, uint32_t n) {
    for (size_t i = 0; i < p->plan->n_roots; i++)
        is_reached[p->plan->roots[i].node] = true;
    for (uint32_t i = n; i-- > 0;) {
        const CelGraphNode *node = cel_graph_node(p->graph, i);

        if (!is_reached[i])
            continue;
        if (node->op == OP_VARIABLE && node->immediate >= p->plan->n_slots)
            p->plan->n_slots = node->immediate + 1;
        for (uint32_t k = 0; k < node->n_args; k++)
            is_reached[node->args[k]] = true;
    }
}

static bool find_roots(Planner *p) {
    for (size_t i = 0; i < p->plan->n_roots; i++) {
        PlanRoot *root = &p->plan->roots[i];
        uint8_t lane = LANE_NONE;

        root->column = planner_find(p, ROW_SPACE, root->node, PLAN_PER_BATCH);
        if (root->column != NO_COLUMN)
            lane = plan_column_at(p->plan, root->column)->lane;
        if (lane != LANE_BOOL && lane != LANE_INT && lane != LANE_DOUBLE)
            return false;
    }
    return true;
}

static int make(Planner *p) {
    uint32_t n = cel_graph_size(p->graph);
    bool *is_reached = planner_check(p, ARENA_ARRAY(p->scratch, bool, n));
    bool has_roots;

    (void)planner_check(p, VEC_PUSH(&p->plan->spaces, p->arena));
    p->plan->n_slots = p->host->row_slot + 1;
    planner_scan_nodes(p);
    if (p->failed)
        return -ENOMEM;
    reach(p, is_reached, n);
    for (uint32_t i = 0; i < n; i++)
        if (is_reached[i] && cel_graph_node(p->graph, i)->levels == 0)
            planner_classify(p, ROW_SPACE, i);
    has_roots = find_roots(p);
    if (!p->failed && !has_roots)
        return -EINVAL; /* not of a type that roots have */
    if (!p->failed)
        planner_mark_needed(p);
    if (!p->failed)
        planner_order(p);
    if (!p->failed)
        planner_assign_registers(p);
    return p->failed ? -ENOMEM : 0;
}

int plan_new(CelGraph *graph, const uint32_t *roots, size_t n_roots, const PlanHost *host,
    Arena *arena, Plan **ret) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(PLAN_SCRATCH_MAX);
    _cleanup_(arena_freep) Arena *mini = arena_new(PLAN_SCRATCH_MAX);
    Plan *plan = ARENA_NEW(arena, Plan);
    PlanRoot *own = ARENA_ARRAY(arena, PlanRoot, n_roots);
    Planner p = {
        .plan = plan,
        .graph = graph,
        .host = host,
        .arena = arena,
        .scratch = scratch,
        .mini = mini,
    };
    int r;

    if (!plan || !own || !scratch || !mini)
        return -ENOMEM;
    for (size_t i = 0; i < n_roots; i++)
        own[i] = (PlanRoot){.node = roots[i], .slow = CEL_NO_NODE};
    *plan = (Plan){.graph = graph, .host = host, .roots = own, .n_roots = n_roots};
    r = make(&p);
    set_done(&p.slots);
    if (r == 0)
        *ret = plan;
    return arena_limit_reached(scratch) > 0 || arena_limit_reached(mini) > 0 ? -E2BIG : r;
}

PlanFrequency plan_frequency(const Plan *plan, size_t root) {
    return (PlanFrequency)plan_column_at(plan, plan->roots[root].column)->frequency;
}

bool plan_falls_back(const Plan *plan, size_t root, uint32_t *ret) {
    *ret = plan->roots[root].slow;
    return *ret != CEL_NO_NODE;
}
