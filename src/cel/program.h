#pragma once

/*
 * Program: an expression, compiled. The five steps in a row:
 *
 *     text -- parse --> tree -- check --> types -- lower --> graph -- emit --> code
 *                                    \-- cost: refused above a limit
 *
 * The folder, for who opens it first. Headers are the contracts.
 *
 * text -> tree
 *     tree           the nodes: one array, children before parents
 *     lex            tokens
 *     literal        the values of numbers and texts
 *     parse          the loop over the tokens; parser.h is its state
 *     operand        what can stand where a value must come
 *     reduce         what waited on the stack becomes a node
 *     builder        the tree while it grows
 *     macro          has(), all(), map(), cel.bind() …
 *     recover        how the parser gets on behind a mistake
 *     mistake        what is said about it
 * tree -> types
 *     check          the walk over the tree; checker: its state, and how it speaks
 *     resolve        what a name means
 *     overload       which functions a call could mean
 *     comprehension  macros that declare variables
 *     check-format   the text of format()
 *     type           what is known of a value
 *     unify          whether one type fits where another is wanted
 *     env            what an expression may name
 *     signature      declarations, read from text
 *     suggest        names that are not there, and what may have been meant
 *     mismatch       calls that fit no overload, and why
 *     cost           what it could cost at most; cost-call, cost-part.h: calls, one part
 * types -> graph
 *     opcode.h       every operation, once
 *     graph          what is to be computed, equal parts once
 *     lower          the walk; lower-call, lower-node: calls, nodes and constants
 *     fold           what is constant is computed beforehand; copy: a value in another arena
 *     set            x in [constants]
 * graph -> code
 *     code.h         instructions and their tables
 *     emit           the walk over the graph
 *     share          which parts are computed once and remembered
 *     assemble       instructions and tables while they grow
 *     disassemble    code for people
 * code -> value
 *     machine        the loop over the instructions
 *     call           which overload takes the arguments
 *     loop           a loop that is running
 *     select         a.b, has(a.b), a.?b
 *     operators      + - * / == < in []: what each does
 *     program        these steps in a row
 *     trace          what a run computed
 *     explain        the same as a tree of lines, for people; explain-part: which lines;
 *                    explain-leaf: the values that decided
 * graph -> columns: many rows at once
 *     column         one value for each of many rows; entry: one of them
 *     kernel         one operation over whole columns: which one; kernel-loop.h: how they are made
 *     kernel-number, -compare, -logic, -choose, -time      the kernels
 *     plan           which part is computed when and how; plan-part.h is its inside
 *     plan-column    what can be a column
 *     plan-shape     loops that become one value; plan-level: their bodies
 *     plan-loop      which of those run over columns
 *     plan-code      scalar code for what has no kernel
 *     plan-need      what the roots need; plan-order: in which order; plan-register: where
 *     plan-print     a plan for people
 *     work           columns, worked out; work-scalar, work-text, work-reduce: by how
 *     kept           what is known of some rows from the rows alone; splice: some of them exchanged
 *     whole          what must be known of all rows
 *     session        roots for the rows that are asked about; session-load, -loop, -once: its parts
 *
 * values
 *     value          what an expression computes with
 *     run            one evaluation: its arena, its fuel, what it makes
 *     print          a value as an expression would write it
 *     items          lists as arrays
 *     members        values that are found again fast
 *     order          values that are sorted
 * libraries
 *     library.h      functions are tables
 *     lib-*          the tables and their functions, one file a library
 *     number         texts as numbers, for conversions and lib-math
 *     timestamp, duration, zone      time
 *     format         the text that string.format() fills in
 *     amount, semver, ip, url        what lib-quantity and its like compute with
 *
 * limits.h           what a text or a value can make grow, by name
 */

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/diag.h"
#include "cel/check.h"
#include "cel/code.h"
#include "cel/cost.h"
#include "cel/graph.h"
#include "cel/machine.h"

typedef struct CelProgram {
    const CelCode *code;
    const CelType *type; /* of the result */
    CelCostRange cost;
} CelProgram;

#define CEL_COMPILE_REFUSED 1 /* @diags says why */

/* The program lies in @arena; everything needed on the way only, in an arena of its own.
 * @source need not outlive the call; @env must outlive the program. @options may be NULL. 0,
 * CEL_COMPILE_REFUSED or -ENOMEM. */
int cel_compile(const CelEnv *env, Str file, Str source, const CelOptions *options, Arena *arena,
    DiagList *diags, CelProgram **ret) MUST_CHECK;

/* The first two steps: a checked tree in @arena, which refers to @source and @env. @options may not
 * be NULL. 0, CEL_COMPILE_REFUSED or -ENOMEM. */
int cel_compile_tree(const CelEnv *env, Str file, Str source, const CelOptions *options,
    Arena *arena, DiagList *diags, CelChecked **ret) MUST_CHECK;
