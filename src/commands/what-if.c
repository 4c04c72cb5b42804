/*
 * berth what-if: replays past decisions with other policies.
 *
 * The decisions come from a running berth or from a bundle, and are replayed in this process.
 */

#include <stdio.h>

#include "cli/policy-files.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "commands/recorded.h"
#include "input/policy-set.h"

#define TEXT_MAX ((size_t)64 * 1024 * 1024)
#define WEIGHT_MAX 1000000000

typedef enum FailOn {
    FAIL_ON_NOTHING,
    FAIL_ON_NEWLY_REJECTED,
    FAIL_ON_ANY,
} FailOn;

typedef struct Settings {
    RecordedSource source;
    PolicyPaths policies;
    PolicySetting settings[POLICY_SETTINGS_MAX];
    size_t n_settings;
    int64_t weight;
    FailOn fail_on;
    bool all;
    OutputForm form;
} Settings;

static Program *load_program(const Settings *settings, const Bundle *bundle, Arena *arena) {
    const PolicySource *sources = bundle->policies;
    size_t n = bundle->n_policies;
    char error[POLICY_SET_ERROR_MAX];
    PolicySource *changed;
    int r;

    if (settings->policies.n > 0)
        policy_files_read(&settings->policies, EXIT_FAILED, arena, &sources, &n);
    changed = ARENA_ARRAY(arena, PolicySource, n);
    r = policy_set(sources, n, settings->settings, settings->n_settings, arena, changed, error);
    if (terminal_check(r, "the changed policies", arena) > 0)
        terminal_exit(EXIT_USAGE, "--set %s", error);
    return policy_texts_compile(
        changed, n, settings->settings, settings->n_settings, EXIT_FAILED, arena);
}

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

static void print(const Settings *settings, const Recorded *recorded, const Program *program,
    const WhatIfReport *report, Arena *arena) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    WhatIfPrinter printer = {
        .report = report,
        .recorded = recorded,
        .program = program,
        .with = describe(settings, &recorded->bundles[0], arena),
        .is_check = settings->policies.n == 0 && settings->n_settings == 0,
        .weight = settings->weight,
        .all = settings->all,
        .paint = paint_for(terminal_has_colour(stdout)),
        .out = &out,
    };

    if (settings->form != OUTPUT_TABLE)
        what_if_write(report, &out);
    else
        what_if_print(&printer);
    terminal_finish_as(&out, settings->form);
}

static int run(void *context, const Arguments *arguments) {
    Settings *settings = context;
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(recorded_done) Recorded recorded = {0};
    Arena *arena = arguments->arena;
    WhatIfReport report;
    size_t n_changed = 0;

    recorded_load(&settings->source, arena, &recorded);
    program = load_program(settings, &recorded.bundles[0], arena);
    recorded_replay(&recorded, program, arena, &report);
    print(settings, &recorded, program, &report, arena);
    if (settings->fail_on == FAIL_ON_NEWLY_REJECTED)
        n_changed = report.n_changes[WHAT_IF_NEWLY_REJECTED];
    else if (settings->fail_on == FAIL_ON_ANY)
        n_changed = report.n - report.n_changes[WHAT_IF_EQUAL] - report.n_changes[WHAT_IF_SKIPPED];
    return n_changed > 0 ? EXIT_FAILED : EXIT_FINE;
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
    RECORDED_LAST_OPTION(Settings, source),
    RECORDED_BUNDLE_OPTION(Settings, source),
    {"weight", OPTION_NUMBER, .argument = "N", AT(weight), .min = 1, .max = WEIGHT_MAX, .initial = "1",
        .help = "the extender's weight in kube-scheduler's configuration"},
    {"all", OPTION_FLAG, AT(all), .help = "every rule, decision and node, not only the first 10"},
    {"fail-on", OPTION_CHOICE, .argument = "newly-rejected|any", AT(fail_on), .min = FAIL_ON_NEWLY_REJECTED,
        .help = "exit with code 1 if there is such a change: for CI"},
    {"output", OPTION_CHOICE, 'o', .argument = "table|json|yaml", AT(form), .initial = "table",
        .help = "output format"},

    SERVER_SOURCE_GROUP(Settings, source.server),
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    return recorded_check(&((Settings *)context)->source);
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
    .budget = RECORDED_BUDGET,
    .memory_for = RECORDED_MEMORY_FOR,
    .settings_size = sizeof(Settings),
    .defaults = &(const Settings){.source.last = RECORDER_LAST_DEFAULT, .weight = 1},
    .check = check,
    .run = run,
};
