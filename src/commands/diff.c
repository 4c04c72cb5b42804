/*
 * berth diff: compares the policies in force with files, and replays past decisions with these.
 *
 * The replay is that of `berth what-if`.
 */

#include <stdio.h>

#include "base/linediff.h"
#include "base/visible.h"
#include "cli/policy-files.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "commands/recorded.h"
#include "input/policy-diff.h"
#include "json/write.h"

#define TEXT_MAX ((size_t)64 * 1024 * 1024)
#define MISTAKES EXIT_USAGE /* invalid policies: EXIT_FAILED means that there are differences */

typedef struct Settings {
    RecordedSource source;
    bool keeps_others;
    bool all;
    OutputForm form;
} Settings;

/* The policies of the files, and their differences from those in force. */
typedef struct Compared {
    const PolicySource *sources;
    size_t n_sources;
    PolicyDiff diff;
    Program *program; /* NULL: there is no difference */
    WhatIfReport report;
} Compared;

static void read_files(const Settings *settings, const Arguments *arguments, const Bundle *bundle,
    Arena *arena, Compared *ret) {
    PolicyPaths paths = {.n = arguments->n};

    for (size_t i = 0; i < paths.n; i++)
        paths.items[i] = arguments->items[i];
    policy_files_read(&paths, MISTAKES, arena, &ret->sources, &ret->n_sources);
    if (settings->keeps_others &&
        policy_diff_keep_others(bundle->policies, bundle->n_policies, ret->sources, ret->n_sources,
            arena, &ret->sources, &ret->n_sources) < 0)
        terminal_out_of_memory("the policies", arena);
}

static void compare(const Recorded *recorded, Arena *arena, Compared *ret) {
    const Bundle *bundle = &recorded->bundles[0];

    if (policy_diff(bundle->policies, bundle->n_policies, ret->sources, ret->n_sources, arena,
            &ret->diff) < 0)
        terminal_out_of_memory("the policies", arena);
    if (ret->diff.n == 0)
        return;
    ret->program = policy_texts_compile(ret->sources, ret->n_sources, NULL, 0, MISTAKES, arena);
    recorded_replay(recorded, ret->program, arena, &ret->report);
}

static void print_lines(const PolicyChange *change, Arena *arena, Buf *out) {
    LinediffText before = {
        .name = arena_printf(arena, "%.*s, in force", STR_FMT(change->name)),
        .text = change->before,
    };
    LinediffText after = {
        .name = arena_printf(arena, "%.*s, new", STR_FMT(change->name)),
        .text = change->after,
    };

    buf_append_char(out, '\n');
    if (linediff_write(&before, &after, LINEDIFF_CONTEXT, out, NULL) < 0)
        terminal_out_of_memory("the policies", arena);
}

static void print_policies(
    const Settings *settings, const PolicyDiff *diff, Arena *arena, Buf *out) {
    size_t n[POLICY_REMOVED + 1] = {0};

    for (size_t i = 0; i < diff->n; i++)
        n[diff->items[i].kind]++;
    buf_printf(out, "policies: %zu changed, %zu added, %zu removed, %zu equal\n", n[POLICY_CHANGED],
        n[POLICY_ADDED], n[POLICY_REMOVED], diff->n_equal);
    for (size_t i = 0; i < diff->n; i++) {
        const PolicyChange *change = &diff->items[i];

        buf_printf(out, "  %-8s ", policy_change_name(change->kind));
        (void)visible_append(out, change->name);
        for (size_t k = 0; k < change->n_parts; k++)
            visible_print(out, k == 0 ? ": {} {}" : ", {} {}",
                str_from_c(policy_change_name(change->parts[k].kind)), change->parts[k].path);
        buf_append_char(out, '\n');
    }
    for (size_t i = 0; i < diff->n; i++)
        if (settings->all || diff->items[i].kind == POLICY_CHANGED)
            print_lines(&diff->items[i], arena, out);
}

static void print_replay(const Settings *settings, const Recorded *recorded,
    const Compared *compared, const Arguments *arguments, Buf *out) {
    _cleanup_(buf_done) Buf with = BUF_INIT(64 * 1024);

    for (size_t i = 0; i < arguments->n; i++)
        buf_printf(&with, "%s%s", i > 0 ? ", " : "", arguments->items[i]);
    if (settings->keeps_others)
        buf_append(&with, STR(", and the other policies in force"));
    buf_append_char(out, '\n');
    what_if_print(&(WhatIfPrinter){
        .report = &compared->report,
        .recorded = recorded,
        .program = compared->program,
        .with = buf_str(&with),
        .weight = 1,
        .all = settings->all,
        .paint = paint_for(terminal_has_colour(stdout)),
        .out = out,
    });
}

