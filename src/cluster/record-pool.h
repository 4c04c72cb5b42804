#pragma once

/*
 * RecordPool: the shared parts that records (cluster/record.h) are made of.
 *
 * A part is an immutable, refcounted piece of memory: a text, or a block of some structure whose
 * strings are texts. A pool has each content once and holds one reference to it, so two texts of
 * one pool are equal only if their addresses are: blocks are compared byte by byte, including the
 * addresses of their texts. Without a pool (NULL) every part is new and not shared.
 *
 * Records hold the other references, so any thread may drop a record; record_pool_sweep() later
 * frees the parts that only the pool still holds.
 *
 * Threads: a pool belongs to one; parts may be dropped on any.
 */

#include "base/cleanup.h"
#include "base/str.h"

typedef struct ObjectType ObjectType; /* cluster/object-fields.h */
typedef struct RecordPool RecordPool;

RecordPool *record_pool_new(void); /* NULL when out of memory */
RecordPool *record_pool_free(
    RecordPool *pool); /* parts live as long as their records. Takes NULL, returns NULL */
DEFINE_CLEANUP(RecordPool *, record_pool_free)

/* Frees the parts that only the pool holds. Walks all parts: call it after many were added. Returns
 * how many were freed. */
size_t record_pool_sweep(RecordPool *pool);
size_t record_pool_size(const RecordPool *pool); /* parts in it */

/* *@ret is @text as a part, with one reference for the caller; STR_NULL if @text is empty.
 * False when out of memory. */
bool text_take(RecordPool *pool, Str text, Str *ret) MUST_CHECK;
void text_drop(Str text); /* of text_take(), or empty */

/* @size zeroed bytes with one reference, to be filled with structures of @type; padding must stay
 * zero. NULL when out of memory. */
void *block_new(size_t size, const ObjectType *type) MUST_CHECK;

/* The pool's block with the content of @block, or @block, which is then added to the pool. Takes
 * the caller's reference to @block, returns one to the result; NULL when out of memory. */
void *block_share(RecordPool *pool, void *block) MUST_CHECK;
void block_drop(const void *block); /* takes NULL */
