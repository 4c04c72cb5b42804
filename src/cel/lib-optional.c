/* Optionals: a value or none. lower.c turns or() and orValue() into conditionals, so that an error
 * in an unused argument does no harm (`optional.of(1).orValue(1 / 0)` is 1). first() and last() are
 * in lib-lists.c. */

#include "cel/library.h"
#include "cel/opcode.h"
#include "cel/operators.h"

CEL_RETURNS(none, cel_none())
CEL_RETURNS(of, cel_op_opt_of(run, args[0]))

/* Whether no field is set. */
static bool is_empty_record(const CelRecord *record, CelRun *run) {
    for (uint32_t i = 0; i < record->type->n_fields; i++) {
        if (record->type->get(record, i, run).kind != CEL_ABSENT)
            return false;
    }
    return true;
}

/* Whether @v is the empty value of its kind; some kinds have none. */
static bool is_zero(CelValue v, CelRun *run) {
    switch (v.kind) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return !v.boolean;
    case CEL_INT:
    case CEL_UINT:
    case CEL_DURATION:
        return v.i == 0;
    case CEL_DOUBLE:
        return v.d == 0;
    case CEL_STRING:
    case CEL_BYTES:
        return v.len == 0;
    case CEL_LIST:
        return v.list->n == 0;
    case CEL_MAP:
        return v.map->n == 0;
    case CEL_TIMESTAMP: /* the beginning of the year 1, as in Go; not 1970 */
        return v.i == INT64_C(-62135596800) && v.len == 0;
    case CEL_RECORD:
        return is_empty_record(v.record, run);
    default:
        return false;
    }
}

CEL_RETURNS(of_non_zero, is_zero(args[0], run) ? cel_none() : cel_make_optional(run, args[0]))
CEL_RETURNS(has_value, cel_op_opt_has(run, args[0]))
CEL_RETURNS(value, cel_op_opt_get(run, args[0]))
CEL_RETURNS(or_optional, args[0].inner ? args[0] : args[1])
CEL_RETURNS(or_value, args[0].inner ? *args[0].inner : args[1])

CEL_FUNCTION(unwrap) {
    const CelList *list = args[0].list;
    CelValue *items = cel_list_begin(run, list->n);
    size_t n = 0;

    if (!items)
        return cel_no_memory(run);
    for (uint32_t i = 0; i < list->n; i++) {
        CelValue v = cel_list_at(list, i, run);

        if (!cel_charge(run, 1))
            return cel_exhausted(run);
        if (v.kind != CEL_OPTIONAL)
            return v.kind == CEL_ERROR ? v : cel_no_overload(run);
        if (v.inner)
            items[n++] = *v.inner;
    }
    return cel_list_end(run, items, n);
}

/* a[i] of an optional, and a[?i] of anything. */

CEL_RETURNS(index_optional, cel_op_index_optional(run, args[0], args[1]))

#define INDEX index_optional, .op = OP_OPT_INDEX, .any_kinds = true

static const CelOverloadSpec overloads[] = {
    {"optional.none", "() -> optional_type(V)", none},
    {"optional.of", "(V) -> optional_type(V)", of, .op = OP_OPT_OF, .result_size = CEL_SIZE_FIRST},
    {"optional.ofNonZeroValue", "(V) -> optional_type(V)", of_non_zero,
        .result_size = CEL_SIZE_FIRST},
    {"optional.unwrap", "(list(optional_type(V))) -> list(V)", unwrap, CEL_SIZED(ELEMENTS, FIRST)},
    {"unwrapOpt", "list(optional_type(V)).() -> list(V)", unwrap, CEL_SIZED(ELEMENTS, FIRST)},
    {"hasValue", "optional_type(V).() -> bool", has_value, .op = OP_OPT_HAS},
    {"value", "optional_type(V).() -> V", value, .op = OP_OPT_GET, .result_size = CEL_SIZE_FIRST},
    {"or", "optional_type(V).(optional_type(V)) -> optional_type(V)", or_optional,
        .result_size = CEL_SIZE_SUM},
    {"orValue", "optional_type(V).(V) -> V", or_value, .result_size = CEL_SIZE_SUM},
    {"_[_]", "(optional_type(list(V)), int) -> optional_type(V)", INDEX},
    {"_[_]", "(optional_type(map(K, V)), K) -> optional_type(V)", INDEX},
    {"_[?_]", "(list(V), int) -> optional_type(V)", INDEX},
    {"_[?_]", "(optional_type(list(V)), int) -> optional_type(V)", INDEX},
    {"_[?_]", "(map(K, V), K) -> optional_type(V)", index_optional, .op = OP_OPT_INDEX},
    {"_[?_]", "(optional_type(map(K, V)), K) -> optional_type(V)", INDEX},
};

CEL_LIBRARY(cel_optional_library, "optional", overloads);
