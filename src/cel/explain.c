/*
 * The log of a run (trace.h), turned into lines. It is in post-order and lines are in
 * pre-order, so this is a walk from the end with a stack; the graph says which parts
 * are missing because nobody needed them.
 */
#include "cel/explain.h"

#include <errno.h>

#include "base/error.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cel/program.h"
#include "cel/trace.h"

#define SCRATCH_MAX ((size_t)256 * 1024 * 1024)
#define TEXT_WIDTH 56   /* columns of a part's text; longer ones are cut */
#define VALUE_WIDTH 100 /* bytes of a value */
#define DEPTH_MAX 24    /* indentation; deeper parts stand under each other */
#define PARTS_MAX 4096  /* of one part */
#define NOT_SEEN UINT32_MAX

/* A line to come: a part that was computed, one that was not, or turns left out. */
typedef struct Item {
    uint32_t node;
    uint32_t entry;   /* in the log, or NOT_SEEN */
    uint32_t skipped; /* turns: a line that counts them */
    uint32_t loop;    /* + 1: a turn of it; its variables stand before the text */
    uint32_t depth;
    bool is_last;
} Item;

typedef struct Line {
    Str branch, text, value;
    size_t width;
    bool is_error, is_missing;
} Line;

typedef struct Explain {
    const CelGraph *graph;
    const CelTraceLog *log;
    Str source;
    CelRun *run;
    Arena *arena;
    VEC(Item) stack;
    VEC(Item) parts; /* of the item at hand */
    VEC(Line) lines;
    bool more[DEPTH_MAX + 1]; /* by depth: the branch goes on below */
    bool is_full;
} Explain;

static const CelGraphNode *node_of(const Explain *x, uint32_t number) {
    return cel_graph_node(x->graph, number);
}

static const CelSeen *seen_of(const Explain *x, uint32_t entry) {
    return &x->log->seen.items[entry];
}

/* --- what is worth a line -------------------------------------------------------------- */

static bool is_literal(const Explain *x, const CelGraphNode *node) {
    if (node->op == OP_CONSTANT)
        return true;
    if (node->op != OP_LIST && node->op != OP_MAP)
        return false;
    for (uint32_t i = 0; i < node->n_args; i++) {
        if (node_of(x, node->args[i])->op != OP_CONSTANT)
            return false;
    }
    return true;
}

static bool is_path(const CelGraphNode *node) {
    return node->op == OP_VARIABLE || node->op == OP_LOCAL ||
           (node->op >= OP_FIELD && node->op <= OP_OPT_SELECT);
}

static bool is_selection(const CelGraphNode *node) {
    return (node->op >= OP_FIELD && node->op <= OP_OPT_INDEX) || node->op == OP_OPT_HAS ||
           node->op == OP_OPT_GET;
}

/* The way to a field matters only when it ends before it; a loop's variables stand with
 * its turns. */
static bool is_hidden(
    const Explain *x, const CelGraphNode *parent, bool has_failed, const CelGraphNode *node) {
    if (is_literal(x, node) || node->op == OP_LOCAL)
        return true;
    return is_selection(parent) && is_path(node) && !has_failed;
}

/* a && b && c is one line with three parts; what a macro was made of has no text of its own. */
static bool is_same_line(const CelGraphNode *parent, const CelGraphNode *node) {
    return (node->from == parent->from && node->to == parent->to) ||
           (node->op == parent->op && (node->op == OP_AND || node->op == OP_OR));
}

/* --- parts of an entry ----------------------------------------------------------------- */

static void add_part(Explain *x, Item item) {
    Item *part = x->parts.n < PARTS_MAX ? VEC_PUSH(&x->parts, x->arena) : NULL;

    if (part)
        *part = item;
    else
        x->is_full = true;
}

/* The entries under @entry, which are few. */
static size_t entries_of(const Explain *x, uint32_t entry, uint32_t **ret) {
    size_t n = cel_trace_parts(x->log, entry, NULL, 0);

    *ret = ARENA_RAW(x->arena, uint32_t, n);
    return *ret ? cel_trace_parts(x->log, entry, *ret, n) : 0;
}

