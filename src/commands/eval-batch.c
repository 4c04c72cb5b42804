/* berth eval --batch: evaluates records line by line. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "cel/program.h"
#include "cel/type.h"
#include "cli/terminal.h"
#include "commands/eval-internal.h"
#include "json/fields.h"

typedef struct EvalBinding {
    Str name;
    CelValue value;
} EvalBinding;

/* One line, in the shape of the conformance vectors, with typed values (eval-internal.h):
 *
 *     {"id": "a/b/c", "expr": "x + 1", "type_env": [{"name": "x", "kind": "var", "type": "int"}],
 *      "bindings": {"x": {"type": "int", "value": "1"}}} */
typedef struct EvalRecord {
    Str id;
    Str expr;
    Str container;
    Str dialect; /* kubernetes: its stricter dialect, as without --plain; else plain CEL */
    bool no_check, no_macros, check_only;
    CelEnv *env; /* the parent's names and the record's */
    VEC(EvalBinding) bindings;
    CelValue *values; /* of the bindings, by slot; CEL_ABSENT: none */
} EvalRecord;

#define EVAL_RECORD_ERROR_MAX 256u

/* {"params": ["int", …], "result": "string", "receiver": bool} */
typedef struct OverloadText {
    Str params[CEL_ARGS_MAX], result;
    size_t n;
    bool is_receiver;
} OverloadText;

static void decode_param(JsonReader *reader, Arena *arena, void *target) {
    OverloadText *overload = target;

    if (overload->n < CEL_ARGS_MAX)
        json_string(reader, arena, &overload->params[overload->n++]);
    else
        json_fail(reader, JSON_E_RANGE, "fewer parameters");
}

/* Prints the signature in the syntax of the tables of the libraries. */
static void print_signature(const OverloadText *overload, Buf *out) {
    if (overload->is_receiver && overload->n > 0)
        buf_printf(out, "%.*s.", STR_FMT(overload->params[0]));
    buf_append_char(out, '(');
    for (size_t i = overload->is_receiver; i < overload->n; i++)
        buf_printf(
            out, "%s%.*s", i > overload->is_receiver ? ", " : "", STR_FMT(overload->params[i]));
    buf_printf(out, ") -> %.*s", STR_FMT(overload->result));
}

typedef struct Declaration {
    Str name, kind, type;
    CelEnv *env;
} Declaration;

static void decode_overload(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("result", TEXT, OverloadText, result),
        JSON_MEMBER("receiver", BOOL, OverloadText, is_receiver),
        JSON_MEMBER("is_instance_function", BOOL, OverloadText, is_receiver),
        {"params", JSON_FIELD_ARRAY, .read = decode_param},
    };
    _cleanup_(buf_done) Buf signature = BUF_INIT(4096);
    CelOverloadSpec *spec = ARENA_NEW(arena, CelOverloadSpec);
    OverloadText overload = {.result = STR("dyn")};
    Declaration *declaration = target;

    JSON_READ_FIELDS(reader, arena, fields, &overload);
    print_signature(&overload, &signature);
    if (!spec || buf_error(&signature) < 0 || json_error(reader) != JSON_OK)
        return;
    spec->name = arena_copy(arena, declaration->name).ptr;
    spec->signature = arena_copy(arena, buf_str(&signature)).ptr;
    if (!spec->name || !spec->signature || cel_env_add_overload(declaration->env, spec) != 0)
        json_fail(reader, JSON_E_TYPE, "an overload with types that can be read");
}

