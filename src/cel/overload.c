/* Calls: every overload of the right shape is tried; all that fit are kept, since for dyn only the
 * run knows the type. The result has the type they agree on, or dyn. */

#include <inttypes.h>

#include "base/ascii.h"
#include "base/calendar.h"
#include "base/quantity.h"
#include "cel/check-internal.h"
#include "cel/time.h"

#define NEAREST_SHOWN 3 /* overloads in a hint */
#define TEXT_MAX 8192   /* bytes of a message */

typedef struct Call {
    CelChecker *checker;
    uint32_t node;
    const CelNode *written;
    const CelOverload *const *overloads; /* all of the function */
    size_t n_overloads;
    uint32_t args[CEL_ARGS_MAX];
    const CelType *types[CEL_ARGS_MAX];
    size_t n_args; /* may exceed CEL_ARGS_MAX: then nothing fits */
    bool is_receiver;
    bool has_error; /* an argument was refused already */
    bool is_closed; /* no type of an argument has variables */
    /* The parameters of the last overload that fits and has some, and its result. */
    const CelType *wanted[CEL_ARGS_MAX], *result;
    Str op;      /* the operator as written, "+"; empty: a function */
    CelFix *fix; /* the rewrite that a hint names */
} Call;

/* The arguments are all children, without a receiver that is a namespace. */
static Call read_call(CelChecker *checker, uint32_t node) {
    const CelNode *written = &checker->tree->nodes[node];
    const CelNodeInfo *info = &checker->infos[node];
    size_t first = info->is_namespaced ? 1 : 0;
    Call call = {
        .checker = checker,
        .node = node,
        .written = written,
        .overloads = info->overloads,
        .n_overloads = info->n_overloads, /* a function in a namespace was found already */
        .n_args = written->n_children - first,
        .is_receiver = written->is_receiver && first == 0,
        .is_closed = true,
        .op = str_from_c(written->is_operator ? cel_operator_text(written->name) : NULL),
    };

    if (written->is_operator)
        call.n_overloads = cel_env_overloads(checker->env, written->name, &call.overloads);
    else if (!info->is_namespaced)
        call.n_overloads =
            cel_resolve_function(checker, written->name, written->is_absolute, &call.overloads);
    if (call.n_args > CEL_ARGS_MAX)
        return call;
    cel_tree_children(checker->tree, node, checker->children);
    for (size_t i = 0; i < call.n_args; i++) {
        uint32_t child = checker->children[first + i];

        call.args[i] = child;
        call.types[i] = checker->infos[child].type;
        call.has_error |= call.types[i]->kind == CEL_T_ERROR;
        call.is_closed &= !call.types[i]->is_open;
    }
    return call;
}

/* Solid types fit no other kind of type; dyn, error, null and variables may. */
static bool is_solid(const CelType *type) {
    return type->kind > CEL_T_NULL && type->kind != CEL_T_PARAM;
}

/* Rejects most overloads of an operator fast, without looking at their types' parameters. */
static bool could_fit(const Call *call, const CelOverload *overload) {
    if (overload->is_receiver != call->is_receiver || overload->n_args != call->n_args)
        return false;
    for (size_t i = 0; i < call->n_args; i++)
        if (call->types[i]->kind != overload->args[i]->kind && is_solid(call->types[i]) &&
            is_solid(overload->args[i]))
            return false;
    return true;
}

/* The result's type when @overload takes the arguments; NULL: it does not. */
static const CelType *try_overload(Call *call, const CelOverload *overload) {
    CelChecker *checker = call->checker;
    const CelType *args[CEL_ARGS_MAX], *result = overload->result;
    bool was_loose = checker->unify.is_loose;

    if (!could_fit(call, overload))
        return NULL;
    if (checker->options->no_check)
        return &cel_dyn_type;
    if (overload->n_params == 0) {
        if (!cel_unify_fits_all(&checker->unify, call->types, overload->args, call->n_args))
            return NULL;
    } else {
        cel_unify_instantiate(&checker->unify, overload, args, &result);
        if (!cel_unify_fits_all(&checker->unify, call->types, args, call->n_args))
            return NULL;
        call->result = result;
        for (size_t i = 0; i < call->n_args; i++)
            call->wanted[i] = args[i];
    }
    /* Leniency inside of x == null affects no other part. */
    if (call->is_closed && !overload->result->is_open)
        checker->unify.is_loose = was_loose;
    return cel_unify_resolve(&checker->unify, result, false);
}

