/*
 * berth what-if: decisions that were made, made again with other policies.
 *
 * They come from a running berth or from a bundle, and are made again here, in this process.
 */

#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "cli/bundle-source.h"
#include "cli/command.h"
#include "cli/policy-files.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "cli/values.h"
#include "commands/what-if-print.h"
#include "history/recorder.h"
#include "input/policy-set.h"
#include "input/zones.h"
#include "replay/what-if.h"

#define WHO "berth what-if"
#define WHAT_IF_BUDGET ((size_t)2 * 1024 * 1024 * 1024)
#define TEXT_MAX ((size_t)64 * 1024 * 1024)
#define WEIGHT_MAX 1000000000
#define PROGRESS_AFTER_NSEC NSEC_PER_SEC
#define PROGRESS_EVERY_NSEC (100 * NSEC_PER_MSEC)

typedef enum FailOn {
    FAIL_ON_NOTHING,
    FAIL_ON_NEWLY_REJECTED,
    FAIL_ON_ANY,
} FailOn;

typedef struct Settings {
    ServerSource source;
    const char *bundle; /* a file; NULL: the server is asked */
    int64_t last;
    PolicyPaths policies;
    PolicySetting settings[POLICY_SETTINGS_MAX];
    size_t n_settings;
    int64_t weight;
    FailOn fail_on;
    bool all, json;
} Settings;

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s what-if --policy FILE-OR-DIR... [OPTIONS]\n"
        "       %s what-if --set PATH=VALUE... [OPTIONS]\n"
        "       %s what-if --bundle FILE [OPTIONS]\n"
        "\n"
        "Makes the last decisions of a running berth, or of a bundle, again with other policies, "
        "on\n"
        "the cluster and the metrics as they were then: which pods would be rejected, which would\n"
        "pass, where other nodes would be best, and which rule does it. With neither --policy nor\n"
        "--set it is a check: the policies as they were, and every decision should be equal.\n"
        "\n"
        "  --policy FILE-OR-DIR  the policies to try, all of them; may be repeated\n"
        "                        [those in force]\n"
        "  --set PATH=VALUE      change a value of them: POLICY.params.NAME, POLICY.RULE.weight,\n"
        "                        POLICY.RULE.FIELD; may be repeated\n"
        "  --last N              so many filter and prioritize decisions           [1000]\n"
        "  --bundle FILE         of this file (berth bundle), not of a running berth\n"
        "  --weight N            the extender's in kube-scheduler's configuration     [1]\n"
        "  --all                 every rule, decision and node, not only the first 10\n"
        "  --fail-on newly-rejected|any  exit 1 if there is such a change: for CI\n"
        "  -o, --output table|json  how to print it                               [table]\n"
        "\n"
        "The berth that is asked\n" SERVER_SOURCE_HELP,
        program_name,
        program_name,
        program_name);
}

/* --- what is asked ----------------------------------------------------------------------- */

static int load_bundle(Settings *settings, Arena *arena, Bundle *ret) {
    BundleWish wish = {.last = settings->last};
    Str file = STR_NULL;
    int r;

    if (settings->bundle)
        return bundle_source_load(settings->bundle, WHO, ret);
    r = bundle_source_fetch(&settings->source, &wish, WHO, arena, &file);
    return r != 0 ? r : bundle_source_unpack(file, settings->source.access.server, WHO, ret);
}

/* The last so many, where a bundle has more. */
static void keep_last(Recording *recording, int64_t last) {
    size_t from = recording->n;

    while (from > 0 && last > 0) {
        Verb verb = recording->decisions[--from].verb;

        last -= verb == VERB_FILTER || verb == VERB_PRIORITIZE;
    }
    recording->decisions += from;
    recording->n -= from;
}

