/*
 * berth eval: the expression language by itself.
 *
 * One expression with data from the command line or a file; its value on stdout, what is
 * wrong with it on stderr with the place. --batch is for programs: one record a
 * line in, one line out (eval-record.h), which is how the conformance vectors are run.
 */

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "cel/explain.h"
#include "cel/parse.h"
#include "cel/program.h"
#include "cli/commands.h"
#include "cli/eval-functions.h"
#include "cli/eval-record.h"
#include "cli/terminal.h"
#include "cli/values.h"
#include "input/file.h"
#include "input/values.h"
#include "input/zones.h"
#include "regex/regex.h"
#include "yaml/document.h"

#define EVAL_BUDGET ((size_t)256 * 1024 * 1024)
#define EVAL_TEXT_MAX ((size_t)64 * 1024 * 1024)
#define VARIABLES_MAX 64u
#define LINE_MAX_BYTES ((size_t)16 * 1024 * 1024)

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
    Dump dump;
} Settings;

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s eval [OPTIONS] EXPRESSION\n"
        "       %s eval --batch [FILE]\n"
        "\n"
        "Evaluates a CEL expression, as Kubernetes' admission policies write them, and\n"
        "prints its value.\n"
        "\n"
        "  --file FILE           the expression is in this file; \"-\" is standard input\n"
        "  --data FILE           JSON or YAML; each key of the object is a variable\n"
        "  --var NAME=JSON       a variable; may be repeated\n"
        "  --plain               plain CEL: [1, \"a\"] is allowed, constants that are wrong\n"
        "                        (patterns, timestamps) fail when they are reached\n"
        "  --explain             the value of every part\n"
        "  --cost                what it could cost at most, before its value\n"
        "  --dump tree|graph|code  what it is compiled to, instead of its value\n"
        "  -o text|json          how to print the value                       [text]\n"
        "  --functions           every function there is, with its types\n"
        "  --batch               one JSON record a line, in the shape of the conformance\n"
        "                        vectors, from FILE or standard input; one line each\n",
        program_name,
        program_name);
}

/* What every evaluation of this process shares. */
typedef struct Scene {
    Arena *arena; /* the language's tables, and the data of a single evaluation */
    Arena *made;  /* what an evaluation makes: its memory bound */
    CelEnv *env;
    Zones *zones;
    RegexPool *regexes;
} Scene;

#define PATTERNS_BUDGET ((size_t)8 * 1024 * 1024)

static void scene_done(Scene *scene) {
    regex_pool_free(scene->regexes);
    zones_free(scene->zones);
    arena_free(scene->made);
    arena_free(scene->arena);
}

static int scene_init(Scene *scene) {
    *scene = (Scene){.arena = arena_new(EVAL_BUDGET),
        .made = arena_new(CEL_MEMORY_DEFAULT),
        .zones = zones_new()};
    scene->env = scene->arena ? cel_env_new(scene->arena) : NULL;
    scene->regexes = regex_pool_new(PATTERNS_BUDGET);
    return scene->env && scene->made && scene->zones && scene->regexes ? 0 : -ENOMEM;
}

static CelRun scene_run(const Scene *scene) {
    CelRun run = CEL_RUN(scene->made);

    run.zones = zones_finder(scene->zones);
    run.regexes = scene->regexes;
    return run;
}

static int out_of_memory(void) {
    (void)fprintf(stderr, "berth eval: out of memory\n");
    return EXIT_UNREACHABLE;
}

/* --- data ------------------------------------------------------------------------- */

/* The variables of a single evaluation, in the order of their slots. */
typedef VEC(CelValue) Values;

static int bind(Scene *scene, Values *values, Str name, CelValue v) {
    uint32_t slot;
    CelValue *place;

    if (cel_env_add_variable(scene->env, name, &cel_dyn_type, 0, 0, &slot) < 0)
        return -ENOMEM;
    while (values->n <= slot) {
        place = VEC_PUSH(values, scene->arena);
        if (!place)
            return -ENOMEM;
    }
    values->items[slot] = v;
    return 0;
}

