/* Environments: a Map from names to numbers of declarations. A child looks in its own table first,
 * then in its parent's; to add to a parent's function it copies the array of overloads. */

#include "cel/env.h"

#include <errno.h>

#include "base/map.h"
#include "base/vec.h"

/* The declarations of one name. */
typedef struct Name {
    Str text;
    const CelVariable *variable; /* NULL: none */
    VEC(const CelOverload *) overloads;
} Name;

struct CelEnv {
    Arena *arena;
    const CelEnv *parent;
    Str container;
    uint32_t n_slots;
    Map numbers;
    VEC(Name) names;
};

const CelLibrary *const cel_libraries[] = {
#define X(name) &cel_##name##_library
    CEL_LIBRARIES(X),
    NULL,
#undef X
};

CelEnv *cel_env_extend(const CelEnv *parent, Arena *arena) {
    CelEnv *env = ARENA_NEW(arena, CelEnv);

    if (!env)
        return NULL;
    env->arena = arena;
    env->parent = parent;
    env->numbers = MAP_INIT_IN(arena);
    if (parent) {
        env->container = parent->container;
        env->n_slots = parent->n_slots;
    }
    return env;
}

/* NULL: the name is not declared in this environment itself. Borrowed until one more is added. */
static Name *find_name(const CelEnv *env, Str text) {
    uint32_t number = map_find(&env->numbers, text);

    return number != MAP_NONE ? &env->names.items[number] : NULL;
}

/* The same, added if it is missing; @text is borrowed. NULL: out of memory. */
static Name *own_name(CelEnv *env, Str text) {
    Name *name = find_name(env, text);

    if (!name && VEC_ADD(&env->names, env->arena, (Name){.text = text}) &&
        map_add(&env->numbers, text, (uint32_t)(env->names.n - 1)) == 0)
        name = &env->names.items[env->names.n - 1];
    return name;
}

/* Declares a copy of @what under a copy of @text. */
static int declare(CelEnv *env, Str text, CelVariable what) {
    CelVariable *variable = ARENA_NEW(env->arena, CelVariable);
    Name *name;

    what.name = arena_copy(env->arena, text);
    if (!variable || !what.name.ptr || !what.type)
        return -ENOMEM;
    *variable = what;
    name = own_name(env, variable->name);
    if (name)
        name->variable = variable;
    return name ? 0 : -ENOMEM;
}

/* Declares the name of a type, as a constant. To the checker a bare list is list(dyn). */
static int add_type_name(CelEnv *env, const CelType *type) {
    const CelType *meant = type == &cel_list_type ? cel_list_of(env->arena, &cel_dyn_type)
                           : type == &cel_map_type
                               ? cel_map_of(env->arena, &cel_dyn_type, &cel_dyn_type)
                           : type == &cel_optional_type ? cel_optional_of(env->arena, &cel_dyn_type)
                                                        : type;

    return cel_env_add_constant(
        env, type->name, meant ? cel_type_of_type(env->arena, meant) : NULL, cel_type(type));
}

CelEnv *cel_env_new(Arena *arena) {
    CelEnv *env = cel_env_extend(NULL, arena);

    for (size_t i = 0; env && cel_libraries[i]; i++)
        for (size_t k = 0; k < cel_libraries[i]->n_overloads; k++)
            /* A signature of ours that cannot be read is left out; test-env.c reads them all. */
            if (cel_env_add_overload(env, &cel_libraries[i]->overloads[k]) < 0)
                return NULL;
    for (size_t i = 0; env && cel_types[i]; i++)
        if (add_type_name(env, cel_types[i]) < 0)
            return NULL;
    return env;
}

int cel_env_set_container(CelEnv *env, Str container) {
    env->container = arena_copy(env->arena, container);
    return env->container.ptr ? 0 : -ENOMEM;
}

int cel_env_add_variable(CelEnv *env, Str name, const CelType *type, uint32_t max_size,
    uint8_t group, uint32_t *ret_slot) {
    CelVariable variable = {
        .type = type, .slot = env->n_slots, .max_size = max_size, .group = group};
    int r = declare(env, name, variable);

    env->n_slots += r == 0;
    if (ret_slot)
        *ret_slot = variable.slot;
    return r;
}

