/*
 * Any bytes as a policy file: no crash; either a program or errors, never both;
 * errors that can be printed. A program runs over a node and a pod without any
 * value going out of range.
 */

#include "base/fuzz.h"
#include "judge/judge.h"
#include "policy/test-scene.h"

static const char scene_text[] =
    "nodes:\n"
    "  n1: {labels: {pool: a, gen: '3'}, allocatable: {cpu: 4, memory: 8Gi, nvidia.com/gpu: 2}}\n"
    "  n2: {ready: false, taints: [{key: gpu, effect: NoSchedule}]}\n"
    "pods: [{on: n1, labels: {app: web}, requests: {cpu: 1, memory: 1Gi}}]\n"
    "pod: {namespace: team-a, labels: {app: web}, requests: {cpu: 1}}\n";

static const TestScene *fixed_scene(void) {
    static TestScene scene;

    if (!scene.arena)
        scene_init_text(&scene, scene_text);
    return &scene;
}

static void check_filters(Judge *judge, const JudgeInput *input) {
    uint16_t verdicts[3];

    require(judge_filters(judge, verdicts) == 0);
    for (size_t i = 0; i < input->n; i++)
        require(verdicts[i] == VERDICT_PASS || verdicts[i] < input->program->n_filters);
    require(judge_narrow(judge, 1, verdicts, /* ret_scores= */ NULL) == 0);
    require(judge_observed(judge, verdicts) == 0);
}

static void check_scores(Judge *judge, const JudgeInput *input) {
    double scores[3] = {0};

    require(judge_scores(judge, scores) == 0);
    for (size_t i = 0; i < input->n; i++)
        require(scores[i] >= 0 && scores[i] <= 100 + 1e-9);
}

/* The column machine and the scalar machine agree on a rule. */
static void check_rule(Judge *judge, const JudgeInput *input, const Filter *filter) {
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

static void run(const Program *program, Arena *arena) {
    static const uint32_t rows[] = {1, 2, 0}; /* 2 is the unknown node */
    const NodeTable *table = snapshot_table(fixed_scene()->snapshot);
    NodeFacts facts;
    JudgeInput input = {.program = program,
        .table = table,
        .facts = &facts,
        .pod = &fixed_scene()->pod,
        .rows = rows,
        .n = 3,
        .arena = arena};
    Judge *judge;

    if (facts_build(program, table, &(FactsOptions){0}, arena, &facts) < 0 ||
        judge_open(&input, &judge) < 0)
        return;
    check_filters(judge, &input);
    check_scores(judge, &input);
    for (size_t i = 0; i < program->n_filters; i++) {
        require(program->filters[i]->number == i && program->filters[i]->reason.len > 0);
        check_rule(judge, &input, program->filters[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)64 << 20);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)16 << 20);
    PolicySource source = {.file = STR("fuzz.yaml"), .text = str_of((const char *)data, size)};
    DiagList diags = DIAG_LIST_IN(arena);
    int r = program_compile(&source, 1, &diags, &program);

    diag_list_print(&diags, /* colour= */ false, &text);
    require(r == 0 || r == PROGRAM_E_INVALID);
    require((r == 0) == (diags.n_errors == 0) && (r == 0) == (program != NULL));
    if (program)
        run(program, arena);
    return 0;
}
