#include "base/rope.h"

#include <errno.h>

#include "base/test-assert.h"

/* All slices in one text, in @arena. */
static Str rope_text(const Rope *rope, Arena *arena) {
    char *text = arena_alloc(arena, rope->len);
    size_t at = 0;

    assert_non_null(text);
    for (size_t i = 0; i < rope->slices.n; i++) {
        memcpy(text + at, rope->slices.items[i].ptr, rope->slices.items[i].len);
        at += rope->slices.items[i].len;
    }
    assert_int_equal(at, rope->len);
    return str_of(text, at);
}

/* Small pieces are contiguous, so that they are one slice; a large one stays where it was. */
static void test_slices(void **state) {
    static char large[4096];
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    Rope rope = ROPE_INIT_IN(arena);

    (void)state;
    memset(large, 'x', sizeof(large));
    rope_copy(&rope, STR("a"));
    rope_refer(&rope, STR("b"));
    rope_copy(&rope, STR_NULL);
    rope_refer(&rope, STR_NULL);
    assert_int_equal(rope.slices.n, 1);
    assert_text("small", rope_text(&rope, arena), "ab");

    rope_refer(&rope, str_of(large, sizeof(large)));
    rope_copy(&rope, STR("c"));
    assert_int_equal(rope.slices.n, 3);
    assert_ptr_equal(rope.slices.items[1].ptr, large);
    assert_int_equal(rope.len, 3 + sizeof(large));
    assert_int_equal(rope_error(&rope), 0);
}

/* Bytes that were reserved and not written are not part of it. */
static void test_reserve(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    Rope rope = ROPE_INIT_IN(arena);
    char *at = rope_reserve(&rope, 100);

    (void)state;
    assert_non_null(at);
    memcpy(at, "abc", 3);
    rope_advance(&rope, 3);
    at = rope_reserve(&rope, 100);
    assert_non_null(at);
    rope_advance(&rope, 0);
    rope_copy(&rope, STR("d"));
    assert_text("written", rope_text(&rope, arena), "abcd");
    assert_int_equal(rope.slices.n, 1);
}

/* A pen writes across the ends of blocks. */
static void test_pen(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)8 << 20);
    Rope rope = ROPE_INIT_IN(arena);
    size_t n_pieces = 30000;
    Str text;
    Pen pen;

    (void)state;
    rope_copy(&rope, STR("["));
    pen = pen_open(&rope, 10);
    for (size_t i = 0; i < n_pieces; i++) {
        pen = pen_room(pen, 7);
        assert_non_null(pen.at);
        memset(pen.at, 'a' + (int)(i % 26), 7);
        pen.at += 7;
    }
    pen_close(pen);
    rope_copy(&rope, STR("]"));

    assert_int_equal(rope_error(&rope), 0);
    text = rope_text(&rope, arena);
    assert_int_equal(text.len, 2 + 7 * n_pieces);
    assert_int_equal(text.ptr[0], '[');
    assert_int_equal(text.ptr[text.len - 1], ']');
    for (size_t i = 0; i < 7 * n_pieces; i++)
        assert_int_equal(text.ptr[1 + i], 'a' + i / 7 % 26);
    assert_true(rope.slices.n < 20); /* blocks grow with it */
}

static void test_pen_unused(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    Rope rope = ROPE_INIT_IN(arena);

    (void)state;
    pen_close(pen_open(&rope, 10));
    assert_int_equal(rope.len, 0);
    assert_int_equal(rope.slices.n, 0);
}

/* After a failure nothing is added any more, not even a small piece. */
static void test_budget(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(10000);
    Rope rope = ROPE_INIT_IN(arena);
    size_t len;
    Pen pen;

    (void)state;
    rope_copy(&rope, STR("kept"));
    len = rope.len;
    assert_null(rope_reserve(&rope, 20000));
    assert_int_equal(rope_error(&rope), -ENOMEM);
    rope_copy(&rope, STR("x"));
    rope_refer(&rope, STR("x"));
    pen = pen_open(&rope, 1);
    assert_null(pen.at);
    pen_close(pen);
    assert_int_equal(rope.len, len);
    assert_int_equal(rope_error(&rope), -ENOMEM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_pen),
        cmocka_unit_test(test_pen_unused),
        cmocka_unit_test(test_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
