/* Names: of a.b.c the longest declared name wins, in the container first. A macro's variable hides
 * them all; a leading dot passes over it and the container (namespace/namespace_shadowing). The
 * first IDENT settles the whole chain; parts of a longer name are skipped later. */

#include "cel/check-internal.h"

/* The last SELECT of the chain that starts at @node: each follows its operand. */
static uint32_t chain_end(const CelTree *tree, uint32_t node) {
    uint32_t end = node;

    while (end + 1 < tree->n_nodes && tree->nodes[end + 1].kind == CEL_NODE_SELECT &&
           tree->nodes[end + 1].size == end + 2 - node)
        end++;
    return end;
}

/* Where names are built: the container can be put before without moving them. */
static char *name_room(const CelChecker *checker) {
    return checker->name + cel_env_container(checker->env).len + 1;
}

static bool is_declared(const CelEnv *env, Str name, bool is_function) {
    const CelOverload *const *ignored;

    return is_function ? cel_env_overloads(env, name, &ignored) > 0
                       : cel_env_variable(env, name) != NULL;
}

/* The declared name that @name means: with all of the container before it, with ever less of it, or
 * by itself. The others are built in name_room(). */
static Str meant_by(const CelChecker *checker, Str name, bool is_absolute, bool is_function) {
    Str container = cel_env_container(checker->env);
    char *room = name_room(checker);

    if (container.len == 0 || is_absolute || name.len == 0)
        return name;
    if (name.ptr != room)
        memcpy(room, name.ptr, name.len);
    for (size_t n = container.len; n != SIZE_MAX; n = str_find_last(str_take(container, n), '.')) {
        Str full = str_of(room - n - 1, n + 1 + name.len);

        memcpy(room - n - 1, container.ptr, n);
        room[-1] = '.';
        if (is_declared(checker->env, full, is_function))
            return full;
    }
    return name;
}

const CelVariable *cel_resolve_variable(CelChecker *checker, Str name, bool is_absolute) {
    return cel_env_variable(checker->env, meant_by(checker, name, is_absolute, false));
}

size_t cel_resolve_function(
    CelChecker *checker, Str name, bool is_absolute, const CelOverload *const **ret) {
    *ret = NULL;
    return cel_env_overloads(checker->env, meant_by(checker, name, is_absolute, true), ret);
}

/* The names from @node to @end with dots between, in name_room(). */
static Str dotted_name(const CelChecker *checker, uint32_t node, uint32_t end) {
    char *room = name_room(checker);

    return str_of(room, cel_join_names(checker->tree->nodes, node, end, room));
}

static void skip(CelChecker *checker, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        checker->infos[i].ref = CEL_REF_SKIP;
        checker->infos[i].type = &cel_dyn_type;
    }
}

/* a.b.f(x) with a declared function "a.b.f": the receiver is a name space. */
static bool resolve_namespace(CelChecker *checker, uint32_t node, uint32_t end) {
    const CelNode *nodes = checker->tree->nodes;
    uint32_t call = nodes[node].call;
    CelNodeInfo *info = &checker->infos[call];
    Str name;
    char *at;

    if (call == 0)
        return false;
    name = dotted_name(checker, node, end);
    at = name_room(checker) + name.len;
    *at++ = '.';
    memcpy(at, nodes[call].name.ptr, nodes[call].name.len);
    name.len += 1 + nodes[call].name.len;
    info->n_overloads =
        cel_resolve_function(checker, name, nodes[node].is_absolute, &info->overloads);
    if (info->n_overloads == 0)
        return false;
    info->is_namespaced = true;
    skip(checker, node, end + 1);
    return true;
}

static bool resolve_local(CelChecker *checker, uint32_t node) {
    const CelNode *nodes = checker->tree->nodes;

    if (nodes[node].is_absolute)
        return false;
    for (size_t i = checker->scope.n; i-- > 0;) {
        uint32_t binder = checker->scope.items[i];

        if (!str_eq(nodes[binder].name, nodes[node].name))
            continue;
        checker->infos[node].ref = CEL_REF_LOCAL;
        checker->infos[node].binder = binder;
        checker->infos[node].type = checker->infos[binder].type;
        return true;
    }
    return false;
}

static void use_variable(CelChecker *checker, uint32_t node, const CelVariable *variable) {
    CelNodeInfo *info = &checker->infos[node];

    info->ref = variable->is_constant ? CEL_REF_CONSTANT : CEL_REF_VARIABLE;
    info->variable = variable;
    info->constant = variable->value;
    info->type = checker->options->no_check ? &cel_dyn_type : variable->type;
}

/* The longest part of the chain that is declared. */
static bool resolve_declared(CelChecker *checker, uint32_t node, uint32_t end) {
    const CelNode *nodes = checker->tree->nodes;
    Str name = end == node ? nodes[node].name : dotted_name(checker, node, end);

    for (uint32_t i = end;; i--) {
        const CelVariable *variable = cel_resolve_variable(checker, name, nodes[node].is_absolute);

        if (variable) {
            skip(checker, node, i);
            use_variable(checker, i, variable);
            return true;
        }
        if (i == node)
            return false;
        name.len -= 1 + nodes[i].name.len;
    }
}

void cel_resolve_ident(CelChecker *checker, uint32_t node) {
    uint32_t end = chain_end(checker->tree, node);
    CelNodeInfo *info = &checker->infos[node];

    if (resolve_namespace(checker, node, end) || resolve_local(checker, node) ||
        resolve_declared(checker, node, end))
        return;
    if (checker->options->no_check) {
        info->ref = CEL_REF_UNKNOWN;
        info->name = checker->tree->nodes[node].name;
        info->type = &cel_dyn_type;
        return;
    }
    info->type = &cel_error_type;
    if (!cel_is_vague(checker, node))
        cel_suggest_name(checker, node, dotted_name(checker, node, end));
}
