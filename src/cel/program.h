#pragma once

/*
 * Program: an expression, compiled in five steps:
 *
 *     text -- parse --> tree -- check --> types -- lower --> graph -- emit --> code
 *                                    \-- cost: refused above a limit
 *
 *     text -> tree     lex, parse, macro, parse-errors, report
 *     tree -> types    check*, resolve, overload, type, unify, env, signature, cost
 *     types -> graph   lower, graph, opcode.h
 *     graph -> code    emit, code.h
 *     code -> value    machine, operators, explain
 *     values           value, run, print, elements
 *     libraries        library.h, lib-*; number, time, zone, format, quantity, semver, ip, url
 *
 * The folder columnar evaluates graphs over many rows at once.
 */

#include "base/diag.h"
#include "cel/check.h"
#include "cel/code.h"
#include "cel/cost.h"
#include "cel/graph.h"

typedef struct CelProgram {
    CelCode *code;
    const CelType *type; /* of the result */
    CelCostRange cost;
} CelProgram;

/* The program is in @arena; temporary data has its own arena. @source need not outlive the call;
 * @env must outlive the program. @options may be NULL. 0, CEL_REFUSED or -ENOMEM. */
int cel_compile(const CelEnv *env, Str file, Str source, const CelOptions *options, Arena *arena,
    DiagList *diags, CelProgram **ret) MUST_CHECK;

/* The first two steps: a checked tree in @arena, which refers to @source and @env. @options may not
 * be NULL. 0, CEL_REFUSED or -ENOMEM. */
int cel_compile_tree(const CelEnv *env, Str file, Str source, const CelOptions *options,
    Arena *arena, DiagList *diags, CelChecked **ret) MUST_CHECK;
