/*
 * Any bytes as a policy file: no crash; either a program or errors, never both;
 * errors that can be printed. A program runs over a node and a pod without any
 * value going out of range.
 */

#include <stdlib.h>

#include "policy/evaluate.h"
#include "policy/test-scene.h"

static const char scene_text[] =
    "nodes:\n"
    "  n1: {labels: {pool: a, gen: '3'}, allocatable: {cpu: 4, memory: 8Gi, nvidia.com/gpu: 2}}\n"
    "  n2: {ready: false, taints: [{key: gpu, effect: NoSchedule}]}\n"
    "pods: [{on: n1, labels: {app: web}, requests: {cpu: 1, memory: 1Gi}}]\n"
    "pod: {namespace: team-a, labels: {app: web}, requests: {cpu: 1}}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

static const Scene *fixed_scene(void) {
    static Scene scene;

    if (!scene.arena)
        scene_init_text(&scene, scene_text);
    return &scene;
}

static void check_filters(const Question *question) {
    uint16_t verdicts[3];

    require(evaluate_filters(question, verdicts) == 0);
    for (size_t i = 0; i < question->n; i++)
        require(verdicts[i] == VERDICT_PASS || verdicts[i] < question->program->n_filters);
}

static void check_scores(const Question *question) {
    double scores[3] = {0};
    bool any;

    require(evaluate_scores(question, &any, scores) == 0);
    for (size_t i = 0; i < question->n; i++)
        require(scores[i] >= 0 && scores[i] <= 100 + 1e-9);
}

static void run(const Program *program, Arena *arena) {
    static const uint32_t rows[] = {1, 2, 0}; /* 2 is the node nobody knows */
    const NodeTable *table = snapshot_table(fixed_scene()->snapshot);
    Facts facts;
    Question question = {.program = program,
        .table = table,
        .facts = &facts,
        .pod = &fixed_scene()->pod,
        .rows = rows,
        .n = 3,
        .arena = arena};

    if (facts_build(program, table, FACTS_OF_ALL, /* known= */ NULL, arena, &facts) < 0)
        return;
    check_filters(&question);
    check_scores(&question);
    for (size_t i = 0; i < program->n_filters; i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(65536);
        Batch batch = {.table = table, .rows = rows, .n = 1, .pod = question.pod, .arena = arena};
        uint8_t pass[3];

        require(program->filters[i]->number == i && program->filters[i]->reason.len > 0);
        require(evaluate_filter(&question, program->filters[i], pass) == 0);
        if (!pass[0])
            program->filters[i]->kind->explain(program->filters[i]->config, &batch, &text);
        require(pass[0] || text.len > 0);
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
