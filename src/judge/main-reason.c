/* Finds the main reason of a decision. A verdict has only the first rule that rejects a row. That
 * is enough for permanent filters and missing resources; for other rows, each filter is judged
 * again by itself, to count all rules that reject them. */

#include "judge/main-reason.h"

#include <errno.h>

#include "cluster/pod-fit.h"
#include "judge/judge-internal.h"

/* Why a row of the input is rejected. */
typedef struct Blocked {
    uint16_t n;     /* rules that reject it; one more if it lacks a resource */
    uint16_t never; /* why it can never take the pod: number of a filter, or NEVER_LACKS + index of
                       a request; VERDICT_PASS: it can */
} Blocked;

#define NEVER_LACKS PROGRAM_FILTERS_MAX

typedef struct Search {
    Judge *judge;
    const Program *program;
    const uint16_t *verdicts;
    size_t n;
    PodFit fit;
    Blocked *rows;
    bool only_open; /* some row can take the pod: ignore rows that never can */
} Search;

static bool is_rejected(const Search *search, size_t i) {
    return search->verdicts[i] < search->program->n_filters;
}

/* Whether row @i may be one of the closest to eligible. */
static bool is_seen(const Search *search, size_t i) {
    return is_rejected(search, i) && (!search->only_open || search->rows[i].never == VERDICT_PASS);
}

/* The request that row @i can never meet; SIZE_MAX: none. */
static size_t lacking(const Search *search, size_t i) {
    const JudgeInput *input = &search->judge->input;

    return pod_fit_lacking(&search->fit, input->table, input->rows[i], AMOUNT_ALLOCATABLE);
}

/* Notes the reasons that verdicts and amounts already give. */
static void note_verdicts(Search *search) {
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
        search->only_open |= request == SIZE_MAX;
    }
}

static void count_filter(
    Search *search, const uint32_t *places, size_t n, const Filter *filter, const uint8_t *states) {
    for (size_t i = 0; i < n; i++) {
        Blocked *row = &search->rows[places[i]];

        if (judge_state_passes(filter, states[i]))
            continue;
        row->n++;
        if (filter->is_permanent && row->never >= NEVER_LACKS)
            row->never = filter->number;
    }
}

/* Counts the rules that reject each row of is_seen(). 0; -ENOMEM; or -ENOTRECOVERABLE after the
 * deadline. */
static int judge_again(Search *search) {
    JudgeInput input = search->judge->input;
    uint32_t *rows = ARENA_RAW(input.arena, uint32_t, search->n);
    uint32_t *places = ARENA_RAW(input.arena, uint32_t, search->n); /* in the input */
    uint8_t *states = ARENA_RAW(input.arena, uint8_t, search->n);
    Judge *judge = NULL;
    int r;

    if (!rows || !places || !states)
        return -ENOMEM;
    input.n = 0;
    for (size_t i = 0; i < search->n; i++) {
        if (!is_seen(search, i))
            continue;
        search->rows[i].n = !search->only_open && lacking(search, i) != SIZE_MAX;
        rows[input.n] = input.rows[i];
        places[input.n++] = (uint32_t)i;
    }
    input.rows = rows;
    r = judge_open(&input, &judge);
    for (size_t i = 0; r == 0 && i < search->program->n_filters; i++) {
        const Filter *filter = search->program->filters[i];

        if (filter->policy->is_observed || !judge_applies(judge, filter->policy))
            continue;
        r = judge_filter_states(judge, filter, states);
        if (r == 0)
            count_filter(search, places, input.n, filter, states);
    }
    return r;
}

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

/* The most frequent verdict among the rows that the fewest rules reject. */
static void find_closest(const Search *search, uint32_t *counts, MainReason *ret) {
    unsigned fewest = UINT16_MAX;

    for (size_t i = 0; i < search->n; i++)
        if (is_seen(search, i) && search->rows[i].n < fewest)
            fewest = search->rows[i].n;
    for (size_t i = 0; i < search->n; i++)
        if (is_seen(search, i) && search->rows[i].n == fewest)
            counts[search->verdicts[i]]++;
    if (fewest == UINT16_MAX)
        return; /* no row is rejected by a rule */
    ret->filter = most_frequent(counts, search->program->n_filters);
    for (size_t i = 0; i < search->n; i++)
        ret->n_nodes += search->verdicts[i] == ret->filter && is_seen(search, i);
}

/* The most frequent cause that rows can never take the pod, without rows of the main reason. */
static void find_never(const Search *search, uint32_t *counts, MainReason *ret) {
    uint16_t cause;

    for (size_t i = 0; i < search->n; i++)
        if (search->rows[i].never != VERDICT_PASS &&
            (search->only_open || search->verdicts[i] != ret->filter))
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
    int r = 0;

    *ret = (MainReason){0};
    if (!counts || !search.rows)
        return -ENOMEM;
    pod_fit_init(&search.fit, judge->input.table, judge->input.pod);
    note_verdicts(&search);
    if (judge->session)
        r = judge_again(&search);
    if (r == 0 && search.only_open && !has_open(&search) && judge->session) {
        search.only_open = false;
        r = judge_again(&search);
    }
    if (r == -ENOMEM)
        return r;
    search.only_open = has_open(&search);
    find_closest(&search, counts, ret);
    if (ret->n_nodes > 0)
        find_never(&search, counts + NEVER_LACKS + RESOURCES_MAX + 1, ret);
    return 0;
}
