/* berth eval --batch: evaluates records line by line. */

#include "commands/eval-internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/diag.h"
#include "cel/program.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "commands/eval-record.h"
#include "commands/eval-value.h"

#define LINE_MAX_BYTES ((size_t)16 * 1024 * 1024)

/* The first error of a compilation in one line. */
static void write_refusal(const DiagList *diags, JsonWriter *writer) {
    json_write_key(writer, STR("error"));
    json_write_string(
        writer, diags->diags.n > 0 ? diags->diags.items[0].text : STR("cannot be compiled"));
}

static void write_result(CelValue v, CelRun *run, JsonWriter *writer) {
    if (v.kind == CEL_ERROR) {
        json_write_member(writer, STR("error"), v.error->text);
    } else {
        json_write_key(writer, STR("value"));
        eval_value_write(v, run, writer);
    }
}

static void write_type(const CelType *type, JsonWriter *writer) {
    _cleanup_(buf_done) Buf text = BUF_INIT(EVAL_TEXT_MAX);

    cel_type_print(type, /* is_wire= */ true, &text);
    json_write_member(writer, STR("deduced_type"), buf_str(&text));
}

static int answer_record(
    const EvalContext *context, const EvalRecord *record, Arena *arena, JsonWriter *writer) {
    CelOptions options = {.no_macros = record->no_macros,
        .no_check = record->no_check,
        .mixed_literals = true,
        .lazy_literals = true};
    DiagList diags = DIAG_LIST_IN(arena);
    CelRun run = eval_context_run(context);
    CelValue *variables = eval_record_variables(record, arena);
    CelProgram *program;
    int r = variables ? cel_compile(record->env, record->id, record->expr, &options, arena, &diags,
                            &program)
                      : -ENOMEM;

    if (r < 0)
        return r;
    if (r > 0) {
        write_refusal(&diags, writer);
        return 0;
    }
    if (!record->check_only)
        write_result(cel_run(program->code, &run, variables), &run, writer);
    if (!record->no_check)
        write_type(program->type, writer);
    return 0;
}

/* Answers with an error, and with nothing that was answered before. */
static void answer_error(Str id, const char *text, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    buf_reset(out);
    json_write_object(&writer);
    json_write_member(&writer, STR("id"), id);
    json_write_member(&writer, STR("error"), str_from_c(text));
    json_write_end_object(&writer);
}

/* Prints one line for one; true unless it was no record. */
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
        json_write_object(&writer);
        json_write_member(&writer, STR("id"), record.id);
        if (answer_record(context, &record, arena, &writer) < 0)
            answer_error(record.id, "out of memory", out);
        else
            json_write_end_object(&writer);
        if (buf_error(out))
            answer_error(record.id, "the value is too large to print: over 64 MiB", out);
    }
    buf_append_char(out, '\n');
    return is_record;
}

/* A line over the buffer's limit is read as far as the line goes and dropped: then the
 * buffer has failed. False: there is no more. */
static bool read_line(FILE *in, Buf *line) {
    int c;

    buf_reset(line);
    while ((c = getc_unlocked(in)) != EOF && c != '\n')
        buf_append_char(line, (char)c);
    return c != EOF || line->len > 0;
}

/* The number of lines that were no records, or a negative error. */
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
    _cleanup_(arena_freep) Arena *arena = arena_new(EVAL_BUDGET);
    const char *name = path ? path : "-";
    FILE *in = strcmp(name, "-") != 0 ? fopen(name, "r") : stdin;
    int r = arena && in ? eval_lines(in, context, arena) : -errno;

    if (r < 0)
        (void)fprintf(stderr, "berth eval: %s: %s\n", name, strerror(-r));
    if (in && in != stdin)
        (void)fclose(in);
    return r < 0 ? EXIT_UNREACHABLE : r > 0 ? EXIT_FAILED : EXIT_FINE;
}
