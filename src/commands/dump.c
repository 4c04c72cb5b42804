/*
 * berth dump: the cluster as berth sees it; and how that differs from the truth.
 */

#include <getopt.h>
#include <stdio.h>

#include "base/buf.h"
#include "cli/cluster-source.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "cluster/difference.h"
#include "input/dump-file.h"
#include "input/objects.h"

#define WHO "berth dump"
#define LINES_SHOWN 50u
#define TEXT_MAX ((size_t)64 * 1024 * 1024)

typedef struct Settings {
    ClusterSource source;
    const char *compare; /* a dump; NULL: write one */
    const char *output;
    bool all;
} Settings;

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s dump (--kubeconfig FILE | --in-cluster | --cluster FILE) [OPTIONS]\n"
        "\n"
        "Writes the cluster as berth sees it, in the format that --cluster reads. A running\n"
        "`berth serve` does the same on SIGUSR2.\n"
        "\n"
        "%s"
        "  -o, --output FILE     where to write it; \"-\" is standard output            [-]\n"
        "  --compare DUMP        write nothing; say how DUMP differs from the cluster\n"
        "                        (exit code 1 when it does)\n"
        "  --all                 every difference, not only the first %u\n",
        program_name,
        CLUSTER_SOURCE_HELP,
        LINES_SHOWN);
}

static void print_summary(const Difference *difference, const char *dump, Buf *out) {
    if (difference_is_none(difference)) {
        buf_printf(out, "%s and the cluster are the same\n", dump);
        return;
    }
    buf_printf(out,
        "%zu differences between %s (here) and the cluster (there)\n"
        "nodes: %zu only here, %zu only there, %zu differ, %zu with other pods or sums\n"
        "pods:  %zu only here, %zu only there, %zu on another node, %zu differ\n",
        difference->n_lines,
        dump,
        difference->n_nodes_only_here,
        difference->n_nodes_only_there,
        difference->n_nodes_differ,
        difference->n_sums_differ,
        difference->n_pods_only_here,
        difference->n_pods_only_there,
        difference->n_pods_moved,
        difference->n_pods_differ);
}

static int compare(const Settings *settings, const Snapshot *there) {
    _cleanup_(snapshot_unrefp) Snapshot *here = NULL;
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    char error[OBJECTS_ERROR_MAX];
    Difference difference;

    if (cluster_load(settings->compare, &here, error) < 0) {
        terminal_complain(WHO, error);
        return EXIT_UNREACHABLE;
    }
    if (difference_find(here, there, settings->all ? SIZE_MAX : LINES_SHOWN, &out, &difference) < 0)
        return terminal_out_of_memory(WHO);
    if (!settings->all && difference.n_lines > LINES_SHOWN)
        buf_printf(&out, "... and %zu more (--all)\n", difference.n_lines - LINES_SHOWN);
    print_summary(&difference, settings->compare, &out);
    if (!terminal_print(stdout, buf_str(&out)))
        return EXIT_UNREACHABLE;
    return difference_is_none(&difference) ? EXIT_FINE : EXIT_FAILED;
}

static int dump(const Settings *settings) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    char error[DUMP_FILE_ERROR_MAX];
    int r = cluster_source_load(&settings->source, WHO, &snapshot);

    if (r != 0)
        return r;
    if (settings->compare)
        return compare(settings, snapshot);
    if (dump_file_write(settings->output, snapshot, error) < 0) {
        terminal_complain(WHO, error);
        return EXIT_UNREACHABLE;
    }
    return EXIT_FINE;
}

static int misused(const char *what) {
    return usage_error("dump", what, print_help);
}

int cmd_dump(int argc, char *argv[]) {
    static const struct option options[] = {
        CLUSTER_SOURCE_OPTIONS,
        {"output", required_argument, NULL, 'o'},
        {"compare", required_argument, NULL, 'd'},
        {"all", no_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    Settings settings = {.output = "-"};
    const char *wrong;
    int option;

    while ((option = getopt_long(argc, argv, "ho:", options, NULL)) != -1) {
        if (option == 'h') {
            print_help(stdout);
            return EXIT_FINE;
        }
        if (option == 'o')
            settings.output = optarg;
        else if (option == 'd')
            settings.compare = optarg;
        else if (option == 'a')
            settings.all = true;
        else if (!cluster_source_set(&settings.source, option, optarg))
            return misused(NULL);
    }
    if (optind < argc)
        return misused("it takes options only");
    wrong = cluster_source_check(&settings.source);
    return wrong ? misused(wrong) : dump(&settings);
}
