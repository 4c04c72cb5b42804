/* What to write instead of a call for which no overload fits. The heuristics are tried in order. A
 * hint that names a rewrite has it as a fix, too: test/data/hints/expressions.test follows each. */

#include <inttypes.h>
#include <stdarg.h>

#include "base/ascii.h"
#include "base/calendar.h"
#include "base/quantity.h"
#include "cel/overload-internal.h"
#include "cel/time.h"

#define POINT_IN_TIME "a point in time is a timestamp: timestamp('2026-01-31T20:00:00Z')"
#define SPAN_OF_TIME "a span of time is a duration: duration('90s')"

static bool is_number(const CelType *type) {
    return type->kind == CEL_T_INT || type->kind == CEL_T_UINT || type->kind == CEL_T_DOUBLE;
}

static bool is_one_of(Str op, const char *set) {
    Str rest = str_from_c(set), one;

    while (op.len > 0 && str_split(&rest, ' ', &one))
        if (str_eq(op, one))
            return true;
    return false;
}

static bool is_comparison(const CelMismatch *mismatch) {
    return is_one_of(mismatch->op, "== != < <= > >=");
}

/* The argument of the one of two that has @kind; SIZE_MAX: neither or both. */
static size_t only_one(const CelMismatch *mismatch, CelTypeKind kind) {
    bool first = mismatch->types[0]->kind == kind, second = mismatch->types[1]->kind == kind;

    return first == second ? SIZE_MAX : second;
}

static Str source(const CelMismatch *mismatch, size_t arg) {
    return cel_checker_source(mismatch->checker, mismatch->args[arg]);
}

static const CelNode *node_of(const CelMismatch *mismatch, size_t arg) {
    return &mismatch->checker->tree->nodes[mismatch->args[arg]];
}

static bool is_int_literal(const CelNode *node) {
    return node->kind == CEL_NODE_LITERAL && node->literal.kind == CEL_INT;
}

static bool is_text_literal(const CelNode *node) {
    return node->kind == CEL_NODE_LITERAL && node->literal.kind == CEL_STRING;
}

/* All of an argument's source. */
static Str text_of(const CelMismatch *mismatch, size_t arg) {
    return cel_checker_text(mismatch->checker, mismatch->args[arg]);
}

/* The same, in brackets if a method could not follow it otherwise. */
static Str operand(const CelMismatch *mismatch, size_t arg) {
    Str text = text_of(mismatch, arg);

    return cel_checker_is_joined(mismatch->checker, mismatch->args[arg])
               ? cel_checker_printf(mismatch->checker, "(%.*s)", STR_FMT(text))
               : text;
}

/* "write TEXT", with TEXT as the fix in place of @node. */
static __attribute__((format(printf, 3, 4))) Str write_instead(
    const CelMismatch *mismatch, const CelNode *node, const char *format, ...) {
    va_list arguments;
    Str text;

    va_start(arguments, format);
    text = cel_checker_vprintf(mismatch->checker, format, arguments);
    va_end(arguments);
    *mismatch->fix = (CelFix){node->from, node->to, text};
    return cel_checker_printf(mismatch->checker, "write %.*s", STR_FMT(text));
}

/* In place of one argument, or of the whole call. */
#define INSTEAD_OF(mismatch, arg, ...) write_instead(mismatch, node_of(mismatch, arg), __VA_ARGS__)
#define INSTEAD_OF_CALL(mismatch, ...) write_instead(mismatch, (mismatch)->call, __VA_ARGS__)

/* A value of @type to take where there is none. */
static const char *nothing_of(const CelType *type) {
    static const char *const values[] = {[CEL_T_STRING] = "''",
        [CEL_T_INT] = "0",
        [CEL_T_UINT] = "0u",
        [CEL_T_DOUBLE] = "0.0",
        [CEL_T_BOOL] = "false",
        [CEL_T_LIST] = "[]"};

    return type->kind < ELEMENTS_OF(values) ? values[type->kind] : NULL;
}

static Str hint_optional(const CelMismatch *mismatch) {
    for (size_t i = 0; i < mismatch->n_args; i++) {
        const char *otherwise;

        if (mismatch->types[i]->kind != CEL_T_OPTIONAL)
            continue;
        otherwise = nothing_of(cel_type_param(mismatch->types[i], 0));
        if (otherwise)
            return INSTEAD_OF(
                mismatch, i, "%.*s.orValue(%s)", STR_FMT(operand(mismatch, i)), otherwise);
        return cel_checker_printf(mismatch->checker,
            "%.*s is optional: .orValue(…) says what to take when there is none",
            STR_FMT(source(mismatch, i)));
    }
    return STR_NULL;
}

