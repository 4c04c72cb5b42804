/* One walk over the array, left to right: the types of a node's children are there when it is
 * reached. A BINDER opens a scope, the macro's node closes it: scopes are a stack. Types may
 * contain variables until the end; one that stays free becomes dyn. */

#include "cel/check.h"

#include <errno.h>

#include "cel/check-internal.h"

static bool is_macro(const CelNode *node) {
    return node->kind >= CEL_NODE_ALL;
}

static uint32_t before(const CelTree *tree, uint32_t node) {
    return node - tree->nodes[node].size;
}

static void check_literal(CelChecker *checker, uint32_t i) {
    checker->infos[i].type = cel_type_of(checker->tree->nodes[i].literal);
}

bool cel_checker_is_open(CelChecker *checker, const CelType *type) {
    if (type->kind == CEL_T_PARAM)
        (void)cel_unify_fits(&checker->unify, &cel_dyn_type, type);
    return type->kind == CEL_T_PARAM || type->kind == CEL_T_DYN || type->kind == CEL_T_ERROR;
}

/* The type of @node's field in a value of @type, which is no optional. */
static const CelType *field_of(CelChecker *checker, uint32_t node, const CelType *type) {
    uint32_t field;

    switch (type->kind) {
    case CEL_T_MAP:
        return cel_type_param(type, 1);
    case CEL_T_RECORD:
        field = cel_record_find(type->record, checker->tree->nodes[node].name);
        if (field == UINT32_MAX || type->record->fields[field].type->kind == CEL_T_ERROR) {
            cel_suggest_field(checker, node, type->record);
            return &cel_error_type;
        }
        checker->infos[node].field = field;
        return type->record->fields[field].type;
    default:
        if (cel_checker_is_open(checker, type))
            return type->kind == CEL_T_ERROR ? type : &cel_dyn_type;
        cel_suggest_selection(checker, node, type);
        return &cel_error_type;
    }
}

/* a.b, a.?b and has(a.b). An optional passes its absence on: optional_type(T).b is
 * optional_type of what T.b is. */
static void check_select(CelChecker *checker, uint32_t i) {
    const CelNode *written = &checker->tree->nodes[i];
    const CelType *operand = cel_checker_type(checker, i - 1), *result;
    bool is_optional = operand->kind == CEL_T_OPTIONAL;

    result = field_of(checker, i, is_optional ? cel_type_param(operand, 0) : operand);
    if (is_optional)
        checker->infos[i].field = UINT32_MAX;
    if (written->kind == CEL_NODE_TEST)
        result = &cel_bool_type;
    else if (result->kind != CEL_T_ERROR && (is_optional || written->kind == CEL_NODE_OPT_SELECT))
        result = cel_unify_optional(&checker->unify, result);
    checker->infos[i].type = result;
}

void cel_want_bool(CelChecker *checker, uint32_t node, Str hint) {
    const CelType *found = checker->infos[node].type;

    if (!cel_unify_fits(&checker->unify, found, &cel_bool_type))
        cel_suggest_bool(checker, node, found, hint);
}

static void check_logic(CelChecker *checker, uint32_t i) {
    cel_want_bool(checker, before(checker->tree, i - 1), STR_NULL);
    cel_want_bool(checker, i - 1, STR_NULL);
    checker->infos[i].type = &cel_bool_type;
}

/* As a function (bool, T, T) -> T. */
static void check_conditional(CelChecker *checker, uint32_t i) {
    uint32_t otherwise = i - 1, then = before(checker->tree, otherwise);
    uint32_t condition = before(checker->tree, then);
    const CelType *branches[] = {checker->infos[then].type, checker->infos[otherwise].type};
    const CelType *both = cel_unify_fresh(&checker->unify);

    cel_want_bool(checker, condition, STR_NULL);
    if (cel_unify_fits_all(&checker->unify, branches, (const CelType *[]){both, both}, 2)) {
        checker->infos[i].type = cel_unify_resolve(&checker->unify, both, false);
        return;
    }
    checker->infos[i].type = &cel_error_type;
    cel_checker_report_at(checker, i,
        cel_checker_printf(checker,
            "no matching overload: both sides of ?: must have one type, not %.*s and %.*s",
            STR_FMT(cel_checker_type_text(checker, branches[0])),
            STR_FMT(cel_checker_type_text(checker, branches[1]))),
        STR("convert one of them, or write dyn(…) around both"));
}

