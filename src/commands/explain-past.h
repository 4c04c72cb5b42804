#pragma once

/*
 * berth explain --bundle: a decision of the past in full, of a file (bundle/bundle.h).
 *
 * The newest filter about the pod is made again on the cluster as it was then, with the policies of
 * the bundle or with others.
 */

#include "bundle/bundle.h"
#include "cli/policy-files.h"
#include "cli/server-source.h"
#include "cli/terminal.h"
#include "extender/explain.h"
#include "input/zones.h"

typedef struct BundleCase {
    Bundle bundle;
    View *view; /* the data that the explanation points into */
    Pod pod;
    Explanation explanation;
    int64_t now_nsec; /* when it was decided */
    uint64_t id;
} BundleCase;

void bundle_case_done(BundleCase *found); /* takes a zeroed one */

/* Makes @decision, which is of found->bundle, again with @program; about @nodes only, or NULL: all
 * of the cluster (replay/replayed-decision.h). 0, or an error of replayed_decision_explain(). */
int bundle_case_explain(BundleCase *found, const RecordedDecision *decision, Program *program,
    const Str *nodes, size_t n_nodes, const Zones *zones, Arena *arena) MUST_CHECK;

/* @name is NAMESPACE/NAME; @policies are other ones, none: the bundle's. Everything else is in
 * @arena. 0; or an exit code, after complaining. */
int explain_bundle(const char *bundle, const char *name, const PolicyPaths *policies,
    const Zones *zones, Arena *arena, BundleCase *ret) MUST_CHECK;

/*
 * berth explain --last: the last decisions of a running berth about a pod (/api/v1/decisions): the
 * newest filter, and the prioritize, preempt and bind after it. If the inputs of the filter are
 * still kept, it is replayed and explained in full.
 */

typedef struct ExplainLastOptions {
    const char *pod; /* NAMESPACE/NAME; NULL: not given */
    ServerSource source;
    const char *node; /* only this one; NULL: all */
    bool all;         /* every node, not only the best */
    OutputForm form;
    int64_t weight; /* kube-scheduler's for this extender */
} ExplainLastOptions;

/* Asks and prints; the exit code. */
int explain_last(const ExplainLastOptions *options);

/* Asks, and appends the explanation to @out. 0, or an exit code after complaining or with the
 * reason in @error (BERTH_CLIENT_ERROR_MAX). @has_colour: of the table. */
int explain_last_write(const ExplainLastOptions *options, bool has_colour, Buf *out, char *error)
    MUST_CHECK;
