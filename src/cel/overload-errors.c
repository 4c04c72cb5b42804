/* "no matching overload": the arguments, and a hint. The heuristics are tried in order; when none
 * applies, the nearest overloads are shown. */

#include <string.h>

#include "cel/check-internal.h"

#define NEAREST_SHOWN 3

typedef struct Mismatch {
    CelChecker *checker;
    const CelNode *call;
    Str op; /* as it was written, "+"; empty: no operator */
    const CelOverload *const *overloads;
    size_t n_overloads;
    const uint32_t *args;
    const CelType *types[CEL_ARGS_MAX];
    size_t n_args;
    bool is_receiver;
} Mismatch;

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

static bool is_comparison(const Mismatch *mismatch) {
    return is_one_of(mismatch->op, "== != < <= > >=");
}

/* Types of arguments are as known by now; those of declarations keep their parameters. */
static void append_types(const CelType *const *types, size_t n, Buf *out) {
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_append(out, STR(", "));
        if (types[i]->kind == CEL_T_ERROR)
            buf_append(out, STR("?"));
        else
            cel_type_print(types[i], false, out);
    }
}

/* string + int, -string, list(int)[string], size(int), string.substring(bool). */
static void append_call(
    const Mismatch *mismatch, bool is_receiver, const CelType *const *types, size_t n, Buf *out) {
    Str name = mismatch->overloads[0]->name;

    if (str_is(name, "_[_]") || str_is(name, "_[?_]")) {
        append_types(types, 1, out);
        buf_append(out, str_is(name, "_[_]") ? STR("[") : STR("[?"));
        append_types(types + 1, n - 1, out);
        buf_append_char(out, ']');
        return;
    }
    if (mismatch->op.len > 0) {
        if (n == 2) {
            append_types(types, 1, out);
            buf_append_char(out, ' ');
        }
        buf_append(out, mismatch->op);
        if (n == 2)
            buf_append_char(out, ' ');
        append_types(types + n - 1, 1, out);
        return;
    }
    if (is_receiver) {
        append_types(types, 1, out);
        buf_append_char(out, '.');
    }
    buf_append(out, name);
    buf_append_char(out, '(');
    append_types(types + is_receiver, n - is_receiver, out);
    buf_append_char(out, ')');
}

/* How many arguments @overload would take, the first counting twice; -1: it is called another
 * way. */
static int nearness(const Mismatch *mismatch, const CelOverload *overload) {
    int n = 0;

    if (overload->is_receiver != mismatch->is_receiver || overload->n_args != mismatch->n_args)
        return -1;
    for (size_t i = 0; i < mismatch->n_args; i++)
        if (overload->args[i]->kind == mismatch->types[i]->kind ||
            overload->args[i]->kind == CEL_T_DYN)
            n += i == 0 ? 2 : 1;
    return n;
}

/* "there is A, B", the nearest first. */
static void append_nearest(const Mismatch *mismatch, Buf *out) {
    size_t n_shown = 0;

    for (int wanted = CEL_ARGS_MAX + 1; wanted >= 0 && n_shown < NEAREST_SHOWN; wanted--) {
        /* Overloads that match no argument are left out, unless there are no others. */
        if (wanted == 0 && n_shown > 0)
            return;
        for (size_t i = 0; i < mismatch->n_overloads && n_shown < NEAREST_SHOWN; i++) {
            const CelOverload *overload = mismatch->overloads[i];

            if (nearness(mismatch, overload) != wanted)
                continue;
            buf_append(out, n_shown++ > 0 ? STR(", ") : STR("there is "));
            append_call(mismatch, overload->is_receiver, overload->args, overload->n_args, out);
        }
    }
}

/* Whether @overload accepts the first argument. */
static bool takes_first(const Mismatch *mismatch, const CelOverload *overload) {
    return mismatch->n_args > 0 && overload->n_args > 0 &&
           (overload->args[0]->kind == mismatch->types[0]->kind ||
               overload->args[0]->kind == CEL_T_PARAM);
}

/* Called with the wrong number of arguments, or the other way round: all the ways there are, if
 * any are for such a thing only those. */
