#include "http/body.h"

#include <stdlib.h>

#include "base/test-assert.h"

#define MIB ((size_t)1024 * 1024)

/* Adds @size bytes in pieces of at most @piece, byte i being i % 251. */
static int fill(BodyStore *store, Body *body, size_t size, size_t piece) {
    for (size_t end = body->len + size; body->len < end;) {
        size_t room = 0, n = end - body->len < piece ? end - body->len : piece;
        char *to = NULL;
        int r = body_reserve(store, body, &to, &room);

        if (r)
            return r;
        assert_true(room > 0);
        assert_true(body_store_memory(store) >= body->len + room); /* room is memory that counts */
        n = n < room ? n : room;
        for (size_t i = 0; i < n; i++)
            to[i] = (char)((body->len + i) % 251);
        body_advance(body, n);
    }
    return 0;
}

static void assert_filled(Body *body, size_t size) {
    Str bytes = body_seal(body);

    assert_int_equal(bytes.len, size);
    for (size_t i = 0; i < size; i++)
        if (bytes.ptr[i] != (char)(i % 251))
            fail_msg("byte %zu differs", i);
}

static void test_keeps_bytes(void **state) {
    static const struct {
        const char *name;
        size_t announced, size, piece;
    } cases[] = {
        {"nothing", 0, 0, 1},
        {"small", 1000, 1000, 7},
        {"just small", BODY_SMALL, BODY_SMALL, 65536},
        {"just large", BODY_SMALL + 1, BODY_SMALL + 1, 65536},
        {"large", 5 * MIB, 5 * MIB, 100000},
        {"less than announced", 5 * MIB, 1000, 100},
        {"the most", 8 * MIB, 8 * MIB, 1000000},
    };
    _cleanup_(body_store_freep) BodyStore *store = body_store_new(8 * MIB, 16 * MIB, 2);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Body body = {0};

        assert_case(cases[i].name, body_open(store, &body, cases[i].announced, true) == 0);
        assert_case(cases[i].name, fill(store, &body, cases[i].size, cases[i].piece) == 0);
        assert_case(cases[i].name, body_store_memory(store) >= cases[i].size);
        assert_case(cases[i].name, body.size >= cases[i].size);
        assert_case(cases[i].name, !body.map || (uintptr_t)body.data % (2 * MIB) == 0);
        assert_filled(&body, cases[i].size);
        body_close(store, &body);
        assert_int_equal(body_store_memory(store), 0);
    }
}

static void test_refuses_size(void **state) {
    _cleanup_(body_store_freep) BodyStore *store = body_store_new(2 * MIB, 16 * MIB, 2);
    Body body = {0};
    size_t room;
    char *to;

    assert_int_equal(body_open(store, &body, 2 * MIB + 1, true), BODY_E_SIZE);
    assert_int_equal(body_open(store, &body, UINT64_MAX, true), BODY_E_SIZE);
    assert_int_equal(body_open(store, &body, 2 * MIB, true), 0);
    assert_int_equal(fill(store, &body, 2 * MIB, 65536), 0);
    assert_true(body_is_complete(&body));
    assert_int_equal(body_reserve(store, &body, &to, &room), 0);
    assert_int_equal(room, 0);
    assert_filled(&body, 2 * MIB);
    body_close(store, &body);
    body_close(store, &body); /* nothing left to do */
    assert_int_equal(body_store_memory(store), 0);
}

/* Received bytes are counted, Content-Length is not. */
static void test_counts_received_bytes(void **state) {
    _cleanup_(body_store_freep) BodyStore *store = body_store_new(100 * MIB, 8 * MIB, 2);
    Body bodies[50] = {0}, one = {0};

    for (size_t i = 0; i < 50; i++) {
        assert_int_equal(body_open(store, &bodies[i], 100 * MIB, true), 0);
        assert_int_equal(body_store_memory(store), 0);
    }
    assert_int_equal(body_open(store, &one, 1000, true), 0);
    assert_int_equal(fill(store, &one, 1000, 1000), 0);
    assert_int_equal(fill(store, &bodies[0], 6 * MIB, 65536), 0);
    assert_int_equal(fill(store, &bodies[1], 6 * MIB, 65536), BODY_E_MEMORY);
    assert_true(body_store_memory(store) <= 8 * MIB);
    body_close(store, &bodies[0]);
    assert_int_equal(fill(store, &bodies[1], 6 * MIB - bodies[1].len, 65536), 0);
    assert_filled(&bodies[1], 6 * MIB);
    for (size_t i = 0; i < 50; i++)
        body_close(store, &bodies[i]);
    body_close(store, &one);
    assert_int_equal(body_store_memory(store), 0);
}

