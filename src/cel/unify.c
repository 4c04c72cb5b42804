/* Bindings are in an array by variable; a trail undoes failed attempts. Variables can chain and
 * share types far beyond one type's size: every walk counts its depth and its steps. */

#include "cel/unify.h"

#include "cel/limits.h"

#define DEPTH_MAX (2 * CEL_TYPE_DEPTH_MAX)
#define VARIABLE_FLAG 0x80000000u /* a variable of the checker, not a parameter of a signature */

static bool is_variable(const CelType *type) {
    return type->kind == CEL_T_PARAM && (type->variable & VARIABLE_FLAG);
}

static bool is_dyn_or_error(const CelType *type) {
    /* A parameter in the type of a declared variable is never instantiated. */
    bool is_stray = type->kind == CEL_T_PARAM && !is_variable(type);

    return type->kind == CEL_T_DYN || type->kind == CEL_T_ERROR || is_stray;
}

static const CelType *binding(const CelUnify *unify, const CelType *variable) {
    return unify->bound.items[variable->variable & ~VARIABLE_FLAG];
}

static bool step(CelUnify *unify, unsigned depth) {
    if (unify->is_too_large || depth > DEPTH_MAX || unify->steps >= CEL_TYPE_STEPS_MAX) {
        unify->is_too_large = true;
        return false;
    }
    unify->steps++;
    return true;
}

const CelType *cel_unify_fresh(CelUnify *unify) {
    uint32_t number = (uint32_t)unify->bound.n;
    const CelType *type = cel_param_of(unify->arena, STR("T"), number | VARIABLE_FLAG);

    return type && VEC_ADD(&unify->bound, unify->arena, NULL) ? type : &cel_dyn_type;
}

static void bind(CelUnify *unify, const CelType *variable, const CelType *type) {
    uint32_t number = variable->variable & ~VARIABLE_FLAG;
    struct CelUndo undo = {.variable = number, .before = unify->bound.items[number]};

    if (VEC_ADD(&unify->trail, unify->arena, undo))
        unify->bound.items[number] = type;
}

static void undo_to(CelUnify *unify, size_t mark) {
    while (unify->trail.n > mark) {
        struct CelUndo undo = unify->trail.items[--unify->trail.n];

        unify->bound.items[undo.variable] = undo.before;
    }
}

/* Whether @a matches @b, if dyn and variables in @a match anything. Recursion: a type's own depth
 * bounds it, CEL_TYPE_DEPTH_MAX. */
static bool is_as_general(const CelType *a, const CelType *b) {
    if (a == b || a->kind == CEL_T_DYN || a->kind == CEL_T_PARAM)
        return true;
    if (b->kind == CEL_T_DYN || b->kind == CEL_T_PARAM || a->kind != b->kind)
        return false;
    if (a->kind == CEL_T_TYPE)
        return true;
    if (!str_eq(a->name, b->name))
        return false;
    if (a->n_params != b->n_params && a->kind == CEL_T_OPAQUE)
        return false;
    for (size_t i = 0; i < a->n_params || i < b->n_params; i++)
        if (!is_as_general(cel_type_param(a, i), cel_type_param(b, i)))
            return false;
    return true;
}

const CelType *cel_unify_general(CelUnify *unify, const CelType *a, const CelType *b) {
    if (is_as_general(a, b))
        return a;
    if (!is_as_general(b, a) && a->kind != CEL_T_ERROR && b->kind != CEL_T_ERROR)
        unify->is_loose = true;
    /* type_deductions/legacy_nullable_types: null and a nullable type give the nullable type. */
    return b->kind == CEL_T_NULL && !is_dyn_or_error(a) ? a : b;
}