static int bind_option(Scene *scene, const char *option, Values *values) {
    Str text = str_from_c(option), name;
    JsonReader reader;
    CelValue v;
    char error[256];

    if (!strchr(option, '=') || option[0] == '=')
        return value_error("eval", "var", option, "NAME=JSON, such as x=3 or name='\"a\"'");
    (void)str_split(&text, '=', &name);
    json_reader_init(&reader, text);
    v = value_decode(&reader, scene->arena);
    json_end(&reader);
    if (json_error(&reader) != JSON_OK) {
        json_describe(&reader, error, sizeof(error));
        (void)fprintf(stderr,
            "berth eval: --var %s: not JSON: %s\n"
            "A text needs its quotes: --var '%.*s=\"…\"'\n",
            option,
            error,
            STR_FMT(name));
        return EXIT_USAGE;
    }
    return bind(scene, values, name, v) < 0 ? out_of_memory() : 0;
}

/* YAML becomes JSON first: one reader knows data. */
static int data_as_json(Scene *scene, const char *path, Str text, Buf *json) {
    DiagList diags = DIAG_LIST_IN(scene->arena);
    YamlStream stream;
    int r = yaml_parse(str_from_c(path), text, scene->arena, &diags, &stream);

    if (r == 0 && stream.n_documents == 1) {
        yaml_to_json(stream.documents[0], json);
        return 0;
    }
    if (r == 0)
        (void)fprintf(stderr, "berth eval: %s: one document is wanted\n", path);
    else {
        _cleanup_(buf_done) Buf problems = BUF_INIT(EVAL_TEXT_MAX);

        diag_list_print(&diags, terminal_has_colour(stderr), &problems);
        (void)terminal_print(stderr, buf_str(&problems));
    }
    return EXIT_FAILED;
}

static int bind_members(Scene *scene, const char *path, Str json, Values *values) {
    JsonReader reader;
    CelValue data;
    char error[256];

    json_reader_init(&reader, json);
    data = value_decode(&reader, scene->arena);
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
        if (bind(scene, values, cel_str(data.map->entries[i].key), data.map->entries[i].value) < 0)
            return out_of_memory();
    return 0;
}

static bool looks_like_json(Str text) {
    Str trimmed = str_trim(text);

    return trimmed.len > 0 && trimmed.ptr[0] == '{';
}

static int bind_data(Scene *scene, const char *path, Values *values) {
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
        r = data_as_json(scene, path, text, &json);
        if (r != 0)
            return r;
        text = buf_str(&json);
    }
    text = arena_copy(scene->arena, text); /* values point into it */
    return text.ptr ? bind_members(scene, path, text, values) : out_of_memory();
}

/* --- one expression ----------------------------------------------------------------- */

