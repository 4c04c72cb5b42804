/* Math. greatest() and least() take one number or list, or two numbers; the parser makes a list of
 * three and more. The winner keeps its kind, the first among equals wins
 * (math_ext/greatest_int_result/binary_with_decimal). */

#include <inttypes.h>
#include <math.h>

#include "cel/elements.h"
#include "cel/library.h"
#include "cel/operators.h"

/* The one of two numbers that is @wanted compared with the other. */
static CelValue choose(CelRun *run, CelValue a, CelValue b, CelOrder wanted) {
    CelOrder order;

    if (!cel_is_number(a) || !cel_is_number(b))
        return cel_no_overload(run);
    order = cel_compare(b, a);
    if (order == CEL_UNORDERED)
        return cel_fail(run, "NaN values cannot be ordered");
    return order == wanted ? b : a;
}

static CelValue choose_of_list(CelRun *run, CelValue list, CelOrder wanted) {
    CelValue best;
    const CelValue *items = cel_items(run, list.list, &best);

    if (!items)
        return best;
    if (list.list->n == 0)
        return cel_fail(run, "%s argument must not be empty",
            wanted == CEL_LESS ? "math.least(list)" : "math.greatest(list)");
    best = cel_is_number(items[0]) ? items[0] : cel_no_overload(run);
    for (uint32_t i = 1; i < list.list->n && best.kind != CEL_ERROR; i++)
        best = choose(run, best, items[i], wanted);
    return best;
}

CEL_RETURNS(identity, args[0])
CEL_RETURNS(least, choose(run, args[0], args[1], CEL_LESS))
CEL_RETURNS(greatest, choose(run, args[0], args[1], CEL_GREATER))
CEL_RETURNS(least_of_list, choose_of_list(run, args[0], CEL_LESS))
CEL_RETURNS(greatest_of_list, choose_of_list(run, args[0], CEL_GREATER))
CEL_RETURNS(ceil_double, cel_double(ceil(args[0].d)))
CEL_RETURNS(floor_double, cel_double(floor(args[0].d)))
CEL_RETURNS(round_double, cel_double(round(args[0].d))) /* halves away from zero */
CEL_RETURNS(trunc_double, cel_double(trunc(args[0].d)))
CEL_RETURNS(is_inf, cel_bool(isinf(args[0].d)))
CEL_RETURNS(is_nan, cel_bool(isnan(args[0].d)))
CEL_RETURNS(is_finite, cel_bool(isfinite(args[0].d)))
CEL_RETURNS(abs_double, cel_double(fabs(args[0].d)))
CEL_FUNCTION(abs_int) { /* math_ext/abs/int_overflow */
    return args[0].i < 0 ? cel_op_neg_int(run, args[0]) : args[0];
}

CEL_FUNCTION(sign_double) { /* NaN stays; -0.0 becomes 0.0 */
    double d = args[0].d;

    return isnan(d) ? args[0] : cel_double((d > 0) - (d < 0));
}
CEL_RETURNS(sign_int, cel_int((args[0].i > 0) - (args[0].i < 0)))
CEL_RETURNS(sign_uint, cel_uint(args[0].u > 0))
CEL_RETURNS(sqrt_double, cel_double(sqrt(args[0].d)))
CEL_RETURNS(sqrt_int, cel_double(sqrt((double)args[0].i)))
CEL_RETURNS(sqrt_uint, cel_double(sqrt((double)args[0].u)))

/* The same bits for int and uint: both live in one union. */
static CelValue with_bits(CelValue v, uint64_t bits) {
    v.u = bits;
    return v;
}

CEL_RETURNS(bit_and, with_bits(args[0], args[0].u &args[1].u))
CEL_RETURNS(bit_or, with_bits(args[0], args[0].u | args[1].u))
CEL_RETURNS(bit_xor, with_bits(args[0], args[0].u ^ args[1].u))
CEL_RETURNS(bit_not, with_bits(args[0], ~args[0].u))

