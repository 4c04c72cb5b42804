#pragma once

/*
 * Check: one named question about an installation, with a code that never changes its meaning.
 *
 *     berth
 *     -----
 *     ✓ every berth answers                                           B201
 *     ‼ berth's certificate is valid for 30 days                      B206
 *         https://10.0.0.7:8443: it expires in 12 days
 *         fix: berth certs --renew DIR   # or renew it where it was issued
 *
 * A check is a pure function of the InstallationFacts. Codes are documented in
 * docs/troubleshooting.md, one heading each; one that is retired is never used again.
 */

#include "checkup/facts.h"

typedef enum CheckState {
    CHECK_PASSED,  /* ✓ */
    CHECK_WARNED,  /* ‼ works, but needs attention */
    CHECK_FAILED,  /* × */
    CHECK_SKIPPED, /* unknown, or does not apply: the cause is the reason */
} CheckState;

typedef enum CheckGroup {
    CHECK_SCHEDULER,    /* B1xx: kube-scheduler's configuration */
    CHECK_BERTH,        /* B2xx: the berths that run */
    CHECK_RIGHTS,       /* B3xx: RBAC */
    CHECK_CLUSTER,      /* B4xx: the cluster as berth sees it, clocks */
    CHECK_POLICIES,     /* B5xx: policies and their metrics */
    CHECK_INSTALLATION, /* B6xx: pods, replicas, bypass */
    _CHECK_GROUPS,
} CheckGroup;

const char *check_group_name(CheckGroup group); /* "scheduler", …: what --only takes */

/* The result. Strings live in the arena. */
typedef struct Finding {
    CheckState state;
    Str cause; /* lines; empty when passed and there is nothing to add */
    Str fix;   /* a command or a line of configuration; empty when passed */
} Finding;

/* The subjects of a check: all facts at once, or each of these. */
typedef enum CheckScope {
    SCOPE_ALL,
    SCOPE_ENTRIES,        /* entries for berth in configurations of kube-scheduler */
    SCOPE_HTTPS,          /* of these, those with HTTPS */
    SCOPE_CLIENTS,        /* the same, if a berth requires client certificates */
    SCOPE_BERTHS,         /* that could be reached */
    SCOPE_OUTSIDE,        /* of these, those that are not on loopback */
    SCOPE_WATCHERS,       /* of these, those that know the cluster */
    SCOPE_OTHERS,         /* all but the first berth, to be compared with it */
    SCOPE_OTHER_WATCHERS, /* the same, of berths that know the cluster */
    SCOPE_PODS,           /* of berth */
} CheckScope;

typedef struct CheckSubject CheckSubject; /* verdict.h */
typedef struct Verdict Verdict;

typedef struct Check {
    const char *code;    /* "B102" */
    CheckGroup group;    /* CHECK_SCHEDULER: a configuration file alone is enough */
    const char *title;   /* a statement that is true when it passes */
    const char *meaning; /* what a failure means to you */
    CheckScope scope;
    void (*judge)(const CheckSubject *at, Verdict *verdict);
} Check;

/* All checks, in the order in which they are shown. */
extern const Check checks[];
extern const size_t n_checks;

typedef struct Checkup {
    const Check **checks; /* those that were chosen */
    Finding *findings;    /* one each */
    size_t n;
} Checkup;

#define CHECKUP_ONLY_MAX 64u

/* Runs the checks that @only names (groups or codes; none: all). Offline, checks that need more
 * than a configuration are left out; one that @only names is skipped, with the reason. 0; -EINVAL
 * with *ret_unknown set to an unknown name; or -ENOMEM. */
int checkup_run(const InstallationFacts *facts, const Str *only, size_t n_only, Arena *arena,
    Checkup *ret, Str *ret_unknown);

/* The worst state, skipped checks aside; CHECK_SKIPPED if all were skipped: nothing is known. */
CheckState checkup_state(const Checkup *checkup);

const char *check_state_name(CheckState state); /* "passed", "warned", "failed", "skipped" */

/* The number of checks with this result. */
size_t checkup_count(const Checkup *checkup, CheckState state);

/* Prints the findings as above, and a line of counts. @is_ascii: for terminals without other
 * characters: "ok", "!", "x". */
void checkup_print(const Checkup *checkup, bool has_colour, bool is_ascii, Buf *out);

/* {"state", "counts": {"passed", "warned", "failed", "skipped"}, "checks": [{"code", "group",
 * "title", "state", "cause", "fix", "hint"}]}, and a newline; hint: where it is explained. */
void checkup_print_json(const Checkup *checkup, Buf *out);

/* Prints all checks as rows of a Markdown table: code, group, title, meaning. */
void checkup_print_codes(Buf *out);
