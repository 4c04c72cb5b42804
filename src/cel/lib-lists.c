/* cel-go's lists extension, first() and last() of its optionals, and Kubernetes' own. x.sortBy(v,
 * key) is expanded by the parser: it maps x to its keys and calls @sortByAssociatedKeys, so every
 * key is computed once. */

#include <inttypes.h>

#include "cel/elements.h"
#include "cel/library.h"
#include "cel/operators.h"

CEL_FUNCTION(slice) {
    int64_t start = args[1].i, end = args[2].i;
    const CelValue *items;
    CelValue error;

    if (start < 0 || end < 0)
        return cel_fail(run,
            "cannot slice(%" PRId64 ", %" PRId64 "), negative indexes not supported", start, end);
    if (start > end)
        return cel_fail(run,
            "cannot slice(%" PRId64 ", %" PRId64
            "), start index must be less than or equal to end index",
            start, end);
    if (end > args[0].list->n)
        return cel_fail(run, "cannot slice(%" PRId64 ", %" PRId64 "), list is length %" PRIu32,
            start, end, args[0].list->n);
    items = cel_items(run, args[0].list, &error);
    return items ? cel_list_end(run, items + start, (size_t)(end - start)) : error;
}

static CelValue optional_at(CelRun *run, const CelList *list, uint32_t i) {
    CelValue v;

    if (i >= list->n)
        return cel_none();
    v = cel_list_at(list, i, run);
    return v.kind != CEL_ERROR ? cel_make_optional(run, v) : v;
}

CEL_RETURNS(first, optional_at(run, args[0].list, 0))

CEL_FUNCTION(last) { /* an empty list: 0 - 1 wraps around, beyond any end */
    return optional_at(run, args[0].list, args[0].list->n - 1);
}

CEL_FUNCTION(distinct) {
    uint32_t n = args[0].list->n, n_kept = 0;
    CelValue error;
    const CelValue *items = cel_items(run, args[0].list, &error);
    CelValue *kept;
    CelMembers members;

    if (!items)
        return error;
    kept = cel_list_begin(run, n);
    if (!kept || !cel_members_begin(&members, run, kept, n))
        return cel_no_memory(run);
    for (uint32_t i = 0; i < n; i++) {
        kept[n_kept] = items[i];
        n_kept += cel_members_add(&members, n_kept, run);
        if (run->limit)
            return cel_limit(run);
    }
    return cel_list_end(run, kept, n_kept);
}

CEL_FUNCTION(reverse) {
    uint32_t n = args[0].list->n;
    CelValue error;
    const CelValue *items = cel_items(run, args[0].list, &error);
    CelValue *reversed;

    if (!items)
        return error;
    reversed = cel_list_begin(run, n);
    if (!reversed)
        return cel_no_memory(run);
    for (uint32_t i = 0; i < n; i++)
        reversed[n - 1 - i] = items[i];
    return cel_list_end(run, reversed, n);
}

/* Whether keys can be sorted; an error or null. */
static CelValue check_keys(CelRun *run, const CelValue *keys, uint32_t n) {
    if (n > 0 && !cel_is_comparable(keys[0].kind))
        return cel_fail(run, "list elements must be comparable");
    for (uint32_t i = 1; i < n; i++) {
        if (keys[i].kind != keys[0].kind)
            return cel_fail(run, "list elements must have the same type");
    }
    return cel_null();
}

static CelValue sort_by(CelRun *run, const CelValue *items, const CelValue *keys, uint32_t n) {
    CelValue r = check_keys(run, keys, n);
    const uint32_t *order;
    CelValue *sorted;

    if (r.kind == CEL_ERROR)
        return r;
    order = cel_order(run, keys, n, &r);
    if (!order)
        return r;
    sorted = cel_list_begin(run, n);
    if (!sorted)
        return cel_no_memory(run);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = items[order[i]];
    return cel_list_end(run, sorted, n);
}

CEL_FUNCTION(sort) {
    CelValue error;
    const CelValue *items = cel_items(run, args[0].list, &error);

    return items ? sort_by(run, items, items, args[0].list->n) : error;
}

CEL_FUNCTION(sort_by_keys) {
    CelValue error;
    const CelValue *items = cel_items(run, args[0].list, &error), *keys;

    if (!items)
        return error;
    keys = cel_items(run, args[1].list, &error);
    if (!keys)
        return error;
    if (args[0].list->n != args[1].list->n)
        return cel_fail(run, "sortBy: %" PRIu32 " elements, but %" PRIu32 " keys", args[0].list->n,
            args[1].list->n);
    return sort_by(run, items, keys, args[0].list->n);
}