/* Zeros come in, also on the left of a negative int: the sign is a bit like the others
 * (math_ext/bit_shift_right/int_negative). All that is left after 64 of them. */
static CelValue shift(CelRun *run, const CelValue *args, bool is_left) {
    int64_t by = args[1].i;

    if (by < 0)
        return cel_fail(
            run, "math.bitShift%s() negative offset: %" PRId64, is_left ? "Left" : "Right", by);
    return with_bits(args[0], by >= 64 ? 0 : is_left ? args[0].u << by : args[0].u >> by);
}

CEL_RETURNS(shift_left, shift(run, args, true))
CEL_RETURNS(shift_right, shift(run, args, false))

/* All pairs of kinds; those of two different ones have a result that is one or the other. */
#define CHOICE(name, of_two, of_list)                                                              \
    {name, "(double) -> double", identity}, {name, "(int) -> int", identity},                      \
        {name, "(uint) -> uint", identity}, {name, "(double, double) -> double", of_two},          \
        {name, "(int, int) -> int", of_two}, {name, "(uint, uint) -> uint", of_two},               \
        {name, "(int, uint) -> dyn", of_two}, {name, "(int, double) -> dyn", of_two},              \
        {name, "(double, int) -> dyn", of_two}, {name, "(double, uint) -> dyn", of_two},           \
        {name, "(uint, int) -> dyn", of_two}, {name, "(uint, double) -> dyn", of_two},             \
        {name, "(list(double)) -> double", of_list, .cost = CEL_COST_ELEMENTS},                    \
        {name, "(list(int)) -> int", of_list, .cost = CEL_COST_ELEMENTS}, {                        \
        name, "(list(uint)) -> uint", of_list, .cost = CEL_COST_ELEMENTS                           \
    }

static const CelOverloadSpec overloads[] = {
    CHOICE("math.least", least, least_of_list),
    CHOICE("math.greatest", greatest, greatest_of_list),
    {"math.ceil", "(double) -> double", ceil_double},
    {"math.floor", "(double) -> double", floor_double},
    {"math.round", "(double) -> double", round_double},
    {"math.trunc", "(double) -> double", trunc_double},
    {"math.isInf", "(double) -> bool", is_inf},
    {"math.isNaN", "(double) -> bool", is_nan},
    {"math.isFinite", "(double) -> bool", is_finite},
    {"math.abs", "(double) -> double", abs_double},
    {"math.abs", "(int) -> int", abs_int},
    {"math.abs", "(uint) -> uint", identity},
    {"math.sign", "(double) -> double", sign_double},
    {"math.sign", "(int) -> int", sign_int},
    {"math.sign", "(uint) -> uint", sign_uint},
    {"math.sqrt", "(double) -> double", sqrt_double},
    {"math.sqrt", "(int) -> double", sqrt_int},
    {"math.sqrt", "(uint) -> double", sqrt_uint},
    {"math.bitAnd", "(int, int) -> int", bit_and},
    {"math.bitAnd", "(uint, uint) -> uint", bit_and},
    {"math.bitOr", "(int, int) -> int", bit_or},
    {"math.bitOr", "(uint, uint) -> uint", bit_or},
    {"math.bitXor", "(int, int) -> int", bit_xor},
    {"math.bitXor", "(uint, uint) -> uint", bit_xor},
    {"math.bitNot", "(int) -> int", bit_not},
    {"math.bitNot", "(uint) -> uint", bit_not},
    {"math.bitShiftLeft", "(int, int) -> int", shift_left},
    {"math.bitShiftLeft", "(uint, int) -> uint", shift_left},
    {"math.bitShiftRight", "(int, int) -> int", shift_right},
    {"math.bitShiftRight", "(uint, int) -> uint", shift_right},
};

CEL_LIBRARY(cel_math_library, "math", overloads);