static void add_turns(Explain *x, uint32_t entry, const uint32_t *entries, size_t n) {
    uint32_t number = seen_of(x, entry)->node;
    const CelGraphNode *loop = node_of(x, number);

    for (size_t i = 0; i < n; i++) {
        uint32_t node = seen_of(x, entries[i])->node;
        bool is_range = i == 0 && node == loop->args[0];

        if (is_range && is_hidden(x, loop, false, node_of(x, node)))
            continue;
        add_part(x, (Item){.node = node, .entry = entries[i], .loop = is_range ? 0 : number + 1});
    }
    if (seen_of(x, entry)->skipped > 0)
        add_part(
            x, (Item){.node = number, .entry = NOT_SEEN, .skipped = seen_of(x, entry)->skipped});
}

static void add_args(Explain *x, uint32_t entry, const uint32_t *entries, size_t n) {
    const CelGraphNode *node = node_of(x, seen_of(x, entry)->node);
    size_t next = 0;

    for (uint32_t k = 0; k < node->n_args; k++) {
        uint32_t arg = node->args[k];
        bool is_seen = next < n && seen_of(x, entries[next])->node == arg;
        uint32_t at = is_seen ? entries[next++] : NOT_SEEN;
        bool has_failed = is_seen && seen_of(x, at)->value.kind == CEL_ERROR;

        if (is_hidden(x, node, has_failed, node_of(x, arg)))
            continue;
        if (!is_seen && is_same_line(node, node_of(x, arg)))
            continue;
        if (is_seen && seen_of(x, at)->is_again && node->op == OP_OPT_GET)
            continue; /* optMap() looked at the optional before */
        add_part(x, (Item){.node = arg, .entry = at});
    }
}

static void add_parts(Explain *x, uint32_t entry) {
    uint32_t *entries;
    size_t n = entries_of(x, entry, &entries);

    if (cel_op_is_loop(node_of(x, seen_of(x, entry)->node)->op))
        add_turns(x, entry, entries, n);
    else
        add_args(x, entry, entries, n);
}

/* Puts the parts of parts that have no line of their own in their place. */
static void find_parts(Explain *x, const Item *item) {
    const CelGraphNode *node = node_of(x, item->node);

    x->parts.n = 0;
    add_parts(x, item->entry);
    for (size_t i = 0; i < x->parts.n && !x->is_full;) {
        Item part = x->parts.items[i];
        size_t n = x->parts.n, n_new;

        if (part.entry == NOT_SEEN || part.loop > 0 || !is_same_line(node, node_of(x, part.node))) {
            i++;
            continue;
        }
        add_parts(x, part.entry);
        n_new = x->parts.n - n;
        /* The new ones stand at the end: move them to where the part was. */
        Item *moved = ARENA_RAW(x->arena, Item, n_new);
        if (!moved)
            return;
        memcpy(moved, &x->parts.items[n], n_new * sizeof(Item));
        memmove(&x->parts.items[i + n_new], &x->parts.items[i + 1], (n - i - 1) * sizeof(Item));
        memcpy(&x->parts.items[i], moved, n_new * sizeof(Item));
        x->parts.n = n + n_new - 1;
    }
}

/* --- lines ----------------------------------------------------------------------------- */

static size_t width_of(Str text) {
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return n;
}

static Str text_of(const Explain *x, const CelGraphNode *node) {
    return str_trim(str_take(str_skip(x->source, node->from), node->to - node->from));
}

/* The source of a part in one line: white space is one space. */
static void print_source(Str text, size_t room, Buf *out) {
    size_t width = 0;

    for (size_t i = 0; i < text.len; i++) {
        bool is_space = text.ptr[i] == ' ' || (text.ptr[i] >= '\t' && text.ptr[i] <= '\r');
        bool is_more = ((unsigned char)text.ptr[i] & 0xc0) == 0x80;

        if (!is_more && width >= room) {
            buf_append(out, STR("…"));
            return;
        }
        if (is_space && i > 0 && out->len > 0 && out->data[out->len - 1] == ' ')
            continue;
        buf_append_char(out, is_space ? ' ' : text.ptr[i]);
        width += !is_more;
    }
}

