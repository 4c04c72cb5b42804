/*
 * berth eval: the expression language by itself.
 *
 * One expression with data from the command line or a file; its value on stdout, what is
 * wrong with it on stderr with the place. --batch is for programs: one record a
 * line in, one line out (eval-record.h), which is how the conformance vectors are run.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "cel/explain.h"
#include "cel/mistake.h"
#include "cel/parse.h"
#include "cel/program.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "cli/values.h"
#include "commands/eval-batch.h"
#include "commands/eval-context.h"
#include "commands/eval-data.h"
#include "commands/eval-functions.h"
#include "commands/eval-value.h"
#include "input/file.h"

#define VARIABLES_MAX 64u

typedef enum Dump {
    DUMP_NOTHING,
    DUMP_TREE,
    DUMP_GRAPH,
    DUMP_CODE,
} Dump;

typedef struct Settings {
    const char *expression; /* NULL: in @file */
    const char *file;
    const char *data;
    const char *variables[VARIABLES_MAX]; /* NAME=JSON */
    size_t n_variables;
    bool batch, plain, explain, json, cost, functions;
    uint64_t cost_limit; /* 0: none */
    Dump dump;
} Settings;

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s eval [OPTIONS] EXPRESSION\n"
        "       %s eval --batch [FILE]\n"
        "\n"
        "Evaluates a CEL expression, as Kubernetes' admission policies write them, and\n"
        "prints its value. Write -- before one that begins with a dash.\n"
        "\n"
        "  --file FILE           the expression is in this file; \"-\" is standard input\n"
        "  --data FILE           JSON or YAML; each key of the object is a variable\n"
        "  --var NAME=JSON       a variable; may be repeated\n"
        "  --plain               plain CEL: [1, \"a\"] is allowed, constants that are wrong\n"
        "                        (patterns, timestamps) fail when they are reached\n"
        "  --explain             the value of every part\n"
        "  --cost                what it could cost, least and most, before its value\n"
        "  --max-cost N          refuse it when that is over N\n"
        "  --dump tree|graph|code  what it is compiled to, instead of its value\n"
        "  -o, --output text|json  how to print the value                          [text]\n"
        "  --functions           every function there is, with its types\n"
        "  --batch               one JSON record a line, in the shape of the conformance\n"
        "                        vectors, from FILE or standard input; one line each\n",
        program_name,
        program_name);
}

/* --- one expression ----------------------------------------------------------------- */

/* An error of the run, shown like one of the check. */
static void print_error(Str file, Str source, const CelError *error, Arena *arena) {
    _cleanup_(buf_done) Buf out = BUF_INIT(EVAL_TEXT_MAX);
    DiagList diags = DIAG_LIST_IN(arena);

    diag_add(&diags,
        DIAG_ERROR,
        cel_place(file, source, error->at, error->at + 1),
        source,
        error->text,
        error->hint);
    if (diags.diags.n > 0)
        diag_print(&diags.diags.items[0], terminal_has_colour(stderr), &out);
    (void)terminal_print(stderr, buf_str(&out));
}