/* The element type of a literal after one more element; NULL: it is the first. Types that do not
 * unify give dyn; whether that is allowed is decided at the end. */
static const CelType *join(CelChecker *checker, const CelType *previous, const CelType *next) {
    if (!previous)
        return next;
    if (cel_unify_fits(&checker->unify, previous, next))
        return cel_unify_general(&checker->unify, previous, next);
    return &cel_dyn_type;
}

static const CelType *or_fresh(CelChecker *checker, const CelType *type) {
    return type ? type : cel_unify_fresh(&checker->unify);
}

static void check_list(CelChecker *checker, uint32_t i) {
    uint32_t n = checker->tree->nodes[i].n_children;
    const CelType *element = NULL;

    cel_tree_children(checker->tree, i, checker->children);
    for (uint32_t k = 0; k < n; k++)
        element = join(checker, element, checker->infos[checker->children[k]].type);
    checker->infos[i].type = cel_unify_list(&checker->unify, or_fresh(checker, element));
}

static void check_map(CelChecker *checker, uint32_t i) {
    uint32_t n = checker->tree->nodes[i].n_children;
    const CelType *key = NULL, *value = NULL;

    cel_tree_children(checker->tree, i, checker->children);
    for (uint32_t k = 0; k + 1 < n; k += 2) {
        key = join(checker, key, checker->infos[checker->children[k]].type);
        value = join(checker, value, checker->infos[checker->children[k + 1]].type);
    }
    checker->infos[i].type =
        cel_unify_map(&checker->unify, or_fresh(checker, key), or_fresh(checker, value));
}

/* ?x in a list or a map: the type inside the optional. */
static void check_optional(CelChecker *checker, uint32_t i) {
    const CelType *type = cel_checker_type(checker, i - 1);
    CelNodeInfo *info = &checker->infos[i];

    info->type = type->kind == CEL_T_OPTIONAL                           ? cel_type_param(type, 0)
                 : type->kind == CEL_T_DYN || type->kind == CEL_T_PARAM ? &cel_dyn_type
                                                                        : &cel_error_type;
    if (info->type->kind == CEL_T_ERROR && type->kind != CEL_T_ERROR &&
        type->kind != CEL_T_OPTIONAL)
        cel_suggest_type(checker, i - 1, cel_unify_optional(&checker->unify, type), type,
            STR("without the ? it is a plain element; optional.of(…) makes one that can be "
                "absent"));
}

static void check_struct(CelChecker *checker, uint32_t i) {
    const CelNode *written = &checker->tree->nodes[i];
    bool is_type = cel_resolve_variable(checker, written->name, written->is_absolute) != NULL;

    checker->infos[i].type = &cel_error_type;
    cel_checker_report_at(checker, i,
        cel_checker_printf(checker,
            is_type ? "'%.*s' is not a message type" : "undeclared reference to '%.*s'",
            STR_FMT(written->name)),
        is_type ? STR("records cannot be made in an expression; a map is written {'key': value}")
                : STR("a map is written {'key': value}"));
}

static void check_typed(CelChecker *checker, uint32_t i) {
    static void (*const checks[CEL_N_NODES])(CelChecker * checker, uint32_t i) = {
        [CEL_NODE_LITERAL] = check_literal,
        [CEL_NODE_SELECT] = check_select,
        [CEL_NODE_OPT_SELECT] = check_select,
        [CEL_NODE_TEST] = check_select,
        [CEL_NODE_AND] = check_logic,
        [CEL_NODE_OR] = check_logic,
        [CEL_NODE_CONDITIONAL] = check_conditional,
        [CEL_NODE_OPTIONAL] = check_optional,
        [CEL_NODE_LIST] = check_list,
        [CEL_NODE_MAP] = check_map,
    };
    uint8_t kind = checker->tree->nodes[i].kind;

    if (checks[kind])
        checks[kind](checker, i);
    else
        checker->infos[i].type = &cel_dyn_type;
}