static const CelType *agree(const Call *call, const CelType *a, const CelType *b) {
    if (!a || cel_type_equal(a, b))
        return b;
    /* A rejected argument fits everywhere: a second error about its result would mislead. */
    return call->has_error ? &cel_error_type : &cel_dyn_type;
}

/* Stores the overloads that fit @call, and its type, in its CelNodeInfo. */
static void choose(Call *call) {
    CelUnify *unify = &call->checker->unify;
    CelNodeInfo *info = &call->checker->infos[call->node];
    const CelOverload **kept =
        ARENA_RAW(call->checker->arena, const CelOverload *, call->n_overloads);
    const CelType *result = NULL;

    info->overloads = kept;
    info->n_overloads = 0;
    if (!kept || call->n_args > CEL_ARGS_MAX)
        return;
    for (size_t i = 0; i < call->n_args; i++)
        info->is_open_call |= cel_unify_resolve(unify, call->types[i], false)->kind == CEL_T_PARAM;
    for (size_t i = 0; i < call->n_overloads; i++) {
        const CelType *its = try_overload(call, call->overloads[i]);

        if (!its)
            continue;
        kept[info->n_overloads++] = call->overloads[i];
        result = result && result->kind == CEL_T_DYN ? result : agree(call, result, its);
    }
    /* With several overloads of different types the result is dyn anyway. */
    for (size_t i = 0; i < call->n_args && info->n_overloads == 1 && call->result; i++)
        cel_unify_absorb(unify, call->types[i], call->wanted[i], call->result);
    info->type = result;
}

/* Hints for a call that no overload fits. The heuristics are tried in order. A hint that names a
 * rewrite also has it as a fix: test/data/hints/expressions.test follows each. */

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

static bool is_comparison(const Call *call) {
    return is_one_of(call->op, "== != < <= > >=");
}

/* The number of the only one of two arguments that has @kind; SIZE_MAX: neither or both have. */
static size_t only_one(const Call *call, CelTypeKind kind) {
    bool first = call->types[0]->kind == kind, second = call->types[1]->kind == kind;

    return first == second ? SIZE_MAX : second;
}

static Str source(const Call *call, size_t arg) {
    return cel_checker_source(call->checker, call->args[arg]);
}

static const CelNode *node_of(const Call *call, size_t arg) {
    return &call->checker->tree->nodes[call->args[arg]];
}

static bool is_int_literal(const CelNode *node) {
    return node->kind == CEL_NODE_LITERAL && node->literal.kind == CEL_INT;
}

/* The text of a string literal; STR_NULL: it is no such literal. */
static Str literal_text(const CelNode *node) {
    return node->kind == CEL_NODE_LITERAL && node->literal.kind == CEL_STRING
               ? cel_str(node->literal)
               : STR_NULL;
}

/* All of an argument's source. */
static Str text_of(const Call *call, size_t arg) {
    return cel_checker_text(call->checker, call->args[arg]);
}

/* The same, in brackets if a method could not follow it without. */
static Str operand(const Call *call, size_t arg) {
    Str text = text_of(call, arg);

    return cel_checker_is_joined(call->checker, call->args[arg])
               ? cel_checker_printf(call->checker, "(%.*s)", STR_FMT(text))
               : text;
}

/* "write TEXT", with TEXT as the fix in place of @node. */
static Str write_instead(const Call *call, const CelNode *node, Str text) {
    *call->fix = (CelFix){node->from, node->to, text};
    return cel_checker_printf(call->checker, "write %.*s", STR_FMT(text));
}