static int print_value(const Settings *settings, CelValue v, CelRun *run) {
    _cleanup_(buf_done) Buf out = BUF_INIT(EVAL_TEXT_MAX);
    JsonWriter writer = JSON_WRITER(&out);

    if (settings->json)
        eval_value_write(v, run, &writer);
    else
        cel_value_print(v, run, /* max= */ 0, &out);
    buf_append_char(&out, '\n');
    if (buf_error(&out)) {
        (void)fprintf(stderr, "berth eval: the value is too large to print: over 64 MiB\n");
        return EXIT_FAILED;
    }
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

/* Stops after the step that was asked for. */
static int dump(const Settings *settings, const EvalScene *scene, Str file, Str source,
    const CelOptions *options, DiagList *diags) {
    _cleanup_(buf_done) Buf out = BUF_INIT(EVAL_TEXT_MAX);
    CelParseOptions parse = {.no_macros = options->no_macros};
    CelGraph *graph = cel_graph_new(scene->arena, scene->arena);
    CelChecked *checked = NULL;
    CelTree *tree = NULL;
    CelCode *code = NULL;
    uint32_t root = 0;
    int r = graph ? cel_parse(file, source, &parse, scene->arena, diags, &tree) : -ENOMEM;

    if (r == 0 && settings->dump != DUMP_TREE)
        r = cel_check(scene->env, tree, options, scene->arena, diags, &checked);
    if (r == 0 && settings->dump != DUMP_TREE)
        r = cel_lower(graph, checked, options, diags, &root);
    if (r == 0 && settings->dump == DUMP_CODE)
        r = cel_emit(graph, root, &(CelEmitOptions){0}, scene->arena, &code);
    if (r < 0)
        return eval_out_of_memory();
    terminal_print_diags(diags);
    if (r > 0)
        return EXIT_FAILED;
    if (settings->dump == DUMP_TREE)
        cel_tree_print(tree, &out);
    else if (settings->dump == DUMP_GRAPH)
        cel_graph_print(graph, root, &out);
    else
        cel_code_print(code, &out);
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

static int evaluate(const Settings *settings, const EvalScene *scene, Str file, Str source,
    const CelOptions *options, const CelValue *variables, DiagList *diags) {
    CelProgram *program = NULL;
    CelRun run = eval_scene_run(scene);
    CelValue v;
    int r = cel_compile(scene->env, file, source, options, scene->arena, diags, &program);

    terminal_print_diags(diags);
    if (r < 0)
        return eval_out_of_memory();
    if (r > 0)
        return EXIT_FAILED;
    if (settings->cost)
        (void)printf("cost: %llu to %llu\n",
            (unsigned long long)program->cost.min,
            (unsigned long long)program->cost.max);
    v = cel_run(program->code, &run, variables);
    if (v.kind == CEL_ERROR) {
        print_error(file, source, v.error, scene->arena);
        return EXIT_FAILED;
    }
    return print_value(settings, v, &run);
}

static int explain(const EvalScene *scene, Str file, Str source, const CelOptions *options,
    const CelValue *variables, DiagList *diags) {
    _cleanup_(buf_done) Buf out = BUF_INIT(EVAL_TEXT_MAX);
    CelRun run = eval_scene_run(scene);
    CelValue v;
    int r = cel_explain(scene->env,
        file,
        source,
        options,
        variables,
        &run,
        terminal_has_colour(stdout),
        diags,
        &out,
        &v);

    terminal_print_diags(diags);
    if (r < 0)
        return eval_out_of_memory();
    if (r > 0)
        return EXIT_FAILED;
    if (!terminal_print(stdout, buf_str(&out)))
        return EXIT_UNREACHABLE;
    if (v.kind == CEL_ERROR)
        print_error(file, source, v.error, scene->arena);
    return v.kind == CEL_ERROR ? EXIT_FAILED : EXIT_FINE;
}

static int read_expression(const Settings *settings, EvalScene *scene, Str *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(EVAL_TEXT_MAX);
    char error[FILE_ERROR_MAX];

    if (settings->expression) {
        *ret = str_from_c(settings->expression);
        return 0;
    }
    if (file_read(settings->file, &text, error) < 0) {
        terminal_complain("berth eval", error);
        return EXIT_UNREACHABLE;
    }
    *ret = arena_copy(scene->arena, buf_str(&text));
    return ret->ptr ? 0 : eval_out_of_memory();
}

static int eval_one(const Settings *settings, EvalScene *scene) {
    CelOptions options = {.mixed_literals = settings->plain,
        .lazy_literals = settings->plain,
        .cost_limit = settings->cost_limit};
    DiagList diags = DIAG_LIST_IN(scene->arena);
    Str file = settings->file ? str_from_c(settings->file) : STR("expression");
    EvalValues values = {0};
    Str source;
    int r = read_expression(settings, scene, &source);

    if (r == 0 && settings->data)
        r = eval_bind_file(scene, settings->data, &values);
    for (size_t i = 0; r == 0 && i < settings->n_variables; i++)
        r = eval_bind_option(scene, settings->variables[i], &values);
    if (r != 0)
        return r;
    if (settings->dump != DUMP_NOTHING)
        return dump(settings, scene, file, source, &options, &diags);
    if (settings->explain)
        return explain(scene, file, source, &options, values.items, &diags);
    return evaluate(settings, scene, file, source, &options, values.items, &diags);
}

/* --- the command ------------------------------------------------------------------------ */

static int misused(const char *what) {
    return usage_error("eval", what, print_help);
}

static int set_dump(Settings *settings, const char *value) {
    unsigned choice = 0;
    int r = value_choice("eval", "dump", value, "tree|graph|code", &choice);

    settings->dump = (Dump)(DUMP_TREE + choice);
    return r;
}

static int set_output(Settings *settings, const char *value) {
    unsigned choice = 0;
    int r = value_choice("eval", "output", value, "text|json", &choice);

    settings->json = choice == 1;
    return r;
}

static int set_cost_limit(Settings *settings, const char *text) {
    int64_t limit = 0;
    int r = value_number("eval", "max-cost", text, 1, INT64_MAX, &limit);

    settings->cost_limit = (uint64_t)limit;
    return r;
}

static int set_option(Settings *settings, int option) {
    switch (option) {
    case 'b':
        settings->batch = true;
        return 0;
    case 'p':
        settings->plain = true;
        return 0;
    case 'e':
        settings->explain = true;
        return 0;
    case 'c':
        settings->cost = true;
        return 0;
    case 'C':
        return set_cost_limit(settings, optarg);
    case 'd':
        settings->data = optarg;
        return 0;
    case 'f':
        settings->file = optarg;
        return 0;
    case 'F':
        settings->functions = true;
        return 0;
    case 'D':
        return set_dump(settings, optarg);
    case 'v':
        if (settings->n_variables == VARIABLES_MAX)
            return misused("too many variables; put them into one file for --data");
        settings->variables[settings->n_variables++] = optarg;
        return 0;
    case 'o':
        return set_output(settings, optarg);
    default:
        return misused(NULL);
    }
}

static int list_functions(void) {
    _cleanup_(buf_done) Buf out = BUF_INIT(EVAL_TEXT_MAX);

    eval_functions_print(&out);
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

static int run_command(const Settings *settings) {
    _cleanup_(eval_scene_done) EvalScene scene;

    if (eval_scene_init(&scene) < 0)
        return eval_out_of_memory();
    return settings->batch ? eval_batch(settings->file, &scene) : eval_one(settings, &scene);
}

/* EXPRESSION, or with --batch the FILE. */
static int set_argument(Settings *settings, const char *argument) {
    if (settings->batch && !settings->file)
        settings->file = argument;
    else if (settings->batch || settings->file)
        return misused("it takes one expression: either as an argument or in --file");
    else
        settings->expression = argument;
    return 0;
}

int cmd_eval(int argc, char *argv[]) {
    static const struct option options[] = {
        {"batch", no_argument, NULL, 'b'},
        {"plain", no_argument, NULL, 'p'},
        {"explain", no_argument, NULL, 'e'},
        {"cost", no_argument, NULL, 'c'},
        {"max-cost", required_argument, NULL, 'C'},
        {"functions", no_argument, NULL, 'F'},
        {"data", required_argument, NULL, 'd'},
        {"file", required_argument, NULL, 'f'},
        {"dump", required_argument, NULL, 'D'},
        {"var", required_argument, NULL, 'v'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    Settings settings = {0};
    int option, r = 0;

    while (r == 0 && (option = getopt_long(argc, argv, "ho:", options, NULL)) != -1) {
        if (option == 'h') {
            print_help(stdout);
            return EXIT_FINE;
        }
        r = set_option(&settings, option);
    }
    if (r == 0 && optind < argc)
        r = set_argument(&settings, argv[optind++]);
    if (r != 0)
        return r;
    if (optind < argc)
        return misused("it takes one expression; put it into quotes");
    if (settings.explain && settings.json)
        return misused("--explain is for people: it has no JSON");
    if (settings.functions)
        return list_functions();
    if (!settings.batch && !settings.expression && !settings.file)
        return misused("an expression is needed");
    return run_command(&settings);
}
