/* Filters. Facts about nodes come first, then each filter that reads the pod, in order, while there
 * is a row that it could still reject. */

#include <assert.h>
#include <errno.h>

#include "base/error.h"
#include "base/wide-loops.h"
#include "judge/judge-internal.h"

/* Verdicts so far, by the order's rows. */
typedef struct VerdictBatch {
    RowOrder order;
    uint16_t *verdicts; /* a VERDICT_PASS follows the last */
    bool observed;
    uint8_t states[PLAN_BATCH_ROWS]; /* room for missing_mark() */
} VerdictBatch;

static bool filter_applies(const Judge *judge, const VerdictBatch *batch, const Filter *filter) {
    return filter->policy->is_observed == batch->observed && judge_applies(judge, filter->policy);
}

WIDE_LOOPS static void take_lower(
    uint16_t *restrict verdicts, const uint16_t *restrict other, size_t n) {
    for (size_t i = 0; i < n; i++)
        verdicts[i] = verdicts[i] < other[i] ? verdicts[i] : other[i];
}

/* Lowers the verdicts of a batch to the facts about its rows. */
static void note_known(
    const Judge *judge, size_t policy, const VerdictBatch *batch, size_t begin, size_t n) {
    const NodeFacts *facts = judge->input.facts;
    const uint32_t *rows = batch->order.rows;
    uint16_t *verdicts = batch->verdicts + begin;

    if (rows) {
        for (size_t i = 0; i < n; i++) {
            uint16_t known = facts_failing(facts, policy, rows[begin + i]);

            verdicts[i] = verdicts[i] < known ? verdicts[i] : known;
        }
        return;
    }
    for (size_t i = 0; i < n; i += CHUNK_ROWS) /* a batch begins at a chunk */
        take_lower(verdicts + i,
            facts->chunks[(begin + i) / CHUNK_ROWS]->failing + policy * CHUNK_ROWS,
            n - i < CHUNK_ROWS ? n - i : CHUNK_ROWS);
}

static void note_known_all(const Judge *judge, const VerdictBatch *batch, size_t begin, size_t n) {
    const Program *program = judge->input.program;

    memset(batch->verdicts + begin, 0xff, n * sizeof(*batch->verdicts)); /* VERDICT_PASS */
    for (size_t i = 0; i < program->n_policies; i++)
        if (judge->match.applies[i] && program->policies[i].is_observed == batch->observed &&
            program->policies[i].has_known)
            note_known(judge, i, batch, begin, n);
}

/* Whether filter @number could still reject some row. */
WIDE_LOOPS static bool is_open(const uint16_t *verdicts, size_t n, uint16_t number) {
    uint16_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = verdicts[i] > most ? verdicts[i] : most;
    return most > number;
}

/* An error counts as @on_error: COLUMN_TRUE or COLUMN_FALSE. */
WIDE_LOOPS static void note_states(uint16_t number, uint8_t on_error,
    const uint8_t *restrict states, size_t n, uint16_t *restrict verdicts) {
    for (size_t i = 0; i < n; i++) {
        uint8_t state = states[i] == COLUMN_ERROR ? on_error : states[i];
        uint16_t verdict = state == COLUMN_TRUE ? VERDICT_PASS : number;

        verdicts[i] = verdicts[i] < verdict ? verdicts[i] : verdict;
    }
}

/* Replaces JUDGE_STATE_MISSING by onMissing. */
WIDE_LOOPS static void settle_missing(uint8_t on_missing, size_t n, uint8_t *states) {
    for (size_t i = 0; i < n; i++)
        states[i] = states[i] == JUDGE_STATE_MISSING ? on_missing : states[i];
}

/* Applies the states of a filter to a batch and counts failures. 0, PLAN_DEADLINE_PASSED or
 * -ENOMEM. */
static int note_filter(Judge *judge, VerdictBatch *batch, size_t begin, size_t n,
    const Filter *filter, const uint8_t *states) {
    FailureCounts counts = {.n_rules = judge->input.program->n_filters,
        .rule = filter->number,
        .errors = &judge->notes.filter_errors};
    const uint8_t *own = states;
    int r = missing_mark(judge, filter->missing_root, n, batch->states, &states);

    if (r != 0)
        return r;
    if (states != own)
        counts.missing = &judge->notes.filter_missing;
    order_count(judge, &batch->order, begin, states, n, counts);
    if (states != own)
        settle_missing(filter->on_missing == FALLBACK_ALLOW, n, batch->states);
    note_states(
        filter->number, filter->on_error == FALLBACK_ALLOW, states, n, batch->verdicts + begin);
    return 0;
}

/* 0, PLAN_DEADLINE_PASSED or -ENOMEM. */
static int judge_batch(Judge *judge, VerdictBatch *batch, size_t begin, size_t n) {
    const Program *program = judge->input.program;

    for (size_t i = 0; i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];
        const Column *column;
        int r;

        if (!filter_applies(judge, batch, filter) || filter->is_known ||
            !is_open(batch->verdicts + begin, n, filter->number))
            continue;
        r = plan_session_root(judge->session, filter->root, &column);
        if (r == 0)
            r = note_filter(judge, batch, begin, n, filter, column->states);
        if (r != 0)
            return r;
    }
    return 0;
}

/* Whether nodes that were not evaluated before the deadline are rejected. */
static bool rejects_late(const Judge *judge, bool observed) {
    const Program *program = judge->input.program;

    for (size_t i = 0; i < program->n_policies; i++)
        if (judge->match.applies[i] && program->policies[i].n_filters > 0 &&
            program->policies[i].is_observed == observed &&
            program->policies[i].on_timeout == FALLBACK_REJECT)
            return true;
    return false;
}