static void print_diags(const DiagList *diags) {
    _cleanup_(buf_done) Buf out = BUF_INIT(EVAL_TEXT_MAX);

    diag_list_print(diags, terminal_has_colour(stderr), &out);
    (void)terminal_print(stderr, buf_str(&out));
}

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
static int dump(const Settings *settings, const Scene *scene, Str file, Str source,
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
        return out_of_memory();
    print_diags(diags);
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

static int evaluate(const Settings *settings, const Scene *scene, Str file, Str source,
    const CelOptions *options, const CelValue *variables, DiagList *diags) {
    CelProgram *program = NULL;
    CelRun run = scene_run(scene);
    CelValue v;
    int r = cel_compile(scene->env, file, source, options, scene->arena, diags, &program);

    print_diags(diags);
    if (r < 0)
        return out_of_memory();
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

static int explain(const Scene *scene, Str file, Str source, const CelOptions *options,
    const CelValue *variables, DiagList *diags) {
    _cleanup_(buf_done) Buf out = BUF_INIT(EVAL_TEXT_MAX);
    CelRun run = scene_run(scene);
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

    print_diags(diags);
    if (r < 0)
        return out_of_memory();
    if (r > 0)
        return EXIT_FAILED;
    if (!terminal_print(stdout, buf_str(&out)))
        return EXIT_UNREACHABLE;
    if (v.kind == CEL_ERROR)
        print_error(file, source, v.error, scene->arena);
    return v.kind == CEL_ERROR ? EXIT_FAILED : EXIT_FINE;
}

static int read_expression(const Settings *settings, Scene *scene, Str *ret) {
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
    return ret->ptr ? 0 : out_of_memory();
}

static int eval_one(const Settings *settings, Scene *scene) {
    CelOptions options = {.mixed_literals = settings->plain, .lazy_literals = settings->plain};
    DiagList diags = DIAG_LIST_IN(scene->arena);
    Str file = settings->file ? str_from_c(settings->file) : STR("expression");
    Values values = {0};
    Str source;
    int r = read_expression(settings, scene, &source);

    if (r == 0 && settings->data)
        r = bind_data(scene, settings->data, &values);
    for (size_t i = 0; r == 0 && i < settings->n_variables; i++)
        r = bind_option(scene, settings->variables[i], &values);
    if (r != 0)
        return r;
    if (settings->dump != DUMP_NOTHING)
        return dump(settings, scene, file, source, &options, &diags);
    if (settings->explain)
        return explain(scene, file, source, &options, values.items, &diags);
    return evaluate(settings, scene, file, source, &options, values.items, &diags);
}

/* --- batch ---------------------------------------------------------------------------- */

/* The first error of a compilation in one line. */
static void write_refusal(const DiagList *diags, JsonWriter *writer) {
    json_write_key(writer, STR("error"));
    json_write_string(
        writer, diags->diags.n > 0 ? diags->diags.items[0].text : STR("cannot be compiled"));
}

static void write_result(CelValue v, CelRun *run, JsonWriter *writer) {
    if (v.kind == CEL_ERROR) {
        json_write_key(writer, STR("error"));
        json_write_string(writer, v.error->text);
    } else {
        json_write_key(writer, STR("value"));
        eval_value_write(v, run, writer);
    }
}

static void write_type(const CelType *type, JsonWriter *writer) {
    _cleanup_(buf_done) Buf text = BUF_INIT(EVAL_TEXT_MAX);

    cel_type_print(type, /* is_wire= */ true, &text);
    json_write_key(writer, STR("deduced_type"));
    json_write_string(writer, buf_str(&text));
}

static int answer_record(
    const Scene *scene, const EvalRecord *record, Arena *arena, JsonWriter *writer) {
    CelOptions options = {.no_macros = record->no_macros,
        .no_check = record->no_check,
        .mixed_literals = true,
        .lazy_literals = true};
    DiagList diags = DIAG_LIST_IN(arena);
    CelRun run = scene_run(scene);
    CelValue *variables = eval_record_variables(record, arena);
    CelProgram *program;
    int r =
        variables
            ? cel_compile(record->env, record->id, record->expr, &options, arena, &diags, &program)
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
    json_write_key(&writer, STR("id"));
    json_write_string(&writer, id);
    json_write_key(&writer, STR("error"));
    json_write_string(&writer, str_from_c(text));
    json_write_end_object(&writer);
}

/* Prints one line for one; true unless it was no record. */
static bool eval_line(const Scene *scene, const Buf *line, size_t number, Arena *arena, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);
    char error[EVAL_RECORD_ERROR_MAX] = "it is longer than 16 MiB", text[sizeof(error) + 64];
    EvalRecord record = {0};
    bool is_record = buf_error(line) == 0 &&
                     eval_record_decode(str_trim(buf_str(line)), scene->env, arena, &record, error);

    if (!is_record) {
        (void)snprintf(text, sizeof(text), "line %zu is no record: %s", number, error);
        answer_error(record.id, text, out);
    } else {
        json_write_object(&writer);
        json_write_key(&writer, STR("id"));
        json_write_string(&writer, record.id);
        if (answer_record(scene, &record, arena, &writer) < 0)
            answer_error(record.id, "out of memory", out);
        else
            json_write_end_object(&writer);
        if (buf_error(out))
            answer_error(record.id, "the value is too large to print: over 64 MiB", out);
    }
    buf_append_char(out, '\n');
    return is_record;
}

/* What is longer than the buffer's ceiling is read as far as the line goes and dropped: then the
 * buffer has failed. False: there is no more. */
static bool read_line(FILE *in, Buf *line) {
    int c;

    buf_reset(line);
    while ((c = getc_unlocked(in)) != EOF && c != '\n')
        buf_append_char(line, (char)c);
    return c != EOF || line->len > 0;
}

/* The number of lines that were no records, or a negative error. */
static int eval_lines(FILE *in, const Scene *scene, Arena *arena) {
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES), out = BUF_INIT(EVAL_TEXT_MAX);
    int n_bad = 0;

    for (size_t number = 1; read_line(in, &line); number++) {
        if (str_trim(buf_str(&line)).len == 0)
            continue;
        buf_reset(&out);
        n_bad += !eval_line(scene, &line, number, arena, &out) && n_bad < INT_MAX;
        if (!terminal_print(stdout, buf_str(&out)))
            return -EIO;
        arena_reset(arena);
        arena_reset(scene->made);
    }
    return ferror(in) ? -errno : n_bad;
}