/* A hint to replace one argument, or the whole call. */
#define INSTEAD_OF(call, arg, ...)                                                                 \
    write_instead(call, node_of(call, arg), cel_checker_printf((call)->checker, __VA_ARGS__))
#define INSTEAD_OF_CALL(call, ...)                                                                 \
    write_instead(call, (call)->written, cel_checker_printf((call)->checker, __VA_ARGS__))

/* A default value of @type, as text; NULL: none. */
static const char *nothing_of(const CelType *type) {
    static const char *const values[] = {[CEL_T_STRING] = "''",
        [CEL_T_INT] = "0",
        [CEL_T_UINT] = "0u",
        [CEL_T_DOUBLE] = "0.0",
        [CEL_T_BOOL] = "false",
        [CEL_T_LIST] = "[]"};

    return type->kind < ELEMENTS_OF(values) ? values[type->kind] : NULL;
}

static Str hint_optional(const Call *call) {
    for (size_t i = 0; i < call->n_args; i++) {
        const char *otherwise;

        if (call->types[i]->kind != CEL_T_OPTIONAL)
            continue;
        otherwise = nothing_of(cel_type_param(call->types[i], 0));
        if (otherwise)
            return INSTEAD_OF(call, i, "%.*s.orValue(%s)", STR_FMT(operand(call, i)), otherwise);
        return cel_checker_printf(call->checker,
            "%.*s is optional: .orValue(…) gives the value if it is absent",
            STR_FMT(source(call, i)));
    }
    return STR_NULL;
}

/* m['k'] == null was meant to ask whether m has 'k'. STR_NULL: @arg is no such index. */
static Str hint_key(const Call *call, size_t arg) {
    const CelTree *tree = call->checker->tree;
    uint32_t index = call->args[arg], parts[2];

    if (tree->nodes[index].kind != CEL_NODE_CALL || !str_is(tree->nodes[index].name, "_[_]"))
        return STR_NULL;
    cel_tree_children(tree, index, parts);
    if (cel_checker_type(call->checker, parts[0])->kind != CEL_T_MAP)
        return STR_NULL;
    return INSTEAD_OF_CALL(call, is_one_of(call->op, "==") ? "!(%.*s in %.*s)" : "%.*s in %.*s",
        STR_FMT(cel_checker_text(call->checker, parts[1])),
        STR_FMT(cel_checker_text(call->checker, parts[0])));
}

/* a.b == null, m['k'] != null */
static Str hint_null(const Call *call) {
    bool is_equality = is_one_of(call->op, "== !=");
    size_t null;
    Str hint;

    if (call->n_args != 2 || !is_comparison(call))
        return STR_NULL;
    null = only_one(call, CEL_T_NULL);
    if (null == SIZE_MAX)
        return STR_NULL;
    if (is_equality && node_of(call, 1 - null)->kind == CEL_NODE_SELECT)
        return INSTEAD_OF_CALL(call, "%shas(%.*s)", is_one_of(call->op, "==") ? "!" : "",
            STR_FMT(operand(call, 1 - null)));
    hint = is_equality ? hint_key(call, 1 - null) : STR_NULL;
    return hint.ptr ? hint : STR("it is never null; has(a.b) tells whether a field is set");
}

/* Suffixes that turn an int literal into one of another type. */
static const char *const suffixes[] = {[CEL_T_INT] = "", [CEL_T_UINT] = "u", [CEL_T_DOUBLE] = ".0"};

/* -1 has no uint, and 0x10.0 is nothing. */
static bool takes_suffix(const CelNode *node, Str text, CelTypeKind kind) {
    return is_int_literal(node) && (kind == CEL_T_DOUBLE || node->literal.i >= 0) &&
           str_find(text, 'x') == SIZE_MAX;
}

