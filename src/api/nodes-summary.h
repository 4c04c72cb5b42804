#pragma once

/*
 * NodesSummary: nodes as columns, for the heat grid and for pages.
 *
 * For each node its allocatable and requested amounts, measurements, and how often berth rejected
 * it in the history. A column is something that can be coloured: used.cpu, used.memory, used.pods,
 * rejected, and one for each metric of the policies, as many as there is room for.
 */

#include "base/arena.h"

typedef struct ApiContext ApiContext;

#define NODES_SUMMARY_COLUMNS_MAX 24u
#define NODES_SUMMARY_DECISIONS_MAX 2000u /* filters that "rejected" counts, the newest */

typedef struct NodeColumn {
    Str name;             /* "used.cpu", "rejected", "metrics.load" */
    Str label;            /* "cpu requested" */
    bool is_share;        /* 0..1 of something; else the largest value is the whole */
    double highest;       /* of all nodes; NaN: none is known */
    const double *values; /* by place; NaN: not known */
} NodeColumn;

typedef struct NodesSummary {
    const Str *names; /* sorted: numbers within names by value (n9 before n10) */
    const uint32_t *rows;
    const uint8_t *is_ready, *is_cordoned; /* by place */
    size_t n;
    NodeColumn columns[NODES_SUMMARY_COLUMNS_MAX];
    size_t n_columns;
    size_t n_decisions; /* that "rejected" counts */
} NodesSummary;

/* The column with this name; NULL: there is none. */
const NodeColumn *nodes_summary_column(const NodesSummary *summary, Str name);

/* Summarizes the view in force, in @arena. 0, or -ENOMEM. */
int nodes_summary_make(ApiContext *api, Arena *arena, NodesSummary *ret) MUST_CHECK;