static int eval_batch(const Settings *settings, const Scene *scene) {
    _cleanup_(arena_freep) Arena *arena = arena_new(EVAL_BUDGET);
    const char *name = settings->file ? settings->file : "-";
    FILE *in = strcmp(name, "-") != 0 ? fopen(name, "r") : stdin;
    int r = arena && in ? eval_lines(in, scene, arena) : -errno;

    if (r < 0)
        (void)fprintf(stderr, "berth eval: %s: %s\n", name, strerror(-r));
    if (in && in != stdin)
        (void)fclose(in);
    return r < 0 ? EXIT_UNREACHABLE : r > 0 ? EXIT_FAILED : EXIT_FINE;
}

/* --- the command ------------------------------------------------------------------------ */

static int usage_error(const char *what) {
    (void)fprintf(stderr, "berth eval: %s\n\n", what);
    print_help(stderr);
    return EXIT_USAGE;
}

static int set_dump(Settings *settings, const char *what) {
    static const char *const names[] = {"", "tree", "graph", "code"};

    for (size_t i = DUMP_TREE; i <= DUMP_CODE; i++)
        if (strcmp(what, names[i]) == 0) {
            settings->dump = (Dump)i;
            return 0;
        }
    return usage_error("--dump takes tree, graph or code");
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
            return usage_error("too many variables; put them into one file for --data");
        settings->variables[settings->n_variables++] = optarg;
        return 0;
    case 'o':
        if (strcmp(optarg, "json") != 0 && strcmp(optarg, "text") != 0)
            return usage_error("-o takes text or json");
        settings->json = strcmp(optarg, "json") == 0;
        return 0;
    default:
        print_help(stderr);
        return EXIT_USAGE;
    }
}

static int list_functions(void) {
    _cleanup_(buf_done) Buf out = BUF_INIT(EVAL_TEXT_MAX);

    eval_functions_print(&out);
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

static int run_command(const Settings *settings) {
    _cleanup_(scene_done) Scene scene;

    if (scene_init(&scene) < 0)
        return out_of_memory();
    return settings->batch ? eval_batch(settings, &scene) : eval_one(settings, &scene);
}

/* EXPRESSION, or with --batch the FILE. */
static int set_argument(Settings *settings, const char *argument) {
    if (settings->batch && !settings->file)
        settings->file = argument;
    else if (settings->batch || settings->file)
        return usage_error("it takes one expression: either as an argument or in --file");
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
        return usage_error("it takes one expression; put it into quotes");
    if (settings.functions)
        return list_functions();
    if (!settings.batch && !settings.expression && !settings.file)
        return usage_error("an expression is needed");
    return run_command(&settings);
}
