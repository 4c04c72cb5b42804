/* berth test: runs test files of policies. */

#include <errno.h>
#include <stdio.h>

#include "base/visible.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "dashboard/html.h"
#include "suite/coverage.h"
#include "suite/suite-files.h"
#include "suite/suite.h"
#include "yaml/document.h"

#define TEXT_MAX ((size_t)16 * 1024 * 1024)
#define OUTPUT_MAX ((size_t)512 * 1024 * 1024)

typedef struct Settings {
    bool is_update;
    bool needs_coverage;
    bool is_junit; /* else a table */
} Settings;

/* One test file. */
typedef struct SuiteResult {
    Suite suite;
    DiagList diags; /* errors: the file, or one that it names, has mistakes */
    bool is_unreadable;
} SuiteResult;

typedef struct SuiteReport {
    const Zones *zones;
    Arena *arena;
    SuiteResult *items;
    size_t n;
    Coverage coverage;
    bool colour;
    Paint paint;
    Buf *out;
} SuiteReport;

static void run_file(SuiteReport *report, const char *path, SuiteResult *ret) {
    int r;

    *ret = (SuiteResult){.diags = DIAG_LIST_IN(report->arena)};
    r = suite_run(path, report->zones, coverage_note, &report->coverage, report->arena, &ret->diags,
        &ret->suite);
    ret->is_unreadable = terminal_check(r, path, report->arena) == SUITE_E_UNREADABLE;
}

/* Replaces expected values that do not hold by berth's answers, and runs the file again. */
static void update_file(SuiteReport *report, const char *path, SuiteResult *result) {
    _cleanup_(buf_done) Buf text = BUF_INIT(YAML_SOURCE_MAX);
    size_t n = 0;
    int r;

    if (result->suite.n_failed == 0)
        return;
    r = suite_update(&result->suite, report->arena, &text, &n);
    if (r != 0)
        terminal_failed(path, r < 0 ? r : -EINVAL, report->arena);
    if (n == 0)
        return;
    terminal_write_file(path, 0666, buf_str(&text));
    terminal_warn("updated %zu value%s of %s", n, PLURAL(n), path);
    run_file(report, path, result);
}

/* --- for users ------------------------------------------------------------------------------ */

typedef struct Totals {
    size_t n_cases, n_failed, n_errors; /* n_errors counts files */
} Totals;

static Totals totals_of(const SuiteReport *report) {
    Totals totals = {0};

    for (size_t i = 0; i < report->n; i++) {
        totals.n_cases += report->items[i].suite.n_cases;
        totals.n_failed += report->items[i].suite.n_failed;
        totals.n_errors += report->items[i].diags.n_errors > 0;
    }
    return totals;
}

/* Rules that no case exercises. */
static size_t count_gaps(const SuiteReport *report) {
    size_t n = 0;

    for (size_t i = 0; i < report->coverage.rules.n; i++)
        n += coverage_gap(&report->coverage.rules.items[i]) != NULL;
    return n;
}

static void print_failures(const Suite *suite, const SuiteCase *test, bool colour, Buf *out) {
    for (size_t i = 0; i < test->failures.n; i++)
        suite_failure_print(suite, &test->failures.items[i], colour, out);
}

static void print_cases(SuiteReport *report, const SuiteResult *result) {
    const Suite *suite = &result->suite;
    const Paint *paint = &report->paint;

    for (size_t i = 0; i < suite->n_cases; i++) {
        bool has_failed = suite->cases[i].failures.n > 0;

        buf_printf(report->out, "%s%s%s  ", has_failed ? paint->bad : paint->good,
            has_failed ? "FAIL" : "ok  ", paint->off);
        visible_print(report->out, "{}: {}\n", suite->file, suite->cases[i].name);
        print_failures(suite, &suite->cases[i], report->colour, report->out);
    }
    if (result->diags.n_errors == 0)
        return;
    buf_printf(report->out, "%sERROR%s ", paint->bad, paint->off);
    visible_print(report->out, "{}\n", suite->file);
    diag_list_print(&result->diags, report->colour, report->out);
}

static void print_gaps(SuiteReport *report) {
    size_t n_gaps = count_gaps(report);

    if (n_gaps == 0)
        return;
    buf_printf(report->out, "\n%zu of %zu rules %s not exercised:\n", n_gaps,
        report->coverage.rules.n, n_gaps == 1 ? "is" : "are");
    for (size_t i = 0; i < report->coverage.rules.n; i++) {
        const CoveredRule *rule = &report->coverage.rules.items[i];
        const char *gap = coverage_gap(rule);

        if (gap)
            visible_print(report->out, "  {} {}/{}: {}\n",
                rule->is_score ? STR("score") : STR("filter"), rule->policy, rule->rule,
                str_from_c(gap));
    }
}

/* Prints a line for each case, the expectations that failed, errors of files, and a summary. */
static void print_table(SuiteReport *report) {
    Totals totals = totals_of(report);

    for (size_t i = 0; i < report->n; i++)
        print_cases(report, &report->items[i]);
    buf_printf(report->out, "\n%zu file%s, %zu case%s: %zu passed, %zu failed", report->n,
        PLURAL(report->n), totals.n_cases, PLURAL(totals.n_cases), totals.n_cases - totals.n_failed,
        totals.n_failed);
    if (totals.n_errors > 0)
        buf_printf(
            report->out, "; %zu file%s with errors", totals.n_errors, PLURAL(totals.n_errors));
    buf_append_char(report->out, '\n');
    print_gaps(report);
}