static int load_program(
    const Settings *settings, const Bundle *bundle, Arena *arena, Program **ret) {
    const PolicySource *sources = bundle->policies;
    size_t n = bundle->n_policies;
    char error[POLICY_SET_ERROR_MAX];
    PolicySource *changed;
    int r = 0;

    if (settings->policies.n > 0)
        r = policy_files_read(&settings->policies, WHO, arena, &sources, &n);
    if (r != 0)
        return r;
    changed = ARENA_ARRAY(arena, PolicySource, n);
    if (!changed)
        return terminal_out_of_memory(WHO);
    r = policy_set(sources, n, settings->settings, settings->n_settings, arena, changed, error);
    if (r < 0)
        return terminal_out_of_memory(WHO);
    if (r > 0) {
        (void)fprintf(stderr, WHO ": --set %s\n", error);
        return EXIT_USAGE;
    }
    return policy_texts_compile(changed, n, WHO, arena, ret);
}

/* --- while it runs ----------------------------------------------------------------------- */

typedef struct Progress {
    int64_t next_nsec; /* monotonic */
    bool is_shown;
} Progress;

static void show_progress(void *context, size_t done, size_t of) {
    Progress *progress = context;
    int64_t now = clock_monotonic_nsec();

    if (now < progress->next_nsec)
        return;
    progress->next_nsec = now + PROGRESS_EVERY_NSEC;
    progress->is_shown = true;
    (void)fprintf(stderr, "\r%zu of %zu decisions made again …\033[K", done, of);
    (void)fflush(stderr);
}

static void end_progress(const Progress *progress) {
    if (progress->is_shown)
        (void)fprintf(stderr, "\r\033[K");
}

static int run_report(
    const Bundle *bundle, Program *program, const Zones *zones, Arena *arena, WhatIfReport *ret) {
    Progress progress = {.next_nsec = clock_monotonic_nsec() + PROGRESS_AFTER_NSEC};
    WhatIfOptions options = {
        .setting = {.zones = zones_finder(zones), .exemptions = &bundle->exemptions},
        .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
        .context = &progress,
    };
    int r = what_if_run(&bundle->recording, program, &options, arena, ret);

    end_progress(&progress);
    return r < 0 ? terminal_out_of_memory(WHO) : 0;
}

/* --- what comes out ---------------------------------------------------------------------- */

static Str describe(const Settings *settings, const Bundle *bundle, Arena *arena) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64 * 1024);

    for (size_t i = 0; i < settings->policies.n; i++)
        buf_printf(&text, "%s%s", i > 0 ? ", " : "", settings->policies.items[i]);
    if (settings->policies.n == 0)
        buf_append(&text,
            bundle->n_policies == 0 ? STR("no policies, as it was") : STR("the policies in force"));
    for (size_t i = 0; i < settings->n_settings; i++)
        buf_printf(&text,
            "%s%.*s = %.*s",
            i == 0 ? ", and " : ", ",
            STR_FMT(settings->settings[i].path),
            STR_FMT(settings->settings[i].value));
    return arena_copy(arena, buf_str(&text));
}

static Digest digest_of_policies(const Bundle *bundle) {
    Digest digest = DIGEST_NONE;

    for (size_t i = 0; i < bundle->n_policies; i++)
        digest = digest_chain(digest, bundle->policies[i].text);
    return digest;
}

static int print(const Settings *settings, const Bundle *bundle, const Program *program,
    const WhatIfReport *report, Arena *arena) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    WhatIfTelling telling = {
        .report = report,
        .recording = &bundle->recording,
        .program = program,
        .with = describe(settings, bundle, arena),
        .is_check = settings->policies.n == 0 && settings->n_settings == 0,
        .policy = digest_of_policies(bundle),
        .is_anonymous = bundle->is_anonymous,
        .weight = settings->weight,
        .all = settings->all,
        .paint = paint_for(terminal_has_colour(stdout)),
        .out = &out,
    };

    if (settings->json)
        what_if_write(report, &out);
    else
        what_if_print(&telling);
    if (buf_error(&out))
        return terminal_out_of_memory(WHO);
    return terminal_print(stdout, buf_str(&out)) ? 0 : EXIT_UNREACHABLE;
}

