#pragma once

/* Shared by the files of `berth explain`. */

#include "bundle/bundle.h"
#include "cli/policy-files.h"
#include "cli/replicas.h"
#include "cli/terminal.h"
#include "commands/counting-rules.h"
#include "extender/explain.h"
#include "extender/score.h"
#include "input/workload.h"
#include "input/zones.h"
#include "json/fields.h"

/*
 * ExplainPrinter: prints an explanation as a table (explain-table.c), for one node, rule by rule
 * (explain-node.c), or as JSON (explain-json.c). explain-print.c has what these share.
 */

#define EXPLAIN_MEMORY_FOR "the details of a rejection"
#define BEST_SHOWN 10u /* nodes in a table, without --all */
#define NAME_COLUMNS_MAX 60u

typedef struct ExplainPrinter {
    const Explanation *explanation;
    const Pod *pod;
    int64_t now_nsec;
    int64_t weight;  /* the extender's weight in kube-scheduler */
    BindWiring bind; /* of the berth that decided; else BIND_UNKNOWN */
    bool all;        /* every node, not only examples */
    bool colour;
    Paint paint;
    Arena *scratch; /* reset again and again; without memory the process ends */
    Buf *out;
} ExplainPrinter;

/* The width of a column of names that was @columns wide, with @name; at most NAME_COLUMNS_MAX. */
size_t explain_name_columns(size_t columns, Str name);

/* Prints "  requests cpu 2, memory 1Gi"; prints the lines about policies. */
void explain_print_requests(ExplainPrinter *printer);
void explain_print_policies(ExplainPrinter *printer);

/* Prints the best of the nodes that pass, and the others by the rules they fail; prints how many
 * there are of both. */
void explain_print_nodes(ExplainPrinter *printer);
void explain_print_summary(ExplainPrinter *printer);

/* Prints everything about one node. */
void explain_print_one(ExplainPrinter *printer, const NodeExplanation *node);

/* How @filter failed on @node; NULL: it did not. */
const FailedRule *explain_failed_rule(const NodeExplanation *node, const Filter *filter);

/* "allow" or "reject": how a node counted for which the filter had an error. */
Str explain_fallback(const RuleErrors *errors);

/* The node of this name; NULL: none. */
const NodeExplanation *explain_print_find(const ExplainPrinter *printer, Str name);

/* Writes the whole explanation; docs/policy.md has the schema. @only: this node; NULL: all. */
void explain_print_json(ExplainPrinter *printer, const NodeExplanation *only, JsonWriter *writer);

/* Prints "node.free.cpu = 500m, pod.requests.cpu = 2". */
void explain_print_values(ExplainPrinter *printer, const CelLeaf *values, size_t n);

/* Prints the reason in a few words: the rule's message, or the values that led to it. */
void explain_print_why(
    ExplainPrinter *printer, const FailedRule *failed, const FailureDetails *details);

/* Prints a line "needs 500m more cpu free on the node"; nothing if it is not known. */
void explain_print_needs(
    ExplainPrinter *printer, const FailureDetails *details, const char *indent);

/* The details of a failure, in the scratch arena (reset first): valid until the next call. */
const FailureDetails *explain_print_details(
    ExplainPrinter *printer, const NodeExplanation *node, const FailedRule *failed);

/* Prints one line about the share of berth's scores in kube-scheduler's total. */
void explain_print_share(ExplainPrinter *printer);

#define EXPLAIN_BUDGET ((size_t)2 * 1024 * 1024 * 1024)
#define EXPLAIN_TEXT_MAX ((size_t)512 * 1024 * 1024)

/* Prints a row per pod template of a file, of which the user can choose one for the full text. */
void explain_workloads(
    const View *view, const WorkloadList *list, int64_t now_nsec, OutputForm form);

/*
 * BundleCase: a past decision of a bundle (bundle/bundle.h), replayed in full: the newest filter
 * about the pod, on the cluster as it was then, with the policies of the bundle or with others.
 */

typedef struct BundleCase {
    Bundle bundle;
    View *view; /* the data that the explanation points into */
    Pod pod;
    Explanation explanation;
} BundleCase;

void bundle_case_done(BundleCase *found); /* may be zeroed */

