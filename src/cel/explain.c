/* Explanations: logs the values of all parts of an expression in a run, and shows them as lines of
 * a tree, or as the leaves that caused the result. */

#include "cel/explain.h"

#include <errno.h>

#include "base/error.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "base/visible.h"
#include "cel/program.h"

/* The log of a traced run has the computed values in post-order, like a tree (tree.h): operands
 * come before a value, and each entry counts the entries of its part. */

/* Whether @node is the predicate or the body of @loop: one iteration is called a turn here. */
static bool is_turn_of(const CelGraphNode *loop, uint32_t node) {
    for (uint32_t k = 1; k < loop->n_args; k++) {
        if (loop->args[k] == node)
            return true;
    }
    return false;
}

/* The first entry of the turns of @loop. */
static size_t first_turn(const CelTraceLog *log, const CelGraphNode *loop) {
    size_t first = log->seen.n;

    while (first > 0 && is_turn_of(loop, log->seen.items[first - 1].node))
        first -= log->seen.items[first - 1].size;
    return first;
}

/* The first entry of the part of a new entry for @node. Its arguments are the newest entries
 * without a parent, in order, each at most once. */
static size_t first_of_part(const CelTraceLog *log, const CelGraphNode *node) {
    bool is_loop = cel_op_is_loop(node->op);
    size_t first = is_loop ? first_turn(log, node) : log->seen.n;

    for (uint32_t k = is_loop ? 1 : node->n_args; k-- > 0 && first > 0;) {
        if (log->seen.items[first - 1].node == node->args[k])
            first -= log->seen.items[first - 1].size;
    }
    return first;
}

/* Whether CEL_TRACE_TURNS turns of the loop that runs @node are kept: others are only counted. */
static bool is_enough(CelTraceLog *log, uint32_t node) {
    return log->is_turn[node] && log->turns[node]++ >= CEL_TRACE_TURNS;
}

/* At the end of a loop: the number of turns skipped; resets the counts. 0 for other nodes. */
static uint32_t take_skipped(CelTraceLog *log, const CelGraphNode *node) {
    uint32_t most = CEL_TRACE_TURNS;

    for (uint32_t k = 1; cel_op_is_loop(node->op) && k < node->n_args; k++) {
        uint32_t *turns = &log->turns[node->args[k]];

        if (*turns > most)
            most = *turns;
        *turns = 0;
    }
    return most - CEL_TRACE_TURNS;
}

static void add(CelTraceLog *log, uint32_t node, CelValue v, size_t first, bool is_again) {
    uint32_t skipped = take_skipped(log, cel_graph_node(log->graph, node));
    CelSeen *entry = NULL;

    if (is_enough(log, node)) {
        log->seen.n = first; /* drops the parts of an iteration over the limit */
        return;
    }
    if (!log->is_cut && log->seen.n < CEL_TRACE_ENTRIES_MAX)
        entry = VEC_PUSH(&log->seen, log->arena);
    log->is_cut |= !entry;
    if (!entry)
        return;
    /* Field by field: copying a whole struct stalls on its own stores, which took a third of the
     * time of `berth explain` over a large cluster. */
    entry->node = node;
    entry->size = (uint32_t)(log->seen.n - first);
    entry->skipped = skipped;
    entry->is_again = is_again;
    entry->value = v;
}

static void seen(CelTrace *trace, uint32_t node, CelValue v) {
    CelTraceLog *log = (CelTraceLog *)trace;

    add(log, node, v, first_of_part(log, cel_graph_node(log->graph, node)), false);
}

static void again(CelTrace *trace, uint32_t node, CelValue v) {
    CelTraceLog *log = (CelTraceLog *)trace;

    add(log, node, v, log->seen.n, true);
}

/* 0 or -ENOMEM. The graph must not grow after this. */
static int log_init(CelTraceLog *log, const CelGraph *graph, Arena *arena) {
    uint32_t size = cel_graph_size(graph);

    *log = (CelTraceLog){
        .trace = {.seen = seen, .again = again},
        .graph = graph,
        .arena = arena,
        .is_turn = ARENA_ARRAY(arena, bool, size),
        .turns = ARENA_ARRAY(arena, uint32_t, size),
    };
    if (!log->is_turn || !log->turns)
        return -ENOMEM;
    for (uint32_t i = 0; i < size; i++) {
        const CelGraphNode *node = cel_graph_node(graph, i);

        for (uint32_t k = 1; cel_op_is_loop(node->op) && k < node->n_args; k++)
            log->is_turn[node->args[k]] = true;
    }
    return 0;
}

