#pragma once

/*
 * Failing: one allocation of an arena fails, or every one from some point on.
 *
 * For a test that is linked with --wrap=arena_alloc,--wrap=arena_zalloc,--wrap=arena_copy, so that
 * these functions are called instead. The test sets n_seen to 0, and due to the number of the
 * allocation that fails. A test that wraps malloc() too calls is_due() there.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

static size_t n_seen;
static size_t due = SIZE_MAX; /* the number of the allocation that fails; SIZE_MAX: none does */
static bool is_lasting;       /* and all later ones */

void *__real_arena_alloc(Arena *arena, size_t size);
void *__real_arena_zalloc(Arena *arena, size_t count, size_t size);
Str __real_arena_copy(Arena *arena, Str str);
void *__wrap_arena_alloc(Arena *arena, size_t size);
void *__wrap_arena_zalloc(Arena *arena, size_t count, size_t size);
Str __wrap_arena_copy(Arena *arena, Str str);

static bool is_due(void) {
    size_t number = n_seen++;

    return is_lasting ? number >= due : number == due;
}

/* More than any arena gives: the arena fails, and remembers it. */
#define TOO_MUCH (SIZE_MAX / 2)

void *__wrap_arena_alloc(Arena *arena, size_t size) {
    return __real_arena_alloc(arena, is_due() ? TOO_MUCH : size);
}

void *__wrap_arena_zalloc(Arena *arena, size_t count, size_t size) {
    return is_due() ? __real_arena_alloc(arena, TOO_MUCH) : __real_arena_zalloc(arena, count, size);
}

Str __wrap_arena_copy(Arena *arena, Str str) {
    if (!is_due())
        return __real_arena_copy(arena, str);
    (void)!__real_arena_alloc(arena, TOO_MUCH);
    return STR_NULL;
}
