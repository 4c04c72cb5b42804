#pragma once

/*
 * Operators: all typed operations, for the machine's instructions and for lib-operators.c; a.b,
 * has(a.b) and a.?b of any kind of value.
 *
 * Each returns a value or an error. The caller has checked the kinds of the arguments, unless a
 * comment says otherwise. Overflow is an error, and so are quotients without a result (INT64_MIN /
 * -1, anything by 0); doubles become infinities and NaN. Selecting from an optional selects from
 * its value and returns an optional.
 */

#include "cel/run.h"
#include "cel/type.h"
#include "cel/value.h"

/* An operation that is a single expression. */
#define CEL_UNARY(name, ...)                                                                       \
    static inline CelValue cel_op_##name(CelRun *run, CelValue a) {                                \
        return __VA_ARGS__;                                                                        \
    }
#define CEL_BINARY(name, ...)                                                                      \
    static inline CelValue cel_op_##name(CelRun *run, CelValue a, CelValue b) {                    \
        return __VA_ARGS__;                                                                        \
    }

/* Out of line: errors, and rare cases. */
CelValue cel_overflow_int(CelRun *run);
CelValue cel_overflow_uint(CelRun *run);

/* For any @index but an int within bounds: 1u and 1.0 equal 1 (lists/index/zero_based_uint); all
 * else is an error. */
CelValue cel_index_list_any(CelRun *run, const CelList *list, CelValue index);

/* a[?i], and a[i] of an optional, of any kind: lists, maps, and optionals of them. The result is an
 * optional. */
CelValue cel_op_index_optional(CelRun *run, CelValue a, CelValue index);

/* Parts of values. */

/* @index: of any kind. */
static inline CelValue cel_op_index_list(CelRun *run, CelValue a, CelValue index) {
    if (index.kind == CEL_INT && (uint64_t)index.i < a.list->n)
        return cel_list_at(a.list, (uint32_t)index.i, run);
    return cel_index_list_any(run, a.list, index);
}

/* @key: of any kind. */
static inline CelValue cel_op_index_map(CelRun *run, CelValue a, CelValue key) {
    CelValue found = cel_map_find(a.map, key, run);

    if (found.kind == CEL_ABSENT && a.map->otherwise)
        return *a.map->otherwise;
    return found.kind != CEL_ABSENT ? found : cel_no_such_key(run, key);
}

/* Optionals: @a is one. */

CEL_UNARY(opt_has, cel_bool(a.inner != NULL))
CEL_UNARY(opt_get, a.inner ? *a.inner : cel_fail(run, "optional.none() dereference"))
CEL_UNARY(opt_of, cel_make_optional(run, a))

/* Numbers. */

/* @op: add, sub or mul; @type: int or uint, and its @member. */
#define CEL_CHECKED(op, type, member)                                                              \
    static inline CelValue cel_op_##op##_##type(CelRun *run, CelValue a, CelValue b) {             \
        bool fits = !__builtin_##op##_overflow(a.member, b.member, &a.member);                     \
                                                                                                   \
        return fits ? cel_##type(a.member) : cel_overflow_##type(run);                             \
    }

CEL_CHECKED(add, int, i)
CEL_CHECKED(sub, int, i)
CEL_CHECKED(mul, int, i)

static inline CelValue cel_op_div_int(CelRun *run, CelValue a, CelValue b) {
    if (b.i == 0)
        return cel_fail(run, "division by zero");
    if (b.i == -1 && a.i == INT64_MIN)
        return cel_overflow_int(run);
    return cel_int(a.i / b.i);
}

/* INT64_MIN % -1 is an error, because the division is. */
static inline CelValue cel_op_mod_int(CelRun *run, CelValue a, CelValue b) {
    if (b.i == 0)
        return cel_fail(run, "modulus by zero");
    if (b.i == -1 && a.i == INT64_MIN)
        return cel_overflow_int(run);
    return cel_int(a.i % b.i);
}

CEL_UNARY(neg_int, a.i != INT64_MIN ? cel_int(-a.i) : cel_overflow_int(run))

CEL_CHECKED(add, uint, u)
CEL_CHECKED(sub, uint, u)
CEL_CHECKED(mul, uint, u)
CEL_BINARY(div_uint, b.u != 0 ? cel_uint(a.u / b.u) : cel_fail(run, "division by zero"))
CEL_BINARY(mod_uint, b.u != 0 ? cel_uint(a.u % b.u) : cel_fail(run, "modulus by zero"))
CEL_BINARY(add_double, cel_double(a.d + b.d))
CEL_BINARY(sub_double, cel_double(a.d - b.d))