#define SCRATCH_MAX ((size_t)256 * 1024 * 1024)
#define TEXT_WIDTH 56 /* columns of a part's text; longer ones are cut */
#define DEPTH_MAX 24  /* indentation; deeper parts are not indented further */

/* The parts of an expression as written (tree.h), each with its entry in the log of a run. Entries
 * name nodes of the graph; cel_lower_each() maps parts to nodes. The entry of a part is among those
 * of the part around it; a part without an entry was not evaluated. */

#define NOT_SEEN UINT32_MAX

/* A line to print: a part that was computed, a part that was not, or skipped iterations. */
typedef struct Part {
    uint32_t node;    /* of the tree */
    uint32_t entry;   /* in the log, or NOT_SEEN */
    uint32_t skipped; /* iterations: the line counts them */
    uint32_t macro;   /* + 1: the macro whose variables are printed before the text */
    uint32_t depth;
    bool is_last;
} Part;

typedef struct Parts {
    CelExplainer of;
    const CelTraceLog *log;
    Arena *arena;
    VEC(Part) items;   /* result of find_parts(): parts with a line of their own */
    VEC(Part) pending; /* to be visited, the last one first: parts are added in that order */
    bool is_full;      /* there were more, or no memory */
} Parts;

static Parts parts_of(const CelExplained *x) {
    return (Parts){.of = *x->explainer, .log = &x->log, .arena = x->arena};
}

static const CelNode *node_at(const Parts *parts, uint32_t i) {
    return &parts->of.checked->tree->nodes[i];
}

static const CelSeen *seen_at(const Parts *parts, uint32_t entry) {
    return &parts->log->seen.items[entry];
}

/* The first entry of the part that ends with @entry. */
static uint32_t first_entry(const Parts *parts, uint32_t entry) {
    return entry + 1 - seen_at(parts, entry)->size;
}

/* CEL_ABSENT: not seen. */
static CelValue value_at(const Parts *parts, uint32_t entry) {
    return entry == NOT_SEEN ? cel_absent() : seen_at(parts, entry)->value;
}

#define PARTS_MAX 4096 /* inside one part */

/* The entry of the tree's node @i among those of @around, or NOT_SEEN. A value that was used again
 * has several entries: the one where it was computed is preferred. */
static uint32_t find_entry(const Parts *x, uint32_t around, uint32_t i) {
    uint32_t found = NOT_SEEN;

    if (around == NOT_SEEN)
        return NOT_SEEN;
    for (uint32_t at = first_entry(x, around); at <= around; at++) {
        if (seen_at(x, at)->node != x->of.nodes[i])
            continue;
        if (!seen_at(x, at)->is_again)
            return at;
        if (found == NOT_SEEN)
            found = at;
    }
    return found;
}

static bool is_constant(const Parts *x, uint32_t number) {
    return cel_graph_node(x->of.graph, number)->op == OP_CONSTANT;
}

