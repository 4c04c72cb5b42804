/*
 * berth what-if: replays past decisions with other policies.
 *
 * They come from a running berth or from a bundle, and are replayed in this process.
 */

#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cli/bundle-source.h"
#include "cli/policy-files.h"
#include "cli/progress.h"
#include "cli/replicas.h"
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

typedef enum FailOn {
    FAIL_ON_NOTHING,
    FAIL_ON_NEWLY_REJECTED,
    FAIL_ON_ANY,
} FailOn;

typedef struct Settings {
    ServerSource source;
    const char *bundles[REPLICAS_MAX]; /* files; none: from running berths */
    size_t n_bundles;
    int64_t last;
    PolicyPaths policies;
    PolicySetting settings[POLICY_SETTINGS_MAX];
    size_t n_settings;
    int64_t weight;
    FailOn fail_on;
    bool all;
    OutputForm form;
} Settings;

/* --- inputs ----------------------------------------------------------------------- */

/* What replicas recorded: the settings are those of the first, the recording is of all. */
typedef struct Recorded {
    Bundle bundles[REPLICAS_MAX];
    size_t n;
    Recording recording;
} Recorded;

static void recorded_done(Recorded *recorded) {
    recording_done(&recorded->recording);
    for (size_t i = 0; i < recorded->n; i++)
        bundle_done(&recorded->bundles[i]);
}

static int load_files(const Settings *settings, Recorded *ret) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < settings->n_bundles; i++)
        r = bundle_source_load(settings->bundles[i], WHO, &ret->bundles[ret->n++]);
    return r;
}

/* A replica that has none to give is reported; if none has one, the first. */
static int fetch_bundles(
    const Settings *settings, const Replicas *replicas, Arena *arena, Recorded *ret) {
    const BundleRequest request = {.last = settings->last};
    char errors[REPLICAS_MAX][BERTH_CLIENT_ERROR_MAX];
    size_t n_errors = 0;

    for (size_t i = 0; i < replicas->n; i++) {
        const BerthAccess *access = &replicas->items[i];
        Str file = STR_NULL;
        int r = bundle_source_fetch(access, &request, arena, &file, errors[n_errors]);

        if (r < 0)
            return terminal_out_of_memory(WHO, "berth's reply", arena);
        if (r == 0)
            r = bundle_source_unpack(file, access->server, WHO, &ret->bundles[ret->n++]);
        else {
            n_errors++;
            r = 0;
        }
        if (r != 0)
            return r;
    }
    if (ret->n == 0)
        return terminal_complain(WHO, errors[0]);
    for (size_t i = 0; i < n_errors; i++)
        replicas_complain(replicas, WHO, errors[i]);
    return 0;
}

static int load_bundles(Settings *settings, Arena *arena, Recorded *ret) {
    Recording parts[REPLICAS_MAX];
    Replicas replicas = {0};
    int r;

    if (settings->n_bundles > 0)
        r = load_files(settings, ret);
    else {
        r = replicas_open(&settings->source, WHO, &replicas);
        if (r == 0)
            r = fetch_bundles(settings, &replicas, arena, ret);
        replicas_done(&replicas);
        server_source_done(&settings->source);
    }
    if (r != 0)
        return r;
    for (size_t i = 0; i < ret->n; i++)
        parts[i] = ret->bundles[i].recording;
    return recording_merge(parts, ret->n, arena, &ret->recording) == 0
               ? 0
               : terminal_out_of_memory(WHO, "the recorded decisions", arena);
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
        progress_end();
        (void)fprintf(stderr, WHO ": --set %s\n", error);
        return EXIT_USAGE;
    }
    return policy_texts_compile(
        changed, n, settings->settings, settings->n_settings, WHO, arena, ret);
}

/* --- while it runs ----------------------------------------------------------------------- */

static void note_progress(void *context, size_t done, size_t of) {
    progress_count(done, of);
}

