#pragma once

/*
 * ExplainPrinter: prints an explanation as a table, for one node, or as JSON.
 *
 *     explain-table.c     the best nodes, and the others by what they fail
 *     explain-node.c      one node, rule by rule
 *     explain-json.c      all of it for programs
 *     explain-printer.c   what these share
 */

#include "cli/terminal.h"
#include "commands/counting-rules.h"
#include "extender/explain.h"
#include "json/write.h"

typedef struct ExplainPrinter {
    const Explanation *explanation;
    const Pod *pod;
    int64_t now_nsec;
    int64_t weight;  /* kube-scheduler's for this extender */
    BindWiring bind; /* of the berth that decided; not known without one */
    bool all;        /* every node, not only examples */
    bool colour;
    Paint paint;
    Arena *scratch; /* reset again and again */
    Buf *out;
    int error; /* -ENOMEM */
} ExplainPrinter;

/* The pod, and which policies are for it. */
void explain_print_head(ExplainPrinter *printer);

/* "  requests cpu 2, memory 1Gi"; the lines about policies. */
void explain_print_asks(ExplainPrinter *printer);
void explain_print_policies(ExplainPrinter *printer);

/* Grouped and counted. */
void explain_print_table(ExplainPrinter *printer);

/* Its nodes: the best of those that pass, and the others by the rules they fail. */
void explain_print_nodes(ExplainPrinter *printer);

/* Everything about one node. */
void explain_print_node(ExplainPrinter *printer, const NodeExplanation *node);

/* Of it all but the head. */
void explain_print_one(ExplainPrinter *printer, const NodeExplanation *node);

/* The node of this name; NULL: none. */
const NodeExplanation *explain_print_find(const ExplainPrinter *printer, Str name);

/* docs/policy.md has the schema. @only: this node alone; NULL: all. */
void explain_print_json(ExplainPrinter *printer, const NodeExplanation *only);

/* The same as a value of something larger. */
void explain_print_json_value(
    ExplainPrinter *printer, const NodeExplanation *only, JsonWriter *writer);

/* --- what table and node share ------------------------------------------------------------ */

/* 4,203 */
void explain_print_count(ExplainPrinter *printer, uint64_t n);

/* "node.free.cpu = 500m, pod.requests.cpu = 2" */
void explain_print_values(ExplainPrinter *printer, const CelLeaf *values, size_t n);

/* Why, in a few words: the rule's message, or the values that led to it. */
void explain_print_why(
    ExplainPrinter *printer, const FailedRule *failed, const FailureDetails *details);

/* A line "needs 500m more cpu free on the node"; nothing when it is not known. */
void explain_print_needs(
    ExplainPrinter *printer, const FailureDetails *details, const char *indent);

/* The details of a failure, in the scratch arena, which is emptied first. */
const FailureDetails *explain_print_details(
    ExplainPrinter *printer, const NodeExplanation *node, const FailedRule *failed);

/* The points that kube-scheduler adds for @wire. */
int64_t explain_print_points(const ExplainPrinter *printer, unsigned wire);

/* One line about the share of berth's scores in kube-scheduler's total. */
void explain_print_share(ExplainPrinter *printer);
