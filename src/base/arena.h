#pragma once

/*
 * Arena: memory that is freed all at once.
 *
 * One arena serves one request (or one policy, one snapshot). A reset keeps one block for the next
 * user, as large as the last use but bounded: usual requests need no new memory, and the memory of
 * a huge request is returned.
 *
 * An allocation over the budget returns NULL, like one that the system refuses. Under
 * AddressSanitizer overruns inside an arena are found.
 *
 * Not thread safe: an arena belongs to one thread at a time.
 */

#include "base/cleanup.h"
#include "base/str.h"

typedef struct Arena Arena;

/* @budget: bytes that may be allocated between two resets. NULL when out of memory. */
Arena *arena_new(size_t budget);
Arena *arena_free(Arena *arena); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Arena *, arena_free)

/* Later refused allocations call @handler with @what, which is borrowed; @handler must not return.
 * For commands, which then end with a message and need no checks. Not for the daemon. */
typedef void ArenaHandler(const char *what, const Arena *arena);
void arena_on_refusal(Arena *arena, ArenaHandler *handler, const char *what);

/* Frees everything allocated so far. */
void arena_reset(Arena *arena);

/* Bytes allocated since the last reset, padding included. */
size_t arena_used(const Arena *arena);

/* Bytes of the budget that are not used yet. */
size_t arena_left(const Arena *arena);

/* Bytes of its blocks, used or not. */
size_t arena_size(const Arena *arena);

/* Whether an allocation has been refused since the last reset: for code that builds something of
 * many pieces and checks once, at the end. */
bool arena_has_failed(const Arena *arena);

/* The budget if it was the reason for a refused allocation since the last reset; else 0: none was
 * refused, or the system had no memory. */
size_t arena_limit_reached(const Arena *arena);

/* Uninitialised memory, aligned for any type; NULL over the budget. A @size of 0 gives a valid
 * pointer. */
void *arena_alloc(Arena *arena, size_t size) MUST_CHECK;

/* @count zeroed elements of @size bytes; NULL over the budget or on overflow. */
void *arena_zalloc(Arena *arena, size_t count, size_t size) MUST_CHECK;

/* A copy of @str, with a NUL after it that len does not count. On failure ptr is NULL. */
Str arena_copy(Arena *arena, Str str) MUST_CHECK;

/* Text by printf's rules; on failure ptr is NULL. */
Str arena_printf(Arena *arena, const char *format, ...) MUST_CHECK
    __attribute__((format(printf, 2, 3)));

/* Uninitialised, for arrays that are filled at once. The product is not checked for overflow, so
 * @count must be bounded, or count things that are in memory already. */
#define ARENA_RAW(arena, type, count) ((type *)arena_alloc((arena), (size_t)(count) * sizeof(type)))

#define ARENA_NEW(arena, type) ((type *)arena_zalloc((arena), 1, sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_zalloc((arena), (count), sizeof(type)))

/* Returns free memory of the heap to the system. malloc keeps small blocks that were freed, and
 * also large ones once they were cut from such memory. Takes about a millisecond for 100 MiB: after
 * work that may have needed much. Any thread. */
void trim_heap(void);