/* Whether the value of part @i is known without a run. */
static bool is_literal(const Parts *x, uint32_t i) {
    const CelGraphNode *node = cel_graph_node(x->of.graph, x->of.nodes[i]);

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
static bool is_constant_key(const Parts *x, uint32_t i) {
    if (node_at(x, i)->kind == CEL_NODE_LITERAL)
        return true;
    while (node_at(x, i)->kind == CEL_NODE_SELECT)
        i--;
    return x->of.nodes[i] != CEL_NO_NODE && is_constant(x, x->of.nodes[i]);
}

/* Whether part @i is a path like a.b['c'].d: a name, and constant keys. */
static bool is_path(const Parts *x, uint32_t i) {
    while (is_selection(node_at(x, i))) {
        if (is_index(node_at(x, i))) {
            i--;
            if (!is_constant_key(x, i))
                return false;
            i -= node_at(x, i)->size - 1;
        }
        i--;
    }
    return node_at(x, i)->kind == CEL_NODE_IDENT;
}

/* An error, or an optional without a value. */
static bool has_ended(const Parts *x, uint32_t entry) {
    CelValue v = value_at(x, entry);

    return v.kind == CEL_ERROR || (v.kind == CEL_OPTIONAL && !v.inner);
}

/* Whether the user wrote the cel.bind(): names from macros start with @. */
static bool is_named_bind(const Parts *x, uint32_t i) {
    uint32_t parts[3];

    if (node_at(x, i)->kind != CEL_NODE_BIND)
        return false;
    cel_tree_children(x->of.checked->tree, i, parts);
    return !str_has_prefix(node_at(x, parts[1])->name, STR("@"));
}

/* a && b && c is one line with three parts, and so are nested cel.bind()s; the expansion of a macro
 * has no text of its own. */
static bool is_same_line(const Parts *x, uint32_t parent, uint32_t i) {
    const CelNode *outer = node_at(x, parent), *node = node_at(x, i);

    if ((node->from == outer->from && node->to == outer->to) || node->is_mixed)
        return true;
    if (node->kind == CEL_NODE_BIND)
        return is_named_bind(x, parent) && is_named_bind(x, i);
    return node->kind == outer->kind && (node->kind == CEL_NODE_AND || node->kind == CEL_NODE_OR);
}

static void add_part(Parts *x, Part item) {
    x->is_full |= x->pending.n >= PARTS_MAX || !VEC_ADD(&x->pending, x->arena, item);
}

/* The path to a field gets no line unless it has no value. Variables of macros are shown where they
 * are declared. */
static void add_child(Parts *x, const Part *parent, uint32_t i) {
    uint32_t entry;

    if (node_at(x, i)->kind == CEL_NODE_OPTIONAL)
        i--; /* show the optional itself, not its use in a list or map */
    if (x->of.nodes[i] == CEL_NO_NODE || is_literal(x, i) ||
        x->of.checked->infos[i].ref == CEL_REF_LOCAL)
        return;
    entry = find_entry(x, parent->entry, i);
    if (is_selection(node_at(x, parent->node)) && is_path(x, i) && !has_ended(x, entry))
        return;
    add_part(x, (Part){.node = i, .entry = entry});
}

/* Adds a part that is printed after the variables of the macro @parent. */
static void add_named(Parts *x, const Part *parent, uint32_t i) {
    if (!is_literal(x, i))
        add_part(x, (Part){
                        .node = i,
                        .entry = find_entry(x, parent->entry, i),
                        .macro = parent->node + 1,
                    });
}

/* Adds the turns of @loop: two lines for each if there is a predicate. */
static void add_turns(Parts *x, const Part *loop, const uint32_t *children) {
    const CelNode *node = node_at(x, loop->node);
    uint32_t body = children[node->n_children - 1], first = first_entry(x, loop->entry), from;

    if (seen_at(x, loop->entry)->skipped > 0)
        add_part(x, (Part){
                        .node = loop->node,
                        .entry = NOT_SEEN,
                        .skipped = seen_at(x, loop->entry)->skipped,
                    });
    for (uint32_t to = loop->entry; to > first && !x->is_full; to = from) {
        uint32_t number = seen_at(x, to - 1)->node;
        uint32_t part = number == x->of.nodes[body] ? body : children[1 + node->n_binders];

        from = first_entry(x, to - 1);
        if (from > first || number != x->of.nodes[children[0]])
            add_part(x, (Part){.node = part, .entry = to - 1, .macro = loop->node + 1});
    }
}

static void add_macro(Parts *x, const Part *item, const uint32_t *children) {
    switch (node_at(x, item->node)->kind) {
    case CEL_NODE_BIND:
        add_child(x, item, children[2]);
        if (is_named_bind(x, item->node))
            add_named(x, item, children[0]);
        else
            add_child(x, item, children[0]);
        break;
    case CEL_NODE_OPT_MAP:
    case CEL_NODE_OPT_FLAT_MAP:
        add_named(x, item, children[2]);
        add_child(x, item, children[0]);
        break;
    default:
        if (item->entry != NOT_SEEN)
            add_turns(x, item, children);
        add_child(x, item, children[0]);
    }
}

/* Adds the parts of @item. A value that was used again has its parts where it was computed. */
static void add_parts(Parts *x, const Part *item) {
    const CelNode *node = node_at(x, item->node);
    uint32_t *children = ARENA_RAW(x->arena, uint32_t, node->n_children);

    x->is_full |= !children;
    if (!children || (item->entry != NOT_SEEN && seen_at(x, item->entry)->is_again))
        return;
    cel_tree_children(x->of.checked->tree, item->node, children);
    if (node->n_binders > 0) {
        add_macro(x, item, children);
        return;
    }
    for (uint32_t k = node->n_children; k-- > 0 && !x->is_full;)
        add_child(x, item, children[k]);
}

/* Finds the parts of @item that have a line, into x->items: a part without a line of its own is
 * replaced by its parts. Does not set depth and is_last. */
static void find_parts(Parts *x, const Part *item) {
    x->items.n = x->pending.n = 0;
    if (item->entry == NOT_SEEN)
        return;
    add_parts(x, item);
    while (x->pending.n > 0 && !x->is_full) {
        Part part = x->pending.items[--x->pending.n];

        if (part.macro == 0 && part.skipped == 0 && is_same_line(x, item->node, part.node))
            add_parts(x, &part);
        else
            x->is_full |= x->items.n >= PARTS_MAX || !VEC_ADD(&x->items, x->arena, part);
    }
}

/* Lines of the tree: parents before their parts, by a stack instead of recursion. */

typedef struct Line {
    Str branch, text, value;
    size_t width;
    bool is_error, is_missing;
} Line;

typedef struct Explain {
    Parts parts;
    CelRun *run;
    size_t value_max;
    VEC(Part) stack;
    VEC(Line) lines;
    bool more[DEPTH_MAX + 1]; /* by depth: another branch follows below */
} Explain;

static Str text_of(const Parts *x, uint32_t i) {
    return cel_tree_text(x->of.checked->tree, i);
}

/* The source of a part in one line, of up to @room columns: white space is one space. @is_plain:
 * optional access (`[?'a']`, `.?a`) is shown as plain access. */
static void print_source(Str text, size_t room, bool is_plain, Buf *out) {
    size_t width = 0;

    text = str_trim(text);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i], before = out->len > 0 ? out->data[out->len - 1] : ' ';
        bool is_space = c == ' ' || (c >= '\t' && c <= '\r'), is_more = !utf8_is_start(c);

        if (!is_more && width >= room) {
            buf_append(out, STR("…"));
            return;
        }
        if ((is_space && before == ' ') ||
            (is_plain && c == '?' && (before == '[' || before == '.')))
            continue;
        buf_append_char(out, is_space ? ' ' : c);
        width += !is_more;
    }
}

