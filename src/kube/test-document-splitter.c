#include "kube/document-splitter.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test-assert.h"

#define DOCUMENT_MAX 32u

/* Splits @stream, given in pieces: the documents joined by '|', and the last result of
 * splitter_next(). */
static void split(
    Str stream, size_t piece, char *ret, size_t size, int *ret_r, size_t *ret_pending) {
    DocumentSplitter splitter = SPLITTER_INIT(DOCUMENT_MAX);
    size_t used = 0;
    int r = 0;

    ret[0] = '\0';
    while (stream.len > 0 && r == 0) {
        Str bytes = str_take(stream, piece), document;

        stream = str_skip(stream, piece);
        while ((r = splitter_next(&splitter, &bytes, &document)) == SPLITTER_DOCUMENT)
            used += (size_t)snprintf(
                ret + used, size - used, "%s%.*s", used ? "|" : "", STR_FMT(document));
    }
    *ret_r = r;
    *ret_pending = splitter.is_given ? 0 : splitter.half.len;
    splitter_done(&splitter);
}

static void test_any_split_gives_the_same_documents(void **state) {
    static const struct {
        const char *name, *stream, *want;
        int r;
        size_t pending;
    } cases[] = {
        {"empty", "", "", 0, 0},
        {"one", "{\"a\":1}\n", "{\"a\":1}", 0, 0},
        {"two", "{}\n[]\n", "{}|[]", 0, 0},
        {"half", "{}\n{\"a\"", "{}", 0, 4},
        {"only half", "{\"a\"", "", 0, 4},
        {"empty lines and carriage returns", "\n\r\n  \n{}\r\n\n[]\n", "{}|[]", 0, 0},
        {"as long as the limit",
            "01234567890123456789012345678901\n", //
            "01234567890123456789012345678901", 0, 0},
        {"one byte too long", "{}\n012345678901234567890123456789012\n{}\n", "{}",
            SPLITTER_TOO_LARGE, SIZE_MAX},
        {"too long without an end", "0123456789012345678901234567890123456789", "",
            SPLITTER_TOO_LARGE, SIZE_MAX},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        for (size_t piece = 1; piece <= 64; piece++) {
            char got[256];
            size_t pending;
            int r;

            split(str_from_c(cases[i].stream), piece, got, sizeof(got), &r, &pending);
            assert_text(cases[i].name, str_from_c(got), cases[i].want);
            assert_case(cases[i].name, r == cases[i].r);
            assert_case(cases[i].name, cases[i].pending == SIZE_MAX || pending == cases[i].pending);
        }
}

static void test_whole_lines_are_not_copied(void **state) {
    DocumentSplitter splitter = SPLITTER_INIT(DOCUMENT_MAX);
    static const char text[] = "{\"a\":1}\n{}\n";
    Str bytes = str_of(text, sizeof(text) - 1), document;

    assert_int_equal(splitter_next(&splitter, &bytes, &document), SPLITTER_DOCUMENT);
    assert_ptr_equal(document.ptr, text);
    assert_int_equal(splitter_next(&splitter, &bytes, &document), SPLITTER_DOCUMENT);
    assert_ptr_equal(document.ptr, text + 8);
    assert_int_equal(splitter_next(&splitter, &bytes, &document), 0);
    assert_null(splitter.half.data);
    splitter_done(&splitter);
}

static void test_large_buffers_are_freed(void **state) {
    DocumentSplitter splitter = SPLITTER_INIT(4 * SPLITTER_KEEP_MAX);
    size_t size = 2 * SPLITTER_KEEP_MAX;
    char *text = malloc(size);
    Str bytes, document;

    assert_non_null(text);
    memset(text, 'x', size);
    bytes = str_of(text, size);
    assert_int_equal(splitter_next(&splitter, &bytes, &document), 0);
    assert_true(splitter.half.size >= size);
    bytes = STR("\n{}\n");
    assert_int_equal(splitter_next(&splitter, &bytes, &document), SPLITTER_DOCUMENT);
    assert_int_equal(document.len, size);
    assert_int_equal(splitter_next(&splitter, &bytes, &document), SPLITTER_DOCUMENT);
    assert_true(splitter.half.size <= SPLITTER_KEEP_MAX);
    splitter_done(&splitter);
    free(text);
}

static void test_usable_after_too_large(void **state) {
    DocumentSplitter splitter = SPLITTER_INIT(4);
    Str bytes = STR("123456"), document;

    assert_int_equal(splitter_next(&splitter, &bytes, &document), SPLITTER_TOO_LARGE);
    bytes = STR("\n");
    assert_int_equal(splitter_next(&splitter, &bytes, &document), SPLITTER_TOO_LARGE);
    splitter_done(&splitter);
    bytes = STR("{}\n");
    assert_int_equal(splitter_next(&splitter, &bytes, &document), SPLITTER_DOCUMENT);
    splitter_done(&splitter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_split_gives_the_same_documents),
        cmocka_unit_test(test_whole_lines_are_not_copied),
        cmocka_unit_test(test_large_buffers_are_freed),
        cmocka_unit_test(test_usable_after_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
