/* The lines: a walk over the parts (explain-part.h), parents before their parts, with a stack. */
#include "cel/explain.h"

#include <errno.h>

#include "base/error.h"
#include "base/utf8.h"
#include "cel/explain-internal.h"
#include "cel/program.h"

#define SCRATCH_MAX ((size_t)256 * 1024 * 1024)
#define TEXT_WIDTH 56 /* columns of a part's text; longer ones are cut */
#define DEPTH_MAX 24  /* indentation; deeper parts are not indented further */

typedef struct Line {
    Str branch, text, value;
    size_t width;
    bool is_error, is_missing;
} Line;

typedef struct Explain {
    CelExplainParts parts;
    Str source;
    CelRun *run;
    Arena *arena;
    size_t value_max;
    VEC(CelExplainPart) stack;
    VEC(Line) lines;
    bool more[DEPTH_MAX + 1]; /* by depth: the branch goes on below */
    bool is_full;
} Explain;

static Str text_of(const Explain *x, uint32_t i) {
    const CelNode *node = cel_explain_node(&x->parts, i);

    return str_trim(str_take(str_skip(x->source, node->from), node->to - node->from));
}

/* The source of a part in one line: white space is one space. */
static void print_source(Str text, size_t room, Buf *out) {
    size_t width = 0;

    for (size_t i = 0; i < text.len; i++) {
        bool is_space = text.ptr[i] == ' ' || (text.ptr[i] >= '\t' && text.ptr[i] <= '\r');
        bool is_more = !utf8_is_start(text.ptr[i]);

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

/* x = 1, y = 2: the values of @macro's variables in the part of @entry, if it read them. */
static void print_variables(const Explain *x, uint32_t macro, uint32_t entry, Buf *out) {
    uint32_t children[CEL_MACRO_CHILDREN_MAX];

    cel_tree_children(x->parts.checked->tree, macro, children);
    for (uint32_t k = 1; k <= cel_explain_node(&x->parts, macro)->n_binders; k++) {
        uint32_t at = cel_explain_entry(&x->parts, entry, children[k]);

        if (at == CEL_NOT_SEEN)
            continue;
        buf_append(out, out->len > 0 ? STR(", ") : STR_NULL);
        print_source(text_of(x, children[k]), TEXT_WIDTH, out);
        buf_append(out, STR(" = "));
        cel_value_print(cel_explain_seen(&x->parts, at)->value, x->run, TEXT_WIDTH / 2, out);
    }
    buf_append(out, out->len > 0 ? STR(": ") : STR_NULL);
}

/* The part is the value of a cel.bind(), or depends on variables of a macro. */
static void print_names(const Explain *x, const CelExplainPart *item, Buf *out) {
    uint32_t macro = item->macro - 1, children[3];

    if (cel_explain_node(&x->parts, macro)->kind != CEL_NODE_BIND) {
        print_variables(x, macro, item->entry, out);
        return;
    }
    cel_tree_children(x->parts.checked->tree, macro, children);
    print_source(text_of(x, children[1]), TEXT_WIDTH, out);
    buf_append(out, STR(" = "));
}

static Str take(Explain *x, Buf *buf) {
    Str text = arena_copy(x->arena, buf_str(buf));

    x->is_full |= !text.ptr;
    buf_done(buf);
    return text;
}

static Str line_branch(Explain *x, const CelExplainPart *item) {
    Buf out = BUF_INIT((size_t)DEPTH_MAX * 16);
    uint32_t depth = item->depth < DEPTH_MAX ? item->depth : DEPTH_MAX;

    x->more[depth] = !item->is_last;
    for (uint32_t i = 1; i < depth; i++)
        buf_append(&out, x->more[i] ? STR("│  ") : STR("   "));
    if (depth > 0)
        buf_append(&out, item->is_last ? STR("└─ ") : STR("├─ "));
    return take(x, &out);
}

static Str line_text(Explain *x, const CelExplainPart *item) {
    Buf out = BUF_INIT(4096);

    if (item->skipped > 0) {
        buf_printf(&out, "… %u more turn%s", item->skipped, item->skipped == 1 ? "" : "s");
        return take(x, &out);
    }
    if (item->macro > 0)
        print_names(x, item, &out);
    print_source(item->depth == 0 ? str_trim(x->source) : text_of(x, item->node), TEXT_WIDTH, &out);
    return take(x, &out);
}

static Str line_value(Explain *x, const CelExplainPart *item) {
    Buf out = BUF_INIT(4096);
    CelValue v;

    if (item->skipped > 0)
        return STR_NULL;
    if (item->entry == CEL_NOT_SEEN)
        return STR("not evaluated");
    v = cel_explain_seen(&x->parts, item->entry)->value;
    if (v.kind == CEL_ERROR)
        buf_printf(&out, "error: %.*s", STR_FMT(v.error->text));
    else
        cel_value_print(v, x->run, x->value_max, &out);
    return take(x, &out);
}

static void add_line(Explain *x, const CelExplainPart *item) {
    Line *line = x->lines.n < CEL_EXPLAIN_LINES_MAX ? VEC_PUSH(&x->lines, x->arena) : NULL;

    if (!line) {
        x->is_full = true;
        return;
    }
    line->branch = line_branch(x, item);
    line->text = line_text(x, item);
    line->value = line_value(x, item);
    line->width = utf8_count(line->branch) + utf8_count(line->text);
    line->is_missing = item->entry == CEL_NOT_SEEN;
    line->is_error =
        !line->is_missing && cel_explain_seen(&x->parts, item->entry)->value.kind == CEL_ERROR;
}

static void push(Explain *x, CelExplainPart item) {
    x->is_full |= !VEC_ADD(&x->stack, x->arena, item);
}

static void make_lines(Explain *x, CelExplainPart root) {
    push(x, root);
    while (x->stack.n > 0 && !x->is_full && !x->parts.is_full) {
        CelExplainPart item = x->stack.items[--x->stack.n];

        add_line(x, &item);
        cel_explain_find(&x->parts, &item);
        for (size_t i = x->parts.items.n; i-- > 0;) {
            CelExplainPart part = x->parts.items.items[i];

            part.depth = item.depth + 1;
            part.is_last = i + 1 == x->parts.items.n;
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
    if (x->is_full || x->parts.is_full || x->parts.log->is_cut)
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
    if (r == CEL_LOWER_REFUSED)
        return CEL_COMPILE_REFUSED;
    if (r == 0)
        r = cel_emit(graph, nodes[n - 1], &emit, arena, &code);
    *ret = (CelExplainer){.checked = checked, .graph = graph, .nodes = nodes, .code = code};
    return error_fold(r);
}

static uint32_t root_of(const CelExplainer *explainer) {
    return explainer->nodes[explainer->checked->tree->n_nodes - 1];
}

/* Without its last entry (a ceiling) or for a constant there is only the result to tell. */
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
    r = cel_trace_log_init(&ret->log, explainer->graph, arena);
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
        .parts = cel_explain_parts(explained),
        .source = explainer->checked->tree->source,
        .run = explained->run,
        .arena = explained->arena,
        .value_max = value_max,
    };

    make_lines(&x, (CelExplainPart){
                       .node = explainer->checked->tree->n_nodes - 1,
                       .entry = (uint32_t)explained->log.seen.n - 1,
                       .is_last = true,
                   });
    print_lines(&x, colour, out);
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