/* x = 1, y = 2: the values of @macro's variables in the part of @entry, if it read them. */
static void print_variables(const Explain *x, uint32_t macro, uint32_t entry, Buf *out) {
    uint32_t children[CEL_MACRO_CHILDREN_MAX];

    cel_tree_children(x->parts.of.checked->tree, macro, children);
    for (uint32_t k = 1; k <= node_at(&x->parts, macro)->n_binders; k++) {
        uint32_t at = find_entry(&x->parts, entry, children[k]);

        if (at == NOT_SEEN)
            continue;
        buf_append(out, out->len > 0 ? STR(", ") : STR_NULL);
        print_source(text_of(&x->parts, children[k]), TEXT_WIDTH, false, out);
        buf_append(out, STR(" = "));
        cel_value_print(seen_at(&x->parts, at)->value, x->run, TEXT_WIDTH / 2, out);
    }
    buf_append(out, out->len > 0 ? STR(": ") : STR_NULL);
}

/* "x = " before the value of a cel.bind(), or the variables of the macro that the part uses. */
static void print_names(const Explain *x, const Part *item, Buf *out) {
    uint32_t macro = item->macro - 1, children[3];

    if (node_at(&x->parts, macro)->kind != CEL_NODE_BIND) {
        print_variables(x, macro, item->entry, out);
        return;
    }
    cel_tree_children(x->parts.of.checked->tree, macro, children);
    print_source(text_of(&x->parts, children[1]), TEXT_WIDTH, false, out);
    buf_append(out, STR(" = "));
}

static Str take(Explain *x, Buf *buf) {
    Str text = arena_copy(x->parts.arena, buf_str(buf));

    x->parts.is_full |= !text.ptr;
    buf_done(buf);
    return text;
}

