#pragma once

/* Internals of the emitter: assemble.c collects instructions and tables. */

#include "base/vec.h"
#include "cel/code.h"

typedef struct CelAssembler {
    Arena *arena;                  /* for the code */
    Arena *scratch;                /* for temporary tables */
    bool is_tracing, is_borrowing; /* constants are not copied */
    uint32_t height;               /* values on the stack now */
    uint32_t height_max;
    uint32_t n_loops; /* open now, in this part */
    uint32_t handler; /* the innermost that is open, or CEL_NO_HANDLER */
    VEC(CelInstruction) instructions;
    VEC(uint32_t) positions;
    VEC(uint32_t) handler_of;
    VEC(uint32_t) owner_of;
    VEC(CelOwner) owners;
    VEC(CelValue) constants;
    VEC(CelCallee) callees;
    VEC(CelShared) shared;
    VEC(CelLoopCode) loops;
    VEC(CelHandler) handlers;
    VEC(CelSlotName) names;
    VEC(CelOuterLocal) outers;
    bool is_full; /* out of memory: discard all output */
} CelAssembler;

/* Adds to one of the tables above; returns the index. */
#define CEL_APPEND(as, table, ...)                                                                 \
    ({                                                                                             \
        uint32_t _index = (uint32_t)(as)->table.n;                                                 \
        (as)->is_full |= !VEC_ADD(&(as)->table, (as)->scratch, __VA_ARGS__);                       \
        _index;                                                                                    \
    })

/* The number of the next instruction. */
static inline uint32_t cel_as_here(const CelAssembler *as) {
    return (uint32_t)as->instructions.n;
}

/* Begins a part, with an empty stack. Returns its number. */
uint32_t cel_as_begin_part(CelAssembler *as);

/* Adds an instruction for position @at of the source. Returns its number. */
uint32_t cel_as_add(CelAssembler *as, CelInstruction instruction, uint32_t at, uint32_t owner);

/* @by more values on the stack. */
void cel_as_grow(CelAssembler *as, uint32_t by);

/* Sets the target of jump @from to the next instruction. */
void cel_as_land(CelAssembler *as, uint32_t from);

/* Opens a handler: errors of instructions up to cel_as_close_handler() continue after it, as one
 * more value on top of @height values. Returns the previous handler, which is @outer there. */
uint32_t cel_as_open_handler(CelAssembler *as, uint32_t height, uint32_t owner);
void cel_as_close_handler(CelAssembler *as, uint32_t outer);

/* Indexes in the tables: of @v; of the first callee of a call (its callees are adjacent). */
uint32_t cel_as_constant(CelAssembler *as, CelValue v);
uint32_t cel_as_callees(CelAssembler *as, const CelGraphNode *call);

/* Stores the name of a VARIABLE node's variable, for error messages. */
void cel_as_name(CelAssembler *as, const CelGraphNode *variable);

/* Builds the code, after the last instruction. 0 or -ENOMEM. */
int cel_as_finish(CelAssembler *as, uint32_t entry, CelCode **ret) MUST_CHECK;
