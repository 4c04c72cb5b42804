#pragma once

/*
 * Set: the constants of `x in ['a', 'b', 'c']`, prepared once.
 *
 * Strings, ints, uints and bools only: what equals one of them can be found as a map
 * finds a key. Doubles cannot (trap: an int equals a double that is only near it), so a
 * list that has one stays a list, and a double is looked up in the list.
 */

#include "base/arena.h"
#include "base/cleanup.h"
#include "cel/run.h"
#include "cel/value.h"

typedef struct CelSet {
    const CelList *list; /* as it was written; plain */
    CelMap map;          /* its elements as keys */
} CelSet;

/* Whether such a set can stand for @list. */
bool cel_set_fits(const CelList *list);

/* @list is one that fits, and is borrowed. NULL: it had better stay a list (many elements and
 * some twice), or out of memory. */
const CelSet *cel_set_new(const CelList *list, Arena *arena) MUST_CHECK;

/* Exactly what `v in list` says. */
CelValue cel_set_has(const CelSet *set, CelValue v, CelRun *run);