static Str line_branch(Explain *x, const Part *item) {
    Buf out = BUF_INIT((size_t)DEPTH_MAX * 16);
    uint32_t depth = item->depth < DEPTH_MAX ? item->depth : DEPTH_MAX;

    x->more[depth] = !item->is_last;
    for (uint32_t i = 1; i < depth; i++)
        buf_append(&out, x->more[i] ? STR("│  ") : STR("   "));
    if (depth > 0)
        buf_append(&out, item->is_last ? STR("└─ ") : STR("├─ "));
    return take(x, &out);
}

static Str line_text(Explain *x, const Part *item) {
    Buf out = BUF_INIT(4096);
    Str text;

    if (item->skipped > 0) {
        buf_printf(&out, "… %u more turn%s", item->skipped, PLURAL(item->skipped));
        return take(x, &out);
    }
    if (item->macro > 0)
        print_names(x, item, &out);
    text = item->depth == 0 ? x->parts.of.checked->tree->source : text_of(&x->parts, item->node);
    print_source(text, TEXT_WIDTH, false, &out);
    return take(x, &out);
}

static Str line_value(Explain *x, const Part *item) {
    Buf out = BUF_INIT(4096);
    CelValue v;

    if (item->skipped > 0)
        return STR_NULL;
    if (item->entry == NOT_SEEN)
        return STR("not evaluated");
    v = seen_at(&x->parts, item->entry)->value;
    if (v.kind == CEL_ERROR)
        buf_printf(&out, "error: %.*s", STR_FMT(v.error->text));
    else
        cel_value_print(v, x->run, x->value_max, &out);
    return take(x, &out);
}

static void add_line(Explain *x, const Part *item) {
    Line *line = x->lines.n < CEL_EXPLAIN_LINES_MAX ? VEC_PUSH(&x->lines, x->parts.arena) : NULL;

    if (!line) {
        x->parts.is_full = true;
        return;
    }
    line->branch = line_branch(x, item);
    line->text = line_text(x, item);
    line->value = line_value(x, item);
    line->width = utf8_count(line->branch) + utf8_count(line->text);
    line->is_missing = item->entry == NOT_SEEN;
    line->is_error = !line->is_missing && seen_at(&x->parts, item->entry)->value.kind == CEL_ERROR;
}

static void make_lines(Explain *x, Part root) {
    x->parts.is_full |= !VEC_ADD(&x->stack, x->parts.arena, root);
    while (x->stack.n > 0 && !x->parts.is_full) {
        Part item = x->stack.items[--x->stack.n];

        add_line(x, &item);
        find_parts(&x->parts, &item);
        for (size_t i = x->parts.items.n; i-- > 0;) {
            Part part = x->parts.items.items[i];

            part.depth = item.depth + 1;
            part.is_last = i + 1 == x->parts.items.n;
            x->parts.is_full |= !VEC_ADD(&x->stack, x->parts.arena, part);
        }
    }
}

static void print_lines(const Explain *x, bool colour, Buf *out) {
    size_t width = 0;

    for (size_t i = 0; i < x->lines.n; i++) {
        if (x->lines.items[i].width > width)
            width = x->lines.items[i].width;
    }
    for (size_t i = 0; i < x->lines.n; i++) {
        const Line *line = &x->lines.items[i];
        const char *on = line->is_error ? "\033[31m" : line->is_missing ? "\033[2m" : "\033[36m";

        buf_append(out, line->branch);
        buf_append(out, line->text);
        if (line->value.len > 0)
            buf_append_repeat(out, ' ', width - line->width + 2);
        if (colour)
            buf_append(out, str_from_c(on));
        buf_append(out, line->value);
        buf_append(out, colour ? STR("\033[0m\n") : STR("\n"));
    }
    if (x->parts.is_full || x->parts.log->is_cut)
        buf_append(out, STR("… (there is more than this shows)\n"));
}

