#pragma once

/*
 * StagedList: the objects of a list that is not complete yet.
 *
 * In the order of the list; of two under one key (a list that comes in pages may tell of
 * an object twice) the later one counts. Objects are records; the staged holds them by
 * pointers of the caller's and frees nothing by itself.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/set.h"

typedef struct StagedList {
    Set current;        /* by key: those that count */
    const void **items; /* all */
    size_t n, n_rooms;
    size_t n_added; /* since the beginning: a list that repeats itself has an end too */
    bool is_open;   /* a list is coming in */
} StagedList;

/* Forgets the pointers; @is_open from now on. */
void staged_list_reset(StagedList *staged, bool is_open);

/* 0, or -ENOMEM: not added. */
int staged_list_add(StagedList *staged, uint64_t hash, SetMatch match, const void *key,
    const void *item) MUST_CHECK;

/* Leaves only the items that count, each at its last place, and calls @drop for each of the
 * others. */
void staged_list_compact(
    StagedList *staged, uint64_t (*hash)(const void *item), void (*drop)(const void *item));
