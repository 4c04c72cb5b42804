/* Builder: the nodes of a tree while it is parsed. */

#include "cel/parser-internal.h"

#include <errno.h>

#include "cel/limits.h"

void cel_builder_fail(CelBuilder *builder, int error) {
    builder->is_stopped = true;
    builder->error = error;
}

/* NULL: stopped. */
static CelNode *push(CelBuilder *builder, uint32_t at) {
    CelNode *node;

    if (builder->is_stopped)
        return NULL;
    if (builder->nodes.n >= CEL_NODES_MAX) {
        cel_syntax_error(builder->lexer->errors, at, at + 1, NULL,
            "the expression is too large: it has more than %d parts", CEL_NODES_MAX);
        builder->is_stopped = true;
        return NULL;
    }
    node = VEC_PUSH(&builder->nodes, builder->arena);
    if (!node)
        cel_builder_fail(builder, -ENOMEM);
    return node;
}

CelNode *cel_builder_add(
    CelBuilder *builder, CelNodeKind kind, uint32_t first, uint32_t n_children, CelSpan span) {
    CelNode *node = push(builder, span.at);

    if (!node)
        return &builder->spare;
    *node = (CelNode){
        .kind = (uint8_t)kind,
        .n_children = n_children,
        .size = (uint32_t)builder->nodes.n - first,
        .from = span.from,
        .to = span.to,
        .at = span.at,
    };
    return node;
}

/* Whether the nodes from @first to @root are one name with dots: a, a.b, a.b.c. */
static bool is_dotted(const CelBuilder *builder, uint32_t first, uint32_t root) {
    for (uint32_t i = root; i > first; i--)
        if (builder->nodes.items[i].kind != CEL_NODE_SELECT)
            return false;
    return builder->nodes.items[first].kind == CEL_NODE_IDENT;
}

void cel_builder_add_call(CelBuilder *builder, const CelCall *call) {
    uint32_t number = cel_builder_next(builder);
    CelNode *node = cel_builder_add(builder, CEL_NODE_CALL, call->first,
        call->n_args + (call->is_receiver ? 1 : 0), call->span);

    node->name = call->name;
    node->is_receiver = call->is_receiver;
    node->is_absolute = call->is_absolute;
    if (call->is_receiver && is_dotted(builder, call->first, call->args - 1))
        builder->nodes.items[call->first].call = number - call->first;
}

void cel_builder_add_broken(CelBuilder *builder, CelSpan span) {
    (void)cel_builder_add(
        builder, CEL_NODE_LITERAL, cel_builder_next(builder), 0, span); /* CEL_ABSENT */
}

bool cel_node_is_broken(const CelNode *node) {
    return node->kind == CEL_NODE_LITERAL && node->literal.kind == CEL_ABSENT;
}

CelNode *cel_builder_copy(CelBuilder *builder, uint32_t first, uint32_t n) {
    CelNode *copy = builder->is_stopped ? NULL : ARENA_RAW(builder->arena, CelNode, n);

    if (copy && n > 0)
        memcpy(copy, builder->nodes.items + first, n * sizeof(CelNode));
    else if (!copy && !builder->is_stopped)
        cel_builder_fail(builder, -ENOMEM);
    return copy;
}

void cel_builder_append(CelBuilder *builder, const CelNode *nodes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        CelNode *node = push(builder, nodes[i].at);

        if (!node)
            return;
        *node = nodes[i];
    }
}

CelTree *cel_builder_finish(CelBuilder *builder, Str file) {
    CelTree *tree = ARENA_NEW(builder->arena, CelTree);

    if (!tree)
        return NULL;
    for (uint32_t i = 0; i < builder->nodes.n; i++)
        if (builder->nodes.items[i].call > 0)
            builder->nodes.items[i].call += i;
    *tree = (CelTree){
        .file = file,
        .source = builder->lexer->source,
        .nodes = builder->nodes.items,
        .n_nodes = (uint32_t)builder->nodes.n,
    };
    return tree;
}