/* After the deadline: onTimeout decides for rows from @begin on that no filter has rejected. Facts
 * are applied to all rows; rows before @noted have them already. */
static void note_late(Judge *judge, const VerdictBatch *batch, size_t begin, size_t noted) {
    bool rejects = rejects_late(judge, batch->observed);

    if (noted < batch->order.n)
        note_known_all(judge, batch, noted, batch->order.n - noted);
    for (size_t i = begin; rejects && i < batch->order.n; i++)
        if (batch->verdicts[i] == VERDICT_PASS)
            batch->verdicts[i] = VERDICT_LATE;
    order_note_late(judge, &batch->order, begin);
}

static bool have_failed(const NodeFacts *facts) {
    for (size_t i = 0; i < facts->n_chunks; i++)
        if (facts->chunks[i]->failed)
            return true;
    return false;
}

typedef struct FailedCounts {
    uint32_t errors, missing;
} FailedCounts;

/* Only counts bits, because it runs for every request while metrics are absent. */
WIDE_LOOPS static FailedCounts count_bits(
    const NodeFacts *facts, const uint64_t *candidates, size_t filter) {
    FailedCounts counts = {0};

    for (size_t i = 0; i < facts->n_chunks; i++) {
        const FailedRows *failed = facts->chunks[i]->failed;

        if (!failed)
            continue;
        counts.errors += (uint32_t)__builtin_popcountll(failed[filter].errors & candidates[i]);
        counts.missing += (uint32_t)__builtin_popcountll(failed[filter].missing & candidates[i]);
    }
    return counts;
}

/* Counts failures of rules that read only the node; usually there are none. */
static void note_known_errors(Judge *judge, const VerdictBatch *batch) {
    const Program *program = judge->input.program;
    size_t n = program->n_filters;
    uint64_t *candidates;

    if (!have_failed(judge->input.facts))
        return;
    candidates = order_mark_candidates(judge, &batch->order);
    judge->lacks_memory |= !candidates;
    for (size_t i = 0; candidates && i < n; i++) {
        FailedCounts counts;

        if (!program->filters[i]->is_known || !filter_applies(judge, batch, program->filters[i]))
            continue;
        counts = count_bits(judge->input.facts, candidates, i);
        count_add(judge, &judge->notes.filter_errors, n, i, counts.errors);
        count_add(judge, &judge->notes.filter_missing, n, i, counts.missing);
    }
}

/* Copies verdicts to candidates; the unknown node gets the one after the last. */
static void hand_out(const VerdictBatch *batch, uint16_t *restrict ret) {
    UNROLLED
    for (size_t i = 0; i < batch->order.n_candidates; i++)
        ret[i] = batch->verdicts[order_place(&batch->order, i)];
}

static int judge_rows(Judge *judge, bool observed, uint16_t *ret) {
    const JudgeInput *input = &judge->input;
    SCRATCH VerdictBatch batch;
    size_t n = 0;
    int r;

    if (!judge->session) { /* without facts onTimeout decides for every known node */
        uint16_t late = rejects_late(judge, observed) ? VERDICT_LATE : VERDICT_PASS;

        judge->notes.n_late = input->n;
        for (size_t i = 0; i < input->n; i++)
            ret[i] = input->rows[i] != input->table->n_rows ? late : VERDICT_PASS;
        return 0;
    }
    batch.observed = observed;
    r = order_find(judge, input->rows, input->n, &batch.order);
    if (r < 0)
        return r;
    batch.verdicts = ARENA_RAW(input->arena, uint16_t, batch.order.n + 1);
    if (!batch.verdicts)
        return -ENOMEM;
    batch.verdicts[batch.order.n] = VERDICT_PASS;
    for (size_t begin = 0; begin < batch.order.n && r == 0; begin += n) {
        n = order_begin(judge, &batch.order, begin);
        note_known_all(judge, &batch, begin, n);
        r = judge_batch(judge, &batch, begin, n);
        if (r == PLAN_DEADLINE_PASSED)
            note_late(judge, &batch, begin, begin + n);
    }
    if (r < 0)
        return r;
    hand_out(&batch, ret);
    note_known_errors(judge, &batch);
    return judge->lacks_memory ? -ENOMEM : 0;
}

int judge_filters(Judge *judge, uint16_t *ret_verdicts) {
    return judge_rows(judge, /* observed= */ false, ret_verdicts);
}

int judge_observed(Judge *judge, uint16_t *ret_verdicts) {
    return judge_rows(judge, /* observed= */ true, ret_verdicts);
}

int judge_filter_states(Judge *judge, const Filter *filter, uint8_t *ret_states) {
    RowOrder order;
    size_t n = 0;
    int r = order_find(judge, judge->input.rows, judge->input.n, &order);
    uint8_t *states = ARENA_ARRAY(judge->input.arena, uint8_t, order.n);

    assert(judge->session);
    if (r < 0 || !states)
        return -ENOMEM;
    for (size_t begin = 0; begin < order.n; begin += n) {
        const Column *column;
        const uint8_t *found;

        n = order_begin(judge, &order, begin);
        r = plan_session_root(judge->session, filter->root, &column);
        found = r == 0 ? column->states : NULL;
        if (r == 0)
            r = missing_mark(judge, filter->missing_root, n, states + begin, &found);
        if (r != 0)
            return error_fold(r);
        if (found != states + begin)
            memcpy(states + begin, found, n);
    }
    for (size_t i = 0; i < order.n_candidates; i++) {
        size_t place = order_place(&order, i);

        ret_states[i] = place < order.n ? states[place] : COLUMN_TRUE;
    }
    return 0;
}