static void check_node(CelChecker *checker, uint32_t i) {
    const CelNode *written = &checker->tree->nodes[i];

    if (checker->infos[i].ref != CEL_REF_NONE)
        return; /* part of a name that was settled where it starts */
    if (written->kind == CEL_NODE_IDENT)
        cel_resolve_ident(checker, i);
    else if (written->kind == CEL_NODE_CALL)
        cel_check_call(checker, i);
    else if (written->kind == CEL_NODE_BINDER)
        cel_check_binder(checker, i);
    else if (written->kind == CEL_NODE_STRUCT)
        check_struct(checker, i);
    else if (is_macro(written))
        cel_check_macro(checker, i);
    else if (checker->options->no_check)
        checker->infos[i].type = &cel_dyn_type;
    else
        check_typed(checker, i);
}

/* The longest name that resolving can build: a chain of selections and a function. Not the source's
 * length: macros create names that no text has. */
static size_t longest_name(const CelTree *tree) {
    size_t chain = 0, longest_chain = 0, longest = 0;

    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        const CelNode *node = &tree->nodes[i];

        if (node->kind == CEL_NODE_SELECT)
            chain += 1 + node->name.len;
        else
            chain = node->name.len;
        if (chain > longest_chain)
            longest_chain = chain;
        if (node->name.len > longest)
            longest = node->name.len;
    }
    return longest_chain + 1 + longest;
}

/* False: no memory. */
static bool prepare(CelChecker *checker) {
    const CelTree *tree = checker->tree;
    size_t container = cel_env_container(checker->env).len;
    uint32_t most = 1;

    checker->infos = ARENA_ARRAY(checker->arena, CelNodeInfo, tree->n_nodes);
    if (!checker->infos)
        return false;
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        checker->infos[i].field = UINT32_MAX;
        if (tree->nodes[i].n_children > most)
            most = tree->nodes[i].n_children;
        if (is_macro(&tree->nodes[i]))
            cel_own_binders(checker, i);
    }
    checker->children = ARENA_ARRAY(checker->arena, uint32_t, most);
    checker->name = ARENA_RAW(checker->arena, char, container + 1 + longest_name(tree));
    return checker->children && checker->name;
}

/* Adds the function's other overloads of the same form: size(dyn(x)[?'y'].value()) takes all. */
static void widen(CelChecker *checker, CelNodeInfo *info) {
    const CelOverload *first = info->overloads[0], *const * all;
    size_t n = cel_env_overloads(checker->env, str_from_c(first->spec->name), &all), n_kept = 0;
    const CelOverload **kept = ARENA_RAW(checker->arena, const CelOverload *, n);

    if (!kept) {
        checker->unify.no_memory = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (all[i]->is_receiver == first->is_receiver && all[i]->n_args == first->n_args)
            kept[n_kept++] = all[i];
    info->overloads = kept;
    info->n_overloads = n_kept;
}

/* Final types. Last of all, because a later node can refine an earlier one. */
static void settle(CelChecker *checker) {
    const CelTree *tree = checker->tree;

    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        CelNodeInfo *info = &checker->infos[i];

        info->type =
            info->type ? cel_unify_resolve(&checker->unify, info->type, true) : &cel_dyn_type;
        if (tree->nodes[i].kind != CEL_NODE_CALL)
            continue;
        /* A call depends on its values: dyn(x).value() + dyn(y).value() may be any type. */
        if (checker->unify.is_loose && tree->nodes[i].is_operator)
            info->n_overloads =
                cel_env_overloads(checker->env, tree->nodes[i].name, &info->overloads);
        else if (checker->unify.is_loose && info->is_open_call && info->n_overloads > 0)
            widen(checker, info);
    }
}

static bool is_refused(const CelType *type) {
    return cel_type_contains(type, CEL_T_ERROR);
}

/* Every @step-th child from @first on has the type of the first of them. */
static void want_same(CelChecker *checker, uint32_t n, uint32_t first, uint32_t step, Str hint) {
    const CelType *wanted = n > first ? checker->infos[checker->children[first]].type : NULL;

    for (uint32_t k = first + step; k < n; k += step) {
        const CelType *found = checker->infos[checker->children[k]].type;

        if (cel_type_equal(wanted, found) || is_refused(wanted) || is_refused(found))
            continue;
        cel_suggest_type(checker, checker->children[k], wanted, found, hint);
        return;
    }
}

/* Literals of one type, as Kubernetes wants them. The arguments of format() are exempt, however
 * deep inside, and so are lists that macros made. */
