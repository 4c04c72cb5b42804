/* Parses signatures of overloads, with one byte of look-ahead. Type parameters are numbered in the
 * order of their first use, so that the checker finds their variables by index. */

#include "cel/env.h"

#include "base/ascii.h"
#include "cel/limits.h"

typedef struct Reader {
    const CelEnv *env;
    Arena *arena;
    Str rest;
    Str params[CEL_TYPE_PARAMS_MAX];
    size_t n_params;
} Reader;

/* Other names of types without parameters. A wrapper is read as the wrapped type. */
static const struct {
    Str name;
    const CelType *type;
} aliases[] = {
    {STR("dyn"), &cel_dyn_type},
    {STR("timestamp"), &cel_timestamp_type},
    {STR("duration"), &cel_duration_type},
    {STR("google.protobuf.Any"), &cel_dyn_type},
    {STR("google.protobuf.Value"), &cel_dyn_type},
    {STR("google.protobuf.NullValue"), &cel_null_type},
    {STR("google.protobuf.BoolValue"), &cel_bool_type},
    {STR("google.protobuf.BytesValue"), &cel_bytes_type},
    {STR("google.protobuf.DoubleValue"), &cel_double_type},
    {STR("google.protobuf.FloatValue"), &cel_double_type},
    {STR("google.protobuf.Int32Value"), &cel_int_type},
    {STR("google.protobuf.Int64Value"), &cel_int_type},
    {STR("google.protobuf.StringValue"), &cel_string_type},
    {STR("google.protobuf.UInt32Value"), &cel_uint_type},
    {STR("google.protobuf.UInt64Value"), &cel_uint_type},
    {STR("any"), &cel_dyn_type},
    {STR("null"), &cel_null_type},
    {STR("error"), &cel_error_type},
};

static void skip_spaces(Reader *reader) {
    while (reader->rest.len > 0 && (reader->rest.ptr[0] == ' ' || reader->rest.ptr[0] == '\n'))
        reader->rest = str_skip(reader->rest, 1);
}

static bool take(Reader *reader, Str token) {
    skip_spaces(reader);
    if (!str_has_prefix(reader->rest, token))
        return false;
    reader->rest = str_skip(reader->rest, token.len);
    return true;
}

static bool is_name_byte(char c) {
    return ascii_is_alnum(c) || c == '_' || c == '@' || c == '-' || c == '/';
}

/* Takes a name with dots; the dot between a receiver and its parameters is not part of it. */
static Str take_name(Reader *reader) {
    Str name;
    size_t n = 0;

    skip_spaces(reader);
    while (n < reader->rest.len) {
        char c = reader->rest.ptr[n];
        bool is_inner_dot =
            c == '.' && n + 1 < reader->rest.len && is_name_byte(reader->rest.ptr[n + 1]);

        if (!is_name_byte(c) && !is_inner_dot)
            break;
        n++;
    }
    name = str_take(reader->rest, n);
    reader->rest = str_skip(reader->rest, n);
    return name;
}

static const CelType *param_named(Reader *reader, Str name) {
    Str copy;
    size_t i = 0;

    while (i < reader->n_params && !str_eq(reader->params[i], name))
        i++;
    if (i == reader->n_params) {
        if (i == CEL_TYPE_PARAMS_MAX || name.len == 0)
            return NULL;
        reader->params[reader->n_params++] = name;
    }
    copy = arena_copy(reader->arena, name);
    return copy.ptr ? cel_param_of(reader->arena, copy, (uint32_t)i) : NULL;
}

static const CelType *simple_named(Reader *reader, Str name) {
    const CelType *record;

    if (name.len == 1 && name.ptr[0] >= 'A' && name.ptr[0] <= 'Z')
        return param_named(reader, name);
    for (size_t i = 0; cel_types[i]; i++)
        if (str_eq(name, cel_types[i]->name))
            return cel_types[i];
    for (size_t i = 0; i < ELEMENTS_OF(aliases); i++)
        if (str_eq(name, aliases[i].name))
            return aliases[i].type;
    record = reader->env ? cel_env_record(reader->env, name) : NULL;
    if (record)
        return record;
    if (str_is(name, "google.protobuf.ListValue"))
        return cel_list_of(reader->arena, &cel_dyn_type);
    if (str_is(name, "google.protobuf.Struct"))
        return cel_map_of(reader->arena, &cel_string_type, &cel_dyn_type);
    return NULL;
}