/* The values that the variables of loop @loop had in the part of @entry, if it looked at them. */
static void print_variables(const Explain *x, const CelGraphNode *loop, uint32_t entry, Buf *out) {
    uint32_t level = loop->immediate & CEL_LOOP_LEVEL;

    for (uint32_t which = 0; which < 2; which++) {
        for (uint32_t i = entry + 1 - seen_of(x, entry)->size; i <= entry; i++) {
            const CelGraphNode *node = node_of(x, seen_of(x, i)->node);

            if (node->op != OP_LOCAL || node->immediate != 2 * level + which)
                continue;
            buf_append(out, out->len > 0 ? STR(", ") : STR_NULL);
            print_source(text_of(x, node), TEXT_WIDTH, out);
            buf_append(out, STR(" = "));
            cel_value_print(seen_of(x, i)->value, x->run, TEXT_WIDTH / 2, out);
            break;
        }
    }
    buf_append(out, out->len > 0 ? STR(": ") : STR_NULL);
}

static Str take(Explain *x, Buf *buf) {
    Str text = arena_copy(x->arena, buf_str(buf));

    x->is_full |= !text.ptr;
    buf_done(buf);
    return text;
}

static Str line_branch(Explain *x, const Item *item) {
    Buf out = BUF_INIT((size_t)DEPTH_MAX * 16);
    uint32_t depth = item->depth < DEPTH_MAX ? item->depth : DEPTH_MAX;

    x->more[depth] = !item->is_last;
    for (uint32_t i = 1; i < depth; i++)
        buf_append(&out, x->more[i] ? STR("│  ") : STR("   "));
    if (depth > 0)
        buf_append(&out, item->is_last ? STR("└─ ") : STR("├─ "));
    return take(x, &out);
}

static Str line_text(Explain *x, const Item *item) {
    Buf out = BUF_INIT(4096);

    if (item->skipped > 0) {
        buf_printf(&out, "… %u more turn%s", item->skipped, item->skipped == 1 ? "" : "s");
        return take(x, &out);
    }
    if (item->loop > 0)
        print_variables(x, node_of(x, item->loop - 1), item->entry, &out);
    print_source(item->depth == 0 ? str_trim(x->source) : text_of(x, node_of(x, item->node)),
        TEXT_WIDTH,
        &out);
    return take(x, &out);
}

static Str line_value(Explain *x, const Item *item) {
    Buf out = BUF_INIT(4096);
    CelValue v;

    if (item->skipped > 0)
        return STR_NULL;
    if (item->entry == NOT_SEEN)
        return STR("not evaluated");
    v = seen_of(x, item->entry)->value;
    if (v.kind == CEL_ERROR)
        buf_printf(&out, "error: %.*s", STR_FMT(v.error->text));
    else if (v.kind == CEL_ABSENT)
        buf_append(&out, STR("nothing"));
    else
        cel_value_print(v, x->run, VALUE_WIDTH, &out);
    return take(x, &out);
}

static void add_line(Explain *x, const Item *item) {
    Line *line = x->lines.n < CEL_EXPLAIN_LINES_MAX ? VEC_PUSH(&x->lines, x->arena) : NULL;

    if (!line) {
        x->is_full = true;
        return;
    }
    line->branch = line_branch(x, item);
    line->text = line_text(x, item);
    line->value = line_value(x, item);
    line->width = width_of(line->branch) + width_of(line->text);
    line->is_missing = item->entry == NOT_SEEN;
    line->is_error = !line->is_missing && seen_of(x, item->entry)->value.kind == CEL_ERROR;
}

static void push(Explain *x, Item item) {
    Item *slot = VEC_PUSH(&x->stack, x->arena);

    if (slot)
        *slot = item;
    else
        x->is_full = true;
}