/* m['k'] is null when m has no 'k'. STR_NULL: @arg is no such index. */
static Str hint_key(const CelMismatch *mismatch, size_t arg) {
    const CelTree *tree = mismatch->checker->tree;
    uint32_t index = mismatch->args[arg], parts[2];

    if (tree->nodes[index].kind != CEL_NODE_CALL || !str_is(tree->nodes[index].name, "_[_]"))
        return STR_NULL;
    cel_tree_children(tree, index, parts);
    if (cel_checker_type(mismatch->checker, parts[0])->kind != CEL_T_MAP)
        return STR_NULL;
    return INSTEAD_OF_CALL(mismatch,
        is_one_of(mismatch->op, "==") ? "!(%.*s in %.*s)" : "%.*s in %.*s",
        STR_FMT(cel_checker_text(mismatch->checker, parts[1])),
        STR_FMT(cel_checker_text(mismatch->checker, parts[0])));
}

/* a.b == null, m['k'] != null */
static Str hint_null(const CelMismatch *mismatch) {
    bool is_equality = is_one_of(mismatch->op, "== !=");
    size_t null;
    Str hint;

    if (mismatch->n_args != 2 || !is_comparison(mismatch))
        return STR_NULL;
    null = only_one(mismatch, CEL_T_NULL);
    if (null == SIZE_MAX)
        return STR_NULL;
    if (is_equality && node_of(mismatch, 1 - null)->kind == CEL_NODE_SELECT)
        return INSTEAD_OF_CALL(mismatch, "%shas(%.*s)", is_one_of(mismatch->op, "==") ? "!" : "",
            STR_FMT(operand(mismatch, 1 - null)));
    hint = is_equality ? hint_key(mismatch, 1 - null) : STR_NULL;
    return hint.ptr ? hint : STR("it is never null; has(a.b) tells whether a field is set");
}

/* Turns an int literal into one of another type. */
static const char *const suffixes[] = {[CEL_T_INT] = "", [CEL_T_UINT] = "u", [CEL_T_DOUBLE] = ".0"};

/* -1 has no uint, and 0x10.0 is nothing. */
static bool takes_suffix(const CelNode *node, Str text, CelTypeKind kind) {
    return is_int_literal(node) && (kind == CEL_T_DOUBLE || node->literal.i >= 0) &&
           str_find(text, 'x') == SIZE_MAX;
}

/* 1 + 2.0: numbers of two types. A literal is written differently, all else is converted. */
static Str hint_numbers(const CelMismatch *mismatch) {
    const CelType *const *types = mismatch->types;
    size_t converted;
    Str hint = STR_NULL;

    if (mismatch->n_args != 2 || mismatch->op.len == 0 || !is_number(types[0]) ||
        !is_number(types[1]) || types[0]->kind == types[1]->kind)
        return STR_NULL;
    for (size_t i = 0; i < 2 && hint.len == 0; i++)
        if (takes_suffix(node_of(mismatch, i), source(mismatch, i), types[1 - i]->kind))
            hint = INSTEAD_OF(
                mismatch, i, "%.*s%s", STR_FMT(source(mismatch, i)), suffixes[types[1 - i]->kind]);
    converted = types[0]->kind == CEL_T_DOUBLE; /* a double loses the least */
    if (hint.len == 0)
        hint = INSTEAD_OF(mismatch, converted, "%.*s(%.*s)", STR_FMT(types[1 - converted]->name),
            STR_FMT(text_of(mismatch, converted)));
    return cel_checker_printf(
        mismatch->checker, "numbers of different types do not mix: %.*s", STR_FMT(hint));
}

/* '1.5' and the type double: 1.5; '2Gi': as a number. STR_NULL: it is no number. */
static Str number_in(const CelMismatch *mismatch, Str text, const CelType *type) {
    bool is_double = type->kind == CEL_T_DOUBLE;
    Quantity amount;
    int64_t whole;

    if (str_to_int64(text, &whole) && (whole >= 0 || type->kind != CEL_T_UINT))
        return cel_checker_printf(mismatch->checker, "%" PRId64 "%s", whole, suffixes[type->kind]);
    if (text.len == 0 || !quantity_parse(text, &amount) || type->kind == CEL_T_UINT)
        return STR_NULL;
    if (is_double && ascii_is_digit(text.ptr[text.len - 1]) && ascii_is_digit(text.ptr[0]))
        return cel_checker_printf(mismatch->checker, "%.*s", STR_FMT(text));
    return cel_checker_printf(mismatch->checker, "quantity('%.*s').%s", STR_FMT(text),
        is_double ? "asApproximateFloat()" : "asInteger()");
}