static void decode_declaration(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("name", TEXT, Declaration, name),
        JSON_MEMBER("kind", TEXT, Declaration, kind),
        JSON_MEMBER("type", TEXT, Declaration, type),
        {"overloads", JSON_FIELD_ARRAY, .read = decode_overload},
    };
    CelEnv *env = ((EvalRecord *)target)->env;
    Declaration d = {.env = env};
    const CelType *type;

    JSON_READ_FIELDS(reader, arena, fields, &d);
    if (json_error(reader) != JSON_OK || !str_eq(d.kind, STR("var")))
        return;
    type = cel_type_read(env, d.type, arena);
    if (!type ||
        cel_env_add_variable(env, d.name, type, /* max_size= */ 0, /* group= */ 0, NULL) < 0)
        json_fail(reader, JSON_E_TYPE, "a variable with a type that can be read");
}

static void decode_bindings(JsonReader *reader, Arena *arena, void *target) {
    EvalRecord *record = target;
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

/* Declares variables without a declaration as dyn, and sets the values of all. */
static int bind_values(EvalRecord *record, Arena *arena) {
    for (size_t i = 0; i < record->bindings.n; i++) {
        Str name = record->bindings.items[i].name;

        if (!cel_env_variable(record->env, name) &&
            cel_env_add_variable(record->env, name, &cel_dyn_type, 0, 0, NULL) < 0)
            return -ENOMEM;
    }
    record->values = ARENA_ARRAY(arena, CelValue, cel_env_n_slots(record->env) + 1);
    for (size_t i = 0; record->values && i < record->bindings.n; i++) {
        const CelVariable *variable = cel_env_variable(record->env, record->bindings.items[i].name);

        if (variable && !variable->is_constant)
            record->values[variable->slot] = record->bindings.items[i].value;
    }
    return record->values ? 0 : -ENOMEM;
}

/* Reads one line. @ret points into @arena and @line. Returns false, with a sentence in @error
 * (EVAL_RECORD_ERROR_MAX), if it is no such record; the id is set if it could be read. */
static bool eval_record_decode(
    Str line, const CelEnv *parent, Arena *arena, EvalRecord *ret, char *error) {
    static const JsonField fields[] = {
        JSON_MEMBER("id", TEXT, EvalRecord, id),
        JSON_MEMBER("expr", TEXT, EvalRecord, expr),
        JSON_MEMBER("container", TEXT, EvalRecord, container),
        JSON_MEMBER("dialect", TEXT, EvalRecord, dialect),
        JSON_MEMBER("disable_check", BOOL, EvalRecord, no_check),
        JSON_MEMBER("disable_macros", BOOL, EvalRecord, no_macros),
        JSON_MEMBER("check_only", BOOL, EvalRecord, check_only),
        {"bindings", JSON_FIELD_CUSTOM, .read = decode_bindings},
        {"type_env", JSON_FIELD_ARRAY, .read = decode_declaration},
    };
    JsonReader reader;

    *ret = (EvalRecord){.env = cel_env_extend(parent, arena)};
    json_reader_init(&reader, line);
    if (ret->env)
        JSON_READ_FIELDS(&reader, arena, fields, ret);
    json_end(&reader);
    if (ret->env && json_error(&reader) != JSON_OK) {
        json_describe(&reader, error, EVAL_RECORD_ERROR_MAX);
        return false;
    }
    if (!ret->env || cel_env_set_container(ret->env, ret->container) < 0 ||
        bind_values(ret, arena) < 0 || arena_has_failed(arena)) {
        (void)snprintf(error, EVAL_RECORD_ERROR_MAX, "out of memory for its variables");
        return false;
    }
    return true;
}

#define LINE_MAX_BYTES ((size_t)16 * 1024 * 1024)

static int answer_record(
    const EvalContext *context, const EvalRecord *record, Arena *arena, JsonWriter *writer) {
    CelOptions options = {.no_macros = record->no_macros,
        .no_check = record->no_check,
        .is_plain = !str_eq(record->dialect, STR("kubernetes"))};
    _cleanup_(buf_done) Buf type = BUF_INIT(EVAL_TEXT_MAX);
    DiagList diags = DIAG_LIST_IN(arena);
    CelRun run = eval_context_run(context);
    CelProgram *program;
    CelValue v;
    int r = cel_compile(record->env, record->id, record->expr, &options, arena, &diags, &program);

    if (r < 0)
        return r;
    if (r > 0) { /* the first error, in one line */
        json_write_member(writer, STR("error"),
            diags.diags.n > 0 ? diags.diags.items[0].text : STR("cannot be compiled"));
        return 0;
    }
    v = record->check_only ? cel_absent() : cel_run(program->code, &run, record->values);
    if (v.kind == CEL_ERROR)
        json_write_member(writer, STR("error"), v.error->text);
    else if (!record->check_only) {
        json_write_key(writer, STR("value"));
        eval_value_write(v, &run, writer);
    }
    if (!record->no_check) {
        cel_type_print(program->type, /* is_wire= */ true, &type);
        json_write_member(writer, STR("deduced_type"), buf_str(&type));
    }
    return 0;
}

/* Replaces the answer by an error. */
static void answer_error(Str id, const char *text, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    buf_reset(out);
    json_write(&writer, "{id: %.*s, error: %s}", STR_FMT(id), text);
}

/* Answers one line with one line. Returns false if it is no record. */
static bool eval_line(
    const EvalContext *context, const Buf *line, size_t number, Arena *arena, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);
    char error[EVAL_RECORD_ERROR_MAX] = "it is longer than 16 MiB", text[sizeof(error) + 64];
    EvalRecord record = {0};
    bool is_record = buf_error(line) == 0 && eval_record_decode(str_trim(buf_str(line)),
                                                 context->env, arena, &record, error);

    if (!is_record) {
        (void)snprintf(text, sizeof(text), "line %zu is no record: %s", number, error);
        answer_error(record.id, text, out);
    } else {
        json_write(&writer, "{id: %.*s", STR_FMT(record.id));
        if (answer_record(context, &record, arena, &writer) < 0)
            answer_error(record.id, "out of memory for the answer", out);
        else
            json_write_end_object(&writer);
        if (buf_error(out))
            answer_error(record.id, "the value is too large to print: over 64 MiB", out);
    }
    buf_append_char(out, '\n');
    return is_record;
}

