/* Calls: every overload of the right shape is tried; all that fit are kept, since with dyn only the
 * run can tell. The result has the type they agree on, or dyn. */

#include "cel/overload-internal.h"

#include <assert.h>

#define NEAREST_SHOWN 3 /* overloads in a hint */

typedef struct Call {
    uint32_t node;
    uint32_t args[CEL_ARGS_MAX];
    const CelType *types[CEL_ARGS_MAX];
    size_t n_args; /* may be more than there is room for: then nothing fits */
    bool is_receiver;
    bool has_error; /* an argument was refused already */
    bool is_closed; /* no type of an argument has variables */
    /* Of the last overload with parameters that fits. */
    const CelType *wanted[CEL_ARGS_MAX], *result;
} Call;

/* The arguments: all children, without a receiver that is a name space. */
static void read_call(CelChecker *checker, uint32_t node, Call *ret) {
    const CelNode *written = &checker->tree->nodes[node];
    size_t first = checker->infos[node].is_namespaced ? 1 : 0;

    *ret = (Call){.node = node,
        .n_args = written->n_children - first,
        .is_receiver = written->is_receiver && first == 0,
        .is_closed = true};
    if (ret->n_args > CEL_ARGS_MAX)
        return;
    cel_tree_children(checker->tree, node, checker->children);
    for (size_t i = 0; i < ret->n_args; i++) {
        uint32_t child = checker->children[first + i];

        ret->args[i] = child;
        ret->types[i] = checker->infos[child].type;
        ret->has_error |= ret->types[i]->kind == CEL_T_ERROR;
        ret->is_closed &= !ret->types[i]->is_open;
    }
}

static bool is_solid(const CelType *type) {
    return type->kind > CEL_T_NULL && type->kind != CEL_T_PARAM;
}

/* Fast rejection without looking at parameters: most of the overloads of an operator. */
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
static const CelType *try_overload(CelChecker *checker, Call *call, const CelOverload *overload) {
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
    /* Types learnt inside of x == null stay there. */
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

/* Fills the note of @call with what fits of @overloads. */
static void choose(CelChecker *checker, Call *call, const CelOverload *const *overloads, size_t n) {
    CelNodeInfo *info = &checker->infos[call->node];
    const CelOverload **kept = ARENA_RAW(checker->arena, const CelOverload *, n);
    const CelType *result = NULL;

    info->overloads = kept;
    info->n_overloads = 0;
    if (!kept) {
        checker->unify.no_memory = true;
        return;
    }
    for (size_t i = 0; i < call->n_args && call->n_args <= CEL_ARGS_MAX; i++)
        info->is_open_call |=
            cel_unify_resolve(&checker->unify, call->types[i], false)->kind == CEL_T_PARAM;
    for (size_t i = 0; i < n && call->n_args <= CEL_ARGS_MAX; i++) {
        const CelType *its = try_overload(checker, call, overloads[i]);

        if (!its)
            continue;
        kept[info->n_overloads++] = overloads[i];
        result = result && result->kind == CEL_T_DYN ? result : agree(call, result, its);
    }
    /* Several that do not agree are dyn anyway. */
    for (size_t i = 0; i < call->n_args && info->n_overloads == 1 && call->result; i++)
        cel_unify_absorb(&checker->unify, call->types[i], call->wanted[i], call->result);
    info->type = result;
}

/* "no matching overload": the arguments, and a hint (overload-hints.c), or the nearest overloads.
 */

/* Types of arguments are as known by now; those of declarations keep their parameters. */
static void append_types(const CelType *const *types, size_t n, Buf *out) {
    for (size_t i = 0; i < n; i++) {
        assert(types[i]);
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

/* A call for which no overload fits; its @n_args arguments are the nodes @args (none are given when
 * there are more than CEL_ARGS_MAX). */
static void report_mismatch(CelChecker *checker, uint32_t node, const CelOverload *const *overloads,
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

/* maths.sqrt(2): one error, at the start of the name; the function itself is not reported. */
static bool is_said_already(const CelChecker *checker, const Call *call) {
    const CelNode *nodes = checker->tree->nodes;
    uint32_t receiver = call->args[0];

    return call->is_receiver && call->n_args <= CEL_ARGS_MAX &&
           checker->infos[receiver].type->kind == CEL_T_ERROR &&
           nodes[receiver + 1 - nodes[receiver].size].call == call->node;
}

void cel_check_call(CelChecker *checker, uint32_t node) {
    const CelNode *written = &checker->tree->nodes[node];
    CelNodeInfo *info = &checker->infos[node];
    const CelOverload *const *overloads = info->overloads;
    size_t n = info->n_overloads; /* of a function in a name space, found already */
    Call call;

    read_call(checker, node, &call);
    if (written->is_operator)
        n = cel_env_overloads(checker->env, written->name, &overloads);
    else if (!info->is_namespaced)
        n = cel_resolve_function(checker, written->name, written->is_absolute, &overloads);
    choose(checker, &call, overloads, n);
    if (info->type)
        return;
    info->type = checker->options->no_check ? &cel_dyn_type : &cel_error_type;
    if (checker->options->no_check)
        return;
    if (is_said_already(checker, &call))
        return;
    if (n == 0)
        cel_suggest_function(checker, node);
    else
        report_mismatch(checker, node, overloads, n, call.args, call.n_args);
}
