#pragma once

/*
 * Rope: a reply as a list of slices.
 *
 * Small pieces are copied into the arena, one after the other; large ones are
 * only referenced. So a reply that returns 80 MB of Node objects has few slices,
 * and so has one of many small pieces.
 *
 * Like a Buf it remembers a failure: check rope_error() at the end.
 */

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

/* Adds @piece, which must outlive the rope: copied if it is small, else referenced. */
void rope_refer(Rope *rope, Str piece);

/* The slow paths of rope_reserve() and rope_advance(). */
char *rope_reserve_block(Rope *rope, size_t size);
void rope_add_slice(Rope *rope, Str slice);

/* Room for @size bytes, at least 1, in one piece, or NULL (failed). The caller writes some
 * or all of them, then calls rope_advance() before anything else. */
static inline char *rope_reserve(Rope *rope, size_t size) {
    return size <= rope->left && !rope->error ? rope->at : rope_reserve_block(rope, size);
}

/* Extends the last slice when it ends where these bytes begin. */
static inline void rope_advance(Rope *rope, size_t written) {
    Str *last = rope->slices.n > 0 ? &rope->slices.items[rope->slices.n - 1] : NULL;

    if (last && last->ptr + last->len == rope->at)
        last->len += written;
    else
        rope_add_slice(rope, str_of(rope->at, written));
    rope->at += written;
    rope->left -= written;
    rope->len += written;
}

/* Copies @piece. */
static inline void rope_copy(Rope *rope, Str piece) {
    char *at = piece.len > 0 ? rope_reserve(rope, piece.len) : NULL;

    if (!at)
        return;
    memcpy(at, piece.ptr, piece.len);
    rope_advance(rope, piece.len);
}

static inline int rope_error(const Rope *rope) {
    return rope->error;
}

/*
 * Pen: for loops that add thousands of small pieces. It keeps its place in local
 * variables, which a Rope behind a pointer cannot: the compiler must assume that
 * every byte written might change it. Nothing else may touch the rope between
 * pen_open() and pen_close().
 *
 *     Pen pen = pen_open(rope, expected);
 *     while (…) {
 *         pen = pen_room(pen, n);
 *         if (!pen.at)
 *             return; // failed: see rope_error()
 *         memcpy(pen.at, piece, n);
 *         pen.at += n;
 *     }
 *     pen_close(pen);
 */
typedef struct Pen {
    Rope *rope;
    char *at, *end; /* at NULL: the rope has failed */
} Pen;

static inline Pen pen_open(Rope *rope, size_t size) {
    char *at = rope_reserve(rope, size);

    return (Pen){.rope = rope, .at = at, .end = at ? at + rope->left : NULL};
}

static inline void pen_close(Pen pen) {
    if (pen.at && pen.at > pen.rope->at)
        rope_advance(pen.rope, (size_t)(pen.at - pen.rope->at));
}

/* Adds the bytes so far to the rope, and continues in a new block. */
Pen pen_refill(Pen pen, size_t size);

static inline Pen pen_room(Pen pen, size_t size) {
    return size <= (size_t)(pen.end - pen.at) ? pen : pen_refill(pen, size);
}