/* 1 + 2.0: numbers of two types. A literal is rewritten, all else is converted. */
static Str hint_numbers(const Call *call) {
    const CelType *const *types = call->types;
    size_t converted;
    Str hint = STR_NULL;

    if (call->n_args != 2 || call->op.len == 0 || !is_number(types[0]) || !is_number(types[1]) ||
        types[0]->kind == types[1]->kind)
        return STR_NULL;
    for (size_t i = 0; i < 2 && hint.len == 0; i++)
        if (takes_suffix(node_of(call, i), source(call, i), types[1 - i]->kind))
            hint = INSTEAD_OF(
                call, i, "%.*s%s", STR_FMT(source(call, i)), suffixes[types[1 - i]->kind]);
    converted = types[0]->kind == CEL_T_DOUBLE; /* a double loses the least */
    if (hint.len == 0)
        hint = INSTEAD_OF(call, converted, "%.*s(%.*s)", STR_FMT(types[1 - converted]->name),
            STR_FMT(text_of(call, converted)));
    return cel_checker_printf(
        call->checker, "numbers of different types do not mix: %.*s", STR_FMT(hint));
}

/* A text as a number of @type: 1.5 for '1.5', quantity('2Gi').… for '2Gi'. STR_NULL: none. */
static Str number_in(const Call *call, Str text, const CelType *type) {
    bool is_double = type->kind == CEL_T_DOUBLE;
    Quantity amount;
    int64_t whole;

    if (str_to_int64(text, &whole) && (whole >= 0 || type->kind != CEL_T_UINT))
        return cel_checker_printf(call->checker, "%" PRId64 "%s", whole, suffixes[type->kind]);
    if (text.len == 0 || !quantity_parse(text, &amount) || type->kind == CEL_T_UINT)
        return STR_NULL;
    if (is_double && ascii_is_digit(text.ptr[text.len - 1]) && ascii_is_digit(text.ptr[0]))
        return cel_checker_printf(call->checker, "%.*s", STR_FMT(text));
    return cel_checker_printf(call->checker, "quantity('%.*s').%s", STR_FMT(text),
        is_double ? "asApproximateFloat()" : "asInteger()");
}

/* Text beside a number or bool: a text literal becomes one, and a literal beside text becomes text.
 * Else text is converted to compare by size; for other operators the other side becomes text. */
static Str hint_text(const Call *call, size_t text) {
    const CelNode *other = node_of(call, 1 - text);
    const CelType *type = call->types[1 - text];
    bool is_sum = is_one_of(call->op, "+"), is_equality = is_one_of(call->op, "== !=");
    Str value = literal_text(node_of(call, text)), number = STR_NULL;

    if (!is_sum && is_number(type) && value.ptr)
        number = number_in(call, value, type);
    else if (!is_sum && type->kind == CEL_T_BOOL &&
             (str_is(value, "true") || str_is(value, "false")))
        number = value;
    if (number.ptr)
        return INSTEAD_OF(call, text, "%.*s", STR_FMT(number));
    if (is_equality && other->kind == CEL_NODE_LITERAL)
        return INSTEAD_OF(call, 1 - text, "'%.*s'", STR_FMT(source(call, 1 - text)));
    if (!is_sum && !is_equality && is_number(type) && !value.ptr)
        return INSTEAD_OF(
            call, text, "%.*s(%.*s)", STR_FMT(type->name), STR_FMT(text_of(call, text)));
    return INSTEAD_OF(call, 1 - text, "string(%.*s)", STR_FMT(text_of(call, 1 - text)));
}

/* Text beside a time is converted, unless it is a literal that is no time. */
static Str hint_text_as_time(const Call *call, size_t text) {
    bool is_point = call->types[1 - text]->kind == CEL_T_TIMESTAMP;
    Str value = literal_text(node_of(call, text));
    uint32_t nanos;
    int64_t number;

    if (value.ptr &&
        !(is_point ? calendar_parse(value, &number, &nanos) : cel_duration_parse(value, &number)))
        return is_point ? STR(POINT_IN_TIME) : STR(SPAN_OF_TIME);
    return INSTEAD_OF(
        call, text, "%s(%.*s)", is_point ? "timestamp" : "duration", STR_FMT(text_of(call, text)));
}