/* @n is 0 for a bare list, map or optional_type, with dyn in @params. */
static const CelType *compound(Reader *reader, Str name, const CelType **params, size_t n) {
    Arena *arena = reader->arena;

    if (str_is(name, "list") && n <= 1)
        return cel_list_of(arena, params[0]);
    if (str_is(name, "map") && n != 1 && n <= 2)
        return cel_map_of(arena, params[0], params[1]);
    if (str_is(name, "optional_type") && n <= 1)
        return cel_optional_of(arena, params[0]);
    if (str_is(name, "type") && n == 1)
        return cel_type_of_type(arena, params[0]);
    if (str_is(name, "wrapper") && n == 1)
        return params[0];
    return n == 0 ? simple_named(reader, name) : NULL;
}

static const CelType *read_type(Reader *reader, unsigned depth);

/* Types with commas between, up to the closing bracket. */
static bool read_types(
    Reader *reader, unsigned depth, const CelType **types, size_t size, size_t *ret_n) {
    size_t n = 0;

    do {
        if (n == size)
            return false;
        types[n] = read_type(reader, depth);
        if (!types[n++])
            return false;
    } while (take(reader, STR(",")));
    *ret_n = n;
    return take(reader, STR(")"));
}

/* opaque(tuple, int): the first word in brackets is a name, not a type. */
static const CelType *read_opaque(Reader *reader, unsigned depth) {
    const CelType *params[CEL_TYPE_PARAMS_MAX];
    Str name = take_name(reader);
    size_t n = 0;

    if (name.len == 0)
        return NULL;
    if (!take(reader, STR(")")) &&
        (!take(reader, STR(",")) || !read_types(reader, depth, params, CEL_TYPE_PARAMS_MAX, &n)))
        return NULL;
    return cel_opaque_of(reader->arena, name, params, n);
}

/* Recursion: CEL_TYPE_DEPTH_MAX bounds it. */
static const CelType *read_type(Reader *reader, unsigned depth) {
    const CelType *params[CEL_TYPE_PARAMS_MAX] = {&cel_dyn_type, &cel_dyn_type};
    Str name = take_name(reader);
    size_t n = 0;

    if (name.len == 0 || depth >= CEL_TYPE_DEPTH_MAX)
        return NULL;
    if (!take(reader, STR("(")))
        return compound(reader, name, params, n);
    if (str_is(name, "param")) {
        name = take_name(reader);
        return take(reader, STR(")")) ? param_named(reader, name) : NULL;
    }
    if (str_is(name, "opaque"))
        return read_opaque(reader, depth + 1);
    if (!read_types(reader, depth + 1, params, CEL_TYPE_PARAMS_MAX, &n))
        return NULL;
    return compound(reader, name, params, n);
}

static bool is_at_end(Reader *reader) {
    skip_spaces(reader);
    return reader->rest.len == 0;
}

const CelType *cel_type_read(const CelEnv *env, Str text, Arena *arena) {
    Reader reader = {.env = env, .arena = arena, .rest = text};
    const CelType *type = read_type(&reader, 0);

    return type && is_at_end(&reader) ? type : NULL;
}

bool cel_signature_read(const CelEnv *env, Str text, Arena *arena, CelOverload *ret) {
    Reader reader = {.env = env, .arena = arena, .rest = text};
    size_t n = 0;

    ret->n_args = 0;
    ret->is_receiver = false;
    if (!take(&reader, STR("("))) {
        ret->args[0] = read_type(&reader, 0);
        ret->n_args = 1;
        ret->is_receiver = true;
        if (!ret->args[0] || !take(&reader, STR(".")) || !take(&reader, STR("(")))
            return false;
    }
    if (!take(&reader, STR(")")) &&
        !read_types(&reader, 0, ret->args + ret->n_args, CEL_ARGS_MAX - ret->n_args, &n))
        return false;
    ret->n_args = (uint8_t)(ret->n_args + n);
    if (!take(&reader, STR("->")))
        return false;
    ret->result = read_type(&reader, 0);
    ret->n_params = (uint8_t)reader.n_params;
    return ret->result && is_at_end(&reader);
}