/* The occurs check: whether @variable is in @type, followed through bindings. */
static bool occurs_in(
    CelUnify *unify, const CelType *variable, const CelType *type, unsigned depth) {
    if (!type->is_open)
        return false;
    if (!step(unify, depth))
        return true;
    if (is_variable(type)) {
        const CelType *to;

        if (type->variable == variable->variable)
            return true;
        to = binding(unify, type);
        return to && occurs_in(unify, variable, to, depth + 1);
    }
    for (size_t i = 0; i < type->n_params; i++)
        if (occurs_in(unify, variable, type->params[i], depth + 1))
            return true;
    return false;
}

static bool fits(CelUnify *unify, const CelType *from, const CelType *to, unsigned depth);

typedef enum Bound {
    BOUND_OK,
    BOUND_CONFLICT, /* it is bound to another type */
    BOUND_CYCLE,    /* the type would contain the variable */
} Bound;

/* Binds @variable to @type, or checks that it can be both that and its current type. */
static Bound bind_variable(
    CelUnify *unify, const CelType *variable, const CelType *type, unsigned depth) {
    const CelType *now = binding(unify, variable);

    if (type == variable || (is_variable(type) && type->variable == variable->variable))
        return BOUND_OK;
    if (!now) {
        if (occurs_in(unify, variable, type, depth))
            return BOUND_CYCLE;
        bind(unify, variable, type);
        return BOUND_OK;
    }
    if (now == type || cel_type_equal(now, type))
        return BOUND_OK;
    if (!fits(unify, type, now, depth + 1))
        return BOUND_CONFLICT;
    now = cel_unify_general(unify, type, now);
    if (!occurs_in(unify, variable, now, depth))
        bind(unify, variable, now);
    return BOUND_OK;
}

/* As in cel-go, types of fields that API objects can omit may be compared with null
 * (type_deductions/legacy_nullable_types). */
static bool is_nullable(const CelType *type) {
    return type->kind == CEL_T_NULL || type->kind == CEL_T_OPTIONAL || type->kind == CEL_T_OPAQUE ||
           type->kind == CEL_T_RECORD || type->kind == CEL_T_DURATION ||
           type->kind == CEL_T_TIMESTAMP;
}

/* Recursion: DEPTH_MAX bounds it. */
static bool fits(CelUnify *unify, const CelType *from, const CelType *to, unsigned depth) {
    if (!step(unify, depth))
        return false;
    if (is_variable(to)) {
        Bound bound = bind_variable(unify, to, from, depth);

        if (bound != BOUND_CYCLE)
            return bound == BOUND_OK;
    }
    if (is_variable(from))
        return bind_variable(unify, from, to, depth) == BOUND_OK;
    if (from == to || is_dyn_or_error(from) || is_dyn_or_error(to))
        return true;
    if (from->kind == CEL_T_NULL)
        return is_nullable(to);
    if (to->kind == CEL_T_NULL)
        return is_nullable(from);
    if (from->kind != to->kind)
        return false;
    if (from->kind == CEL_T_TYPE)
        return true;
    if (!str_eq(from->name, to->name) ||
        (from->kind == CEL_T_OPAQUE && from->n_params != to->n_params))
        return false;
    for (size_t i = 0; i < from->n_params || i < to->n_params; i++)
        if (!fits(unify, cel_type_param(from, i), cel_type_param(to, i), depth + 1))
            return false;
    return true;
}

bool cel_unify_fits(CelUnify *unify, const CelType *from, const CelType *to) {
    return cel_unify_fits_all(unify, &from, &to, 1);
}

bool cel_unify_fits_all(
    CelUnify *unify, const CelType *const *from, const CelType *const *to, size_t n) {
    size_t mark = unify->trail.n;
    bool was_loose = unify->is_loose;

    for (size_t i = 0; i < n; i++)
        if (!fits(unify, from[i], to[i], 0)) {
            undo_to(unify, mark);
            unify->is_loose = was_loose;
            return false;
        }
    return true;
}

static const CelType *follow(const CelUnify *unify, const CelType *type) {
    while (is_variable(type) && binding(unify, type))
        type = binding(unify, type);
    return type;
}

