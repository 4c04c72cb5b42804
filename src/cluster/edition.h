#pragma once

/*
 * Edition: the next snapshot, of the last one and the rows that changed since.
 *
 * Chunks without a change, names and words are taken over as they are. A change of columns
 * (cluster/vocabulary.h) makes every chunk anew.
 */

#include <stddef.h>

#include "cluster/rows.h"
#include "cluster/snapshot.h"

/* Taint sets that no row has any more are kept, for their numbers, until there are more
 * than this beside twice those in use. */
#define EDITION_TAINT_SETS_SPARE 64u

/* Pods that a table lists beside those of its rows; records. */
typedef struct Waiting {
    const Pod *const *nominated; /* at most TABLE_NOMINATED_MAX */
    size_t n_nominated;
    const Pod *const *assumed;
    size_t n_assumed;
} Waiting;

/* @before NULL: the first; then every row that is taken must be marked as changed. Leaves @rows as
 * it is. @ret_copied: how many chunks were made. 0, or -ENOMEM. */
int edition_make(const Rows *rows, const Snapshot *before, const Waiting *waiting, Snapshot **ret,
    size_t *ret_copied);
