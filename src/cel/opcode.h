#pragma once

/*
 * Opcode: the table of all operations.
 *
 * The list generates the enumeration, the machine's jump table and the properties that the graph
 * checks. A VALUE operation is a node of the graph (graph.h) and an instruction as well: it takes
 * its arguments from the stack and leaves its result there. A NODE is in the graph only (the
 * emitter turns it into jumps and loops); a FLOW is an instruction only.
 *
 *   X(name, class, arguments, meaning of the immediate)
 *
 * arguments: how many values it takes (a FLOW: from the stack); N: any number.
 */

#include <stdint.h>

/* The operations that operators.h defines as cel_op_NAME(run, a, b): B(X, name, NAME). EQ and NE
 * take any kinds. EQ_INT and NE_INT are for uints too, LT_INT to GE_INT for durations, EQ_STRING
 * and NE_STRING for bytes. */
#define CEL_BINARY_OPCODES(B, X)                                                                   \
    B(X, ADD_INT, add_int)                                                                         \
    B(X, SUB_INT, sub_int)                                                                         \
    B(X, MUL_INT, mul_int)                                                                         \
    B(X, DIV_INT, div_int)                                                                         \
    B(X, MOD_INT, mod_int)                                                                         \
    B(X, ADD_UINT, add_uint)                                                                       \
    B(X, SUB_UINT, sub_uint)                                                                       \
    B(X, MUL_UINT, mul_uint)                                                                       \
    B(X, DIV_UINT, div_uint)                                                                       \
    B(X, MOD_UINT, mod_uint)                                                                       \
    B(X, ADD_DOUBLE, add_double)                                                                   \
    B(X, SUB_DOUBLE, sub_double)                                                                   \
    B(X, MUL_DOUBLE, mul_double)                                                                   \
    B(X, DIV_DOUBLE, div_double)                                                                   \
    B(X, EQ, eq)                                                                                   \
    B(X, NE, ne)                                                                                   \
    B(X, EQ_INT, eq_int)                                                                           \
    B(X, NE_INT, ne_int)                                                                           \
    B(X, EQ_STRING, eq_string)                                                                     \
    B(X, NE_STRING, ne_string)                                                                     \
    B(X, LT_INT, lt_int)                                                                           \
    B(X, LE_INT, le_int)                                                                           \
    B(X, GT_INT, gt_int)                                                                           \
    B(X, GE_INT, ge_int)                                                                           \
    B(X, LT_DOUBLE, lt_double)                                                                     \
    B(X, LE_DOUBLE, le_double)                                                                     \
    B(X, GT_DOUBLE, gt_double)                                                                     \
    B(X, GE_DOUBLE, ge_double)                                                                     \
    B(X, IN_LIST, in_list)                                                                         \
    B(X, IN_MAP, in_map)

#define CEL_BINARY_OPCODE(X, name, op) X(name, VALUE, 2, NOTHING)