static int run_report(const Recorded *recorded, Program *program, const Zones *zones, Arena *arena,
    WhatIfReport *ret) {
    WhatIfOptions options = {
        .setting = {.zones = zones_finder(zones), .exemptions = &recorded->bundles[0].exemptions},
        .progress = note_progress,
    };
    int r;

    progress_begin("replaying decisions");
    r = what_if_run(&recorded->recording, program, &options, arena, ret);
    progress_end();
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

/* Replicas that read their policies at different times, or from different files. */
static void warn_about_policies(const Recorded *recorded) {
    for (size_t i = 1; i < recorded->n; i++)
        if (!digest_equal(digest_of_policies(&recorded->bundles[i]),
                digest_of_policies(&recorded->bundles[0]))) {
            (void)fprintf(stderr,
                WHO ": the recordings have different policies; those of the first "
                    "count as in force\n");
            return;
        }
}

static int print(const Settings *settings, const Recorded *recorded, const Program *program,
    const WhatIfReport *report, Arena *arena) {
    const Bundle *bundle = &recorded->bundles[0];
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    WhatIfPrinter printer = {
        .report = report,
        .recording = &recorded->recording,
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

    if (settings->form != OUTPUT_TABLE)
        what_if_write(report, &out);
    else
        what_if_print(&printer);
    return terminal_finish_as(&out, settings->form, WHO);
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
    _cleanup_(recorded_done) Recorded recorded = {0};
    WhatIfReport report;
    int r;

    if (!arena || !zones)
        return terminal_out_of_memory(WHO, "the replayed decisions", NULL);
    progress_begin("reading decisions");
    r = load_bundles(settings, arena, &recorded);
    if (r == 0)
        r = load_program(settings, &recorded.bundles[0], arena, &program);
    if (r != 0)
        return r;
    warn_about_policies(&recorded);
    keep_last(&recorded.recording, settings->last);
    r = run_report(&recorded, program, zones, arena, &report);
    if (r == 0)
        r = print(settings, &recorded, program, &report, arena);
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
        .help = "change a value of them: POLICY.params.NAME, POLICY.RULE.weight, POLICY.RULE.FIELD.KEY, "
                "POLICY.RULE.FIELD[\"KEY.WITH/DOTS\"]; may be repeated"},
    {"last", OPTION_NUMBER, .argument = "N", AT(last), .min = 1, .max = RECORDER_LAST_MAX, .initial = "1000",
        .help = "how many filter and prioritize decisions"},
    {"bundle", OPTION_LIST, .argument = "FILE", OPTION_LIST_AT(Settings, bundles, n_bundles),
        .complete = COMPLETE_FILES,
        .help = "decisions of this file (berth bundle), not of a running berth; may be repeated, for "
                "replicas"},
    {"weight", OPTION_NUMBER, .argument = "N", AT(weight), .min = 1, .max = WEIGHT_MAX, .initial = "1",
        .help = "the extender's weight in kube-scheduler's configuration"},
    {"all", OPTION_FLAG, AT(all), .help = "every rule, decision and node, not only the first 10"},
    {"fail-on", OPTION_CHOICE, .argument = "newly-rejected|any", AT(fail_on), .min = FAIL_ON_NEWLY_REJECTED,
        .help = "exit with code 1 if there is such a change: for CI"},
    {"output", OPTION_CHOICE, 'o', .argument = "table|json|yaml", AT(form), .initial = "table",
        .help = "output format"},

    SERVER_SOURCE_GROUP(Settings, source),
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

    if (settings->n_bundles > 0 && (server_source_is_given(&settings->source) ||
                                       cluster_source_is_live(&settings->source.cluster)))
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
        "Replays the last decisions of the running berths, or of bundles, with other policies, on "
        "the cluster and metrics of that time: which pods would be rejected, which would pass, "
        "where other nodes would be best, and which rule causes it. With neither --policy nor "
        "--set it is a self-check: with the same policies every decision should be equal.",
    .options = options,
    .settings_size = sizeof(Settings),
    .init = init,
    .check = check,
    .run = run,
};