/* Reads to the end of the line. If it exceeds the buffer's limit, the buffer has failed. Returns
 * false if there is no more. */
static bool read_line(FILE *in, Buf *line) {
    int c;

    buf_reset(line);
    while ((c = getc_unlocked(in)) != EOF && c != '\n')
        buf_append_char(line, (char)c);
    return c != EOF || line->len > 0;
}

/* Returns the number of lines that are no records, or a negative error. */
static int eval_lines(FILE *in, const EvalContext *context, Arena *arena) {
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES), out = BUF_INIT(EVAL_TEXT_MAX);
    int n_bad = 0;

    for (size_t number = 1; read_line(in, &line); number++) {
        if (str_trim(buf_str(&line)).len == 0)
            continue;
        buf_reset(&out);
        n_bad += !eval_line(context, &line, number, arena, &out) && n_bad < INT_MAX;
        if (!terminal_print(stdout, buf_str(&out)))
            return -EIO;
        arena_reset(arena);
        arena_reset(context->made);
    }
    return ferror(in) ? -errno : n_bad;
}

int eval_batch(const char *path, const EvalContext *context) {
    _cleanup_(arena_freep) Arena *arena = terminal_need(arena_new(EVAL_BUDGET), "a record");
    const char *name = path ? path : "-";
    bool is_stdin = strcmp(name, "-") == 0;
    FILE *in = is_stdin ? stdin : fopen(name, "r");
    int r = in ? eval_lines(in, context, arena) : -errno;

    if (r < 0)
        terminal_warn("%s: %s", name, strerror(-r));
    if (in && !is_stdin)
        (void)fclose(in);
    return r < 0 ? EXIT_UNREACHABLE : r > 0 ? EXIT_FAILED : EXIT_FINE;
}
