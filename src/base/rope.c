/* Replies as lists of slices. */

#include "base/rope.h"

#include <errno.h>

/* Below this size, copying is cheaper than one more slice in writev(). */
#define ROPE_REFER_MIN 1024u

/* Blocks grow with the rope, so that a long one is few slices. */
#define ROPE_BLOCK_MIN ((size_t)4 * 1024)
#define ROPE_BLOCK_MAX ((size_t)256 * 1024)

void rope_add_slice(Rope *rope, Str slice) {
    if (slice.len > 0 && !VEC_ADD(&rope->slices, rope->arena, slice))
        rope->error = -ENOMEM;
}

char *rope_reserve_block(Rope *rope, size_t size) {
    size_t block = rope->len < ROPE_BLOCK_MIN   ? ROPE_BLOCK_MIN
                   : rope->len > ROPE_BLOCK_MAX ? ROPE_BLOCK_MAX
                                                : rope->len;

    if (rope->error)
        return NULL;
    if (block < size)
        block = size;
    rope->at = arena_alloc(rope->arena, block);
    rope->left = rope->at ? block : 0;
    if (!rope->at)
        rope->error = -ENOMEM;
    return rope->at;
}

void rope_refer(Rope *rope, Str piece) {
    if (piece.len < ROPE_REFER_MIN) {
        rope_copy(rope, piece);
        return;
    }
    if (rope->error)
        return;
    rope_add_slice(rope, piece);
    rope->len += piece.len;
}

Pen pen_refill(Pen pen, size_t size) {
    pen_close(pen);
    return pen_open(pen.rope, size);
}
