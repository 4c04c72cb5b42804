#pragma once

/*
 * Vocabulary: the words (cluster/words.h) of the next snapshot, while they are collected.
 *
 * Those of the snapshot before, then new ones at the end: numbers in chunks that nothing happened
 * to stay valid.
 *
 * A resource has a column from when a node first offers it (more than none of it); cpu and
 * memory always. When all TABLE_RESOURCES_MAX are taken, those that no node offers any more
 * make room; what finds none is left out, and counted (Words.n_left_out), until it does.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "cluster/rows.h"
#include "cluster/snapshot.h"

/* Names of resources that are told apart when there are more than TABLE_RESOURCES_MAX; those
 * beyond are neither counted nor given a column. */
#define VOCABULARY_NAMES_MAX 4096u

typedef struct Vocabulary {
    Arena *arena;
    VEC(Str) resources; /* by column; borrowed from records, or from the snapshot before */
    size_t n_left_out;  /* names that nodes offer and that have no column */
    VEC(Taints) taint_sets;
    VEC(uint64_t) taint_hashes; /* by taint set; as far as they were needed */
    bool has_new_words;
    bool has_new_columns; /* of resources: amounts of every row are to be written anew */
} Vocabulary;

/* In @arena; @before NULL: there is no snapshot yet. 0, or -ENOMEM. */
int vocabulary_init(Vocabulary *vocabulary, const Snapshot *before, Arena *arena) MUST_CHECK;

/* Columns for what @node offers, as far as there is room. 0, or -ENOMEM. */
int vocabulary_add_offers(Vocabulary *vocabulary, const Node *node) MUST_CHECK;

/* When some found no room, now or before: who has a column is decided anew, by what all nodes of
 * @rows offer. 0, or -ENOMEM. */
int vocabulary_choose_columns(Vocabulary *vocabulary, const Rows *rows) MUST_CHECK;

/* The number of @taints, in @number, which has that of the row so far. 0, or -ENOMEM. */
int vocabulary_number_taints(Vocabulary *vocabulary, const Taints *taints, uint32_t *number)
    MUST_CHECK;

/* A reference to those of @before, when nothing is new; else a copy of all. NULL when out of
 * memory. */
const Words *vocabulary_words(const Vocabulary *vocabulary, const Snapshot *before) MUST_CHECK;
