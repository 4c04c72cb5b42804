/* The limits of a bundle. (Other invalid bundles: test/program/test_bundle.py.) */

#include <stdio.h>

#include "base/test-assert.h"
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

static void test_many_files(void **state) {
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
