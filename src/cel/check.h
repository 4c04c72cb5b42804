#pragma once

/*
 * Check: computes the types of a tree in an environment, or reports errors.
 *
 * Resolves names (the longest declared dotted name wins; variables of macros hide all others),
 * chooses overloads and unifies type parameters as cel-go does. A rejected node has the error type,
 * which fits everywhere, so each mistake is reported once. With CelOptions.no_check it only
 * resolves names: every type is dyn, and a missing name fails when a run reaches it.
 */

#include "base/diag.h"
#include "cel/env.h"
#include "cel/tree.h"
#include "cel/type.h"

/* A record variable whose fields are other expressions. It has no value in a run; only its fields
 * can be used. */
typedef struct CelComposite {
    uint32_t slot; /* the variable's */
    /* By field: its node in the same graph. CEL_NO_NODE: its expression has errors, and expressions
     * that use it fail too, without another message. */
    const uint32_t *nodes;
    size_t n; /* not more than the record has fields */
} CelComposite;

typedef struct CelOptions {
    bool no_macros; /* has(), all() … are plain function calls */
    bool no_check;
    bool is_plain; /* plain CEL: [1, "a"] is allowed, and timestamp("x") or a bad pattern fails when
                      run. Otherwise both fail the check, as in Kubernetes */
    bool no_fold;  /* constants stay calls: for tests */
    bool may_be_unused;    /* a field of a composite: a part that always fails is a warning */
    uint64_t cost_limit;   /* reject expressions that could cost more; 0: no limit */
    const CelType *expect; /* the type the result must have; NULL: any. The check accepts dyn; the
                              run then tests for bool or string */
    bool expect_number;    /* for lower.c: a result that is neither int nor double is converted to
                              double; the run fails if it is no number */
    const CelComposite *composite; /* for the lowering; NULL: none */
} CelOptions;

typedef enum CelRef {
    CEL_REF_NONE,     /* nothing special: see the node's kind */
    CEL_REF_SKIP,     /* has no value: part of a dotted name, or the namespace of a function */
    CEL_REF_VARIABLE, /* IDENT, SELECT: a variable; children are skipped */
    CEL_REF_LOCAL,    /* IDENT: the variable that node @binder declares */
    CEL_REF_CONSTANT, /* IDENT, SELECT: @constant */
    CEL_REF_UNKNOWN,  /* only with no_check: an undeclared name; the run fails if it reads it */
} CelRef;

/* The checker's result for one node. */
typedef struct CelNodeInfo {
    const CelType *type; /* never NULL after a check without errors; no parameters inside */
    uint8_t ref;
    bool is_namespaced; /* CALL: the receiver was the function's namespace and is no argument */
    uint32_t binder;    /* LOCAL: its BINDER; BINDER: the macro's node */
    uint32_t field;     /* SELECT, TEST, OPT_SELECT of a record; UINT32_MAX otherwise */
    const CelVariable *variable;
    CelValue constant;
    const CelOverload *const *overloads; /* CALL: those that could fit, in order */
    size_t n_overloads;
    bool is_open_call; /* the type of an argument was not known yet: m[?'a'].value() */
} CelNodeInfo;

typedef struct CelChecked {
    const CelEnv *env;
    const CelTree *tree;
    const CelNodeInfo *infos; /* one per node */
    bool is_loose;            /* types inside lists, maps and optionals may be wrong (unify.h) */
} CelChecked;

/* Everything is in @arena; @env, @tree and @options are borrowed. 0, CEL_REFUSED or
 * -ENOMEM. */
int cel_check(const CelEnv *env, const CelTree *tree, const CelOptions *options, Arena *arena,
    DiagList *diags, CelChecked **ret) MUST_CHECK;

/* The type of the whole expression. */
const CelType *cel_checked_type(const CelChecked *checked);
