/* The parts of an expression as written (tree.h), each with its entry in a run's log (trace.h),
 * which knows nodes of the graph: cel_lower_each() says which stands for which part. A part's entry
 * lies among those of the part around it; one without an entry was not needed. */

#include "cel/explain-internal.h"

#define PARTS_MAX 4096 /* of one part */

uint32_t cel_explain_entry(const CelExplainParts *x, uint32_t around, uint32_t i) {
    uint32_t found = CEL_NOT_SEEN;

    if (around == CEL_NOT_SEEN)
        return CEL_NOT_SEEN;
    for (uint32_t at = around + 1 - cel_explain_seen(x, around)->size; at <= around; at++) {
        if (cel_explain_seen(x, at)->node != x->nodes[i])
            continue;
        if (!cel_explain_seen(x, at)->is_again)
            return at;
        if (found == CEL_NOT_SEEN)
            found = at;
    }
    return found;
}

static bool is_constant(const CelExplainParts *x, uint32_t number) {
    return cel_graph_node(x->graph, number)->op == OP_CONSTANT;
}

bool cel_explain_is_literal(const CelExplainParts *x, uint32_t i) {
    const CelGraphNode *node = cel_graph_node(x->graph, x->nodes[i]);

    if (node->op != OP_LIST && node->op != OP_MAP)
        return node->op == OP_CONSTANT;
    for (uint32_t k = 0; k < node->n_args; k++) {
        if (!is_constant(x, node->args[k]))
            return false;
    }
    return true;
}

static bool is_index(const CelNode *node) {
    return node->kind == CEL_NODE_CALL && node->n_children == 2 &&
           (str_is(node->name, "_[_]") || str_is(node->name, "_[?_]"));
}

static bool is_selection(const CelNode *node) {
    return node->kind == CEL_NODE_SELECT || node->kind == CEL_NODE_OPT_SELECT ||
           node->kind == CEL_NODE_TEST || is_index(node);
}

/* A literal, or a field of a constant: params.key. The last child of a node comes right before
 * it. */
static bool is_constant_key(const CelExplainParts *x, uint32_t i) {
    if (cel_explain_node(x, i)->kind == CEL_NODE_LITERAL)
        return true;
    while (cel_explain_node(x, i)->kind == CEL_NODE_SELECT)
        i--;
    return x->nodes[i] != CEL_NO_NODE && is_constant(x, x->nodes[i]);
}

bool cel_explain_is_path(const CelExplainParts *x, uint32_t i) {
    while (is_selection(cel_explain_node(x, i))) {
        if (is_index(cel_explain_node(x, i))) {
            i--;
            if (!is_constant_key(x, i))
                return false;
            i -= cel_explain_node(x, i)->size - 1;
        }
        i--;
    }
    return cel_explain_node(x, i)->kind == CEL_NODE_IDENT;
}

bool cel_explain_is_index(const CelExplainParts *x, uint32_t i) {
    return is_index(cel_explain_node(x, i));
}

/* An error, or an optional without a value. */
static bool has_ended(const CelExplainParts *x, uint32_t entry) {
    CelValue v = entry != CEL_NOT_SEEN ? cel_explain_seen(x, entry)->value : cel_absent();

    return v.kind == CEL_ERROR || (v.kind == CEL_OPTIONAL && !v.inner);
}

/* A name that a macro made up. */
static bool is_made_up(const CelNode *node) {
    return str_has_prefix(node->name, STR("@"));
}

static bool is_named_bind(const CelExplainParts *x, uint32_t i) {
    uint32_t parts[3];

    if (cel_explain_node(x, i)->kind != CEL_NODE_BIND)
        return false;
    cel_tree_children(x->checked->tree, i, parts);
    return !is_made_up(cel_explain_node(x, parts[1]));
}

/* a && b && c is one line with three parts, and so are nested cel.bind()s; the expansion of a macro
 * has no text of its own. */
static bool is_same_line(const CelExplainParts *x, uint32_t parent, uint32_t i) {
    const CelNode *outer = cel_explain_node(x, parent), *node = cel_explain_node(x, i);

    if ((node->from == outer->from && node->to == outer->to) || node->is_mixed)
        return true;
    if (node->kind == CEL_NODE_BIND)
        return is_named_bind(x, parent) && is_named_bind(x, i);
    return node->kind == outer->kind && (node->kind == CEL_NODE_AND || node->kind == CEL_NODE_OR);
}

static void add_part(CelExplainParts *x, CelExplainPart item) {
    x->is_full |= x->items.n >= PARTS_MAX || !VEC_ADD(&x->items, x->arena, item);
}

/* The path to a field matters only if it ends early. Variables of macros are shown where they are
 * declared. */
