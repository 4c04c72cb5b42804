/* Memory that is freed all at once. */

#include "base/arena.h"

#include <malloc.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __SANITIZE_ADDRESS__
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(at, size) ASAN_POISON_MEMORY_REGION((at), (size))
#define UNPOISON(at, size) ASAN_UNPOISON_MEMORY_REGION((at), (size))
#define RED_ZONE 16u
#else
#define POISON(at, size) ((void)(at), (void)(size))
#define UNPOISON(at, size) ((void)(at), (void)(size))
#define RED_ZONE 0u
#endif

#define ARENA_ALIGN alignof(max_align_t)
#define FIRST_BLOCK ((size_t)16 * 1024)

/* Blocks double up to this; a larger single allocation gets a block of its own
 * size. */
#define BLOCK_MAX ((size_t)1024 * 1024)

/* A reset keeps one block, as large as the largest use so far, up to this limit: the next user most
 * likely needs as much, and page faults of new memory cost more than a whole decision. */
#define KEEP_MAX ((size_t)8 * 1024 * 1024)

typedef struct Block {
    struct Block *previous;
    size_t size; /* of data */
    alignas(max_align_t) unsigned char data[];
} Block;

struct Arena {
    Block *block; /* newest; the chain ends in the first block, which is kept */
    size_t at;    /* next free byte of block */
    size_t used;  /* over all blocks */
    size_t budget;
    bool has_failed, is_full;
    ArenaHandler *on_refusal; /* NULL: none */
    const char *what;         /* the first argument of @on_refusal */
};

static Block *block_new(size_t size, Block *previous) {
    Block *block = malloc(sizeof(*block) + size);

    if (!block)
        return NULL;
    block->previous = previous;
    block->size = size;
#ifdef ARENA_ASAN
    block->data[0] = 0; /* else gcc 14 warns that uninitialized memory is used */
#endif
    POISON(block->data, size);
    return block;
}

static void block_free(Block *block) {
    UNPOISON(block->data, block->size);
    free(block);
}

Arena *arena_new(size_t budget) {
    Arena *arena = calloc(1, sizeof(*arena));

    if (!arena)
        return NULL;
    arena->budget = budget;
    arena->block = block_new(FIRST_BLOCK, NULL);
    if (!arena->block) {
        free(arena);
        return NULL;
    }
    return arena;
}

void arena_on_refusal(Arena *arena, ArenaHandler *handler, const char *what) {
    arena->on_refusal = handler;
    arena->what = what;
}

/* Frees all blocks but the oldest. */
static void drop_blocks(Arena *arena) {
    while (arena->block->previous) {
        Block *previous = arena->block->previous;

        block_free(arena->block);
        arena->block = previous;
    }
}

void arena_reset(Arena *arena) {
    size_t used = arena->used < KEEP_MAX ? arena->used : KEEP_MAX;

    drop_blocks(arena);
    if (used > arena->block->size) {
        Block *larger = block_new(used, NULL);

        if (larger) {
            block_free(arena->block);
            arena->block = larger;
        }
    }
    POISON(arena->block->data, arena->block->size);
    arena->at = 0;
    arena->used = 0;
    arena->has_failed = arena->is_full = false;
}

Arena *arena_free(Arena *arena) {
    if (!arena)
        return NULL;
    drop_blocks(arena);
    block_free(arena->block);
    free(arena);
    return NULL;
}

size_t arena_used(const Arena *arena) {
    return arena->used;
}

size_t arena_left(const Arena *arena) {
    return arena->budget - arena->used;
}

size_t arena_size(const Arena *arena) {
    size_t size = 0;

    for (const Block *block = arena->block; block; block = block->previous)
        size += block->size;
    return size;
}

/* Adds a block with room for @need bytes. */
static int add_block(Arena *arena, size_t need) {
    size_t size = arena->block->size * 2;
    Block *block;

    if (size > BLOCK_MAX)
        size = BLOCK_MAX;
    if (size < need)
        size = need;
    block = block_new(size, arena->block);
    if (!block)
        return -1;
    arena->block = block;
    arena->at = 0;
    return 0;
}

bool arena_has_failed(const Arena *arena) {
    return arena->has_failed;
}

size_t arena_limit_reached(const Arena *arena) {
    return arena->is_full ? arena->budget : 0;
}

static void *refuse(Arena *arena, bool is_full) {
    arena->has_failed = true;
    arena->is_full |= is_full;
    if (arena->on_refusal)
        arena->on_refusal(arena->what, arena);
    return NULL;
}

void *arena_alloc(Arena *arena, size_t size) {
    size_t need;
    void *memory;

    if (size > arena->budget || size > PTRDIFF_MAX)
        return refuse(arena, /* is_full= */ true);
    need = (size + RED_ZONE + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
    if (need > arena->budget - arena->used)
        return refuse(arena, /* is_full= */ true);
    if (need > arena->block->size - arena->at && add_block(arena, need) < 0)
        return refuse(arena, /* is_full= */ false);

    memory = arena->block->data + arena->at;
    arena->at += need;
    arena->used += need;
    UNPOISON(memory, size);
    return memory;
}

void *arena_zalloc(Arena *arena, size_t count, size_t size) {
    size_t bytes;
    void *memory;

    if (__builtin_mul_overflow(count, size, &bytes))
        return refuse(arena, /* is_full= */ true);
    memory = arena_alloc(arena, bytes);
    if (memory)
        memset(memory, 0, bytes);
    return memory;
}

Str arena_copy(Arena *arena, Str str) {
    char *copy = arena_alloc(arena, str.len + 1);

    if (!copy)
        return STR_NULL;
    if (str.len > 0)
        memcpy(copy, str.ptr, str.len);
    copy[str.len] = '\0';
    return str_of(copy, str.len);
}

Str arena_printf(Arena *arena, const char *format, ...) {
    va_list arguments;
    char *text;
    int len;

    va_start(arguments, format);
    len = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (len < 0)
        return STR_NULL;
    text = arena_alloc(arena, (size_t)len + 1);
    if (!text)
        return STR_NULL;
    va_start(arguments, format);
    (void)vsnprintf(text, (size_t)len + 1, format, arguments);
    va_end(arguments);
    return str_of(text, (size_t)len);
}

void trim_heap(void) {
#ifdef M_TRIM_THRESHOLD /* not in musl, which returns memory by itself */
    (void)malloc_trim(0);
#endif
}
