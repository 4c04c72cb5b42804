/* A view, and the table and facts that follow from it with more pods. */

#include "scheduler/planned-view.h"

#include <errno.h>
#include <stdlib.h>

#include "scheduler/view-verbs.h"

#define SCRATCH_BUDGET ((size_t)256 * 1024 * 1024)

struct PlannedView {
    View *view;
    NodeSet node_set;
    Arena *arena;   /* of the set */
    Arena *scratch; /* of the judge */
};

int planned_view_new(View *view, PlannedView **ret) {
    _cleanup_(planned_view_freep) PlannedView *planned = calloc(1, sizeof(*planned));

    if (!planned)
        return -ENOMEM;
    planned->view = view_ref(view);
    planned->node_set = (NodeSet){.table = view->table, .facts = &view->facts};
    planned->arena = arena_new(PLANNED_VIEW_BUDGET);
    planned->scratch = arena_new(SCRATCH_BUDGET);
    if (!planned->arena || !planned->scratch)
        return -ENOMEM;
    *ret = TAKE_PTR(planned);
    return 0;
}

PlannedView *planned_view_free(PlannedView *planned) {
    if (!planned)
        return NULL;
    arena_free(planned->arena);
    arena_free(planned->scratch);
    view_unref(planned->view);
    free(planned);
    return NULL;
}

int planned_view_add(PlannedView *planned, const PodChange *changes, size_t n) {
    const NodeSet before = planned->node_set;
    KnownFacts known = {.table = before.table, .facts = before.facts};
    FactsOptions options = view_facts_options(planned->view, /* time= */ NULL, &known);
    NodeTable *table = ARENA_NEW(planned->arena, NodeTable);
    NodeFacts *facts = ARENA_NEW(planned->arena, NodeFacts);
    int r = table && facts ? 0 : -ENOMEM;

    if (r == 0)
        r = table_change(before.table, changes, n, planned->arena, table);
    if (r == 0)
        r = view_measure(planned->view, /* time= */ NULL, before.table, planned->arena, table);
    if (r == 0)
        r = facts_build(planned->view->program, table, &options, planned->arena, facts);
    if (r == 0)
        planned->node_set = (NodeSet){.table = table, .facts = facts};
    return r;
}

static ViewQuestion ask(
    PlannedView *planned, const Pod *pod, int64_t now_nsec, const uint32_t *rows, size_t n) {
    return (ViewQuestion){
        .view = planned->view,
        .node_set = planned->node_set,
        .time = {.now_nsec = now_nsec, .scratch = planned->scratch},
        .pod = pod,
        .rows = rows,
        .n = n,
    };
}

static int filter(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows, size_t n,
    Arena *arena, const uint16_t **ret) {
    ViewQuestion question = ask(context, pod, now_nsec, rows, n);

    return view_filter(&question, arena, ret);
}

static int prioritize(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows,
    size_t n, Arena *arena, const uint8_t **ret) {
    ViewQuestion question = ask(context, pod, now_nsec, rows, n);

    return view_prioritize(&question, arena, ret);
}

static void print_reason(const void *context, size_t number, Buf *out) {
    view_print_reason(((const PlannedView *)context)->view->program, number, out);
}

SchedulerExtender planned_view_verbs(PlannedView *planned) {
    return (SchedulerExtender){
        .context = planned,
        .n_reasons = planned->view->program->n_filters,
        .filter = filter,
        .prioritize = prioritize,
        .print_reason = print_reason,
    };
}
