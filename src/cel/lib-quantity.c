/* Quantities (quantity.h) as in Kubernetes' library: exact, or an error that says out of range.
 * sign() is both a function and a method: Kubernetes documents one, implements the other. */

#include "cel/library.h"
#include "cel/quantity.h"

static CelValue make_quantity(CelRun *run, const CelQuantity *amount) {
    return cel_make_opaque(run, CEL_QUANTITY, amount, sizeof(*amount));
}

static CelValue out_of_range(CelRun *run) {
    return cel_fail(run, "quantity out of range: at most 68 digits before the point");
}

CEL_CHARGED(quantity_from_string, 2 * (size_t)args[0].len) {
    CelQuantity amount;

    switch (cel_quantity_parse(cel_str(args[0]), &amount)) {
    case 0:
        return make_quantity(run, &amount);
    case CEL_QUANTITY_RANGE:
        return out_of_range(run);
    default:
        return cel_fail(run,
            "\"%.*s\" is not a quantity: a number with one of n u m k M G T P E Ki Mi Gi Ti Pi Ei "
            "or an exponent such as e3 behind it",
            STR_FMT(cel_excerpt(cel_str(args[0]))));
    }
}

/* True for exactly the texts that quantity() accepts. */
CEL_CHARGED(is_quantity, 2 * (size_t)args[0].len) {
    CelQuantity amount;

    return cel_bool(cel_quantity_parse(cel_str(args[0]), &amount) == 0);
}

CEL_RETURNS(quantity_sign, cel_int(cel_quantity_sign(args[0].opaque)))

CEL_FUNCTION(quantity_is_integer) {
    int64_t ignored;

    return cel_bool(cel_quantity_to_int(args[0].opaque, &ignored));
}

CEL_FUNCTION(quantity_as_integer) {
    int64_t value;
    bool fits = cel_quantity_to_int(args[0].opaque, &value);

    return fits ? cel_int(value) : cel_fail(run, "cannot convert value to integer");
}

CEL_RETURNS(quantity_as_float, cel_double(cel_quantity_to_double(args[0].opaque)))

static CelValue combine(CelRun *run, const CelQuantity *a, CelQuantity b, bool is_sum) {
    CelQuantity result;
    bool fits = is_sum ? cel_quantity_add(a, &b, &result) : cel_quantity_sub(a, &b, &result);

    return fits ? make_quantity(run, &result) : out_of_range(run);
}

#define AMOUNT *(const CelQuantity *)args[1].opaque
#define WHOLE cel_quantity_from_int(args[1].i)

CEL_RETURNS(add_quantity, combine(run, args[0].opaque, AMOUNT, true))
CEL_RETURNS(sub_quantity, combine(run, args[0].opaque, AMOUNT, false))
CEL_RETURNS(add_int, combine(run, args[0].opaque, WHOLE, true))
CEL_RETURNS(sub_int, combine(run, args[0].opaque, WHOLE, false))
CEL_RETURNS(quantity_compare, cel_int(cel_quantity_cmp(args[0].opaque, args[1].opaque)))
CEL_RETURNS(quantity_is_less, cel_bool(quantity_compare(run, args, prepared).i < 0))
CEL_RETURNS(quantity_is_greater, cel_bool(quantity_compare(run, args, prepared).i > 0))

static bool quantity_equal(const void *a, const void *b) {
    return cel_quantity_cmp(a, b) == 0;
}

static void quantity_print(const void *opaque, Buf *out) {
    buf_append(out, STR("quantity(\""));
    cel_quantity_print(opaque, out);
    buf_append(out, STR("\")"));
}

const CelOpaque cel_quantity_opaque = {.equal = quantity_equal, .print = quantity_print};

#define Q "kubernetes.Quantity"

static const CelOverloadSpec overloads[] = {
    {"quantity", "(string) -> " Q, quantity_from_string, .cost = CEL_COST_BYTES},
    {"isQuantity", "(string) -> bool", is_quantity, .cost = CEL_COST_BYTES},
    {"sign", "(" Q ") -> int", quantity_sign},
    {"sign", Q ".() -> int", quantity_sign},
    {"isInteger", Q ".() -> bool", quantity_is_integer},
    {"asInteger", Q ".() -> int", quantity_as_integer},
    {"asApproximateFloat", Q ".() -> double", quantity_as_float},
    {"add", Q ".(" Q ") -> " Q, add_quantity},
    {"add", Q ".(int) -> " Q, add_int},
    {"sub", Q ".(" Q ") -> " Q, sub_quantity},
    {"sub", Q ".(int) -> " Q, sub_int},
    {"compareTo", Q ".(" Q ") -> int", quantity_compare},
    {"isLessThan", Q ".(" Q ") -> bool", quantity_is_less},
    {"isGreaterThan", Q ".(" Q ") -> bool", quantity_is_greater},
};

CEL_LIBRARY(cel_quantity_library, "quantity", overloads);