int cel_explainer_init(CelExplainer *ret, const CelChecked *checked, CelGraph *graph,
    const CelOptions *options, Arena *arena, DiagList *diags) {
    uint32_t n = checked->tree->n_nodes, *nodes = ARENA_ARRAY(arena, uint32_t, n);
    CelEmitOptions emit = {.trace = true};
    CelCode *code = NULL;
    int r;

    if (!nodes)
        return -ENOMEM;
    r = cel_lower_each(graph, checked, options, diags, nodes);
    if (r == 0)
        r = error_fold(cel_emit(graph, nodes[n - 1], &emit, arena, &code));
    *ret = (CelExplainer){.checked = checked, .graph = graph, .nodes = nodes, .code = code};
    return r;
}

static uint32_t root_of(const CelExplainer *explainer) {
    return explainer->nodes[explainer->checked->tree->n_nodes - 1];
}

/* Keeps only the result if the log was cut before its last entry, or lacks one (a constant). */
static void complete_log(CelExplained *explained) {
    CelTraceLog *log = &explained->log;

    if (log->seen.n > 0 && log->seen.items[log->seen.n - 1].node == root_of(explained->explainer))
        return;
    explained->whole = (CelSeen){
        .node = root_of(explained->explainer),
        .size = 1,
        .is_again = log->is_cut,
        .value = explained->result,
    };
    log->seen.items = &explained->whole;
    log->seen.n = 1;
}

int cel_explained_run(CelExplained *ret, const CelExplainer *explainer, const CelValue *variables,
    CelRun *run, Arena *arena) {
    CelTrace *before = run->trace;
    int r;

    *ret = (CelExplained){.explainer = explainer, .run = run, .arena = arena};
    r = log_init(&ret->log, explainer->graph, arena);
    if (r < 0)
        return r;
    run->trace = &ret->log.trace;
    ret->result = cel_run(explainer->code, run, variables);
    run->trace = before;
    complete_log(ret);
    return 0;
}

void cel_explained_print(const CelExplained *explained, size_t value_max, bool colour, Buf *out) {
    const CelExplainer *explainer = explained->explainer;
    Explain x = {
        .parts = parts_of(explained),
        .run = explained->run,
        .value_max = value_max,
    };

    make_lines(&x, (Part){
                       .node = explainer->checked->tree->n_nodes - 1,
                       .entry = (uint32_t)explained->log.seen.n - 1,
                       .is_last = true,
                   });
    print_lines(&x, colour, out);
}

/* Leaves: the values that were read, found from the result down along the parts that caused it.
 * Parts that made no difference are skipped, so that the rest fits on one line. */

#define LEAVES_STACK_MAX 256 /* parts still to visit; more are skipped */

typedef struct Leaves {
    Parts parts;
    Part stack[LEAVES_STACK_MAX];
    size_t n_stack;
    CelLeaf *found;
    size_t n, max;
} Leaves;

static void push_visit(Leaves *l, uint32_t node, uint32_t entry) {
    if (entry != NOT_SEEN && l->n_stack < LEAVES_STACK_MAX)
        l->stack[l->n_stack++] = (Part){.node = node, .entry = entry};
}

/* Prints labels[params.key] with the value of the key, which is what users search for. False: part
 * @i is something else. */
static bool print_index(const Leaves *l, uint32_t i, uint32_t around, Buf *out) {
    const CelNode *node = node_at(&l->parts, i);
    Str text = text_of(&l->parts, i);
    uint32_t key, entry;

    if (!is_index(node_at(&l->parts, i)))
        return false;
    key = i - 1;
    entry = find_entry(&l->parts, around, key);
    if (node_at(&l->parts, key)->kind == CEL_NODE_LITERAL || entry == NOT_SEEN)
        return false;
    text.len = node_at(&l->parts, key - node_at(&l->parts, key)->size)->to - node->from;
    print_source(text, SIZE_MAX, true, out);
    buf_append_char(out, '[');
    cel_value_print(value_at(&l->parts, entry), NULL, CEL_LEAF_COLUMNS, out);
    buf_append_char(out, ']');
    return true;
}

/* The text of part @i. @around: its entry, or the entry of a part around it. */
static Str leaf_text(const Leaves *l, uint32_t i, uint32_t around) {
    Buf out = BUF_INIT(4096);
    Str text, cut;

    if (!print_index(l, i, around, &out))
        print_source(text_of(&l->parts, i), SIZE_MAX, true, &out);
    text = buf_str(&out);
    cut = visible_take(text, CEL_LEAF_COLUMNS);
    text = cut.len == text.len ? arena_copy(l->parts.arena, text)
                               : arena_printf(l->parts.arena, "%.*s…", STR_FMT(cut));
    buf_done(&out);
    return text;
}

