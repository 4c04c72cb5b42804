/*
 * Any bytes as a policy file: no crash; either a program or errors, never both;
 * errors that can be printed. A program runs over a node and a pod without any
 * value going out of range.
 */

#include "base/fuzz.h"
#include "judge/fuzz-run.h"
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
        fuzz_run(program, snapshot_table(fixed_scene()->snapshot), &fixed_scene()->pod, arena);
    return 0;
}
