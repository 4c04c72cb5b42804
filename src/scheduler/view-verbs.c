/* berth's filter and prioritize in this process. */

#include "scheduler/view-verbs.h"

#include <errno.h>

#include "extender/score.h"
#include "scheduler/scheduler.h"

_Static_assert(VERDICT_PASS == EXTENDER_PASSES, "verdicts need no translation");

int view_open_judge(const ViewQuestion *question, Arena *arena, Judge **ret) {
    JudgeInput input = view_judge_input(question->view, &question->time, &question->node_set,
        question->pod, question->rows, question->n, arena);

    return judge_open(&input, ret);
}

int view_filter(const ViewQuestion *question, Arena *arena, const uint16_t **ret) {
    uint16_t *verdicts = ARENA_RAW(arena, uint16_t, question->n + 1);
    Judge *judge = NULL;
    uint32_t narrow_to;
    int r = verdicts ? view_open_judge(question, arena, &judge) : -ENOMEM;

    if (r == 0)
        r = judge_filters(judge, verdicts);
    narrow_to = r == 0 ? judge_narrow_to(judge) : 0;
    if (narrow_to > 0)
        r = judge_narrow(judge, narrow_to, verdicts, /* ret_scores= */ NULL);
    *ret = verdicts;
    return r;
}

int view_prioritize(const ViewQuestion *question, Arena *arena, const uint8_t **ret) {
    double *scores = ARENA_RAW(arena, double, question->n + 1);
    uint8_t *wire = ARENA_RAW(arena, uint8_t, question->n + 1);
    Judge *judge = NULL;
    uint32_t most;
    int r = scores && wire ? view_open_judge(question, arena, &judge) : -ENOMEM;

    *ret = NULL;
    if (r < 0)
        return r;
    if (!judge_has_scores(judge))
        return 0;
    r = judge_scores(judge, scores);
    if (r < 0)
        return r;
    most = judge_wire_max(judge);
    for (size_t i = 0; i < question->n; i++)
        wire[i] = (uint8_t)score_to_wire(scores[i], most);
    *ret = wire;
    return 0;
}

void view_print_reason(const Program *program, size_t number, Buf *out) {
    const Filter *filter = program->filters[number];

    buf_printf(out, "%.*s/%.*s: %.*s", STR_FMT(filter->policy->name), STR_FMT(filter->name),
        STR_FMT(filter->reason));
}