static void add_leaf(Leaves *l, Str text, CelValue value) {
    if (!text.ptr || l->n == l->max)
        return;
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->found[i].text, text))
            return;
    if (value.kind == CEL_OPTIONAL)
        value = value.inner ? *value.inner : cel_absent();
    l->found[l->n++] = (CelLeaf){text, value};
}

static void add_visited(Leaves *l, const Part *visit) {
    add_leaf(l, leaf_text(l, visit->node, visit->entry), value_at(&l->parts, visit->entry));
}

/* The size of the range; or its error, if the range itself failed. */
static void add_size(Leaves *l, const Part *loop, uint32_t range) {
    uint32_t entry = find_entry(&l->parts, loop->entry, range);
    CelValue v = value_at(&l->parts, entry);
    Str text;

    if (v.kind != CEL_LIST && v.kind != CEL_MAP) {
        push_visit(l, range, entry);
        return;
    }
    text = leaf_text(l, range, loop->entry);
    if (!text.ptr)
        return;
    add_leaf(l, arena_printf(l->parts.arena, "%.*s.size()", STR_FMT(text)),
        cel_int(v.kind == CEL_LIST ? v.list->n : v.map->n));
}

static bool is_like(CelValue v, CelValue whole) {
    return v.kind == whole.kind && (v.kind != CEL_BOOL || v.boolean == whole.boolean);
}

/* Pushes the children, the last one first; with @only_alike, those with the value of the whole. */
static void push_children(
    Leaves *l, const Part *visit, const uint32_t *children, uint32_t n, bool only_alike) {
    for (uint32_t k = n; k-- > 0;) {
        uint32_t entry = find_entry(&l->parts, visit->entry, children[k]);

        if (!only_alike || is_like(value_at(&l->parts, entry), value_at(&l->parts, visit->entry)))
            push_visit(l, children[k], entry);
    }
}

/* Pushes the first turn whose body decided the value of the loop. False: there is none. */
static bool push_turn(Leaves *l, const Part *loop, uint32_t body) {
    CelValue whole = value_at(&l->parts, loop->entry);
    uint32_t first = first_entry(&l->parts, loop->entry), found = NOT_SEEN;

    for (uint32_t to = loop->entry; to > first; to = first_entry(&l->parts, to - 1)) {
        const CelSeen *turn = seen_at(&l->parts, to - 1);

        if (turn->node == l->parts.of.nodes[body] && is_like(turn->value, whole))
            found = to - 1;
    }
    push_visit(l, body, found);
    return found != NOT_SEEN;
}

static void visit_loop(
    Leaves *l, const Part *visit, const CelNode *node, const uint32_t *children) {
    bool decides =
        value_at(&l->parts, visit->entry).kind == CEL_ERROR ||
        (node->kind == CEL_NODE_ALL && !cel_is_true(value_at(&l->parts, visit->entry))) ||
        (node->kind == CEL_NODE_EXISTS && cel_is_true(value_at(&l->parts, visit->entry)));

    if (decides && push_turn(l, visit, children[node->n_children - 1]))
        return;
    if (node->kind == CEL_NODE_ALL || node->kind == CEL_NODE_EXISTS ||
        node->kind == CEL_NODE_EXISTS_ONE)
        add_size(l, visit, children[0]);
    else
        add_visited(l, visit);
}

/* map[?'key'].orValue('') is shown as map['key'] with its value, or absent. */
static bool add_or_value(
    Leaves *l, const Part *visit, const CelNode *node, const uint32_t *children) {
    uint32_t entry;

    if (node->n_children != 2 || !node->is_receiver || !str_is(node->name, "orValue") ||
        !is_path(&l->parts, children[0]))
        return false;
    entry = find_entry(&l->parts, visit->entry, children[0]);
    add_leaf(l, leaf_text(l, children[0], entry), value_at(&l->parts, entry));
    return true;
}

static bool is_large(CelValue v) {
    return v.kind == CEL_LIST || v.kind == CEL_MAP || v.kind == CEL_RECORD;
}

