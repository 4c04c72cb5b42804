/*
 * A rule that reads a metric fails where that is absent, and its onMissing decides there. Only
 * where a rule has failed is it candidates why: a column that says, for each row, whether one of its
 * metrics is absent, is made from what is known of the nodes.
 */

#include <math.h>

#include "base/wide-loops.h"
#include "cluster/loads.h"
#include "judge/judge-internal.h"

WIDE_LOOPS static void mark(const uint8_t *restrict states, const uint8_t *restrict missing,
    size_t n, uint8_t *restrict ret) {
    for (size_t i = 0; i < n; i++)
        ret[i] = states[i] == COLUMN_ERROR && missing[i] == COLUMN_TRUE ? JUDGE_STATE_MISSING
                                                                        : states[i];
}

int missing_mark(Judge *judge, uint32_t root, size_t n, uint8_t *room, const uint8_t **states) {
    const Column *missing;
    int r;

    if (root == UINT32_MAX || !*states || !memchr(*states, COLUMN_ERROR, n))
        return 0;
    r = plan_session_root(judge->session, root, &missing);
    if (r != 0)
        return r; /* also PLAN_DEADLINE_PASSED */
    mark(*states, missing->states, n, room);
    *states = room;
    return 0;
}

/* --- for explanations ------------------------------------------------------------------------ */

static void append_name(Buf *out, size_t n, const char *before, Str name) {
    buf_printf(out, "%s%s%.*s", n > 0 ? ", " : "", before, STR_FMT(name));
}

size_t judge_absent(const Judge *judge, const Expression *expression, uint32_t row, Buf *out) {
    const SchemaMetrics *metrics = &expression->scope->metrics;
    const Loads *loads = judge->input.table->loads;
    size_t n = 0;

    for (uint32_t i = 0; i < metrics->type.n_fields; i++)
        if ((expression->metrics >> i & 1) &&
            isnan(loads_value(loads, metrics->gauges[i], LOAD_VALUE, row)))
            append_name(out, n++, "", metrics->fields[i].name);
    for (uint32_t i = 0; i < metrics->workload_type.n_fields; i++) {
        CelValue workload = judge->variables[metrics->workload_slot];
        CelRun run = judge->run;

        if ((expression->workload_metrics >> i & 1) && workload.kind == CEL_RECORD &&
            workload.record->type->get(workload.record, i, &run).kind == CEL_ABSENT)
            append_name(out, n++, "workload.metrics.", metrics->workload_fields[i].name);
    }
    return n;
}
