/*
 * One expression over the schema, whose productions are chosen by the bytes, as a filter and as a
 * score: what the check accepts can be planned, and both machines agree.
 */

#include <errno.h>

#include "base/fuzz.h"
#include "judge/fuzz-run.h"
#include "judge/test-generator.h"
#include "policy/test-scene.h"

static const TestScene *fixed_scene(void) {
    static TestScene scene;

    if (!scene.arena)
        scene_init_text(&scene, generated_small_scene);
    return &scene;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)256 << 20);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 20);
    Choices choices = {.bytes = data, .n = size};
    PolicySource source = {.file = STR("fuzz.yaml")};
    DiagList diags = DIAG_LIST_IN(arena);
    int r;

    generate_expression(&choices, &text);
    if (buf_error(&text) == -EFBIG)
        return 0;
    source.text = buf_str(&text);
    r = program_compile(&source, 1, &diags, &program);
    require(r == 0 || r == PROGRAM_E_INVALID);
    require((r == 0) == (diags.n_errors == 0) && (r == 0) == (program != NULL));
    if (program)
        fuzz_run(program, &fixed_scene()->table, &fixed_scene()->pod, arena);
    return 0;
}
