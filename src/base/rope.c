#include "base/rope.h"

#include <errno.h>

#include "base/error.h"

/* Below this copying is cheaper than a slice of its own in writev(). */
#define ROPE_REFER_MIN 1024u
#define ROPE_BLOCK ((size_t)8 * 1024)

static void add_slice(Rope *rope, Str slice) {
    Str *added = VEC_PUSH(&rope->slices, rope->arena);

    if (!added)
        rope->error = error_origin(-ENOMEM);
    else
        *added = slice;
}

char *rope_reserve(Rope *rope, size_t size) {
    if (rope->error)
        return NULL;
    if (size > rope->left) {
        size_t block = size > ROPE_BLOCK ? size : ROPE_BLOCK;

        rope->at = arena_alloc(rope->arena, block);
        rope->left = rope->at ? block : 0;
        if (!rope->at) {
            rope->error = error_origin(-ENOMEM);
            return NULL;
        }
    }
    return rope->at;
}

/* Extends the last slice when it ends where these bytes begin. */
void rope_advance(Rope *rope, size_t written) {
    Str *last = rope->slices.n > 0 ? &rope->slices.items[rope->slices.n - 1] : NULL;

    if (written == 0)
        return;
    if (last && last->ptr + last->len == rope->at)
        last->len += written;
    else
        add_slice(rope, str_of(rope->at, written));
    rope->at += written;
    rope->left -= written;
    rope->len += written;
}

void rope_copy(Rope *rope, Str piece) {
    char *at = piece.len > 0 ? rope_reserve(rope, piece.len) : NULL;

    if (!at)
        return;
    memcpy(at, piece.ptr, piece.len);
    rope_advance(rope, piece.len);
}

void rope_refer(Rope *rope, Str piece) {
    if (piece.len < ROPE_REFER_MIN) {
        rope_copy(rope, piece);
        return;
    }
    if (rope->error)
        return;
    add_slice(rope, piece);
    rope->len += piece.len;
}
