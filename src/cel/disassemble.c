/* Disassembler: code as text, one instruction a line. */

#include "cel/code.h"
#include "cel/elements.h"

#define OP_WIDTH 20
#define OPERAND_WIDTH 40
#define VALUE_MAX 60 /* bytes of a constant that are shown */

static const char *const kind_names[CEL_N_KINDS] = {[CEL_RECORD] = "record",
#define X(name, type_kind, value_kind, text) [CEL_##value_kind] = #name,
    CEL_TYPES(X)
#undef X
};

static Str slot_name(const CelCode *code, uint32_t slot) {
    for (uint32_t i = 0; i < code->n_names; i++) {
        if (code->names[i].slot == slot)
            return code->names[i].name;
    }
    return STR("?");
}

static void print_callee(const CelCode *code, const CelInstruction *at, Buf *out) {
    const CelCallee *callee = &code->callees[at->b];

    buf_printf(out, "%s, %u argument%s%s", callee->name, at->a, at->a == 1 ? "" : "s",
        callee->prepared ? ", prepared" : "");
    if (at->op == OP_DISPATCH)
        buf_printf(out, ", %u overloads", callee->n_candidates);
}

static void print_kind(uint8_t kind, Buf *out) {
    if (kind < CEL_N_KINDS && kind_names[kind])
        buf_printf(out, " as %s", kind_names[kind]);
}

static void print_field(const CelCode *code, const CelInstruction *at, Buf *out) {
    if (at->op != OP_VARIABLE_FIELD && at->op != OP_TEST_VARIABLE_FIELD) {
        buf_printf(out, "#%u", at->b);
        return;
    }
    buf_printf(out, "%.*s #%u", STR_FMT(slot_name(code, at->a)), at->b >> 8);
    if (at->op == OP_VARIABLE_FIELD)
        print_kind((uint8_t)at->b, out);
}

static bool has_kind(uint16_t op) {
    return op == OP_VARIABLE || op == OP_LOCAL || op == OP_FIELD || op == OP_SELECT ||
           op == OP_INDEX_LIST || op == OP_INDEX_MAP || op == OP_OPT_GET || op == OP_EXPECT;
}

static void print_operand(const CelCode *code, const CelInstruction *at, Buf *out) {
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

static void print_heading(const CelCode *code, uint32_t pc, Buf *out) {
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

static void print_handlers(const CelCode *code, Buf *out) {
    if (code->n_handlers > 0)
        buf_append(out, STR("errors:\n"));
    for (uint32_t i = 0; i < code->n_handlers; i++) {
        const CelHandler *handler = &code->handlers[i];

        buf_printf(out, "%5u to %-5u -> %-5u on top of %u\n", handler->from, handler->target - 1,
            handler->target, handler->height);
    }
}

void cel_code_print(const CelCode *code, Buf *out) {
    for (uint32_t pc = 0; pc < code->n_instructions; pc++) {
        const CelInstruction *at = &code->instructions[pc];
        size_t from;

        print_heading(code, pc, out);
        buf_printf(out, "%5u  ", pc);
        from = out->len;
        buf_append(out, str_from_c(cel_ops[at->op].text));
        cel_dump_pad(out, from, OP_WIDTH);
        from = out->len;
        print_operand(code, at, out);
        cel_dump_pad(out, from, OPERAND_WIDTH);
        buf_printf(out, "; at %u\n", code->positions[pc]);
    }
    print_handlers(code, out);
}