static void check_literals(CelChecker *checker) {
    const CelTree *tree = checker->tree;
    uint32_t exempt = UINT32_MAX; /* nodes from here on are inside of format() */

    for (uint32_t i = tree->n_nodes; i-- > 0;) {
        const CelNode *node = &tree->nodes[i];

        if (node->kind == CEL_NODE_CALL && str_is(node->name, "format") &&
            (exempt == UINT32_MAX || i < exempt))
            exempt = i + 1 - node->size;
        if (exempt != UINT32_MAX && i >= exempt)
            continue;
        if (node->kind == CEL_NODE_LIST && !node->is_mixed) {
            cel_tree_children(tree, i, checker->children);
            want_same(checker, node->n_children, 0, 1,
                STR("the elements of a list have one type; or write dyn(…) around each"));
        } else if (node->kind == CEL_NODE_MAP) {
            cel_tree_children(tree, i, checker->children);
            want_same(checker, node->n_children, 0, 2,
                STR("the keys of a map have one type; or write dyn(…) around each"));
            want_same(checker, node->n_children, 1, 2,
                STR("the values of a map have one type; or write dyn(…) around each"));
        }
    }
}

/* math.least(a, b, c): the list that the arguments became may be mixed, of numbers. */
static void check_numbers(CelChecker *checker) {
    const CelTree *tree = checker->tree;

    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        if (!tree->nodes[i].is_mixed)
            continue;
        cel_tree_children(tree, i, checker->children);
        for (uint32_t k = 0; k < tree->nodes[i].n_children; k++) {
            const CelType *found = checker->infos[checker->children[k]].type;

            if (found->kind == CEL_T_INT || found->kind == CEL_T_UINT ||
                found->kind == CEL_T_DOUBLE || found->kind == CEL_T_DYN || is_refused(found))
                continue;
            cel_checker_report_all(checker, checker->children[k],
                cel_checker_printf(checker, "this argument must be a number, it is %.*s",
                    STR_FMT(cel_checker_type_text(checker, found))),
                STR_NULL);
        }
    }
}

static void check_expected(CelChecker *checker) {
    uint32_t root = checker->tree->n_nodes - 1;
    const CelType *want = checker->options->expect, *found = checker->infos[root].type;

    if (!want || checker->options->no_check || cel_unify_fits(&checker->unify, found, want))
        return;
    cel_suggest_result(checker, root, want, found);
}

/* 1: reported, and over; 0: go on. */
static int check_bounds(CelChecker *checker, uint32_t node) {
    if (checker->unify.no_memory)
        return -ENOMEM;
    if (!checker->unify.is_too_large)
        return 0;
    cel_checker_report_all(checker, node,
        STR("the types of this expression are too large to check"),
        STR("write dyn(…) around what is nested deeply"));
    return 1;
}

static int check_all(CelChecker *checker) {
    uint32_t n = checker->tree->n_nodes;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        check_node(checker, i);
        r = check_bounds(checker, i);
    }
    if (r == 0) {
        settle(checker);
        if (!checker->options->no_check) {
            cel_check_formats(checker);
            check_numbers(checker);
        }
        if (!checker->options->no_check && !checker->options->mixed_literals)
            check_literals(checker);
        check_expected(checker);
        r = check_bounds(checker, n - 1);
    }
    return r < 0 ? r : 0;
}

int cel_check(const CelEnv *env, const CelTree *tree, const CelOptions *options, Arena *arena,
    DiagList *diags, CelChecked **ret) {
    CelChecker checker = {.env = env,
        .tree = tree,
        .options = options,
        .arena = arena,
        .diags = diags,
        .unify = {.arena = arena}};
    size_t n_errors = diags->n_errors, first = diags->diags.n;
    CelChecked *checked = ARENA_NEW(arena, CelChecked);
    int r;

    if (!checked || !prepare(&checker))
        return -ENOMEM;
    r = check_all(&checker);
    if (r < 0)
        return r;
    diag_list_sort(diags, first);
    if (diags->n_errors > n_errors)
        return CEL_CHECK_REFUSED;
    *checked = (CelChecked){
        .env = env, .tree = tree, .infos = checker.infos, .is_loose = checker.unify.is_loose};
    *ret = checked;
    return 0;
}

const CelType *cel_checked_type(const CelChecked *checked) {
    return checked->infos[checked->tree->n_nodes - 1].type;
}
