/* Prints the results of berth test. */

#include "commands/suite-report.h"

#include "base/visible.h"
#include "json/write.h"

#define TEXT_MAX ((size_t)16 * 1024 * 1024)

/* --- figures --------------------------------------------------------------------------------- */

typedef struct Totals {
    size_t n_cases, n_failed, n_errors; /* errors: files */
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

size_t suite_report_gaps(const SuiteReport *report) {
    size_t n = 0;

    for (size_t i = 0; i < report->coverage->rules.n; i++)
        n += coverage_gap(&report->coverage->rules.items[i]) != NULL;
    return n;
}

static const char *type_of(const CoveredRule *rule) {
    return rule->is_score ? "score" : "filter";
}

static const char *plural(size_t n) {
    return n == 1 ? "" : "s";
}

static void print_failures(const Suite *suite, const SuiteCase *test, bool colour, Buf *out) {
    for (size_t i = 0; i < test->failures.n; i++)
        suite_failure_print(suite, &test->failures.items[i], colour, out);
}

/* --- the table ------------------------------------------------------------------------------- */

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
    size_t n_gaps = suite_report_gaps(report);

    if (n_gaps == 0)
        return;
    buf_printf(report->out, "\n%zu of %zu rules %s not exercised:\n", n_gaps,
        report->coverage->rules.n, n_gaps == 1 ? "is" : "are");
    for (size_t i = 0; i < report->coverage->rules.n; i++) {
        const CoveredRule *rule = &report->coverage->rules.items[i];
        const char *gap = coverage_gap(rule);

        if (gap)
            visible_print(report->out, "  {} {}/{}: {}\n", str_from_c(type_of(rule)), rule->policy,
                rule->rule, str_from_c(gap));
    }
}

void suite_report_table(SuiteReport *report) {
    Totals totals = totals_of(report);

    for (size_t i = 0; i < report->n; i++)
        print_cases(report, &report->items[i]);
    buf_printf(report->out, "\n%zu file%s, %zu case%s: %zu passed, %zu failed", report->n,
        plural(report->n), totals.n_cases, plural(totals.n_cases), totals.n_cases - totals.n_failed,
        totals.n_failed);
    if (totals.n_errors > 0)
        buf_printf(
            report->out, "; %zu file%s with errors", totals.n_errors, plural(totals.n_errors));
    buf_append_char(report->out, '\n');
    print_gaps(report);
}

/* --- for programs ---------------------------------------------------------------------------- */

