#pragma once

/*
 * Unify: whether one type fits where another is expected, and the resulting bindings of type
 * variables. Every use of a declaration has its own variables. The rules are cel-go's: dyn fits
 * everywhere, null fits optional API fields. A failed attempt is undone.
 *
 * A type that is too large does not abort a call: is_too_large records it, as the arena records
 * that it is full. The checker tests both after each node.
 */

#include "base/vec.h"
#include "cel/env.h"
#include "cel/type.h"

typedef struct CelUnify {
    Arena *arena;
    VEC(const CelType *) bound; /* by the number of the variable; NULL: free */
    VEC(struct CelUndo {
        uint32_t variable;
        const CelType *before;
    }) trail;
    uint32_t steps;
    bool is_too_large; /* deeper, heavier or longer to compare than limits.h allows */
    /* Two types were unified of which neither is more general (a timestamp and a null), or the
     * inside of a dyn was constrained. Inferred kinds may then be wrong at run time. */
    bool is_loose;
} CelUnify;

/* A new, unbound variable. */
const CelType *cel_unify_fresh(CelUnify *unify);

/* Whether a value of type @from fits where @to is wanted. */
bool cel_unify_fits(CelUnify *unify, const CelType *from, const CelType *to);

/* The same for @n at once: all or nothing. */
bool cel_unify_fits_all(
    CelUnify *unify, const CelType *const *from, const CelType *const *to, size_t n);

/* After @from fitted @to, for a call of type @result: where @from is dyn, the parameters of @to are
 * unknown. If they are bound in other ways, for example by another argument, and @result uses them,
 * sets is_loose. */
void cel_unify_absorb(
    CelUnify *unify, const CelType *from, const CelType *to, const CelType *result);

/* The more general of two types that fit together. */
const CelType *cel_unify_general(CelUnify *unify, const CelType *a, const CelType *b);

/* @type with its known variables replaced; the others stay, or become dyn. */
const CelType *cel_unify_resolve(CelUnify *unify, const CelType *type, bool free_is_dyn);

/* The types of @overload with fresh variables; @args has room for CEL_ARGS_MAX. */
void cel_unify_instantiate(
    CelUnify *unify, const CelOverload *overload, const CelType **args, const CelType **ret_result);

/* Constructors of types that never fail: they return dyn if the type cannot be made. */
const CelType *cel_unify_list(CelUnify *unify, const CelType *element);
const CelType *cel_unify_map(CelUnify *unify, const CelType *key, const CelType *value);
const CelType *cel_unify_optional(CelUnify *unify, const CelType *inner);
