/*
 * Verdicts tell the first rule that rejects a row, so most rows need no more: a permanent filter
 * rejects them, or they lack a resource. The rows that are left are judged again, each filter by
 * itself, to count the rules that they fail.
 */

#include "judge/main-reason.h"

#include <errno.h>

#include "cluster/pod-fit.h"
#include "judge/judge-internal.h"

/* A row of the input. */
typedef struct Blocked {
    uint16_t n;     /* rules that reject it; one more if it lacks a resource */
    uint16_t never; /* why it can never take the pod: a filter, or NEVER_LACKS + request; or
                       VERDICT_PASS */
} Blocked;

#define NEVER_LACKS PROGRAM_FILTERS_MAX

typedef struct Search {
    Judge *judge;
    const Program *program;
    const uint16_t *verdicts;
    size_t n;
    PodFit fit;
    Blocked *rows;
} Search;

static bool is_rejected(const Search *search, size_t i) {
    return search->verdicts[i] < search->program->n_filters;
}

/* The request that row @i can never meet; SIZE_MAX: none. */
static size_t lacking(const Search *search, size_t i) {
    const JudgeInput *input = &search->judge->input;

    return pod_fit_lacking(&search->fit, input->table, input->rows[i], AMOUNT_ALLOCATABLE);
}

/* What verdicts and amounts tell. Returns how many rows could take the pod. */
static size_t note_verdicts(Search *search) {
    size_t n_open = 0;

    for (size_t i = 0; i < search->n; i++) {
        size_t request;

        search->rows[i] = (Blocked){.never = VERDICT_PASS};
        if (!is_rejected(search, i))
            continue;
        if (search->program->filters[search->verdicts[i]]->is_permanent) {
            search->rows[i].never = search->verdicts[i];
            continue;
        }
        request = lacking(search, i);
        if (request != SIZE_MAX)
            search->rows[i].never = (uint16_t)(NEVER_LACKS + request);
        n_open += request == SIZE_MAX;
    }
    return n_open;
}

/* --- rules one by one ------------------------------------------------------------------------- */

/* Rows of the input that are judged again. */
typedef struct Again {
    uint32_t *rows;
    uint32_t *places; /* in the input */
    size_t n;
} Again;

static void count_filter(
    Search *search, const Again *again, const Filter *filter, const uint8_t *states) {
    for (size_t i = 0; i < again->n; i++) {
        Blocked *row = &search->rows[again->places[i]];

        if (judge_state_passes(filter, states[i]))
            continue;
        row->n++;
        if (filter->is_permanent && row->never >= NEVER_LACKS)
            row->never = filter->number;
    }
}

/* 0; -ENOMEM; or -ENOTRECOVERABLE after the deadline. */
static int count_filters(Search *search, const Again *again) {
    JudgeInput input = search->judge->input;
    uint8_t *states = ARENA_RAW(input.arena, uint8_t, again->n);
    Judge *judge = NULL;
    int r;

    input.rows = again->rows;
    input.n = again->n;
    r = states ? judge_open(&input, &judge) : -ENOMEM;
    for (size_t i = 0; r == 0 && i < search->program->n_filters; i++) {
        const Filter *filter = search->program->filters[i];

        if (filter->policy->is_observed || !judge_applies(judge, filter->policy))
            continue;
        r = judge_filter_states(judge, filter, states);
        if (r == 0)
            count_filter(search, again, filter, states);
    }
    return r;
}

/* Counts the rules that reject each row: of those that could take the pod, or of all. */
static int judge_again(Search *search, bool only_open) {
    const JudgeInput *input = &search->judge->input;
    Again again = {.rows = ARENA_RAW(input->arena, uint32_t, search->n),
        .places = ARENA_RAW(input->arena, uint32_t, search->n)};

    if (!again.rows || !again.places)
        return -ENOMEM;
    for (size_t i = 0; i < search->n; i++) {
        if (!is_rejected(search, i) || (only_open && search->rows[i].never != VERDICT_PASS))
            continue;
        search->rows[i].n = !only_open && lacking(search, i) != SIZE_MAX;
        again.rows[again.n] = input->rows[i];
        again.places[again.n++] = (uint32_t)i;
    }
    return count_filters(search, &again);
}

/* --- the reason ------------------------------------------------------------------------------- */

static bool has_open(const Search *search) {
    for (size_t i = 0; i < search->n; i++)
        if (is_rejected(search, i) && search->rows[i].never == VERDICT_PASS)
            return true;
    return false;
}

static uint16_t most_frequent(const uint32_t *counts, size_t n) {
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        best = counts[i] > counts[best] ? i : best;
    return n > 0 && counts[best] > 0 ? (uint16_t)best : VERDICT_PASS;
}

/* Of the rows that are open, or of all if none is: the verdict of those with the fewest rules. */
static void find_closest(const Search *search, bool open, uint32_t *counts, MainReason *ret) {
    unsigned fewest = UINT16_MAX;

    for (size_t i = 0; i < search->n; i++)
        if (is_rejected(search, i) && (!open || search->rows[i].never == VERDICT_PASS) &&
            search->rows[i].n < fewest)
            fewest = search->rows[i].n;
    for (size_t i = 0; i < search->n; i++)
        if (is_rejected(search, i) && (!open || search->rows[i].never == VERDICT_PASS) &&
            search->rows[i].n == fewest)
            counts[search->verdicts[i]]++;
    if (fewest == UINT16_MAX)
        return; /* no rule has rejected a row */
    ret->filter = most_frequent(counts, search->program->n_filters);
    for (size_t i = 0; i < search->n; i++)
        ret->n_nodes +=
            search->verdicts[i] == ret->filter && (!open || search->rows[i].never == VERDICT_PASS);
}

/* The others that can never take the pod. */
static void find_never(const Search *search, bool open, uint32_t *counts, MainReason *ret) {
    uint16_t cause;

    for (size_t i = 0; i < search->n; i++)
        if (search->rows[i].never != VERDICT_PASS && (open || search->verdicts[i] != ret->filter))
            counts[search->rows[i].never]++;
    cause = most_frequent(counts, NEVER_LACKS + search->fit.n);
    if (cause == VERDICT_PASS)
        return;
    ret->n_never = counts[cause];
    if (cause < NEVER_LACKS)
        ret->never_filter = cause;
    else
        ret->never_resource = search->fit.requests[cause - NEVER_LACKS].name;
}

int main_reason_find(Judge *judge, const uint16_t *verdicts, MainReason *ret) {
    Arena *arena = judge->input.arena;
    uint32_t *counts = ARENA_ARRAY(arena, uint32_t, 2 * (NEVER_LACKS + RESOURCES_MAX + 1));
    Search search = {
        .judge = judge,
        .program = judge->input.program,
        .verdicts = verdicts,
        .n = judge->input.n,
        .rows = ARENA_RAW(arena, Blocked, judge->input.n),
    };
    bool open;
    int r = 0;

    *ret = (MainReason){0};
    if (!counts || !search.rows)
        return -ENOMEM;
    pod_fit_init(&search.fit, judge->input.table, judge->input.pod);
    open = note_verdicts(&search) > 0;
    if (judge->session)
        r = judge_again(&search, open);
    if (r == 0 && open && !has_open(&search) && judge->session)
        r = judge_again(&search, /* only_open= */ false);
    if (r == -ENOMEM)
        return r;
    open = has_open(&search);
    find_closest(&search, open, counts, ret);
    if (ret->n_nodes > 0)
        find_never(&search, open, counts + NEVER_LACKS + RESOURCES_MAX + 1, ret);
    return 0;
}