static int judge(const Settings *settings, const WhatIfReport *report) {
    size_t n_changed =
        report->n - report->n_changes[WHAT_IF_EQUAL] - report->n_changes[WHAT_IF_SKIPPED];

    if (settings->fail_on == FAIL_ON_NEWLY_REJECTED)
        return report->n_changes[WHAT_IF_NEWLY_REJECTED] > 0 ? EXIT_FAILED : EXIT_FINE;
    return settings->fail_on == FAIL_ON_ANY && n_changed > 0 ? EXIT_FAILED : EXIT_FINE;
}

/* --- the command ------------------------------------------------------------------------- */

static int run(Settings *settings) {
    _cleanup_(arena_freep) Arena *arena = arena_new(WHAT_IF_BUDGET);
    _cleanup_(zones_freep) Zones *zones = zones_new();
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(bundle_done) Bundle bundle = {0};
    WhatIfReport report;
    int r;

    if (!arena || !zones)
        return terminal_out_of_memory(WHO);
    r = load_bundle(settings, arena, &bundle);
    if (r == 0)
        r = load_program(settings, &bundle, arena, &program);
    if (r != 0)
        return r;
    keep_last(&bundle.recording, settings->last);
    r = run_report(&bundle, program, zones, arena, &report);
    if (r == 0)
        r = print(settings, &bundle, program, &report, arena);
    return r == 0 ? judge(settings, &report) : r;
}

static int misused(const char *what) {
    return usage_error("what-if", what, print_help);
}

static int add_setting(Settings *settings, const char *text) {
    if (settings->n_settings == POLICY_SETTINGS_MAX)
        return misused("too many --set");
    if (!policy_setting_parse(str_from_c(text), &settings->settings[settings->n_settings]))
        return misused("--set takes PATH=VALUE, like workspaces.params.maxLoad=0.9");
    settings->n_settings++;
    return 0;
}

static int set_fail_on(Settings *settings, const char *value) {
    unsigned choice = 0;
    int r = value_choice("what-if", "fail-on", value, "newly-rejected|any", &choice);

    settings->fail_on = choice == 1 ? FAIL_ON_ANY : FAIL_ON_NEWLY_REJECTED;
    return r;
}

static int set_output(Settings *settings, const char *value) {
    unsigned choice = 0;
    int r = value_choice("what-if", "output", value, "table|json", &choice);

    settings->json = choice == 1;
    return r;
}

static int set_option(Settings *settings, int option) {
    switch (option) {
    case 'P':
        return policy_paths_add(&settings->policies, "what-if", optarg);
    case 's':
        return add_setting(settings, optarg);
    case 'l':
        return value_number("what-if", "last", optarg, 1, RECORDER_LAST_MAX, &settings->last);
    case 'b':
        settings->bundle = optarg;
        return 0;
    case 'w':
        return value_number("what-if", "weight", optarg, 1, WEIGHT_MAX, &settings->weight);
    case 'a':
        settings->all = true;
        return 0;
    case 'f':
        return set_fail_on(settings, optarg);
    case 'o':
        return set_output(settings, optarg);
    default:
        if (server_source_set(&settings->source, option, optarg))
            return 0;
        return misused(NULL);
    }
}

int cmd_what_if(int argc, char *argv[]) {
    static const struct option options[] = {
        SERVER_SOURCE_OPTIONS,
        {"policy", required_argument, NULL, 'P'},
        {"set", required_argument, NULL, 's'},
        {"last", required_argument, NULL, 'l'},
        {"bundle", required_argument, NULL, 'b'},
        {"weight", required_argument, NULL, 'w'},
        {"all", no_argument, NULL, 'a'},
        {"fail-on", required_argument, NULL, 'f'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    Settings settings = {.last = RECORDER_LAST_DEFAULT, .weight = 1};
    const char *problem;
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
        return misused("it takes options only");
    if (settings.bundle && server_source_is_given(&settings.source))
        return misused("--bundle is a file: no server is asked");
    problem = server_source_check(&settings.source);
    if (problem)
        return misused(problem);
    return run(&settings);
}
