#include "base/arena.h"

#include <stdalign.h>
#include <stdio.h>

#include "base/test-assert.h"

static void test_alloc(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)8 << 20);

    (void)state;
    assert_non_null(arena);
    for (size_t size = 0; size < 70000; size = size * 2 + 1) {
        unsigned char *memory = arena_alloc(arena, size);

        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
        memset(memory, 0xa5, size); /* under ASan: all bytes are addressable */
    }
    assert_true(arena_used(arena) >= 65535);
}

static void test_zeroed_after_reuse(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(4096);
    int64_t *numbers;

    (void)state;
    memset(arena_alloc(arena, 1024), 0xff, 1024);
    arena_reset(arena);
    assert_int_equal(arena_used(arena), 0);
    numbers = ARENA_ARRAY(arena, int64_t, 100);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(numbers[i], 0);
}

static void test_size(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)32 << 20);
    size_t least = arena_size(arena);

    (void)state;
    assert_true(least > 0);
    assert_non_null(arena_alloc(arena, 1));
    assert_int_equal(arena_size(arena), least); /* it fitted into the block */
    for (size_t i = 0; i < 100; i++)
        assert_non_null(arena_alloc(arena, 100000));
    assert_true(arena_size(arena) >= arena_used(arena));
    assert_true(arena_size(arena) < arena_used(arena) * 3 / 2);
    arena_reset(arena);
    assert_true(arena_size(arena) >= least);
    assert_true(arena_size(arena) < (size_t)9 << 20); /* one block is kept, but not all of it */
}

static void test_budget(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1000);
    static const char text[200];
    size_t n = 0;

    (void)state;
    assert_null(arena_alloc(arena, 1001));
    while (arena_alloc(arena, 100))
        n++;
    assert_in_range(n, 7, 9); /* padding and red zones count */
    assert_true(arena_used(arena) <= 1000);
    assert_null(arena_copy(arena, str_of(text, sizeof(text))).ptr);
    assert_null(arena_printf(arena, "%200d", 1).ptr);
    arena_reset(arena);
    assert_non_null(arena_alloc(arena, 900));
}

static void test_sizes_that_overflow(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(SIZE_MAX);

    (void)state;
    assert_null(arena_zalloc(arena, SIZE_MAX / 2, 3));
    assert_null(arena_zalloc(arena, 1, SIZE_MAX));
    assert_null(arena_zalloc(arena, 1, SIZE_MAX - 8));
    assert_non_null(arena_alloc(arena, 8));
}

static void test_many_blocks(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)64 << 20);

    (void)state;
    for (int round = 0; round < 3; round++) {
        char *first = arena_alloc(arena, 10);

        memcpy(first, "untouched", 10);
        for (int i = 0; i < 100; i++)
            memset(arena_alloc(arena, 30000), i, 30000);
        memset(arena_alloc(arena, (size_t)5 << 20), 1, (size_t)5 << 20); /* over BLOCK_MAX */
        assert_string_equal(first, "untouched");
        arena_reset(arena);
    }
}

static void test_text(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(4096);
    Str copy = arena_copy(arena, STR("a\0b"));
    Str empty = arena_copy(arena, STR_NULL);
    Str printed = arena_printf(arena, "%s-%d", "node", 7);

    (void)state;
    assert_int_equal(copy.len, 3);
    assert_memory_equal(copy.ptr, "a\0b", 4); /* with the NUL */
    assert_non_null(empty.ptr);
    assert_int_equal(empty.ptr[0], '\0');
    assert_text("printf", printed, "node-7");
    assert_null(arena_printf(arena, "%5000d", 1).ptr);
}

static void test_free_takes_null(void **state) {
    (void)state;
    assert_null(arena_free(NULL));
}

static const char *refused_for;

static void note_refusal(const char *what, const Arena *arena) {
    assert_int_equal(arena_limit_reached(arena), 1024);
    refused_for = what;
}

static void test_refusal_calls_the_handler(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1024);

    (void)state;
    arena_on_refusal(arena, note_refusal, "the report");
    assert_non_null(arena_alloc(arena, 16));
    assert_null(refused_for);
    assert_null(ARENA_ARRAY(arena, int64_t, 4096));
    assert_string_equal(refused_for, "the report");
}

static void test_failure_sticks(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1024);

    (void)state;
    assert_non_null(arena_alloc(arena, 16));
    assert_false(arena_has_failed(arena));
    assert_null(arena_alloc(arena, 4096));
    assert_true(arena_has_failed(arena));
    assert_non_null(arena_alloc(arena, 16)); /* small ones still fit */
    assert_true(arena_has_failed(arena));
    assert_int_equal(arena_limit_reached(arena), 1024);
    arena_reset(arena);
    assert_false(arena_has_failed(arena));
    assert_int_equal(arena_limit_reached(arena), 0);
    assert_null(arena_zalloc(arena, SIZE_MAX / 2, 4));
    assert_true(arena_has_failed(arena));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusal_calls_the_handler),
        cmocka_unit_test(test_failure_sticks),
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_zeroed_after_reuse),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_sizes_that_overflow),
        cmocka_unit_test(test_many_blocks),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_free_takes_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
