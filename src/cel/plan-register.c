/*
 * Registers of a session: where each column lies while it is worked with.
 *
 * What several lists have is worked out once for all of them and keeps its register, and so
 * does what is handed out. The rest is forgotten when its list is done: lists use the same
 * registers by turns, so a thousand rules need little more room than the largest of them.
 * While a list of rows runs, one of elements may: theirs are others.
 */
#include "cel/plan-part.h"

#define NOT_GIVEN UINT32_MAX

typedef struct Registers {
    CelPlan *plan;
    uint32_t list;   /* the number of this one */
    uint32_t from;   /* first register that lists use by turns */
    uint32_t n_most; /* that any list uses */
    bool is_giving;  /* the second time round */
} Registers;

static bool has_column(const CelStep *step) {
    return step->kind == CEL_STEP_COLUMN || step->kind == CEL_STEP_LOAD;
}

/* First it is found out who shares what. */
static void look_at(Registers *r, CelPlanColumn *column) {
    if (column->list != 0 && column->list != r->list)
        column->is_lasting = true;
    column->list = r->list;
}

static void visit_list(Registers *r, const CelSteps *steps) {
    uint32_t n = 0;

    r->list++;
    for (uint32_t i = 0; i < steps->n; i++) {
        CelPlanColumn *column = cel_plan_at(r->plan, steps->steps[i].column);

        if (!has_column(&steps->steps[i]))
            continue;
        if (!r->is_giving)
            look_at(r, column);
        else if (column->reg == NOT_GIVEN)
            column->reg = r->from + n++;
    }
    if (n > r->n_most)
        r->n_most = n;
}

static void visit_rows(Registers *r) {
    for (size_t i = 0; i < r->plan->n_roots; i++)
        visit_list(r, &r->plan->roots[i].steps);
}

static void visit_elements(Registers *r) {
    for (uint32_t i = 0; i < r->plan->columns.n; i++) {
        const CelPlanColumn *column = cel_plan_at(r->plan, i);

        if (column->is_needed && column->reduction)
            visit_list(r, &column->reduction->steps);
    }
}

/* What is known of groups lasts as long as the session. */
static void give_lasting(CelPlan *plan) {
    for (size_t i = 0; i < plan->n_roots; i++)
        cel_plan_at(plan, plan->roots[i].column)->is_lasting = true;
    for (uint32_t i = 0; i < plan->columns.n; i++) {
        CelPlanColumn *column = cel_plan_at(plan, i);

        if (cel_column_is_single(column))
            continue;
        column->is_lasting |= plan->spaces.items[column->space].kind == CEL_SPACE_GROUPS;
        column->reg = column->is_lasting && column->is_in_batch ? plan->n_regs++ : NOT_GIVEN;
    }
}

void cel_plan_give_registers(CelPlan *plan) {
    Registers r = {.plan = plan};

    visit_rows(&r);
    visit_elements(&r);
    give_lasting(plan);
    r.is_giving = true;
    r.from = plan->n_regs;
    visit_rows(&r);
    r.from += r.n_most;
    r.n_most = 0;
    visit_elements(&r);
    plan->n_regs = r.from + r.n_most;
}
