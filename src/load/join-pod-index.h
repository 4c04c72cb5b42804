#pragma once

/*
 * PodIndex: the pods on the nodes of a table, by namespace and name.
 *
 * Made for one join, and made to be made quickly: a slot has eight bytes, and memory is asked for
 * before it is needed. For the files of join.h only.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "cluster/table.h"

typedef struct PodPlace {
    const Pod *pod;      /* borrowed from the table */
    Str namespace, name; /* the pod's: comparing them is to cost one look less */
    uint32_t row;
    uint32_t n_series, last_series; /* for whoever joins: how many are the pod's, and which */
} PodPlace;

typedef struct PodSlot {
    uint32_t hash;  /* upper half */
    uint32_t place; /* POD_PLACE_NONE: free */
} PodSlot;

#define POD_PLACE_NONE UINT32_MAX

typedef struct PodIndex {
    PodPlace *places;
    size_t n;
    PodSlot *slots;
    size_t mask; /* slots less one; a power of two less one */
} PodIndex;

/* In @arena. 0 or -ENOMEM. */
int pod_index_build(const NodeTable *table, Arena *arena, PodIndex *ret) MUST_CHECK;

/* Namespaces repeat: the last one's hash is kept. Zeroed at first. */
typedef struct PodHasher {
    Str namespace;
    uint64_t hash;
} PodHasher;
uint64_t pod_hash(PodHasher *hasher, Str namespace, Str name);

/* POD_PLACE_NONE: there is no such pod. @hash is pod_hash() of the two. */
uint32_t pod_index_find(const PodIndex *index, uint64_t hash, Str namespace, Str name);

/* Soon pod_index_find() will be asked for @hash: what it reads is asked for in three steps, each of
 * which finds what the one before has asked for. */
static inline void pod_index_expect_slot(const PodIndex *index, uint64_t hash) {
    __builtin_prefetch(&index->slots[hash & index->mask]);
}
static inline void pod_index_expect_place(const PodIndex *index, uint64_t hash) {
    uint32_t place = index->slots[hash & index->mask].place;

    if (place != POD_PLACE_NONE)
        __builtin_prefetch(&index->places[place]);
}
static inline void pod_index_expect_text(const PodIndex *index, uint64_t hash) {
    uint32_t place = index->slots[hash & index->mask].place;

    if (place == POD_PLACE_NONE)
        return;
    __builtin_prefetch(index->places[place].name.ptr);
    __builtin_prefetch(index->places[place].namespace.ptr);
}
