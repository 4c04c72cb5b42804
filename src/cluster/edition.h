#pragma once

/*
 * Edition: the next snapshot, of the last one and the rows that changed since.
 *
 * Chunks without a change, names and words are taken over as they are.
 */

#include <stddef.h>

#include "cluster/rows.h"
#include "cluster/snapshot.h"

/* Taint sets that no row has any more are kept, for their numbers, until there are more
 * than this beside twice those in use. */
#define EDITION_TAINT_SETS_SPARE 64u

/* @before NULL: the first; then every row that is taken must be marked as changed. @nominated
 * are records; at most TABLE_NOMINATED_MAX. Leaves @rows as it is. @ret_copied: how many
 * chunks were made. 0, or -ENOMEM. */
int edition_make(const Rows *rows, const Snapshot *before, const Pod *const *nominated,
    size_t n_nominated, Snapshot **ret, size_t *ret_copied);
