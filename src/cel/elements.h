#pragma once

/*
 * Elements of lists for the libraries: as one array, sorted, and as sets.
 *
 * CelMembers finds values under the language's ==: scalars are hashed, the rest is searched. CelSet
 * holds the constants of `x in ['a', 'b']`: strings, ints, uints and bools only, as keys of a map.
 * A list with a double is not made a set (an int may equal a double that is only near it), and a
 * double is looked up in the list.
 */

#include "cel/run.h"
#include "cel/value.h"

/* All list->n of them: the list's own array when it is plain, else fetched from its host. Charges
 * one per element. NULL: the error is in @ret_error. Never NULL for an empty list. */
const CelValue *cel_items(CelRun *run, const CelList *list, CelValue *ret_error) MUST_CHECK;

/* Whether the language orders values of this kind among themselves. */
static inline bool cel_is_comparable(CelKind kind) {
    return kind >= CEL_BOOL && kind <= CEL_TIMESTAMP;
}

/* The cost of comparing these two: one, and more for long strings. */
uint64_t cel_compare_price(CelValue a, CelValue b);

/* The numbers 0 to @n - 1 such that keys[ret[0]] ≤ keys[ret[1]] ≤ …; equal keys keep their order,
 * and so does NaN, which is neither less nor greater. All keys are of one comparable kind. Charges
 * for every comparison. NULL: the error is in @ret_error. */
const uint32_t *cel_order(CelRun *run, const CelValue *keys, uint32_t n, CelValue *ret_error)
    MUST_CHECK;

typedef struct CelMemberSlot {
    uint32_t number; /* the index of a scalar + 1; 0: free */
    uint32_t hash;
} CelMemberSlot;

typedef struct CelMembers {
    const CelValue *values; /* borrowed; may still be growing */
    CelMemberSlot *slots;   /* open addressing, at most half full */
    size_t n_slots;         /* a power of two */
    uint32_t *others;       /* indexes of values that are not hashed */
    uint32_t n_others;
} CelMembers;

/* Empty, with room for @max of @values. Returns false after cel_no_memory(). */
bool cel_members_begin(CelMembers *members, CelRun *run, const CelValue *values, uint32_t max)
    MUST_CHECK;

/* Makes values[i] a member, unless an equal one exists. False: one exists, or the run is at its
 * limit (run->limit). Call it at most @max times. */
bool cel_members_add(CelMembers *members, uint32_t i, CelRun *run);

/* Whether a member equals @v. This and cel_members_add() charge for the values they read; out of
 * fuel the result is false, and run->limit is set. */
bool cel_members_has(const CelMembers *members, CelValue v, CelRun *run);

typedef struct CelSet {
    const CelList *list; /* as it was written; plain */
    CelMap map;          /* the elements as keys */
} CelSet;

/* Whether such a set can replace @list. */
bool cel_set_fits(const CelList *list);

/* @list passed the check above and is borrowed. NULL: a set does not pay (many elements with
 * duplicates), or out of memory. */
const CelSet *cel_set_new(const CelList *list, Arena *arena) MUST_CHECK;

/* Exactly `v in list`. */
CelValue cel_set_has(const CelSet *set, CelValue v, CelRun *run);
