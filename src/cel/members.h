#pragma once

/*
 * Members: values among which others are found again fast, under the language's ==.
 *
 * Scalars are hashed; lists, maps and the libraries' own kinds are searched one by one. Lies
 * in the run's arena.
 */

#include "cel/run.h"
#include "cel/value.h"

typedef struct CelMemberSlot {
    uint32_t number; /* of a scalar, + 1; 0: free */
    uint32_t hash;
} CelMemberSlot;

typedef struct CelMembers {
    const CelValue *values; /* borrowed; may still be growing */
    CelMemberSlot *slots;   /* open addressing, at most half full */
    size_t n_slots;         /* a power of two */
    uint32_t *others;       /* numbers of what is not hashed */
    uint32_t n_others;
} CelMembers;

/* Empty, with room for @max of @values. False: cel_no_memory(). */
bool cel_members_begin(CelMembers *members, CelRun *run, const CelValue *values, uint32_t max)
    MUST_CHECK;

/* values[i] is a member from now on, unless one is that equals it. False: there is one, or
 * the run is over (run->limit). At most @max times. */
bool cel_members_add(CelMembers *members, uint32_t i, CelRun *run);

/* Whether a member equals @v. Both charge for what they look at; when that runs dry the answer
 * is false, and run->limit says so. */
bool cel_members_has(const CelMembers *members, CelValue v, CelRun *run);
