/* Leaves: from the result down to the values that were read, along the parts that caused it. Parts
 * that made no difference are skipped; the rest fits on one line. */
#include "base/visible.h"
#include "cel/explain-internal.h"

#define LEAVES_STACK_MAX 256 /* parts that wait; more are passed by */

typedef struct Visit {
    uint32_t node;  /* of the tree */
    uint32_t entry; /* in the log */
} Visit;

typedef struct Leaves {
    CelExplainParts parts;
    Visit stack[LEAVES_STACK_MAX];
    size_t n_stack;
    CelLeaf *found;
    size_t n, max;
} Leaves;

static CelValue value_at(const Leaves *l, uint32_t entry) {
    return entry == CEL_NOT_SEEN ? cel_absent() : cel_explain_seen(&l->parts, entry)->value;
}

static void push(Leaves *l, uint32_t node, uint32_t entry) {
    if (entry != CEL_NOT_SEEN && l->n_stack < LEAVES_STACK_MAX)
        l->stack[l->n_stack++] = (Visit){node, entry};
}

/* White space becomes one space; optional access (`[?'a']`, `.?a`) is shown as plain access. */
static void print_source(const Leaves *l, uint32_t from, uint32_t to, Buf *out) {
    Str text = str_trim(str_take(str_skip(l->parts.checked->tree->source, from), to - from));

    for (size_t k = 0; k < text.len; k++) {
        char c = text.ptr[k], before = out->len > 0 ? out->data[out->len - 1] : ' ';
        bool is_space = c == ' ' || (c >= '\t' && c <= '\r');

        if ((is_space && before == ' ') || (c == '?' && (before == '[' || before == '.')))
            continue;
        buf_append_char(out, is_space ? ' ' : c);
    }
}

/* labels[params.key] by the key it is: that is what people look for. */
static bool print_index(const Leaves *l, uint32_t i, uint32_t around, Buf *out) {
    const CelNode *node = cel_explain_node(&l->parts, i);
    uint32_t key, entry;

    if (!cel_explain_is_index(&l->parts, i))
        return false;
    key = i - 1;
    entry = cel_explain_entry(&l->parts, around, key);
    if (cel_explain_node(&l->parts, key)->kind == CEL_NODE_LITERAL || entry == CEL_NOT_SEEN)
        return false;
    print_source(l, node->from,
        cel_explain_node(&l->parts, key - cel_explain_node(&l->parts, key)->size)->to, out);
    buf_append_char(out, '[');
    cel_value_print(value_at(l, entry), NULL, CEL_LEAF_COLUMNS, out);
    buf_append_char(out, ']');
    return true;
}

/* The text of a part that was computed for @around, or is that itself. */
static Str text_of(const Leaves *l, uint32_t i, uint32_t around) {
    const CelNode *node = cel_explain_node(&l->parts, i);
    Buf out = BUF_INIT(4096);
    Str text, cut;

    if (!print_index(l, i, around, &out))
        print_source(l, node->from, node->to, &out);
    text = buf_str(&out);
    cut = visible_take(text, CEL_LEAF_COLUMNS);
    text = cut.len == text.len ? arena_copy(l->parts.arena, text)
                               : arena_printf(l->parts.arena, "%.*s…", STR_FMT(cut));
    buf_done(&out);
    return text;
}

static void add(Leaves *l, Str text, CelValue value) {
    if (!text.ptr || l->n == l->max)
        return;
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->found[i].text, text))
            return;
    if (value.kind == CEL_OPTIONAL)
        value = value.inner ? *value.inner : cel_absent();
    l->found[l->n++] = (CelLeaf){text, value};
}

static void add_part(Leaves *l, const Visit *visit) {
    add(l, text_of(l, visit->node, visit->entry), value_at(l, visit->entry));
}

/* The size of the range; or its error, if the range itself failed. */
static void add_size(Leaves *l, const Visit *loop, uint32_t range) {
    uint32_t entry = cel_explain_entry(&l->parts, loop->entry, range);
    CelValue v = value_at(l, entry);
    Str text;

    if (v.kind != CEL_LIST && v.kind != CEL_MAP) {
        push(l, range, entry);
        return;
    }
    text = text_of(l, range, loop->entry);
    if (!text.ptr)
        return;
    add(l, arena_printf(l->parts.arena, "%.*s.size()", STR_FMT(text)),
        cel_int(v.kind == CEL_LIST ? v.list->n : v.map->n));
}

/* The children whose value is like the whole's, from the last to the first. */
static void push_alike(Leaves *l, const Visit *visit, const uint32_t *children, uint32_t n) {
    CelValue whole = value_at(l, visit->entry);

    for (uint32_t k = n; k-- > 0;) {
        uint32_t entry = cel_explain_entry(&l->parts, visit->entry, children[k]);
        CelValue v = value_at(l, entry);

        if (v.kind == whole.kind && (v.kind != CEL_BOOL || v.boolean == whole.boolean))
            push(l, children[k], entry);
    }
}

static void push_all(Leaves *l, const Visit *visit, const uint32_t *children, uint32_t n) {
    for (uint32_t k = n; k-- > 0;)
        push(l, children[k], cel_explain_entry(&l->parts, visit->entry, children[k]));
}

