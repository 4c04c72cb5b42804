/* Comprehensions and the other macros that declare variables. cel-go writes them out as folds; here
 * they are nodes of their own, with the types that the folds would have had. */

#include "cel/check-internal.h"

void cel_own_binders(CelChecker *checker, uint32_t i) {
    const CelNode *macro = &checker->tree->nodes[i];
    uint32_t children[CEL_MACRO_CHILDREN_MAX];

    cel_tree_children(checker->tree, i, children);
    for (unsigned k = 0; k < macro->n_binders; k++)
        checker->infos[children[1 + k]].binder = i;
}

/* The type of variable @number (0 or 1) of @n for one element of a loop's range. */
static const CelType *element_of(CelChecker *checker, uint32_t range, unsigned number, unsigned n) {
    const CelType *type = cel_checker_type(checker, range);

    if (type->kind == CEL_T_LIST)
        return number == 0 && n == 2 ? &cel_int_type : cel_type_param(type, 0);
    if (type->kind == CEL_T_MAP)
        return cel_type_param(type, number);
    if (cel_checker_is_open(checker, type))
        return type->kind == CEL_T_ERROR ? type : &cel_dyn_type;
    if (number == 0)
        cel_checker_report_all(checker, range,
            cel_checker_printf(checker, "expression of type '%.*s' cannot be the range of a macro",
                STR_FMT(cel_checker_type_text(checker, type))),
            type->kind == CEL_T_OPTIONAL ? STR("it is optional: .orValue([]), or optMap(x, …)")
                                         : STR("it must be a list or a map"));
    return &cel_error_type;
}

/* The type of optMap's variable: the value inside. */
static const CelType *inside_of(CelChecker *checker, uint32_t node) {
    const CelType *type = cel_checker_type(checker, node);
    const CelType *inner = cel_unify_fresh(&checker->unify);
    const CelType *wanted = cel_unify_optional(&checker->unify, inner);

    if (cel_unify_fits(&checker->unify, type, wanted))
        return cel_unify_resolve(&checker->unify, inner, type->kind == CEL_T_DYN);
    cel_suggest_type(checker, node, wanted, type, STR("optional.of(…) makes one"));
    return &cel_error_type;
}

void cel_check_binder(CelChecker *checker, uint32_t i) {
    const CelNode *macro = &checker->tree->nodes[checker->infos[i].binder];
    uint32_t number = cel_tree_binder_number(checker->tree, i);
    uint32_t range = i - 1 - number;
    CelNodeInfo *info = &checker->infos[i];

    checker->unify.no_memory |= !VEC_ADD(&checker->scope, checker->arena, i);
    if (checker->options->no_check)
        info->type = &cel_dyn_type;
    else if (macro->kind == CEL_NODE_BIND)
        info->type = checker->infos[range].type;
    else if (macro->kind == CEL_NODE_OPT_MAP || macro->kind == CEL_NODE_OPT_FLAT_MAP)
        info->type = inside_of(checker, range);
    else
        info->type = element_of(checker, range, number, macro->n_binders);
}

/* transformMapEntry: its body is a map, and so is the result. */
static const CelType *check_entries(CelChecker *checker, uint32_t body) {
    const CelType *found = checker->infos[body].type;
    const CelType *key = cel_unify_fresh(&checker->unify),
                  *value = cel_unify_fresh(&checker->unify);
    const CelType *wanted = cel_unify_map(&checker->unify, key, value);

    if (!cel_unify_fits(&checker->unify, found, wanted))
        cel_suggest_type(checker, body, wanted, found, STR("write {key: value}"));
    return cel_unify_resolve(&checker->unify, wanted, cel_type_contains(found, CEL_T_DYN));
}

/* As one side of a conditional, with optional.none() as the other. */
static const CelType *check_flat_map(CelChecker *checker, uint32_t body) {
    const CelType *found = checker->infos[body].type;
    const CelType *none = cel_unify_optional(&checker->unify, cel_unify_fresh(&checker->unify));
    const CelType *both = cel_unify_fresh(&checker->unify);

    if (!cel_unify_fits_all(
            &checker->unify, (const CelType *[]){found, none}, (const CelType *[]){both, both}, 2))
        cel_suggest_type(checker, body, none, found, STR("optMap() takes any value"));
    return cel_unify_resolve(&checker->unify, both, false);
}

static const CelType *macro_result(CelChecker *checker, const CelNode *macro, uint32_t *children) {
    uint32_t range = children[0], body = children[macro->n_children - 1];
    const CelType *type = checker->infos[body].type;
    CelUnify *unify = &checker->unify;

    switch ((CelNodeKind)macro->kind) {
    case CEL_NODE_FILTER:
        /* Of a map: its keys. */
        return cel_unify_list(unify, checker->infos[children[1]].type);
    case CEL_NODE_MAP_LIST:
        return cel_unify_list(unify, type);
    case CEL_NODE_TRANSFORM_MAP: {
        const CelType *from = cel_checker_type(checker, range);
        const CelType *key = checker->infos[children[1]].type;

        return from->kind == CEL_T_ERROR ? from : cel_unify_map(unify, key, type);
    }
    case CEL_NODE_TRANSFORM_ENTRY:
        return check_entries(checker, body);
    case CEL_NODE_OPT_MAP:
        return cel_unify_optional(unify, type);
    case CEL_NODE_OPT_FLAT_MAP:
        return check_flat_map(checker, body);
    case CEL_NODE_BIND:
        return type;
    default:
        return &cel_bool_type;
    }
}

void cel_check_macro(CelChecker *checker, uint32_t i) {
    const CelNode *macro = &checker->tree->nodes[i];
    uint32_t children[CEL_MACRO_CHILDREN_MAX];

    checker->scope.n -= macro->n_binders;
    if (checker->options->no_check) {
        checker->infos[i].type = &cel_dyn_type;
        return;
    }
    cel_tree_children(checker->tree, i, children);
    if (macro->has_predicate)
        cel_want_bool(checker, children[macro->n_children - 2], STR("it selects elements"));
    if (macro->kind <= CEL_NODE_FILTER)
        cel_want_bool(
            checker, children[macro->n_children - 1], STR("it is evaluated for every element"));
    checker->infos[i].type =
        cel_unify_resolve(&checker->unify, macro_result(checker, macro, children), false);
}
