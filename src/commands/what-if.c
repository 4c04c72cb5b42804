/*
 * berth what-if: replays past decisions with other policies.
 *
 * They come from a running berth or from a bundle, and are replayed in this process.
 */

#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "cli/policy-files.h"
#include "cli/server-source.h"
#include "cli/terminal.h"
#include "commands/commands.h"
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
    const char *bundle; /* a file; NULL: from the server */
    int64_t last;
    PolicyPaths policies;
    PolicySetting settings[POLICY_SETTINGS_MAX];
    size_t n_settings;
    int64_t weight;
    FailOn fail_on;
    bool all, json;
} Settings;

/* --- inputs ----------------------------------------------------------------------- */

static int load_bundle(Settings *settings, Arena *arena, Bundle *ret) {
    BundleRequest request = {.last = settings->last};
    Str file = STR_NULL;
    int r;

    if (settings->bundle)
        return bundle_source_load(settings->bundle, WHO, ret);
    r = bundle_source_fetch(&settings->source, &request, WHO, arena, &file);
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
        return terminal_out_of_memory(WHO, "the changed policies", arena);
    r = policy_set(sources, n, settings->settings, settings->n_settings, arena, changed, error);
    if (r < 0)
        return terminal_failed(WHO, "the changed policies", r, arena);
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
    (void)fprintf(stderr, "\r%zu of %zu decisions replayed …\033[K", done, of);
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
    return r < 0 ? terminal_failed(WHO, "the replayed decisions", r, arena) : 0;
}

/* --- output ---------------------------------------------------------------------- */

static Str describe(const Settings *settings, const Bundle *bundle, Arena *arena) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64 * 1024);

    for (size_t i = 0; i < settings->policies.n; i++)
        buf_printf(&text, "%s%s", i > 0 ? ", " : "", settings->policies.items[i]);
    if (settings->policies.n == 0)
        buf_append(&text,
            bundle->n_policies == 0 ? STR("no policies, as it was") : STR("the policies in force"));
    for (size_t i = 0; i < settings->n_settings; i++)
        buf_printf(&text, "%s%.*s = %.*s", i == 0 ? ", and " : ", ",
            STR_FMT(settings->settings[i].path), STR_FMT(settings->settings[i].value));
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
    WhatIfPrinter printer = {
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
        what_if_print(&printer);
    return terminal_finish(&out, WHO);
}

static int judge(const Settings *settings, const WhatIfReport *report) {
    size_t n_changed =
        report->n - report->n_changes[WHAT_IF_EQUAL] - report->n_changes[WHAT_IF_SKIPPED];

    if (settings->fail_on == FAIL_ON_NEWLY_REJECTED)
        return report->n_changes[WHAT_IF_NEWLY_REJECTED] > 0 ? EXIT_FAILED : EXIT_FINE;
    return settings->fail_on == FAIL_ON_ANY && n_changed > 0 ? EXIT_FAILED : EXIT_FINE;
}

/* --- the command ------------------------------------------------------------------------- */

static int run(void *context, const Arguments *arguments) {
    Settings *settings = context;
    _cleanup_(arena_freep) Arena *arena = arena_new(WHAT_IF_BUDGET);
    _cleanup_(zones_freep) Zones *zones = zones_new();
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(bundle_done) Bundle bundle = {0};
    WhatIfReport report;
    int r;

    if (!arena || !zones)
        return terminal_out_of_memory(WHO, "the replayed decisions", NULL);
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

static const char *add_setting(void *context, const char *text) {
    Settings *settings = context;

    if (settings->n_settings == POLICY_SETTINGS_MAX)
        return "too many";
    if (!policy_setting_parse(str_from_c(text), &settings->settings[settings->n_settings]))
        return "expected PATH=VALUE, like workspaces.params.maxLoad=0.9";
    settings->n_settings++;
    return NULL;
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    POLICY_PATHS_OPTION(Settings, policies, .initial = "those in force",
        .help = "the policies to try, all of them; may be repeated"),
    {"set", OPTION_CUSTOM, .argument = "PATH=VALUE", .set = add_setting,
        .help = "change a value of them: POLICY.params.NAME, POLICY.RULE.weight, POLICY.RULE.FIELD; "
                "may be repeated"},
    {"last", OPTION_NUMBER, .argument = "N", AT(last), .min = 1, .max = RECORDER_LAST_MAX, .initial = "1000",
        .help = "how many filter and prioritize decisions"},
    {"bundle", OPTION_FILE, .argument = "FILE", AT(bundle),
        .help = "decisions of this file (berth bundle), not of a running berth"},
    {"weight", OPTION_NUMBER, .argument = "N", AT(weight), .min = 1, .max = WEIGHT_MAX, .initial = "1",
        .help = "the extender's weight in kube-scheduler's configuration"},
    {"all", OPTION_FLAG, AT(all), .help = "every rule, decision and node, not only the first 10"},
    {"fail-on", OPTION_CHOICE, .argument = "newly-rejected|any", AT(fail_on), .min = FAIL_ON_NEWLY_REJECTED,
        .help = "exit with code 1 if there is such a change: for CI"},
    {"output", OPTION_CHOICE, 'o', .argument = "table|json", AT(json), .initial = "table",
        .help = "output format"},

    OPTION_GROUP("The running berth"),
    SERVER_SOURCE_OPTIONS(Settings, source),
    {0},
};
/* clang-format on */

static void init(void *context) {
    Settings *settings = context;

    settings->last = RECORDER_LAST_DEFAULT;
    settings->weight = 1;
}

static const char *check(void *context, const Arguments *arguments) {
    const Settings *settings = context;

    if (settings->bundle && server_source_is_given(&settings->source))
        return "--bundle is a file: no server is contacted";
    return server_source_check(&settings->source);
}

const Command what_if_command = {
    .name = "what-if",
    .summary = "replay past decisions with other policies",
    .usage = "--policy FILE-OR-DIR... [OPTIONS]\n"
             "--set PATH=VALUE... [OPTIONS]\n"
             "--bundle FILE [OPTIONS]",
    .about =
        "Replays the last decisions of a running berth, or of a bundle, with other policies, on "
        "the cluster and metrics of that time: which pods would be rejected, which would pass, "
        "where other nodes would be best, and which rule causes it. With neither --policy nor "
        "--set it is a self-check: with the same policies every decision should be equal.",
    .options = options,
    .settings_size = sizeof(Settings),
    .init = init,
    .check = check,
    .run = run,
};