/* Pushes operands of a test. Instead of a list, map or record the test itself is a leaf. */
static void push_operands(Leaves *l, const Part *visit, const uint32_t *children, uint32_t n) {
    bool is_shown = false;

    for (uint32_t k = n; k-- > 0;) {
        uint32_t entry = find_entry(&l->parts, visit->entry, children[k]);

        if (entry == NOT_SEEN || is_literal(&l->parts, children[k]))
            continue;
        if (!is_large(value_at(&l->parts, entry)))
            push_visit(l, children[k], entry);
        else if (!is_shown)
            add_visited(l, visit);
        is_shown |= is_large(value_at(&l->parts, entry));
    }
}

/* Operators and calls that return bool are explained by their operands, others are leaves. */
static void visit_call(
    Leaves *l, const Part *visit, const CelNode *node, const uint32_t *children) {
    CelValue v = value_at(&l->parts, visit->entry);
    size_t stacked = l->n_stack, found = l->n;

    if (add_or_value(l, visit, node, children))
        return;
    if ((node->is_operator && !is_path(&l->parts, visit->node)) || v.kind == CEL_BOOL)
        push_operands(l, visit, children, node->n_children);
    if (l->n_stack == stacked && l->n == found)
        add_visited(l, visit);
}

static void visit_part(Leaves *l, const Part *visit, const uint32_t *children) {
    const CelNode *node = node_at(&l->parts, visit->node);
    CelValue v = value_at(&l->parts, visit->entry);

    switch (node->kind) {
    case CEL_NODE_AND:
    case CEL_NODE_OR:
        push_children(
            l, visit, children, 2, v.kind != CEL_BOOL || v.boolean != (node->kind == CEL_NODE_AND));
        break;
    case CEL_NODE_CONDITIONAL:
        push_children(l, visit, children, 3, /* only_alike= */ false);
        break;
    case CEL_NODE_CALL:
        visit_call(l, visit, node, children);
        break;
    case CEL_NODE_BIND:
    case CEL_NODE_OPT_MAP:
    case CEL_NODE_OPT_FLAT_MAP:
        push_children(l, visit, &children[2], 1, /* only_alike= */ false);
        break;
    default:
        if (node->n_binders > 0)
            visit_loop(l, visit, node, children);
        else
            add_visited(l, visit);
    }
}

size_t cel_explained_leaves(const CelExplained *explained, CelLeaf *ret, size_t max) {
    const CelTree *tree = explained->explainer->checked->tree;
    Leaves l = {
        .parts = parts_of(explained),
        .found = ret,
        .max = max,
    };

    push_visit(&l, tree->n_nodes - 1, (uint32_t)explained->log.seen.n - 1);
    while (l.n_stack > 0 && l.n < max) {
        Part visit = l.stack[--l.n_stack];
        const CelNode *node = node_at(&l.parts, visit.node);
        uint32_t *children = ARENA_RAW(l.parts.arena, uint32_t, node->n_children);

        if (!children)
            break;
        if (is_literal(&l.parts, visit.node))
            continue;
        cel_tree_children(tree, visit.node, children);
        if (is_path(&l.parts, visit.node))
            add_visited(&l, &visit);
        else
            visit_part(&l, &visit, children);
    }
    return l.n;
}

int cel_explain(const CelEnv *env, Str file, Str source, const CelOptions *options,
    const CelValue *variables, CelRun *run, bool colour, DiagList *diags, Buf *out, CelValue *ret) {
    static const CelOptions plain = {0};
    _cleanup_(arena_freep) Arena *arena = arena_new(SCRATCH_MAX);
    CelGraph *graph = arena ? cel_graph_new(arena, run->arena) : NULL;
    CelChecked *checked = NULL;
    CelExplainer explainer = {0};
    CelExplained explained = {0};
    int r;

    if (!graph)
        return -ENOMEM;
    if (!options)
        options = &plain;
    r = cel_compile_tree(env, file, source, options, arena, diags, &checked);
    if (r == 0)
        r = cel_explainer_init(&explainer, checked, graph, options, run->arena, diags);
    if (r == 0)
        r = cel_explained_run(&explained, &explainer, variables, run, arena);
    if (r != 0)
        return r;
    cel_explained_print(&explained, CEL_EXPLAIN_VALUE_MAX, colour, out);
    if (ret)
        *ret = explained.result;
    return 0;
}
