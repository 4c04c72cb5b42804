/* Trees: children, operators and names. */

#include "cel/tree.h"

#include "base/utf8.h"
#include "base/visible.h"

static const char *const node_names[CEL_N_NODES] = {
    [CEL_NODE_LITERAL] = "literal",
    [CEL_NODE_IDENT] = "ident",
    [CEL_NODE_SELECT] = "select",
    [CEL_NODE_OPT_SELECT] = "opt-select",
    [CEL_NODE_TEST] = "has",
    [CEL_NODE_CALL] = "call",
    [CEL_NODE_AND] = "and",
    [CEL_NODE_OR] = "or",
    [CEL_NODE_CONDITIONAL] = "conditional",
    [CEL_NODE_OPTIONAL] = "optional",
    [CEL_NODE_LIST] = "list",
    [CEL_NODE_MAP] = "map",
    [CEL_NODE_STRUCT] = "struct",
    [CEL_NODE_FIELD] = "field",
    [CEL_NODE_BINDER] = "binder",
    [CEL_NODE_ALL] = "all",
    [CEL_NODE_EXISTS] = "exists",
    [CEL_NODE_EXISTS_ONE] = "exists-one",
    [CEL_NODE_FILTER] = "filter",
    [CEL_NODE_MAP_LIST] = "map-list",
    [CEL_NODE_TRANSFORM_MAP] = "transform-map",
    [CEL_NODE_TRANSFORM_ENTRY] = "transform-entry",
    [CEL_NODE_OPT_MAP] = "opt-map",
    [CEL_NODE_OPT_FLAT_MAP] = "opt-flat-map",
    [CEL_NODE_BIND] = "bind",
};

const char *cel_node_name(CelNodeKind kind) {
    return kind < CEL_N_NODES ? node_names[kind] : "?";
}

const char *cel_operator_text(Str function) {
    static const struct {
        Str function;
        const char *text;
    } operators[] = {
        {STR("_+_"), "+"},
        {STR("_-_"), "-"},
        {STR("_*_"), "*"},
        {STR("_/_"), "/"},
        {STR("_%_"), "%"},
        {STR("_==_"), "=="},
        {STR("_!=_"), "!="},
        {STR("_<_"), "<"},
        {STR("_<=_"), "<="},
        {STR("_>_"), ">"},
        {STR("_>=_"), ">="},
        {STR("@in"), "in"},
        {STR("!_"), "!"},
        {STR("-_"), "-"},
        {STR("_[_]"), "[]"},
        {STR("_[?_]"), "[?]"},
        {STR("_?._"), ".?"},
        {STR("_&&_"), "&&"},
        {STR("_||_"), "||"},
        {STR("_?_:_"), "?:"},
    };

    for (size_t i = 0; i < ELEMENTS_OF(operators); i++)
        if (str_eq(function, operators[i].function))
            return operators[i].text;
    return NULL;
}

void cel_tree_children(const CelTree *tree, uint32_t i, uint32_t *ret) {
    uint32_t child = i - 1; /* the last child comes directly before its parent */

    for (uint32_t n = tree->nodes[i].n_children; n > 0; n--) {
        ret[n - 1] = child;
        child -= tree->nodes[child].size;
    }
}

size_t cel_join_names(const CelNode *nodes, uint32_t first, uint32_t last, char *out) {
    size_t n = 0;

    for (uint32_t i = first; i <= last; i++) {
        if (i > first)
            out[n++] = '.';
        if (nodes[i].name.len > 0) /* a placeholder for an error has none */
            memcpy(out + n, nodes[i].name.ptr, nodes[i].name.len);
        n += nodes[i].name.len;
    }
    return n;
}

/* For each place of the printed order: which node, and how deep. */
typedef struct Line {
    uint32_t node, depth;
} Line;

/*
 * Parents first, and without a stack. In post-order a part starts at i + 1 - size; in the printed
 * order it starts with its root. Both lay the parts of one parent out in the same way, so a child's
 * line is its parent's, plus one, plus how far behind its parent's start it starts.
 */
static void order_lines(const CelTree *tree, Line *lines, uint32_t *line_of) {
    line_of[tree->n_nodes - 1] = 0;
    lines[0].node = tree->n_nodes - 1;
    for (uint32_t i = tree->n_nodes; i-- > 0;) {
        const CelNode *node = &tree->nodes[i];
        uint32_t child = i - 1, start = i + 1 - node->size;

        for (uint32_t n = 0; n < node->n_children; n++) {
            uint32_t child_start = child + 1 - tree->nodes[child].size;

            line_of[child] = line_of[i] + 1 + child_start - start;
            lines[line_of[child]] = (Line){.node = child, .depth = lines[line_of[i]].depth + 1};
            child = child_start - 1;
        }
    }
}

static void print_flags(const CelNode *node, Buf *out) {
    if (node->is_receiver)
        buf_append(out, STR(" receiver"));
    if (node->is_absolute)
        buf_append(out, STR(" absolute"));
    if (node->is_mixed)
        buf_append(out, STR(" mixed"));
    if (node->has_predicate)
        buf_append(out, STR(" predicate"));
    if (node->call > 0)
        buf_printf(out, " call=%u", node->call);
}

#define INDENT_MAX 50 /* levels; deeper ones are not indented further */
#define TEXT_MAX 60   /* bytes of a node's text */

static void print_text(const CelTree *tree, const CelNode *node, Buf *out) {
    Str text = str_of(tree->source.ptr + node->from, node->to - node->from);
    Str shown = utf8_take(text, TEXT_MAX);

    (void)visible_append(out, shown);
    if (shown.len < text.len)
        buf_append(out, STR("…"));
}

static void print_line(const CelTree *tree, Line line, Buf *out) {
    const CelNode *node = &tree->nodes[line.node];

    buf_append_repeat(out, ' ', (size_t)2 * (line.depth < INDENT_MAX ? line.depth : INDENT_MAX));
    buf_append(out, str_from_c(cel_node_name(node->kind)));
    if (!str_is_empty(node->name)) {
        buf_append_char(out, ' ');
        (void)visible_append(out, node->name);
    }
    print_flags(node, out);
    buf_printf(out, "  #%u %u-%u@%u  ", line.node, node->from, node->to, node->at);
    print_text(tree, node, out);
    buf_append_char(out, '\n');
}

void cel_tree_print(const CelTree *tree, Buf *out) {
    _cleanup_(arena_freep) Arena *arena =
        arena_new((size_t)tree->n_nodes * (sizeof(Line) + sizeof(uint32_t)) + 4096);
    Line *lines = arena ? ARENA_ARRAY(arena, Line, tree->n_nodes) : NULL;
    uint32_t *line_of = lines ? ARENA_ARRAY(arena, uint32_t, tree->n_nodes) : NULL;

    if (!line_of || tree->n_nodes == 0)
        return;
    order_lines(tree, lines, line_of);
    for (uint32_t i = 0; i < tree->n_nodes; i++)
        print_line(tree, lines[i], out);
}
