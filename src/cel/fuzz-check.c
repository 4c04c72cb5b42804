/*
 * Any text that parses, checked in every mode: no crash, no endless run, and the guarantees of
 * check.h hold. The first byte selects the mode.
 */

#include <string.h>

#include "base/cleanup.h"
#include "base/fuzz.h"
#include "base/hash.h"
#include "cel/check.h"
#include "cel/cost.h"
#include "cel/env.h"
#include "cel/parse.h"

#define BUDGET ((size_t)256 * 1024 * 1024)

static const CelField fields[] = {
    {.name = STR("name"), .type = &cel_string_type, .max_size = 63},
    {.name = STR("free"), .type = &cel_int_type},
    {.name = STR("memory"), .type = &cel_quantity_type},
};
static const CelRecordType record = {
    .name = STR("Node"), .fields = fields, .n_fields = ELEMENTS_OF(fields)};

/* Made once: building it is not tested here. */
static const CelEnv *environment(void) {
    static CelEnv *env;
    static const struct {
        Str name, type;
    } variables[] = {
        {STR("node"), STR("Node")},
        {STR("a"), STR("list(int)")},
        {STR("m"), STR("map(string, dyn)")},
        {STR("x"), STR("dyn")},
        {STR("s"), STR("string")},
        {STR("o"), STR("optional_type(string)")},
        {STR("com.example.y"), STR("int")},
    };
    Arena *arena;

    if (env)
        return env;
    hash_set_key(1);
    arena = arena_new(BUDGET);
    require(arena);
    env = cel_env_new(arena);
    require(env && cel_env_add_record(env, &record) == 0);
    for (size_t i = 0; i < ELEMENTS_OF(variables); i++) {
        const CelType *type = cel_type_read(env, variables[i].type, arena);
        int r = type ? cel_env_add_variable(env, variables[i].name, type, 0, 0, NULL) : -1;

        require(r == 0);
    }
    require(cel_env_set_container(env, STR("com.example")) == 0);
    return env;
}

/* The guarantees of check.h for every node. */
static void check_notes(const CelChecked *checked) {
    for (uint32_t i = 0; i < checked->tree->n_nodes; i++) {
        const CelNodeInfo *info = &checked->infos[i];

        require(info->type && !info->type->is_open && !cel_type_contains(info->type, CEL_T_ERROR));
        if (info->ref == CEL_REF_LOCAL)
            require(checked->tree->nodes[info->binder].kind == CEL_NODE_BINDER && info->binder < i);
        if (info->ref == CEL_REF_VARIABLE || info->ref == CEL_REF_CONSTANT)
            require(info->variable);
        if (info->field != UINT32_MAX)
            require(info->field < record.n_fields);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    CelOptions parse_options = {0};
    CelOptions options = {0};
    DiagList diags = DIAG_LIST_IN(arena);
    CelChecked *checked = NULL;
    CelTree *tree = NULL;
    CelCostRange cost;
    int r;

    if (size == 0 || !arena)
        return 0;
    options.no_check = data[0] & 1;
    options.is_plain = data[0] & 2;
    options.expect = data[0] & 4 ? &cel_bool_type : NULL;
    if (cel_parse(STR("fuzz"), str_of((const char *)data + 1, size - 1), &parse_options, arena,
            &diags, &tree) != 0)
        return 0;
    r = cel_check(environment(), tree, &options, arena, &diags, &checked);
    require(r == 0 || r == CEL_REFUSED);
    require((r == 0) == (diags.n_errors == 0));
    if (r != 0)
        return 0;
    check_notes(checked);
    require(cel_cost_estimate(checked, arena, &cost) == 0 && cost.min <= cost.max);
    cel_cost_refuse(checked, cost, cost.max / 2, &diags);
    return 0;
}
