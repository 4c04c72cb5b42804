#pragma once

/*
 * Suite: a file of policy tests, read and run.
 *
 *     policies: ../policies                  # files and folders, from the folder of this file
 *                                            # and, or instead, whole PlacementPolicy objects
 *     cluster: cluster.yaml                  # files as kubectl writes them; and, or instead:
 *     nodes: {a: {labels: {pool: x}}}        # short forms (policy/short-objects.h)
 *     pods: [{on: a, requests: {cpu: 1}}]
 *     objects: [{kind: Namespace, ...}]      # whole objects
 *     metrics: {load: {a: 0.5}}              # by metric, by node; or a file of metric values
 *     workloads: {podCpu: {default/Deployment/web: 1.5}}
 *     age: 10s                               # of the metrics
 *     now: 2026-01-31T20:00:00Z
 *     cases:
 *       - name: small pods stay out of the pool
 *         pod: {requests: {cpu: 100m}}       # or {file: web.yaml, name: Deployment/web},
 *                                            # a whole object, or NAMESPACE/NAME in the cluster
 *         expect:
 *           nodes:                           # verdicts; "*": every node that is not named
 *             a: passes                      # or narrowed, or rejected
 *             b: {rule: pool, reason: node is not in the pool, detail: label pool is absent}
 *           observed: {a: rejected}          # verdicts of policies in mode Observe
 *           best: a                          # nodes with the highest score: one, or a list of all
 *           ranking: [a, c]                  # each is better than the next
 *           scores: {a: 33.3, c: [10, 20]}   # to the decimals that are written; or a range
 *
 * A case may have each field of the file, in place of the file's. A time that is not given is
 * always the same, so that tests do not depend on the day.
 *
 * Cases are evaluated by extender_explain(), as the daemon and `berth explain` do.
 */

#include "base/diag.h"
#include "base/vec.h"
#include "extender/explain.h"
#include "input/zones.h"

#define SUITE_NOW INT64_C(1767225600) /* 2026-01-01T00:00:00Z */
#define SUITE_POLICIES_MAX 16u        /* paths and policies, of a file or a case */
#define SUITE_CASES_MAX 10000u        /* of one file */

/* An expectation that does not hold. */
typedef struct SuiteFailure {
    Place place;  /* of the expected value */
    Str subject;  /* "node a", "best" */
    Str expected; /* its first line, as written */
    Str got;
    Str right; /* YAML that would hold, for all bytes of @place; empty: the value has several lines,
                  or there is no such text */
} SuiteFailure;

typedef struct SuiteCase {
    Str name;
    Place place;
    VEC(SuiteFailure) failures;
} SuiteCase;

typedef struct Suite {
    Str file;
    Str text;   /* all of it */
    Str source; /* the same without a byte order mark; places refer to it */
    SuiteCase *cases;
    size_t n_cases;
    size_t n_failed; /* cases */
} Suite;

enum {
    _SUITE_E_SUCCESS,
    SUITE_E_INVALID,    /* the file, or one that it names, has mistakes */
    SUITE_E_UNREADABLE, /* it cannot be read */
};

/* A case as it was evaluated; valid until the visit returns. */
typedef struct SuiteDecision {
    const SuiteCase *test;
    bool has_own_policies; /* not those of the file */
    const View *view;
    int64_t now_nsec;
    const Pod *pod;
    const Explanation *explanation;
} SuiteDecision;

/* Returns 0, or a negative errno. */
typedef int (*SuiteVisit)(void *context, const SuiteDecision *decision);

/* Runs all cases of the file at @path; @visit sees each. @ret, with the cases before a mistake too,
 * is in @arena. 0, also when cases fail; one of the above with errors in @diags; -ENOMEM, or the
 * error of @visit. */
int suite_run(const char *path, const Zones *zones, SuiteVisit visit, void *context, Arena *arena,
    DiagList *diags, Suite *ret) MUST_CHECK;

/* Prints a failure as a message at its place, with the line of the file. */
void suite_failure_print(const Suite *suite, const SuiteFailure *failure, bool colour, Buf *out);

/* Writes the file's text with each wrong value replaced by berth's answer; all other bytes stay.
 * @ret_n: how many were replaced. 0; SUITE_E_INVALID: the result would be no YAML; or -ENOMEM. */
int suite_update(const Suite *suite, Arena *arena, Buf *out, size_t *ret_n) MUST_CHECK;
