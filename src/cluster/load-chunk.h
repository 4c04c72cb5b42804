#pragma once

/*
 * LoadChunk: the numbers of CHUNK_ROWS rows while they are made. For loads.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/loads.h"
#include "cluster/placements.h"

/* What all chunks are made of. */
typedef struct LoadBuild {
    const LoadsInput *input;
    const NodeTable *table;
    const KnownLoads *known; /* of the same gauges; NULL: none */
    Placements *placements;  /* by gauge */
} LoadBuild;

/* On the heap, with one reference, or in @arena, and then not counted. Columns are not set. NULL
 * when out of memory. */
LoadChunk *load_chunk_new(Arena *arena, size_t n_gauges, bool is_counted) MUST_CHECK;
const LoadChunk *load_chunk_ref(const LoadChunk *chunk);
void load_chunk_unref(const LoadChunk *chunk); /* of the heap only */

/* The numbers of chunk @i of the table, all gauges. @before: those that are known of the chunk in
 * the same place; NULL: none. */
void load_chunk_fill(const LoadBuild *build, size_t i, const LoadChunk *before, LoadChunk *into);

/* When it was measured; 0: absent. */
int64_t load_chunk_time(const LoadChunk *chunk, size_t gauge, size_t slot);

static inline int64_t load_earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* When something that was true at @since is too old: just after it has reached @max_age. */
int64_t load_end(int64_t since_nsec, int64_t max_age_nsec);

/* By which gauge placements of gauge @i are counted; SIZE_MAX: none. */
size_t load_by_gauge(const LoadsInput *input, size_t i);
