#include "extender/explain.h"

#include <errno.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/vec.h"
#include "extender/score.h"

typedef struct Explaining {
    const View *view;
    Question question; /* over all nodes */
    Judge *judge;
    Explanation *result;
} Explaining;

static int start(
    const View *view, const Moment *moment, const Pod *pod, Arena *arena, Explaining *ret) {
    Sight sight = {.table = view->table, .facts = &view->facts};
    uint32_t *rows = ARENA_ARRAY(arena, uint32_t, view->table->n_rows);
    NodeExplanation *nodes = ARENA_ARRAY(arena, NodeExplanation, view->table->n_rows);
    size_t n = 0;
    int r;

    if (!rows || !nodes)
        return error_origin(-ENOMEM);
    for (uint32_t row = 0; row < view->table->n_rows; row++) {
        if (!table_node(view->table, row))
            continue;
        rows[n] = row;
        nodes[n++].node = view->table->names->names[row];
    }
    r = view_adjust(view, pod, /* gone= */ NULL, 0, arena, &sight);
    if (r < 0)
        return error_trace(r);
    ret->question = view_question(view, moment, &sight, pod, rows, n, arena);
    ret->result->nodes = nodes;
    ret->result->n_nodes = n;
    return error_trace(judge_open(&ret->question, &ret->judge));
}

static int find_policies(Explaining *explaining) {
    const Program *program = explaining->view->program;
    Explanation *result = explaining->result;
    Arena *arena = explaining->question.arena;

    result->policies = ARENA_ARRAY(arena, const Policy *, program->n_policies);
    result->scores = ARENA_ARRAY(arena, const Score *, program->n_scores);
    if (!result->policies || !result->scores)
        return error_origin(-ENOMEM);
    for (size_t i = 0; i < program->n_policies; i++)
        if (judge_applies(explaining->judge, &program->policies[i]))
            result->policies[result->n_policies++] = &program->policies[i];
    for (size_t i = 0; i < program->n_scores; i++) {
        const Score *score = program->scores[i];

        if (score->policy->is_observed || !judge_applies(explaining->judge, score->policy))
            continue;
        result->scores[result->n_scores++] = score;
        result->weights += score->weight;
    }
    return 0;
}

static int set_verdicts(Explaining *explaining) {
    const Question *question = &explaining->question;
    uint16_t *verdicts = ARENA_ARRAY(question->arena, uint16_t, question->n);
    int r;

    if (!verdicts)
        return error_origin(-ENOMEM);
    r = judge_filters(explaining->judge, verdicts);
    if (r < 0)
        return error_trace(r);
    for (size_t i = 0; i < question->n; i++) {
        if (verdicts[i] == VERDICT_PASS)
            explaining->result->n_passed++;
        else
            explaining->result->nodes[i].verdict = question->program->filters[verdicts[i]];
    }
    return 0;
}

/* Which value met which limit, as the rule tells it. */
static Str detail_of(const Explaining *explaining, const Filter *filter, size_t i, uint8_t state) {
    const Question *question = &explaining->question;
    const Expression *told = state == CEL_STATE_ERROR ? &filter->test : &filter->message;
    CelValue value;

    if (!expression_is_given(told))
        return STR_NULL;
    value = judge_value(explaining->judge, told, question->rows[i], question->arena);
    if (value.kind == CEL_ERROR)
        return value.error->text;
    return value.kind == CEL_STRING ? cel_str(value) : STR_NULL;
}

static bool passes(const Filter *filter, uint8_t state) {
    return state == CEL_STATE_TRUE ||
           (state == CEL_STATE_ERROR && filter->on_error == FALLBACK_ALLOW);
}

static int note_failures(Explaining *explaining, const Filter *filter) {
    const Question *question = &explaining->question;
    uint8_t *states = ARENA_ARRAY(question->arena, uint8_t, question->n);
    int r = states ? judge_filter_states(explaining->judge, filter, states) : error_origin(-ENOMEM);

    for (size_t i = 0; r == 0 && i < question->n; i++) {
        NodeExplanation *node = &explaining->result->nodes[i];

        if (passes(filter, states[i]))
            continue;
        if (!node->failed)
            node->failed = ARENA_ARRAY(question->arena, FailedRule, question->program->n_filters);
        if (!node->failed)
            return error_origin(-ENOMEM);
        node->failed[node->n_failed++] =
            (FailedRule){.filter = filter, .detail = detail_of(explaining, filter, i, states[i])};
    }
    return error_trace(r);
}

static int find_failures(Explaining *explaining) {
    for (size_t i = 0; i < explaining->result->n_policies; i++) {
        const Policy *policy = explaining->result->policies[i];

        for (size_t j = 0; j < policy->n_filters; j++) {
            int r = note_failures(explaining, &policy->filters[j]);

            if (r < 0)
                return error_trace(r);
        }
    }
    return 0;
}

static int set_totals(Explaining *explaining) {
    const Question *question = &explaining->question;
    Explanation *result = explaining->result;
    double *totals = ARENA_ARRAY(question->arena, double, question->n);
    int r = totals ? judge_scores(explaining->judge, totals) : error_origin(-ENOMEM);

    for (size_t i = 0; r == 0 && i < question->n; i++) {
        NodeExplanation *node = &result->nodes[i];

        node->is_scored = judge_has_scores(explaining->judge) && !node->verdict;
        node->score = totals[i];
        node->wire_score = score_to_wire(totals[i], judge_wire_max(explaining->judge));
        node->parts = ARENA_ARRAY(question->arena, double, result->n_scores);
        if (!node->parts)
            return error_origin(-ENOMEM);
    }
    return error_trace(r);
}

static int set_parts(Explaining *explaining) {
    const Question *question = &explaining->question;
    Explanation *result = explaining->result;
    double *raw = ARENA_ARRAY(question->arena, double, question->n);
    double *values = ARENA_ARRAY(question->arena, double, question->n);
    uint8_t *states = ARENA_ARRAY(question->arena, uint8_t, question->n);
    int r = raw && values && states ? 0 : error_origin(-ENOMEM);

    for (size_t s = 0; r == 0 && s < result->n_scores; s++) {
        r = judge_score_values(explaining->judge, result->scores[s], raw, states, values);
        for (size_t i = 0; r == 0 && i < question->n; i++)
            result->nodes[i].parts[s] = values[i];
    }
    return error_trace(r);
}

int extender_explain(
    const View *view, const Moment *moment, const Pod *pod, Arena *arena, Explanation *ret) {
    Explaining explaining = {.view = view, .result = ret};
    int r;

    *ret = (Explanation){0};
    r = start(view, moment, pod, arena, &explaining);
    if (r == 0)
        r = find_policies(&explaining);
    if (r == 0)
        r = set_verdicts(&explaining);
    if (r == 0)
        r = find_failures(&explaining);
    if (r == 0)
        r = set_totals(&explaining);
    if (r == 0)
        r = set_parts(&explaining);
    return error_trace(r);
}
