#pragma once

/*
 * Lineup: the nodes of a request as numbers of a roll.
 *
 * Requests name the same few thousand nodes again and again, and know them by row. The rows of the
 * cluster's names are numbered once for each set of nodes; then a request's numbers are looked up.
 *
 * Threads: under the lock of its owner.
 */

#include <stddef.h>
#include <stdint.h>

#include "cluster/names.h"
#include "extender/wire.h"
#include "history/roll.h"

typedef struct Lineup {
    NodeNames *names; /* whose rows are numbered: a reference, so that no other gets its address */
    uint32_t *rows;   /* by row, the unknown node included, which is ROLL_NONE */
    size_t n_rows, rows_size;
    uint32_t *numbers; /* of one request, to be written over by the next */
    size_t numbers_size;
} Lineup;

void lineup_done(Lineup *lineup); /* takes a zeroed one */

/* Another roll comes: rows are to be numbered anew. */
void lineup_forget(Lineup *lineup);

/* The number in @roll, always the same one until lineup_forget(), of each node of @args. Names that
 * are not there are added. Valid until the next call; NULL when out of memory. */
const uint32_t *lineup_number(Lineup *lineup, Roll *roll, const FilterArgs *args);