static void write_failures(JsonWriter *writer, const SuiteCase *test) {
    json_member_array(writer, "failures");
    for (size_t i = 0; i < test->failures.n; i++) {
        const SuiteFailure *failure = &test->failures.items[i];

        json_write_object(writer);
        json_member_int(writer, "line", (int64_t)failure->place.line);
        json_member_int(writer, "column", (int64_t)failure->place.column);
        json_write_member(writer, STR("subject"), failure->subject);
        json_write_member(writer, STR("expected"), failure->expected);
        json_write_member(writer, STR("got"), failure->got);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_errors(JsonWriter *writer, const DiagList *diags) {
    json_member_array(writer, "errors");
    for (size_t i = 0; i < diags->diags.n; i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);

        if (diags->diags.items[i].level != DIAG_ERROR)
            continue;
        diag_print(&diags->diags.items[i], /* colour= */ false, &text);
        json_write_string(writer, str_trim(buf_str(&text)));
    }
    json_write_end_array(writer);
}

static void write_file(JsonWriter *writer, const SuiteResult *result) {
    json_write_object(writer);
    json_write_member(writer, STR("file"), result->suite.file);
    write_errors(writer, &result->diags);
    json_member_array(writer, "cases");
    for (size_t i = 0; i < result->suite.n_cases; i++) {
        const SuiteCase *test = &result->suite.cases[i];

        json_write_object(writer);
        json_write_member(writer, STR("name"), test->name);
        json_member_int(writer, "line", (int64_t)test->place.line);
        json_member_bool(writer, "passed", test->failures.n == 0);
        write_failures(writer, test);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
    json_write_end_object(writer);
}

static void write_rules(JsonWriter *writer, const Coverage *coverage) {
    json_member_array(writer, "rules");
    for (size_t i = 0; i < coverage->rules.n; i++) {
        const CoveredRule *rule = &coverage->rules.items[i];
        const char *gap = coverage_gap(rule);

        json_write_object(writer);
        json_write_member(writer, STR("file"), rule->file);
        json_write_member(writer, STR("policy"), rule->policy);
        json_write_member(writer, STR("rule"), rule->rule);
        json_write_member(writer, STR("type"), str_from_c(type_of(rule)));
        json_member_bool(writer, "exercised", !gap);
        if (gap)
            json_write_member(writer, STR("gap"), str_from_c(gap));
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

void suite_report_json(SuiteReport *report) {
    JsonWriter writer = {.out = report->out, .indent = 2};
    Totals totals = totals_of(report);

    json_write_object(&writer);
    json_member_array(&writer, "files");
    for (size_t i = 0; i < report->n; i++)
        write_file(&writer, &report->items[i]);
    json_write_end_array(&writer);
    json_member_int(&writer, "cases", (int64_t)totals.n_cases);
    json_member_int(&writer, "failed", (int64_t)totals.n_failed);
    json_member_int(&writer, "errors", (int64_t)totals.n_errors);
    write_rules(&writer, report->coverage);
    json_write_end_object(&writer);
    buf_append_char(report->out, '\n');
}

/* --- JUnit ----------------------------------------------------------------------------------- */

/* Lines stay lines; characters that XML forbids are shown escaped. */
static void write_xml(Buf *out, Str text) {
    _cleanup_(buf_done) Buf shown = BUF_INIT(TEXT_MAX);
    Str line;

    for (bool is_first = true; str_split(&text, '\n', &line); is_first = false) {
        if (!is_first)
            buf_append_char(&shown, '\n');
        (void)visible_append(&shown, line);
    }
    for (size_t i = 0; i < shown.len; i++) {
        char c = shown.data[i];

        buf_append(out, c == '<'   ? STR("&lt;")
                        : c == '>' ? STR("&gt;")
                        : c == '&' ? STR("&amp;")
                        : c == '"' ? STR("&quot;")
                                   : str_of(&shown.data[i], 1));
    }
}

static void write_attribute(Buf *out, const char *name, Str value) {
    buf_printf(out, " %s=\"", name);
    write_xml(out, value);
    buf_append_char(out, '"');
}

/* An element of a testcase: a failure, or an error. */
static void write_problem(Buf *out, const char *kind, size_t n, const char *what, Str text) {
    buf_printf(out, ">\n      <%s message=\"%zu %s%s\">", kind, n, what, plural(n));
    write_xml(out, text);
    buf_printf(out, "</%s>\n    </testcase>\n", kind);
}

static void write_case(Buf *out, const Suite *suite, const SuiteCase *test) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);

    buf_append(out, STR("    <testcase"));
    write_attribute(out, "name", test->name);
    write_attribute(out, "classname", suite->file);
    write_attribute(out, "file", suite->file);
    buf_printf(out, " line=\"%zu\"", test->place.line);
    print_failures(suite, test, /* colour= */ false, &text);
    if (test->failures.n == 0)
        buf_append(out, STR("/>\n"));
    else
        write_problem(out, "failure", test->failures.n, "failed expectation", buf_str(&text));
}

static void write_counts(Buf *out, size_t n_tests, size_t n_failed, size_t n_errors) {
    buf_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n", n_tests + n_errors,
        n_failed, n_errors);
}

static void write_suite(Buf *out, const SuiteResult *result) {
    const Suite *suite = &result->suite;
    size_t n_errors = result->diags.n_errors > 0 ? 1 : 0;
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);

    buf_append(out, STR("  <testsuite"));
    write_attribute(out, "name", suite->file);
    write_counts(out, suite->n_cases, suite->n_failed, n_errors);
    for (size_t i = 0; i < suite->n_cases; i++)
        write_case(out, suite, &suite->cases[i]);
    if (n_errors > 0) {
        buf_append(out, STR("    <testcase name=\"the file can be read\""));
        write_attribute(out, "classname", suite->file);
        diag_list_print(&result->diags, /* colour= */ false, &text);
        write_problem(out, "error", result->diags.n_errors, "error", buf_str(&text));
    }
    buf_append(out, STR("  </testsuite>\n"));
}

void suite_report_junit(SuiteReport *report) {
    Totals totals = totals_of(report);

    buf_append(report->out,
        STR("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"berth test\""));
    write_counts(report->out, totals.n_cases, totals.n_failed, totals.n_errors);
    for (size_t i = 0; i < report->n; i++)
        write_suite(report->out, &report->items[i]);
    buf_append(report->out, STR("</testsuites>\n"));
}
