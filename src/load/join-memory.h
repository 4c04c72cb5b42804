#pragma once

/*
 * JoinMemory: the last answer's values of the label, in order, and the rows they led to.
 *
 * SourceConnections give the same series in the same order, poll after poll: then a comparison is
 * all that a series costs, whatever way leads to its node. For the files of join.h only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/str.h"
#include "load/join-index.h"
#include "load/join-way.h"
#include "load/join.h"

/* Over these nothing is remembered. */
#define JOIN_MEMORY_SERIES_MAX 65536u
#define JOIN_MEMORY_BYTES_MAX ((size_t)4 * 1024 * 1024)

#define JOIN_ROW_FORGOTTEN (UINT32_MAX - 2u) /* ask the way */

typedef struct RememberedSeries {
    uint32_t at, len; /* of its value in the texts */
    uint32_t row;
} RememberedSeries;

struct JoinMemory {
    JoinIndex own;
    JoinIndex *index; /* that, or one that is shared */

    uint64_t key; /* of the gauge that this was learned for; 0: nothing was */
    char *label;
    size_t label_len;
    GaugeIdentity identity;
    bool has_cut_port;

    uint64_t labels;  /* of the series, as the caller tells them apart */
    uint64_t version; /* of the index that the rows are of */
    RememberedSeries *series;
    size_t n, size;
    char *texts;
    size_t texts_size;
};

/* What tells gauges apart that are joined otherwise; not 0. */
uint64_t join_memory_key(const Gauge *gauge);

/* The way that was taken last for a gauge of that key, if labels and nodes are the same as then.
 * False: they are not. */
bool join_memory_way(const JoinMemory *memory, uint64_t key, uint64_t labels, JoinWay *way);

/* Whether rows are those that @way would lead to now. */
bool join_memory_holds(const JoinMemory *memory, uint64_t key, const JoinWay *way);

/* Where series @i led, if its value was @value. For a memory that holds. */
static inline uint32_t join_memory_row(const JoinMemory *memory, size_t i, Str value) {
    const RememberedSeries *series;

    if (i >= memory->n)
        return JOIN_ROW_FORGOTTEN;
    series = &memory->series[i];
    if (series->len != value.len || !bytes_equal(memory->texts + series->at, value.ptr, value.len))
        return JOIN_ROW_FORGOTTEN;
    return series->row;
}

/* @way led the series of @vector to @rows. Out of memory it is not remembered. */
void join_memory_learn(JoinMemory *memory, uint64_t key, uint64_t labels, const JoinWay *way,
    const Vector *vector, const uint32_t *rows);
