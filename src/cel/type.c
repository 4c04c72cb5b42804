/* Types: the simple ones, and those made of others. */

#include "cel/type.h"

#include "cel/limits.h"

#define X(variable, type_kind, kind_of_values, text)                                               \
    const CelType cel_##variable##_type = {.kind = CEL_T_##type_kind,                              \
        .value_kind = CEL_##kind_of_values,                                                        \
        .weight = 1,                                                                               \
        .name = {.ptr = (text), .len = sizeof(text) - 1}};

CEL_TYPES(X)
X(dyn, DYN, ABSENT, "dyn")
X(error, ERROR, ABSENT, "error")
#undef X

const CelType *const cel_types[] = {
#define X(variable, type_kind, kind_of_values, text) &cel_##variable##_type,
    CEL_TYPES(X) NULL
#undef X
};

uint32_t cel_record_find(const CelRecordType *type, Str name) {
    for (uint32_t i = 0; i < type->n_fields; i++)
        if (str_eq(type->fields[i].name, name))
            return i;
    return UINT32_MAX;
}

/* A copy of @head with @n parameters appended, in one allocation. */
static const CelType *build(
    Arena *arena, const CelType *head, const CelType *const *params, size_t n) {
    CelType *type;
    const CelType **copied;
    uint32_t weight = 1;
    uint8_t depth = 0;

    for (size_t i = 0; i < n; i++) {
        weight += params[i]->weight;
        if (params[i]->depth >= depth)
            depth = (uint8_t)(params[i]->depth + 1);
    }
    if (n > CEL_TYPE_PARAMS_MAX || depth >= CEL_TYPE_DEPTH_MAX || weight > CEL_TYPE_WEIGHT_MAX)
        return NULL;
    type = arena_alloc(arena, sizeof(CelType) + n * sizeof(params[0]));
    if (!type)
        return NULL;
    copied = (const CelType **)(type + 1);
    *type = *head;
    type->is_open = false;
    for (size_t i = 0; i < n; i++) {
        copied[i] = params[i];
        type->is_open |= params[i]->is_open;
    }
    type->params = n > 0 ? copied : NULL;
    type->n_params = (uint8_t)n;
    type->depth = depth;
    type->weight = (uint16_t)weight;
    return type;
}

const CelType *cel_list_of(Arena *arena, const CelType *element) {
    return build(arena, &cel_list_type, &element, 1);
}

const CelType *cel_map_of(Arena *arena, const CelType *key, const CelType *value) {
    return build(arena, &cel_map_type, (const CelType *const[]){key, value}, 2);
}

const CelType *cel_optional_of(Arena *arena, const CelType *inner) {
    return build(arena, &cel_optional_type, &inner, 1);
}

const CelType *cel_type_of_type(Arena *arena, const CelType *type) {
    return build(arena, &cel_type_type, &type, 1);
}

const CelType *cel_type_with(Arena *arena, const CelType *type, const CelType *const *params) {
    return build(arena, type, params, type->n_params);
}

const CelType *cel_opaque_of(Arena *arena, Str name, const CelType *const *params, size_t n) {
    CelType head = {.kind = CEL_T_OPAQUE, .value_kind = CEL_ABSENT};

    for (size_t i = 0; n == 0 && cel_types[i]; i++)
        if (cel_types[i]->kind == CEL_T_OPAQUE && str_eq(cel_types[i]->name, name))
            return cel_types[i];
    if (str_eq(name, cel_optional_type.name))
        return cel_optional_of(arena, n > 0 ? params[0] : &cel_dyn_type);
    head.name = arena_copy(arena, name);
    return head.name.ptr ? build(arena, &head, params, n) : NULL;
}

const CelType *cel_record_of(Arena *arena, const CelRecordType *record) {
    CelType head = {
        .kind = CEL_T_RECORD, .value_kind = CEL_RECORD, .name = record->name, .record = record};

    return build(arena, &head, NULL, 0);
}

const CelType *cel_param_of(Arena *arena, Str name, uint32_t variable) {
    CelType *type = arena_alloc(arena, sizeof(CelType));

    if (type)
        *type = (CelType){.kind = CEL_T_PARAM,
            .value_kind = CEL_ABSENT,
            .is_open = true,
            .weight = 1,
            .variable = variable,
            .name = name};
    return type;
}

/* Recursion: CEL_TYPE_DEPTH_MAX bounds it; CEL_TYPE_WEIGHT_MAX bounds the time. */
bool cel_type_equal(const CelType *a, const CelType *b) {
    if (a == b)
        return true;
    if (a->kind != b->kind || a->n_params != b->n_params)
        return false;
    if (a->kind == CEL_T_PARAM)
        return a->variable == b->variable;
    if (!str_eq(a->name, b->name))
        return false;
    for (size_t i = 0; i < a->n_params; i++)
        if (!cel_type_equal(a->params[i], b->params[i]))
            return false;
    return true;
}

/* Recursion: CEL_TYPE_DEPTH_MAX bounds it. */
bool cel_type_contains(const CelType *type, CelTypeKind kind) {
    if (type->kind == kind)
        return true;
    for (size_t i = 0; i < type->n_params; i++)
        if (cel_type_contains(type->params[i], kind))
            return true;
    return false;
}

/* The words people use: timestamp, not google.protobuf.Timestamp. */
static Str short_name(const CelType *type) {
    return type->kind == CEL_T_DURATION    ? STR("duration")
           : type->kind == CEL_T_TIMESTAMP ? STR("timestamp")
                                           : type->name;
}

/* Recursion: CEL_TYPE_DEPTH_MAX bounds it. */
void cel_type_print(const CelType *type, bool is_wire, Buf *out) {
    bool is_opaque = is_wire && (type->kind == CEL_T_OPTIONAL || type->kind == CEL_T_OPAQUE);

    if (is_wire && type->kind == CEL_T_PARAM) {
        buf_printf(out, "param(%.*s)", STR_FMT(type->name));
        return;
    }
    if (is_opaque)
        buf_append(out, STR("opaque("));
    buf_append(out, short_name(type));
    if (type->n_params > 0) {
        buf_append(out, is_opaque ? STR(", ") : STR("("));
        for (size_t i = 0; i < type->n_params; i++) {
            if (i > 0)
                buf_append(out, STR(", "));
            cel_type_print(type->params[i], is_wire, out);
        }
    }
    if (is_opaque || type->n_params > 0)
        buf_append_char(out, ')');
}
