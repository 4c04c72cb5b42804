#include "suite/suite-files.h"

#include <errno.h>

#include "base/buf.h"
#include "base/test-folder.h"

#define BUDGET ((size_t)16 << 20)

typedef struct Found {
    Folder folder;
    Arena *arena;
} Found;

static void found_init(Found *found) {
    static const char *const files[] = {
        "b.test.yaml", "a.test.yml", "c.yaml", ".d.test.yaml", "in/x.test.yaml", "in/e.yaml"};

    folder_init(&found->folder);
    found->arena = arena_new(BUDGET);
    assert_int_equal(mkdir(folder_path(&found->folder, "in"), 0700), 0);
    assert_int_equal(mkdir(folder_path(&found->folder, "none"), 0700), 0);
    assert_int_equal(symlink("..", folder_path(&found->folder, "in/loop")), 0);
    assert_int_equal(symlink("in", folder_path(&found->folder, "link")), 0);
    for (size_t i = 0; i < ELEMENTS_OF(files); i++)
        (void)folder_write(&found->folder, files[i], STR("x"));
}

static void found_done(Found *found) {
    folder_done(&found->folder);
    arena_free(found->arena);
}

/* Compares the files of @path, without the folder, or the error. */
static void check(Found *found, const char *path, const char *wanted) {
    _cleanup_(buf_done) Buf got = BUF_INIT(4096);
    char error[SUITE_FILES_ERROR_MAX], whole[512];
    const char *paths[] = {whole};
    SuiteFiles files;
    size_t skipped = strlen(found->folder.path) + 1;

    (void)snprintf(whole, sizeof(whole), "%s", folder_path(&found->folder, path));
    if (suite_files_find(paths, 1, found->arena, &files, error) < 0)
        buf_printf(&got, "%s ", error + skipped);
    for (size_t i = 0; i < files.paths.n; i++)
        buf_printf(&got, "%s ", files.paths.items[i] + skipped);
    assert_text(path, buf_str(&got), wanted);
}

static void test_files_folders_and_patterns(void **state) {
    Found found;

    (void)state;
    found_init(&found);
    check(&found, "", "a.test.yml b.test.yaml in/x.test.yaml ");
    check(&found, "in", "in/x.test.yaml ");
    check(&found, "in/", "in/x.test.yaml ");
    check(&found, "link", "link/x.test.yaml ");
    check(&found, "c.yaml", "c.yaml ");
    check(&found, "*.yaml", "b.test.yaml c.yaml ");
    check(&found, "i*/*.yaml", "in/e.yaml in/x.test.yaml ");
    found_done(&found);
}

static void test_paths_that_mean_no_file(void **state) {
    Found found;

    (void)state;
    found_init(&found);
    check(&found, "none", "none: contains no file NAME.test.yaml ");
    check(&found, "absent.yaml", "absent.yaml: No such file or directory ");
    check(&found, "q*.yaml", "q*.yaml: No such file or directory ");
    found_done(&found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_folders_and_patterns),
        cmocka_unit_test(test_paths_that_mean_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
