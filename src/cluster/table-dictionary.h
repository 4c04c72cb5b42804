#pragma once

/*
 * TableDictionary: what the numbers in the rows of a snapshot stand for.
 *
 * The names of resource columns and the distinct lists of taints. Both mostly grow at
 * the end, so that numbers in chunks that nothing happened to stay valid, and rarely
 * at all: snapshots share their dictionary until then.
 *
 * Immutable, refcounted, one block. Threads: reference and read from any.
 */

#include <stddef.h>

#include "base/cleanup.h"
#include "base/ref.h"
#include "base/str.h"
#include "model/taint.h"

typedef struct TableDictionary {
    Ref ref;
    size_t n_resources, n_taint_sets;
    size_t n_left_out; /* resources that nodes offer and that have no column */
    Str *resources;
    Taints *taint_sets;
} TableDictionary;

/* Copies everything. NULL when out of memory. */
const TableDictionary *table_dictionary_new(const Str *resources, size_t n_resources,
    size_t n_left_out, const Taints *taint_sets, size_t n_taint_sets);

const TableDictionary *table_dictionary_ref(const TableDictionary *dictionary);
const TableDictionary *table_dictionary_unref(
    const TableDictionary *dictionary); /* takes NULL, returns NULL */
DEFINE_CLEANUP(const TableDictionary *, table_dictionary_unref)
