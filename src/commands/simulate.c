/*
 * berth simulate: places pods on a cluster under several policies, and compares the results.
 *
 * simulate-table.c and simulate-json.c print.
 */

#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "cli/cluster-source.h"
#include "cli/policy-files.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cluster/object-fields.h"
#include "commands/commands.h"
#include "commands/simulate-report.h"
#include "input/zones.h"
#include "simulate/run.h"
#include "simulate/simulation-input.h"
#include "simulate/simulation-result.h"

#define WEIGHT_MAX 1000000

#define AT(member) OPTION_AT(SimulateSettings, member)

/* clang-format off */
static const Option simulate_options[] = {
    {"cluster", OPTION_FILE, .argument = "FILE", AT(files.cluster),
        .help = "nodes and pods, from `kubectl get nodes,pods -A -o json`"},
    {"pods", OPTION_FILE, 'f', .argument = "FILE", AT(files.pods),
        .help = "pods to place, in this order: Pods, Deployments, Jobs and other objects with pods, as "
                "from kustomize or helm template; \"-\" is standard input"},
    {"trace", OPTION_FILE, .argument = "FILE", AT(files.trace),
        .help = "pods with arrival times and lifetimes: lines or a list of {at: SEC, lifetime: SEC, "
                "count: N, pod: {...}}"},
    {"pending", OPTION_FLAG, AT(files.with_pending),
        .help = "place pending pods of the cluster, too, and first"},
    {"policy", OPTION_LIST, .argument = "FILE-OR-DIR", .complete = COMPLETE_FILES,
        OPTION_LIST_AT(SimulateSettings, policies, n_policies),
        .help = "policies to simulate together; each --policy is a column"},
    {"no-baseline", OPTION_FLAG, AT(has_no_baseline), .help = "leave out the run without policies"},
    {"autoscale", OPTION_FILE, .argument = "FILE", AT(files.pool),
        .help = "add nodes like the Node in this file for pods that find none, as an autoscaler does that "
                "knows published rules only, and count node-hours and their cost"},
    {"metrics", OPTION_FILE, .argument = "FILE", AT(metrics),
        .help = "metrics in a file: {metrics: {NAME: {NODE: NUMBER}}}"},
    {"weight", OPTION_NUMBER, .argument = "N", AT(weight), .min = 1, .max = WEIGHT_MAX, .initial = "1",
        .help = "the extender's weight in kube-scheduler's configuration"},
    {"percentage-of-nodes-to-score", OPTION_NUMBER, .argument = "N", AT(percentage), .max = 100, .initial = "0",
        .help = "as in kube-scheduler's configuration; 0: its own choice"},
    {"nominate", OPTION_FLAG, AT(nominates),
        .help = "as with `berth serve --nominate`: many pods that arrive together get nodes that berth chooses ahead"},
    {"seed", OPTION_NUMBER, .argument = "N", AT(seed), .max = INT64_MAX, .initial = "1",
        .help = "for the choice among equally good nodes"},
    {"every", OPTION_SECONDS, .argument = "SEC", AT(files.every), .max = SIMULATION_SECONDS_MAX, .initial = "0",
        .help = "time between two pods of --pods"},
    {"until", OPTION_SECONDS, .argument = "SEC", AT(until), .max = SIMULATION_SECONDS_MAX, .initial = "when all is done",
        .help = "end of the simulation"},
    {"now", OPTION_TIME, .argument = "TIME", AT(now_nsec), .initial = "now",
        .help = "start as if it were 2026-01-31T20:00:00Z"},
    {"shape", OPTION_LIST, .argument = "LIST", OPTION_LIST_AT(SimulateSettings, shapes, n_shapes),
        .initial = "three typical sizes of the pods",
        .help = "count how many more pods of this size fit: cpu=2,memory=8Gi; may be repeated"},
    {"follow", OPTION_FLAG, AT(follows),
        .help = "place pods on the node that they have, and report how often that node is among the best"},
    {"all", OPTION_FLAG, AT(all), .help = "with -o json: every pod"},
    {"output", OPTION_CHOICE, 'o', .argument = "table|json|yaml", AT(form), .initial = "table",
        .help = "output format"},
    {0},
};
/* clang-format on */

static const char *simulate_settings_check(void *context, const Arguments *arguments) {
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
    if (settings->follows && files->pool)
        return "--follow and --autoscale exclude each other";
    if (settings->follows && files->trace)
        return "--follow needs --pods: pods that have a node";
    return NULL;
}

#define TEXT_MAX ((size_t)2 * 1024 * 1024 * 1024)
#define RUN_TEXT_MAX 160u

