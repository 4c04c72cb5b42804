/* Compares each kernel with a simple loop. */

#include "base/rng.h"
#include "json/scan.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/test-assert.h"

static const ScanKernel kernels[] = {SCAN_PORTABLE, SCAN_AVX2, SCAN_NEON};

/* A quote after an odd number of backslashes does not count. */
static bool naive_is_quote(Str text, size_t at) {
    size_t backslashes = 0;

    while (backslashes < at && text.ptr[at - backslashes - 1] == '\\')
        backslashes++;
    return text.ptr[at] == '"' && backslashes % 2 == 0;
}

static size_t naive_container(Str text) {
    bool in_string = false;
    size_t depth = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (naive_is_quote(text, i))
            in_string = !in_string;
        if (!in_string && (c == '{' || c == '['))
            depth++;
        if (!in_string && (c == '}' || c == ']') && --depth == 0)
            return i + 1;
    }
    return 0;
}

static size_t naive_string(Str text) {
    for (size_t i = 0; i < text.len; i++)
        if (naive_is_quote(text, i))
            return i;
    return SIZE_MAX;
}

static size_t naive_plain(Str text) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c < 0x20 || c > 0x7f || c == '"' || c == '\\')
            return i;
    }
    return text.len;
}

/* Returns a heap copy of the exact size, so that a sanitizer detects reads outside of it. */
static Str exact_copy(Str text) {
    char *copy = malloc(text.len > 0 ? text.len : 1);

    assert_non_null(copy);
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    return str_of(copy, text.len);
}

static void check_kernels(Str input) {
    Str text = exact_copy(input);
    bool opens = text.len > 0 && (text.ptr[0] == '{' || text.ptr[0] == '[');

    for (size_t k = 0; k < ELEMENTS_OF(kernels); k++) {
        if (!scan_use_kernel(kernels[k]))
            continue;
        if (opens)
            assert_int_equal(scan_container(text), naive_container(text));
        assert_int_equal(scan_string(text), naive_string(text));
        assert_int_equal(scan_plain(text), naive_plain(text));
        for (size_t at = 0; at + 64 <= text.len; at += 64) {
            uint64_t stops = scan_stops(text.ptr + at);
            size_t plain = naive_plain(str_of(text.ptr + at, 64));

            assert_int_equal(stops == 0 ? 64 : __builtin_ctzll(stops), plain);
        }
    }
    free((void *)(uintptr_t)text.ptr);
}

static void test_container(void **state) {
    static const struct {
        const char *text;
        size_t len;
    } cases[] = {
        {"{}", 2},
        {"[]", 2},
        {"{} ", 2},
        {"{}}", 2},
        {"[[],{}]x", 7},
        {"{\"a\":\"}\"}", 9},
        {"{\"a\":\"\\\"}\"}", 11},
        {"{\"a\":\"\\\\\"}\"}", 10},
        {"[1,2}", 5}, /* the kind of bracket is not checked */
        {"{", 0},
        {"{\"a\":[}", 0},
        {"{\"a", 0},
        {"{\"a\\\"}", 0},
    };

    for (size_t k = 0; k < ELEMENTS_OF(kernels); k++) {
        if (!scan_use_kernel(kernels[k]))
            continue;
        for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
            assert_int_equal(scan_container(str_from_c(cases[i].text)), cases[i].len);
    }
}

/* Tests a container that ends at each position of a block, also cut off one byte after it. */
static void test_container_ends(void **state) {
    char text[300];

    for (size_t len = 2; len < sizeof(text); len++) {
        memset(text, 'x', sizeof(text));
        text[0] = '[';
        text[len - 1] = ']';
        check_kernels(str_of(text, sizeof(text)));
        check_kernels(str_of(text, len));
        check_kernels(str_of(text, len - 1));
    }
}

static void test_deep(void **state) {
    size_t depth = 100000;
    char *text = malloc(2 * depth);

    assert_non_null(text);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    for (size_t k = 0; k < ELEMENTS_OF(kernels); k++) {
        if (!scan_use_kernel(kernels[k]))
            continue;
        assert_int_equal(scan_container(str_of(text, 2 * depth)), 2 * depth);
        assert_int_equal(scan_container(str_of(text, 2 * depth - 1)), 0);
    }
    free(text);
}

