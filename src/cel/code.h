#pragma once

/*
 * Code: instructions for the scalar machine, made from one root of a graph.
 *
 * A stack machine. The first place that needs a shared part computes and stores it (RECALL, KEEP).
 * A table lists for every instruction which && or ||, all() or exists() handles its error, and the
 * stack height there, so the path without errors costs nothing.
 */

#include "cel/graph.h"

typedef struct CelInstruction {
    uint16_t op;
    uint16_t a;
    uint32_t b;
} CelInstruction;

/* Instructions that fetch a value of the host carry its declared kind (in @a, or the low byte of
 * VARIABLE_FIELD's @b; CEL_ABSENT: any) and fail when it is another: later instructions do not
 * check. */

/* One overload of a call. */
typedef struct CelCallee {
    CelFunction *fn;
    const void *prepared;
    const char *name;
    bool is_receiver;
    uint8_t n_args;
    uint16_t n_candidates;       /* DISPATCH: this one and those that follow in the table */
    uint8_t kinds[CEL_ARGS_MAX]; /* CEL_ABSENT: any */
} CelCallee;

/* A part that several places recall: a subroutine whose result is kept for one iteration of the
 * innermost loop whose variables it reads. */
typedef struct CelShared {
    uint32_t entry;
    uint32_t n_instructions;
    uint32_t node; /* of the graph, for the trace */
    uint8_t level; /* of that loop; CEL_SHARED_ALWAYS: it reads none */
} CelShared;

#define CEL_SHARED_ALWAYS UINT8_MAX

typedef struct CelLoopCode {
    uint8_t level;
    bool is_pairs;
    uint32_t cost; /* fuel for one iteration: its instructions */
} CelLoopCode;

/* An error of an instruction in [from, target) without an inner handler continues at @target, on
 * top of @height values, inside @n_loops loops; both are counted from the entry of the part. */
typedef struct CelHandler {
    uint32_t from, target;
    uint32_t height, n_loops;
    uint32_t owner; /* the node that handles errors; CEL_NO_OWNER: not for tracing */
} CelHandler;

#define CEL_NO_HANDLER UINT32_MAX

/* For tracing: the node of an instruction, and the place that needed it. */
typedef struct CelOwner {
    uint32_t node, parent; /* parent: CEL_NO_OWNER for a whole part */
} CelOwner;

#define CEL_NO_OWNER UINT32_MAX

typedef struct CelSlotName {
    uint32_t slot;
    Str name;
} CelSlotName;

/* The variable of a loop outside this code: the caller passes its value to the run. */
typedef struct CelOuterLocal {
    uint32_t local; /* as in LOCAL: 2 × level, + 1 for the second variable */
    uint32_t slot;
} CelOuterLocal;

/* Immutable; any number of threads run it. */
typedef struct CelCode {
    const CelInstruction *instructions;
    uint32_t n_instructions, entry;
    uint32_t height_max; /* values on the stack */
    uint32_t n_constants, n_callees, n_shared, n_loops, n_handlers, n_names, n_outers;
    uint8_t outer_levels;       /* bit l: a loop of level l encloses the root */
    const uint32_t *positions;  /* offset in the source, per instruction */
    const uint32_t *handler_of; /* the handler of its error, per instruction */
    const CelValue *constants;
    const CelCallee *callees;
    const CelShared *shared;
    const CelLoopCode *loops;
    const CelHandler *handlers;
    const CelSlotName *names;
    const CelOuterLocal *outers;
    const uint32_t *owner_of; /* per instruction; NULL: not for tracing */
    const CelOwner *owners;
    size_t size; /* bytes, constants included */
} CelCode;

#define CEL_NO_SLOT UINT32_MAX

typedef struct CelEmitOptions {
    bool trace;     /* report every computed value (run->trace) */
    bool flat;      /* for folding: the arguments of @root are constants; nothing is copied */
    Arena *scratch; /* for temporary data; NULL: cel_emit() makes its own */

    /* Cuts: nodes whose values are known when the code runs. By node: the slot with its value or
     * error; CEL_NO_SLOT: the node is computed. The root itself and any OPT_ELEMENT are always
     * computed. A slot that is CEL_ABSENT is an error when read. A LOCAL of a loop around @root
     * must be cut, or all nodes that read it. */
    const uint32_t *known_slots;
    size_t n_known_slots; /* nodes from here on are not cut */
} CelEmitOptions;

/* A cut node reads the variable of a loop around @root, and a loop in @root has a variable of the
 * same level: the cut would be ambiguous. Cut the LOCAL instead. */
#define CEL_EMIT_UNCLEAR 1

/* Everything is in @arena; the graph is not needed to run it. 0, CEL_EMIT_UNCLEAR (with cuts only)
 * or -ENOMEM. */
int cel_emit(const CelGraph *graph, uint32_t root, const CelEmitOptions *options, Arena *arena,
    CelCode **ret) MUST_CHECK;

/* Receives every computed value (not constants) of code made with @trace. @node is a number of the
 * graph; @v may be an error. */
struct CelTrace {
    void (*seen)(CelTrace *trace, uint32_t node, CelValue v);  /* computed */
    void (*again)(CelTrace *trace, uint32_t node, CelValue v); /* computed before, used again */
};

/* The machine (machine.c). @variables by slot; CEL_ABSENT for unbound ones (an error when read).
 * The result may point into the run's arena, the code and the data of @variables. An error is a
 * value of kind CEL_ERROR, with its place in the source. Pure. */
CelValue cel_run(const CelCode *code, CelRun *run, const CelValue *variables);
