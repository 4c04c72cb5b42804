/*
 * berth simulate: pods onto a cluster, under one policy and another; what comes of it.
 *
 * Here the options and the runs; simulate-table.c, simulate-json.c and simulate-chart.c print.
 */

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/double.h"
#include "cli/commands.h"
#include "cli/metrics-source.h"
#include "cli/simulate-report.h"
#include "cli/terminal.h"
#include "cli/values.h"
#include "input/policies.h"
#include "input/zones.h"
#include "model/time.h"
#include "simulate/run.h"

#define WHO "berth simulate"
#define SCRATCH_BUDGET ((size_t)2 * 1024 * 1024 * 1024)
#define TEXT_MAX ((size_t)2 * 1024 * 1024 * 1024)
#define WEIGHT_MAX 1000000
#define BAR_WIDTH 30u

typedef enum Form {
    FORM_TABLE,
    FORM_JSON,
    FORM_PLACEMENTS,
} Form;

typedef struct Settings {
    ScenarioFiles files;
    const char *policies[SIMULATE_CONTENDERS_MAX];
    size_t n_policies;
    const char *metrics;
    const char *chart;
    const char *shapes[OUTCOME_SHAPES_MAX];
    size_t n_shapes;
    bool has_no_baseline, all, follows;
    Form form;
    int64_t weight, percentage, seed;
    int64_t now_nsec; /* 0: the clock's */
    double until;     /* below 0: to its end */
} Settings;

/* What a run of the command has. */
typedef struct Simulation {
    const Settings *settings;
    Arena *scratch;
    Scenario *scenario;
    Zones *zones;
    Contender contenders[SIMULATE_CONTENDERS_MAX];
    size_t n;
    Resources shapes[OUTCOME_SHAPES_MAX];
    size_t n_shapes;
    int64_t now_nsec;
    bool has_bar;
    unsigned shown; /* of the bar: percent */
} Simulation;

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
        "  --trace FILE          pods that come and go: lines or a list of {at: SECONDS,\n"
        "                        lifetime: SECONDS, count: N, pod: {...}}\n"
        "  --pending             place pods of the cluster that wait, too, and first\n"
        "  --policy FILE-OR-DIR  policies that are tried together; each --policy is a column\n"
        "  --no-baseline         do not try it without any policy, too\n"
        "  --metrics FILE        metrics as a file has them: {metrics: {NAME: {NODE: NUMBER}}}\n"
        "  --weight N            the extender's in kube-scheduler's configuration    [1]\n"
        "  --percentage-of-nodes-to-score N  as in kube-scheduler's; 0: its own choice  [0]\n"
        "  --seed N              for the choice among equally good nodes             [1]\n"
        "  --every SECONDS       between two pods of --pods                          [0]\n"
        "  --until SECONDS       end there                           [when all is done]\n"
        "  --now TIME            as if it began at 2026-01-31T20:00:00Z            [now]\n"
        "  --shape LIST          count what fits: cpu=2,memory=8Gi; may be repeated\n"
        "                        [three sizes of the pods given]\n"
        "  --follow              put pods that have a node there, and tell how often that node\n"
        "                        is among the best\n"
        "  --chart FILE          use over time, as SVG\n"
        "  --all                 with -o json: every pod\n"
        "  -o table|json|placements  how to print it                             [table]\n",
        program_name,
        program_name);
}

static int out_of_memory(void) {
    (void)fprintf(stderr, WHO ": out of memory\n");
    return EXIT_UNREACHABLE;
}

/* --- being told to stop, and telling how far it is -------------------------------------------- */

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal) {
    (void)signal;
    is_interrupted = 1;
}

/* The second one ends it as usual. */
static void catch_interrupt(void) {
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};

    (void)sigaction(SIGINT, &action, NULL);
}

static bool is_over(void *context) {
    (void)context;
    return is_interrupted != 0;
}

static void show_bar(void *context, size_t n_done) {
    Simulation *simulation = context;
    size_t n_all = simulation->scenario->n_arrivals;
    unsigned percent = (unsigned)(100 * n_done / n_all);
    char bar[BAR_WIDTH + 1];

    if (!simulation->has_bar || percent == simulation->shown)
        return;
    simulation->shown = percent;
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', BAR_WIDTH * percent / 100);
    bar[BAR_WIDTH] = '\0';
    (void)fprintf(stderr,
        "\r%zu/%zu [%s] %3u %%",
        simulation->n + 1,
        simulation->settings->n_policies + !simulation->settings->has_no_baseline,
        bar,
        percent);
}