static void write_json(const Compared *compared, Buf *out) {
    _cleanup_(buf_done) Buf replay = BUF_INIT(TEXT_MAX);
    JsonWriter writer = JSON_WRITER(out);

    json_write(&writer, "{policies: [");
    for (size_t i = 0; i < compared->diff.n; i++) {
        const PolicyChange *change = &compared->diff.items[i];

        json_write(&writer, "{policy: %.*s, change: %s, parts: [", STR_FMT(change->name),
            policy_change_name(change->kind));
        for (size_t k = 0; k < change->n_parts; k++)
            json_write(&writer, "{path: %.*s, change: %s}", STR_FMT(change->parts[k].path),
                policy_change_name(change->parts[k].kind));
        json_write(&writer, "]}");
    }
    json_write(&writer, "], equal: %zu", compared->diff.n_equal);
    if (compared->program) {
        what_if_write(&compared->report, &replay);
        json_write_key(&writer, STR("replay"));
        json_write_raw(&writer, str_trim(buf_str(&replay)));
    }
    json_write(&writer, "}\n");
    if (buf_error(&replay) < 0)
        out->error = buf_error(&replay);
}

static int run(void *context, const Arguments *arguments) {
    Settings *settings = context;
    _cleanup_(recorded_done) Recorded recorded = {0};
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    Arena *arena = arguments->arena;
    Compared compared = {0};

    recorded_load(&settings->source, arena, &recorded);
    read_files(settings, arguments, &recorded.bundles[0], arena, &compared);
    compare(&recorded, arena, &compared);
    progress_end();
    if (settings->form != OUTPUT_TABLE)
        write_json(&compared, &out);
    else {
        print_policies(settings, &compared.diff, arena, &out);
        if (compared.program)
            print_replay(settings, &recorded, &compared, arguments, &out);
    }
    terminal_finish_as(&out, settings->form);
    program_unref(compared.program);
    return compared.diff.n > 0 ? EXIT_FAILED : EXIT_FINE;
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    {"keep-others", OPTION_FLAG, AT(keeps_others),
        .help = "policies in force that the files do not have stay, as with kubectl apply; without it, "
                "they count as removed"},
    RECORDED_LAST_OPTION(Settings, source),
    RECORDED_BUNDLE_OPTION(Settings, source),
    {"all", OPTION_FLAG, AT(all),
        .help = "also texts of added and removed policies, and every rule, decision and node, not only "
                "the first 10"},
    {"output", OPTION_CHOICE, 'o', .argument = "table|json|yaml", AT(form), .initial = "table",
        .help = "output format"},

    SERVER_SOURCE_GROUP(Settings, source.server),
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    const Settings *settings = context;

    if (arguments->n == 0)
        return "which policies? Name a file or directory";
    if (arguments->n > POLICY_PATHS_MAX)
        return "too many files; name their directory";
    return recorded_check(&settings->source);
}

const Command diff_command = {
    .name = "diff",
    .summary = "compare the policies in force with files",
    .usage = "FILE-OR-DIR... [OPTIONS]\n"
             "FILE-OR-DIR... --bundle FILE [OPTIONS]",
    .about =
        "Compares the policies in force, of files and of the cluster, with those of files or "
        "directories, as of a pull request: which policies and rules are added, removed or "
        "changed, and what that changes for which pods, by a replay of the last decisions as in "
        "berth what-if. Comments, quotes and the order of keys do not matter.",
    .notes =
        "Exit code: 0 no difference, 1 differences, 2 wrong usage or a policy with mistakes, 3 "
        "a berth or file that cannot be read.",
    .options = options,
    .complete = COMPLETE_FILES,
    .max_completed = SIZE_MAX,
    .budget = RECORDED_BUDGET,
    .memory_for = RECORDED_MEMORY_FOR,
    .settings_size = sizeof(Settings),
    .defaults = &(const Settings){.source.last = RECORDER_LAST_DEFAULT},
    .check = check,
    .run = run,
};
