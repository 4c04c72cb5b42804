#pragma once

/*
 * Shared by promql-*.c: the series, functions and labels of queries that return the load of a node,
 * as data; and a lexer.
 */

#include "policy/promql.h"

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
    bool is_counter;          /* must be used as a rate */
    bool is_idle;             /* one for each core and mode: with mode="idle", as a mean */
    uint8_t first, then; /* Aggregates that keep its meaning: of the series, of what they gave */
    int64_t range_nsec;  /* recorded rules: over which they average */
} PromqlSeries;

/* NULL: unknown. */
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

/* NULL: unknown, or not a load. */
const PromqlFunction *promql_function(Str name);

/* A condition on a label: label="value", !=, =~ or !~. */
typedef struct PromqlMatcher {
    Str label, op, value;
} PromqlMatcher;

/* Whether it keeps all nodes and pods. */
bool promql_keeps_all(const PromqlMatcher *matcher);

/* --- the lexer: each function cuts what it has read off the front of the text ------------------
 */

bool promql_is_letter(char c); /* of a name: also '_' and ':' */
bool promql_is_quote(char c);

/* The first @n bytes. */
Str promql_cut(Str *text, size_t n);

/* Spaces, and comments to the end of the line. */
void promql_skip_space(Str *text);

/* A name of a series, a label, a function; empty: there is none. */
Str promql_cut_word(Str *text);

/* A string literal, which begins there, without its quotes. False: it does not end. */
bool promql_cut_string(Str *text, Str *ret);

/* A list of labels in parentheses, which begins there. False: it does not end. */
bool promql_skip_labels(Str *text);

/* label="value" and its like. False: there is none. */
bool promql_cut_matcher(Str *text, PromqlMatcher *ret);
