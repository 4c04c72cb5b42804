/* Math. greatest() and least() take one number or list, or two numbers; the parser makes a list of
 * three and more. The result keeps its kind; of equal numbers it is the first
 * (math_ext/greatest_int_result/binary_with_decimal). */

#include <inttypes.h>
#include <math.h>

#include "cel/elements.h"
#include "cel/library.h"
#include "cel/limits.h"
#include "cel/operators.h"

/* The smaller (@wanted: CEL_LESS) or greater of two numbers. */
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
CEL_RETURNS(square_root, cel_double(sqrt(cel_as_double(args[0]))))

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
 * (math_ext/bit_shift_right/int_negative). After 64 of them nothing else is left. */
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
    {"math.sqrt", "(double) -> double", square_root},
    {"math.sqrt", "(int) -> double", square_root},
    {"math.sqrt", "(uint) -> double", square_root},
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

/* Functions of statistics that load-aware policies need. Each is accurate to 1e-9 and better, over
 * the whole range (test/data/cel/statistics.tsv). */

#define LOG_SQRT_2PI 0.91893853320467274178
#define TWO_PI 6.28318530717958647693

/* log(n!) minus Stirling's approximation, also for an @n that is not whole. */
static double stirling_error(double n) {
    double square = n * n;
    int sign;

    if (n <= 15)
        return lgamma_r(n + 1, &sign) - (n + 0.5) * log(n) + n - LOG_SQRT_2PI;
    return (1.0 / 12 -
               (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 / square) / square) / square) /
                   square) /
           n;
}

/* k * log(k / mean) + mean - k, where the mean is n * x: without cancellation where both are close,
 * and for the smallest x. */
static double deviance(double k, double n, double x) {
    double mean = n * x, part = (k - mean) / (k + mean), term = 2 * k * part,
           sum = (k - mean) * part;

    if (fabs(part) >= 0.1)
        return k * (log(k / n) - log(x)) + mean - k;
    for (int i = 3; i < 100; i += 2) {
        double next;

        term *= part * part;
        next = sum + term / i;
        if (next == sum)
            break;
        sum = next;
    }
    return sum;
}

/* x^a * y^b / (a * B(a, b)), where y is 1 - x: as a binomial probability, which large a and b
 * leave accurate. */
static double beta_front(double a, double b, double x, double y) {
    double n = a + b;
    double log_probability = stirling_error(n) - stirling_error(a) - stirling_error(b) -
                             deviance(a, n, x) - deviance(b, n, y);

    return exp(log_probability) * sqrt(n / TWO_PI / a / b) * b / n;
}

/* Lentz's method for the continued fraction: quick where x is below the mean. Returns a negative
 * number when the run's fuel is used up. */
static double beta_fraction(CelRun *run, double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1), result;

    d = 1 / (fabs(d) < tiny ? tiny : d);
    result = d;
    for (int m = 1; m < CEL_BETA_STEPS_MAX; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double change;

        if (!cel_charge(run, 1))
            return -1;
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        result *= d * (fabs(c) < tiny ? tiny : c);
        d = 1 + odd * d;
        c = 1 + odd / (fabs(c) < tiny ? tiny : c);
        d = 1 / (fabs(d) < tiny ? tiny : d);
        change = d * (fabs(c) < tiny ? tiny : c);
        result *= change;
        if (fabs(change - 1) < 1e-15)
            break;
    }
    return result;
}

CEL_FUNCTION(beta_inc) {
    double a = args[0].d, b = args[1].d, x = args[2].d, fraction, result;
    bool is_swapped;

    if (!(a > 0 && a <= CEL_BETA_MAX && b > 0 && b <= CEL_BETA_MAX))
        return cel_fail(run, "math.betaInc: a and b must be above 0 and at most 1e8");
    if (!(x >= 0 && x <= 1))
        return cel_fail(run, "math.betaInc: x must be 0 to 1");
    if (x == 0 || x == 1)
        return cel_double(x);
    is_swapped = x > (a + 1) / (a + b + 2);
    fraction = is_swapped ? beta_fraction(run, b, a, 1 - x) : beta_fraction(run, a, b, x);
    if (fraction < 0)
        return cel_exhausted(run);
    result = fraction * (is_swapped ? beta_front(b, a, 1 - x, x) : beta_front(a, b, x, 1 - x));
    result = fmin(fmax(result, 0), 1);
    return cel_double(is_swapped ? 1 - result : result);
}

static double polynomial(const double *coefficients, double r) {
    double sum = 0;

    for (int i = 7; i >= 0; i--)
        sum = sum * r + coefficients[i];
    return sum;
}

/* Wichura's algorithm AS 241 (PPND16): rational functions in three ranges. */
static double norm_quantile(double p) {
    static const double middle[2][8] = {
        {3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3,
            1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
            3.3430575583588128105e4, 2.5090809287301226727e3},
        {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
            2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
            5.2264952788528545610e3},
    };
    static const double tail[2][8] = {
        {1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
            3.64784832476320460504, 1.27045825245236838258, 2.41780725177450611770e-1,
            2.27238449892691845833e-2, 7.74545014278341407640e-4},
        {1, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
            1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
            1.05075007164441684324e-9},
    };
    static const double far[2][8] = {
        {6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
            2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
            2.71155556874348757815e-5, 2.01033439929228813265e-7},
        {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
            7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
            2.04426310338993978564e-15},
    };
    double q = p - 0.5, r, size;

    if (fabs(q) <= 0.425) {
        r = 0.180625 - q * q;
        return q * polynomial(middle[0], r) / polynomial(middle[1], r);
    }
    r = sqrt(-log(q < 0 ? p : 1 - p));
    size = r <= 5 ? polynomial(tail[0], r - 1.6) / polynomial(tail[1], r - 1.6)
                  : polynomial(far[0], r - 5) / polynomial(far[1], r - 5);
    return q < 0 ? -size : size;
}

CEL_FUNCTION(norm_quantile_of) {
    double p = args[0].d;

    if (!(p >= 0 && p <= 1))
        return cel_fail(run, "math.normQuantile: p must be 0 to 1");
    if (p == 0 || p == 1)
        return cel_double(p == 0 ? -INFINITY : INFINITY);
    return cel_double(norm_quantile(p));
}

static const CelOverloadSpec statistics[] = {
    {"math.betaInc", "(double, double, double) -> double", beta_inc},
    {"math.normQuantile", "(double) -> double", norm_quantile_of},
};

CEL_LIBRARY(cel_statistics_library, "statistics", statistics);