/* Flattens one level; *is_flat: no list is left inside. */
static CelValue flatten_once(CelRun *run, const CelList *list, bool *is_flat) {
    CelValue r;
    const CelValue *items = cel_items(run, list, &r);
    CelValue *flat;
    size_t n = 0, at = 0;

    if (!items)
        return r;
    for (uint32_t i = 0; i < list->n; i++)
        n += items[i].kind == CEL_LIST ? items[i].list->n : 1; /* below 2^64 */
    flat = cel_list_begin(run, n);
    if (!flat)
        return cel_no_memory(run);
    *is_flat = true;
    for (uint32_t i = 0; i < list->n; i++) {
        const CelList one = {.n = 1, .items = &items[i]};
        const CelList *inner = items[i].kind == CEL_LIST ? items[i].list : &one;

        if (!cel_charge(run, inner->n))
            return cel_exhausted(run);
        for (uint32_t j = 0; j < inner->n; j++) {
            flat[at] = cel_list_at(inner, j, run);
            if (flat[at].kind == CEL_ERROR)
                return flat[at];
            *is_flat &= flat[at++].kind != CEL_LIST;
        }
    }
    return cel_list_end(run, flat, n);
}

/* Level by level, up to the given depth or while there are lists inside: at most
 * CEL_VALUE_DEPTH_MAX times. */
static CelValue flatten_levels(CelRun *run, CelValue list, int64_t levels) {
    bool is_flat = false;

    if (levels < 0)
        return cel_fail(run, "level must be non-negative");
    for (int64_t i = 0; i < levels && !is_flat && list.kind == CEL_LIST; i++)
        list = flatten_once(run, list.list, &is_flat);
    return list;
}

CEL_RETURNS(flatten, flatten_levels(run, args[0], 1))
CEL_RETURNS(flatten_deep, flatten_levels(run, args[0], args[1].i))

CEL_FUNCTION(range) {
    size_t n = args[0].i > 0 ? (size_t)args[0].i : 0;
    CelValue *items;

    if (args[0].i < 0)
        return cel_fail(run, "lists.range() must not be negative: %" PRId64, args[0].i);
    if (!cel_charge(run, n))
        return cel_exhausted(run);
    items = cel_list_begin(run, n);
    if (!items)
        return cel_no_memory(run);
    for (size_t i = 0; i < n; i++)
        items[i] = cel_int((int64_t)i);
    return cel_list_end(run, items, n);
}

/* Kubernetes' functions on whole lists. */

/* The order of @a and @b. CEL_NO_ORDER: kinds without an order, or no fuel; @ret_error is set. */
static CelOrder compare(CelRun *run, CelValue a, CelValue b, CelValue *ret_error) {
    CelOrder order = CEL_NO_ORDER;

    if (!cel_is_comparable(a.kind) || !cel_is_comparable(b.kind))
        *ret_error = cel_no_overload(run);
    else if (!cel_charge(run, cel_compare_price(a, b)))
        *ret_error = cel_exhausted(run);
    else if ((order = cel_compare(a, b)) == CEL_NO_ORDER)
        *ret_error = cel_no_overload(run);
    return order;
}

/* NaN is never out of order. */
CEL_FUNCTION(is_sorted) {
    CelValue error;
    const CelValue *items = cel_items(run, args[0].list, &error);

    if (!items)
        return error;
    for (uint32_t i = 1; i < args[0].list->n; i++) {
        CelOrder order = compare(run, items[i - 1], items[i], &error);

        if (order == CEL_NO_ORDER)
            return error;
        if (order == CEL_GREATER)
            return cel_bool(false);
    }
    return cel_bool(true);
}

/* The smallest (@wanted: CEL_LESS) or greatest element; the first of equal ones. */
static CelValue choose(CelRun *run, CelValue list, CelOrder wanted) {
    CelValue error, best;
    const CelValue *items = cel_items(run, list.list, &error);

    if (!items)
        return error;
    if (list.list->n == 0)
        return cel_fail(run, "%s called on empty list", wanted == CEL_LESS ? "min" : "max");
    best = items[0];
    if (!cel_is_comparable(best.kind))
        return cel_no_overload(run);
    for (uint32_t i = 1; i < list.list->n; i++) {
        CelOrder order = compare(run, items[i], best, &error);

        if (order == CEL_NO_ORDER)
            return error;
        if (order == wanted)
            best = items[i];
    }
    return best;
}

CEL_RETURNS(min, choose(run, args[0], CEL_LESS))
CEL_RETURNS(max, choose(run, args[0], CEL_GREATER))

static CelValue add(CelRun *run, CelValue a, CelValue b) {
    int64_t sum;

    if (a.kind != b.kind)
        return cel_no_overload(run);
    switch (a.kind) {
    case CEL_INT:
        return cel_op_add_int(run, a, b);
    case CEL_UINT:
        return cel_op_add_uint(run, a, b);
    case CEL_DOUBLE:
        return cel_op_add_double(run, a, b);
    case CEL_DURATION:
        return !__builtin_add_overflow(a.i, b.i, &sum) ? cel_duration(sum) : cel_overflow_int(run);
    default:
        return cel_no_overload(run);
    }
}

/* @zero, of the declared type, is the sum of an empty list; others have their elements' kind. */
static CelValue sum_up(CelRun *run, CelValue list, CelValue zero) {
    CelValue sum;
    const CelValue *items = cel_items(run, list.list, &sum);

    if (!items)
        return sum;
    sum = zero;
    if (list.list->n > 0)
        sum = (CelValue){.kind = items[0].kind};
    for (uint32_t i = 0; i < list.list->n && sum.kind != CEL_ERROR; i++)
        sum = add(run, sum, items[i]);
    return sum;
}

