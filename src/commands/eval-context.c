#include "commands/eval-context.h"

#include <errno.h>

#include "cli/terminal.h"

void eval_scene_done(EvalScene *scene) {
    zones_free(scene->zones);
    arena_free(scene->made);
    arena_free(scene->arena);
}

int eval_scene_init(EvalScene *scene) {
    *scene = (EvalScene){.arena = arena_new(EVAL_BUDGET),
        .made = arena_new(CEL_MEMORY_DEFAULT),
        .zones = zones_new()};
    scene->env = scene->arena ? cel_env_new(scene->arena) : NULL;
    return scene->env && scene->made && scene->zones ? 0 : -ENOMEM;
}

CelRun eval_scene_run(const EvalScene *scene) {
    CelRun run = CEL_RUN(scene->made);

    run.zones = zones_finder(scene->zones);
    return run;
}

int eval_out_of_memory(void) {
    return terminal_out_of_memory("berth eval");
}
