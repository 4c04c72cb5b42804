/* The check lets dyn pass for any type, as CEL does. Where the kind of an expression's value is not
 * certain, a call around it checks it in the run, so that its users can rely on the type. */

#include "cel/library.h"
#include "cel/lower-internal.h"

static CelValue wrong_type(CelRun *run, const char *wanted, CelValue v) {
    return cel_fail(
        run, "the result must be %s, it is %.*s", wanted, STR_FMT(cel_type_of(v)->name));
}

CEL_RETURNS(expect_bool, args[0].kind == CEL_BOOL ? args[0] : wrong_type(run, "bool", args[0]))
CEL_RETURNS(
    expect_string, args[0].kind == CEL_STRING ? args[0] : wrong_type(run, "string", args[0]))

CEL_FUNCTION(expect_number) {
    switch (args[0].kind) {
    case CEL_INT:
        return cel_double((double)args[0].i);
    case CEL_UINT:
        return cel_double((double)args[0].u);
    case CEL_DOUBLE:
        return args[0];
    default:
        return wrong_type(run, "a number", args[0]);
    }
}

#define EXPECT(what, type)                                                                         \
    static const CelOverloadSpec what##_spec = {                                                   \
        .name = "@" #what, .signature = "(dyn) -> " #type, .fn = what, .is_literal = true};        \
    static const CelOverload what##_overload = {.spec = &what##_spec,                              \
        .name = STR("@" #what),                                                                    \
        .n_args = 1,                                                                               \
        .args = {&cel_dyn_type},                                                                   \
        .result = &cel_##type##_type};                                                             \
    static const CelOverload *const what##_overloads[] = {&what##_overload}

EXPECT(expect_bool, bool);
EXPECT(expect_string, string);
EXPECT(expect_number, double);

static const CelOverload *const *find_check(const CelOptions *options) {
    if (options->expect_number)
        return expect_number_overloads;
    if (!options->expect)
        return NULL;
    return options->expect->kind == CEL_T_BOOL     ? expect_bool_overloads
           : options->expect->kind == CEL_T_STRING ? expect_string_overloads
                                                   : NULL;
}

/* A constant's type may say less than its kind. */
static bool is_certain(const CelLower *l, uint32_t root, const CelType *want) {
    const CelGraphNode *node = cel_lower_node(l, root);
    bool is_int = l->options->expect_number && node->type->kind == CEL_T_INT;

    return (node->type->kind == want->kind || is_int) &&
           cel_lower_kind(l, root) == node->type->value_kind;
}

uint32_t cel_lower_expected(CelLower *l, uint32_t root) {
    const CelOverload *const *check = find_check(l->options);
    uint32_t whole = l->tree->n_nodes - 1;
    const CelPart part = {
        .i = whole, .node = &l->tree->nodes[whole], .info = &l->checked->infos[whole]};
    CelGraphNode node = cel_lower_blank(l, &part, OP_CALL);

    if (!check || is_certain(l, root, check[0]->result))
        return root;
    node.type = check[0]->result;
    node.args = &root;
    node.n_args = 1;
    node.overloads = check;
    node.n_overloads = 1;
    return cel_lower_add(l, &part, &node);
}
