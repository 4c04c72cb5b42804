#pragma once

/* Compiles a policy file of a fuzzer: the result is a program or errors that can be printed, never
 * both. A program runs over two nodes and an unknown one: no value is out of range, and the column
 * machine and the scalar machine agree on every rule. */

#include "base/fuzz.h"
#include "judge/judge.h"
#include "judge/test-generator.h"
#include "policy/test-scene.h"

static inline void fuzz_check_filters(Judge *judge, const JudgeInput *input) {
    uint16_t verdicts[3];

    require(judge_filters(judge, verdicts) == 0);
    for (size_t i = 0; i < input->n; i++)
        require(verdicts[i] == VERDICT_PASS || verdicts[i] < input->program->n_filters);
    require(judge_narrow(judge, 1, verdicts, /* ret_scores= */ NULL) == 0);
    require(judge_observed(judge, verdicts) == 0);
}

static inline void fuzz_check_scores(Judge *judge, const JudgeInput *input) {
    double scores[3] = {0};

    require(judge_scores(judge, scores) == 0);
    for (size_t i = 0; i < input->n; i++)
        require(scores[i] >= 0 && scores[i] <= 100 + 1e-9);
}

/* The column machine and the scalar machine agree on a rule. */
static inline void fuzz_check_rule(Judge *judge, const JudgeInput *input, const Filter *filter) {
    uint8_t states[3];

    require(judge_filter_states(judge, filter, states) == 0);
    for (size_t i = 0; i < input->n; i++) {
        CelValue value;

        if (input->rows[i] == input->table->n_rows)
            continue;
        value = judge_value(judge, &filter->test, input->rows[i], input->arena);
        if (states[i] == JUDGE_STATE_MISSING)
            require(value.kind == CEL_ERROR && expression_is_given(&filter->missing));
        else
            require(states[i] == (value.kind == CEL_ERROR ? COLUMN_ERROR
                                     : cel_is_true(value) ? COLUMN_TRUE
                                                          : COLUMN_FALSE));
        if (states[i] == COLUMN_FALSE && expression_is_given(&filter->message)) {
            value = judge_value(judge, &filter->message, input->rows[i], input->arena);
            require(value.kind == CEL_ERROR || value.kind == CEL_STRING);
        }
    }
}

/* Both machines agree on a score rule; all NaN are equal. */
static inline void fuzz_check_score(Judge *judge, const JudgeInput *input, const Score *score) {
    double raw[3], values[3];
    uint8_t states[3];

    require(judge_score_values(judge, score, raw, states, values) == 0);
    for (size_t i = 0; i < input->n; i++) {
        CelValue value;
        double number;

        if (input->rows[i] == input->table->n_rows)
            continue;
        value = judge_value(judge, &score->value, input->rows[i], input->arena);
        number = value.kind == CEL_INT ? (double)value.i : value.d;
        require((states[i] != COLUMN_OK) == (value.kind == CEL_ERROR));
        require(
            states[i] != COLUMN_OK || raw[i] == number || (raw[i] != raw[i] && number != number));
    }
}

/* A program over the first two rows of @table and the unknown node. */
static inline void fuzz_run(
    const Program *program, const NodeTable *table, const Pod *pod, Arena *arena) {
    const uint32_t rows[] = {1, (uint32_t)table->n_rows, 0};
    NodeFacts facts;
    JudgeInput input = {.program = program,
        .table = table,
        .facts = &facts,
        .pod = pod,
        .rows = rows,
        .n = 3,
        .arena = arena};
    Judge *judge;

    if (facts_build(program, table, &(FactsOptions){0}, arena, &facts) < 0 ||
        judge_open(&input, &judge) < 0)
        return;
    fuzz_check_filters(judge, &input);
    fuzz_check_scores(judge, &input);
    for (size_t i = 0; i < program->n_filters; i++) {
        require(program->filters[i]->number == i && program->filters[i]->reason.len > 0);
        fuzz_check_rule(judge, &input, program->filters[i]);
    }
    for (size_t i = 0; i < program->n_scores; i++)
        if (judge_applies(judge, program->scores[i]->policy))
            fuzz_check_score(judge, &input, program->scores[i]);
}

static inline int fuzz_policy(Str text) {
    static TestScene scene;
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)256 << 20);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf messages = BUF_INIT((size_t)16 << 20);
    const PolicySource source = {.file = STR("fuzz.yaml"), .text = text};
    DiagList diags = DIAG_LIST_IN(arena);
    int r;

    if (!scene.arena)
        scene_init_text(&scene, generated_small_scene);
    r = program_compile(&source, 1, &diags, &program);
    require(r == 0 || r == PROGRAM_E_INVALID);
    require((r == 0) == (diags.n_errors == 0) && (r == 0) == (program != NULL));
    diag_list_print(&diags, /* colour= */ false, &messages);
    if (program)
        fuzz_run(program, &scene.table, &scene.pod, arena);
    return 0;
}
