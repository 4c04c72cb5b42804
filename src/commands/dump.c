/* berth dump: writes the cluster as berth sees it, or compares such a file with the cluster. */

#include <stdio.h>

#include "cli/cluster-source.h"
#include "cli/terminal.h"
#include "cluster/difference.h"
#include "commands/commands.h"
#include "input/dump-file.h"
#include "input/objects.h"

#define LINES_SHOWN 50u
#define TEXT_MAX ((size_t)64 * 1024 * 1024)

typedef struct Settings {
    ClusterSource source;
    const char *compare; /* a dump; NULL: write one */
    const char *output;
    bool all;
} Settings;

static void print_summary(const Difference *difference, const char *dump, Buf *out) {
    if (difference_is_none(difference)) {
        buf_printf(out, "%s and the cluster are the same\n", dump);
        return;
    }
    buf_printf(out,
        "%zu differences between %s (here) and the cluster (there)\n"
        "nodes: %zu only here, %zu only there, %zu differ, %zu with other pods or sums\n"
        "pods:  %zu only here, %zu only there, %zu on another node, %zu differ\n",
        difference->n_lines, dump, difference->n_nodes_only_here, difference->n_nodes_only_there,
        difference->n_nodes_differ, difference->n_sums_differ, difference->n_pods_only_here,
        difference->n_pods_only_there, difference->n_pods_moved, difference->n_pods_differ);
}

static int compare(const Settings *settings, const Snapshot *there) {
    _cleanup_(snapshot_unrefp) Snapshot *here = NULL;
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    char error[OBJECTS_ERROR_MAX];
    Difference difference;

    if (cluster_load(settings->compare, &here, error) < 0)
        terminal_fail("%s", error);
    if (difference_find(here, there, settings->all ? SIZE_MAX : LINES_SHOWN, &out, &difference) < 0)
        terminal_out_of_memory("the comparison", NULL);
    if (!settings->all && difference.n_lines > LINES_SHOWN)
        buf_printf(&out, "... and %zu more (--all)\n", difference.n_lines - LINES_SHOWN);
    print_summary(&difference, settings->compare, &out);
    terminal_output(buf_str(&out));
    return difference_is_none(&difference) ? EXIT_FINE : EXIT_FAILED;
}

static int run(void *context, const Arguments *arguments) {
    const Settings *settings = context;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot =
        cluster_source_load(&settings->source, RELATED_ALL);
    char error[DUMP_FILE_ERROR_MAX];

    if (settings->compare)
        return compare(settings, snapshot);
    if (dump_file_write(settings->output, snapshot, error) < 0)
        terminal_fail("%s", error);
    return EXIT_FINE;
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    CLUSTER_SOURCE_OPTIONS(Settings, source),
    {"output", OPTION_FILE, 'o', .argument = "FILE", AT(output), .initial = "-",
        .help = "file to write; \"-\" is standard output"},
    {"compare", OPTION_FILE, .argument = "DUMP", AT(compare),
        .help = "write nothing; print how DUMP differs from the cluster (exit code 1 when it does)"},
    {"all", OPTION_FLAG, AT(all), .help = "every difference, not only the first 50"},
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    return cluster_source_check(&((Settings *)context)->source);
}

const Command dump_command = {
    .name = "dump",
    .summary = "print the cluster as berth sees it",
    .usage = "(--kubeconfig FILE | --in-cluster | --cluster FILE) [OPTIONS]",
    .about = "Writes the cluster as berth sees it, in the format that --cluster reads. A running "
             "`berth serve` does the same on SIGUSR2.",
    .options = options,
    .settings_size = sizeof(Settings),
    .defaults = &(const Settings){.output = "-"},
    .check = check,
    .run = run,
};