#define CEL_OPCODES(X)                                                                             \
    X(NONE, FLOW, 0, NOTHING) /* never emitted; the machine's default */                           \
    /* Where values come from. */                                                                  \
    X(CONSTANT, VALUE, 0, CONSTANT)                                                                \
    X(VARIABLE, VALUE, 0, SLOT)                                                                    \
    X(LOCAL, VALUE, 0, LOCAL)   /* the variable of a loop */                                       \
    X(FAIL, VALUE, 0, CONSTANT) /* a name that does not exist: unchecked only */                   \
    /* Parts of values. */                                                                         \
    X(FIELD, VALUE, 1, FIELD)          /* a.b of a record */                                       \
    X(TEST_FIELD, VALUE, 1, FIELD)     /* has(a.b) */                                              \
    X(OPT_FIELD, VALUE, 1, FIELD)      /* a.?b */                                                  \
    X(SELECT, VALUE, 1, CONSTANT)      /* a.b of a map, a dyn, an optional of them */              \
    X(TEST_SELECT, VALUE, 1, CONSTANT) /* has(a.b) */                                              \
    X(OPT_SELECT, VALUE, 1, CONSTANT)  /* a.?b */                                                  \
    X(INDEX_LIST, VALUE, 2, NOTHING)                                                               \
    X(INDEX_MAP, VALUE, 2, NOTHING)                                                                \
    X(OPT_INDEX, VALUE, 2, NOTHING) /* a[?i], and a[i] of an optional */                           \
    /* Optionals: what optMap() is made of, and ?x as an element. */                               \
    X(OPT_HAS, VALUE, 1, NOTHING)                                                                  \
    X(OPT_GET, VALUE, 1, NOTHING)                                                                  \
    X(OPT_OF, VALUE, 1, NOTHING)                                                                   \
    X(OPT_ELEMENT, VALUE, 1, NOTHING) /* CEL_ABSENT, for LIST and MAP: none */                     \
    /* Numbers and comparisons. */                                                                 \
    CEL_BINARY_OPCODES(CEL_BINARY_OPCODE, X)                                                       \
    X(NEG_INT, VALUE, 1, NOTHING)                                                                  \
    X(NEG_DOUBLE, VALUE, 1, NOTHING)                                                               \
    X(NOT, VALUE, 1, NOTHING)                                                                      \
    X(IN_SET, VALUE, 1, SET) /* in a constant list, hashed once */                                 \
    /* Calls and building. */                                                                      \
    X(CALL, VALUE, N, OVERLOAD)         /* one overload, kinds certain */                          \
    X(CALL_CHECKED, VALUE, N, OVERLOAD) /* one overload, kinds are checked */                      \
    X(DISPATCH, VALUE, N, FUNCTION)     /* the kinds select the overload */                        \
    X(LIST, VALUE, N, COUNT)                                                                       \
    X(MAP, VALUE, N, COUNT) /* a key, its value, and so on */                                      \
    /* Operations that do not evaluate all arguments. Arguments of a loop: graph.h. */             \
    X(AND, NODE, 2, NOTHING)                                                                       \
    X(OR, NODE, 2, NOTHING)                                                                        \
    X(CONDITIONAL, NODE, 3, NOTHING)                                                               \
    X(ALL, NODE, N, LOOP)                                                                          \
    X(EXISTS, NODE, N, LOOP)                                                                       \
    X(EXISTS_ONE, NODE, N, LOOP)                                                                   \
    X(FILTER, NODE, N, LOOP)                                                                       \
    X(MAP_LIST, NODE, N, LOOP)                                                                     \
    X(TRANSFORM_MAP, NODE, N, LOOP)                                                                \
    X(TRANSFORM_ENTRY, NODE, N, LOOP)                                                              \
    /* Jumps. The left side of && and || stays on the stack while the right one runs: true,        \
     * false or an error. */                                                                       \
    X(RETURN, FLOW, 1, NOTHING)                                                                    \
    X(JUMP, FLOW, 0, TARGET)                                                                       \
    X(JUMP_UNLESS, FLOW, 1, TARGET)                                                                \
    X(AND_LEFT, FLOW, 1, TARGET) /* false: jumps */                                                \
    X(AND_RIGHT, FLOW, 2, NOTHING)                                                                 \
    X(OR_LEFT, FLOW, 1, TARGET) /* true: jumps */                                                  \
    X(OR_RIGHT, FLOW, 2, NOTHING)                                                                  \
    /* Shared parts: the first place computes them. */                                             \
    X(RECALL, FLOW, 0, SHARED) /* its value; runs the part the first time */                       \
    X(KEEP, FLOW, 1, NOTHING)  /* the end of a part: stores it, returns */                         \
    /* Loops. The range is taken from the stack, and nothing of the loop is on it while the body   \
     * runs. A STEP takes the body's result and jumps to NEXT, unless the result decides all() or  \
     * exists(); an END pushes the loop's result. */                                               \
    X(LOOP, FLOW, 1, RANGE)         /* the range: begins the loop */                               \
    X(NEXT, FLOW, 0, TARGET)        /* the next element; at the end, jumps to the target */        \
    X(SKIP_UNLESS, FLOW, 1, TARGET) /* jumps if the predicate is false */                          \
    X(ALL_STEP, FLOW, 1, TARGET)                                                                   \
    X(EXISTS_STEP, FLOW, 1, TARGET)                                                                \
    X(COUNT_STEP, FLOW, 1, TARGET)                                                                 \
    X(FILTER_STEP, FLOW, 1, TARGET)                                                                \
    X(LIST_STEP, FLOW, 1, TARGET)                                                                  \
    X(MAP_STEP, FLOW, 1, TARGET)                                                                   \
    X(ENTRY_STEP, FLOW, 1, TARGET)                                                                 \
    X(ALL_END, FLOW, 0, NOTHING)                                                                   \
    X(EXISTS_END, FLOW, 0, NOTHING)                                                                \
    X(COUNT_END, FLOW, 0, NOTHING)                                                                 \
    X(LIST_END, FLOW, 0, NOTHING)                                                                  \
    X(MAP_END, FLOW, 0, NOTHING)                                                                   \
    /* Two in one: VARIABLE, then FIELD or TEST_FIELD. */                                          \
    X(VARIABLE_FIELD, FLOW, 0, FIELD)                                                              \
    X(TEST_VARIABLE_FIELD, FLOW, 0, FIELD)                                                         \
    /* Checks of uncertain kinds, and tracing. */                                                  \
    X(EXPECT, FLOW, 1, NOTHING) /* a value of the kind that was declared */                        \
    X(TRACE, FLOW, 0, NODE)     /* passes the top of the stack to the run's trace */

typedef enum CelOp {
#define X(name, class, arguments, immediate) OP_##name,
    CEL_OPCODES(X)
#undef X
        OP_N,
} CelOp;

/* Properties of an operation. */
typedef enum CelOpClass { CEL_OP_VALUE, CEL_OP_NODE, CEL_OP_FLOW } CelOpClass;

typedef enum CelImmediate {
    CEL_IMM_NOTHING,
    CEL_IMM_CONSTANT,
    CEL_IMM_SLOT,     /* of a variable */
    CEL_IMM_LOCAL,    /* 2 × level, + 1 for the second variable */
    CEL_IMM_FIELD,    /* number of a record's field */
    CEL_IMM_SET,      /* a prepared set */
    CEL_IMM_OVERLOAD, /* one */
    CEL_IMM_FUNCTION, /* several */
    CEL_IMM_COUNT,    /* of arguments */
    CEL_IMM_LOOP,     /* CEL_LOOP_LEVEL and CEL_LOOP_PAIRS (graph.h) */
    CEL_IMM_TARGET,   /* jump target */
    CEL_IMM_SHARED,   /* a part of the code that others recall */
    CEL_IMM_RANGE,    /* a loop of the code */
    CEL_IMM_NODE,     /* of the graph */
} CelImmediate;

#define CEL_OP_N_ARGS UINT8_MAX /* "N": the node or instruction has the number */

typedef struct CelOpInfo {
    uint8_t class; /* CelOpClass */
    uint8_t n_args;
    uint8_t immediate; /* CelImmediate */
} CelOpInfo;

extern const CelOpInfo cel_ops[OP_N];
