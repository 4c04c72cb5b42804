/*
 * berth check FILE…: everything that is wrong with policies, at once.
 *
 * Each argument is a file or a folder. All of them are checked together, because
 * names must be unique across them.
 */

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "cli/check-live.h"
#include "cli/check-rules.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "cli/values.h"
#include "input/policies.h"
#include "policy/describe.h"
#include "policy/json-schema.h"
#include "schema/schema.h"

#define CHECK_BUDGET ((size_t)64 * 1024 * 1024)

/* What is printed of policies that are fine. */
typedef enum Show { SHOW_SUMMARY, SHOW_COSTS, SHOW_CEL, SHOW_JSON } Show;

typedef struct Settings {
    Show show;
    bool is_verbose;
    bool is_live;
    ClusterSource cluster; /* with --live */
    MetricsSource metrics;
} Settings;

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s check [OPTIONS] FILE-OR-FOLDER...\n"
        "\n"
        "Reads placement policies and prints everything that is wrong with them:\n"
        "file:line:column, the line, and how to mend it. \"-\" is standard input.\n"
        "Exit code: 0 when they can be used (warnings allowed), 1 when not, 3 when one\n"
        "cannot be read.\n"
        "\n"
        "  --cost         each rule: how often it is computed, and what it could cost\n"
        "  --print-cel    each rule as the CEL it stands for, built-in ones too;\n"
        "                 errors and warnings go to standard error then\n"
        "  -v, --verbose  with --print-cel: the messages, too; else the same as --cost\n"
        "  -o text|json   everything as JSON, documented in docs/policy.md        [text]\n"
        "\n"
        "Are their metrics to be had?\n"
        "  --live                ask every source once; tell which nodes have a value, how series\n"
        "                        were joined to them, and what was not. Exit code 1 when a metric\n"
        "                        has none\n"
        "%s" METRICS_SOURCE_LIVE_HELP "\n"
        "Without files\n"
        "  --json-schema  the format of a policy as a JSON Schema, for editors\n"
        "  --format       every field of a policy file, as Markdown\n"
        "  --fields       everything that expressions can read, as Markdown\n",
        program_name,
        CLUSTER_SOURCE_HELP);
}

static void print_summary(const Program *program, Buf *out) {
    buf_printf(out,
        "ok: %zu polic%s, %zu filter%s, %zu score%s\n",
        program->n_policies,
        program->n_policies == 1 ? "y" : "ies",
        program->n_filters,
        program->n_filters == 1 ? "" : "s",
        program->n_scores,
        program->n_scores == 1 ? "" : "s");
}

/* What was found, where it belongs. */
static bool print_diags(const Settings *settings, const DiagList *diags, Buf *out) {
    _cleanup_(buf_done) Buf aside = BUF_INIT(CHECK_BUDGET);

    if (settings->show == SHOW_JSON)
        return true;
    if (settings->show != SHOW_CEL) {
        diag_list_print(diags, terminal_has_colour(stdout), out);
        return true;
    }
    diag_list_print(diags, terminal_has_colour(stderr), &aside);
    return terminal_print(stderr, buf_str(&aside));
}

static void print_program(
    const Settings *settings, const DiagList *diags, const Program *program, Buf *out) {
    if (settings->show == SHOW_JSON) {
        check_print_json(diags, program, out);
        return;
    }
    if (!program)
        return;
    if (settings->show == SHOW_CEL) {
        check_print_cel(program, settings->is_verbose, out);
        return;
    }
    if (settings->show == SHOW_COSTS)
        check_print_costs(program, out);
    print_summary(program, out);
}

