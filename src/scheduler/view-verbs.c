/* berth's filter and prioritize in this process. */

#include "scheduler/view-verbs.h"

#include <errno.h>

#include "extender/verbs.h"

_Static_assert(VERDICT_PASS == EXTENDER_PASSES, "verdicts need no translation");

static int filter(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows, size_t n,
    Arena *arena, const uint16_t **ret) {
    const ViewVerbs *verbs = context;
    uint16_t *verdicts = ARENA_RAW(arena, uint16_t, n + 1);
    Judge *judge = NULL;
    JudgeInput input;
    int r = verdicts ? verbs->make_input(verbs->context, pod, now_nsec, rows, n, arena, &input)
                     : -ENOMEM;

    if (r == 0)
        r = judge_open(&input, &judge);
    if (r == 0)
        r = judge_filters(judge, verdicts);
    if (r == 0 && judge_match(judge)->narrow_to > 0)
        r = judge_narrow(judge, judge_match(judge)->narrow_to, verdicts, /* ret_scores= */ NULL);
    *ret = verdicts;
    return r;
}

static int prioritize(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows,
    size_t n, Arena *arena, const uint8_t **ret) {
    const ViewVerbs *verbs = context;
    uint8_t *scores = NULL;
    JudgeInput input;
    JudgeNotes notes;
    unsigned most;
    int r = verbs->make_input(verbs->context, pod, now_nsec, rows, n, arena, &input);

    if (r == 0)
        r = extender_scores(&input, &notes, &most, &scores);
    *ret = scores;
    return r;
}

/* "policy/filter: reason". */
static void print_reason(const void *context, size_t number, Buf *out) {
    const Filter *filter = ((const ViewVerbs *)context)->program->filters[number];

    buf_printf(out, "%.*s/%.*s: %.*s", STR_FMT(filter->policy->name), STR_FMT(filter->name),
        STR_FMT(filter->reason));
}

SchedulerExtender view_verbs(ViewVerbs *verbs) {
    return (SchedulerExtender){
        .context = verbs,
        .n_reasons = verbs->program->n_filters,
        .filter = filter,
        .prioritize = prioritize,
        .print_reason = print_reason,
    };
}
