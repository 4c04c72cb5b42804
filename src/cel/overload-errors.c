/* "no matching overload": the arguments, and a hint (overload-hints.c), or the nearest overloads.
 */

#include "cel/overload-internal.h"

#define NEAREST_SHOWN 3

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
static void append_call(const CelMismatch *mismatch, bool is_receiver, const CelType *const *types,
    size_t n, Buf *out) {
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
static int nearness(const CelMismatch *mismatch, const CelOverload *overload) {
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
static void append_nearest(const CelMismatch *mismatch, Buf *out) {
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
static bool takes_first(const CelMismatch *mismatch, const CelOverload *overload) {
    return mismatch->n_args > 0 && overload->n_args > 0 &&
           (overload->args[0]->kind == mismatch->types[0]->kind ||
               overload->args[0]->kind == CEL_T_PARAM);
}

/* Called with the wrong number of arguments, or the other way round: all the ways there are, if
 * any are for such a thing only those. */
static void append_shapes(const CelMismatch *mismatch, Buf *out) {
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

static void append_hint(const CelMismatch *mismatch, Buf *out) {
    bool has_shape = false;
    Str hint;

    for (size_t i = 0; i < mismatch->n_overloads; i++)
        has_shape |= nearness(mismatch, mismatch->overloads[i]) >= 0;
    hint = has_shape ? cel_mismatch_hint(mismatch) : cel_mismatch_shape_hint(mismatch);
    buf_append(out, hint);
    if (hint.len > 0)
        return; /* it suggests the text to write */
    if (has_shape)
        append_nearest(mismatch, out);
    else
        append_shapes(mismatch, out);
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
    CelFix fix = {0};
    CelMismatch mismatch = {.checker = checker,
        .call = call,
        .op = str_from_c(op),
        .overloads = overloads,
        .n_overloads = n_overloads,
        .args = args,
        .n_args = n_args,
        .fix = &fix,
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
    cel_checker_fix(checker, fix);
}