static void append_shapes(const Mismatch *mismatch, Buf *out) {
    bool has_own = false;
    size_t n_shown = 0;

    for (size_t i = 0; i < mismatch->n_overloads; i++)
        has_own |= takes_first(mismatch, mismatch->overloads[i]);
    for (size_t i = 0; i < mismatch->n_overloads && n_shown < NEAREST_SHOWN; i++) {
        const CelOverload *overload = mismatch->overloads[i];

        if (has_own && !takes_first(mismatch, overload))
            continue;
        buf_append(out, n_shown++ > 0 ? STR(", ") : STR("write "));
        append_call(mismatch, overload->is_receiver, overload->args, overload->n_args, out);
    }
}

/* The argument of the one of two that has @kind; SIZE_MAX: neither or both. */
static size_t only_one(const Mismatch *mismatch, CelTypeKind kind) {
    bool first = mismatch->types[0]->kind == kind, second = mismatch->types[1]->kind == kind;

    return first == second ? SIZE_MAX : second;
}

static Str source(const Mismatch *mismatch, size_t arg) {
    return cel_checker_source(mismatch->checker, mismatch->args[arg]);
}

static Str hint_optional(const Mismatch *mismatch) {
    for (size_t i = 0; i < mismatch->n_args; i++)
        if (mismatch->types[i]->kind == CEL_T_OPTIONAL)
            return cel_checker_printf(mismatch->checker,
                "%.*s is optional: .orValue(…) says what to take when there is none",
                STR_FMT(source(mismatch, i)));
    return STR_NULL;
}

static Str hint_null(const Mismatch *mismatch) {
    if (mismatch->n_args != 2 || !is_comparison(mismatch) ||
        only_one(mismatch, CEL_T_NULL) == SIZE_MAX)
        return STR_NULL;
    return STR("it is never null; has(a.b) tells whether a field is set");
}

/* Turns an int literal into one of another type. */
static const char *const suffixes[] = {[CEL_T_INT] = "", [CEL_T_UINT] = "u", [CEL_T_DOUBLE] = ".0"};

/* 1 + 2.0: numbers of two types. A literal is written differently, all else is converted. */
static Str hint_numbers(const Mismatch *mismatch) {
    const CelType *const *types = mismatch->types;
    size_t converted;

    if (mismatch->n_args != 2 || mismatch->op.len == 0 || !is_number(types[0]) ||
        !is_number(types[1]) || types[0]->kind == types[1]->kind)
        return STR_NULL;
    for (size_t i = 0; i < 2; i++) {
        const CelNode *arg = &mismatch->checker->tree->nodes[mismatch->args[i]];

        if (arg->kind == CEL_NODE_LITERAL && arg->literal.kind == CEL_INT)
            return cel_checker_printf(mismatch->checker,
                "numbers of different types do not mix: write %.*s%s", STR_FMT(source(mismatch, i)),
                suffixes[types[1 - i]->kind]);
    }
    converted = types[0]->kind == CEL_T_DOUBLE; /* a double loses the least */
    return cel_checker_printf(mismatch->checker,
        "numbers of different types do not mix: write %.*s(%.*s)",
        STR_FMT(types[1 - converted]->name), STR_FMT(source(mismatch, converted)));
}

static Str hint_string(const Mismatch *mismatch) {
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
        return cel_checker_printf(
            mismatch->checker, "write string(%.*s)", STR_FMT(source(mismatch, 1 - text)));
    case CEL_T_TIMESTAMP:
    case CEL_T_DURATION:
        return cel_checker_printf(mismatch->checker, "write %s(%.*s)",
            mismatch->types[1 - text]->kind == CEL_T_TIMESTAMP ? "timestamp" : "duration",
            STR_FMT(source(mismatch, text)));
    default:
        return STR_NULL;
    }
}

static Str hint_time(const Mismatch *mismatch) {
    bool has_time = false, has_number = false;

    for (size_t i = 0; i < mismatch->n_args; i++) {
        CelTypeKind kind = mismatch->types[i]->kind;

        has_time |= kind == CEL_T_TIMESTAMP || kind == CEL_T_DURATION;
        has_number |= is_number(mismatch->types[i]);
    }
    return mismatch->op.len > 0 && has_time && has_number
               ? STR("a span of time is a duration: duration('90s')")
               : STR_NULL;
}