static void clear_bar(const Simulation *simulation) {
    if (simulation->has_bar)
        (void)fprintf(stderr, "\r%*s\r", (int)BAR_WIDTH + 24, "");
}

/* --- shapes ------------------------------------------------------------------------------------
 */

/* NULL when it is one. */
static const char *parse_shape(const char *text, Arena *arena, Resources *ret) {
    Str rest = str_from_c(text), part;

    *ret = (Resources){.items = ARENA_ARRAY(arena, Resource, RESOURCES_MAX)};
    while (ret->items && str_split(&rest, ',', &part)) {
        size_t equals = str_find(part, '=');
        Resource *resource;

        if (equals == SIZE_MAX || equals == 0 || ret->n == RESOURCES_MAX)
            return "--shape takes amounts like cpu=2,memory=8Gi";
        resource = &ret->items[ret->n++];
        resource->name = str_take(part, equals);
        if (!resource_amount_parse(resource->name, str_skip(part, equals + 1), &resource->amount) ||
            resource->amount <= 0)
            return "--shape takes amounts like cpu=2,memory=8Gi, more than 0";
    }
    return ret->n > 0 ? NULL : "--shape takes amounts like cpu=2,memory=8Gi";
}

/* Half of the pods, nine of ten, all of them are no larger. */
static int guess_shapes(Simulation *simulation) {
    static const double quantiles[] = {0.5, 0.9, 1};
    static const char *const names[] = {"cpu", "memory"};

    for (size_t q = 0; q < ELEMENTS_OF(quantiles); q++) {
        Resources *shape = &simulation->shapes[simulation->n_shapes];

        *shape = (Resources){
            .items = ARENA_ARRAY(simulation->scratch, Resource, ELEMENTS_OF(names)),
        };
        if (!shape->items)
            return out_of_memory();
        for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
            int64_t amount = scenario_quantile(
                simulation->scenario, str_from_c(names[i]), quantiles[q], simulation->scratch);

            if (amount > 0)
                shape->items[shape->n++] =
                    (Resource){.name = str_from_c(names[i]), .amount = amount};
        }
        if (shape->n > 0 &&
            (simulation->n_shapes == 0 ||
                !resources_equal(shape, &simulation->shapes[simulation->n_shapes - 1])))
            simulation->n_shapes++;
    }
    return 0;
}

static int find_shapes(Simulation *simulation) {
    const Settings *settings = simulation->settings;

    if (settings->n_shapes == 0)
        return guess_shapes(simulation);
    for (size_t i = 0; i < settings->n_shapes; i++) {
        const char *wrong =
            parse_shape(settings->shapes[i], simulation->scratch, &simulation->shapes[i]);

        if (wrong) {
            (void)fprintf(stderr, WHO ": %s\n", wrong);
            return EXIT_USAGE;
        }
    }
    simulation->n_shapes = settings->n_shapes;
    return 0;
}

/* --- running -----------------------------------------------------------------------------------
 */

/* The policies of one column. 0 or an exit code. */
static int load_program(const char *path, Arena *scratch, Program **ret) {
    _cleanup_(buf_done) Buf problems = BUF_INIT(TEXT_MAX);
    DiagList diags = DIAG_LIST_IN(scratch);
    int r = policies_load(&path, 1, &diags, ret);

    diag_list_print(&diags, terminal_has_colour(stderr), &problems);
    (void)terminal_print(stderr, buf_str(&problems));
    if (r < 0)
        return out_of_memory();
    if (r != 0)
        return r == POLICIES_E_UNREADABLE ? EXIT_UNREACHABLE : EXIT_FAILED;
    return 0;
}

/* "density" of policies/density.yaml. */
static Str name_of(const char *path) {
    Str name = str_from_c(path);
    size_t slash;

    while (name.len > 1 && str_has_suffix(name, STR("/")))
        name = str_take(name, name.len - 1);
    slash = str_find_last(name, '/');
    if (slash != SIZE_MAX && slash + 1 < name.len)
        name = str_skip(name, slash + 1);
    if (str_has_suffix(name, STR(".yaml")))
        name = str_take(name, name.len - 5);
    else if (str_has_suffix(name, STR(".yml")))
        name = str_take(name, name.len - 4);
    return name;
}

