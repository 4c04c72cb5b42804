#pragma once

/*
 * Staging: the objects of a list that is not complete yet.
 *
 * In the order of the list; of two under one key (a list that comes in pages may tell of
 * an object twice) the later one counts. Objects are records; the staging holds them by
 * pointers of the caller's and frees nothing by itself.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/set.h"

typedef struct Staging {
    Set current;        /* by key: those that count */
    const void **items; /* all */
    size_t n, n_rooms;
    size_t n_added; /* since the beginning: a list that repeats itself has an end too */
    bool is_open;   /* a list is coming in */
} Staging;

/* Forgets the pointers; @is_open from now on. */
void staging_reset(Staging *staging, bool is_open);

/* 0, or -ENOMEM: not added. */
int staging_add(Staging *staging, uint64_t hash, SetMatch match, const void *key, const void *item)
    MUST_CHECK;

/* Leaves only the items that count, each at its last place, and calls @drop for each of the
 * others. */
void staging_compact(
    Staging *staging, uint64_t (*hash)(const void *item), void (*drop)(const void *item));
