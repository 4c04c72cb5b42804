/*
 * Any text is parsed or refused, and errors and trees have these properties:
 *
 *   - an error has a message, with a place in the text
 *   - post-order: sizes add up, the last node is the root, places are in the text
 *   - an IDENT's call is a call that starts there
 *   - in short texts, the text of a part is an expression, and the same one
 *
 * The first byte of the input selects whether macros are expanded.
 */

#include "base/arena.h"
#include "base/fuzz.h"
#include "cel/limits.h"
#include "cel/parse.h"
#include "cel/test-print.h"

#define BUDGET ((size_t)1 << 26)
#define SHORT_TEXT 200

static void check_mistakes(const DiagList *diags, Str source) {
    require(diags->n_errors > 0 && diags->diags.n > 0);
    for (size_t i = 0; i < diags->diags.n; i++) {
        const Diag *diag = &diags->diags.items[i];

        require(diag->text.len > 0 && diag->place.line > 0 && diag->place.column > 0);
        require(diag->place.column <= source.len + 1 && diag->place.width > 0);
    }
}

static void check_node(const CelTree *tree, uint32_t i, uint32_t *children) {
    const CelNode *node = &tree->nodes[i];
    uint32_t size = 1;

    require(node->size <= i + 1);
    cel_tree_children(tree, i, children);
    for (uint32_t n = 0; n < node->n_children; n++)
        size += tree->nodes[children[n]].size;
    require(size == node->size);
    require(node->from < node->to && node->to <= tree->source.len);
    require(node->at < tree->source.len);
    require(node->kind != CEL_NODE_LITERAL || node->literal.kind > CEL_ERROR);
    if (node->call > 0) {
        const CelNode *call = &tree->nodes[node->call];

        require(node->call < tree->n_nodes && call->kind == CEL_NODE_CALL && call->is_receiver);
        require(node->call + 1 - call->size == i);
    }
}

/* Nodes created by macros have no text of their own. */
static bool is_written(const CelTree *tree) {
    for (uint32_t i = 0; i < tree->n_nodes; i++)
        if ((tree->nodes[i].name.len > 0 && tree->nodes[i].name.ptr[0] == '@' &&
                !tree->nodes[i].is_operator) ||
            tree->nodes[i].is_mixed)
            return false;
    return true;
}

static void check_parts(const CelTree *tree, const CelOptions *options) {
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        const CelNode *node = &tree->nodes[i];
        Arena *arena = arena_new(BUDGET);
        DiagList diags = DIAG_LIST_IN(arena);
        CelTree *part = NULL;

        require(arena);
        if (node->kind != CEL_NODE_OPTIONAL && node->kind != CEL_NODE_FIELD) {
            Str text = str_of(tree->source.ptr + node->from, node->to - node->from);

            require(cel_parse(STR("part"), text, options, arena, &diags, &part) == 0);
            require(part->n_nodes == node->size);
            require(
                node->kind == CEL_NODE_BINDER || part->nodes[part->n_nodes - 1].kind == node->kind);
        }
        (void)arena_free(arena);
    }
}

static void check_tree(const CelTree *tree, const CelOptions *options, Arena *arena) {
    uint32_t *children = ARENA_RAW(arena, uint32_t, tree->n_nodes);
    Buf out = BUF_INIT(BUDGET);

    require(children);
    require(tree->n_nodes > 0 && tree->n_nodes <= CEL_NODES_MAX);
    require(tree->nodes[tree->n_nodes - 1].size == tree->n_nodes);
    for (uint32_t i = 0; i < tree->n_nodes; i++)
        check_node(tree, i, children);
    cel_tree_print(tree, &out);
    require(buf_error(&out) == 0 && out.len > 0);
    buf_done(&out);
    if (tree->source.len <= SHORT_TEXT && is_written(tree))
        check_parts(tree, options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Arena *arena;
    CelOptions options = {0};
    DiagList diags;
    CelTree *tree = NULL;
    Str source;
    int r;

    if (size == 0)
        return 0;
    if (!arena)
        arena = arena_new(BUDGET);
    require(arena);
    arena_reset(arena);
    diags = DIAG_LIST_IN(arena);
    options.no_macros = data[0] == '!';
    source = str_of((const char *)data + 1, size - 1);
    r = cel_parse(STR("fuzz"), source, &options, arena, &diags, &tree);
    require(r == 0 || r == CEL_REFUSED);
    if (r == 0)
        check_tree(tree, &options, arena);
    else
        check_mistakes(&diags, source);
    return 0;
}