static void make_lines(Explain *x, Item root) {
    push(x, root);
    while (x->stack.n > 0 && !x->is_full) {
        Item item = x->stack.items[--x->stack.n];

        add_line(x, &item);
        if (item.entry == NOT_SEEN || seen_of(x, item.entry)->is_again)
            continue;
        find_parts(x, &item);
        for (size_t i = x->parts.n; i-- > 0;) {
            Item part = x->parts.items[i];

            part.depth = item.depth + 1;
            part.is_last = i + 1 == x->parts.n;
            push(x, part);
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
    if (x->is_full || x->log->is_cut)
        buf_append(out, STR("… (there is more than this shows)\n"));
}

/* --- the run --------------------------------------------------------------------------- */

static int trace_run(const CelGraph *graph, uint32_t root, const CelValue *variables, CelRun *run,
    Arena *arena, CelTraceLog *log, CelValue *ret) {
    CelEmitOptions options = {.trace = true, .scratch = arena};
    CelTrace *before = run->trace;
    CelCode *code = NULL;
    int r;

    r = cel_emit(graph, root, &options, run->arena, &code);
    if (r == 0)
        r = cel_trace_log_init(log, graph, arena);
    if (r < 0)
        return error_trace(r);
    run->trace = &log->trace;
    *ret = cel_run(code, run, variables);
    run->trace = before;
    return 0;
}

/* Without its last entry (a ceiling) or for a constant there is only the result to tell. */
static void explain(Explain *x, uint32_t root, CelValue result, bool colour, Buf *out) {
    size_t n = x->log->seen.n;
    CelSeen whole = {.node = root, .size = 1, .value = result};
    CelTraceLog log = *x->log;

    if (n == 0 || x->log->seen.items[n - 1].node != root) {
        log.seen.items = &whole;
        log.seen.n = 1;
        x->log = &log;
    }
    make_lines(x, (Item){.node = root, .entry = (uint32_t)x->log->seen.n - 1, .is_last = true});
    print_lines(x, colour, out);
}

static int lower_each(const CelChecked *checked, const CelOptions *options, Arena *arena,
    Arena *keep, DiagList *diags, CelGraph **ret, uint32_t *ret_root) {
    uint32_t n = checked->tree->n_nodes, *nodes = ARENA_ARRAY(arena, uint32_t, n);
    CelGraph *graph = cel_graph_new(arena, keep);
    int r;

    if (!graph || !nodes)
        return error_origin(-ENOMEM);
    r = cel_lower_each(graph, checked, options, diags, nodes);
    if (r == CEL_LOWER_REFUSED)
        return CEL_COMPILE_REFUSED;
    if (r != 0)
        return error_fold(r);
    *ret = graph;
    *ret_root = nodes[n - 1];
    return 0;
}

int cel_explain(const CelEnv *env, Str file, Str source, const CelOptions *options,
    const CelValue *variables, CelRun *run, bool colour, DiagList *diags, Buf *out, CelValue *ret) {
    static const CelOptions plain = {0};
    _cleanup_(arena_freep) Arena *arena = arena_new(SCRATCH_MAX);
    Explain x = {.source = source, .run = run, .arena = arena};
    CelChecked *checked = NULL;
    CelGraph *graph = NULL;
    CelTraceLog log = {0};
    CelValue result = cel_absent();
    uint32_t root = CEL_NO_NODE;
    int r;

    if (!arena)
        return error_origin(-ENOMEM);
    r = cel_compile_tree(env, file, source, options ? options : &plain, arena, diags, &checked);
    if (r == 0)
        r = lower_each(
            checked, options ? options : &plain, arena, run->arena, diags, &graph, &root);
    if (r == 0)
        r = trace_run(graph, root, variables, run, arena, &log, &result);
    if (r != 0)
        return error_trace(r);
    x.graph = graph;
    x.log = &log;
    explain(&x, root, result, colour, out);
    if (ret)
        *ret = result;
    return 0;
}