int cel_env_add_constant(CelEnv *env, Str name, const CelType *type, CelValue value) {
    return declare(env, name, (CelVariable){.type = type, .is_constant = true, .value = value});
}

int cel_env_add_meaning(
    CelEnv *env, Str name, const CelType *type, CelExpand *expand, const void *context) {
    return declare(env, name,
        (CelVariable){.type = type, .slot = UINT32_MAX, .expand = expand, .context = context});
}

int cel_env_add_overload(CelEnv *env, const CelOverloadSpec *spec) {
    CelOverload *overload = ARENA_NEW(env->arena, CelOverload);
    const CelOverload *const *older = NULL;
    size_t n_older;
    Name *name;

    if (!overload)
        return -ENOMEM;
    overload->spec = spec;
    overload->name = str_from_c(spec->name);
    if (!cel_signature_read(env, str_from_c(spec->signature), env->arena, overload))
        return arena_has_failed(env->arena) ? -ENOMEM : CEL_ENV_BAD_SIGNATURE;
    name = own_name(env, overload->name);
    if (!name)
        return -ENOMEM;
    n_older = name->overloads.n == 0 ? cel_env_overloads(env->parent, overload->name, &older) : 0;
    for (size_t i = 0; i < n_older; i++) /* a parent's overloads are the first */
        if (!VEC_ADD(&name->overloads, env->arena, older[i]))
            return -ENOMEM;
    return VEC_ADD(&name->overloads, env->arena, overload) ? 0 : -ENOMEM;
}

int cel_env_add_record(CelEnv *env, const CelRecordType *record) {
    const CelType *type = cel_record_of(env->arena, record);

    return type ? add_type_name(env, type) : -ENOMEM;
}

void cel_env_skip_slots(CelEnv *env, uint32_t slot) {
    if (env->n_slots < slot)
        env->n_slots = slot;
}

uint32_t cel_env_n_slots(const CelEnv *env) {
    return env->n_slots;
}

const CelVariable *cel_env_variable(const CelEnv *env, Str text) {
    const CelVariable *found = NULL;

    for (; env && !found; env = env->parent) {
        const Name *name = find_name(env, text);

        found = name ? name->variable : NULL;
    }
    return found;
}

size_t cel_env_overloads(const CelEnv *env, Str text, const CelOverload *const **ret) {
    for (; env; env = env->parent) {
        const Name *name = find_name(env, text);

        if (name && name->overloads.n > 0) {
            *ret = name->overloads.items;
            return name->overloads.n;
        }
    }
    return 0;
}

const CelType *cel_env_record(const CelEnv *env, Str text) {
    const CelVariable *name = cel_env_variable(env, text);
    bool is_type = name && name->value.kind == CEL_TYPE;

    return is_type && name->value.type->kind == CEL_T_RECORD ? name->value.type : NULL;
}

Str cel_env_container(const CelEnv *env) {
    return env->container;
}

Str cel_nearer(Str word, Str best, Str name) {
    Str both[] = {best, name};
    size_t first = best.len == 0;

    return str_nearest(word, both + first, 2 - first);
}

/* Variables before types: "nod" is meant to be node, not Node. */
Str cel_env_nearest_variable(const CelEnv *env, Str word) {
    Str best[2] = {STR_NULL, STR_NULL};

    for (; env; env = env->parent)
        for (size_t i = 0; i < env->names.n; i++) {
            const CelVariable *variable = env->names.items[i].variable;
            bool is_type = variable && variable->is_constant && variable->value.kind == CEL_TYPE;

            if (variable)
                best[is_type] = cel_nearer(word, best[is_type], variable->name);
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
        for (size_t i = 0; i < env->names.n; i++) {
            const Name *name = &env->names.items[i];

            if (has_style(name->overloads.items, name->overloads.n, is_receiver))
                best = cel_nearer(word, best, name->text);
        }
    return best;
}