/* Of two of one name both are called as they were given. */
static void name_contenders(Simulation *simulation) {
    const Settings *settings = simulation->settings;
    size_t base = !settings->has_no_baseline;

    for (size_t i = 0; i < settings->n_policies; i++) {
        bool is_twice = str_is(name_of(settings->policies[i]), "none");

        for (size_t k = 0; k < settings->n_policies; k++)
            is_twice |=
                k != i && str_eq(name_of(settings->policies[i]), name_of(settings->policies[k]));
        simulation->contenders[base + i].name =
            is_twice ? str_from_c(settings->policies[i]) : name_of(settings->policies[i]);
    }
    if (base)
        simulation->contenders[0].name = STR("none");
}

static RunOptions options_of(Simulation *simulation) {
    const Settings *settings = simulation->settings;

    return (RunOptions){
        .scheduler =
            {
                .weight = settings->weight,
                .percentage = (unsigned)settings->percentage,
                .seed = (uint64_t)settings->seed,
            },
        .follows = settings->follows,
        .until = settings->until,
        .now_nsec = simulation->now_nsec,
        .shapes = simulation->shapes,
        .n_shapes = simulation->n_shapes,
        .is_over = is_over,
        .progress = show_bar,
        .context = simulation,
    };
}

static int run_one(Simulation *simulation, const OursParts *parts) {
    RunOptions options = options_of(simulation);
    int r;

    simulation->shown = UINT32_MAX;
    r = run(simulation->scenario, parts, &options, &simulation->contenders[simulation->n].outcome);
    clear_bar(simulation);
    if (r < 0)
        return out_of_memory();
    simulation->n++;
    return 0;
}

static int run_policy(Simulation *simulation, Program *program) {
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    MetricsSource metrics = {.file = simulation->settings->metrics};
    ClusterSource cluster = {.file = simulation->settings->files.cluster};
    OursParts parts = {
        .table = simulation->scenario->table,
        .program = program,
        .zones = zones_finder(simulation->zones),
        .now_nsec = simulation->now_nsec,
        .uptime_nsec = clock_monotonic_nsec(),
    };
    int r = metrics_source_load(&metrics,
        &cluster,
        WHO,
        program,
        simulation->scenario->snapshot,
        parts.now_nsec,
        parts.uptime_nsec,
        &measurements,
        /* ret_statuses= */ NULL);

    if (r != 0)
        return r;
    parts.measurements = measurements;
    if (!metrics.file)
        simulation->contenders[simulation->n].n_unfed = program->n_gauges;
    return run_one(simulation, &parts);
}

/* Policies are read before anything is run: who wrote one wrongly need not wait. */
static int run_all(Simulation *simulation) {
    const Settings *settings = simulation->settings;
    Program *programs[SIMULATE_CONTENDERS_MAX] = {0};
    int r = 0;

    for (size_t i = 0; r == 0 && i < settings->n_policies; i++)
        r = load_program(settings->policies[i], simulation->scratch, &programs[i]);
    if (r == 0 && !settings->has_no_baseline)
        r = run_one(simulation, /* parts= */ NULL);
    for (size_t i = 0; r == 0 && i < settings->n_policies && !is_interrupted; i++)
        r = run_policy(simulation, programs[i]);
    for (size_t i = 0; i < settings->n_policies; i++)
        program_unref(programs[i]);
    return r;
}

/* --- printing ----------------------------------------------------------------------------------
 */

static int write_chart(const SimulateReport *report, const char *path) {
    _cleanup_(buf_done) Buf svg = BUF_INIT(TEXT_MAX);
    FILE *file;
    bool is_fine;

    simulate_chart(report, &svg);
    if (buf_error(&svg))
        return out_of_memory();
    file = fopen(path, "we");
    if (!file) {
        (void)fprintf(stderr, WHO ": cannot write %s: %s\n", path, strerror(errno));
        return EXIT_UNREACHABLE;
    }
    is_fine = terminal_print(file, buf_str(&svg));
    is_fine = fclose(file) == 0 && is_fine;
    if (!is_fine)
        (void)fprintf(stderr, WHO ": cannot write %s: %s\n", path, strerror(errno));
    return is_fine ? 0 : EXIT_UNREACHABLE;
}

static int print(const Simulation *simulation) {
    const Settings *settings = simulation->settings;
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    SimulateReport report = {
        .scenario = simulation->scenario,
        .contenders = simulation->contenders,
        .n = simulation->n,
        .shapes = simulation->shapes,
        .n_shapes = simulation->n_shapes,
        .seed = (uint64_t)settings->seed,
        .weight = settings->weight,
        .follows = settings->follows,
        .all = settings->all,
        .scratch = simulation->scratch,
    };
    int r = settings->chart ? write_chart(&report, settings->chart) : 0;

    if (r != 0)
        return r;
    if (settings->form == FORM_JSON)
        simulate_json(&report, &out);
    else if (settings->form == FORM_PLACEMENTS)
        simulate_placements(&report, &out);
    else
        simulate_table(&report, &out);
    if (buf_error(&out))
        return out_of_memory();
    if (!terminal_print(stdout, buf_str(&out)))
        return EXIT_UNREACHABLE;
    return is_interrupted ? EXIT_FAILED : EXIT_FINE;
}

