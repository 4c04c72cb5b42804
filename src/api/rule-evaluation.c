/* Rules in force, each evaluated by itself for one pod; for pages, never for a decision. */

#include "api/rule-evaluation.h"

#include <errno.h>

#include "base/clock.h"
#include "json/read.h"

static bool is_over(const RequestTime *time) {
    return time->is_over && time->is_over(time->context);
}

int rule_evaluation_open(const View *view, const RequestTime *time, Str text, const uint32_t *rows,
    size_t n, Arena *arena, RuleEvaluation *ret) {
    JudgeInput input;
    JsonReader reader;
    int r;

    *ret = (RuleEvaluation){.node_set = {.table = view->table, .facts = &view->facts}, .n = n};
    json_reader_init(&reader, text);
    pod_decode(&reader, arena, &ret->pod);
    if (json_error(&reader))
        return RULE_EVALUATION_E_UNREADABLE;
    r = n > 0 ? view_adjust(view, time, &ret->pod, /* rows= */ NULL, 0, arena, &ret->node_set) : 0;
    if (r < 0)
        return r;
    if (ret->node_set.facts->is_late)
        return RULE_EVALUATION_E_OVER;
    input = view_judge_input(view, time, &ret->node_set, &ret->pod, rows, n, arena);
    return judge_open(&input, &ret->judge);
}

int rule_evaluation_filter(const RuleEvaluation *evaluation, const RequestTime *time,
    const Filter *filter, Arena *arena, const bool **ret_fails) {
    uint8_t *states = ARENA_RAW(arena, uint8_t, evaluation->n);
    bool *fails = ARENA_RAW(arena, bool, evaluation->n);
    int r;

    *ret_fails = NULL;
    if (!states || !fails)
        return -ENOMEM;
    if (is_over(time))
        return RULE_EVALUATION_E_OVER;
    r = judge_filter_states(evaluation->judge, filter, states);
    if (r < 0) /* also when the time was up: the judge has no result then */
        return is_over(time) ? RULE_EVALUATION_E_OVER : r;
    for (size_t i = 0; i < evaluation->n; i++)
        fails[i] = !judge_state_passes(filter, states[i]);
    *ret_fails = fails;
    return 0;
}

const uint32_t *rule_evaluation_rows(const View *view, Arena *arena, size_t *ret_n) {
    uint32_t *rows = ARENA_RAW(arena, uint32_t, view->table->n_rows);
    size_t n = 0;

    *ret_n = 0;
    if (!rows)
        return NULL;
    for (uint32_t row = 0; row < view->table->n_rows; row++)
        if (table_node(view->table, row))
            rows[n++] = row;
    *ret_n = n;
    return rows;
}

bool cpu_time_is_over(void *context) {
    return clock_thread_cpu_nsec() > *(const int64_t *)context;
}
