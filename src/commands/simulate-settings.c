#include "commands/simulate-settings.h"

#include <getopt.h>
#include <stdio.h>

#include "base/double.h"
#include "cli/command.h"
#include "cli/usage.h"
#include "cli/values.h"

#define WHO "berth simulate"
#define WEIGHT_MAX 1000000

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s simulate --cluster FILE --pods FILE [--policy FILE-OR-DIR]... [OPTIONS]\n"
        "       %s simulate --cluster FILE --trace FILE [--policy FILE-OR-DIR]... [OPTIONS]\n"
        "\n"
        "Places pods one after another as kube-scheduler 1.36 would, without berth and with each\n"
        "policy, and compares: what is placed, what waits and why, nodes in use, what still fits.\n"
        "\n"
        "  --cluster FILE        nodes and pods, as `kubectl get nodes,pods -A -o json`\n"
        "  --pods FILE           pods to place, in this order; \"-\" is standard input\n"
        "  --trace FILE          pods that come and go: lines or a list of {at: SEC,\n"
        "                        lifetime: SEC, count: N, pod: {...}}\n"
        "  --pending             place pods of the cluster that wait, too, and first\n"
        "  --policy FILE-OR-DIR  policies that are tried together; each --policy is a column\n"
        "  --no-baseline         do not try it without any policy, too\n"
        "  --metrics FILE        metrics as a file has them: {metrics: {NAME: {NODE: NUMBER}}}\n"
        "  --weight N            the extender's in kube-scheduler's configuration     [1]\n"
        "  --percentage-of-nodes-to-score N  as kube-scheduler's; 0: its own choice   [0]\n"
        "  --seed N              for the choice among equally good nodes              [1]\n"
        "  --every SEC           between two pods of --pods                           [0]\n"
        "  --until SEC           end there                             [when all is done]\n"
        "  --now TIME            as if it began at 2026-01-31T20:00:00Z             [now]\n"
        "  --shape LIST          count what fits: cpu=2,memory=8Gi; may be repeated\n"
        "                        [three sizes of the pods given]\n"
        "  --follow              put pods that have a node there, and tell how often that node\n"
        "                        is among the best\n"
        "  --chart FILE          use over time, as SVG\n"
        "  --all                 with -o json: every pod\n"
        "  -o, --output table|json|placements  how to print it                    [table]\n",
        program_name,
        program_name);
}

/* --- options -------------------------------------------------------------------------------- */

static int misused(const char *what) {
    return usage_error("simulate", what, print_help);
}

static int set_seconds(const char *option, const char *value, double *ret) {
    if (!double_parse(str_from_c(value), ret, NULL) ||
        !(*ret >= 0 && *ret <= SIMULATION_SECONDS_MAX))
        return value_error("simulate", option, value, "expected a number of seconds, 0 or more");
    return 0;
}

static int set_form(SimulateSettings *settings, const char *value) {
    unsigned choice = 0;
    int r = value_choice("simulate", "output", value, "table|json|placements", &choice);

    settings->form = (SimulateForm)choice;
    return r;
}

static int add_policy(SimulateSettings *settings, const char *value) {
    if (settings->n_policies == SIMULATE_CONTENDERS_MAX - 1)
        return misused("that are too many policies to compare");
    settings->policies[settings->n_policies++] = value;
    return 0;
}

static int add_shape(SimulateSettings *settings, const char *value) {
    if (settings->n_shapes == SIMULATION_SHAPES_MAX)
        return misused("that are too many shapes");
    settings->shapes[settings->n_shapes++] = value;
    return 0;
}

static int set_option(SimulateSettings *settings, int option) {
    switch (option) {
    case 'c':
        settings->files.cluster = optarg;
        return 0;
    case 'p':
        settings->files.pods = optarg;
        return 0;
    case 't':
        settings->files.trace = optarg;
        return 0;
    case 'e':
        settings->files.with_pending = true;
        return 0;
    case 'P':
        return add_policy(settings, optarg);
    case 'b':
        settings->has_no_baseline = true;
        return 0;
    case 'm':
        settings->metrics = optarg;
        return 0;
    case 'g':
        settings->chart = optarg;
        return 0;
    case 'a':
        settings->all = true;
        return 0;
    case 'f':
        settings->follows = settings->files.by_schedule = true;
        return 0;
    case 's':
        return add_shape(settings, optarg);
    case 'w':
        return value_number("simulate", "weight", optarg, 1, WEIGHT_MAX, &settings->weight);
    case 'r':
        return value_number("simulate", "seed", optarg, 0, INT64_MAX, &settings->seed);
    case 'N':
        return value_number(
            "simulate", "percentage-of-nodes-to-score", optarg, 0, 100, &settings->percentage);
    case 'v':
        return set_seconds("every", optarg, &settings->files.every);
    case 'u':
        return set_seconds("until", optarg, &settings->until);
    case 'n':
        return value_time("simulate", "now", optarg, &settings->now_nsec);
    case 'o':
        return set_form(settings, optarg);
    default:
        return misused(NULL);
    }
}

/* NULL when all that is needed was given, once; else what is wrong. */
static const char *check_settings(const SimulateSettings *settings) {
    const SimulationFiles *files = &settings->files;

    if (!files->cluster)
        return "--cluster is needed: kubectl get nodes,pods -A -o json > cluster.json";
    if (files->pods && files->trace)
        return "--pods and --trace are two ways to say it: give one";
    if (!files->pods && !files->trace && !files->with_pending)
        return "--pods or --trace is needed (or --pending): which pods are to be placed?";
    if (settings->has_no_baseline && settings->n_policies == 0)
        return "--no-baseline without a --policy leaves nothing to try";
    if (settings->follows && files->trace)
        return "--follow goes with --pods: pods that have a node";
    return NULL;
}

int simulate_settings_read(int argc, char *argv[], SimulateSettings *ret, bool *ret_is_done) {
    static const struct option options[] = {
        {"cluster", required_argument, NULL, 'c'},
        {"pods", required_argument, NULL, 'p'},
        {"trace", required_argument, NULL, 't'},
        {"pending", no_argument, NULL, 'e'},
        {"policy", required_argument, NULL, 'P'},
        {"no-baseline", no_argument, NULL, 'b'},
        {"metrics", required_argument, NULL, 'm'},
        {"weight", required_argument, NULL, 'w'},
        {"percentage-of-nodes-to-score", required_argument, NULL, 'N'},
        {"seed", required_argument, NULL, 'r'},
        {"every", required_argument, NULL, 'v'},
        {"until", required_argument, NULL, 'u'},
        {"now", required_argument, NULL, 'n'},
        {"shape", required_argument, NULL, 's'},
        {"follow", no_argument, NULL, 'f'},
        {"chart", required_argument, NULL, 'g'},
        {"all", no_argument, NULL, 'a'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    const char *wrong;
    int option;

    *ret = (SimulateSettings){.weight = 1, .seed = 1, .until = -1};
    *ret_is_done = false;
    while ((option = getopt_long(argc, argv, "ho:", options, NULL)) != -1) {
        int r;

        if (option == 'h') {
            print_help(stdout);
            *ret_is_done = true;
            return 0;
        }
        r = set_option(ret, option);
        if (r != 0)
            return r;
    }
    if (optind < argc)
        return misused("it takes options only");
    wrong = check_settings(ret);
    return wrong ? misused(wrong) : 0;
}
