/* Waits for nodes that kube-scheduler knows and the view in force does not have yet. */

#include "live/node-wait.h"

#include "base/clock.h"

static bool lacks_nodes(const Decision *decision) {
    return decision->args && decision->args->has_names && decision->summary.n_out == 0 &&
           decision->summary.n_unknown > 0;
}

static bool knows_all(const View *view, const FilterArgs *args) {
    uint32_t n_rows = args->node_set.table->n_rows;

    for (size_t i = 0; i < args->n; i++) {
        Str literal = body_span_text(args->body.ptr, args->spans[i]);
        Str name = str_of(literal.ptr + 1, literal.len - 2); /* an escaped name is no node's */

        if (args->rows[i] == n_rows && table_find(view->table, name) == view->table->n_rows)
            return false;
    }
    return true;
}

/* Whether no other filter waits, and the last wait did not fail a short while ago. */
static bool may_wait(NodeWait *wait, int64_t now_nsec, int64_t until_nsec) {
    int64_t not_before = atomic_load(&wait->not_before_nsec);

    return now_nsec >= not_before && atomic_compare_exchange_strong(&wait->not_before_nsec,
                                         &not_before, until_nsec + NODE_WAIT_PAUSE_NSEC);
}

View *node_wait(NodeWait *wait, Current *current, const View *view, const Decision *decision,
    int64_t limit_nsec) {
    int64_t now = clock_monotonic_nsec(), until = now + limit_nsec;
    _cleanup_(view_unrefp) View *newer = NULL;
    bool has_all = false;

    if (!lacks_nodes(decision) || !may_wait(wait, now, until))
        return NULL;
    for (; !has_all && now < until; now = clock_monotonic_nsec()) {
        View *next = current_wait(current, newer ? newer : view, until - now);

        view_unref(newer);
        newer = next;
        has_all = knows_all(newer, decision->args);
    }
    if (has_all)
        atomic_store(&wait->not_before_nsec, 0);
    return newer == view ? NULL : TAKE_PTR(newer);
}