static inline CelValue cel_op_mul_double(CelRun *run, CelValue a, CelValue b) {
    return cel_double(a.d * b.d);
}

CEL_BINARY(div_double, cel_double(a.d / b.d)) /* IEEE: by 0 is an infinity or NaN */
CEL_UNARY(neg_double, cel_double(-a.d))

/* Comparisons. */

/* Compares values of any kinds. Out of fuel is an error, not false. */
static inline CelValue cel_op_eq(CelRun *run, CelValue a, CelValue b) {
    bool equal = cel_equal(a, b, run);

    return !run->limit ? cel_bool(equal) : cel_limit(run);
}

static inline CelValue cel_op_ne(CelRun *run, CelValue a, CelValue b) {
    bool equal = cel_equal(a, b, run);

    return !run->limit ? cel_bool(!equal) : cel_limit(run);
}

CEL_BINARY(eq_int, cel_bool(a.i == b.i))
CEL_BINARY(ne_int, cel_bool(a.i != b.i))

static inline CelValue cel_op_eq_string(CelRun *run, CelValue a, CelValue b) {
    if (a.len != b.len)
        return cel_bool(false);
    if (a.len > CEL_FREE_BYTES && !cel_charge_bytes(run, a.len))
        return cel_exhausted(run);
    return cel_bool(str_eq(cel_str(a), cel_str(b)));
}

static inline CelValue cel_op_ne_string(CelRun *run, CelValue a, CelValue b) {
    CelValue equal = cel_op_eq_string(run, a, b);

    return equal.kind == CEL_BOOL ? cel_bool(!equal.boolean) : equal;
}

CEL_BINARY(lt_int, cel_bool(a.i < b.i))
CEL_BINARY(le_int, cel_bool(a.i <= b.i))
CEL_BINARY(gt_int, cel_bool(a.i > b.i))
CEL_BINARY(ge_int, cel_bool(a.i >= b.i))

/* With NaN all four are false, so none is the negation of another. */
CEL_BINARY(lt_double, cel_bool(a.d < b.d))
CEL_BINARY(le_double, cel_bool(a.d <= b.d))
CEL_BINARY(gt_double, cel_bool(a.d > b.d))
CEL_BINARY(ge_double, cel_bool(a.d >= b.d))
CEL_UNARY(not, cel_bool(!a.boolean))

/* @a: of any kind; @b: the list. */
CelValue cel_op_in_list(CelRun *run, CelValue a, CelValue b);

/* @a: of any kind; @b: the map. */
static inline CelValue cel_op_in_map(CelRun *run, CelValue a, CelValue b) {
    CelValue found = cel_map_find(b.map, a, run);

    return found.kind != CEL_ERROR ? cel_bool(found.kind != CEL_ABSENT) : found;
}

/* @key is a string. */
CelValue cel_select(CelRun *run, CelValue v, CelValue key);
CelValue cel_test_select(CelRun *run, CelValue v, CelValue key);
CelValue cel_opt_select(CelRun *run, CelValue v, CelValue key);

/* The error for values without fields. */
CelValue cel_no_fields(CelRun *run, CelValue v);

/* The error when @field of @record is not set. */
CelValue cel_no_such_field(CelRun *run, const CelRecord *record, uint32_t field);

/* Selection by a field's number in the declared record type. An error if the host returned another
 * kind of value, or a record with fewer fields. */

static inline bool cel_has_field(CelValue v, uint32_t field) {
    return v.kind == CEL_RECORD && field < v.record->type->n_fields;
}

/* CEL_ABSENT: the field is not set. */
static inline CelValue cel_get_field(CelRun *run, CelValue v, uint32_t field) {
    return cel_has_field(v, field) ? v.record->type->get(v.record, field, run)
                                   : cel_no_fields(run, v);
}

CelValue cel_opt_field(CelRun *run, CelValue v, uint32_t field);

static inline CelValue cel_field(CelRun *run, CelValue v, uint32_t field) {
    CelValue found = cel_get_field(run, v, field);

    return found.kind != CEL_ABSENT ? found : cel_no_such_field(run, v.record, field);
}

static inline CelValue cel_test_field(CelRun *run, CelValue v, uint32_t field) {
    CelValue found = cel_get_field(run, v, field);

    return found.kind != CEL_ERROR ? cel_bool(found.kind != CEL_ABSENT) : found;
}
