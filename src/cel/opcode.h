#pragma once

/*
 * Opcode: every operation, once.
 *
 * The list makes the enumeration, the names in dumps, the machine's table of jumps and
 * what the graph knows of each operation. A VALUE operation is a node of the graph
 * (graph.h) and, where nothing has to be jumped over, an instruction as well; a NODE is
 * in the graph only (the emitter turns it into jumps); a FLOW is an instruction only.
 *
 *   X(name, text, class, arguments, meaning of the immediate)
 *
 * arguments: how many values it takes; N: as many as it says.
 */

#define CEL_OPCODES(X)                                                                             \
    X(NONE, "none", FLOW, 0, NOTHING)                                                              \
    /* Where values come from. */                                                                  \
    X(CONSTANT, "constant", VALUE, 0, CONSTANT)                                                    \
    X(VARIABLE, "variable", VALUE, 0, SLOT)                                                        \
    X(LOCAL, "local", VALUE, 0, LOCAL)                                                             \
    X(FAIL, "fail", VALUE, 0, CONSTANT) /* a name that does not exist: unchecked only */           \
    /* Parts of values. */                                                                         \
    X(FIELD, "field", VALUE, 1, FIELD)                                                             \
    X(TEST_FIELD, "test-field", VALUE, 1, FIELD)                                                   \
    X(OPT_FIELD, "opt-field", VALUE, 1, FIELD)                                                     \
    X(SELECT, "select", VALUE, 1, CONSTANT) /* of a map, a dyn, an optional of them */             \
    X(TEST_SELECT, "test-select", VALUE, 1, CONSTANT)                                              \
    X(OPT_SELECT, "opt-select", VALUE, 1, CONSTANT)                                                \
    X(INDEX_LIST, "index-list", VALUE, 2, NOTHING)                                                 \
    X(INDEX_MAP, "index-map", VALUE, 2, NOTHING)                                                   \
    X(OPT_INDEX, "opt-index", VALUE, 2, NOTHING)                                                   \
    /* Numbers. */                                                                                 \
    X(ADD_INT, "add-int", VALUE, 2, NOTHING)                                                       \
    X(SUB_INT, "sub-int", VALUE, 2, NOTHING)                                                       \
    X(MUL_INT, "mul-int", VALUE, 2, NOTHING)                                                       \
    X(DIV_INT, "div-int", VALUE, 2, NOTHING)                                                       \
    X(MOD_INT, "mod-int", VALUE, 2, NOTHING)                                                       \
    X(NEG_INT, "neg-int", VALUE, 1, NOTHING)                                                       \
    X(ADD_UINT, "add-uint", VALUE, 2, NOTHING)                                                     \
    X(SUB_UINT, "sub-uint", VALUE, 2, NOTHING)                                                     \
    X(MUL_UINT, "mul-uint", VALUE, 2, NOTHING)                                                     \
    X(DIV_UINT, "div-uint", VALUE, 2, NOTHING)                                                     \
    X(MOD_UINT, "mod-uint", VALUE, 2, NOTHING)                                                     \
    X(ADD_DOUBLE, "add-double", VALUE, 2, NOTHING)                                                 \
    X(SUB_DOUBLE, "sub-double", VALUE, 2, NOTHING)                                                 \
    X(MUL_DOUBLE, "mul-double", VALUE, 2, NOTHING)                                                 \
    X(DIV_DOUBLE, "div-double", VALUE, 2, NOTHING)                                                 \
    X(NEG_DOUBLE, "neg-double", VALUE, 1, NOTHING)                                                 \
    /* Comparisons. The plain ones take any kinds. */                                              \
    X(EQ, "eq", VALUE, 2, NOTHING)                                                                 \
    X(NE, "ne", VALUE, 2, NOTHING)                                                                 \
    X(EQ_INT, "eq-int", VALUE, 2, NOTHING)                                                         \
    X(NE_INT, "ne-int", VALUE, 2, NOTHING)                                                         \
    X(EQ_STRING, "eq-string", VALUE, 2, NOTHING)                                                   \
    X(NE_STRING, "ne-string", VALUE, 2, NOTHING)                                                   \
    X(LT_INT, "lt-int", VALUE, 2, NOTHING)                                                         \
    X(LE_INT, "le-int", VALUE, 2, NOTHING)                                                         \
    X(GT_INT, "gt-int", VALUE, 2, NOTHING)                                                         \
    X(GE_INT, "ge-int", VALUE, 2, NOTHING)                                                         \
    X(LT_DOUBLE, "lt-double", VALUE, 2, NOTHING)                                                   \
    X(LE_DOUBLE, "le-double", VALUE, 2, NOTHING)                                                   \
    X(GT_DOUBLE, "gt-double", VALUE, 2, NOTHING)                                                   \
    X(GE_DOUBLE, "ge-double", VALUE, 2, NOTHING)                                                   \
    X(NOT, "not", VALUE, 1, NOTHING)                                                               \
    X(IN_LIST, "in-list", VALUE, 2, NOTHING)                                                       \
    X(IN_MAP, "in-map", VALUE, 2, NOTHING)                                                         \
    X(IN_SET, "in-set", VALUE, 1, SET) /* in a constant list, hashed once */                       \
    /* Calls and building. */                                                                      \
    X(CALL, "call", VALUE, N, OVERLOAD)                 /* one overload, kinds certain */          \
    X(CALL_CHECKED, "call-checked", VALUE, N, OVERLOAD) /* one overload, kinds looked at */        \
    X(DISPATCH, "dispatch", VALUE, N, FUNCTION)         /* which overload the kinds decide */      \
    X(LIST, "list", VALUE, N, SHAPE)                                                               \
    X(MAP, "map", VALUE, N, SHAPE)                                                                 \
    /* What does not evaluate everything. */                                                       \
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
    X(OPT_MAP, "opt-map", NODE, 2, LOOP)                                                           \
    X(OPT_FLAT_MAP, "opt-flat-map", NODE, 2, LOOP)                                                 \
    /* Jumps and loops: the machine's own. */                                                      \
    X(RETURN, "return", FLOW, 1, NOTHING)

typedef enum CelOp {
#define X(name, text, class, arguments, immediate) OP_##name,
    CEL_OPCODES(X)
#undef X
        OP_N,
} CelOp;
