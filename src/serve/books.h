#pragma once

/*
 * Books: what the daemon counts and remembers of its own doing.
 *
 * All of it is written on the way of a request or beside it and read by pages; none of it decides
 * anything. Each part has its own locks.
 */

#include <stdbool.h>
#include <stddef.h>

#include "history/callers.h"
#include "history/changes.h"
#include "history/decisions.h"
#include "monitor/latency.h"
#include "monitor/metrics.h"
#include "monitor/warnings.h"

typedef struct Books {
    Metrics *metrics;
    Warnings *warnings;
    Callers *callers;
    Changes *changes;
    Latency *latency;
    Decisions *decisions; /* NULL: none are remembered */
} Books;

/* Opens all; @n_decisions as in DaemonOptions. False when out of memory: books_done() all the same.
 */
bool books_open(Books *books, size_t n_decisions, size_t decisions_bytes) MUST_CHECK;
void books_done(Books *books); /* takes a zeroed one */