/* Replays @decision of found->bundle with @program, for @nodes, or for all nodes if NULL
 * (replay/replayed-decision.h). @found points into @arena. 0, or an error of
 * replayed_decision_explain(). */
int bundle_case_explain(BundleCase *found, const RecordedDecision *decision, Program *program,
    const Str *nodes, size_t n_nodes, const Zones *zones, Arena *arena) MUST_CHECK;

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
    int64_t weight; /* the extender's weight in kube-scheduler */
} ExplainLastOptions;

/* Queries the replicas and prints. If that fails, the process ends. */
void explain_last(ExplainLastOptions *options);

/* Queries @replicas, and appends the explanation to @out. On failure returns false, with the reason
 * in @error (BERTH_CLIENT_ERROR_MAX). @has_colour is for the table. */
bool explain_last_write(const ExplainLastOptions *options, const Replicas *replicas,
    bool has_colour, Buf *out, char *error) MUST_CHECK;

/*
 * ApiDecision: a decision of /api/v1/decisions, read back.
 *
 * docs/api.md has the fields. Unknown ones are skipped.
 */

/* A rule, and the number of nodes with each result. */
typedef struct ApiRule {
    Str policy, name, reason;
    bool is_unresolvable;
    int64_t rejected, observed, failed, missing;
} ApiRule;

typedef struct ApiNode {
    Str name, outcome;
    ApiRule rule;
    int64_t score; /* of prioritize; -1: none */
    int64_t rank;  /* 0: none */
    Str raw;       /* as JSON */
} ApiNode;

/* berth's own nomination of the pod. */
typedef struct ApiNomination {
    Str uid, node, time, text;
    int64_t feasible, best;
    Str raw; /* as JSON; empty: there is none */
} ApiNomination;

typedef VEC(ApiNode) ApiNodes;

/* One decision; id 0: none. */
typedef struct ApiDecision {
    int64_t id;
    size_t replica; /* the index in Replicas of the one that made it */
    Str time, error, target, policy_digest, uid;
    Str nominated; /* the only candidate, because of status.nominatedNodeName; empty: not so */
    int64_t generation;
    double duration; /* seconds; below 0: not known */
    int64_t known, asked, passed, unknown, narrowed, late, unjudged;
    bool is_exempt;  /* no policy applies to the pod */
    Str main_reason; /* why no node passed, with counts; empty: not known, or one did */
    bool has_nodes;
    ApiRule *rules;
    size_t n_rules;
    ApiNodes nodes;
    Str raw;      /* its first page, as JSON; empty: not read */
    int64_t next; /* the start of the next page of nodes; 0: none */
} ApiDecision;

/* Reads the next value into @target, an ApiDecision. Called again for the next page of the same
 * decision, it adds the nodes of that page. Errors are set in the reader. */
JsonRead api_decision_decode;

/* A page of /api/v1/decisions: its last decision, and the pod's nomination. */
typedef struct ApiPage {
    ApiDecision decision;
    ApiNomination nomination;
} ApiPage;

/* Reads the whole document. Errors are set in the reader. */
void api_page_decode(JsonReader *reader, Arena *arena, ApiPage *page);

/* When the decision was made, in nanoseconds since 1970; 0: not known. */
int64_t api_decision_time(const ApiDecision *decision);

/*
 * PodDecisions: the last decisions about one pod, from filter to bind, while they are looked up.
 * With a replay of the filter they are printed as by `berth explain`: values, limits, parts of
 * scores.
 */

typedef struct PodDecisions {
    const ExplainLastOptions *options;
    const Replicas *replicas;
    bool is_silent[REPLICAS_MAX];          /* it did not answer, which was reported */
    ApiDecision filter;                    /* id 0: there is only a nomination */
    ApiNomination nomination;              /* the newest */
    ApiDecision prioritize, preempt, bind; /* what followed it; id 0: nothing did */
    BundleCase found;                      /* the filter, replayed here; no view: it was not */
    ExplainPrinter *printer;               /* of the replay; NULL: there is none */
    char obstacle[BERTH_CLIENT_ERROR_MAX]; /* why there is no replay; empty: not known */
    char error[BERTH_CLIENT_ERROR_MAX];
    Arena *arena;
} PodDecisions;

void pod_decisions_print(const PodDecisions *decisions, Buf *out);
