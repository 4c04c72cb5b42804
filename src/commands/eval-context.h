#pragma once

/* EvalContext: what every evaluation of `berth eval` shares. */

#include "base/arena.h"
#include "base/cleanup.h"
#include "cel/env.h"
#include "cel/run.h"
#include "input/zones.h"

#define EVAL_BUDGET ((size_t)256 * 1024 * 1024)  /* memory of data, trees and code */
#define EVAL_TEXT_MAX ((size_t)64 * 1024 * 1024) /* a file, a printed value */

typedef struct EvalContext {
    Arena *arena; /* the language's tables, and the data of a single evaluation */
    Arena *made;  /* what an evaluation makes: its memory bound */
    CelEnv *env;
    Zones *zones;
} EvalContext;

/* 0 or -ENOMEM; eval_context_done() in either case. */
int eval_context_init(EvalContext *context) MUST_CHECK;
void eval_context_done(EvalContext *context);

/* A run with the default bounds. */
CelRun eval_context_run(const EvalContext *context);

/* Says so on stderr and returns the exit code. */
int eval_out_of_memory(void);
