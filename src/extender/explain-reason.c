/* The filter once more, and its main reason. */

#include "extender/explain.h"

#include <errno.h>

int extender_main_reason(const View *view, const RequestTime *time, const NodeSet *node_set,
    const Pod *pod, const uint32_t *rows, size_t n, Arena *arena, MainReason *ret) {
    JudgeInput input = view_judge_input(view, time, node_set, pod, rows, n, arena);
    uint16_t *verdicts = ARENA_RAW(arena, uint16_t, n + 1);
    Judge *judge = NULL;
    int r = verdicts ? judge_open(&input, &judge) : -ENOMEM;

    *ret = (MainReason){0};
    if (r == 0)
        r = judge_filters(judge, verdicts);
    for (size_t i = 0; r == 0 && i < n; i++)
        if (rows[i] == node_set->table->n_rows)
            verdicts[i] = VERDICT_UNKNOWN_NODE;
        else if (verdicts[i] == VERDICT_PASS)
            return 0;
    return r < 0 ? r : main_reason_find(judge, verdicts, ret);
}
