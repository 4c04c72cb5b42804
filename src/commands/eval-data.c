/* Variables of `berth eval` from files and the command line, and its environment. */

#include "commands/eval-internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/diag.h"
#include "cel/type.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "input/file.h"
#include "input/values.h"
#include "yaml/document.h"

static int bind(EvalContext *context, EvalValues *values, Str name, CelValue v) {
    uint32_t slot;
    CelValue *place;

    if (cel_env_add_variable(context->env, name, &cel_dyn_type, 0, 0, &slot) < 0)
        return -ENOMEM;
    while (values->n <= slot) {
        place = VEC_PUSH(values, context->arena);
        if (!place)
            return -ENOMEM;
    }
    values->items[slot] = v;
    return 0;
}

/* What an expression can write: a, a1, a.b; not a word of the language. */
static bool is_name(Str name) {
    static const Str words[] = {STR("true"), STR("false"), STR("null"), STR("in")};
    bool is_start = true;

    for (size_t i = 0; i < ELEMENTS_OF(words); i++)
        if (str_eq(name, words[i]))
            return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_letter = ascii_is_letter(c) || c == '_';

        if (!is_letter && (is_start || (!ascii_is_digit(c) && c != '.')))
            return false;
        is_start = c == '.';
    }
    return !is_start;
}

static int wrong_option(const char *option, const char *wanted) {
    (void)fprintf(stderr, "berth eval: --var %s: %s\n", option, wanted);
    return EXIT_USAGE;
}

int eval_bind_option(EvalContext *context, const char *option, EvalValues *values) {
    Str text = str_from_c(option), name;
    JsonReader reader;
    CelValue v;
    char error[256];

    if (!strchr(option, '=') || option[0] == '=')
        return wrong_option(option, "expected NAME=JSON, like x=3 or name='\"a\"'");
    (void)str_split(&text, '=', &name);
    if (!is_name(name))
        return wrong_option(option, "this name cannot be written in an expression");
    json_reader_init(&reader, text);
    v = value_decode(&reader, context->arena);
    json_end(&reader);
    if (json_error(&reader) != JSON_OK) {
        json_describe(&reader, error, sizeof(error));
        (void)fprintf(stderr,
            "berth eval: --var %s: not JSON: %s\n"
            "A text needs its quotes: --var '%.*s=\"…\"'\n",
            option, error, STR_FMT(name));
        return EXIT_USAGE;
    }
    return bind(context, values, name, v) < 0 ? eval_out_of_memory() : 0;
}

/* YAML becomes JSON first: one reader knows data. */
static int data_as_json(EvalContext *context, const char *path, Str text, Buf *json) {
    DiagList diags = DIAG_LIST_IN(context->arena);
    YamlStream stream;
    int r = yaml_parse(str_from_c(path), text, context->arena, &diags, &stream);

    if (r == 0 && stream.n_documents == 1) {
        yaml_to_json(stream.documents[0], json);
        return 0;
    }
    if (r == -ENOMEM)
        return eval_out_of_memory();
    if (r == 0)
        (void)fprintf(stderr, "berth eval: %s: one document is wanted\n", path);
    else
        terminal_print_diags(&diags);
    return EXIT_FAILED;
}

static int bind_members(EvalContext *context, const char *path, Str json, EvalValues *values) {
    JsonReader reader;
    CelValue data;
    char error[256];

    json_reader_init(&reader, json);
    data = value_decode(&reader, context->arena);
    json_end(&reader);
    if (json_error(&reader) != JSON_OK) {
        json_describe(&reader, error, sizeof(error));
        (void)fprintf(stderr, "berth eval: %s: %s\n", path, error);
        return EXIT_FAILED;
    }
    if (data.kind != CEL_MAP) {
        (void)fprintf(
            stderr, "berth eval: %s: an object is wanted, its keys are variables\n", path);
        return EXIT_FAILED;
    }
    for (uint32_t i = 0; i < data.map->n; i++)
        if (bind(context, values, cel_str(data.map->entries[i].key), data.map->entries[i].value) <
            0)
            return eval_out_of_memory();
    return 0;
}

static bool looks_like_json(Str text) {
    Str trimmed = str_trim(text);

    return trimmed.len > 0 && trimmed.ptr[0] == '{';
}

int eval_bind_file(EvalContext *context, const char *path, EvalValues *values) {
    _cleanup_(buf_done) Buf file = BUF_INIT(EVAL_TEXT_MAX), json = BUF_INIT(EVAL_TEXT_MAX);
    char error[FILE_ERROR_MAX];
    Str text;
    int r = file_read(path, &file, error);

    if (r < 0) {
        terminal_complain("berth eval", error);
        return EXIT_UNREACHABLE;
    }
    text = buf_str(&file);
    if (!looks_like_json(text)) {
        r = data_as_json(context, path, text, &json);
        if (r != 0)
            return r;
        text = buf_str(&json);
    }
    text = arena_copy(context->arena, text); /* values point into it */
    return text.ptr ? bind_members(context, path, text, values) : eval_out_of_memory();
}
