/* Trees: children, operators, names, and printing. */

#include "cel/tree.h"

#include "base/utf8.h"
#include "base/visible.h"

const char *cel_node_name(CelNodeKind kind) {
    static const char *const names[CEL_N_NODES] = {
#define X(name, text) [CEL_NODE_##name] = (text),
        CEL_NODES(X)
#undef X
    };

    return kind < CEL_N_NODES ? names[kind] : "?";
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
    };

    for (size_t i = 0; i < ELEMENTS_OF(operators); i++)
        if (str_eq(function, operators[i].function))
            return operators[i].text;
    return NULL;
}

void cel_call_print(Str function, bool is_receiver, const Str *types, size_t n, Buf *out) {
    Str sign = str_from_c(cel_operator_text(function));
    bool is_index = str_has_prefix(sign, STR("[")), is_operator = sign.len > 0;
    size_t first = is_operator ? n - 1 : is_receiver && n > 0; /* of the types behind the name */
    const char *space = is_operator && !is_index && first > 0 ? " " : "";

    if (first > 0)
        buf_append(out, types[0]);
    if (is_operator)
        buf_printf(out, "%s%.*s%s", space, STR_FMT(str_take(sign, sign.len - is_index)), space);
    else
        buf_printf(out, "%s%.*s(", first > 0 ? "." : "", STR_FMT(function));
    for (size_t i = first; i < n; i++) {
        buf_append(out, i > first ? STR(", ") : STR_NULL);
        buf_append(out, types[i]);
    }
    if (is_index || !is_operator)
        buf_append_char(out, is_index ? ']' : ')');
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

typedef struct Line {
    uint32_t node, depth;
} Line;

static void print_line(const CelTree *tree, Line line, Buf *out) {
    const CelNode *node = &tree->nodes[line.node];
    Str text = str_of(tree->source.ptr + node->from, node->to - node->from);
    Str shown = utf8_take(text, TEXT_MAX);

    buf_append_repeat(out, ' ', (size_t)2 * (line.depth < INDENT_MAX ? line.depth : INDENT_MAX));
    buf_append(out, str_from_c(cel_node_name(node->kind)));
    if (!str_is_empty(node->name)) {
        buf_append_char(out, ' ');
        (void)visible_append(out, node->name);
    }
    print_flags(node, out);
    buf_printf(out, "  #%u %u-%u@%u  ", line.node, node->from, node->to, node->at);
    (void)visible_append(out, shown);
    buf_append(out, shown.len < text.len ? STR("…\n") : STR("\n"));
}

/* The lines that follow lie on a stack. */
void cel_tree_print(const CelTree *tree, Buf *out) {
    _cleanup_(arena_freep) Arena *arena = arena_new(tree->n_nodes * sizeof(Line) + 4096);
    Line *lines = arena ? ARENA_ARRAY(arena, Line, tree->n_nodes) : NULL;
    size_t n = lines && tree->n_nodes > 0;

    if (n > 0)
        lines[0].node = tree->n_nodes - 1;
    while (n > 0) {
        Line line = lines[--n];
        uint32_t child = line.node - 1;

        print_line(tree, line, out);
        for (uint32_t k = tree->nodes[line.node].n_children; k > 0; k--) {
            lines[n++] = (Line){.node = child, .depth = line.depth + 1};
            child -= tree->nodes[child].size;
        }
    }
}