/* Recursion: a type's own depth bounds it, CEL_TYPE_DEPTH_MAX. */
static void loosen(CelUnify *unify, const CelType *type, const CelType *result) {
    if (is_variable(type) && !is_dyn_or_error(follow(unify, type)))
        unify->is_loose |= occurs_in(unify, type, result, 0);
    for (size_t i = 0; i < type->n_params; i++)
        loosen(unify, type->params[i], result);
}

/* Recursion: the depth of @to bounds it. */
void cel_unify_absorb(
    CelUnify *unify, const CelType *from, const CelType *to, const CelType *result) {
    if (!to->is_open || is_variable(to))
        return;
    from = follow(unify, from);
    if (is_dyn_or_error(from))
        loosen(unify, to, result);
    else if (from->kind == to->kind)
        for (size_t i = 0; i < to->n_params; i++)
            cel_unify_absorb(unify, cel_type_param(from, i), to->params[i], result);
}

static const CelType *or_dyn(CelUnify *unify, const CelType *type) {
    unify->is_too_large |= !type && !arena_has_failed(unify->arena);
    return type ? type : &cel_dyn_type;
}

/* Recursion: DEPTH_MAX bounds it. */
static const CelType *resolve(
    CelUnify *unify, const CelType *type, bool free_is_dyn, unsigned depth) {
    const CelType *params[CEL_TYPE_PARAMS_MAX];
    bool is_same = true;

    if (!type->is_open)
        return type;
    if (!step(unify, depth))
        return &cel_dyn_type;
    if (type->kind == CEL_T_PARAM) {
        const CelType *to = is_variable(type) ? binding(unify, type) : NULL;

        if (to)
            return resolve(unify, to, free_is_dyn, depth + 1);
        return free_is_dyn ? &cel_dyn_type : type;
    }
    for (size_t i = 0; i < type->n_params; i++) {
        params[i] = resolve(unify, type->params[i], free_is_dyn, depth + 1);
        is_same &= params[i] == type->params[i];
    }
    return is_same ? type : or_dyn(unify, cel_type_with(unify->arena, type, params));
}

const CelType *cel_unify_resolve(CelUnify *unify, const CelType *type, bool free_is_dyn) {
    return resolve(unify, type, free_is_dyn, 0);
}

/* Replaces each parameter of a signature by a fresh variable, @variables[its number]. Recursion: a
 * type's own depth bounds it, CEL_TYPE_DEPTH_MAX. */
static const CelType *renew(CelUnify *unify, const CelType *type, const CelType **variables) {
    const CelType *params[CEL_TYPE_PARAMS_MAX];

    if (!type->is_open)
        return type;
    if (type->kind == CEL_T_PARAM) {
        if (!variables[type->variable])
            variables[type->variable] = cel_unify_fresh(unify);
        return variables[type->variable];
    }
    for (size_t i = 0; i < type->n_params; i++)
        params[i] = renew(unify, type->params[i], variables);
    return or_dyn(unify, cel_type_with(unify->arena, type, params));
}

void cel_unify_instantiate(CelUnify *unify, const CelOverload *overload, const CelType **args,
    const CelType **ret_result) {
    const CelType *variables[CEL_TYPE_PARAMS_MAX] = {NULL};

    for (size_t i = 0; i < overload->n_args; i++)
        args[i] = renew(unify, overload->args[i], variables);
    *ret_result = renew(unify, overload->result, variables);
}

const CelType *cel_unify_list(CelUnify *unify, const CelType *element) {
    return or_dyn(unify, cel_list_of(unify->arena, element));
}

const CelType *cel_unify_map(CelUnify *unify, const CelType *key, const CelType *value) {
    return or_dyn(unify, cel_map_of(unify->arena, key, value));
}

const CelType *cel_unify_optional(CelUnify *unify, const CelType *inner) {
    return or_dyn(unify, cel_optional_of(unify->arena, inner));
}