/* Text beside a number or a bool: text that is written out becomes one, a literal beside text
 * becomes text; to compare by size text is converted, and all else becomes text. */
static Str hint_text(const CelMismatch *mismatch, size_t text) {
    const CelNode *written = node_of(mismatch, text), *other = node_of(mismatch, 1 - text);
    const CelType *type = mismatch->types[1 - text];
    bool is_sum = is_one_of(mismatch->op, "+"), is_equality = is_one_of(mismatch->op, "== !=");
    Str value = is_text_literal(written) ? cel_str(written->literal) : STR_NULL, number = STR_NULL;

    if (!is_sum && is_number(type) && value.ptr)
        number = number_in(mismatch, value, type);
    else if (!is_sum && type->kind == CEL_T_BOOL &&
             (str_is(value, "true") || str_is(value, "false")))
        number = value;
    if (number.ptr)
        return INSTEAD_OF(mismatch, text, "%.*s", STR_FMT(number));
    if (is_equality && other->kind == CEL_NODE_LITERAL)
        return INSTEAD_OF(mismatch, 1 - text, "'%.*s'", STR_FMT(source(mismatch, 1 - text)));
    if (!is_sum && !is_equality && is_number(type) && !value.ptr)
        return INSTEAD_OF(
            mismatch, text, "%.*s(%.*s)", STR_FMT(type->name), STR_FMT(text_of(mismatch, text)));
    return INSTEAD_OF(mismatch, 1 - text, "string(%.*s)", STR_FMT(text_of(mismatch, 1 - text)));
}

/* Text beside a time: it becomes one, unless it is written out and is none. */
static Str hint_text_as_time(const CelMismatch *mismatch, size_t text) {
    bool is_point = mismatch->types[1 - text]->kind == CEL_T_TIMESTAMP;
    const CelNode *node = node_of(mismatch, text);
    Str value = is_text_literal(node) ? cel_str(node->literal) : STR_NULL;
    uint32_t nanos;
    int64_t number;

    if (value.ptr &&
        !(is_point ? calendar_parse(value, &number, &nanos) : cel_duration_parse(value, &number)))
        return is_point ? STR(POINT_IN_TIME) : STR(SPAN_OF_TIME);
    return INSTEAD_OF(mismatch, text, "%s(%.*s)", is_point ? "timestamp" : "duration",
        STR_FMT(text_of(mismatch, text)));
}

static Str hint_string(const CelMismatch *mismatch) {
    size_t text;

    if (mismatch->n_args != 2 || !(is_one_of(mismatch->op, "+") || is_comparison(mismatch)))
        return STR_NULL;
    text = only_one(mismatch, CEL_T_STRING);
    if (text == SIZE_MAX)
        return STR_NULL;
    switch (mismatch->types[1 - text]->kind) {
    case CEL_T_INT:
    case CEL_T_UINT:
    case CEL_T_DOUBLE:
    case CEL_T_BOOL:
    case CEL_T_BYTES:
        return hint_text(mismatch, text);
    case CEL_T_TIMESTAMP:
    case CEL_T_DURATION:
        return hint_text_as_time(mismatch, text);
    default:
        return STR_NULL;
    }
}

/* quantity('5m').asApproximateFloat(), which the hint for 5m suggests: '5m'. */
static Str minutes_in(const CelMismatch *mismatch, size_t arg) {
    static const Str before = STR("quantity("), after = STR(").asApproximateFloat()");
    Str text = text_of(mismatch, arg);

    if (!str_has_prefix(text, before) || !str_has_suffix(text, after))
        return STR_NULL;
    return str_skip(str_take(text, text.len - after.len), before.len);
}

