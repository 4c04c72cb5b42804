#pragma once

/*
 * Verdict: a Finding while it is being made. It begins as passed, and each call can only make
 * it worse.
 *
 *     if (str_is_empty(at->entry->filter_verb))
 *         verdict_fail(verdict, "filterVerb: filter", "%s: filterVerb is not set", at->where);
 *
 * Each call adds a line; lines over VERDICT_LINES_MAX are only counted. Running out of memory is
 * reported at the end.
 */

#include "checkup/check.h"

#define VERDICT_LINES_MAX 12u
#define VERDICT_LINE_MAX 2048u /* bytes; more is cut */
#define VERDICT_TEXT_MAX ((size_t)64 * 1024)

/* The subject of one judgement. The scope of the check decides which members are set; others are
 * NULL. */
struct CheckSubject {
    const InstallationFacts *facts;
    const SchedulerConfigFact *config;
    const ExtenderEntry *entry; /* berth's in config */
    const BerthFact *berth, *first;
    const PodFact *pod;
    char where[VERDICT_LINE_MAX]; /* "FILE:LINE" of the entry, the berth's URL, "NAMESPACE/NAME" */
    size_t next;                  /* index in the facts */
};

struct Verdict {
    CheckState state;
    Buf cause, fix;
    size_t n_causes, n_fixes; /* including those over the limit */
};

/* Adds a line, and makes the state at least as bad as @state. A note does not change it: it is
 * worth knowing even if the check passes. Skipped: the check cannot be decided or does not apply;
 * no effect after a warning or failure. @fix: as for verdict_fix(), or NULL. */
void verdict_add(Verdict *verdict, CheckState state, const char *fix, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define verdict_note(verdict, ...) verdict_add(verdict, CHECK_PASSED, NULL, __VA_ARGS__)
#define verdict_skip(verdict, ...) verdict_add(verdict, CHECK_SKIPPED, NULL, __VA_ARGS__)
#define verdict_warn(verdict, ...) verdict_add(verdict, CHECK_WARNED, __VA_ARGS__)
#define verdict_fail(verdict, ...) verdict_add(verdict, CHECK_FAILED, __VA_ARGS__)

/* Skips with the reason @otherwise unless @is_so; returns @is_so. */
bool verdict_expect(Verdict *verdict, bool is_so, const char *otherwise);

/* Adds @lines, such as diagnostics, as they are. Does not change the state. */
void verdict_quote(Verdict *verdict, Str lines);

/* Adds a command or a line of configuration that fixes it; an equal line is added once. */
void verdict_fix(Verdict *verdict, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs @check. 0, with texts in @arena; or -ENOMEM. */
int verdict_of(const Check *check, const InstallationFacts *facts, Arena *arena, Finding *ret);

/* DurationText: a length of time for users: "12 days", "3 hours", "40 s", "100 ms". */

#define DURATION_DAY_SEC 86400.0
#define DURATION_TEXT_MAX 32u

typedef struct DurationText {
    char text[DURATION_TEXT_MAX];
} DurationText;

/* The text for @sec seconds, without its sign. */
DurationText duration_text(double sec);

/* cert-manager renews certificates of 90 days when 30 are left; an earlier warning would be there
 * for a third of their life, with nothing wrong. */
#define LIFETIME_WARN_DAYS 30
#define LIFETIME_FAIL_DAYS 7

/* Reports on a certificate that expires in @sec seconds. False, without a report, if 0: unknown. */
bool lifetime_judge(const char *where, double sec, Verdict *verdict);

/*
 * Subjects: the facts that can be judged. A configuration that could not be read and a berth that
 * could not be reached have checks of their own (B101, B102, B201); all others pass over them, and
 * are skipped when nothing is left.
 */

bool config_is_readable(const SchedulerConfigFact *fact);

/* Advance @at, which starts with only @facts set, to the next subject; false: there is none. */
bool entry_next(CheckSubject *at);   /* an entry that lists berth */
bool reached_next(CheckSubject *at); /* a berth that could be reached */
bool pod_next(CheckSubject *at);     /* a pod of berth */

/* For each CheckSubject @at with an entry. */
#define FOR_EACH_ENTRY(at, facts_) for (CheckSubject at = {.facts = (facts_)}; entry_next(&(at));)

/* Whether there is one; if not, skips @verdict with the reason. So do other _expect functions. */
bool entry_expect(const InstallationFacts *facts, Verdict *verdict);

/* The next reachable berth after @berth, or the first if it is NULL; NULL: no more. */
const BerthFact *berth_next(const InstallationFacts *facts, const BerthFact *berth);
size_t berth_count(const InstallationFacts *facts);
bool berth_expect(const InstallationFacts *facts, Verdict *verdict);

/* For each reachable berth; the second skips the check if there is none. */
#define FOR_ALL_BERTHS(berth, facts)                                                               \
    for (const BerthFact *berth = NULL; ((berth) = berth_next(facts, berth));)
#define FOR_EACH_BERTH(berth, facts, verdict)                                                      \
    if (berth_expect(facts, verdict))                                                              \
        FOR_ALL_BERTHS (berth, facts)

/* The first reachable berth with @flag, a bool of BerthFact; NULL: none. */
#define BERTH_WITH(facts, flag) berth_with((facts), offsetof(BerthFact, flag))
const BerthFact *berth_with(const InstallationFacts *facts, size_t flag);

/* The first reachable berth that requires client certificates; NULL: none. */
const BerthFact *berth_with_client_ca(const InstallationFacts *facts);

bool pods_expect(const InstallationFacts *facts, Verdict *verdict);

/* Whether objects of the cluster could be read. */
bool cluster_expect(const InstallationFacts *facts, Verdict *verdict);

/* 36 for "v1.36.4"; -1: not a version of Kubernetes. */
int release_minor(Str version);

/* Seconds since the last request of a scheduler; INFINITY: none. */
double berth_last_request_sec(const BerthFact *berth);

/* Declares judge_NAME() of each row of list.h. */
#define CHECK(code, group, scope, name, title, meaning)                                            \
    void judge_##name(const CheckSubject *at, Verdict *verdict);
#include "checkup/list.h"
#undef CHECK