/* The first bytes of a large body do not count as a huge page. */
static void test_counts_one_byte_of_many_bodies(void **state) {
    _cleanup_(body_store_freep) BodyStore *store = body_store_new(100 * MIB, 512 * MIB, 2);
    Body bodies[300] = {0};

    for (size_t i = 0; i < 300; i++) {
        assert_int_equal(body_open(store, &bodies[i], 100 * MIB, false), 0);
        assert_int_equal(fill(store, &bodies[i], 1, 1), 0);
    }
    assert_true(body_store_memory(store) <= 300 * MIB / 16);
    assert_int_equal(fill(store, &bodies[0], 5 * MIB, 65536), 0);
    assert_true(body_store_memory(store) <= 8 * MIB + 300 * MIB / 16);
    for (size_t i = 0; i < 300; i++)
        body_close(store, &bodies[i]);
    assert_int_equal(body_store_memory(store), 0);
}

/* Unknown clients leave a quarter to known ones, unless one body needs it. */
static void test_unknown_clients_leave_a_reserve(void **state) {
    _cleanup_(body_store_freep) BodyStore *store = body_store_new(8 * MIB, 16 * MIB, 2);
    _cleanup_(body_store_freep) BodyStore *tight = body_store_new(8 * MIB, 8 * MIB, 2);
    Body strangers[2] = {0}, known = {0};

    assert_int_equal(body_open(store, &strangers[0], 8 * MIB, false), 0);
    assert_int_equal(fill(store, &strangers[0], 8 * MIB, 65536), 0);
    assert_int_equal(body_open(store, &strangers[1], 8 * MIB, false), 0);
    assert_int_equal(fill(store, &strangers[1], 8 * MIB, 65536), BODY_E_MEMORY);
    assert_false(body_store_charge(store, 1, false));
    assert_int_equal(body_store_memory(store), 12 * MIB);
    assert_int_equal(body_open(store, &known, 4 * MIB, true), 0);
    assert_int_equal(fill(store, &known, 4 * MIB, 65536), 0);
    body_close(store, &known);
    body_close(store, &strangers[0]);
    body_close(store, &strangers[1]);

    assert_int_equal(body_open(tight, &strangers[0], 8 * MIB, false), 0);
    assert_int_equal(fill(tight, &strangers[0], 8 * MIB, 65536), 0);
    body_close(tight, &strangers[0]);
}

/* Other memory of a request counts with the bodies. */
static void test_counts_other_memory(void **state) {
    _cleanup_(body_store_freep) BodyStore *store = body_store_new(8 * MIB, 8 * MIB, 2);
    Body body = {0};

    assert_true(body_store_charge(store, 6 * MIB, true));
    assert_int_equal(body_store_memory(store), 6 * MIB);
    assert_int_equal(body_open(store, &body, 4 * MIB, true), 0);
    assert_int_equal(fill(store, &body, 4 * MIB, 65536), BODY_E_MEMORY);
    assert_false(body_store_charge(store, 6 * MIB, true));
    assert_false(body_store_charge(store, SIZE_MAX, true));
    body_store_release(store, 6 * MIB);
    assert_int_equal(fill(store, &body, 4 * MIB - body.len, 65536), 0);
    assert_true(body_store_charge(store, 4 * MIB, true));
    assert_false(body_store_charge(store, 1, true));
    assert_true(body_store_charge(store, 0, true));
    body_close(store, &body);
    body_store_release(store, 4 * MIB);
    assert_int_equal(body_store_memory(store), 0);
}