typedef struct Simulation {
    const SimulateSettings *settings;
    SimulateReport report; /* as far as it is known */
    Zones *zones;
    int64_t now_nsec;
    char running[RUN_TEXT_MAX]; /* text of the progress */
} Simulation;

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal) {
    is_interrupted = 1;
}

static bool is_over(void) {
    return is_interrupted != 0;
}

/* Shapes: sizes of pods. The report counts how many more pods of each would fit. */

#define WANTED "--shape takes amounts like cpu=2,memory=8Gi"

/* Parses "cpu=2,memory=8Gi" into @arena. Returns NULL, or the error. */
static const char *shape_parse(const char *text, Arena *arena, Resources *ret) {
    Str rest = str_from_c(text), part;

    *ret = (Resources){.items = ARENA_ARRAY(arena, Resource, RESOURCES_MAX)};
    while (str_split(&rest, ',', &part)) {
        size_t equals = str_find(part, '=');
        Resource *resource;

        if (equals == SIZE_MAX || equals == 0 || ret->n == RESOURCES_MAX)
            return WANTED;
        resource = &ret->items[ret->n++];
        resource->name = str_take(part, equals);
        if (!resource_amount_parse(resource->name, str_skip(part, equals + 1), &resource->amount) ||
            resource->amount <= 0)
            return WANTED ", more than 0";
    }
    return ret->n > 0 ? NULL : WANTED;
}

/* The requests that this fraction of all pods does not exceed. */
static Resources find_quantile(const SimulationInput *input, double quantile, Arena *arena) {
    static const Str names[] = {STR("cpu"), STR("memory")};
    Resources shape = {.items = ARENA_ARRAY(arena, Resource, ELEMENTS_OF(names))};

    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        int64_t amount = simulation_input_quantile(input, names[i], quantile, arena);

        if (amount > 0)
            shape.items[shape.n++] = (Resource){.name = names[i], .amount = amount};
    }
    return shape;
}

/* Takes the shapes of the options, or else the p50, p90 and maximum of the pods' requests. */
static void find_shapes(Simulation *simulation) {
    static const double quantiles[] = {0.5, 0.9, 1};
    const SimulateSettings *settings = simulation->settings;
    SimulateReport *report = &simulation->report;

    for (size_t i = 0; settings->n_shapes == 0 && i < ELEMENTS_OF(quantiles); i++) {
        Resources *shape = &report->shapes[report->n_shapes];

        *shape = find_quantile(report->input, quantiles[i], report->scratch);
        if (shape->n > 0 &&
            (report->n_shapes == 0 || !object_items_equal(&resource_type, shape->items, shape->n,
                                          shape[-1].items, shape[-1].n)))
            report->n_shapes++;
    }
    for (size_t i = 0; i < settings->n_shapes; i++) {
        const char *wrong =
            shape_parse(settings->shapes[i], report->scratch, &report->shapes[report->n_shapes++]);

        if (wrong)
            terminal_exit(EXIT_USAGE, "%s", wrong);
    }
}

/* "density" of policies/density.yaml. */
static Str name_of(const char *path) {
    Str name = str_from_c(path), last;

    while (name.len > 1 && str_has_suffix(name, STR("/")))
        name = str_take(name, name.len - 1);
    last = str_file_name(name);
    name = str_is_empty(last) ? name : last; /* "/" */
    if (str_has_suffix(name, STR(".yaml")))
        name = str_take(name, name.len - 5);
    else if (str_has_suffix(name, STR(".yml")))
        name = str_take(name, name.len - 4);
    return name;
}

/* Policies that would have the same name, or that of the baseline, are named by their paths. */
static void name_runs(Simulation *simulation) {
    const SimulateSettings *settings = simulation->settings;
    size_t base = !settings->has_no_baseline;

    for (size_t i = 0; i < settings->n_policies; i++) {
        bool is_twice = str_is(name_of(settings->policies[i]), "none");

        for (size_t k = 0; k < settings->n_policies; k++)
            is_twice |=
                k != i && str_eq(name_of(settings->policies[i]), name_of(settings->policies[k]));
        simulation->report.runs[base + i].name =
            is_twice ? str_from_c(settings->policies[i]) : name_of(settings->policies[i]);
    }
    if (base)
        simulation->report.runs[0].name = STR("none");
}