CEL_RETURNS(sum_int, sum_up(run, args[0], cel_int(0)))
CEL_RETURNS(sum_uint, sum_up(run, args[0], cel_uint(0)))
CEL_RETURNS(sum_double, sum_up(run, args[0], cel_double(0)))
CEL_RETURNS(sum_duration, sum_up(run, args[0], cel_duration(0)))

/* The number of the first (@step 1) or last (@step -1) element that equals @v, or -1. */
static CelValue find(CelRun *run, CelValue list, CelValue v, int64_t from, int step) {
    int64_t n = list.list->n;

    for (int64_t i = from; i >= 0 && i < n; i += step) {
        CelValue item = cel_list_at(list.list, (uint32_t)i, run);
        bool equal;

        if (item.kind == CEL_ERROR)
            return item;
        if (!cel_charge(run, 1))
            return cel_exhausted(run);
        equal = cel_equal(item, v, run);
        if (run->limit)
            return cel_limit(run);
        if (equal)
            return cel_int(i);
    }
    return cel_int(-1);
}

CEL_RETURNS(index_of, find(run, args[0], args[1], 0, 1))
CEL_RETURNS(last_index_of, find(run, args[0], args[1], (int64_t)args[0].list->n - 1, -1))

/* As in Kubernetes' device selectors: whether a list contains the value, or another value equals
 * it. */
CEL_RETURNS(includes, args[0].kind == CEL_LIST ? cel_op_in_list(run, args[1], args[0])
                                               : cel_op_eq(run, args[0], args[1]))

#define ROW(name, signature, fn, cost_class, size)                                                 \
    { name, signature, fn, CEL_SIZED(cost_class, size) }

#define ORDERED(name, signature, fn, cost_class, size, text)                                       \
    { name, signature, fn, CEL_SIZED(cost_class, size), .reads_text = (text) }

/* One row for each type that has an order: with ROW_OF("int", is it text?), … */
#define COMPARABLE(ROW_OF)                                                                         \
    ROW_OF("int", false), ROW_OF("uint", false), ROW_OF("double", false), ROW_OF("bool", false),   \
        ROW_OF("duration", false), ROW_OF("timestamp", false), ROW_OF("string", true),             \
        ROW_OF("bytes", true)

#define SORT(T, TEXT) ORDERED("sort", "list(" T ").() -> list(" T ")", sort, SQUARE, FIRST, TEXT)
#define SORT_BY(T, TEXT)                                                                           \
    ORDERED("@sortByAssociatedKeys", "list(T).(list(" T ")) -> list(T)", sort_by_keys, SQUARE,     \
        FIRST, TEXT)
#define IS_SORTED(T, TEXT)                                                                         \
    ORDERED("isSorted", "list(" T ").() -> bool", is_sorted, ELEMENTS, TYPE, TEXT)
#define MIN(T, TEXT) ORDERED("min", "list(" T ").() -> " T, min, ELEMENTS, TYPE, TEXT)
#define MAX(T, TEXT) ORDERED("max", "list(" T ").() -> " T, max, ELEMENTS, TYPE, TEXT)

static const CelOverloadSpec overloads[] = {
    ROW("slice", "list(T).(int, int) -> list(T)", slice, ELEMENTS, FIRST),
    ROW("first", "list(T).() -> optional_type(T)", first, CALL, TYPE),
    ROW("last", "list(T).() -> optional_type(T)", last, CALL, TYPE),
    ROW("distinct", "list(T).() -> list(T)", distinct, SQUARE, FIRST),
    ROW("reverse", "list(T).() -> list(T)", reverse, ELEMENTS, FIRST),
    ROW("flatten", "list(list(T)).() -> list(T)", flatten, ELEMENTS, TYPE),
    ROW("flatten", "list(dyn).(int) -> list(dyn)", flatten_deep, PRODUCT, TYPE),
    ROW("lists.range", "(int) -> list(int)", range, CALL, TYPE),
    COMPARABLE(SORT),
    COMPARABLE(SORT_BY),
    COMPARABLE(IS_SORTED),
    COMPARABLE(MIN),
    COMPARABLE(MAX),
    ROW("sum", "list(int).() -> int", sum_int, ELEMENTS, TYPE),
    ROW("sum", "list(uint).() -> uint", sum_uint, ELEMENTS, TYPE),
    ROW("sum", "list(double).() -> double", sum_double, ELEMENTS, TYPE),
    ROW("sum", "list(duration).() -> duration", sum_duration, ELEMENTS, TYPE),
    ROW("indexOf", "list(T).(T) -> int", index_of, ELEMENTS, TYPE),
    ROW("lastIndexOf", "list(T).(T) -> int", last_index_of, ELEMENTS, TYPE),
    ROW("includes", "dyn.(dyn) -> bool", includes, ELEMENTS, TYPE),
};

CEL_LIBRARY(cel_lists_library, "lists", overloads);
