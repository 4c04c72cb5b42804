#pragma once

/* Results of berth test: for people, for programs, and for CI servers. */

#include "base/diag.h"
#include "cli/terminal.h"
#include "suite/coverage.h"
#include "suite/suite.h"

/* One test file. */
typedef struct SuiteResult {
    Suite suite;
    DiagList diags; /* errors: the file, or one that it names, has mistakes */
    bool is_unreadable;
} SuiteResult;

typedef struct SuiteReport {
    SuiteResult *items;
    size_t n;
    const Coverage *coverage;
    bool colour;
    Paint paint;
    Buf *out;
} SuiteReport;

/* Rules that no case exercises. */
size_t suite_report_gaps(const SuiteReport *report);

/* A line for each case, the expectations that failed, and a summary. Errors are in it, too. */
void suite_report_table(SuiteReport *report);

/* {"files": [{"file", "errors": [TEXT], "cases": [{"name", "line", "passed", "failures": [{"line",
 * "column", "subject", "expected", "got"}]}]}], "cases", "failed", "errors", "rules": [{"file",
 * "policy", "rule", "type", "exercised", "gap"}]} */
void suite_report_json(SuiteReport *report);

/* JUnit's XML: a testsuite for each file, an error for one with mistakes. */
void suite_report_junit(SuiteReport *report);
