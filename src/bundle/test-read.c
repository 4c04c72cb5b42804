/* The limits of a bundle, and failing allocations. (Other invalid bundles:
 * test/program/test_bundle.py.) */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/test-assert.h"
#include "base/test-failing-malloc.h"
#include "bundle/archive.h"
#include "bundle/bundle.h"

#define BYTES_MAX ((size_t)1 << 24)
#define FILES_MAX 4096u /* bundle-read.c */

static void pack_text(Pack *pack, const char *name, const char *text) {
    pack_begin(pack, str_from_c(name));
    pack_write(pack, str_from_c(text));
    pack_end(pack);
}

/* about.json, and empty files. */
static void pack_files(Buf *out, unsigned n) {
    _cleanup_(pack_freep) Pack *pack = pack_new(out, 0);

    assert_non_null(pack);
    pack_text(pack, "b/about.json", "{\"bundle\": 1, \"berth\": \"0\", \"cluster\": \"digest\"}");
    for (unsigned i = 1; i < n; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "b/%u", i);
        pack_text(pack, name, "");
    }
    assert_int_equal(pack_finish(pack), 0);
}

static void test_limits_the_number_of_files(void **state) {
    static const struct {
        unsigned n;
        int want;
        const char *error;
    } cases[] = {
        {1, 0, ""},
        {FILES_MAX, 0, ""},
        {FILES_MAX + 1, BUNDLE_E_MALFORMED, "it has more than 4096 files: it is no bundle"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf file = BUF_INIT(BYTES_MAX);
        _cleanup_(bundle_done) Bundle bundle = {0};
        char error[BUNDLE_ERROR_MAX] = "";

        pack_files(&file, cases[i].n);
        assert_int_equal(bundle_read(buf_str(&file), &bundle, error), cases[i].want);
        assert_string_equal(error, cases[i].error);
        if (cases[i].want == 0)
            assert_int_equal(bundle.recording.n, 0);
    }
}

/* Later names would change those of decisions that were read already. */
static void test_rejects_names_after_decisions(void **state) {
    _cleanup_(buf_done) Buf file = BUF_INIT(BYTES_MAX);
    _cleanup_(pack_freep) Pack *pack = pack_new(&file, 0);
    _cleanup_(bundle_done) Bundle bundle = {0};
    char error[BUNDLE_ERROR_MAX] = "";

    (void)state;
    assert_non_null(pack);
    pack_text(pack, "b/about.json", "{\"bundle\": 1, \"berth\": \"0\", \"cluster\": \"digest\"}");
    pack_text(pack, "b/decisions.jsonl",
        "{\"nodes\":[\"n1\",\"n2\"]}\n"
        "{\"id\":1,\"verb\":\"filter\",\"asked\":[[0,2]],\"became\":\"pp\"}\n"
        "{\"nodes\":[]}\n");
    assert_int_equal(pack_finish(pack), 0);
    assert_int_equal(bundle_read(buf_str(&file), &bundle, error), BUNDLE_E_MALFORMED);
    assert_string_equal(error, "decisions.jsonl, line 3: \"nodes\" must be in the first line");
}

/* Packs lines so short that the file is too small for the memory that they need. */
static void pack_lines(Buf *out, const char *name, const char *line, unsigned n) {
    _cleanup_(gzip_freep) Gzip *gzip = gzip_new();
    _cleanup_(buf_done) Buf content = BUF_INIT(BYTES_MAX);
    static const char zeros[2 * TAR_BLOCK];
    const char *about = "{\"bundle\": 1, \"berth\": \"0\", \"cluster\": \"whole\"}";
    const char *names[] = {"b/about.json", name};
    char head[TAR_BLOCK];

    for (unsigned i = 0; i < n; i++)
        buf_append(&content, str_from_c(line));
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        Str text = i == 0 ? str_from_c(about) : buf_str(&content);

        tar_head(str_from_c(names[i]), text.len, 0, head);
        assert_int_equal(gzip_write(gzip, str_of(head, sizeof(head)), out), 0);
        assert_int_equal(gzip_write(gzip, text, out), 0);
        assert_int_equal(
            gzip_write(gzip, str_of(zeros, (TAR_BLOCK - text.len % TAR_BLOCK) % TAR_BLOCK), out),
            0);
    }
    assert_int_equal(gzip_write(gzip, str_of(zeros, sizeof(zeros)), out), 0);
    assert_int_equal(gzip_end(gzip, out), 0);
}

static void test_memory_limit_is_not_out_of_memory(void **state) {
    static const char *const files[][2] = {
        {"b/decisions.jsonl", "{}\n"},
        {"b/pods.jsonl", "{}\n"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(files); i++) {
        _cleanup_(buf_done) Buf file = BUF_INIT(BYTES_MAX);
        _cleanup_(bundle_done) Bundle bundle = {0};
        char error[BUNDLE_ERROR_MAX] = "";

        pack_lines(&file, files[i][0], files[i][1], 50000);
        assert_int_equal(bundle_read(buf_str(&file), &bundle, error), BUNDLE_E_MALFORMED);
        assert_non_null(strstr(error, "reading it takes more memory than a bundle of"));
    }
}

/* Each allocation fails once: the error must not blame the bundle. */
static void test_failed_allocation_is_reported(void **state) {
    _cleanup_(buf_done) Buf file = BUF_INIT(BYTES_MAX);
    int r = -ENOMEM;

    (void)state;
    pack_lines(&file, "b/pods.jsonl", "{\"pod\": {}}\n", 3);
    for (unsigned i = 1; r != 0; i++) {
        _cleanup_(bundle_done) Bundle bundle = {0};
        char error[BUNDLE_ERROR_MAX] = "";

        assert_true(i < 1000);
        countdown = i;
        r = bundle_read(buf_str(&file), &bundle, error);
        countdown = 0;
        if (r != 0)
            assert_int_equal(r, -ENOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_limit_is_not_out_of_memory),
        cmocka_unit_test(test_failed_allocation_is_reported),
        cmocka_unit_test(test_limits_the_number_of_files),
        cmocka_unit_test(test_rejects_names_after_decisions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
