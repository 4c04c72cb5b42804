/* The type checker: one walk over the array from left to right, so the types of a node's children
 * are known when it is reached. A BINDER opens a scope and the macro's node closes it: scopes are a
 * stack. Types may contain type variables until the end; an unbound variable becomes dyn. */

#include "cel/check.h"

#include <errno.h>
#include <stdio.h>

#include "cel/check-internal.h"

#define TEXT_MAX 2048   /* bytes of a message; longer ones are truncated */
#define TYPE_MAX 4096   /* bytes of a type in a message */
#define SOURCE_SHOWN 40 /* bytes of the source in a message; longer ones are shown as "…" */

void cel_checker_report(CelChecker *checker, uint32_t from, uint32_t to, Str text, Str hint) {
    const CelTree *tree = checker->tree;

    cel_report(checker->diags, tree->file, tree->source, from, to, text, hint);
}

void cel_checker_report_at(CelChecker *checker, uint32_t node, Str text, Str hint) {
    const CelNode *written = &checker->tree->nodes[node];
    const char *symbol = written->is_operator ? cel_operator_text(written->name) : NULL;
    size_t width = symbol ? strlen(symbol) : written->name.len;
    uint32_t to = written->at + (uint32_t)width;

    if (width == 0 || to > checker->tree->source.len)
        to = written->at + 1;
    cel_checker_report(checker, written->at, to, text, hint);
}

void cel_checker_report_all(CelChecker *checker, uint32_t node, Str text, Str hint) {
    const CelNode *written = &checker->tree->nodes[node];

    cel_checker_report(checker, written->from, written->to, text, hint);
}

void cel_checker_fix(CelChecker *checker, CelFix fix) {
    cel_report_fix(checker->diags, checker->tree->source, fix);
}

const CelType *cel_checker_type(CelChecker *checker, uint32_t node) {
    return cel_unify_resolve(&checker->unify, checker->infos[node].type, false);
}

Str cel_checker_type_text(CelChecker *checker, const CelType *type) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TYPE_MAX);

    if (type->kind == CEL_T_ERROR)
        return STR("?");
    cel_type_print(cel_unify_resolve(&checker->unify, type, true), false, &out);
    return arena_copy(checker->arena, buf_str(&out));
}

bool cel_checker_is_joined(const CelChecker *checker, uint32_t node) {
    const CelNode *written = &checker->tree->nodes[node];

    return written->kind == CEL_NODE_AND || written->kind == CEL_NODE_OR ||
           written->kind == CEL_NODE_CONDITIONAL ||
           (written->is_operator && !str_is(written->name, "_[_]") &&
               !str_is(written->name, "_[?_]"));
}

Str cel_checker_text(const CelChecker *checker, uint32_t node) {
    return cel_tree_text(checker->tree, node);
}

Str cel_checker_source(const CelChecker *checker, uint32_t node) {
    Str text = cel_checker_text(checker, node);

    return text.len > SOURCE_SHOWN ? STR("…") : text;
}

Str cel_checker_printf(CelChecker *checker, const char *format, ...) {
    char text[TEXT_MAX];
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return arena_copy(
        checker->arena, str_take(str_of(text, n > 0 ? (size_t)n : 0), sizeof(text) - 1));
}

/* Reports "expected type 'bool' but found 'int'" for the whole of @node. */
static void suggest_type(
    CelChecker *checker, uint32_t node, const CelType *want, const CelType *found, Str hint) {
    cel_checker_report_all(checker, node,
        cel_checker_printf(checker, "expected type '%.*s' but found '%.*s'",
            STR_FMT(cel_checker_type_text(checker, want)),
            STR_FMT(cel_checker_type_text(checker, found))),
        hint);
}

/* The text to append to a string or an optional that is used as a condition. STR_NULL: none. */
static Str bool_of(CelChecker *checker, const CelType *found) {
    const CelType *inner;

    found = cel_unify_resolve(&checker->unify, found, true);
    if (found->kind == CEL_T_STRING)
        return STR(" == 'true'");
    inner = found->kind == CEL_T_OPTIONAL ? cel_type_param(found, 0) : &cel_error_type;
    return inner->kind == CEL_T_BOOL     ? STR(".orValue(false)")
           : inner->kind == CEL_T_STRING ? STR(".orValue('') == 'true'")
                                         : STR_NULL;
}

