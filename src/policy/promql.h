#pragma once

/*
 * Promql: the series, functions and labels of queries that give the load of a node, as data.
 *
 * For metric-guess.c, which follows what a query does to them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define PROMQL_PROBES 2

enum { PROMQL_OF_CPU = 1, PROMQL_OF_MEMORY = 2 };

typedef enum PromqlAggregate {
    AGG_AVG = 1,
    AGG_SUM = 2,
    AGG_MAX = 4,
    AGG_MIN = 8,
    AGG_ANY = 15,
} PromqlAggregate;

/* Two nodes: of 8 cores 6 are used, of 16 bytes 10; and of 10 cores 3, of 8 bytes 1. */
typedef struct PromqlUsed {
    double amount[PROMQL_PROBES], share[PROMQL_PROBES];
} PromqlUsed;
extern const PromqlUsed promql_used_cpu, promql_used_memory;

typedef struct PromqlSeries {
    const char *name;
    uint8_t resource;         /* 0: a join, whose value is 1 */
    double at[PROMQL_PROBES]; /* per core: of each */
    bool is_counter;          /* says something as a rate only */
    bool is_idle;             /* one for each core and mode: with mode="idle", as a mean */
    uint8_t first, then; /* Aggregates that keep its meaning: of the series, of what they gave */
    int64_t range_nsec;  /* recorded rules: over which they average */
} PromqlSeries;

/* The one with that name; NULL: nobody knows it. */
const PromqlSeries *promql_series(Str name);

typedef enum PromqlFunctionKind {
    FUNCTION_RATE,
    FUNCTION_IRATE, /* of the last two samples, whatever its range */
    FUNCTION_KEEPS, /* the value of its first argument, or its mean */
    FUNCTION_AGGREGATES,
} PromqlFunctionKind;

typedef struct PromqlFunction {
    const char *name;
    PromqlFunctionKind kind;
    PromqlAggregate aggregate;
} PromqlFunction;

/* NULL: nobody knows it, or it gives something else. */
const PromqlFunction *promql_function(Str name);

/* A condition on a label: label="value", !=, =~ or !~. */
typedef struct PromqlMatcher {
    Str label, op, value;
} PromqlMatcher;

/* Whether no node and no pod is left out by it. */
bool promql_keeps_all(const PromqlMatcher *matcher);