static int check(const Settings *settings, const char *const *paths, size_t n_paths) {
    _cleanup_(arena_freep) Arena *arena = arena_new(CHECK_BUDGET);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf out = BUF_INIT(CHECK_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    int r = arena ? policies_load(paths, n_paths, &diags, &program) : -1;

    if (r < 0) {
        (void)fprintf(stderr, "berth check: out of memory\n");
        return EXIT_UNREACHABLE;
    }
    if (!print_diags(settings, &diags, &out))
        return EXIT_UNREACHABLE;
    print_program(settings, &diags, program, &out);
    if (!terminal_print(stdout, buf_str(&out)))
        return EXIT_UNREACHABLE;
    if (r == 0 && settings->is_live)
        return check_live(&settings->metrics, &settings->cluster, program);
    return r == 0 ? EXIT_FINE : r == POLICIES_E_UNREADABLE ? EXIT_UNREACHABLE : EXIT_FAILED;
}

/* --- options --------------------------------------------------------------------- */

enum {
    OPTION_COST = 256,
    OPTION_PRINT_CEL,
    OPTION_JSON_SCHEMA,
    OPTION_FORMAT,
    OPTION_FIELDS,
    OPTION_LIVE,
};

static const struct option long_options[] = {
    CLUSTER_SOURCE_OPTIONS,
    METRICS_SOURCE_OPTIONS,
    {"live", no_argument, NULL, OPTION_LIVE},
    {"cost", no_argument, NULL, OPTION_COST},
    {"print-cel", no_argument, NULL, OPTION_PRINT_CEL},
    {"verbose", no_argument, NULL, 'v'},
    {"output", required_argument, NULL, 'o'},
    {"json-schema", no_argument, NULL, OPTION_JSON_SCHEMA},
    {"format", no_argument, NULL, OPTION_FORMAT},
    {"fields", no_argument, NULL, OPTION_FIELDS},
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* Prints what needs no policy. */
static int print_page(void (*write)(Buf *out)) {
    _cleanup_(buf_done) Buf out = BUF_INIT(CHECK_BUDGET);

    write(&out);
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

static int set_output(Settings *settings, const char *value) {
    if (strcmp(value, "json") == 0)
        settings->show = SHOW_JSON;
    else if (strcmp(value, "text") != 0)
        return value_error("check", "output", value, "expected text or json");
    return 0;
}

/* 0, or an exit code with *@ret_is_over set. */
static int set_option(Settings *settings, int option, bool *ret_is_over) {
    *ret_is_over = true;
    switch (option) {
    case 'h':
        print_help(stdout);
        return EXIT_FINE;
    case OPTION_JSON_SCHEMA:
        return print_page(policy_json_schema);
    case OPTION_FORMAT:
        return print_page(policy_describe);
    case OPTION_FIELDS:
        return print_page(schema_describe);
    case '?':
        print_help(stderr);
        return EXIT_USAGE;
    default:
        break;
    }
    *ret_is_over = false;
    settings->is_live |= option == OPTION_LIVE;
    if (option == OPTION_LIVE || cluster_source_set(&settings->cluster, option, optarg) ||
        metrics_source_set(&settings->metrics, option, optarg))
        return 0;
    if (option == 'o') {
        int r = set_output(settings, optarg);

        *ret_is_over = r != 0;
        return r;
    }
    if (option == OPTION_PRINT_CEL)
        settings->show = SHOW_CEL;
    else if (settings->show == SHOW_SUMMARY)
        settings->show = SHOW_COSTS;
    settings->is_verbose |= option == 'v';
    return 0;
}

/* NULL: all that is needed was given; else what is wrong. */
static const char *check_settings(const Settings *settings) {
    const ClusterSource *cluster = &settings->cluster;
    const MetricsSource *metrics = &settings->metrics;
    const char *wrong;

    if (settings->is_live && settings->show == SHOW_JSON)
        return "--live prints text; a running berth has the same as JSON at /api/v1/sources";
    if (settings->is_live) {
        wrong = cluster_source_check(cluster);
        return wrong ? wrong : metrics_source_check(metrics, cluster);
    }
    if (cluster->file || cluster_source_is_live(cluster) || metrics->file || metrics->prometheus ||
        metrics->sources)
        return "--cluster, --prometheus and their like go with --live";
    return NULL;
}

int cmd_check(int argc, char *argv[]) {
    Settings settings = {0};
    const char *wrong;
    int option;

    while ((option = getopt_long(argc, argv, "hvo:", long_options, NULL)) != -1) {
        bool is_over;
        int r = set_option(&settings, option, &is_over);

        if (is_over)
            return r;
    }
    wrong = optind == argc ? "which file?" : check_settings(&settings);
    if (wrong) {
        (void)fprintf(stderr, "berth check: %s\n\n", wrong);
        print_help(stderr);
        return EXIT_USAGE;
    }
    return check(&settings, (const char *const *)argv + optind, (size_t)(argc - optind));
}