static CelFix fix_bool(CelChecker *checker, uint32_t node, const CelType *found) {
    const CelNode *written = &checker->tree->nodes[node];
    Str added = cel_checker_is_joined(checker, node) ? STR_NULL : bool_of(checker, found);

    if (!added.ptr)
        return (CelFix){0};
    return (CelFix){written->from, written->to,
        cel_checker_printf(
            checker, "%.*s%.*s", STR_FMT(cel_checker_text(checker, node)), STR_FMT(added))};
}

static Str write_hint(CelChecker *checker, CelFix fix, Str otherwise) {
    return fix.text.ptr ? cel_checker_printf(checker, "write %.*s", STR_FMT(fix.text)) : otherwise;
}

/* Reports a condition of another type than bool; @hint may be empty. */
static void suggest_bool(CelChecker *checker, uint32_t node, const CelType *found, Str hint) {
    CelFix fix = fix_bool(checker, node, found);

    suggest_type(checker, node, &cel_bool_type, found, write_hint(checker, fix, hint));
    cel_checker_fix(checker, fix);
}

/* Reports "the result must be bool, it is string". */
static void suggest_result(
    CelChecker *checker, uint32_t node, const CelType *want, const CelType *found) {
    CelFix fix = want->kind == CEL_T_BOOL ? fix_bool(checker, node, found) : (CelFix){0};

    cel_checker_report_all(checker, node,
        cel_checker_printf(checker, "the result must be %.*s, it is %.*s",
            STR_FMT(cel_checker_type_text(checker, want)),
            STR_FMT(cel_checker_type_text(checker, found))),
        write_hint(checker, fix,
            found->kind == CEL_T_OPTIONAL ? STR(".orValue(…) gives the value if it is absent")
                                          : STR_NULL));
    cel_checker_fix(checker, fix);
}

/* The root of the part before @node, its left sibling. */
static uint32_t before(const CelTree *tree, uint32_t node) {
    return node - tree->nodes[node].size;
}

static void check_literal(CelChecker *checker, uint32_t i) {
    checker->infos[i].type = cel_type_of(checker->tree->nodes[i].literal);
}

/* Whether any type is possible for @type; a free type variable becomes dyn. */
static bool is_unknown(CelChecker *checker, const CelType *type) {
    if (type->kind == CEL_T_PARAM)
        (void)cel_unify_fits(&checker->unify, &cel_dyn_type, type);
    return type->kind == CEL_T_PARAM || type->kind == CEL_T_DYN || type->kind == CEL_T_ERROR;
}

/* The type of @node's field in a value of @type; @type is not an optional. */
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
        if (is_unknown(checker, type))
            return type->kind == CEL_T_ERROR ? type : &cel_dyn_type;
        cel_suggest_selection(checker, node, type);
        return &cel_error_type;
    }
}

/* a.b, a.?b and has(a.b). A field of an optional is optional: optional_type(T).b has the type
 * optional_type(type of T.b). */
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

static void want_bool(CelChecker *checker, uint32_t node, Str hint) {
    const CelType *found = checker->infos[node].type;

    if (!cel_unify_fits(&checker->unify, found, &cel_bool_type))
        suggest_bool(checker, node, found, hint);
}

static void check_logic(CelChecker *checker, uint32_t i) {
    want_bool(checker, before(checker->tree, i - 1), STR_NULL);
    want_bool(checker, i - 1, STR_NULL);
    checker->infos[i].type = &cel_bool_type;
}

