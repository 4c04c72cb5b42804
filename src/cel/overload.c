/* Calls: every overload of the right shape is tried; all that fit are kept, since with dyn only the
 * run can tell. The result has the type they agree on, or dyn. */

#include "cel/check-internal.h"

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

/* Stores @overloads[@i] in the note. They are mostly adjacent in the function's own array; if not,
 * they are copied. False: no memory. */
static bool keep(CelChecker *checker, CelNodeInfo *info, const CelOverload *const *overloads,
    size_t n_overloads, size_t i, const CelOverload ***copy) {
    if (info->n_overloads == 0)
        info->overloads = overloads + i;
    if (!*copy && info->overloads + info->n_overloads != overloads + i) {
        *copy = ARENA_RAW(checker->arena, const CelOverload *, n_overloads);
        if (!*copy)
            return false;
        for (size_t k = 0; k < info->n_overloads; k++)
            (*copy)[k] = info->overloads[k];
        info->overloads = *copy;
    }
    if (*copy)
        (*copy)[info->n_overloads] = overloads[i];
    info->n_overloads++;
    return true;
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
    const CelOverload **copy = NULL;
    const CelType *result = NULL;

    info->n_overloads = 0;
    for (size_t i = 0; i < call->n_args && call->n_args <= CEL_ARGS_MAX; i++)
        info->is_open_call |=
            cel_unify_resolve(&checker->unify, call->types[i], false)->kind == CEL_T_PARAM;
    for (size_t i = 0; i < n && call->n_args <= CEL_ARGS_MAX; i++) {
        const CelType *its = try_overload(checker, call, overloads[i]);

        if (!its)
            continue;
        if (!keep(checker, info, overloads, n, i, &copy)) {
            checker->unify.no_memory = true;
            return;
        }
        result = result && result->kind == CEL_T_DYN ? result : agree(call, result, its);
    }
    /* Several that do not agree are dyn anyway. */
    for (size_t i = 0; i < call->n_args && info->n_overloads == 1 && call->result; i++)
        cel_unify_absorb(&checker->unify, call->types[i], call->wanted[i], call->result);
    info->type = result;
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
        cel_report_mismatch(checker, node, overloads, n, call.args, call.n_args);
}
