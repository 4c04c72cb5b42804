/* The operators by the parser's names, as operators.h defines them. If the checker is certain of
 * the kinds, the machine's instruction (.op) is used; the functions are for dyn. Arithmetic never
 * mixes int, uint and double; comparisons do (1 < 1.5). */

#include "cel/library.h"
#include "cel/opcode.h"
#include "cel/operators.h"

#define UNARY(op) CEL_RETURNS(op, cel_op_##op(run, args[0]))
#define BINARY(X, name, op)                                                                        \
    __attribute__((unused)) CEL_RETURNS(op, cel_op_##op(run, args[0], args[1]))

CEL_BINARY_OPCODES(BINARY, )
BINARY(, , index_list)
BINARY(, , index_map)
UNARY(neg_int)
UNARY(neg_double)
UNARY(not )

static CelValue join_text(CelRun *run, CelValue a, CelValue b) {
    size_t len = (size_t)a.len + b.len;
    CelValue error;
    char *text;

    if (a.len == 0 || b.len == 0)
        return a.len == 0 ? b : a;
    text = cel_text_begin(run, len, &error);
    if (!text)
        return error;
    memcpy(text, a.text, a.len);
    memcpy(text + a.len, b.text, b.len);
    return (CelValue){.kind = a.kind, .len = (uint32_t)len, .text = text};
}

CEL_RETURNS(add_text, join_text(run, args[0], args[1]))

/* Null, or the error of a host that could not fetch an item. */
static CelValue copy_items(CelRun *run, const CelList *list, CelValue *out) {
    for (uint32_t i = 0; i < list->n; i++) {
        out[i] = cel_list_at(list, i, run);
        if (out[i].kind == CEL_ERROR)
            return out[i];
    }
    return cel_null();
}

/* cel_list_end() charges. The fuel is compared before, so that no list is copied that could not be
 * paid for. */
CEL_FUNCTION(add_list) {
    const CelList *a = args[0].list, *b = args[1].list;
    size_t n = (size_t)a->n + b->n;
    CelValue *items, copied;

    if (a->n == 0 || b->n == 0)
        return a->n == 0 ? args[1] : args[0];
    if ((uint64_t)run->fuel < n)
        return cel_exhausted(run);
    items = cel_list_begin(run, n);
    if (!items)
        return cel_no_memory(run);
    copied = copy_items(run, a, items);
    if (copied.kind != CEL_ERROR)
        copied = copy_items(run, b, items + a->n);
    return copied.kind != CEL_ERROR ? cel_list_end(run, items, n) : copied;
}

/* Order. NaN is UNORDERED: all four are false, so `a < b` is not `!(a >= b)`. */

static CelValue order_is(CelRun *run, const CelValue *args, CelOrder wanted, CelOrder or_this) {
    uint32_t len = args[0].len < args[1].len ? args[0].len : args[1].len;
    CelOrder found;

    if ((args[0].kind == CEL_STRING || args[0].kind == CEL_BYTES) && len > CEL_FREE_BYTES &&
        !cel_charge_bytes(run, len))
        return cel_exhausted(run);
    found = cel_compare(args[0], args[1]);
    return cel_bool(found == wanted || found == or_this);
}

CEL_RETURNS(less, order_is(run, args, CEL_LESS, CEL_LESS))
CEL_RETURNS(less_or_same, order_is(run, args, CEL_LESS, CEL_SAME))
CEL_RETURNS(greater, order_is(run, args, CEL_GREATER, CEL_GREATER))
CEL_RETURNS(greater_or_same, order_is(run, args, CEL_GREATER, CEL_SAME))

/* A duration is ordered as the int that it is. */
#define ORDER(operator, fn, OP)                                                                    \
    {operator, "(bool, bool) -> bool", fn}, {operator, "(int, int) -> bool", fn, .op = OP##_INT},  \
        {operator, "(int, uint) -> bool", fn}, {operator, "(int, double) -> bool", fn},            \
        {operator, "(uint, uint) -> bool", fn}, {operator, "(uint, int) -> bool", fn},             \
        {operator, "(uint, double) -> bool", fn},                                                  \
        {operator, "(double, double) -> bool", fn, .op = OP##_DOUBLE},                             \
        {operator, "(double, int) -> bool", fn}, {operator, "(double, uint) -> bool", fn},         \
        {operator, "(string, string) -> bool", fn, .cost = CEL_COST_BOTH},                         \
        {operator, "(bytes, bytes) -> bool", fn, .cost = CEL_COST_BOTH},                           \
        {operator, "(timestamp, timestamp) -> bool", fn}, {                                        \
        operator, "(duration, duration) -> bool", fn, .op = OP##_INT                               \
    }

/* In cel-go's order, here and in the other libraries: arguments of unknown type ([].map(x, x + x))
 * use the first overload. */
static const CelOverloadSpec overloads[] = {
    {"_+_", "(bytes, bytes) -> bytes", add_text, CEL_SIZED(BOTH, SUM)},
    {"_+_", "(double, double) -> double", add_double, .op = OP_ADD_DOUBLE},
    {"_+_", "(int, int) -> int", add_int, .op = OP_ADD_INT},
    {"_+_", "(list(A), list(A)) -> list(A)", add_list, CEL_SIZED(BOTH, SUM)},
    {"_+_", "(string, string) -> string", add_text, CEL_SIZED(BOTH, SUM)},
    {"_+_", "(uint, uint) -> uint", add_uint, .op = OP_ADD_UINT},
    {"_-_", "(double, double) -> double", sub_double, .op = OP_SUB_DOUBLE},
    {"_-_", "(int, int) -> int", sub_int, .op = OP_SUB_INT},
    {"_-_", "(uint, uint) -> uint", sub_uint, .op = OP_SUB_UINT},
    {"_*_", "(double, double) -> double", mul_double, .op = OP_MUL_DOUBLE},
    {"_*_", "(int, int) -> int", mul_int, .op = OP_MUL_INT},
    {"_*_", "(uint, uint) -> uint", mul_uint, .op = OP_MUL_UINT},
    {"_/_", "(double, double) -> double", div_double, .op = OP_DIV_DOUBLE},
    {"_/_", "(int, int) -> int", div_int, .op = OP_DIV_INT},
    {"_/_", "(uint, uint) -> uint", div_uint, .op = OP_DIV_UINT},
    {"_%_", "(int, int) -> int", mod_int, .op = OP_MOD_INT},
    {"_%_", "(uint, uint) -> uint", mod_uint, .op = OP_MOD_UINT},
    {"-_", "(double) -> double", neg_double, .op = OP_NEG_DOUBLE},
    {"-_", "(int) -> int", neg_int, .op = OP_NEG_INT},
    {"!_", "(bool) -> bool", not, .op = OP_NOT},
    {"_==_", "(A, A) -> bool", eq, .op = OP_EQ, .cost = CEL_COST_BOTH},
    {"_!=_", "(A, A) -> bool", ne, .op = OP_NE, .cost = CEL_COST_BOTH},
    ORDER("_<_", less, OP_LT),
    ORDER("_<=_", less_or_same, OP_LE),
    ORDER("_>_", greater, OP_GT),
    ORDER("_>=_", greater_or_same, OP_GE),
    {"_[_]", "(list(A), int) -> A", index_list, .op = OP_INDEX_LIST, .any_kinds = true},
    {"_[_]", "(map(A, B), A) -> B", index_map, .op = OP_INDEX_MAP},
    {"@in", "(A, list(A)) -> bool", in_list, .op = OP_IN_LIST, .cost = CEL_COST_BOTH},
    {"@in", "(A, map(A, B)) -> bool", in_map, .op = OP_IN_MAP},
};

CEL_LIBRARY(cel_operators_library, "operators", overloads);