/* The first turn of a loop whose body has the loop's value decided. */
static bool push_turn(Leaves *l, const Visit *loop, uint32_t body) {
    uint32_t turns[CEL_TRACE_TURNS + 1];
    size_t n = cel_trace_parts(l->parts.log, loop->entry, turns, CEL_TRACE_TURNS + 1);
    CelValue whole = value_at(l, loop->entry);

    for (size_t i = 0; i < n && i <= CEL_TRACE_TURNS; i++) {
        const CelSeen *turn = cel_explain_seen(&l->parts, turns[i]);

        if (turn->node != l->parts.nodes[body] || turn->value.kind != whole.kind ||
            (whole.kind == CEL_BOOL && turn->value.boolean != whole.boolean))
            continue;
        push(l, body, turns[i]);
        return true;
    }
    return false;
}

static void visit_loop(
    Leaves *l, const Visit *visit, const CelNode *node, const uint32_t *children) {
    bool decides = value_at(l, visit->entry).kind == CEL_ERROR ||
                   (node->kind == CEL_NODE_ALL && !cel_is_true(value_at(l, visit->entry))) ||
                   (node->kind == CEL_NODE_EXISTS && cel_is_true(value_at(l, visit->entry)));

    if (decides && push_turn(l, visit, children[node->n_children - 1]))
        return;
    if (node->kind == CEL_NODE_ALL || node->kind == CEL_NODE_EXISTS ||
        node->kind == CEL_NODE_EXISTS_ONE)
        add_size(l, visit, children[0]);
    else
        add_part(l, visit);
}

/* map[?'key'].orValue('') is shown as that entry, or as absent. */
static bool add_or_value(
    Leaves *l, const Visit *visit, const CelNode *node, const uint32_t *children) {
    uint32_t entry;

    if (node->n_children != 2 || !node->is_receiver || !str_is(node->name, "orValue") ||
        !cel_explain_is_path(&l->parts, children[0]))
        return false;
    entry = cel_explain_entry(&l->parts, visit->entry, children[0]);
    add(l, text_of(l, children[0], entry), value_at(l, entry));
    return true;
}

static bool is_large(CelValue v) {
    return v.kind == CEL_LIST || v.kind == CEL_MAP || v.kind == CEL_RECORD;
}

/* The operand of a test. A whole list or map is too long to show: then the test is the leaf. */
static void push_operands(Leaves *l, const Visit *visit, const uint32_t *children, uint32_t n) {
    bool is_told = false;

    for (uint32_t k = n; k-- > 0;) {
        uint32_t entry = cel_explain_entry(&l->parts, visit->entry, children[k]);

        if (entry == CEL_NOT_SEEN || cel_explain_is_literal(&l->parts, children[k]))
            continue;
        if (!is_large(value_at(l, entry)))
            push(l, children[k], entry);
        else if (!is_told)
            add_part(l, visit);
        is_told |= is_large(value_at(l, entry));
    }
}

/* For operators and predicates: their operands. */
static void visit_call(
    Leaves *l, const Visit *visit, const CelNode *node, const uint32_t *children) {
    CelValue v = value_at(l, visit->entry);
    size_t stacked = l->n_stack, found = l->n;

    if (add_or_value(l, visit, node, children))
        return;
    if ((node->is_operator && !cel_explain_is_path(&l->parts, visit->node)) || v.kind == CEL_BOOL)
        push_operands(l, visit, children, node->n_children);
    if (l->n_stack == stacked && l->n == found)
        add_part(l, visit);
}

static void visit_part(Leaves *l, const Visit *visit, const uint32_t *children) {
    const CelNode *node = cel_explain_node(&l->parts, visit->node);
    CelValue v = value_at(l, visit->entry);

    switch (node->kind) {
    case CEL_NODE_AND:
    case CEL_NODE_OR:
        if (v.kind == CEL_BOOL && v.boolean == (node->kind == CEL_NODE_AND))
            push_all(l, visit, children, 2);
        else
            push_alike(l, visit, children, 2);
        break;
    case CEL_NODE_CONDITIONAL:
        push_all(l, visit, children, 3);
        break;
    case CEL_NODE_CALL:
        visit_call(l, visit, node, children);
        break;
    case CEL_NODE_BIND:
    case CEL_NODE_OPT_MAP:
    case CEL_NODE_OPT_FLAT_MAP:
        push_all(l, visit, &children[2], 1);
        break;
    default:
        if (node->n_binders > 0)
            visit_loop(l, visit, node, children);
        else
            add_part(l, visit);
    }
}

size_t cel_explained_leaves(const CelExplained *explained, CelLeaf *ret, size_t max) {
    const CelTree *tree = explained->explainer->checked->tree;
    Leaves l = {
        .parts = cel_explain_parts(explained),
        .found = ret,
        .max = max,
    };

    push(&l, tree->n_nodes - 1, (uint32_t)explained->log.seen.n - 1);
    while (l.n_stack > 0 && l.n < max) {
        Visit visit = l.stack[--l.n_stack];
        const CelNode *node = cel_explain_node(&l.parts, visit.node);
        uint32_t *children = ARENA_RAW(l.parts.arena, uint32_t, node->n_children);

        if (!children)
            break;
        if (cel_explain_is_literal(&l.parts, visit.node))
            continue;
        cel_tree_children(tree, visit.node, children);
        if (cel_explain_is_path(&l.parts, visit.node))
            add_part(&l, &visit);
        else
            visit_part(&l, &visit, children);
    }
    return l.n;
}