/* Checks ?: like a function (bool, T, T) -> T. */
static void check_conditional(CelChecker *checker, uint32_t i) {
    uint32_t otherwise = i - 1, then = before(checker->tree, otherwise);
    uint32_t condition = before(checker->tree, then);
    const CelType *branches[] = {checker->infos[then].type, checker->infos[otherwise].type};
    const CelType *both = cel_unify_fresh(&checker->unify);

    want_bool(checker, condition, STR_NULL);
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

/* A list, or a map: a key, its value, and so on. */
static void check_elements(CelChecker *checker, uint32_t i) {
    const CelNode *written = &checker->tree->nodes[i];
    uint32_t step = written->kind == CEL_NODE_MAP ? 2 : 1;
    const CelType *types[2] = {NULL, NULL}; /* types of elements, or of keys and values */

    cel_tree_children(checker->tree, i, checker->children);
    for (uint32_t k = 0; k < written->n_children; k++)
        types[k % step] = join(checker, types[k % step], checker->infos[checker->children[k]].type);
    for (uint32_t k = 0; k < step; k++)
        if (!types[k])
            types[k] = cel_unify_fresh(&checker->unify);
    checker->infos[i].type = step == 2 ? cel_unify_map(&checker->unify, types[0], types[1])
                                       : cel_unify_list(&checker->unify, types[0]);
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
        suggest_type(checker, i - 1, cel_unify_optional(&checker->unify, type), type,
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

/* Comprehensions and the other macros that declare variables. cel-go expands them to folds. Here
 * each is one node, with the type of the expanded fold. */

static void own_binders(CelChecker *checker, uint32_t i) {
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
    if (is_unknown(checker, type))
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
    suggest_type(checker, node, wanted, type, STR("optional.of(…) makes one"));
    return &cel_error_type;
}

static void check_binder(CelChecker *checker, uint32_t i) {
    const CelNode *macro = &checker->tree->nodes[checker->infos[i].binder];
    uint32_t number = cel_tree_binder_number(checker->tree, i);
    uint32_t range = i - 1 - number;
    CelNodeInfo *info = &checker->infos[i];

    (void)VEC_ADD(&checker->scope, checker->arena, i);
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
        suggest_type(checker, body, wanted, found, STR("write {key: value}"));
    return cel_unify_resolve(&checker->unify, wanted, cel_type_contains(found, CEL_T_DYN));
}

/* The type of a conditional with the body and optional.none(). */
static const CelType *check_flat_map(CelChecker *checker, uint32_t body) {
    const CelType *found = checker->infos[body].type;
    const CelType *none = cel_unify_optional(&checker->unify, cel_unify_fresh(&checker->unify));
    const CelType *both = cel_unify_fresh(&checker->unify);

    if (!cel_unify_fits_all(
            &checker->unify, (const CelType *[]){found, none}, (const CelType *[]){both, both}, 2))
        suggest_type(checker, body, none, found, STR("optMap() takes any value"));
    return cel_unify_resolve(&checker->unify, both, false);
}

static const CelType *macro_result(CelChecker *checker, const CelNode *macro, uint32_t *children) {
    uint32_t range = children[0], body = children[macro->n_children - 1];
    const CelType *type = checker->infos[body].type;
    CelUnify *unify = &checker->unify;

    switch ((CelNodeKind)macro->kind) {
    case CEL_NODE_FILTER:
        /* The filter of a map returns a list of keys. */
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

static void check_macro(CelChecker *checker, uint32_t i) {
    const CelNode *macro = &checker->tree->nodes[i];
    uint32_t children[CEL_MACRO_CHILDREN_MAX];

    checker->scope.n -= macro->n_binders;
    if (checker->options->no_check) {
        checker->infos[i].type = &cel_dyn_type;
        return;
    }
    cel_tree_children(checker->tree, i, children);
    if (macro->has_predicate)
        want_bool(checker, children[macro->n_children - 2], STR("it selects elements"));
    if (macro->kind <= CEL_NODE_FILTER)
        want_bool(
            checker, children[macro->n_children - 1], STR("it is evaluated for every element"));
    checker->infos[i].type =
        cel_unify_resolve(&checker->unify, macro_result(checker, macro, children), false);
}

static void check_node(CelChecker *checker, uint32_t i) {
    static const struct {
        void (*check)(CelChecker *checker, uint32_t i);
        bool with_no_check; /* also needed without type checking, because it resolves names */
    } checks[CEL_N_NODES] = {
        [CEL_NODE_LITERAL] = {check_literal},
        [CEL_NODE_IDENT] = {cel_resolve_ident, true},
        [CEL_NODE_SELECT... CEL_NODE_TEST] = {check_select},
        [CEL_NODE_CALL] = {cel_check_call, true},
        [CEL_NODE_AND... CEL_NODE_OR] = {check_logic},
        [CEL_NODE_CONDITIONAL] = {check_conditional},
        [CEL_NODE_OPTIONAL] = {check_optional},
        [CEL_NODE_LIST... CEL_NODE_MAP] = {check_elements},
        [CEL_NODE_STRUCT] = {check_struct, true},
        [CEL_NODE_BINDER] = {check_binder, true},
        [CEL_NODE_ALL... CEL_NODE_BIND] = {check_macro, true},
    };
    uint8_t kind = checker->tree->nodes[i].kind;

    if (checker->infos[i].ref != CEL_REF_NONE)
        return; /* part of a qualified name that was resolved at its first node */
    if (checks[kind].check && (checks[kind].with_no_check || !checker->options->no_check))
        checks[kind].check(checker, i);
    else
        checker->infos[i].type = &cel_dyn_type;
}

/* Returns false if there is no memory. */
static bool prepare(CelChecker *checker) {
    const CelTree *tree = checker->tree;
    /* A resolved name uses the name of each node at most once. The source's length is no bound:
     * macros create names that are not in the source. */
    size_t longest_name = cel_env_container(checker->env).len + 1;
    uint32_t most = 1;

    checker->infos = ARENA_ARRAY(checker->arena, CelNodeInfo, tree->n_nodes);
    if (!checker->infos)
        return false;
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        checker->infos[i].field = UINT32_MAX;
        longest_name += tree->nodes[i].name.len + 1;
        if (tree->nodes[i].n_children > most)
            most = tree->nodes[i].n_children;
        if (tree->nodes[i].kind >= CEL_NODE_ALL)
            own_binders(checker, i);
    }
    checker->children = ARENA_ARRAY(checker->arena, uint32_t, most);
    checker->name = ARENA_RAW(checker->arena, char, longest_name);
    return checker->children && checker->name;
}

/* Adds the other overloads of this call form: size(dyn(x)[?'y'].value()) takes all of size(). */
static void widen(CelChecker *checker, CelNodeInfo *info) {
    const CelOverload *first = info->overloads[0], *const * all;
    size_t n = cel_env_overloads(checker->env, str_from_c(first->spec->name), &all), n_kept = 0;
    const CelOverload **kept = ARENA_RAW(checker->arena, const CelOverload *, n);

    if (!kept)
        return;
    for (size_t i = 0; i < n; i++)
        if (all[i]->is_receiver == first->is_receiver && all[i]->n_args == first->n_args)
            kept[n_kept++] = all[i];
    info->overloads = kept;
    info->n_overloads = n_kept;
}

/* Computes the final types; the last step, because a later node can refine an earlier one. */
static void settle(CelChecker *checker) {
    const CelTree *tree = checker->tree;

    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        CelNodeInfo *info = &checker->infos[i];

        info->type =
            info->type ? cel_unify_resolve(&checker->unify, info->type, true) : &cel_dyn_type;
        if (tree->nodes[i].kind != CEL_NODE_CALL)
            continue;
        /* The overload depends on the values: dyn(x).value() + dyn(y).value() may have any type. */
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

/* Requires one type for child @first and every @step-th child after it. */
static void want_same(CelChecker *checker, uint32_t n, uint32_t first, uint32_t step, Str hint) {
    const CelType *wanted = n > first ? checker->infos[checker->children[first]].type : NULL;

    for (uint32_t k = first + step; k < n; k += step) {
        const CelType *found = checker->infos[checker->children[k]].type;

        if (cel_type_equal(wanted, found) || is_refused(wanted) || is_refused(found))
            continue;
        suggest_type(checker, checker->children[k], wanted, found, hint);
        return;
    }
}

/* Requires list and map literals of one type, like Kubernetes. Arguments of format(), at any depth,
 * and lists made by macros are exempt. */
static void check_literals(CelChecker *checker) {
    const CelTree *tree = checker->tree;
    uint32_t exempt = UINT32_MAX; /* nodes from this one on are arguments of format() */

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

/* The arguments of math.least(a, b, c) are one list, which may mix types of numbers only. */
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
    suggest_result(checker, root, want, found);
}

/* Whether the check may continue after @node. */
static bool is_within_bounds(CelChecker *checker, uint32_t node) {
    if (checker->unify.is_too_large)
        cel_checker_report_all(checker, node,
            STR("the types of this expression are too large to check"),
            STR("write dyn(…) around what is nested deeply"));
    return !checker->unify.is_too_large && !arena_has_failed(checker->arena);
}

/* Returns false if out of memory. */
static bool check_all(CelChecker *checker) {
    uint32_t n = checker->tree->n_nodes, i = 0;

    do
        check_node(checker, i);
    while (is_within_bounds(checker, i) && ++i < n);
    if (i == n) {
        settle(checker);
        if (!checker->options->no_check) {
            cel_check_formats(checker);
            check_numbers(checker);
        }
        if (!checker->options->no_check && !checker->options->is_plain)
            check_literals(checker);
        check_expected(checker);
        (void)is_within_bounds(checker, n - 1);
    }
    return !arena_has_failed(checker->arena);
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

    if (!checked || !prepare(&checker) || !check_all(&checker))
        return -ENOMEM;
    diag_list_sort(diags, first);
    if (diags->n_errors > n_errors)
        return CEL_REFUSED;
    *checked = (CelChecked){
        .env = env, .tree = tree, .infos = checker.infos, .is_loose = checker.unify.is_loose};
    *ret = checked;
    return 0;
}

const CelType *cel_checked_type(const CelChecked *checked) {
    return checked->infos[checked->tree->n_nodes - 1].type;
}
