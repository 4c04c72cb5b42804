/* berth test: runs test files of policies. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/progress.h"
#include "commands/commands.h"
#include "commands/suite-report.h"
#include "suite/suite-files.h"
#include "yaml/document.h"

#define TEST_BUDGET ((size_t)2 * 1024 * 1024 * 1024)
#define OUTPUT_MAX ((size_t)512 * 1024 * 1024)

enum {
    OUTPUT_JUNIT = OUTPUT_YAML + 1, /* after those of all commands */
};

typedef struct Settings {
    bool is_update;
    bool needs_coverage;
    unsigned form; /* OutputForm, or the above */
} Settings;

/* --- one file -------------------------------------------------------------------------------- */

typedef struct Testing {
    const Zones *zones;
    Arena *arena;
    Coverage coverage;
} Testing;

static int run_file(Testing *testing, const char *path, SuiteResult *ret) {
    int r;

    *ret = (SuiteResult){.diags = DIAG_LIST_IN(testing->arena)};
    r = suite_run(path, testing->zones, coverage_note, &testing->coverage, testing->arena,
        &ret->diags, &ret->suite);
    ret->is_unreadable = r == SUITE_E_UNREADABLE;
    return r < 0 ? terminal_failed(path, r, testing->arena) : 0;
}

/* In place, so that links and permissions stay. */
static int write_file(const char *path, Str text) {
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    int r = fd < 0 ? -errno : fd_write(fd, text);

    if (fd >= 0 && close(fd) < 0 && r == 0)
        r = -errno;
    return r < 0 ? terminal_failed(path, r, NULL) : 0;
}

/* Accepts what berth answers, and runs the file again. */
static int update_file(Testing *testing, const char *path, SuiteResult *result) {
    _cleanup_(buf_done) Buf text = BUF_INIT(YAML_SOURCE_MAX);
    size_t n = 0;
    int r;

    if (result->suite.n_failed == 0)
        return 0;
    r = suite_update(&result->suite, testing->arena, &text, &n);
    if (r != 0)
        return terminal_failed(path, r < 0 ? r : -EINVAL, testing->arena);
    if (n == 0)
        return 0;
    r = write_file(path, buf_str(&text));
    if (r != 0)
        return r;
    (void)terminal_complain("updated %zu value%s of %s", n, n == 1 ? "" : "s", path);
    return run_file(testing, path, result);
}

/* --- the command ----------------------------------------------------------------------------- */

static int print(const Settings *settings, SuiteReport *report) {
    _cleanup_(buf_done) Buf out = BUF_INIT(OUTPUT_MAX);

    report->out = &out;
    report->colour = settings->form == OUTPUT_TABLE && terminal_has_colour(stdout);
    report->paint = paint_for(report->colour);
    if (settings->form == OUTPUT_JUNIT)
        suite_report_junit(report);
    else if (settings->form == OUTPUT_TABLE)
        suite_report_table(report);
    else
        suite_report_json(report);
    return terminal_finish_as(
        &out, settings->form == OUTPUT_JUNIT ? OUTPUT_TABLE : (OutputForm)settings->form);
}

static int judge(const Settings *settings, const SuiteReport *report) {
    bool has_failed = settings->needs_coverage && suite_report_gaps(report) > 0;
    bool is_unreadable = false;

    for (size_t i = 0; i < report->n; i++) {
        has_failed |= report->items[i].suite.n_failed > 0 || report->items[i].diags.n_errors > 0;
        is_unreadable |= report->items[i].is_unreadable;
    }
    return is_unreadable ? EXIT_UNREACHABLE : has_failed ? EXIT_FAILED : EXIT_FINE;
}

static int run_files(const Settings *settings, Testing *testing, const SuiteFiles *files) {
    SuiteReport report = {
        .items = ARENA_ARRAY(testing->arena, SuiteResult, files->paths.n),
        .coverage = &testing->coverage,
    };
    int r = 0;

    if (!report.items)
        return terminal_out_of_memory("the results", testing->arena);
    progress_begin("running the tests");
    for (; r == 0 && report.n < files->paths.n; report.n++) {
        const char *path = files->paths.items[report.n];
        SuiteResult *result = &report.items[report.n];

        r = run_file(testing, path, result);
        if (r == 0 && settings->is_update)
            r = update_file(testing, path, result);
    }
    progress_end();
    if (r == 0)
        r = print(settings, &report);
    return r == 0 ? judge(settings, &report) : r;
}

static int run(void *context, const Arguments *arguments) {
    static const char *const here[] = {"."};
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    _cleanup_(zones_freep) Zones *zones = zones_new();
    Testing testing = {.zones = zones, .arena = arena, .coverage.arena = arena};
    char error[SUITE_FILES_ERROR_MAX];
    SuiteFiles files;

    if (!arena || !zones)
        return terminal_out_of_memory("the tests", NULL);
    if (suite_files_find(arguments->n > 0 ? arguments->items : here,
            arguments->n > 0 ? arguments->n : 1, arena, &files, error) < 0)
        return terminal_complain("%s", error);
    return run_files(context, &testing, &files);
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    {"update", OPTION_FLAG, AT(is_update),
        .help = "accept what berth answers: replace the expected values that do not hold, in the file; all "
                "other bytes stay"},
    {"require-coverage", OPTION_FLAG, AT(needs_coverage),
        .help = "exit with code 1 if a rule is not exercised: a filter that rejects no node or passes none, a "
                "score that is the same for all nodes of each case"},
    {"output", OPTION_CHOICE, 'o', .argument = "table|json|yaml|junit", AT(form), .initial = "table",
        .help = "output format"},
    {0},
};
/* clang-format on */

const Command test_command = {
    .name = "test",
    .summary = "run tests of policies",
    .usage = "[FILE | FOLDER | PATTERN]... [OPTIONS]",
    .about =
        "Runs test files: each has policies or their paths, a cluster, and cases: a pod with the "
        "verdicts, reasons, scores and order of nodes that are expected. Of a folder it takes all "
        "files NAME.test.yaml, also those of folders below it; without an argument, of the current "
        "one. An expectation that does not hold is printed with its line in the file and with what "
        "berth answers. Rules that no case exercises are listed at the end.",
    .options = options,
    .complete = COMPLETE_FILES,
    .max_completed = SIZE_MAX,
    .settings_size = sizeof(Settings),
    .run = run,
};
