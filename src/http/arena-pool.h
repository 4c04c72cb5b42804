#pragma once

/*
 * ArenaPool: arenas for requests, kept for the next ones.
 *
 * A request that finds an arena here has its memory without a system call. What is kept holds a
 * bounded amount, in number and in bytes: one that has grown larger goes back to the system.
 *
 * Threads: any; one lock, held for a few instructions.
 */

#include <stddef.h>

#include "base/arena.h"
#include "base/cleanup.h"

typedef struct ArenaPool ArenaPool;

/* New arenas have @budget; at most @max are kept, and none of more than @keep_max bytes. NULL when
 * out of memory. */
ArenaPool *arena_pool_new(unsigned max, size_t budget, size_t keep_max);
ArenaPool *arena_pool_free(ArenaPool *pool); /* takes NULL */
DEFINE_CLEANUP(ArenaPool *, arena_pool_free)

/* One that was kept, and may hold memory; NULL: there is none. */
Arena *arena_pool_take(ArenaPool *pool);

/* A new one. NULL when out of memory. */
Arena *arena_pool_make(const ArenaPool *pool);

/* Takes @arena, resets it and keeps it for others, or gives it back to the system. */
void arena_pool_give(ArenaPool *pool, Arena *arena);
