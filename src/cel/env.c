/* Names to numbers (Map), numbers to declarations (arrays of pointers, which never move). A child
 * looks in its own tables first, then in its parent's; to add to a parent's function it copies the
 * array of overloads. */

#include "cel/env.h"

#include <errno.h>

#include "base/map.h"
#include "base/vec.h"

typedef struct Function {
    Str name;
    VEC(const CelOverload *) overloads;
} Function;

struct CelEnv {
    Arena *arena;
    const CelEnv *parent;
    Str container;
    uint32_t n_slots;
    Map variable_numbers;
    VEC(const CelVariable *) variables;
    Map function_numbers;
    VEC(Function) functions;
    Map record_numbers;
    VEC(const CelType *) records;
};

const CelLibrary *const cel_libraries[] = {
    &cel_operators_library,
    &cel_conversions_library,
    &cel_standard_library,
    &cel_strings_library,
    &cel_format_library,
    &cel_lists_library,
    &cel_sets_library,
    &cel_optional_library,
    &cel_math_library,
    &cel_statistics_library,
    &cel_hash_library,
    &cel_encoders_library,
    &cel_json_library,
    &cel_time_library,
    &cel_regex_library,
    &cel_quantity_library,
    &cel_semver_library,
    &cel_net_library,
    &cel_url_library,
    &cel_formats_library,
    NULL,
};

/* Types that expressions can name. dyn is not one of them: conversions/type/dyn_no_denotation. */
static const CelType *const named_types[] = {
    &cel_bool_type,
    &cel_int_type,
    &cel_uint_type,
    &cel_double_type,
    &cel_string_type,
    &cel_bytes_type,
    &cel_list_type,
    &cel_map_type,
    &cel_null_type,
    &cel_type_type,
    &cel_duration_type,
    &cel_timestamp_type,
    &cel_optional_type,
    &cel_quantity_type,
    &cel_semver_type,
    &cel_ip_type,
    &cel_cidr_type,
    &cel_url_type,
    &cel_format_type,
};

static CelEnv *new_in(const CelEnv *parent, Arena *arena) {
    CelEnv *env = ARENA_NEW(arena, CelEnv);

    if (!env)
        return NULL;
    env->arena = arena;
    env->parent = parent;
    env->variable_numbers = MAP_INIT_IN(arena);
    env->function_numbers = MAP_INIT_IN(arena);
    env->record_numbers = MAP_INIT_IN(arena);
    if (parent) {
        env->container = parent->container;
        env->n_slots = parent->n_slots;
    }
    return env;
}

/* Declares a copy of @what under a copy of @name. */
static int declare(CelEnv *env, Str name, CelVariable what) {
    CelVariable *variable = ARENA_NEW(env->arena, CelVariable);
    uint32_t number = map_find(&env->variable_numbers, name);
    const CelVariable **place;

    what.name = arena_copy(env->arena, name);
    if (!variable || !what.name.ptr || !what.type)
        return -ENOMEM;
    *variable = what;
    if (number != MAP_NONE) {
        env->variables.items[number] = variable;
        return 0;
    }
    place = VEC_PUSH(&env->variables, env->arena);
    if (!place)
        return -ENOMEM;
    *place = variable;
    return map_add(&env->variable_numbers, variable->name, (uint32_t)(env->variables.n - 1));
}

/* The name of a type, as a constant. A bare list is list(dyn) to the checker. */
static int add_type_name(CelEnv *env, const CelType *type) {
    const CelType *meant = type;

    if (type == &cel_list_type)
        meant = cel_list_of(env->arena, &cel_dyn_type);
    else if (type == &cel_map_type)
        meant = cel_map_of(env->arena, &cel_dyn_type, &cel_dyn_type);
    else if (type == &cel_optional_type)
        meant = cel_optional_of(env->arena, &cel_dyn_type);
    return cel_env_add_constant(
        env, type->name, meant ? cel_type_of_type(env->arena, meant) : NULL, cel_type(type));
}

CelEnv *cel_env_new(Arena *arena) {
    CelEnv *env = new_in(NULL, arena);

    for (size_t i = 0; env && cel_libraries[i]; i++)
        for (size_t k = 0; k < cel_libraries[i]->n_overloads; k++)
            /* A signature of ours that cannot be read is left out; test-env.c reads them all. */
            if (cel_env_add_overload(env, &cel_libraries[i]->overloads[k]) < 0)
                return NULL;
    for (size_t i = 0; env && i < ELEMENTS_OF(named_types); i++)
        if (add_type_name(env, named_types[i]) < 0)
            return NULL;
    return env;
}

CelEnv *cel_env_extend(const CelEnv *parent, Arena *arena) {
    return new_in(parent, arena);
}

int cel_env_set_container(CelEnv *env, Str container) {
    Str copy = arena_copy(env->arena, container);

    if (!copy.ptr)
        return -ENOMEM;
    env->container = copy;
    return 0;
}

int cel_env_add_variable(CelEnv *env, Str name, const CelType *type, uint32_t max_size,
    uint8_t group, uint32_t *ret_slot) {
    CelVariable variable = {
        .type = type, .slot = env->n_slots, .max_size = max_size, .group = group};
    int r = declare(env, name, variable);

    if (r < 0)
        return r;
    env->n_slots++;
    if (ret_slot)
        *ret_slot = variable.slot;
    return 0;
}

int cel_env_add_constant(CelEnv *env, Str name, const CelType *type, CelValue value) {
    return declare(env, name, (CelVariable){.type = type, .is_constant = true, .value = value});
}

