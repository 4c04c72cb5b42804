#pragma once

/*
 * Rope: a reply as a list of slices.
 *
 * Small pieces are copied into the arena, one behind the other; large ones are
 * only referenced. So a reply that hands 80 MB of Node objects back costs a few
 * slices, and one made of many small pieces is still few slices.
 *
 * Like a Buf it fails once and for all: check rope_error() at the end.
 */

#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

typedef struct Rope {
    Arena *arena;
    VEC(Str) slices;
    size_t len;  /* over all slices */
    char *at;    /* free part of the newest block */
    size_t left; /* bytes of it */
    int error;   /* 0 or -ENOMEM */
} Rope;

#define ROPE_INIT_IN(where) ((Rope){.arena = (where)})

/* Copies @piece. */
void rope_copy(Rope *rope, Str piece);

/* Adds @piece, which outlives the rope: copied when small, else referenced. */
void rope_refer(Rope *rope, Str piece);

/* Room for @size bytes in one piece, or NULL (failed). The caller writes some or
 * all of them and says how many with rope_advance(), before anything else. */
char *rope_reserve(Rope *rope, size_t size);
void rope_advance(Rope *rope, size_t written);

static inline int rope_error(const Rope *rope) {
    return rope->error;
}
