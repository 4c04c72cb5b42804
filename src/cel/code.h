#pragma once

/*
 * Code: instructions for the scalar machine.
 *
 * Made from one root of a graph. A stack machine: values are pushed, operations take theirs
 * from the top. What several places need is computed by the first that gets there and
 * kept (RECALL, KEEP). An instruction is eight bytes; where it came from in the source is
 * kept beside, not in it.
 *
 * Errors are not passed from instruction to instruction: a table says, for every range of
 * instructions, which && or ||, all() or exists() waits for an error of it and how high the
 * stack is there. So what does not fail pays nothing.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "cel/graph.h"

typedef struct CelInstruction {
    uint16_t op;
    uint16_t a;
    uint32_t b;
} CelInstruction;

typedef struct CelCode CelCode; /* immutable; any number of threads run it */

typedef struct CelEmitOptions {
    bool trace; /* report every value on its way (run->trace) */
} CelEmitOptions;

/* Everything lies in @arena; the graph is not needed to run it, except for tracing. */
int cel_emit(const CelGraph *graph, uint32_t root, const CelEmitOptions *options, Arena *arena,
    CelCode **ret) MUST_CHECK;

/* Bytes that the code and its constants take. */
size_t cel_code_size(const CelCode *code);

/* The disassembler: one instruction a line, with constants and names spelled out, then the
 * table of handlers. */
void cel_code_print(const CelCode *code, Buf *out);