/* now - t > 90, now - 5m: numbers beside times are spans of time. */
static Str hint_time(const CelMismatch *mismatch) {
    size_t number = SIZE_MAX, time = SIZE_MAX;
    Str minutes;

    for (size_t i = 0; i < mismatch->n_args; i++) {
        CelTypeKind kind = mismatch->types[i]->kind;

        if (kind == CEL_T_TIMESTAMP || kind == CEL_T_DURATION)
            time = i;
        if (is_number(mismatch->types[i]))
            number = i;
    }
    if (mismatch->op.len == 0 || time == SIZE_MAX || number == SIZE_MAX)
        return STR_NULL;
    if (mismatch->types[time]->kind == CEL_T_TIMESTAMP && is_comparison(mismatch))
        return STR(POINT_IN_TIME);
    minutes = minutes_in(mismatch, number);
    if (minutes.len > 0)
        return INSTEAD_OF(mismatch, number, "duration(%.*s)", STR_FMT(minutes));
    if (is_int_literal(node_of(mismatch, number)))
        return INSTEAD_OF(mismatch, number, "duration('%.*ss')", STR_FMT(source(mismatch, number)));
    return STR(SPAN_OF_TIME);
}

/* Kubernetes' own types have methods instead of operators. */
static const struct {
    const char *op, *method, *after;
    bool for_semver;
} methods[] = {
    {"+", "add", "", false},
    {"-", "sub", "", false},
    {"<", "isLessThan", "", true},
    {">", "isGreaterThan", "", true},
    {"<=", "compareTo", " <= 0", true},
    {">=", "compareTo", " >= 0", true},
};

/* An operand as a quantity or version: text is converted. */
static Str as_opaque(const CelMismatch *mismatch, size_t arg, const char *name) {
    Str text = operand(mismatch, arg);

    return mismatch->types[arg]->kind == CEL_T_STRING
               ? cel_checker_printf(mismatch->checker, "%s(%.*s)", name, STR_FMT(text))
               : text;
}

/* quantity('2Gi').isGreaterThan(node.free.memory): a number beside an amount is compared as one. */
static Str hint_method(const CelMismatch *mismatch) {
    Str sides[2];

    for (size_t i = 0; i < 2; i++)
        sides[i] = is_number(mismatch->types[i])
                       ? operand(mismatch, i)
                       : cel_checker_printf(mismatch->checker, "%.*s.asApproximateFloat()",
                             STR_FMT(operand(mismatch, i)));
    for (size_t i = 0; i < ELEMENTS_OF(methods); i++)
        if (str_is(mismatch->call->name, methods[i].method) && methods[i].after[0] == '\0')
            return INSTEAD_OF_CALL(
                mismatch, "%.*s %s %.*s", STR_FMT(sides[0]), methods[i].op, STR_FMT(sides[1]));
    return STR_NULL;
}

static Str hint_opaque(const CelMismatch *mismatch) {
    CelKind kinds[2];
    size_t number = SIZE_MAX, text;
    bool is_quantity, is_semver;
    const char *name;

    if (mismatch->n_args != 2 || (mismatch->op.len == 0 && !mismatch->is_receiver))
        return STR_NULL;
    for (size_t i = 0; i < 2; i++) {
        kinds[i] = (CelKind)mismatch->types[i]->value_kind;
        if (is_number(mismatch->types[i]))
            number = i;
    }
    is_quantity = kinds[0] == CEL_QUANTITY || kinds[1] == CEL_QUANTITY;
    is_semver = kinds[0] == CEL_SEMVER || kinds[1] == CEL_SEMVER;
    if (is_quantity == is_semver)
        return STR_NULL;
    name = is_quantity ? "quantity" : "semver";
    if (mismatch->op.len == 0)
        return number != SIZE_MAX && is_quantity ? hint_method(mismatch) : STR_NULL;
    if (number != SIZE_MAX && is_quantity)
        return INSTEAD_OF(mismatch, 1 - number, "%.*s.asApproximateFloat()",
            STR_FMT(operand(mismatch, 1 - number)));
    text = only_one(mismatch, CEL_T_STRING);
    if (text == SIZE_MAX && kinds[0] != kinds[1])
        return is_quantity ? STR("make both a quantity: quantity('1Gi')")
                           : STR("make both a version: semver('1.2.3')");
    for (size_t i = 0; i < ELEMENTS_OF(methods); i++)
        if (str_is(mismatch->op, methods[i].op) && (is_quantity || methods[i].for_semver))
            return cel_checker_printf(mismatch->checker, "there are methods for that: %.*s",
                STR_FMT(INSTEAD_OF_CALL(mismatch, "%.*s.%s(%.*s)%s",
                    STR_FMT(as_opaque(mismatch, 0, name)), methods[i].method,
                    STR_FMT(as_opaque(mismatch, 1, name)), methods[i].after)));
    if (text == SIZE_MAX || !is_comparison(mismatch))
        return STR_NULL;
    return INSTEAD_OF(mismatch, text, "%.*s", STR_FMT(as_opaque(mismatch, text, name)));
}

