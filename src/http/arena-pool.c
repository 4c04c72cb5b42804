/* Arenas of ended requests, kept for the next ones. */

#include "http/arena-pool.h"

#include <stdlib.h>

#include "base/thread.h"

struct ArenaPool {
    size_t budget, keep_max;
    unsigned max;

    pthread_mutex_t lock; /* protects the fields below */
    unsigned n;
    Arena *kept[]; /* a stack */
};

ArenaPool *arena_pool_new(unsigned max, size_t budget, size_t keep_max) {
    ArenaPool *pool = calloc(1, sizeof(*pool) + max * sizeof(pool->kept[0]));

    if (!pool)
        return NULL;
    pool->budget = budget;
    pool->keep_max = keep_max;
    pool->max = max;
    (void)pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

ArenaPool *arena_pool_free(ArenaPool *pool) {
    if (!pool)
        return NULL;
    while (pool->n > 0)
        arena_free(pool->kept[--pool->n]);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
    return NULL;
}

Arena *arena_pool_take(ArenaPool *pool) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&pool->lock);

    return pool->n > 0 ? pool->kept[--pool->n] : NULL;
}

Arena *arena_pool_make(const ArenaPool *pool) {
    return arena_new(pool->budget);
}

void arena_pool_give(ArenaPool *pool, Arena *arena) {
    bool is_kept = false;

    arena_reset(arena);
    if (arena_size(arena) <= pool->keep_max) {
        (void)pthread_mutex_lock(&pool->lock);
        is_kept = pool->n < pool->max;
        if (is_kept)
            pool->kept[pool->n++] = arena;
        (void)pthread_mutex_unlock(&pool->lock);
    }
    if (!is_kept)
        arena_free(arena);
}
