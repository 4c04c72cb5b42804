/*
 * The option table of `berth simulate`, and which options go together.
 */

#include "commands/simulate-settings.h"

#include "cli/command.h"

#define WEIGHT_MAX 1000000

static const char *set_follow(void *context, const char *value) {
    SimulateSettings *settings = context;

    settings->follows = settings->files.by_schedule = true;
    return NULL;
}

#define AT(member) OPTION_AT(SimulateSettings, member)

/* clang-format off */
const Option simulate_options[] = {
    {"cluster", OPTION_FILE, .argument = "FILE", AT(files.cluster),
        .help = "nodes and pods, from `kubectl get nodes,pods -A -o json`"},
    {"pods", OPTION_FILE, .argument = "FILE", AT(files.pods),
        .help = "pods to place, in this order; \"-\" is standard input"},
    {"trace", OPTION_FILE, .argument = "FILE", AT(files.trace),
        .help = "pods with arrival times and lifetimes: lines or a list of {at: SEC, lifetime: SEC, "
                "count: N, pod: {...}}"},
    {"pending", OPTION_FLAG, AT(files.with_pending),
        .help = "place pending pods of the cluster, too, and first"},
    {"policy", OPTION_LIST, .argument = "FILE-OR-DIR", .complete = COMPLETE_FILES,
        OPTION_LIST_AT(SimulateSettings, policies, n_policies),
        .help = "policies to simulate together; each --policy is a column"},
    {"no-baseline", OPTION_FLAG, AT(has_no_baseline), .help = "leave out the run without policies"},
    {"metrics", OPTION_FILE, .argument = "FILE", AT(metrics),
        .help = "metrics in a file: {metrics: {NAME: {NODE: NUMBER}}}"},
    {"weight", OPTION_NUMBER, .argument = "N", AT(weight), .min = 1, .max = WEIGHT_MAX, .initial = "1",
        .help = "the extender's weight in kube-scheduler's configuration"},
    {"percentage-of-nodes-to-score", OPTION_NUMBER, .argument = "N", AT(percentage), .max = 100, .initial = "0",
        .help = "as kube-scheduler's; 0: its own choice"},
    {"seed", OPTION_NUMBER, .argument = "N", AT(seed), .max = INT64_MAX, .initial = "1",
        .help = "for the choice among equally good nodes"},
    {"every", OPTION_SECONDS, .argument = "SEC", AT(files.every), .max = SIMULATION_SECONDS_MAX, .initial = "0",
        .help = "between two pods of --pods"},
    {"until", OPTION_SECONDS, .argument = "SEC", AT(until), .max = SIMULATION_SECONDS_MAX, .initial = "when all is done",
        .help = "end of the simulation"},
    {"now", OPTION_TIME, .argument = "TIME", AT(now_nsec), .initial = "now",
        .help = "start as if it were 2026-01-31T20:00:00Z"},
    {"shape", OPTION_LIST, .argument = "LIST", OPTION_LIST_AT(SimulateSettings, shapes, n_shapes),
        .initial = "three typical sizes of the pods",
        .help = "count how many more pods of this size fit: cpu=2,memory=8Gi; may be repeated"},
    {"follow", OPTION_FLAG, .set = set_follow,
        .help = "place pods that have a node there, and report how often that node is among the best"},
    {"chart", OPTION_FILE, .argument = "FILE", AT(chart), .help = "write utilization over time as SVG"},
    {"all", OPTION_FLAG, AT(all), .help = "with -o json: every pod"},
    {"output", OPTION_CHOICE, 'o', .argument = "table|json|placements", AT(form), .initial = "table",
        .help = "output format"},
    {0},
};
/* clang-format on */

const char *simulate_settings_check(void *context, const Arguments *arguments) {
    const SimulateSettings *settings = context;
    const SimulationFiles *files = &settings->files;

    if (!files->cluster)
        return "--cluster is needed: kubectl get nodes,pods -A -o json > cluster.json";
    if (files->pods && files->trace)
        return "--pods and --trace exclude each other";
    if (!files->pods && !files->trace && !files->with_pending)
        return "--pods, --trace or --pending is needed: which pods to place";
    if (settings->has_no_baseline && settings->n_policies == 0)
        return "--no-baseline without a --policy leaves nothing to run";
    if (settings->follows && files->trace)
        return "--follow needs --pods: pods that have a node";
    return NULL;
}
