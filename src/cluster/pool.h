#pragma once

/*
 * Pool, from the inside: the shared parts that records are made of.
 *
 * A part is an immutable, refcounted piece of memory: a text, or a block of some
 * structure whose strings are texts. A pool has each content once and holds one
 * reference to it, so that of two parts of one pool equal content means equal
 * address; that is also how blocks are compared, byte by byte with the addresses of
 * their texts. Without a pool (NULL) every part is new and its taker's alone.
 *
 * pool_new(), pool_free(), pool_sweep() and pool_size() are in cluster/record.h.
 *
 * Threads: a pool belongs to one; parts may be dropped on any.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cluster/record.h"

/* The text as a part, a reference to which the caller owns; nothing for the empty one.
 * False when out of memory. */
bool text_take(Pool *pool, Str text, Str *ret) MUST_CHECK;
void text_drop(Str text); /* of text_take(), or empty */

/* Drops what a block of @size bytes refers to; zeroed memory refers to nothing. */
typedef void (*BlockRelease)(void *block, size_t size);

/* @size zeroed bytes with one reference, to be filled; padding must stay zero. NULL when out
 * of memory. */
void *block_new(size_t size, BlockRelease release) MUST_CHECK;

/* The block of this content that the pool has, else @block from now on. Takes the reference
 * to @block and returns one to the result; NULL when out of memory. */
void *block_share(Pool *pool, void *block) MUST_CHECK;
void block_drop(void *block); /* takes NULL */
