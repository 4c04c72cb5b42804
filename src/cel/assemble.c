/* Assembler: instructions and their tables while they grow. */

#include "cel/emit-internal.h"

#include <errno.h>

#include "cel/value.h"

uint32_t cel_as_begin_part(CelAssembler *as) {
    as->height = as->height_max = as->n_loops = 0;
    as->handler = CEL_NO_HANDLER;
    return cel_as_here(as);
}

uint32_t cel_as_add(CelAssembler *as, CelInstruction instruction, uint32_t at, uint32_t owner) {
    uint32_t pc = CEL_APPEND(as, instructions, instruction);

    (void)CEL_APPEND(as, positions, at);
    (void)CEL_APPEND(as, handler_of, as->handler);
    if (as->is_tracing)
        (void)CEL_APPEND(as, owner_of, owner);
    return pc;
}

void cel_as_grow(CelAssembler *as, uint32_t by) {
    as->height += by;
    if (as->height > as->height_max)
        as->height_max = as->height;
}

void cel_as_land(CelAssembler *as, uint32_t from) {
    if (from < as->instructions.n)
        as->instructions.items[from].b = cel_as_here(as);
}

uint32_t cel_as_open_handler(CelAssembler *as, uint32_t height, uint32_t owner) {
    uint32_t outer = as->handler;
    CelHandler handler = {
        .from = cel_as_here(as),
        .height = height,
        .n_loops = as->n_loops,
        .owner = owner,
    };

    as->handler = CEL_APPEND(as, handlers, handler);
    return outer;
}

void cel_as_close_handler(CelAssembler *as, uint32_t outer) {
    if (as->handler < as->handlers.n)
        as->handlers.items[as->handler].target = cel_as_here(as);
    as->handler = outer;
}

uint32_t cel_as_constant(CelAssembler *as, CelValue v) {
    if (!as->is_borrowing && !cel_value_copy(v, as->arena, &v))
        as->is_full = true;
    return CEL_APPEND(as, constants, v);
}

uint32_t cel_as_callees(CelAssembler *as, const CelGraphNode *call) {
    uint32_t first = (uint32_t)as->callees.n;

    for (size_t i = 0; i < call->n_overloads; i++) {
        const CelOverload *overload = call->overloads[i];
        CelCallee callee = {
            .fn = overload->spec->fn,
            .prepared = call->prepared,
            .name = overload->spec->name,
            .is_receiver = overload->is_receiver,
            .n_args = overload->n_args,
            .n_candidates = (uint16_t)(call->n_overloads - i),
        };

        for (uint32_t k = 0; k < overload->n_args; k++)
            callee.kinds[k] = cel_param_kind(overload, k);
        (void)CEL_APPEND(as, callees, callee);
    }
    return first;
}

void cel_as_name(CelAssembler *as, const CelGraphNode *variable) {
    Str name;

    for (size_t i = 0; i < as->names.n; i++) {
        if (as->names.items[i].slot == variable->immediate)
            return;
    }
    name = arena_copy(as->arena, cel_str(variable->constant));
    (void)CEL_APPEND(as, names, (CelSlotName){variable->immediate, name});
    as->is_full |= !name.ptr;
}

/* false && … && …: the first false decides all of them; a || to the left of it still evaluates its
 * right side. */
static void thread_jumps(CelAssembler *as) {
    CelInstruction *code = as->instructions.items;

    for (size_t i = as->instructions.n; i-- > 0;) {
        uint16_t op = code[i].op, other = op == OP_AND_LEFT ? OP_OR_LEFT : OP_AND_LEFT;

        if (op != OP_AND_LEFT && op != OP_OR_LEFT)
            continue;
        if (code[code[i].b].op == op)
            code[i].b = code[code[i].b].b;
        else if (code[code[i].b].op == other)
            code[i].b++;
    }
}

static const void *keep(CelAssembler *as, const void *items, size_t n, size_t size) {
    void *copy = arena_alloc(as->arena, n * size);

    if (!copy)
        as->is_full = true;
    else if (n > 0)
        memcpy(copy, items, n * size);
    return copy;
}

#define KEEP(as, code, table)                                                                      \
    ((code)->table = keep((as), (as)->table.items, (as)->table.n, sizeof((as)->table.items[0])))
#define KEEP_N(as, code, table) (KEEP(as, code, table), (code)->n_##table = (uint32_t)(as)->table.n)

int cel_as_finish(CelAssembler *as, uint32_t entry, CelCode **ret) {
    CelCode *code = as->is_full ? NULL : ARENA_NEW(as->arena, CelCode);

    if (!code)
        return -ENOMEM;
    thread_jumps(as);
    code->entry = entry;
    code->height_max = as->height_max;
    KEEP_N(as, code, instructions);
    KEEP(as, code, positions);
    KEEP(as, code, handler_of);
    KEEP_N(as, code, constants);
    KEEP_N(as, code, callees);
    KEEP_N(as, code, shared);
    KEEP_N(as, code, loops);
    KEEP_N(as, code, handlers);
    KEEP_N(as, code, names);
    KEEP_N(as, code, outers);
    if (as->is_tracing) {
        KEEP(as, code, owner_of);
        KEEP(as, code, owners);
    }
    if (as->is_full)
        return -ENOMEM;
    *ret = code;
    return 0;
}