static void run_one(Simulation *simulation, const ViewParts *parts) {
    const SimulateSettings *settings = simulation->settings;
    const RunOptions options = {
        .scheduler =
            {
                .weight = settings->weight,
                .percentage = (unsigned)settings->percentage,
                .seed = (uint64_t)settings->seed,
            },
        .nominates = settings->nominates,
        .follows = settings->follows,
        .until = settings->until,
        .now_nsec = simulation->now_nsec,
        .shapes = simulation->report.shapes,
        .n_shapes = simulation->report.n_shapes,
        .is_over = is_over,
        .progress = progress_count,
    };

    (void)snprintf(simulation->running, sizeof(simulation->running),
        "placing pods, policy \"%.*s\" (%zu of %zu)",
        STR_FMT(str_take(simulation->report.runs[simulation->report.n].name, 64)),
        simulation->report.n + 1,
        simulation->settings->n_policies + !simulation->settings->has_no_baseline);
    progress_begin(simulation->running);
    (void)terminal_check(run_simulation(simulation->report.input, parts, &options,
                             &simulation->report.runs[simulation->report.n].result),
        "the simulation", NULL);
    simulation->report.n++;
}

static void run_policy(Simulation *simulation, Program *program) {
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    MetricsSource metrics = {.file = simulation->settings->metrics};
    ClusterSource cluster = {.file = simulation->settings->files.cluster};
    ViewParts parts = {
        .program = program,
        .zones = zones_finder(simulation->zones),
        .now_nsec = simulation->now_nsec,
        .uptime_nsec = clock_monotonic_nsec(),
    };

    measurements = metrics_source_load(&metrics, &cluster, program,
        simulation->report.input->snapshot, parts.now_nsec, parts.uptime_nsec,
        /* ret_statuses= */ NULL);
    parts.measurements = measurements;
    if (!metrics.file)
        simulation->report.runs[simulation->report.n].n_unfed = program->n_gauges;
    run_one(simulation, &parts);
}

/* Policies are read before anything is run, so that a mistake is reported at once. */
static void run_all(Simulation *simulation) {
    const SimulateSettings *settings = simulation->settings;
    Program *programs[SIMULATE_RUNS_MAX] = {0};

    for (size_t i = 0; i < settings->n_policies; i++)
        programs[i] = policy_files_load(
            &(PolicyPaths){.items = {settings->policies[i]}, .n = 1}, simulation->report.scratch);
    if (!settings->has_no_baseline)
        run_one(simulation, /* parts= */ NULL);
    for (size_t i = 0; i < settings->n_policies && !is_interrupted; i++)
        run_policy(simulation, programs[i]);
    for (size_t i = 0; i < settings->n_policies; i++)
        program_unref(programs[i]);
}

static void print(const Simulation *simulation) {
    const SimulateSettings *settings = simulation->settings;
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    const SimulateReport *report = &simulation->report;

    if (settings->form == OUTPUT_TABLE)
        simulate_table(report, &out);
    else
        simulate_json(report, &out);
    terminal_finish_as(&out, settings->form);
}

static void simulation_done(Simulation *simulation) {
    for (size_t i = 0; i < SIMULATE_RUNS_MAX; i++)
        simulation_result_free(simulation->report.runs[i].result);
    simulation_input_free(simulation->report.input);
    zones_free(simulation->zones);
}

static int run(void *context, const Arguments *arguments) {
    SimulateSettings *settings = context;
    const struct sigaction second_ends = {
        .sa_handler = interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};
    _cleanup_(simulation_done) Simulation simulation = {
        .settings = settings,
        .report = {.settings = settings, .scratch = arguments->arena},
        .zones = terminal_need(zones_new(), "the simulation"),
        .now_nsec = settings->now_nsec ? settings->now_nsec : clock_wall_nsec(),
    };
    char error[SIMULATION_ERROR_MAX];
    int r;

    settings->files.by_schedule = settings->follows;
    progress_begin("reading the cluster and the pods");
    r = simulation_input_load(&settings->files, &simulation.report.input, error);
    if (r < 0)
        terminal_fail_with(r, error);
    name_runs(&simulation);
    find_shapes(&simulation);
    (void)sigaction(SIGINT, &second_ends, NULL);
    run_all(&simulation);
    progress_end();
    print(&simulation);
    return is_interrupted ? EXIT_FAILED : EXIT_FINE;
}

const Command simulate_command = {
    .name = "simulate",
    .summary = "place pods under several policies, and compare",
    .usage = "--cluster FILE --pods FILE [--policy FILE-OR-DIR]... [OPTIONS]\n"
             "--cluster FILE --trace FILE [--policy FILE-OR-DIR]... [OPTIONS]",
    .about =
        "Places pods one after another as kube-scheduler 1.37 would, without berth and with each "
        "policy, and compares: placed and pending pods and the reasons, nodes in use, room for "
        "more pods.",
    .options = simulate_options,
    .budget = (size_t)2 * 1024 * 1024 * 1024,
    .memory_for = "the report",
    .settings_size = sizeof(SimulateSettings),
    .defaults = &(const SimulateSettings){.weight = 1, .seed = 1, .until = -1},
    .check = simulate_settings_check,
    .run = run,
};
