/* berth demo: see it work, without a cluster. */

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "demo/demo-cluster.h"
#include "demo/demo.h"

/* Without a terminal there is no Ctrl-C to end it. */
#define PODS_PLAIN 60u
#define PODS_MAX 1000000000

/* A user can follow about four pods a second. */
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

static const char *check_loopback(const char *value) {
    Str text = str_from_c(value);

    return str_has_prefix(text, STR("127.")) || str_has_prefix(text, STR("localhost:")) ||
                   str_has_prefix(text, STR("[::1]:")) || str_has_prefix(text, STR("::1:"))
               ? NULL
               : "expected ADDRESS:PORT; the demo serves on loopback only, 127.0.0.1 or [::1]";
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    {"nodes", OPTION_NUMBER, .argument = "N", AT(demo.n_nodes), .min = 1, .max = DEMO_NODES_MAX, .initial = "200",
        .help = "nodes of the cluster"},
    {"pods", OPTION_NUMBER, .argument = "N", AT(demo.n_pods), .max = PODS_MAX,
        .initial = "60; on a terminal 0", .help = "end after this many pods; 0: never"},
    {"pace", OPTION_NUMBER, .argument = "MSEC", AT(demo.pace_msec), .max = PACE_MAX_MSEC,
        .initial = "0; on a terminal 250", .help = "pause between two pods; kube-scheduler's backoff counts it as 250 ms at least"},
    {"seed", OPTION_NUMBER, .argument = "N", AT(demo.seed), .max = INT64_MAX, .initial = "1",
        .help = "the same number gives the same cluster and pods"},
    {"policy", OPTION_FILE, .argument = "FILE-OR-DIR", AT(demo.policy),
        .initial = "policies/demo.yaml, built in", .help = "use this policy"},
    {"listen", OPTION_LISTEN, .argument = "ADDR:PORT", AT(listen), .check = check_loopback,
        .initial = "127.0.0.1:0", .help = "address to serve on; port 0 picks one"},
    {"dump-cluster", OPTION_FILE, .argument = "FILE", AT(dump_path),
        .help = "only write the cluster, in the format of `kubectl get nodes,pods -A -o json`; \"-\" "
                "is standard output"},

    OPTION_GROUP("Scenarios: something is wrong, and you look for the cause"),
    {"scenario", OPTION_TEXT, .argument = "NAME", AT(scenario),
        .values = "pending|hot-node|stale-metrics|bad-policy|weight-war|list",
        .help = "pending, hot-node, stale-metrics, bad-policy or weight-war; \"list\" "
                "describes them. On a terminal it runs until Ctrl-C, so that you can look for the "
                "cause"},
    {"solve", OPTION_FLAG, AT(solves), .help = "query berth, print the cause, and fix it"},
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    const Settings *settings = context;

    return settings->solves && !settings->scenario ? "--solve needs --scenario NAME" : NULL;
}

static int run_scenario(const Settings *settings) {
    _cleanup_(buf_done) Buf list = BUF_INIT(LIST_MAX);
    char error[DEMO_ERROR_MAX];
    int r;

    if (strcmp(settings->scenario, "list") == 0) {
        scenario_print_list(&list);
        terminal_finish(&list);
        return EXIT_FINE;
    }
    log_setup(LOG_NONE, LOG_LOGFMT); /* the log would give the cause away */
    r = scenario_run(settings->scenario, &settings->demo, settings->solves, error);
    if (r == SCENARIO_E_UNKNOWN) {
        terminal_warn("%s", error);
        (void)fprintf(stderr, "Try: %s demo --scenario list\n", program_name);
        return EXIT_USAGE;
    }
    if (r != 0)
        terminal_fail_with(r == SCENARIO_E_UNSOLVED ? -EINVAL : -EIO, error);
    return EXIT_FINE;
}

static void dump(const Settings *settings) {
    _cleanup_(buf_done) Buf text = BUF_INIT(DEMO_DUMP_MAX);

    if (demo_dump(&settings->demo, &text) < 0)
        terminal_out_of_memory("the demo's cluster", NULL);
    if (strcmp(settings->dump_path, "-") == 0)
        terminal_finish(&text);
    else
        terminal_write_file(settings->dump_path, 0666, buf_str(&text));
}

static void init(void *context) {
    bool is_live = isatty(STDOUT_FILENO);

    *(Settings *)context = (Settings){
        .demo =
            {
                .program = program_name,
                .n_nodes = 200,
                .n_pods = is_live ? 0 : PODS_PLAIN,
                .seed = 1,
                .pace_msec = is_live ? PACE_LIVE_MSEC : 0,
                .is_live = is_live,
                .has_colour = terminal_has_colour(stdout),
            },
        .listen = {.address = "127.0.0.1"},
    };
}

static int run(void *context, const Arguments *arguments) {
    Settings *settings = context;
    char error[DEMO_ERROR_MAX];
    int r;

    settings->demo.address = settings->listen.address;
    settings->demo.port = settings->listen.port;
    if (settings->scenario)
        return run_scenario(settings);
    /* On a terminal the log would overwrite the view, which shows the same. */
    log_setup(settings->demo.is_live ? LOG_NONE : LOG_WARN, LOG_LOGFMT);
    if (settings->dump_path) {
        dump(settings);
        return EXIT_FINE;
    }
    r = demo_run(&settings->demo, error);
    /* A broken policy or failed calls are a failed check; a port or file may be unavailable. */
    if (r != 0)
        terminal_fail_with(r == DEMO_E_CALLS || r == -EPERM ? -EINVAL : r, error);
    return EXIT_FINE;
}

const Command demo_command = {
    .name = "demo",
    .summary = "see it work, without a cluster",
    .usage = "[OPTIONS]\n"
             "--scenario NAME [--solve]",
    .about =
        "Starts berth on a loopback address with a generated cluster and a built-in policy, "
        "creates pods, sends each of them to berth as kube-scheduler would, tries pending ones "
        "again, shows the decisions and explains the first ones. On a terminal it runs until "
        "Ctrl-C; otherwise it "
        "ends by itself. Metrics of policies come from a mock of Prometheus. The files of the demo "
        "(the policy, and at the end a bundle of its decisions) stay in "
        "${TMPDIR:-/tmp}/berth-demo-UID.",
    .options = options,
    .settings_size = sizeof(Settings),
    .init = init,
    .check = check,
    .run = run,
};