/* Kubernetes' own types have methods instead of operators. */
static Str hint_opaque(const Mismatch *mismatch) {
    static const struct {
        const char *ops, *hint;
        bool for_semver;
    } rules[] = {
        {"+", "a quantity has no operators: write a.add(b)", false},
        {"-", "a quantity has no operators: write a.sub(b)", false},
        {"<", "there are methods for that: write a.isLessThan(b)", true},
        {">", "there are methods for that: write a.isGreaterThan(b)", true},
        {"<= >=", "there are methods for that: a.compareTo(b) is negative, 0 or positive", true},
    };
    bool is_quantity = false, is_semver = false;

    for (size_t i = 0; i < mismatch->n_args; i++) {
        is_quantity |= mismatch->types[i]->value_kind == CEL_QUANTITY;
        is_semver |= mismatch->types[i]->value_kind == CEL_SEMVER;
    }
    if (mismatch->n_args != 2 || !(is_quantity || is_semver))
        return STR_NULL;
    for (size_t i = 0; i < ELEMENTS_OF(rules); i++)
        if (is_one_of(mismatch->op, rules[i].ops) && (is_quantity || rules[i].for_semver))
            return str_from_c(rules[i].hint);
    if (!is_comparison(mismatch))
        return STR_NULL;
    return is_quantity ? STR("make both a quantity: quantity('1Gi')")
                       : STR("make both a version: semver('1.2.3')");
}

static Str hint_record(const Mismatch *mismatch) {
    size_t record;

    if (mismatch->n_args != 2 || !is_comparison(mismatch))
        return STR_NULL;
    record = only_one(mismatch, CEL_T_RECORD);
    if (record == SIZE_MAX || mismatch->types[1 - record]->kind != CEL_T_MAP)
        return STR_NULL;
    return STR("a record is not a map: compare its fields one by one");
}

/* 0 < n < 5 */
static Str hint_chain(const Mismatch *mismatch) {
    const CelNode *left;
    const char *op;

    if (mismatch->n_args != 2 || !is_comparison(mismatch))
        return STR_NULL;
    left = &mismatch->checker->tree->nodes[mismatch->args[0]];
    op = left->is_operator ? cel_operator_text(left->name) : NULL;
    return op && is_one_of(str_from_c(op), "< <= > >=")
               ? STR("two comparisons are joined by '&&': a < b && b < c")
               : STR_NULL;
}

/* [1, 2].contains(1) */
static Str hint_contains(const Mismatch *mismatch) {
    if (!str_is(mismatch->call->name, "contains") || mismatch->n_args != 2 ||
        mismatch->types[0]->kind != CEL_T_LIST)
        return STR_NULL;
    return cel_checker_printf(mismatch->checker, "write %.*s in %.*s", STR_FMT(source(mismatch, 1)),
        STR_FMT(source(mismatch, 0)));
}

static Str hint_in(const Mismatch *mismatch) {
    if (!is_one_of(mismatch->op, "in") || mismatch->types[1]->kind != CEL_T_STRING)
        return STR_NULL;
    return cel_checker_printf(mismatch->checker, "write %.*s.contains(%.*s)",
        STR_FMT(source(mismatch, 1)), STR_FMT(source(mismatch, 0)));
}

/* 5 in [1u]. With dyn() numbers of all types compare. */
static Str hint_member(const Mismatch *mismatch) {
    const CelType *member, *range;
    const CelNode *written;

    if (!is_one_of(mismatch->op, "in"))
        return STR_NULL;
    range = mismatch->types[1];
    if (range->kind != CEL_T_LIST && range->kind != CEL_T_MAP)
        return STR_NULL;
    member = cel_type_param(range, 0);
    if (!is_number(mismatch->types[0]) || !is_number(member))
        return STR_NULL;
    written = &mismatch->checker->tree->nodes[mismatch->args[0]];
    if (written->kind == CEL_NODE_LITERAL && written->literal.kind == CEL_INT &&
        (written->literal.i >= 0 || member->kind == CEL_T_DOUBLE))
        return cel_checker_printf(mismatch->checker,
            "int and %.*s are different types: write %.*s%s", STR_FMT(member->name),
            STR_FMT(source(mismatch, 0)), suffixes[member->kind]);
    return cel_checker_printf(mismatch->checker,
        "%.*s and %.*s are different types: write dyn(%.*s)", STR_FMT(mismatch->types[0]->name),
        STR_FMT(member->name), STR_FMT(source(mismatch, 0)));
}

