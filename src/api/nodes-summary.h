#pragma once

/*
 * NodesSummary: nodes as columns, for the heat grid and for pages.
 *
 * For each node its allocatable and requested amounts, measurements, and how often berth rejected
 * it in the history. A column is a value that can be shown as a colour: used.cpu, used.memory,
 * used.pods, rejected, and one for each metric of policies, while there is room.
 */

#include "base/arena.h"

typedef struct ApiContext ApiContext;

#define NODES_SUMMARY_COLUMNS_MAX 24u
#define NODES_SUMMARY_DECISIONS_MAX 2000u /* newest filters counted in "rejected" */

typedef struct NodeColumn {
    Str name;             /* "used.cpu", "rejected", "metrics.load" */
    Str label;            /* "cpu requested" */
    bool is_share;        /* a fraction 0..1; else the largest value is the scale */
    double highest;       /* of all nodes; NaN: all are unknown */
    const double *values; /* by index of the node; NaN: unknown */
} NodeColumn;

typedef struct NodesSummary {
    const Str *names; /* sorted; numbers in names by value (n9 before n10) */
    const uint32_t *rows;
    const uint8_t *is_ready, *is_cordoned; /* by index, like names and rows */
    size_t n;
    NodeColumn columns[NODES_SUMMARY_COLUMNS_MAX];
    size_t n_columns;
    size_t n_decisions; /* counted in "rejected" */
} NodesSummary;

/* The column with this name; NULL: there is none. */
const NodeColumn *nodes_summary_column(const NodesSummary *summary, Str name);

/* Summarizes the view in force, in @arena. 0, or -ENOMEM. */
int nodes_summary_make(ApiContext *api, Arena *arena, NodesSummary *ret) MUST_CHECK;
