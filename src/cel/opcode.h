#pragma once

/*
 * Opcode: the table of all operations.
 *
 * The list generates the enumeration, the names in dumps, the machine's jump table and the
 * properties that the graph checks. A VALUE operation is a node of the graph (graph.h) and an
 * instruction as well: it takes its arguments from the stack and leaves its result there. A NODE is
 * in the graph only (the emitter turns it into jumps and loops); a FLOW is an instruction only.
 *
 *   X(name, text, class, arguments, meaning of the immediate)
 *
 * arguments: how many values it takes (a FLOW: from the stack); N: any number.
 */

#include <stdint.h>

/* Those that operators.h defines as cel_op_NAME(run, a, b): B(X, name, text, NAME). EQ and NE take
 * any kinds. EQ_INT and NE_INT are for uints too, LT_INT to GE_INT for durations, EQ_STRING and
 * NE_STRING for bytes. */
#define CEL_BINARY_OPCODES(B, X)                                                                   \
    B(X, ADD_INT, "add-int", add_int)                                                              \
    B(X, SUB_INT, "sub-int", sub_int)                                                              \
    B(X, MUL_INT, "mul-int", mul_int)                                                              \
    B(X, DIV_INT, "div-int", div_int)                                                              \
    B(X, MOD_INT, "mod-int", mod_int)                                                              \
    B(X, ADD_UINT, "add-uint", add_uint)                                                           \
    B(X, SUB_UINT, "sub-uint", sub_uint)                                                           \
    B(X, MUL_UINT, "mul-uint", mul_uint)                                                           \
    B(X, DIV_UINT, "div-uint", div_uint)                                                           \
    B(X, MOD_UINT, "mod-uint", mod_uint)                                                           \
    B(X, ADD_DOUBLE, "add-double", add_double)                                                     \
    B(X, SUB_DOUBLE, "sub-double", sub_double)                                                     \
    B(X, MUL_DOUBLE, "mul-double", mul_double)                                                     \
    B(X, DIV_DOUBLE, "div-double", div_double)                                                     \
    B(X, EQ, "eq", eq)                                                                             \
    B(X, NE, "ne", ne)                                                                             \
    B(X, EQ_INT, "eq-int", eq_int)                                                                 \
    B(X, NE_INT, "ne-int", ne_int)                                                                 \
    B(X, EQ_STRING, "eq-string", eq_string)                                                        \
    B(X, NE_STRING, "ne-string", ne_string)                                                        \
    B(X, LT_INT, "lt-int", lt_int)                                                                 \
    B(X, LE_INT, "le-int", le_int)                                                                 \
    B(X, GT_INT, "gt-int", gt_int)                                                                 \
    B(X, GE_INT, "ge-int", ge_int)                                                                 \
    B(X, LT_DOUBLE, "lt-double", lt_double)                                                        \
    B(X, LE_DOUBLE, "le-double", le_double)                                                        \
    B(X, GT_DOUBLE, "gt-double", gt_double)                                                        \
    B(X, GE_DOUBLE, "ge-double", ge_double)                                                        \
    B(X, IN_LIST, "in-list", in_list)                                                              \
    B(X, IN_MAP, "in-map", in_map)

#define CEL_BINARY_OPCODE(X, name, text, op) X(name, text, VALUE, 2, NOTHING)

