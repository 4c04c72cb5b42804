#include "extender/explain.h"

#include <errno.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/vec.h"
#include "extender/score.h"

#define DETAIL_MAX ((size_t)4 * 1024)

typedef struct Explaining {
    const View *view;
    Question question; /* over all nodes */
    Explanation *result;
} Explaining;

static int start(const View *view, const Pod *pod, Arena *arena, Explaining *ret) {
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
    r = view_adjust(view, pod, /* gone= */ NULL, 0, FACTS_OF_ALL, arena, &sight);
    ret->question = (Question){
        .program = view->program,
        .table = sight.table,
        .facts = sight.facts,
        .pod = pod,
        .rows = rows,
        .n = n,
        .arena = arena,
    };
    ret->result->nodes = nodes;
    ret->result->n_nodes = n;
    return error_trace(r);
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
        if (policy_matches(&program->policies[i], explaining->question.pod))
            result->policies[result->n_policies++] = &program->policies[i];
    for (size_t i = 0; i < program->n_scores; i++) {
        const Score *score = program->scores[i];

        if (score->policy->is_observed || !policy_matches(score->policy, explaining->question.pod))
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
    r = evaluate_filters(question, verdicts);
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

static Str detail_of(const Question *question, const Filter *filter, size_t i) {
    _cleanup_(buf_done) Buf text = BUF_INIT(DETAIL_MAX);
    Batch one = {
        .table = question->table,
        .rows = &question->rows[i],
        .n = 1,
        .pod = question->pod,
        .arena = question->arena,
    };

    filter->kind->explain(filter->config, &one, &text);
    return arena_copy(question->arena, buf_str(&text));
}

static int note_failures(Explaining *explaining, const Filter *filter) {
    const Question *question = &explaining->question;
    uint8_t *pass = ARENA_ARRAY(question->arena, uint8_t, question->n);
    int r = pass ? evaluate_filter(question, filter, pass) : error_origin(-ENOMEM);

    for (size_t i = 0; r == 0 && i < question->n; i++) {
        NodeExplanation *node = &explaining->result->nodes[i];

        if (pass[i])
            continue;
        if (!node->failed)
            node->failed = ARENA_ARRAY(question->arena, FailedRule, question->program->n_filters);
        if (!node->failed)
            return error_origin(-ENOMEM);
        node->failed[node->n_failed++] =
            (FailedRule){.filter = filter, .detail = detail_of(question, filter, i)};
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

static int set_scores(Explaining *explaining) {
    const Question *question = &explaining->question;
    Explanation *result = explaining->result;
    double *totals = ARENA_ARRAY(question->arena, double, question->n);
    double *values = ARENA_ARRAY(question->arena, double, question->n);
    bool any = false;
    int r;

    if (!totals || !values)
        return error_origin(-ENOMEM);
    r = evaluate_scores(question, &any, totals);
    for (size_t i = 0; r == 0 && i < question->n; i++) {
        NodeExplanation *node = &result->nodes[i];

        node->is_scored = any && !node->verdict;
        node->score = totals[i];
        node->wire_score = score_to_wire(totals[i]);
        node->parts = ARENA_ARRAY(question->arena, double, result->n_scores);
        if (!node->parts)
            return error_origin(-ENOMEM);
    }
    for (size_t s = 0; r == 0 && s < result->n_scores; s++) {
        r = evaluate_score(question, result->scores[s], values);
        for (size_t i = 0; r == 0 && i < question->n; i++)
            result->nodes[i].parts[s] = values[i];
    }
    return error_trace(r);
}

int extender_explain(const View *view, const Pod *pod, Arena *arena, Explanation *ret) {
    Explaining explaining = {.view = view, .result = ret};
    int r;

    *ret = (Explanation){0};
    r = start(view, pod, arena, &explaining);
    if (r == 0)
        r = find_policies(&explaining);
    if (r == 0)
        r = set_verdicts(&explaining);
    if (r == 0)
        r = find_failures(&explaining);
    if (r == 0)
        r = set_scores(&explaining);
    return error_trace(r);
}