static Str hint_record(const CelMismatch *mismatch) {
    size_t record;

    if (mismatch->n_args != 2 || !is_comparison(mismatch))
        return STR_NULL;
    record = only_one(mismatch, CEL_T_RECORD);
    if (record == SIZE_MAX || mismatch->types[1 - record]->kind != CEL_T_MAP)
        return STR_NULL;
    return STR("a record is not a map: compare its fields one by one");
}

/* 0 < n < 5 */
static Str hint_chain(const CelMismatch *mismatch) {
    const CelNode *left;
    const char *op;
    Str middle;

    if (mismatch->n_args != 2 || !is_comparison(mismatch))
        return STR_NULL;
    left = node_of(mismatch, 0);
    op = left->is_operator ? cel_operator_text(left->name) : NULL;
    if (!op || !is_one_of(str_from_c(op), "< <= > >="))
        return STR_NULL;
    middle = cel_checker_text(mismatch->checker, mismatch->args[0] - 1);
    return cel_checker_printf(mismatch->checker, "two comparisons are joined by '&&': %.*s",
        STR_FMT(INSTEAD_OF_CALL(mismatch, "%.*s && %.*s %.*s %.*s", STR_FMT(text_of(mismatch, 0)),
            STR_FMT(middle), STR_FMT(mismatch->op), STR_FMT(text_of(mismatch, 1)))));
}

/* [1, 2].contains(1) */
static Str hint_contains(const CelMismatch *mismatch) {
    if (!str_is(mismatch->call->name, "contains") || mismatch->n_args != 2 ||
        mismatch->types[0]->kind != CEL_T_LIST)
        return STR_NULL;
    return INSTEAD_OF_CALL(
        mismatch, "%.*s in %.*s", STR_FMT(operand(mismatch, 1)), STR_FMT(operand(mismatch, 0)));
}

static Str hint_in(const CelMismatch *mismatch) {
    if (!is_one_of(mismatch->op, "in") || mismatch->types[1]->kind != CEL_T_STRING)
        return STR_NULL;
    return INSTEAD_OF_CALL(mismatch, "%.*s.contains(%.*s)", STR_FMT(operand(mismatch, 1)),
        STR_FMT(operand(mismatch, 0)));
}

/* 5 in [1u]. With dyn() numbers of all types compare. */
static Str hint_member(const CelMismatch *mismatch) {
    const CelType *range = mismatch->types[1], *member;
    Str hint;

    if (!is_one_of(mismatch->op, "in") || (range->kind != CEL_T_LIST && range->kind != CEL_T_MAP))
        return STR_NULL;
    member = cel_type_param(range, 0);
    if (!is_number(mismatch->types[0]) || !is_number(member))
        return STR_NULL;
    if (takes_suffix(node_of(mismatch, 0), source(mismatch, 0), member->kind))
        hint =
            INSTEAD_OF(mismatch, 0, "%.*s%s", STR_FMT(source(mismatch, 0)), suffixes[member->kind]);
    else
        hint = INSTEAD_OF(mismatch, 0, "dyn(%.*s)", STR_FMT(text_of(mismatch, 0)));
    return cel_checker_printf(mismatch->checker, "%.*s and %.*s are different types: %.*s",
        STR_FMT(mismatch->types[0]->name), STR_FMT(member->name), STR_FMT(hint));
}

/* max(1, 2): max() is for lists. */
Str cel_mismatch_shape_hint(const CelMismatch *mismatch) {
    bool is_max = str_is(mismatch->call->name, "max");

    if (mismatch->is_receiver || mismatch->n_args < 2 ||
        !(is_max || str_is(mismatch->call->name, "min")))
        return STR_NULL;
    *mismatch->fix = (CelFix){mismatch->call->at, mismatch->call->at + 3,
        is_max ? STR("math.greatest") : STR("math.least")};
    return is_max ? STR("write math.greatest(a, b)") : STR("write math.least(a, b)");
}

static Str (*const rules_of_thumb[])(const CelMismatch *mismatch) = {
    hint_optional,
    hint_null,
    hint_numbers,
    hint_opaque,
    hint_time,
    hint_string,
    hint_record,
    hint_chain,
    hint_contains,
    hint_in,
    hint_member,
};

Str cel_mismatch_hint(const CelMismatch *mismatch) {
    Str hint = STR_NULL;

    for (size_t i = 0; hint.len == 0 && i < ELEMENTS_OF(rules_of_thumb); i++)
        hint = rules_of_thumb[i](mismatch);
    return hint;
}