/* --- JUnit ----------------------------------------------------------------------------------- */

/* Ends an element, and the line. */
static void end_line(Html *html) {
    html_close(html);
    buf_append_char(html->out, '\n');
}

/* Writes a failure or an error of a testcase. Lines stay lines. */
static void write_problem(Html *html, const char *kind, size_t n, const char *what, Str text) {
    char message[64];
    Str line;

    (void)snprintf(message, sizeof(message), "%zu %s%s", n, what, PLURAL(n));
    html_open(html, kind);
    html_attr(html, "message", str_from_c(message));
    while (str_split(&text, '\n', &line)) {
        html_text(html, line);
        buf_append_char(html->out, '\n');
    }
    html_close(html);
}

static void write_case(Html *html, const Suite *suite, const SuiteCase *test) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);

    html_write(html, "<testcase name='%.*s' classname='%.*s' file='%.*s' line='%zu'>",
        STR_FMT(test->name), STR_FMT(suite->file), STR_FMT(suite->file), test->place.line);
    print_failures(suite, test, /* colour= */ false, &text);
    if (test->failures.n > 0)
        write_problem(html, "failure", test->failures.n, "failed expectation", buf_str(&text));
    end_line(html);
}

static void write_suite(Html *html, const SuiteResult *result) {
    const Suite *suite = &result->suite;
    size_t n_errors = result->diags.n_errors > 0 ? 1 : 0;
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);

    html_write(html, "<testsuite name='%.*s' tests='%zu' failures='%zu' errors='%zu'>",
        STR_FMT(suite->file), suite->n_cases + n_errors, suite->n_failed, n_errors);
    for (size_t i = 0; i < suite->n_cases; i++)
        write_case(html, suite, &suite->cases[i]);
    if (n_errors > 0) {
        diag_list_print(&result->diags, /* colour= */ false, &text);
        html_write(
            html, "<testcase name='the file can be read' classname='%.*s'>", STR_FMT(suite->file));
        write_problem(html, "error", result->diags.n_errors, "error", buf_str(&text));
        end_line(html);
    }
    end_line(html);
}

/* Prints JUnit's XML: a testsuite for each file, an error for one with mistakes. */
static void print_junit(SuiteReport *report) {
    Totals totals = totals_of(report);
    Html html = HTML(report->out);

    buf_append(report->out, STR("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"));
    html_write(&html, "<testsuites name='berth test' tests='%zu' failures='%zu' errors='%zu'>",
        totals.n_cases + totals.n_errors, totals.n_failed, totals.n_errors);
    for (size_t i = 0; i < report->n; i++)
        write_suite(&html, &report->items[i]);
    end_line(&html);
}

static void print(const Settings *settings, SuiteReport *report) {
    _cleanup_(buf_done) Buf out = BUF_INIT(OUTPUT_MAX);

    report->out = &out;
    report->colour = !settings->is_junit && terminal_has_colour(stdout);
    report->paint = paint_for(report->colour);
    if (settings->is_junit)
        print_junit(report);
    else
        print_table(report);
    terminal_finish(&out);
    report->out = NULL;
}

static int judge(const Settings *settings, const SuiteReport *report) {
    bool has_failed = settings->needs_coverage && count_gaps(report) > 0;
    bool is_unreadable = false;

    for (size_t i = 0; i < report->n; i++) {
        has_failed |= report->items[i].suite.n_failed > 0 || report->items[i].diags.n_errors > 0;
        is_unreadable |= report->items[i].is_unreadable;
    }
    return is_unreadable ? EXIT_UNREACHABLE : has_failed ? EXIT_FAILED : EXIT_FINE;
}

static int run(void *context, const Arguments *arguments) {
    static const char *const here[] = {"."};
    _cleanup_(zones_freep) Zones *zones = terminal_need(zones_new(), "the tests");
    const Settings *settings = context;
    Arena *arena = arguments->arena;
    SuiteReport report = {.zones = zones, .arena = arena, .coverage.arena = arena};
    char error[SUITE_FILES_ERROR_MAX];
    SuiteFiles files;

    if (suite_files_find(arguments->n > 0 ? arguments->items : here,
            arguments->n > 0 ? arguments->n : 1, arena, &files, error) < 0)
        terminal_fail("%s", error);
    report.items = ARENA_ARRAY(arena, SuiteResult, files.paths.n);
    progress_begin("running the tests");
    for (; report.n < files.paths.n; report.n++) {
        const char *path = files.paths.items[report.n];
        SuiteResult *result = &report.items[report.n];

        run_file(&report, path, result);
        if (settings->is_update)
            update_file(&report, path, result);
    }
    progress_end();
    print(settings, &report);
    return judge(settings, &report);
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
    {"output", OPTION_CHOICE, 'o', .argument = "table|junit", AT(is_junit), .initial = "table",
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
        "verdicts, reasons, scores and order of nodes that are expected. A folder stands for all "
        "files NAME.test.yaml in it and in folders below it; without an argument it is the current "
        "folder. An expectation that does not hold is printed with its line in the file and with "
        "berth's answer. Rules that no case exercises are listed at the end.",
    .options = options,
    .complete = COMPLETE_FILES,
    .max_completed = SIZE_MAX,
    .budget = (size_t)2 * 1024 * 1024 * 1024,
    .memory_for = "the results",
    .settings_size = sizeof(Settings),
    .run = run,
};
