/*
 * berth demo: see it work, without a cluster.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "cli/values.h"
#include "demo/demo-cluster.h"
#include "demo/demo.h"
#include "demo/scenario.h"

/* Without a terminal nobody can press Ctrl-C. */
#define PODS_PLAIN 60u
#define PODS_MAX 1000000000

/* About four pods a second can be read. */
#define PACE_LIVE_MSEC 250u
#define PACE_MAX_MSEC 60000

#define LIST_MAX ((size_t)64 * 1024)

typedef struct Settings {
    DemoOptions demo;
    Listen listen;
    const char *dump_path; /* NULL: run */
    const char *scenario;  /* NULL: none */
    bool solves;
} Settings;

static void print_help(FILE *out) {
    _cleanup_(buf_done) Buf list = BUF_INIT(LIST_MAX);

    scenario_print_list(&list);
    (void)fprintf(out,
        "usage: %s demo [OPTIONS]\n"
        "       %s demo --scenario NAME [--solve]\n"
        "\n"
        "Starts berth on a loopback address with a made-up cluster and a policy of its own,\n"
        "creates pods, asks about each of them as kube-scheduler would, and shows what was\n"
        "decided and why. On a terminal it goes on until Ctrl-C; otherwise it ends by itself.\n"
        "What a policy measures (metrics:) is asked of a stand-in for Prometheus. Files of the\n"
        "demo (policy, cluster, a pod) stay in ${TMPDIR:-/tmp}/berth-demo-UID.\n"
        "\n"
        "  --nodes N              nodes of the cluster, 1 to %u                  [200]\n"
        "  --pods N               end after so many pods; 0: never  [%u; on a terminal 0]\n"
        "  --pace MSEC            pause between two pods           [0; on a terminal %u]\n"
        "  --seed N               same number, same cluster and pods                  [1]\n"
        "  --policy FILE-OR-DIR   use this policy          [policies/demo.yaml, built in]\n"
        "  --listen ADDR:PORT     where to serve; port 0 picks one          [127.0.0.1:0]\n"
        "  --dump-cluster FILE    only write the cluster, as `kubectl get nodes,pods -A\n"
        "                         -o json` would print it; \"-\" is standard output\n"
        "\n"
        "Something is wrong, and there is one question\n"
        "  --scenario NAME        pending, hot-node, stale-metrics, api-down, bad-policy or\n"
        "                         weight-war; \"list\" tells what each asks. On a terminal it "
        "goes\n"
        "                         on until Ctrl-C, so that one can try to find the answer\n"
        "  --solve                ask berth, say what the cause is, and mend it\n"
        "\n"
        "%.*s",
        program_name,
        program_name,
        DEMO_NODES_MAX,
        PODS_PLAIN,
        PACE_LIVE_MSEC,
        STR_FMT(buf_str(&list)));
}

static int set_number(
    const char *option, const char *value, int64_t min, int64_t max, uint64_t *ret) {
    int64_t number = 0;
    int r = value_number("demo", option, value, min, max, &number);

    if (r == 0)
        *ret = (uint64_t)number;
    return r;
}

static int set_listen(Settings *settings, const char *value) {
    int r = value_listen("demo", "listen", value, &settings->listen);

    if (r != 0)
        return r;
    if (!str_has_prefix(str_from_c(settings->listen.address), STR("127.")) &&
        strcmp(settings->listen.address, "::1") != 0)
        return value_error(
            "demo", "listen", value, "the demo serves on loopback only, 127.0.0.1 or [::1]");
    settings->demo.address = settings->listen.address;
    settings->demo.port = settings->listen.port;
    return 0;
}

static int set_option(Settings *settings, int option, const char *value) {
    uint64_t number = 0;
    int r = 0;

    switch (option) {
    case 'n':
        r = set_number("nodes", value, 1, DEMO_NODES_MAX, &number);
        settings->demo.n_nodes = (size_t)number;
        break;
    case 'p':
        r = set_number("pods", value, 0, PODS_MAX, &settings->demo.n_pods);
        break;
    case 'd':
        r = set_number("pace", value, 0, PACE_MAX_MSEC, &number);
        settings->demo.pace_msec = (unsigned)number;
        break;
    case 's':
        r = set_number("seed", value, 0, INT64_MAX, &settings->demo.seed);
        break;
    case 'l':
        r = set_listen(settings, value);
        break;
    case 'f':
        settings->demo.policy = value;
        break;
    case 'c':
        settings->scenario = value;
        break;
    case 'v':
        settings->solves = true;
        break;
    default:
        settings->dump_path = value;
        break;
    }
    return r;
}

