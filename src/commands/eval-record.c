/* Reads a record of the conformance tests. */

#include "commands/eval-record.h"

#include <errno.h>
#include <stdio.h>

#include "cel/signature.h"
#include "cel/type.h"
#include "commands/eval-value.h"
#include "json/read.h"

typedef struct Declaration {
    Str name, kind, type;
} Declaration;

/* {"id": …, "params": ["int", …], "result": "string", "receiver": bool} as the text the
 * tables of the libraries use. */
static void decode_overload(JsonReader *reader, Arena *arena, Str function, CelEnv *env) {
    _cleanup_(buf_done) Buf signature = BUF_INIT(4096);
    CelOverloadSpec *spec = ARENA_NEW(arena, CelOverloadSpec);
    Str params[CEL_ARGS_MAX], result = STR("dyn"), key;
    bool is_receiver = false;
    size_t n = 0;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("result")))
            json_string(reader, arena, &result);
        else if (json_key_is(reader, key, STR("receiver")) ||
                 json_key_is(reader, key, STR("is_instance_function")))
            json_bool(reader, &is_receiver);
        else if (json_key_is(reader, key, STR("params"))) {
            json_array(reader);
            while (json_element(reader)) {
                Str param = STR_NULL;

                json_string(reader, arena, &param);
                if (n < CEL_ARGS_MAX)
                    params[n++] = param;
                else
                    json_fail(reader, JSON_E_RANGE, "fewer parameters");
            }
        } else
            json_skip(reader, NULL);
    }
    if (is_receiver && n > 0)
        buf_printf(&signature, "%.*s.", STR_FMT(params[0]));
    buf_append_char(&signature, '(');
    for (size_t i = is_receiver; i < n; i++)
        buf_printf(&signature, "%s%.*s", i > is_receiver ? ", " : "", STR_FMT(params[i]));
    buf_printf(&signature, ") -> %.*s", STR_FMT(result));
    if (!spec || buf_error(&signature) < 0 || json_error(reader) != JSON_OK)
        return;
    spec->name = arena_copy(arena, function).ptr;
    spec->signature = arena_copy(arena, buf_str(&signature)).ptr;
    if (!spec->name || !spec->signature || cel_env_add_overload(env, spec) != 0)
        json_fail(reader, JSON_E_TYPE, "an overload with types that can be read");
}

static void decode_declaration(JsonReader *reader, Arena *arena, CelEnv *env) {
    Declaration d = {0};
    const CelType *type;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &d.name);
        else if (json_key_is(reader, key, STR("kind")))
            json_string(reader, arena, &d.kind);
        else if (json_key_is(reader, key, STR("type")))
            json_string(reader, arena, &d.type);
        else if (json_key_is(reader, key, STR("overloads"))) {
            json_array(reader);
            while (json_element(reader))
                decode_overload(reader, arena, d.name, env);
        } else
            json_skip(reader, NULL);
    }
    if (json_error(reader) != JSON_OK || !str_eq(d.kind, STR("var")))
        return;
    type = cel_type_read(env, d.type, arena);
    if (!type ||
        cel_env_add_variable(env, d.name, type, /* max_size= */ 0, /* group= */ 0, NULL) < 0)
        json_fail(reader, JSON_E_TYPE, "a variable with a type that can be read");
}

static void decode_bindings(JsonReader *reader, Arena *arena, EvalRecord *record) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        Str name = reader->escaped ? json_unescape(key, arena) : key;
        CelValue v = eval_value_decode(reader, arena);
        EvalBinding *binding = VEC_PUSH(&record->bindings, arena);

        if (binding)
            *binding = (EvalBinding){.name = name, .value = v};
    }
}

/* A variable without a declaration may have any type. */
static int declare_bound(EvalRecord *record) {
    for (size_t i = 0; i < record->bindings.n; i++) {
        Str name = record->bindings.items[i].name;

        if (!cel_env_variable(record->env, name) &&
            cel_env_add_variable(record->env, name, &cel_dyn_type, 0, 0, NULL) < 0)
            return -ENOMEM;
    }
    return 0;
}

static void decode_record(JsonReader *reader, Arena *arena, EvalRecord *record) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("id")))
            json_string(reader, arena, &record->id);
        else if (json_key_is(reader, key, STR("expr")))
            json_string(reader, arena, &record->expr);
        else if (json_key_is(reader, key, STR("container")))
            json_string(reader, arena, &record->container);
        else if (json_key_is(reader, key, STR("disable_check")))
            json_bool(reader, &record->no_check);
        else if (json_key_is(reader, key, STR("disable_macros")))
            json_bool(reader, &record->no_macros);
        else if (json_key_is(reader, key, STR("check_only")))
            json_bool(reader, &record->check_only);
        else if (json_key_is(reader, key, STR("bindings")))
            decode_bindings(reader, arena, record);
        else if (json_key_is(reader, key, STR("type_env"))) {
            json_array(reader);
            while (json_element(reader))
                decode_declaration(reader, arena, record->env);
        } else
            json_skip(reader, NULL);
    }
    json_end(reader);
}

bool eval_record_decode(
    Str line, const CelEnv *parent, Arena *arena, EvalRecord *ret, char *error) {
    JsonReader reader;

    *ret = (EvalRecord){.env = cel_env_extend(parent, arena)};
    json_reader_init(&reader, line);
    if (!ret->env) {
        (void)snprintf(error, EVAL_RECORD_ERROR_MAX, "out of memory");
        return false;
    }
    decode_record(&reader, arena, ret);
    if (json_error(&reader) != JSON_OK) {
        json_describe(&reader, error, EVAL_RECORD_ERROR_MAX);
        return false;
    }
    if (cel_env_set_container(ret->env, ret->container) < 0 || declare_bound(ret) < 0 ||
        arena_has_failed(arena)) {
        (void)snprintf(error, EVAL_RECORD_ERROR_MAX, "out of memory");
        return false;
    }
    return true;
}

CelValue *eval_record_variables(const EvalRecord *record, Arena *arena) {
    CelValue *values = ARENA_ARRAY(arena, CelValue, cel_env_n_slots(record->env) + 1);

    for (size_t i = 0; values && i < record->bindings.n; i++) {
        const CelVariable *variable = cel_env_variable(record->env, record->bindings.items[i].name);

        if (variable && !variable->is_constant)
            values[variable->slot] = record->bindings.items[i].value;
    }
    return values;
}
