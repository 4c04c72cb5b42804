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

/* The next candidate for @name, in name_room(): with @n bytes of the container. */
static Str with_container(const CelChecker *checker, Str name, size_t n) {
    char *start = name_room(checker) - n - 1;

    memcpy(start, cel_env_container(checker->env).ptr, n);
    start[n] = '.';
    return str_of(start, n + 1 + name.len);
}

/* The container's length without its last part; SIZE_MAX when nothing is left. */
static size_t outer_length(Str container, size_t n) {
    return str_find_last(str_take(container, n), '.');
}

/* Calls @find for every name that @name can mean, the innermost first, until it returns true. */
static bool find_in_container(CelChecker *checker, Str name, bool is_absolute,
    bool (*find)(const CelEnv *env, Str name, void *arg), void *arg) {
    Str container = cel_env_container(checker->env);

    if (container.len > 0 && !is_absolute && name.len > 0) {
        char *room = name_room(checker);

        if (name.ptr != room)
            memcpy(room, name.ptr, name.len);
        for (size_t n = container.len; n != SIZE_MAX; n = outer_length(container, n))
            if (find(checker->env, with_container(checker, name, n), arg))
                return true;
    }
    return find(checker->env, name, arg);
}

static bool find_variable(const CelEnv *env, Str name, void *arg) {
    const CelVariable **ret = arg;

    *ret = cel_env_variable(env, name);
    return *ret != NULL;
}

const CelVariable *cel_resolve_variable(CelChecker *checker, Str name, bool is_absolute) {
    const CelVariable *variable = NULL;

    (void)find_in_container(checker, name, is_absolute, find_variable, &variable);
    return variable;
}

typedef struct Found {
    const CelOverload *const *overloads;
    size_t n;
} Found;

static bool find_function(const CelEnv *env, Str name, void *arg) {
    Found *found = arg;

    found->n = cel_env_overloads(env, name, &found->overloads);
    return found->n > 0;
}

size_t cel_resolve_function(
    CelChecker *checker, Str name, bool is_absolute, const CelOverload *const **ret) {
    Found found = {0};

    (void)find_in_container(checker, name, is_absolute, find_function, &found);
    *ret = found.overloads;
    return found.n;
}

/* The names from @node to @end with dots between, in name_room(). */
static Str dotted_name(const CelChecker *checker, uint32_t node, uint32_t end) {
    char *room = name_room(checker), *at = room;

    for (uint32_t i = node; i <= end; i++) {
        Str part = checker->tree->nodes[i].name;

        if (i > node)
            *at++ = '.';
        if (part.len > 0)
            memcpy(at, part.ptr, part.len);
        at += part.len;
    }
    return str_of(room, (size_t)(at - room));
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