static int parse_options(Settings *settings, int argc, char *argv[], bool *ret_is_over) {
    static const struct option options[] = {
        {"nodes", required_argument, NULL, 'n'},
        {"pods", required_argument, NULL, 'p'},
        {"pace", required_argument, NULL, 'd'},
        {"seed", required_argument, NULL, 's'},
        {"listen", required_argument, NULL, 'l'},
        {"policy", required_argument, NULL, 'f'},
        {"dump-cluster", required_argument, NULL, 'o'},
        {"scenario", required_argument, NULL, 'c'},
        {"solve", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int option, r;

    *ret_is_over = true;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            print_help(stdout);
            return EXIT_FINE;
        }
        if (option == '?')
            return usage_error("demo", NULL, print_help);
        r = set_option(settings, option, optarg);
        if (r != 0)
            return r;
    }
    if (optind < argc)
        return usage_error("demo", "it takes options only", print_help);
    if (settings->solves && !settings->scenario)
        return usage_error("demo", "--solve is for a scenario (--scenario NAME)", print_help);
    *ret_is_over = false;
    return EXIT_FINE;
}

/* --- scenarios -------------------------------------------------------------------------- */

static int list_scenarios(void) {
    _cleanup_(buf_done) Buf list = BUF_INIT(LIST_MAX);

    scenario_print_list(&list);
    (void)terminal_print(stdout, buf_str(&list));
    return EXIT_FINE;
}

static int refuse_scenario(const char *name, Str nearest) {
    (void)fprintf(stderr, "berth demo: there is no scenario \"%s\"", name);
    if (!str_is_empty(nearest))
        (void)fprintf(stderr, "; did you mean \"%.*s\"?", STR_FMT(nearest));
    (void)fprintf(stderr, "\nTry: %s demo --scenario list\n", program_name);
    return EXIT_USAGE;
}

static int run_scenario(const Settings *settings) {
    const DemoOptions *demo = &settings->demo;
    ScenarioOptions options = {
        .program = program_name,
        .address = demo->address,
        .port = demo->port,
        .solves = settings->solves,
        .is_live = demo->is_live,
        .has_colour = demo->has_colour,
    };
    char error[SCENARIO_ERROR_MAX];
    Str nearest = STR_NULL;
    const Scenario *scenario;
    int r;

    if (strcmp(settings->scenario, "list") == 0)
        return list_scenarios();
    scenario = scenario_find(settings->scenario, &nearest);
    if (!scenario)
        return refuse_scenario(settings->scenario, nearest);
    log_setup(LOG_NONE, LOG_LOGFMT); /* what would be logged is what the scenario is about */
    r = scenario_run(scenario, &options, error);
    if (r == 0)
        return EXIT_FINE;
    terminal_complain("berth demo", error);
    return r == SCENARIO_E_UNSOLVED ? EXIT_FAILED : EXIT_UNREACHABLE;
}

/* --- the demo --------------------------------------------------------------------------- */

/* A broken policy, or calls that went wrong, is a failed check (1); a port or file
 * that cannot be had is the world's (3). */
static int exit_code_of(int r) {
    return r == DEMO_E_CALLS || r == -EINVAL || r == -EPERM ? EXIT_FAILED : EXIT_UNREACHABLE;
}

int cmd_demo(int argc, char *argv[]) {
    bool is_live = isatty(STDOUT_FILENO);
    Settings settings = {
        .demo =
            {
                .program = program_name,
                .n_nodes = 200,
                .n_pods = is_live ? 0 : PODS_PLAIN,
                .seed = 1,
                .address = "127.0.0.1",
                .pace_msec = is_live ? PACE_LIVE_MSEC : 0,
                .is_live = is_live,
                .has_colour = terminal_has_colour(stdout),
            },
    };
    char error[DEMO_ERROR_MAX];
    bool is_over;
    int r = parse_options(&settings, argc, argv, &is_over);

    if (is_over)
        return r;
    if (settings.scenario)
        return run_scenario(&settings);
    /* On a terminal the log would run into the view, which tells the same. */
    log_setup(is_live ? LOG_NONE : LOG_WARN, LOG_LOGFMT);
    r = settings.dump_path ? demo_dump(&settings.demo, settings.dump_path, error)
                           : demo_run(&settings.demo, error);
    if (r == 0)
        return EXIT_FINE;
    terminal_complain("berth demo", error);
    return exit_code_of(r);
}
