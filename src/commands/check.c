/*
 * berth check FILE…: everything that is wrong with policies, at once.
 *
 * Each argument is a file or a folder. All of them are checked together, because
 * names must be unique across them. With --live their metrics are asked for, too (check-live.c),
 * and the installation is looked at (checkup-command.c); with --offline the files are
 * kube-scheduler's.
 */

#include <getopt.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "checkup/check.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "cli/values.h"
#include "commands/check-installation.h"
#include "commands/check-metrics.h"
#include "commands/check-rules.h"
#include "input/policies.h"
#include "policy/shape.h"
#include "schema/schema.h"

#define CHECK_BUDGET ((size_t)64 * 1024 * 1024)

/* What is printed of policies that are fine. */
typedef enum Show { SHOW_SUMMARY, SHOW_COSTS, SHOW_CEL, SHOW_JSON } Show;

typedef struct Settings {
    Show show;
    bool is_verbose;
    bool is_live;
    bool is_offline;
    ClusterSource cluster; /* with --live */
    MetricsSource metrics;
    CheckupCommand checkup; /* with --live or --offline */
} Settings;

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s check [OPTIONS] FILE-OR-DIR...\n"
        "       %s check --live [--server URL]... [OPTIONS] [FILE-OR-DIR...]\n"
        "       %s check --offline [OPTIONS] SCHEDULER-CONFIG...\n"
        "\n"
        "Reads placement policies and prints everything that is wrong with them:\n"
        "file:line:column, the line, and how to mend it. \"-\" is standard input.\n"
        "Exit code: 0 when they can be used (warnings allowed), 1 when not, 3 when one\n"
        "cannot be read.\n"
        "\n"
        "  --cost                each rule: how often it is computed, and what it could cost\n"
        "  --print-cel           each rule as the CEL it stands for, built-in ones too;\n"
        "                        errors and warnings go to standard error then\n"
        "  -v, --verbose         with --print-cel: the messages, too; else the same as --cost\n"
        "  -o, --output text|json  everything as JSON (docs/policy.md)             [text]\n"
        "\n"
        "Does the installation work?\n"
        "  --live                look at berths that run, at kube-scheduler's configuration,\n"
        "                        rights and the cluster, as far as they are named; tell what is\n"
        "                        wrong, and the command or line that mends it. Exit code 1 when a\n"
        "                        check failed, 3 when nothing could be reached\n"
        "  --offline             the same of configurations of kube-scheduler alone: nobody is\n"
        "                        asked\n" CHECKUP_COMMAND_HELP CHECKUP_COMMAND_COMMON_HELP "\n"
        "Are the metrics of policies to be had?\n"
        "With --live and policy files every source is asked once: which nodes have a value, how\n"
        "series were joined to them, and what was not. Exit code 1 when a metric has none. The\n"
        "installation is looked at, too, when one of its own options is given (--server, ...).\n"
        "%s" METRICS_SOURCE_LIVE_HELP "\n"
        "Without files\n"
        "  --json-schema         the format of a policy as a JSON Schema, for editors\n"
        "  --format              every field of a policy file, as Markdown\n"
        "  --fields              everything that expressions can read, as Markdown\n"
        "  --codes               every check of --live, with its code, as Markdown\n",
        program_name,
        program_name,
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
static void print_diags(const Settings *settings, const DiagList *diags, Buf *out) {
    if (settings->show == SHOW_CEL)
        terminal_print_diags(diags);
    else if (settings->show != SHOW_JSON)
        diag_list_print(diags, terminal_has_colour(stdout), out);
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

static bool has_cluster(const ClusterSource *cluster) {
    return cluster->file || cluster_source_is_live(cluster);
}

/* Behind policy files that are fine. */
static int look(Settings *settings, Program *program) {
    int r = EXIT_FINE, r_installation = EXIT_FINE;

    if (has_cluster(&settings->cluster))
        r = check_live(&settings->metrics, &settings->cluster, program);
    if (checkup_command_is_given(&settings->checkup)) {
        (void)terminal_print(stdout, STR("\n"));
        r_installation = checkup_command_run(&settings->checkup, &settings->cluster);
    }
    return r != EXIT_FINE ? r : r_installation;
}

static int check(Settings *settings, const char *const *paths, size_t n_paths) {
    _cleanup_(arena_freep) Arena *arena = arena_new(CHECK_BUDGET);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf out = BUF_INIT(CHECK_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    int r = arena ? policies_load(paths, n_paths, &diags, &program) : -1;

    if (r < 0)
        return terminal_out_of_memory("berth check");
    print_diags(settings, &diags, &out);
    print_program(settings, &diags, program, &out);
    if (!terminal_print(stdout, buf_str(&out)))
        return EXIT_UNREACHABLE;
    if (r == 0 && settings->is_live)
        return look(settings, program);
    return r == 0 ? EXIT_FINE : r == POLICIES_E_UNREADABLE ? EXIT_UNREACHABLE : EXIT_FAILED;
}

static int run(Settings *settings, const char *const *paths, size_t n_paths) {
    settings->checkup.is_json = settings->show == SHOW_JSON;
    if (settings->is_offline)
        return checkup_command_run_offline(&settings->checkup, paths, n_paths);
    if (n_paths == 0)
        return checkup_command_run(&settings->checkup, &settings->cluster);
    return check(settings, paths, n_paths);
}

/* --- options --------------------------------------------------------------------- */

enum {
    OPTION_COST = 256,
    OPTION_PRINT_CEL,
    OPTION_JSON_SCHEMA,
    OPTION_FORMAT,
    OPTION_FIELDS,
    OPTION_CODES,
    OPTION_LIVE,
    OPTION_OFFLINE,
};

static const struct option long_options[] = {
    CLUSTER_SOURCE_OPTIONS,
    METRICS_SOURCE_LIVE_OPTIONS,
    CHECKUP_COMMAND_OPTIONS,
    {"live", no_argument, NULL, OPTION_LIVE},
    {"offline", no_argument, NULL, OPTION_OFFLINE},
    {"cost", no_argument, NULL, OPTION_COST},
    {"print-cel", no_argument, NULL, OPTION_PRINT_CEL},
    {"verbose", no_argument, NULL, 'v'},
    {"output", required_argument, NULL, 'o'},
    {"json-schema", no_argument, NULL, OPTION_JSON_SCHEMA},
    {"format", no_argument, NULL, OPTION_FORMAT},
    {"fields", no_argument, NULL, OPTION_FIELDS},
    {"codes", no_argument, NULL, OPTION_CODES},
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
    unsigned choice = 0;
    int r = value_choice("check", "output", value, "text|json", &choice);

    if (choice == 1)
        settings->show = SHOW_JSON;
    return r;
}

/* 0, or an exit code with *@ret_is_over set. */
static int set_option(Settings *settings, int option, bool *ret_is_over) {
    int r;

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
    case OPTION_CODES:
        return print_page(checkup_print_codes);
    case '?':
        return usage_error("check", NULL, print_help);
    default:
        break;
    }
    if (checkup_command_set(&settings->checkup, option, optarg, &r)) {
        *ret_is_over = r != 0;
        return r;
    }
    *ret_is_over = false;
    settings->is_live |= option == OPTION_LIVE;
    settings->is_offline |= option == OPTION_OFFLINE;
    if (option == OPTION_LIVE || option == OPTION_OFFLINE ||
        cluster_source_set(&settings->cluster, option, optarg) ||
        metrics_source_set(&settings->metrics, option, optarg))
        return 0;
    if (option == 'o') {
        r = set_output(settings, optarg);
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

static bool has_metrics(const MetricsSource *metrics) {
    return metrics->prometheus || metrics->sources;
}

/* --live with policy files: all three return NULL, or what is wrong. */
static const char *check_metrics(const Settings *settings) {
    const ClusterSource *cluster = &settings->cluster;
    bool is_checkup = checkup_command_is_given(&settings->checkup);
    const char *wrong = NULL;

    if (settings->show == SHOW_JSON)
        return "--live prints text when there are policy files; a running berth has what it "
               "measures as JSON at /api/v1/sources";
    if (is_checkup)
        wrong = checkup_command_check(&settings->checkup, cluster);
    if (!wrong && (!is_checkup || has_cluster(cluster)))
        wrong = cluster_source_check(cluster);
    return wrong ? wrong : metrics_source_check(&settings->metrics, cluster);
}

static const char *check_installation(const Settings *settings) {
    if (settings->show != SHOW_SUMMARY && settings->show != SHOW_JSON)
        return "--cost, --print-cel and --verbose are about policy files";
    if (settings->is_live && (has_metrics(&settings->metrics) || settings->cluster.file))
        return "whose metrics? Which file?";
    if (has_metrics(&settings->metrics) || settings->cluster.file)
        return "--cluster, --prometheus and their like go with --live";
    return checkup_command_check(&settings->checkup, &settings->cluster);
}

static const char *check_settings(const Settings *settings, size_t n_files) {
    if (settings->is_live && settings->is_offline)
        return "--offline is instead of --live";
    if (n_files == 0 && !settings->is_live)
        return "which file?";
    if (settings->is_offline || (settings->is_live && n_files == 0))
        return check_installation(settings);
    if (settings->is_live)
        return check_metrics(settings);
    if (has_cluster(&settings->cluster) || has_metrics(&settings->metrics))
        return "--cluster, --prometheus and their like go with --live";
    if (checkup_command_is_given(&settings->checkup))
        return "--server, --only and their like go with --live or --offline";
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
    settings.checkup.gather.is_offline = settings.is_offline;
    wrong = check_settings(&settings, (size_t)(argc - optind));
    if (wrong)
        return usage_error("check", wrong, print_help);
    return run(&settings, (const char *const *)argv + optind, (size_t)(argc - optind));
}
