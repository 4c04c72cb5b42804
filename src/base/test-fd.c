#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/test-assert.h"

#define PIPE_BYTES 4096u
#define N_BYTES (25 * PIPE_BYTES + 7)

static char bytes[N_BYTES];

static void fill(void) {
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i % 251);
}

static void make_pipe(int ends[2], int flags) {
    fill();
    assert_int_equal(pipe2(ends, O_CLOEXEC | flags), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES) >= 0);
}

/* Reads a little at a time, so that a writer cannot write everything at once. */
static void *read_all(void *arg) {
    static char got[N_BYTES + 1];
    size_t n_got = 0;
    ssize_t n;

    do {
        size_t room = sizeof(got) - n_got;

        n = read(*(int *)arg, got + n_got, room < 1000 ? room : 1000);
        n_got += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    return n_got == N_BYTES && memcmp(got, bytes, N_BYTES) == 0 ? arg : NULL;
}

static void test_all_is_written(void **state) {
    pthread_t reader;
    void *same;
    int ends[2];

    (void)state;
    make_pipe(ends, 0);
    assert_int_equal(pthread_create(&reader, NULL, read_all, &ends[0]), 0);
    assert_int_equal(fd_write(ends[1], str_of(bytes, sizeof(bytes))), 0);
    (void)close(ends[1]);
    assert_int_equal(pthread_join(reader, &same), 0);
    assert_non_null(same);
    (void)close(ends[0]);
}

/* The first write is partial; the second one fails. */
static void test_part_is_written(void **state) {
    char got[2 * PIPE_BYTES];
    int ends[2];

    (void)state;
    make_pipe(ends, O_NONBLOCK);
    assert_int_equal(fd_write(ends[1], str_of(bytes, sizeof(bytes))), -EAGAIN);
    assert_int_equal(read(ends[0], got, sizeof(got)), PIPE_BYTES);
    assert_memory_equal(got, bytes, PIPE_BYTES);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_write_to_closed_descriptor(void **state) {
    (void)state;
    assert_int_equal(fd_write(-1, STR_NULL), 0);
    assert_int_equal(fd_write(-1, STR("x")), -EBADF);
}

/* Memory that may hold a secret must not be copied: with room for one byte more it stays. */
static void test_all_is_read(void **state) {
    _cleanup_(buf_done) Buf text = BUF_INIT(PIPE_BYTES);
    const char *room = buf_reserve(&text, 1001);
    int ends[2];

    (void)state;
    make_pipe(ends, 0);
    assert_int_equal(fd_write(ends[1], str_of(bytes, 1000)), 0);
    (void)close(ends[1]);
    assert_int_equal(fd_read(ends[0], &text), 0);
    assert_int_equal(text.len, 1000);
    assert_memory_equal(text.data, bytes, 1000);
    assert_ptr_equal(text.data, room);
    fd_closep(&ends[0]);
    assert_int_equal(fd_read(ends[0], &text), -EBADF);
    fd_closep(&(int){-1});
}

static void test_too_much_to_read(void **state) {
    _cleanup_(buf_done) Buf text = BUF_INIT(1000);
    int ends[2];

    (void)state;
    make_pipe(ends, 0);
    assert_int_equal(fd_write(ends[1], str_of(bytes, 1000)), 0);
    (void)close(ends[1]);
    assert_int_equal(fd_read(ends[0], &text), -EFBIG);
    fd_closep(&ends[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_is_written),
        cmocka_unit_test(test_part_is_written),
        cmocka_unit_test(test_write_to_closed_descriptor),
        cmocka_unit_test(test_all_is_read),
        cmocka_unit_test(test_too_much_to_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
