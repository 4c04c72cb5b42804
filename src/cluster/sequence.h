#pragma once

/*
 * NameSequence: the names of long requests in their order, as one text.
 *
 * A large cluster's requests bring mostly the same names in the same order, all or some of
 * them. Where a stretch of a request is byte for byte a stretch of the sequence, the rows of
 * all its names are known after one comparison; where some are left out, the next name is
 * not far. Like a hint (cluster/names.h) it is no state: what differs costs time, never
 * correctness.
 *
 * Threads: made by one, never changed, read from any.
 */

#include <stddef.h>
#include <stdint.h>

typedef struct NameHint NameHint;

#define SEQUENCE_NOWHERE UINT32_MAX

typedef struct NameSequence {
    struct NameSequence *earlier; /* what it was made of; somebody may still read it; or NULL */
    size_t n;
    const char *text;       /* each name as a JSON string behind a comma: ,"a","b" */
    const uint32_t *at;     /* by place: where its comma stands; the last is the end */
    const uint32_t *rows;   /* by place, each at most once */
    const uint32_t *places; /* by row, the unknown node included; or SEQUENCE_NOWHERE */
} NameSequence;

/* That of @earlier (NULL: none), and the nodes of @rows that it lacks, each behind the one that it
 * follows there. @hints has the names of @n_rows nodes and of the unknown one; who has no
 * literal is left out. One block, for free(); NULL when out of memory. */
NameSequence *sequence_new(
    const NameHint *hints, size_t n_rows, NameSequence *earlier, const uint32_t *rows, size_t n);

/* How many of @rows it lacks that sequence_new() would take in; one that comes twice counts
 * twice. */
size_t sequence_count_missing(
    const NameSequence *sequence, const NameHint *hints, const uint32_t *rows, size_t n);
