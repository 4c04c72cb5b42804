#pragma once

/*
 * TableDictionaryBuilder: the dictionary (cluster/table-dictionary.h) of the next snapshot, while
 * they are collected.
 *
 * Those of the snapshot before, then new ones at the end: numbers in chunks that nothing happened
 * to stay valid.
 *
 * A resource has a column from when a node first offers it (more than none of it); cpu and
 * memory always. When all TABLE_RESOURCES_MAX are taken, those that no node offers any more
 * make room; what finds none is left out, and counted (TableDictionary.n_left_out), until it does.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "cluster/node-rows.h"
#include "cluster/snapshot.h"

/* Names of resources that are told apart when there are more than TABLE_RESOURCES_MAX; those
 * beyond are neither counted nor given a column. */
#define DICTIONARY_NAMES_MAX 4096u

typedef struct TableDictionaryBuilder {
    Arena *arena;
    VEC(Str) resources; /* by column; borrowed from records, or from the snapshot before */
    size_t n_left_out;  /* names that nodes offer and that have no column */
    VEC(Taints) taint_sets;
    VEC(uint64_t) taint_hashes; /* by taint set; as far as they were needed */
    bool has_new_entries;
    bool has_new_columns; /* of resources: amounts of every row are to be written anew */
} TableDictionaryBuilder;

/* In @arena; @before NULL: there is no snapshot yet. 0, or -ENOMEM. */
int table_dictionary_builder_init(
    TableDictionaryBuilder *builder, const Snapshot *before, Arena *arena) MUST_CHECK;

/* Columns for what @node offers, as far as there is room. 0, or -ENOMEM. */
int table_dictionary_builder_add_offers(TableDictionaryBuilder *builder, const Node *node)
    MUST_CHECK;

/* When some found no room, now or before: who has a column is decided anew, by what all nodes of
 * @rows offer. 0, or -ENOMEM. */
int table_dictionary_builder_choose_columns(TableDictionaryBuilder *builder, const NodeRows *rows)
    MUST_CHECK;

/* The number of @taints, in @number, which has that of the row so far. 0, or -ENOMEM. */
int table_dictionary_builder_number_taints(
    TableDictionaryBuilder *builder, const Taints *taints, uint32_t *number) MUST_CHECK;

/* A reference to those of @before, when nothing is new; else a copy of all. NULL when out of
 * memory. */
const TableDictionary *table_dictionary_builder_words(
    const TableDictionaryBuilder *builder, const Snapshot *before) MUST_CHECK;