#define CEL_OPCODES(X)                                                                             \
    X(NONE, "none", FLOW, 0, NOTHING) /* never emitted; the machine's default */                   \
    /* Where values come from. */                                                                  \
    X(CONSTANT, "constant", VALUE, 0, CONSTANT)                                                    \
    X(VARIABLE, "variable", VALUE, 0, SLOT)                                                        \
    X(LOCAL, "local", VALUE, 0, LOCAL)  /* the variable of a loop */                               \
    X(FAIL, "fail", VALUE, 0, CONSTANT) /* a name that does not exist: unchecked only */           \
    /* Parts of values. */                                                                         \
    X(FIELD, "field", VALUE, 1, FIELD)           /* a.b of a record */                             \
    X(TEST_FIELD, "test-field", VALUE, 1, FIELD) /* has(a.b) */                                    \
    X(OPT_FIELD, "opt-field", VALUE, 1, FIELD)   /* a.?b */                                        \
    X(SELECT, "select", VALUE, 1, CONSTANT)      /* a.b of a map, a dyn, an optional of them */    \
    X(TEST_SELECT, "test-select", VALUE, 1, CONSTANT) /* has(a.b) */                               \
    X(OPT_SELECT, "opt-select", VALUE, 1, CONSTANT)   /* a.?b */                                   \
    X(INDEX_LIST, "index-list", VALUE, 2, NOTHING)                                                 \
    X(INDEX_MAP, "index-map", VALUE, 2, NOTHING)                                                   \
    X(OPT_INDEX, "opt-index", VALUE, 2, NOTHING) /* a[?i], and a[i] of an optional */              \
    /* Optionals: what optMap() is made of, and ?x as an element. */                               \
    X(OPT_HAS, "opt-has", VALUE, 1, NOTHING)                                                       \
    X(OPT_GET, "opt-get", VALUE, 1, NOTHING)                                                       \
    X(OPT_OF, "opt-of", VALUE, 1, NOTHING)                                                         \
    X(OPT_ELEMENT, "opt-element", VALUE, 1, NOTHING) /* CEL_ABSENT, for LIST and MAP: none */      \
    /* Numbers and comparisons. */                                                                 \
    CEL_BINARY_OPCODES(CEL_BINARY_OPCODE, X)                                                       \
    X(NEG_INT, "neg-int", VALUE, 1, NOTHING)                                                       \
    X(NEG_DOUBLE, "neg-double", VALUE, 1, NOTHING)                                                 \
    X(NOT, "not", VALUE, 1, NOTHING)                                                               \
    X(IN_SET, "in-set", VALUE, 1, SET) /* in a constant list, hashed once */                       \
    /* Calls and building. */                                                                      \
    X(CALL, "call", VALUE, N, OVERLOAD)                 /* one overload, kinds certain */          \
    X(CALL_CHECKED, "call-checked", VALUE, N, OVERLOAD) /* one overload, kinds are checked */      \
    X(DISPATCH, "dispatch", VALUE, N, FUNCTION)         /* the kinds select the overload */        \
    X(LIST, "list", VALUE, N, COUNT)                                                               \
    X(MAP, "map", VALUE, N, COUNT) /* a key, its value, and so on */                               \
    /* Operations that do not evaluate all arguments. Arguments of a loop: graph.h. */             \
    X(AND, "and", NODE, 2, NOTHING)                                                                \
    X(OR, "or", NODE, 2, NOTHING)                                                                  \
    X(CONDITIONAL, "conditional", NODE, 3, NOTHING)                                                \
    X(ALL, "all", NODE, N, LOOP)                                                                   \
    X(EXISTS, "exists", NODE, N, LOOP)                                                             \
    X(EXISTS_ONE, "exists-one", NODE, N, LOOP)                                                     \
    X(FILTER, "filter", NODE, N, LOOP)                                                             \
    X(MAP_LIST, "map-list", NODE, N, LOOP)                                                         \
    X(TRANSFORM_MAP, "transform-map", NODE, N, LOOP)                                               \
    X(TRANSFORM_ENTRY, "transform-entry", NODE, N, LOOP)                                           \
    /* Jumps. The left side of && and || stays on the stack while the right one runs: true,        \
     * false or an error. */                                                                       \
    X(RETURN, "return", FLOW, 1, NOTHING)                                                          \
    X(JUMP, "jump", FLOW, 0, TARGET)                                                               \
    X(JUMP_UNLESS, "jump-unless", FLOW, 1, TARGET)                                                 \
    X(AND_LEFT, "and-left", FLOW, 1, TARGET) /* false: jumps */                                    \
    X(AND_RIGHT, "and-right", FLOW, 2, NOTHING)                                                    \
    X(OR_LEFT, "or-left", FLOW, 1, TARGET) /* true: jumps */                                       \
    X(OR_RIGHT, "or-right", FLOW, 2, NOTHING)                                                      \
    /* Shared parts: the first place computes them. */                                             \
    X(RECALL, "recall", FLOW, 0, SHARED) /* its value; runs the part the first time */             \
    X(KEEP, "keep", FLOW, 1, NOTHING)    /* the end of a part: stores it, returns */               \
    /* Loops. The range is taken from the stack, and nothing of the loop is on it while the body   \
     * runs. A STEP takes the body's result and jumps to NEXT, unless the result decides all() or  \
     * exists(); an END pushes the loop's result. */                                               \
    X(LOOP, "loop", FLOW, 1, RANGE)  /* the range: begins the loop */                              \
    X(NEXT, "next", FLOW, 0, TARGET) /* the next element; at the end, jumps to the target */       \
    X(SKIP_UNLESS, "skip-unless", FLOW, 1, TARGET) /* jumps if the predicate is false */           \
    X(ALL_STEP, "all-step", FLOW, 1, TARGET)                                                       \
    X(EXISTS_STEP, "exists-step", FLOW, 1, TARGET)                                                 \
    X(COUNT_STEP, "count-step", FLOW, 1, TARGET)                                                   \
    X(FILTER_STEP, "filter-step", FLOW, 1, TARGET)                                                 \
    X(LIST_STEP, "list-step", FLOW, 1, TARGET)                                                     \
    X(MAP_STEP, "map-step", FLOW, 1, TARGET)                                                       \
    X(ENTRY_STEP, "entry-step", FLOW, 1, TARGET)                                                   \
    X(ALL_END, "all-end", FLOW, 0, NOTHING)                                                        \
    X(EXISTS_END, "exists-end", FLOW, 0, NOTHING)                                                  \
    X(COUNT_END, "count-end", FLOW, 0, NOTHING)                                                    \
    X(LIST_END, "list-end", FLOW, 0, NOTHING)                                                      \
    X(MAP_END, "map-end", FLOW, 0, NOTHING)                                                        \
    /* Two in one: VARIABLE, then FIELD or TEST_FIELD. */                                          \
    X(VARIABLE_FIELD, "variable-field", FLOW, 0, FIELD)                                            \
    X(TEST_VARIABLE_FIELD, "test-variable-field", FLOW, 0, FIELD)                                  \
    /* Checks of uncertain kinds, and tracing. */                                                  \
    X(EXPECT, "expect", FLOW, 1, NOTHING) /* a value of the kind that was declared */              \
    X(TRACE, "trace", FLOW, 0, NODE)      /* passes the top of the stack to the run's trace */

typedef enum CelOp {
#define X(name, text, class, arguments, immediate) OP_##name,
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
    const char *text;
    uint8_t class; /* CelOpClass */
    uint8_t n_args;
    uint8_t immediate; /* CelImmediate */
} CelOpInfo;

extern const CelOpInfo cel_ops[OP_N];