int cel_env_add_meaning(
    CelEnv *env, Str name, const CelType *type, CelExpand *expand, const void *context) {
    return declare(env, name,
        (CelVariable){.type = type, .slot = UINT32_MAX, .expand = expand, .context = context});
}

/* The function of this very environment, made when it is not there: a parent's overloads are
 * the first of it. NULL: out of memory. */
static Function *own_function(CelEnv *env, Str name) {
    uint32_t number = map_find(&env->function_numbers, name);
    const CelOverload *const *older = NULL;
    size_t n_older = env->parent ? cel_env_overloads(env->parent, name, &older) : 0;
    Function *function;

    if (number != MAP_NONE)
        return &env->functions.items[number];
    function = VEC_PUSH(&env->functions, env->arena);
    if (!function || map_add(&env->function_numbers, name, (uint32_t)(env->functions.n - 1)) < 0)
        return NULL;
    function->name = name;
    for (size_t i = 0; i < n_older; i++) {
        const CelOverload **place = VEC_PUSH(&function->overloads, env->arena);

        if (!place)
            return NULL;
        *place = older[i];
    }
    return function;
}

int cel_env_add_overload(CelEnv *env, const CelOverloadSpec *spec) {
    CelOverload *overload = ARENA_NEW(env->arena, CelOverload);
    const CelOverload **place;
    Function *function;

    if (!overload)
        return -ENOMEM;
    overload->spec = spec;
    overload->name = str_from_c(spec->name);
    if (!cel_signature_read(env, str_from_c(spec->signature), env->arena, overload))
        return arena_has_failed(env->arena) ? -ENOMEM : CEL_ENV_BAD_SIGNATURE;
    function = own_function(env, overload->name);
    place = function ? VEC_PUSH(&function->overloads, env->arena) : NULL;
    if (!place)
        return -ENOMEM;
    *place = overload;
    return 0;
}

int cel_env_add_record(CelEnv *env, const CelRecordType *record) {
    const CelType *type = cel_record_of(env->arena, record);
    uint32_t number = map_find(&env->record_numbers, record->name);
    const CelType **place;
    int r;

    if (!type)
        return -ENOMEM;
    if (number == MAP_NONE) {
        place = VEC_PUSH(&env->records, env->arena);
        if (!place)
            return -ENOMEM;
        r = map_add(&env->record_numbers, record->name, (uint32_t)(env->records.n - 1));
        if (r < 0)
            return r;
    } else
        place = &env->records.items[number];
    *place = type;
    return add_type_name(env, type);
}

void cel_env_skip_slots(CelEnv *env, uint32_t slot) {
    if (env->n_slots < slot)
        env->n_slots = slot;
}

uint32_t cel_env_n_slots(const CelEnv *env) {
    return env->n_slots;
}

const CelVariable *cel_env_variable(const CelEnv *env, Str name) {
    for (; env; env = env->parent) {
        uint32_t number = map_find(&env->variable_numbers, name);

        if (number != MAP_NONE)
            return env->variables.items[number];
    }
    return NULL;
}

size_t cel_env_overloads(const CelEnv *env, Str name, const CelOverload *const **ret) {
    for (; env; env = env->parent) {
        uint32_t number = map_find(&env->function_numbers, name);

        if (number != MAP_NONE) {
            *ret = env->functions.items[number].overloads.items;
            return env->functions.items[number].overloads.n;
        }
    }
    return 0;
}

const CelType *cel_env_record(const CelEnv *env, Str name) {
    for (; env; env = env->parent) {
        uint32_t number = map_find(&env->record_numbers, name);

        if (number != MAP_NONE)
            return env->records.items[number];
    }
    return NULL;
}

Str cel_env_container(const CelEnv *env) {
    return env->container;
}

/* The better of the two for @word; either may be STR_NULL. */
static Str nearer(Str word, Str a, Str b) {
    Str both[] = {a, b};

    if (a.len == 0 || b.len == 0)
        return a.len > 0 ? a : b;
    return str_nearest(word, both, ELEMENTS_OF(both));
}

/* Variables before types: who writes "nod" means node, not Node. */
Str cel_env_nearest_variable(const CelEnv *env, Str word) {
    Str best[2] = {STR_NULL, STR_NULL};

    for (; env; env = env->parent)
        for (size_t i = 0; i < env->variables.n; i++) {
            const CelVariable *variable = env->variables.items[i];
            Str *which = &best[variable->is_constant && variable->value.kind == CEL_TYPE];

            *which = nearer(word, *which, str_nearest(word, &variable->name, 1));
        }
    return best[0].len > 0 ? best[0] : best[1];
}

static bool has_style(const CelOverload *const *overloads, size_t n, bool is_receiver) {
    for (size_t i = 0; i < n; i++)
        if (overloads[i]->is_receiver == is_receiver)
            return true;
    return false;
}

bool cel_env_has_function(const CelEnv *env, Str name, bool is_receiver) {
    const CelOverload *const *overloads = NULL;
    size_t n = cel_env_overloads(env, name, &overloads);

    return has_style(overloads, n, is_receiver);
}

Str cel_env_nearest_function(const CelEnv *env, Str word, bool is_receiver) {
    Str best = STR_NULL;

    for (; env; env = env->parent)
        for (size_t i = 0; i < env->functions.n; i++) {
            const Function *function = &env->functions.items[i];

            if (has_style(function->overloads.items, function->overloads.n, is_receiver))
                best = nearer(word, best, str_nearest(word, &function->name, 1));
        }
    return best;
}
