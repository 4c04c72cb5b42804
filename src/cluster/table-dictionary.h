#pragma once

/*
 * TableDictionary: the names of resource columns and the distinct lists of taints, by number.
 *
 * Both rarely change, and mostly grow at the end, so numbers in unchanged chunks stay valid.
 * Snapshots share a dictionary until it changes.
 *
 * Immutable, refcounted. Threads: reference and read from any.
 */

#include "base/ref.h"
#include "base/vec.h"
#include "cluster/node-rows.h"
#include "model/taint.h"

typedef struct TableDictionary {
    Ref ref;
    size_t n_resources, n_taint_sets;
    size_t n_left_out; /* resources that nodes offer and that have no column */
    Str *resources;
    Taints *taint_sets;
} TableDictionary;

/* A deep copy of @from. NULL when out of memory. */
const TableDictionary *table_dictionary_new(const TableDictionary *from);

DEFINE_REF(const TableDictionary, table_dictionary)
const TableDictionary *table_dictionary_unref(
    const TableDictionary *dictionary); /* takes NULL, returns NULL */
DEFINE_CLEANUP(const TableDictionary *, table_dictionary_unref)

/*
 * TableDictionaryBuilder: makes the next dictionary. It keeps the entries of the previous one and
 * adds new ones at the end.
 *
 * cpu and memory always have a column; another resource gets one when a node first offers an amount
 * above 0. When all TABLE_RESOURCES_MAX are used, a new name takes the column of a resource that no
 * node offers any more; names without a column are counted (n_left_out).
 */

/* If nodes offer more than TABLE_RESOURCES_MAX resources, this many names compete for the columns;
 * further names are neither counted nor given a column. */
#define DICTIONARY_NAMES_MAX 4096u

typedef struct TableDictionaryBuilder {
    Arena *arena;
    VEC(Str) resources;            /* by column; borrowed from records, or from the one before */
    size_t guesses[RESOURCES_MAX]; /* by position in an object's list: the column */
    size_t n_left_out;             /* names that nodes offer and that have no column */
    VEC(Taints) taint_sets;
    VEC(uint64_t) taint_hashes; /* by taint set; as far as they were needed */
    bool has_new_entries;
    bool has_new_columns; /* of resources: amounts of every row must be written again */
} TableDictionaryBuilder;

/* In @arena; @before NULL: the first one. When memory runs out, entries are missing: check
 * arena_has_failed() before using it. */
void table_dictionary_builder_init(
    TableDictionaryBuilder *builder, const TableDictionary *before, Arena *arena);

/* The column of resource @name, if there is room. @position is its place in the object's list:
 * nodes of one cluster mostly list their resources in the same order, so the column of the previous
 * object at this position is tried first. */
void table_dictionary_builder_add_resource(
    TableDictionaryBuilder *builder, Str name, size_t position);

/* Adds columns for the resources that @node offers, as far as there is room. */
void table_dictionary_builder_add_offers(TableDictionaryBuilder *builder, const Node *node);

/* Call if some names had no room, now or before: decides again which names have a column, from the
 * resources that all nodes of @rows offer. */
void table_dictionary_builder_choose_columns(TableDictionaryBuilder *builder, const NodeRows *rows);

/* The number of @taints, which are added if they are new; @before: the row's number so far. */
uint32_t table_dictionary_builder_number_taints(
    TableDictionaryBuilder *builder, const Taints *taints, uint32_t before);

/* A reference to @before when nothing is new, else a new one. NULL when out of memory. */
const TableDictionary *table_dictionary_builder_finish(
    const TableDictionaryBuilder *builder, const TableDictionary *before) MUST_CHECK;