/* Rounding up the count does not refuse a body of exactly body_max. */
static void test_one_body_may_use_all_memory(void **state) {
    const size_t sizes[] = {1, 100000, 10000000, 2 * MIB, 2 * MIB + 1};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        _cleanup_(body_store_freep) BodyStore *store = body_store_new(sizes[i], sizes[i], 1);
        Body first = {0}, second = {0};

        assert_int_equal(body_open(store, &first, sizes[i], true), 0);
        assert_int_equal(fill(store, &first, sizes[i], 65536), 0);
        assert_int_equal(body_open(store, &second, sizes[i], true), 0);
        assert_int_equal(fill(store, &second, 1, 1), BODY_E_MEMORY);
        body_close(store, &first);
        assert_int_equal(fill(store, &second, sizes[i], 65536), 0);
        assert_filled(&second, sizes[i]);
        body_close(store, &second);
        assert_int_equal(body_store_memory(store), 0);
    }
}

static void test_recycles_buffers(void **state) {
    _cleanup_(body_store_freep) BodyStore *store = body_store_new(8 * MIB, 16 * MIB, 1);
    Body a = {0}, b = {0};
    char *kept;

    assert_int_equal(body_open(store, &a, 10, true), 0);
    assert_int_equal(body_open(store, &b, 10, true), 0);
    kept = a.data;
    body_close(store, &a);
    body_close(store, &b); /* over the limit: freed */
    assert_int_equal(body_open(store, &a, 10, true), 0);
    assert_ptr_equal(a.data, kept);
    body_close(store, &a);
}

/* The secret part of a body is wiped before reuse; the rest is not. */
static void test_wipes_secrets(void **state) {
    static const struct {
        const char *name;
        size_t from, len, wiped_from, wiped;
    } cases[] = {
        {"all", 0, 0, 0, 5000},
        {"a part", 10, 3000, 10, 3000},
        {"the end", 4000, 1000, 4000, 1000},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_(body_store_freep) BodyStore *store = body_store_new(8 * MIB, 16 * MIB, 2);
        Body body = {0}, next = {0};

        assert_int_equal(body_open(store, &body, 5000, true), 0);
        assert_int_equal(fill(store, &body, 5000, 5000), 0);
        body.secret = str_of(body_seal(&body).ptr + cases[i].from, cases[i].len);
        body_close(store, &body);
        assert_int_equal(body_open(store, &next, 5000, true), 0);
        for (size_t at = 0; at < 5000; at++) {
            bool is_wiped = at - cases[i].wiped_from < cases[i].wiped;

            assert_case(cases[i].name, next.data[at] == (is_wiped ? 0 : (char)(at % 251)));
        }
        body_close(store, &next);
    }
}

/* A recycled buffer counts in full, even for a small body. */
static void test_counts_recycled_buffers(void **state) {
    _cleanup_(body_store_freep) BodyStore *store = body_store_new(8 * MIB, 2 * MIB, 2);
    Body large = {0}, small = {0};

    assert_int_equal(body_open(store, &large, MIB, true), 0);
    assert_int_equal(body_store_memory(store), 0);
    assert_int_equal(fill(store, &large, MIB, 65536), 0);
    body_close(store, &large);
    assert_int_equal(body_store_memory(store), 0);

    assert_int_equal(body_open(store, &small, 10, true), 0);
    assert_int_equal(body_store_memory(store), MIB);
    assert_int_equal(fill(store, &small, 10, 10), 0);
    assert_int_equal(body_store_memory(store), MIB);
    assert_filled(&small, 10);
    body_close(store, &small);

    assert_true(
        body_store_charge(store, 2 * MIB - 65536, true));    /* not enough for a recycled buffer, */
    assert_int_equal(body_open(store, &small, 10, true), 0); /* but for a new one */
    assert_int_equal(fill(store, &small, 10, 10), 0);
    assert_int_equal(body_store_memory(store), 2 * MIB);
    body_close(store, &small);
    body_store_release(store, 2 * MIB - 65536);
    assert_int_equal(body_store_memory(store), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps_bytes),
        cmocka_unit_test(test_refuses_size),
        cmocka_unit_test(test_counts_received_bytes),
        cmocka_unit_test(test_counts_one_byte_of_many_bodies),
        cmocka_unit_test(test_unknown_clients_leave_a_reserve),
        cmocka_unit_test(test_counts_other_memory),
        cmocka_unit_test(test_one_body_may_use_all_memory),
        cmocka_unit_test(test_recycles_buffers),
        cmocka_unit_test(test_wipes_secrets),
        cmocka_unit_test(test_counts_recycled_buffers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
