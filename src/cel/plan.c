/*
 * Making a plan: classify what the roots reach, find out what of it is needed, put it in order.
 */
#include "cel/plan.h"

#include <errno.h>

#include "cel/plan-part.h"

#define SCRATCH_MAX ((size_t)256 * 1024 * 1024)

/* Everything below the roots, by rising numbers. */
static int classify_all(CelPlanner *p, const bool *is_reached, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        int r;

        if (!is_reached[i] || cel_graph_node(p->graph, i)->levels != 0)
            continue;
        r = cel_planner_classify(p, CEL_ROWS, i);
        if (r < 0)
            return r;
    }
    return 0;
}

static void reach(CelPlanner *p, bool *is_reached, uint32_t n) {
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

/* What sessions give out. */
static bool is_root_lane(uint8_t lane) {
    return lane == CEL_LANE_BOOL || lane == CEL_LANE_INT || lane == CEL_LANE_DOUBLE;
}

static int find_roots(CelPlanner *p) {
    for (size_t i = 0; i < p->plan->n_roots; i++) {
        CelPlanRoot *root = &p->plan->roots[i];
        int r = cel_planner_find(p, CEL_ROWS, root->node, CEL_TIME_BATCH, &root->column);

        if (r < 0)
            return r;
        if (root->column == CEL_NO_COLUMN ||
            !is_root_lane(cel_plan_at(p->plan, root->column)->lane))
            return -EINVAL; /* not of a type that roots have */
    }
    return 0;
}

static int make(CelPlanner *p) {
    uint32_t n = cel_graph_size(p->graph);
    bool *is_reached = ARENA_ARRAY(p->scratch, bool, n);
    int r;

    if (!is_reached || !VEC_PUSH(&p->plan->spaces, p->arena))
        return -ENOMEM;
    p->plan->n_slots = p->host->row_slot + 1;
    r = cel_planner_see(p);
    if (r < 0)
        return r;
    reach(p, is_reached, n);
    r = classify_all(p, is_reached, n);
    if (r == 0)
        r = find_roots(p);
    if (r == 0)
        r = cel_planner_need(p);
    if (r == 0)
        r = cel_planner_order(p);
    if (r == 0)
        r = cel_plan_give_registers(p->plan, p->scratch);
    return r;
}

static CelPlan *plan_of(
    CelGraph *graph, const uint32_t *roots, size_t n_roots, const CelHost *host, Arena *arena) {
    CelPlan *plan = ARENA_NEW(arena, CelPlan);
    CelPlanRoot *own = ARENA_ARRAY(arena, CelPlanRoot, n_roots);

    if (!plan || !own)
        return NULL;
    for (size_t i = 0; i < n_roots; i++)
        own[i] = (CelPlanRoot){.node = roots[i], .slow = CEL_NO_NODE};
    *plan = (CelPlan){.graph = graph, .host = host, .roots = own, .n_roots = n_roots};
    return plan;
}

int cel_plan_new(CelGraph *graph, const uint32_t *roots, size_t n_roots, const CelHost *host,
    Arena *arena, CelPlan **ret) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_MAX);
    _cleanup_(arena_freep) Arena *mini = arena_new(SCRATCH_MAX);
    CelPlanner p = {
        .plan = plan_of(graph, roots, n_roots, host, arena),
        .graph = graph,
        .host = host,
        .arena = arena,
        .scratch = scratch,
        .mini = mini,
    };
    int r;

    if (!p.plan || !scratch || !mini)
        return -ENOMEM;
    r = make(&p);
    if (r < 0)
        return r;
    *ret = p.plan;
    return 0;
}

CelTime cel_plan_time(const CelPlan *plan, size_t root) {
    return (CelTime)cel_plan_at(plan, plan->roots[root].column)->time;
}

bool cel_plan_falls_back(const CelPlan *plan, size_t root, uint32_t *ret) {
    *ret = plan->roots[root].slow;
    return *ret != CEL_NO_NODE;
}