static void add_child(CelExplainParts *x, const CelExplainPart *parent, uint32_t i) {
    uint32_t entry;

    if (cel_explain_node(x, i)->kind == CEL_NODE_OPTIONAL)
        i--; /* the optional shows more than its use in a list or map */
    if (x->nodes[i] == CEL_NO_NODE || cel_explain_is_literal(x, i) ||
        x->checked->infos[i].ref == CEL_REF_LOCAL)
        return;
    entry = cel_explain_entry(x, parent->entry, i);
    if (is_selection(cel_explain_node(x, parent->node)) && cel_explain_is_path(x, i) &&
        !has_ended(x, entry))
        return;
    add_part(x, (CelExplainPart){.node = i, .entry = entry});
}

/* A part with the variables of the macro @parent before it. */
static void add_named(CelExplainParts *x, const CelExplainPart *parent, uint32_t i) {
    if (!cel_explain_is_literal(x, i))
        add_part(x, (CelExplainPart){
                        .node = i,
                        .entry = cel_explain_entry(x, parent->entry, i),
                        .macro = parent->node + 1,
                    });
}

/* Two lines a turn when there is a predicate. */
static void add_turns(CelExplainParts *x, const CelExplainPart *loop, const uint32_t *children) {
    const CelNode *node = cel_explain_node(x, loop->node);
    uint32_t body = children[node->n_children - 1], *entries;
    size_t n = cel_trace_parts(x->log, loop->entry, NULL, 0);

    entries = ARENA_RAW(x->arena, uint32_t, n);
    if (!entries) {
        x->is_full = true;
        return;
    }
    n = cel_trace_parts(x->log, loop->entry, entries, n);
    for (size_t i = 0; i < n && !x->is_full; i++) {
        uint32_t number = cel_explain_seen(x, entries[i])->node;
        uint32_t part = number == x->nodes[body] ? body : children[1 + node->n_binders];

        if (i > 0 || number != x->nodes[children[0]])
            add_part(
                x, (CelExplainPart){.node = part, .entry = entries[i], .macro = loop->node + 1});
    }
    if (cel_explain_seen(x, loop->entry)->skipped > 0)
        add_part(x, (CelExplainPart){
                        .node = loop->node,
                        .entry = CEL_NOT_SEEN,
                        .skipped = cel_explain_seen(x, loop->entry)->skipped,
                    });
}

static void add_macro(CelExplainParts *x, const CelExplainPart *item, const uint32_t *children) {
    switch (cel_explain_node(x, item->node)->kind) {
    case CEL_NODE_BIND:
        if (is_named_bind(x, item->node))
            add_named(x, item, children[0]);
        else
            add_child(x, item, children[0]);
        add_child(x, item, children[2]);
        break;
    case CEL_NODE_OPT_MAP:
    case CEL_NODE_OPT_FLAT_MAP:
        add_child(x, item, children[0]);
        add_named(x, item, children[2]);
        break;
    default:
        add_child(x, item, children[0]);
        if (item->entry != CEL_NOT_SEEN)
            add_turns(x, item, children);
    }
}

static void add_parts(CelExplainParts *x, const CelExplainPart *item) {
    const CelNode *node = cel_explain_node(x, item->node);
    uint32_t *children = ARENA_RAW(x->arena, uint32_t, node->n_children);

    if (!children) {
        x->is_full = true;
        return;
    }
    cel_tree_children(x->checked->tree, item->node, children);
    if (node->n_binders > 0) {
        add_macro(x, item, children);
        return;
    }
    for (uint32_t k = 0; k < node->n_children && !x->is_full; k++)
        add_child(x, item, children[k]);
}

/* A recalled value has its parts at its first computation. */
static bool is_known(const CelExplainParts *x, const CelExplainPart *item) {
    return item->entry != CEL_NOT_SEEN && cel_explain_seen(x, item->entry)->is_again;
}

/* Puts the items from @n on, which were added last, in the place of item @i. */
static void replace_item(CelExplainParts *x, size_t i, size_t n) {
    CelExplainPart *items = x->items.items, *added;
    size_t n_added = x->items.n - n;

    added = ARENA_RAW(x->arena, CelExplainPart, n_added);
    if (!added) {
        x->is_full = true;
        return;
    }
    memcpy(added, &items[n], n_added * sizeof(*items));
    memmove(&items[i + n_added], &items[i + 1], (n - i - 1) * sizeof(*items));
    memcpy(&items[i], added, n_added * sizeof(*items));
    x->items.n = n + n_added - 1;
}

/* Parts that have no line of their own make way for their parts. */
void cel_explain_find(CelExplainParts *x, const CelExplainPart *item) {
    x->items.n = 0;
    if (item->entry == CEL_NOT_SEEN || is_known(x, item))
        return;
    add_parts(x, item);
    for (size_t i = 0; i < x->items.n && !x->is_full;) {
        CelExplainPart part = x->items.items[i];
        size_t n = x->items.n;

        if (part.macro > 0 || part.skipped > 0 || !is_same_line(x, item->node, part.node)) {
            i++;
            continue;
        }
        if (!is_known(x, &part))
            add_parts(x, &part);
        replace_item(x, i, n);
    }
}
