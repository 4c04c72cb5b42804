/*
 * berth eval: evaluates one CEL expression with data from the command line or a file.
 *
 * --batch is for programs: one record per line (eval-batch.c); the conformance tests use it.
 */

#include <errno.h>
#include <stdio.h>

#include "base/ascii.h"
#include "cel/explain.h"
#include "cel/library.h"
#include "cel/program.h"
#include "cel/report.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "commands/eval-internal.h"
#include "yaml/document.h"

static void bind(EvalContext *context, EvalValues *values, Str name, CelValue v) {
    uint32_t slot;

    if (cel_env_add_variable(context->env, name, &cel_dyn_type, 0, 0, &slot) < 0)
        terminal_out_of_memory("the variables", context->arena);
    *eval_slot(context, values, slot) = v;
}

/* A name that an expression can use: a, a1, a.b; not a reserved word. */
static bool is_name(Str name) {
    static const Str words[] = {STR("true"), STR("false"), STR("null"), STR("in")};
    bool is_start = true;

    if (str_is_one_of(name, words, ELEMENTS_OF(words)))
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

/* Sets no fuel limit: the size of the text bounds the work. Returns CEL_ERROR if it is not JSON. */
static CelValue decode(EvalContext *context, Str json) {
    CelRun run = CEL_RUN(context->arena);

    run.fuel = INT64_MAX;
    return cel_json_decode(&run, json, /* name= */ "");
}

/* Declares the variable of "NAME=JSON" with type dyn. */
static void eval_bind_option(EvalContext *context, const char *option, EvalValues *values) {
    Str text = str_from_c(option), name;
    CelValue v;

    if (!strchr(option, '=') || option[0] == '=')
        terminal_exit(EXIT_USAGE, "--var %s: expected NAME=JSON, like x=3 or name='\"a\"'", option);
    (void)str_split(&text, '=', &name);
    if (!is_name(name))
        terminal_exit(EXIT_USAGE, "--var %s: this name cannot be written in an expression", option);
    v = decode(context, text);
    if (v.kind == CEL_ERROR) {
        (void)fprintf(stderr,
            "berth eval: --var %s: not JSON: %.*s\n"
            "A text needs its quotes: --var '%.*s=\"…\"'\n",
            option, STR_FMT(v.error->text), STR_FMT(name));
        terminal_end(EXIT_USAGE);
    }
    bind(context, values, name, v);
}

/* Converts YAML to JSON: one reader suffices. The tree is freed before values are made. */
static void data_as_json(const char *path, Str text, Buf *json) {
    _cleanup_(arena_freep) Arena *arena = terminal_arena("the data", EVAL_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    YamlStream stream;
    int r = yaml_parse(str_from_c(path), text, arena, &diags, &stream);

    if (r == -ENOMEM)
        terminal_out_of_memory("the data", arena);
    if (r < 0)
        terminal_exit_for(EXIT_FAILED, &diags);
    if (stream.n_documents != 1)
        terminal_exit(EXIT_FAILED, "%s: one document is wanted", path);
    yaml_to_json(stream.documents[0], json);
}

/* Declares a variable of type dyn for each key of the object in a file; "-" is standard input. */
static void eval_bind_file(EvalContext *context, const char *path, EvalValues *values) {
    _cleanup_(buf_done) Buf file = BUF_INIT(EVAL_TEXT_MAX), json = BUF_INIT(EVAL_TEXT_MAX);
    CelValue data;
    Str text;

    terminal_read_file(path, &file);
    text = buf_str(&file);
    if (!str_has_prefix(str_trim(text), STR("{"))) {
        data_as_json(path, text, &json);
        text = buf_str(&json);
    }
    text = arena_copy(context->arena, text); /* values point into it */
    data = decode(context, text);
    if (data.kind == CEL_ERROR)
        terminal_exit(EXIT_FAILED, "%s: %.*s", path, STR_FMT(data.error->text));
    if (data.kind != CEL_MAP)
        terminal_exit(EXIT_FAILED, "%s: an object is wanted, its keys are variables", path);
    for (uint32_t i = 0; i < data.map->n; i++)
        bind(context, values, cel_str(data.map->entries[i].key), data.map->entries[i].value);
}

#define VARIABLES_MAX 64u

typedef struct Settings {
    const char *expression; /* NULL: in @file */
    const char *file;
    const char *data;
    const char *variables[VARIABLES_MAX]; /* NAME=JSON */
    size_t n_variables;
    EvalData objects;
    bool batch, plain, explain, cost, functions;
    OutputForm form;
    uint64_t cost_limit; /* 0: none */
} Settings;

static void context_done(EvalContext *context) {
    zones_free(context->zones);
    arena_free(context->made);
}

CelRun eval_context_run(const EvalContext *context) {
    CelRun run = CEL_RUN(context->made);

    run.zones = zones_finder(context->zones);
    return run;
}

/* Prints an error of the run like one of the check. */
static void print_error(Str file, Str source, const CelError *error, Arena *arena) {
    _cleanup_(buf_done) Buf out = BUF_INIT(EVAL_TEXT_MAX);
    DiagList diags = DIAG_LIST_IN(arena);

    diag_add(&diags, DIAG_ERROR, cel_place(file, source, error->at, error->at + 1), source,
        error->text, error->hint);
    if (diags.diags.n > 0)
        diag_print(&diags.diags.items[0], terminal_has_colour(stderr), &out);
    (void)terminal_print(stderr, buf_str(&out));
}

static void print_value(const Settings *settings, CelValue v, CelRun *run) {
    _cleanup_(buf_done) Buf out = BUF_INIT(EVAL_TEXT_MAX);
    JsonWriter writer = JSON_WRITER(&out);

    if (settings->form != OUTPUT_TABLE)
        eval_value_write(v, run, &writer);
    else
        cel_value_print(v, run, /* max= */ 0, &out);
    buf_append_char(&out, '\n');
    if (buf_error(&out))
        terminal_exit(EXIT_FAILED, "the value is too large to print: over 64 MiB");
    terminal_finish_as(&out, settings->form);
}

static int evaluate(const Settings *settings, const EvalContext *context, Str file, Str source,
    const CelOptions *options, const CelValue *variables, DiagList *diags) {
    CelProgram *program = NULL;
    CelRun run = eval_context_run(context);
    CelValue v;
    int r = cel_compile(context->env, file, source, options, context->arena, diags, &program);

    terminal_print_diags(diags);
    if (r < 0)
        terminal_out_of_memory("the compiled expression", context->arena);
    if (r > 0)
        return EXIT_FAILED;
    if (settings->cost)
        (void)printf("cost: %llu to %llu\n", (unsigned long long)program->cost.min,
            (unsigned long long)program->cost.max);
    v = cel_run(program->code, &run, variables);
    if (v.kind == CEL_ERROR) {
        print_error(file, source, v.error, context->arena);
        return EXIT_FAILED;
    }
    print_value(settings, v, &run);
    return EXIT_FINE;
}

static int explain(const EvalContext *context, Str file, Str source, const CelOptions *options,
    const CelValue *variables, DiagList *diags) {
    _cleanup_(buf_done) Buf out = BUF_INIT(EVAL_TEXT_MAX);
    CelRun run = eval_context_run(context);
    CelValue v;
    int r = cel_explain(context->env, file, source, options, variables, &run,
        terminal_has_colour(stdout), diags, &out, &v);

    terminal_print_diags(diags);
    if (r < 0)
        terminal_out_of_memory("the explanation", context->arena);
    if (r > 0)
        return EXIT_FAILED;
    terminal_output(buf_str(&out));
    if (v.kind == CEL_ERROR)
        print_error(file, source, v.error, context->arena);
    return v.kind == CEL_ERROR ? EXIT_FAILED : EXIT_FINE;
}

static Str read_expression(const Settings *settings, EvalContext *context) {
    _cleanup_(buf_done) Buf text = BUF_INIT(EVAL_TEXT_MAX);

    if (settings->expression)
        return str_from_c(settings->expression);
    terminal_read_file(settings->file, &text);
    return arena_copy(context->arena, buf_str(&text));
}

static int eval_one(Settings *settings, EvalContext *context) {
    CelOptions options = {.is_plain = settings->plain, .cost_limit = settings->cost_limit};
    DiagList diags = DIAG_LIST_IN(context->arena);
    Str file = settings->file ? str_from_c(settings->file) : STR("expression");
    EvalValues values = {0};
    Str source = read_expression(settings, context);

    eval_data_load(&settings->objects, context, &values);
    if (settings->data)
        eval_bind_file(context, settings->data, &values);
    for (size_t i = 0; i < settings->n_variables; i++)
        eval_bind_option(context, settings->variables[i], &values);
    arena_on_refusal(context->arena, terminal_out_of_memory, "the compiled expression");
    if (eval_data_report(&settings->objects, context, file, source, &options, &diags) < 0)
        terminal_out_of_memory("the checked expression", context->arena);
    if (diags.n_errors > 0)
        terminal_exit_for(EXIT_FAILED, &diags);
    if (settings->explain)
        return explain(context, file, source, &options, values.items, &diags);
    return evaluate(settings, context, file, source, &options, values.items, &diags);
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    {"file", OPTION_FILE, .argument = "FILE", AT(file),
        .help = "the expression is in this file; \"-\" is standard input"},
    {"data", OPTION_FILE, .argument = "FILE", AT(data),
        .help = "JSON or YAML; each key of the object is a variable"},
    {"var", OPTION_LIST, .argument = "NAME=JSON", OPTION_LIST_AT(Settings, variables, n_variables),
        .help = "a variable; may be repeated"},

    OPTION_GROUP("What policies read",
        "pod, node, cluster and now have the types and values that policies see."),
    CLUSTER_SOURCE_OPTIONS(Settings, objects.cluster),
    {"pod", OPTION_TEXT, .argument = "FILE|NAMESPACE/NAME", AT(objects.pod), .complete = COMPLETE_FILES,
        .help = "the pod: of a file, JSON or YAML, or of the cluster"},
    {"node", OPTION_TEXT, .argument = "NAME", AT(objects.node), .complete = COMPLETE_NODES,
        .help = "the node, of the cluster"},
    {"now", OPTION_TIME, .argument = "TIME", AT(objects.now_nsec), .initial = "now",
        .help = "as if it were 2026-01-31T20:00:00Z"},

    OPTION_GROUP("How it is evaluated"),
    {"plain", OPTION_FLAG, AT(plain),
        .help = "plain CEL: [1, \"a\"] is allowed, invalid constants (patterns, timestamps) fail when "
                "they are reached"},
    {"explain", OPTION_FLAG, AT(explain), .help = "the value of every part"},
    {"cost", OPTION_FLAG, AT(cost), .help = "print the least and greatest possible cost before the value"},
    {"max-cost", OPTION_NUMBER, .argument = "N", AT(cost_limit), .min = 1, .max = INT64_MAX,
        .help = "reject the expression if it may cost more than N"},
    {"output", OPTION_CHOICE, 'o', .argument = "text|json|yaml", AT(form), .initial = "text",
        .help = "output format of the value"},
    {"functions", OPTION_FLAG, AT(functions), .help = "list all functions, with their types"},
    {"batch", OPTION_FLAG, AT(batch),
        .help = "read JSON records in the format of the conformance tests, one per line, from FILE or "
                "standard input, and print one line for each"},
    {0},
};
/* clang-format on */

/* Prints "string.(int) -> string" of "charAt" as "string.charAt(int) -> string". */
static void print_overload(const CelOverloadSpec *spec, Buf *out) {
    const char *arguments = strstr(spec->signature, ".(");
    const char *rest = arguments ? arguments + 1 : spec->signature;

    buf_append(out, STR("  "));
    if (arguments)
        buf_printf(out, "%.*s.", (int)(arguments - spec->signature), spec->signature);
    buf_printf(out, "%s%s\n", spec->name, rest);
}

static void print_functions(Buf *out) {
    for (size_t i = 0; cel_libraries[i]; i++) {
        bool has_title = false;

        for (size_t k = 0; k < cel_libraries[i]->n_overloads; k++) {
            const CelOverloadSpec *spec = &cel_libraries[i]->overloads[k];

            if (strpbrk(spec->name, "@_!-")) /* operators cannot be written so: _+_, !_, @in */
                continue;
            if (!has_title)
                buf_printf(out, "%s%s\n", out->len > 0 ? "\n" : "", cel_libraries[i]->name);
            has_title = true;
            print_overload(spec, out);
        }
    }
}

static const char *check(void *context, const Arguments *arguments) {
    Settings *settings = context;

    if (arguments->n > 1)
        return "it takes one expression; put it into quotes";
    if (arguments->n == 1 && settings->file)
        return "it takes one expression: either as an argument or in --file";
    if (arguments->n == 1 && settings->batch)
        settings->file = arguments->items[0];
    else if (arguments->n == 1)
        settings->expression = arguments->items[0];
    if (settings->explain && settings->form != OUTPUT_TABLE)
        return "--explain prints text only, no JSON or YAML";
    if (!settings->functions && !settings->batch && !settings->expression && !settings->file)
        return "an expression is needed";
    return eval_data_check(&settings->objects);
}

static int run(void *context, const Arguments *arguments) {
    _cleanup_(buf_done) Buf functions = BUF_INIT(EVAL_TEXT_MAX);
    _cleanup_(context_done) EvalContext eval = {.arena = arguments->arena,
        .made = terminal_need(arena_new(CEL_MEMORY_DEFAULT), "the language"),
        .zones = terminal_need(zones_new(), "the language")};
    Settings *settings = context;
    int r;

    if (settings->functions) {
        print_functions(&functions);
        terminal_output(buf_str(&functions));
        return EXIT_FINE;
    }
    if (settings->batch) {
        eval.env = terminal_need(cel_env_new(eval.arena), "the language");
        return eval_batch(settings->file, &eval);
    }
    eval.schema = terminal_need(schema_new(eval.arena), "the language");
    eval.env = eval.schema->env;
    r = eval_one(settings, &eval);
    snapshot_unref(settings->objects.snapshot);
    return r;
}

const Command eval_command = {
    .name = "eval",
    .summary = "evaluate a CEL expression",
    .usage = "[OPTIONS] EXPRESSION\n"
             "--cluster FILE [--pod FILE|NAMESPACE/NAME] [--node NAME] [OPTIONS] EXPRESSION\n"
             "--batch [FILE]",
    .about = "Evaluates a CEL expression, as in placement policies and Kubernetes admission "
             "policies, and prints its value. Write -- before one that begins with a dash.",
    .options = options,
    .complete = COMPLETE_FILES,
    .max_completed = 1,
    .budget = EVAL_BUDGET,
    .memory_for = "the data",
    .settings_size = sizeof(Settings),
    .check = check,
    .run = run,
};
