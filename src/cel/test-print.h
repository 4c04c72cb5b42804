#pragma once

/* Trees, graphs and code as text, for tests. */

#include <errno.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "cel/code.h"
#include "cel/elements.h"

#define VALUE_MAX 60 /* bytes of a constant that are shown */

/* --- trees --- */

static inline const char *cel_node_name(CelNodeKind kind) {
    static const char *const names[CEL_N_NODES] = {
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

    return kind < CEL_N_NODES ? names[kind] : "?";
}

static inline void print_flags(const CelNode *node, Buf *out) {
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

static inline void print_line(const CelTree *tree, Line line, Buf *out) {
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

/* One node per line, indented, with its text. Pending lines are on a stack. */
static inline void cel_tree_print(const CelTree *tree, Buf *out) {
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

static inline void print_operation(uint16_t op, Buf *out) {
    static const char *const names[OP_N] = {
#define X(name, class, arguments, immediate) [OP_##name] = #name,
        CEL_OPCODES(X)
#undef X
    };

    for (const char *c = names[op]; *c; c++) /* ADD_INT: "add-int" */
        buf_append_char(out, *c == '_' ? '-' : ascii_lower(*c));
}

/* Spaces from @from on, up to @width columns; one at least. */
static inline void print_padding(Buf *out, size_t from, size_t width) {
    size_t written = out->len - from;

    buf_append_repeat(out, ' ', written < width ? width - written : 1);
}

/* --- graphs --- */

#define NAME_WIDTH 16
#define TYPE_WIDTH 20
#define OPERANDS_WIDTH 28

static inline void print_immediate(const CelGraphNode *node, Buf *out) {
    switch (cel_ops[node->op].immediate) {
    case CEL_IMM_CONSTANT:
    case CEL_IMM_SET:
        cel_value_print(node->constant, NULL, VALUE_MAX, out);
        break;
    case CEL_IMM_SLOT:
        buf_append(out, cel_str(node->constant));
        break;
    case CEL_IMM_FIELD:
        buf_printf(out, ".%.*s", STR_FMT(cel_str(node->constant)));
        break;
    case CEL_IMM_LOCAL:
        buf_printf(
            out, "%s of level %u", node->immediate % 2 ? "second" : "first", node->immediate / 2);
        break;
    case CEL_IMM_OVERLOAD:
    case CEL_IMM_FUNCTION:
        if (node->n_overloads > 0)
            buf_append(out, node->overloads[0]->name);
        if (node->op == OP_DISPATCH)
            buf_printf(out, " of %zu", node->n_overloads);
        break;
    case CEL_IMM_LOOP:
        buf_printf(out, "level %u%s", node->immediate & CEL_LOOP_LEVEL,
            node->immediate & CEL_LOOP_PAIRS ? ", pairs" : "");
        break;
    default:
        break;
    }
}

static inline void print_bits(const char *what, uint8_t bits, Buf *out) {
    if (bits == 0)
        return;
    buf_append(out, str_from_c(what));
    for (unsigned bit = 0; bit < 8; bit++) {
        if (bits & 1u << bit)
            buf_printf(out, " %u", bit);
    }
    buf_append(out, STR("  "));
}

static inline void print_graph_node(const CelGraph *graph, uint32_t number, Buf *out) {
    const CelGraphNode *node = cel_graph_node(graph, number);
    size_t from;

    buf_printf(out, "%%%-4u", number);
    from = out->len;
    print_operation(node->op, out);
    print_padding(out, from, NAME_WIDTH);
    from = out->len;
    print_immediate(node, out);
    for (uint32_t i = 0; i < node->n_args; i++)
        buf_printf(out, "%s%%%u", out->len > from ? " " : "", node->args[i]);
    print_padding(out, from, OPERANDS_WIDTH);
    cel_type_print(node->type, false, out);
    print_padding(out, from, OPERANDS_WIDTH + TYPE_WIDTH);
    print_bits("groups", node->groups, out);
    print_bits("levels", node->levels, out);
    if (node->uses > 1)
        buf_printf(out, "uses %u", node->uses);
    while (out->len > 0 && out->data[out->len - 1] == ' ')
        out->len--;
    buf_append_char(out, '\n');
}

/* The nodes that @root needs, one per line: number, operation, arguments, type, groups, levels, and
 * its uses if there are several. */
static inline void cel_graph_print(const CelGraph *graph, uint32_t root, Buf *out) {
    const bool *is_needed = cel_graph_mark(graph, &root, 1, graph->arena);

    if (!is_needed)
        out->error = -ENOMEM;
    for (uint32_t i = 0; is_needed && i <= root; i++) {
        if (is_needed[i])
            print_graph_node(graph, i, out);
    }
}

/* --- code --- */

#define OP_WIDTH 20
#define OPERAND_WIDTH 40

static const char *const kind_names[CEL_N_KINDS] = {[CEL_RECORD] = "record",
#define X(name, type_kind, value_kind, text) [CEL_##value_kind] = #name,
    CEL_TYPES(X)
#undef X
};

static inline Str slot_name(const CelCode *code, uint32_t slot) {
    for (uint32_t i = 0; i < code->n_names; i++) {
        if (code->names[i].slot == slot)
            return code->names[i].name;
    }
    return STR("?");
}

static inline void print_callee(const CelCode *code, const CelInstruction *at, Buf *out) {
    const CelCallee *callee = &code->callees[at->b];

    buf_printf(out, "%s, %u argument%s%s", callee->name, at->a, at->a == 1 ? "" : "s",
        callee->prepared ? ", prepared" : "");
    if (at->op == OP_DISPATCH)
        buf_printf(out, ", %u overloads", callee->n_candidates);
}

static inline void print_kind(uint8_t kind, Buf *out) {
    if (kind < CEL_N_KINDS && kind_names[kind])
        buf_printf(out, " as %s", kind_names[kind]);
}

static inline void print_field(const CelCode *code, const CelInstruction *at, Buf *out) {
    if (at->op != OP_VARIABLE_FIELD && at->op != OP_TEST_VARIABLE_FIELD) {
        buf_printf(out, "#%u", at->b);
        return;
    }
    buf_printf(out, "%.*s #%u", STR_FMT(slot_name(code, at->a)), at->b >> 8);
    if (at->op == OP_VARIABLE_FIELD)
        print_kind((uint8_t)at->b, out);
}

static inline bool has_kind(uint16_t op) {
    return op == OP_VARIABLE || op == OP_LOCAL || op == OP_FIELD || op == OP_SELECT ||
           op == OP_INDEX_LIST || op == OP_INDEX_MAP || op == OP_OPT_GET || op == OP_EXPECT;
}

static inline void print_operand(const CelCode *code, const CelInstruction *at, Buf *out) {
    const CelSet *set;

    switch (cel_ops[at->op].immediate) {
    case CEL_IMM_CONSTANT:
        cel_value_print(code->constants[at->b], NULL, VALUE_MAX, out);
        break;
    case CEL_IMM_SET:
        set = code->callees[at->b].prepared;
        cel_value_print(cel_list(set->list), NULL, VALUE_MAX, out);
        break;
    case CEL_IMM_SLOT:
        buf_append(out, slot_name(code, at->b));
        break;
    case CEL_IMM_LOCAL:
        buf_printf(out, "%s of level %u", at->b % 2 ? "second" : "first", at->b / 2);
        break;
    case CEL_IMM_FIELD:
        print_field(code, at, out);
        break;
    case CEL_IMM_OVERLOAD:
    case CEL_IMM_FUNCTION:
        print_callee(code, at, out);
        break;
    case CEL_IMM_COUNT:
    case CEL_IMM_NODE:
        buf_printf(out, "%u", at->b);
        break;
    case CEL_IMM_TARGET:
        buf_printf(out, "-> %u", at->b);
        break;
    case CEL_IMM_SHARED:
        buf_printf(out, "part %u", at->b);
        break;
    case CEL_IMM_RANGE:
        buf_printf(out, "level %u%s, fuel %u a turn", code->loops[at->b].level,
            code->loops[at->b].is_pairs ? ", pairs" : "", code->loops[at->b].cost);
        break;
    default:
        break;
    }
    if (has_kind(at->op))
        print_kind((uint8_t)at->a, out);
}

static inline void print_heading(const CelCode *code, uint32_t pc, Buf *out) {
    for (uint32_t i = 0; i < code->n_shared; i++) {
        if (code->shared[i].entry != pc)
            continue;
        buf_printf(out, "part %u (node %u)", i, code->shared[i].node);
        if (code->shared[i].level != CEL_SHARED_ALWAYS)
            buf_printf(out, ", for a turn of the loop of level %u", code->shared[i].level);
        buf_append(out, STR(":\n"));
    }
    if (code->entry == pc && code->n_shared > 0)
        buf_append(out, STR("start:\n"));
}

static inline void print_handlers(const CelCode *code, Buf *out) {
    if (code->n_handlers > 0)
        buf_append(out, STR("errors:\n"));
    for (uint32_t i = 0; i < code->n_handlers; i++) {
        const CelHandler *handler = &code->handlers[i];

        buf_printf(out, "%5u to %-5u -> %-5u on top of %u\n", handler->from, handler->target - 1,
            handler->target, handler->height);
    }
}

/* One instruction per line, with constants and names spelled out, then the table of handlers. */
static inline void cel_code_print(const CelCode *code, Buf *out) {
    for (uint32_t pc = 0; pc < code->n_instructions; pc++) {
        const CelInstruction *at = &code->instructions[pc];
        size_t from;

        print_heading(code, pc, out);
        buf_printf(out, "%5u  ", pc);
        from = out->len;
        print_operation(at->op, out);
        print_padding(out, from, OP_WIDTH);
        from = out->len;
        print_operand(code, at, out);
        print_padding(out, from, OPERAND_WIDTH);
        buf_printf(out, "; at %u\n", code->positions[pc]);
    }
    print_handlers(code, out);
}