/* --- the command ---------------------------------------------------------------------------------
 */

static void simulation_done(Simulation *simulation) {
    for (size_t i = 0; i < SIMULATE_CONTENDERS_MAX; i++)
        outcome_free(simulation->contenders[i].outcome);
    scenario_free(simulation->scenario);
    zones_free(simulation->zones);
    arena_free(simulation->scratch);
}

static int simulate(const Settings *settings) {
    _cleanup_(simulation_done) Simulation simulation = {
        .settings = settings,
        .scratch = arena_new(SCRATCH_BUDGET),
        .zones = zones_new(),
        .now_nsec = settings->now_nsec ? settings->now_nsec : clock_wall_nsec(),
        .has_bar = isatty(STDERR_FILENO),
    };
    char error[SCENARIO_ERROR_MAX];
    int r;

    if (!simulation.scratch || !simulation.zones)
        return out_of_memory();
    r = scenario_load(&settings->files, &simulation.scenario, error);
    if (r < 0) {
        terminal_complain(WHO, error);
        return r == -EINVAL ? EXIT_FAILED : EXIT_UNREACHABLE;
    }
    name_contenders(&simulation);
    r = find_shapes(&simulation);
    if (r != 0)
        return r;
    catch_interrupt();
    r = run_all(&simulation);
    return r == 0 ? print(&simulation) : r;
}

static int usage_error(const char *what) {
    (void)fprintf(stderr, WHO ": %s\n\n", what);
    print_help(stderr);
    return EXIT_USAGE;
}

static int set_now(Settings *settings, const char *value) {
    int64_t sec = 0;

    if (!time_parse(str_from_c(value), &sec) ||
        __builtin_mul_overflow(sec, NSEC_PER_SEC, &settings->now_nsec))
        return usage_error("--now takes a time like 2026-01-31T20:00:00Z");
    return 0;
}

static int set_seconds(const char *option, const char *value, double *ret) {
    if (!double_parse(str_from_c(value), ret, NULL) || !(*ret >= 0 && *ret <= SCENARIO_SECONDS_MAX))
        return value_error("simulate", option, value, "a number of seconds, 0 or more");
    return 0;
}

static int set_form(Settings *settings, const char *value) {
    static const char *const forms[] = {
        [FORM_TABLE] = "table",
        [FORM_JSON] = "json",
        [FORM_PLACEMENTS] = "placements",
    };

    for (size_t i = 0; i < ELEMENTS_OF(forms); i++)
        if (strcmp(value, forms[i]) == 0) {
            settings->form = (Form)i;
            return 0;
        }
    return usage_error("-o takes table, json or placements");
}

static int add_policy(Settings *settings, const char *value) {
    if (settings->n_policies == SIMULATE_CONTENDERS_MAX - 1)
        return usage_error("that are too many policies to compare");
    settings->policies[settings->n_policies++] = value;
    return 0;
}

static int add_shape(Settings *settings, const char *value) {
    if (settings->n_shapes == OUTCOME_SHAPES_MAX)
        return usage_error("that are too many shapes");
    settings->shapes[settings->n_shapes++] = value;
    return 0;
}

/* Options that take a value of their own kind; 'c' and so on as in the table below. */
static int set_option(Settings *settings, int option) {
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
        return set_now(settings, optarg);
    case 'o':
        return set_form(settings, optarg);
    default:
        print_help(stderr);
        return EXIT_USAGE;
    }
}

/* NULL when all that is needed was given, once; else what is wrong. */
static const char *check_settings(const Settings *settings) {
    const ScenarioFiles *files = &settings->files;

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

int cmd_simulate(int argc, char *argv[]) {
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
    Settings settings = {.weight = 1, .seed = 1, .until = -1};
    const char *wrong;
    int option;

    while ((option = getopt_long(argc, argv, "ho:", options, NULL)) != -1) {
        int r;

        if (option == 'h') {
            print_help(stdout);
            return EXIT_FINE;
        }
        r = set_option(&settings, option);
        if (r != 0)
            return r;
    }
    if (optind < argc)
        return usage_error("it takes options only");
    wrong = check_settings(&settings);
    return wrong ? usage_error(wrong) : simulate(&settings);
}
