#pragma once

/*
 * ArenaPool: recycles the arenas of requests.
 *
 * A request that gets an arena here needs no system call for memory. The pool is bounded in number
 * and bytes: it frees an arena that has grown too large.
 *
 * Threads: any; one lock, held for a few instructions.
 */

#include "base/arena.h"

typedef struct ArenaPool ArenaPool;

/* New arenas have @budget bytes; keeps up to @max arenas of @keep_max bytes. NULL: out of
 * memory. */
ArenaPool *arena_pool_new(unsigned max, size_t budget, size_t keep_max);
ArenaPool *arena_pool_free(ArenaPool *pool); /* takes NULL */
DEFINE_CLEANUP(ArenaPool *, arena_pool_free)

/* Returns a kept arena; NULL: there is none. */
Arena *arena_pool_take(ArenaPool *pool);

/* Returns a new arena. NULL when out of memory. */
Arena *arena_pool_make(const ArenaPool *pool);

/* Resets @arena and keeps it, or frees it. */
void arena_pool_give(ArenaPool *pool, Arena *arena);