/* max(1, 2): max() is for lists. */
static Str hint_extreme(const Mismatch *mismatch) {
    bool is_max = str_is(mismatch->call->name, "max");

    if (mismatch->is_receiver || mismatch->n_args < 2 ||
        !(is_max || str_is(mismatch->call->name, "min")))
        return STR_NULL;
    return is_max ? STR("write math.greatest(a, b)") : STR("write math.least(a, b)");
}

static Str (*const rules_of_thumb[])(const Mismatch *mismatch) = {
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

static void append_hint(const Mismatch *mismatch, Buf *out) {
    bool has_shape = false;
    Str hint = STR_NULL;

    for (size_t i = 0; i < mismatch->n_overloads; i++)
        has_shape |= nearness(mismatch, mismatch->overloads[i]) >= 0;
    if (!has_shape) {
        hint = hint_extreme(mismatch);
        if (hint.len > 0)
            buf_append(out, hint);
        else
            append_shapes(mismatch, out);
        return;
    }
    for (size_t i = 0; hint.len == 0 && i < ELEMENTS_OF(rules_of_thumb); i++)
        hint = rules_of_thumb[i](mismatch);
    buf_append(out, hint);
    if (hint.len > 0)
        return; /* it suggests the text to write */
    append_nearest(mismatch, out);
}

/* list.sortBy(x, key): the macro's parts do not match, not the text. */
static void report_sort(CelChecker *checker, uint32_t node, const CelType *const *types) {
    const CelType *key = cel_type_param(types[1], 0);

    if (types[0]->kind == CEL_T_MAP)
        cel_checker_report_at(checker, node, STR("sortBy() is for lists, not for maps"),
            STR("the list of a map's keys is m.map(k, k)"));
    else if (types[0]->kind == CEL_T_LIST)
        cel_checker_report_at(checker, node,
            cel_checker_printf(checker, "no matching overload: sortBy() cannot order by %.*s",
                STR_FMT(cel_checker_type_text(checker, key))),
            STR("a key is a number, bool, string, bytes, duration or timestamp"));
    /* else: already reported for the range */
}

void cel_report_mismatch(CelChecker *checker, uint32_t node, const CelOverload *const *overloads,
    size_t n_overloads, const uint32_t *args, size_t n_args) {
    _cleanup_(buf_done) Buf text = BUF_INIT(8192), hint = BUF_INIT(8192);
    const CelNode *call = &checker->tree->nodes[node];
    const char *op = call->is_operator ? cel_operator_text(call->name) : NULL;
    Mismatch mismatch = {.checker = checker,
        .call = call,
        .op = str_from_c(op),
        .overloads = overloads,
        .n_overloads = n_overloads,
        .args = args,
        .n_args = n_args,
        .is_receiver = call->is_receiver && !checker->infos[node].is_namespaced};

    if (n_args > CEL_ARGS_MAX) {
        cel_checker_report_at(
            checker, node, STR("no matching overload: too many arguments"), STR_NULL);
        return;
    }
    for (size_t i = 0; i < n_args; i++)
        mismatch.types[i] = cel_unify_resolve(&checker->unify, checker->infos[args[i]].type, true);
    if (str_is(call->name, "@sortByAssociatedKeys")) {
        report_sort(checker, node, mismatch.types);
        return;
    }
    buf_append(&text, STR("no matching overload: "));
    append_call(&mismatch, mismatch.is_receiver, mismatch.types, n_args, &text);
    append_hint(&mismatch, &hint);
    cel_checker_report_at(checker, node, buf_str(&text), buf_str(&hint));
}