/* Tests runs of backslashes of every length around the border of two blocks, followed by a
 * quote. */
static void test_escapes(void **state) {
    char text[260];

    for (size_t start = 2; start < 70; start++) {
        for (size_t run = 0; run < 140; run++) {
            memset(text, 'x', sizeof(text));
            text[0] = '{';
            text[1] = '"';
            memset(text + start, '\\', run);
            text[start + run] = '"';
            text[start + run + 1] = '}';
            text[250] = '"';
            text[251] = '}';
            check_kernels(str_of(text, sizeof(text)));
        }
    }
}

static void test_random(void **state) {
    static const char *const alphabets[] = {
        "{}[]\"\\x",
        "{[\"\\\\\\\\",
        "abcdefghijklmnopqrstuvwxyz{}[]",
        "[[[[]]]]x \"",
        "\x1f\x20\x7f\x80\xff!\"#[\\]",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
    };
    Rng rng = {.state = 1};
    char text[400];

    for (size_t round = 0; round < 30000; round++) {
        const char *alphabet = alphabets[round % ELEMENTS_OF(alphabets)];
        size_t n = strlen(alphabet), len = rng_pick(&rng, sizeof(text));

        for (size_t i = 0; i < len; i++)
            text[i] = alphabet[rng_pick(&rng, n)];
        if (len > 0 && round % 4 != 0)
            text[0] = round % 2 ? '{' : '[';
        check_kernels(str_of(text, len));
    }
}

/* Tests each byte at each position of a block and of the rest. */
static void test_bytes(void **state) {
    char text[64 + 33];

    for (size_t place = 0; place < sizeof(text); place++) {
        for (int byte = 0; byte < 256; byte++) {
            memset(text, 'x', sizeof(text));
            text[place] = (char)byte;
            check_kernels(str_of(text, sizeof(text)));
        }
    }
}

static void test_kernel_choice(void **state) {
    for (size_t k = 0; k < ELEMENTS_OF(kernels); k++)
        if (scan_use_kernel(kernels[k]))
            assert_int_equal(scan_kernel(), kernels[k]);
    assert_true(scan_use_kernel(SCAN_PORTABLE));
    assert_string_equal(scan_kernel_name(SCAN_PORTABLE), "portable");
    assert_string_equal(scan_kernel_name(SCAN_AVX2), "avx2");
    assert_string_equal(scan_kernel_name(SCAN_NEON), "neon");
}

static bool first_container(void) {
    return scan_container(STR("{}x")) == 2;
}

static bool first_string(void) {
    return scan_string(STR("node-1\"")) == 6;
}

static bool first_plain(void) {
    return scan_plain(STR("node-1\"")) == 6;
}

static bool first_stops(void) {
    char bytes[64];

    memset(bytes, 'x', sizeof(bytes));
    bytes[5] = '"';
    return scan_stops(bytes) == 1u << 5;
}

static bool first_kernel(void) {
    return scan_use_kernel(scan_kernel());
}

/* Calls each function before a kernel was chosen, in its own process. Must be the first test. */
static void test_first_call(void **state) {
    static bool (*const calls[])(void) = {
        first_container, first_string, first_plain, first_stops, first_kernel};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(calls); i++) {
        pid_t child = fork();
        int status = -1;

        assert_true(child >= 0);
        if (child == 0)
            exit(calls[i]() ? 0 : 1);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

static void test_no_such_kernel(void **state) {
    ScanKernel before = scan_kernel();

    (void)state;
    assert_false(scan_use_kernel((ScanKernel)99));
    assert_int_equal(scan_kernel(), before);
    assert_string_equal(scan_kernel_name((ScanKernel)99), "unknown");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_call),
        cmocka_unit_test(test_container),
        cmocka_unit_test(test_container_ends),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_kernel_choice),
        cmocka_unit_test(test_no_such_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