static Str hint_string(const Call *call) {
    size_t text;

    if (call->n_args != 2 || !(is_one_of(call->op, "+") || is_comparison(call)))
        return STR_NULL;
    text = only_one(call, CEL_T_STRING);
    if (text == SIZE_MAX)
        return STR_NULL;
    switch (call->types[1 - text]->kind) {
    case CEL_T_INT:
    case CEL_T_UINT:
    case CEL_T_DOUBLE:
    case CEL_T_BOOL:
    case CEL_T_BYTES:
        return hint_text(call, text);
    case CEL_T_TIMESTAMP:
    case CEL_T_DURATION:
        return hint_text_as_time(call, text);
    default:
        return STR_NULL;
    }
}

/* '5m', from quantity('5m').asApproximateFloat(), which is the hint for 5m without quotes. */
static Str minutes_in(const Call *call, size_t arg) {
    static const Str before = STR("quantity("), after = STR(").asApproximateFloat()");
    Str text = text_of(call, arg);

    if (!str_has_prefix(text, before) || !str_has_suffix(text, after))
        return STR_NULL;
    return str_skip(str_take(text, text.len - after.len), before.len);
}

/* now - t > 90, now - 5m: numbers beside times are spans of time. */
static Str hint_time(const Call *call) {
    size_t number = SIZE_MAX, time = SIZE_MAX;
    Str minutes;

    for (size_t i = 0; i < call->n_args; i++) {
        CelTypeKind kind = call->types[i]->kind;

        if (kind == CEL_T_TIMESTAMP || kind == CEL_T_DURATION)
            time = i;
        if (is_number(call->types[i]))
            number = i;
    }
    if (call->op.len == 0 || time == SIZE_MAX || number == SIZE_MAX)
        return STR_NULL;
    if (call->types[time]->kind == CEL_T_TIMESTAMP && is_comparison(call))
        return STR(POINT_IN_TIME);
    minutes = minutes_in(call, number);
    if (minutes.len > 0)
        return INSTEAD_OF(call, number, "duration(%.*s)", STR_FMT(minutes));
    if (is_int_literal(node_of(call, number)))
        return INSTEAD_OF(call, number, "duration('%.*ss')", STR_FMT(source(call, number)));
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
static Str as_opaque(const Call *call, size_t arg, const char *name) {
    Str text = operand(call, arg);

    return call->types[arg]->kind == CEL_T_STRING
               ? cel_checker_printf(call->checker, "%s(%.*s)", name, STR_FMT(text))
               : text;
}

/* quantity('2Gi').isGreaterThan(node.free.memory): the quantity is converted to a number. */
static Str hint_method(const Call *call) {
    Str sides[2];

    for (size_t i = 0; i < 2; i++)
        sides[i] = is_number(call->types[i])
                       ? operand(call, i)
                       : cel_checker_printf(
                             call->checker, "%.*s.asApproximateFloat()", STR_FMT(operand(call, i)));
    for (size_t i = 0; i < ELEMENTS_OF(methods); i++)
        if (str_is(call->written->name, methods[i].method) && methods[i].after[0] == '\0')
            return INSTEAD_OF_CALL(
                call, "%.*s %s %.*s", STR_FMT(sides[0]), methods[i].op, STR_FMT(sides[1]));
    return STR_NULL;
}

static Str hint_opaque(const Call *call) {
    CelKind kinds[2];
    size_t number = SIZE_MAX, text;
    bool is_quantity, is_semver;
    const char *name;

    if (call->n_args != 2 || (call->op.len == 0 && !call->is_receiver))
        return STR_NULL;
    for (size_t i = 0; i < 2; i++) {
        kinds[i] = (CelKind)call->types[i]->value_kind;
        if (is_number(call->types[i]))
            number = i;
    }
    is_quantity = kinds[0] == CEL_QUANTITY || kinds[1] == CEL_QUANTITY;
    is_semver = kinds[0] == CEL_SEMVER || kinds[1] == CEL_SEMVER;
    if (is_quantity == is_semver)
        return STR_NULL;
    name = is_quantity ? "quantity" : "semver";
    if (call->op.len == 0)
        return number != SIZE_MAX && is_quantity ? hint_method(call) : STR_NULL;
    if (number != SIZE_MAX && is_quantity)
        return INSTEAD_OF(
            call, 1 - number, "%.*s.asApproximateFloat()", STR_FMT(operand(call, 1 - number)));
    text = only_one(call, CEL_T_STRING);
    if (text == SIZE_MAX && kinds[0] != kinds[1])
        return is_quantity ? STR("make both a quantity: quantity('1Gi')")
                           : STR("make both a version: semver('1.2.3')");
    for (size_t i = 0; i < ELEMENTS_OF(methods); i++)
        if (str_is(call->op, methods[i].op) && (is_quantity || methods[i].for_semver))
            return cel_checker_printf(call->checker, "there are methods for that: %.*s",
                STR_FMT(INSTEAD_OF_CALL(call, "%.*s.%s(%.*s)%s", STR_FMT(as_opaque(call, 0, name)),
                    methods[i].method, STR_FMT(as_opaque(call, 1, name)), methods[i].after)));
    if (text == SIZE_MAX || !is_comparison(call))
        return STR_NULL;
    return INSTEAD_OF(call, text, "%.*s", STR_FMT(as_opaque(call, text, name)));
}

static Str hint_record(const Call *call) {
    size_t record;

    if (call->n_args != 2 || !is_comparison(call))
        return STR_NULL;
    record = only_one(call, CEL_T_RECORD);
    if (record == SIZE_MAX || call->types[1 - record]->kind != CEL_T_MAP)
        return STR_NULL;
    return STR("a record is not a map: compare its fields one by one");
}

/* 0 < n < 5 */
static Str hint_chain(const Call *call) {
    const CelNode *left;
    const char *op;
    Str middle;

    if (call->n_args != 2 || !is_comparison(call))
        return STR_NULL;
    left = node_of(call, 0);
    op = left->is_operator ? cel_operator_text(left->name) : NULL;
    if (!op || !is_one_of(str_from_c(op), "< <= > >="))
        return STR_NULL;
    middle = cel_checker_text(call->checker, call->args[0] - 1);
    return cel_checker_printf(call->checker, "two comparisons are joined by '&&': %.*s",
        STR_FMT(INSTEAD_OF_CALL(call, "%.*s && %.*s %.*s %.*s", STR_FMT(text_of(call, 0)),
            STR_FMT(middle), STR_FMT(call->op), STR_FMT(text_of(call, 1)))));
}

/* [1, 2].contains(1) */
static Str hint_contains(const Call *call) {
    if (!str_is(call->written->name, "contains") || call->n_args != 2 ||
        call->types[0]->kind != CEL_T_LIST)
        return STR_NULL;
    return INSTEAD_OF_CALL(
        call, "%.*s in %.*s", STR_FMT(operand(call, 1)), STR_FMT(operand(call, 0)));
}

static Str hint_in(const Call *call) {
    if (!is_one_of(call->op, "in") || call->types[1]->kind != CEL_T_STRING)
        return STR_NULL;
    return INSTEAD_OF_CALL(
        call, "%.*s.contains(%.*s)", STR_FMT(operand(call, 1)), STR_FMT(operand(call, 0)));
}

/* 5 in [1u]. With dyn() numbers of all types compare. */
static Str hint_member(const Call *call) {
    const CelType *range = call->types[1], *member;
    Str hint;

    if (!is_one_of(call->op, "in") || (range->kind != CEL_T_LIST && range->kind != CEL_T_MAP))
        return STR_NULL;
    member = cel_type_param(range, 0);
    if (!is_number(call->types[0]) || !is_number(member))
        return STR_NULL;
    if (takes_suffix(node_of(call, 0), source(call, 0), member->kind))
        hint = INSTEAD_OF(call, 0, "%.*s%s", STR_FMT(source(call, 0)), suffixes[member->kind]);
    else
        hint = INSTEAD_OF(call, 0, "dyn(%.*s)", STR_FMT(text_of(call, 0)));
    return cel_checker_printf(call->checker, "%.*s and %.*s are different types: %.*s",
        STR_FMT(call->types[0]->name), STR_FMT(member->name), STR_FMT(hint));
}

/* max(1, 2): max() is for lists. */
static Str shape_hint(const Call *call) {
    bool is_max = str_is(call->written->name, "max");

    if (call->is_receiver || call->n_args < 2 || !(is_max || str_is(call->written->name, "min")))
        return STR_NULL;
    *call->fix = (CelFix){call->written->at, call->written->at + 3,
        is_max ? STR("math.greatest") : STR("math.least")};
    return is_max ? STR("write math.greatest(a, b)") : STR("write math.least(a, b)");
}

static Str (*const hint_functions[])(const Call *call) = {
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

static Str mismatch_hint(const Call *call) {
    Str hint = STR_NULL;

    for (size_t i = 0; hint.len == 0 && i < ELEMENTS_OF(hint_functions); i++)
        hint = hint_functions[i](call);
    return hint;
}

/* "no matching overload": the arguments, and a hint, or the nearest overloads. */

/* Appends the call with @types, its own (as far as known) or those of a declaration. */
static void append_call(
    const Call *call, bool is_receiver, const CelType *const *types, size_t n, Buf *out) {
    Buf texts[CEL_ARGS_MAX];
    Str shown[CEL_ARGS_MAX] = {STR_NULL};

    for (size_t i = 0; i < n; i++) {
        texts[i] = BUF_INIT(TEXT_MAX);
        if (types[i]->kind == CEL_T_ERROR)
            buf_append_char(&texts[i], '?');
        else
            cel_type_print(types[i], false, &texts[i]);
        shown[i] = buf_str(&texts[i]);
    }
    cel_call_print(call->overloads[0]->name, is_receiver, shown, n, out);
    for (size_t i = 0; i < n; i++)
        buf_done(&texts[i]);
}

/* The number of arguments that @overload accepts, the first counting twice; -1: it has another
 * form. */
static int nearness(const Call *call, const CelOverload *overload) {
    int n = 0;

    if (overload->is_receiver != call->is_receiver || overload->n_args != call->n_args)
        return -1;
    for (size_t i = 0; i < call->n_args; i++)
        if (overload->args[i]->kind == call->types[i]->kind || overload->args[i]->kind == CEL_T_DYN)
            n += i == 0 ? 2 : 1;
    return n;
}

/* "there is A, B", the best fits first. */
static void append_nearest(const Call *call, Buf *out) {
    size_t n_shown = 0;

    for (int wanted = CEL_ARGS_MAX + 1; wanted >= 0 && n_shown < NEAREST_SHOWN; wanted--) {
        /* Overloads that match no argument are left out, unless there are no others. */
        if (wanted == 0 && n_shown > 0)
            return;
        for (size_t i = 0; i < call->n_overloads && n_shown < NEAREST_SHOWN; i++) {
            const CelOverload *overload = call->overloads[i];

            if (nearness(call, overload) != wanted)
                continue;
            buf_append(out, n_shown++ > 0 ? STR(", ") : STR("there is "));
            append_call(call, overload->is_receiver, overload->args, overload->n_args, out);
        }
    }
}

/* Whether @overload accepts the first argument. */
static bool takes_first(const Call *call, const CelOverload *overload) {
    return call->n_args > 0 && overload->n_args > 0 &&
           (overload->args[0]->kind == call->types[0]->kind ||
               overload->args[0]->kind == CEL_T_PARAM);
}

/* For a wrong number of arguments, or a function called as a method: lists the forms that exist; if
 * some accept the first argument, only those. */
static void append_shapes(const Call *call, Buf *out) {
    bool has_own = false;
    size_t n_shown = 0;

    for (size_t i = 0; i < call->n_overloads; i++)
        has_own |= takes_first(call, call->overloads[i]);
    for (size_t i = 0; i < call->n_overloads && n_shown < NEAREST_SHOWN; i++) {
        const CelOverload *overload = call->overloads[i];

        if (has_own && !takes_first(call, overload))
            continue;
        buf_append(out, n_shown++ > 0 ? STR(", ") : STR("write "));
        append_call(call, overload->is_receiver, overload->args, overload->n_args, out);
    }
}

static void append_hint(const Call *call, Buf *out) {
    bool has_shape = false;
    Str hint;

    for (size_t i = 0; i < call->n_overloads; i++)
        has_shape |= nearness(call, call->overloads[i]) >= 0;
    hint = has_shape ? mismatch_hint(call) : shape_hint(call);
    buf_append(out, hint);
    if (hint.len > 0)
        return; /* it suggests the text to write */
    if (has_shape)
        append_nearest(call, out);
    else
        append_shapes(call, out);
}

/* list.sortBy(x, key): reports the macro, since its expansion is not in the source. */
static void report_sort(const Call *call) {
    const CelType *key = cel_type_param(call->types[1], 0);

    if (call->types[0]->kind == CEL_T_MAP)
        cel_checker_report_at(call->checker, call->node, STR("sortBy() is for lists, not for maps"),
            STR("the list of a map's keys is m.map(k, k)"));
    else if (call->types[0]->kind == CEL_T_LIST)
        cel_checker_report_at(call->checker, call->node,
            cel_checker_printf(call->checker, "no matching overload: sortBy() cannot order by %.*s",
                STR_FMT(cel_checker_type_text(call->checker, key))),
            STR("a key is a number, bool, string, bytes, duration or timestamp"));
    /* else: already reported for the range */
}

static void report_mismatch(Call *call) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX), hint = BUF_INIT(TEXT_MAX);
    CelChecker *checker = call->checker;
    CelFix fix = {0};

    if (call->n_args > CEL_ARGS_MAX) {
        cel_checker_report_at(
            checker, call->node, STR("no matching overload: too many arguments"), STR_NULL);
        return;
    }
    for (size_t i = 0; i < call->n_args; i++)
        call->types[i] = cel_unify_resolve(&checker->unify, call->types[i], true);
    if (str_is(call->written->name, "@sortByAssociatedKeys")) {
        report_sort(call);
        return;
    }
    call->fix = &fix;
    buf_append(&text, STR("no matching overload: "));
    append_call(call, call->is_receiver, call->types, call->n_args, &text);
    append_hint(call, &hint);
    call->fix = NULL;
    cel_checker_report_at(checker, call->node, buf_str(&text), buf_str(&hint));
    cel_checker_fix(checker, fix);
}

/* maths.sqrt(2): whether the error was already reported at the start of the name. */
static bool is_reported_already(const Call *call) {
    const CelNode *nodes = call->checker->tree->nodes;
    uint32_t receiver = call->args[0];

    return call->is_receiver && call->n_args <= CEL_ARGS_MAX &&
           call->checker->infos[receiver].type->kind == CEL_T_ERROR &&
           nodes[receiver + 1 - nodes[receiver].size].call == call->node;
}

void cel_check_call(CelChecker *checker, uint32_t node) {
    CelNodeInfo *info = &checker->infos[node];
    Call call = read_call(checker, node);

    choose(&call);
    if (info->type)
        return;
    info->type = checker->options->no_check ? &cel_dyn_type : &cel_error_type;
    if (checker->options->no_check || is_reported_already(&call))
        return;
    if (call.n_overloads == 0)
        cel_suggest_function(checker, node);
    else
        report_mismatch(&call);
}
