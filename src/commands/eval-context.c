#include "commands/eval-context.h"

#include <errno.h>

#include "cli/terminal.h"

void eval_context_done(EvalContext *context) {
    zones_free(context->zones);
    arena_free(context->made);
    arena_free(context->arena);
}

int eval_context_init(EvalContext *context) {
    *context = (EvalContext){.arena = arena_new(EVAL_BUDGET),
        .made = arena_new(CEL_MEMORY_DEFAULT),
        .zones = zones_new()};
    context->env = context->arena ? cel_env_new(context->arena) : NULL;
    return context->env && context->made && context->zones ? 0 : -ENOMEM;
}

CelRun eval_context_run(const EvalContext *context) {
    CelRun run = CEL_RUN(context->made);

    run.zones = zones_finder(context->zones);
    return run;
}

int eval_out_of_memory(void) {
    return terminal_out_of_memory("berth eval");
}
