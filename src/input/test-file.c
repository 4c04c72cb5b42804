#include "input/file.h"

#include <errno.h>
#include <fcntl.h>

#include "base/test-folder.h"

static void test_read(void **state) {
    static const Str texts[] = {STR(""), STR("a"), STR("a\0b\n"), STR("\xff\xfe")};
    Folder folder;

    (void)state;
    folder_init(&folder);
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(1 << 20);
        char error[FILE_ERROR_MAX];

        assert_int_equal(file_read(folder_write(&folder, "f", texts[i]), &text, error), 0);
        assert_true(str_eq(buf_str(&text), texts[i]));
    }
    folder_done(&folder);
}

/* The limit is exact: a file of that size is read, one byte more is an error. */
static void test_ceiling(void **state) {
    enum { CEILING = 100000 };
    static const struct {
        size_t len;
        int result;
    } cases[] = {
        {CEILING - 1, 0},
        {CEILING, 0},
        {CEILING + 1, -EFBIG},
        {2 * CEILING, -EFBIG},
    };
    _cleanup_(buf_done) Buf source = BUF_INIT(2 * CEILING);
    Folder folder;

    (void)state;
    folder_init(&folder);
    buf_append_repeat(&source, 'x', 2 * CEILING);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(CEILING);
        char error[FILE_ERROR_MAX] = "";
        Str written = str_take(buf_str(&source), cases[i].len);

        assert_int_equal(
            file_read(folder_write(&folder, "f", written), &text, error), cases[i].result);
        if (cases[i].result == 0)
            assert_int_equal(text.len, cases[i].len);
        else
            assert_non_null(strstr(error, "/f: is larger than the limit of 100000 bytes"));
    }
    folder_done(&folder);
}

static void test_unreadable(void **state) {
    _cleanup_(buf_done) Buf text = BUF_INIT(1 << 20);
    char error[FILE_ERROR_MAX];
    Folder folder;

    (void)state;
    folder_init(&folder);
    assert_int_equal(file_read(folder_path(&folder, "none"), &text, error), -ENOENT);
    assert_non_null(strstr(error, "/none: No such file or directory"));
    assert_int_equal(file_read(folder.path, &text, error), -EISDIR);
    assert_non_null(strstr(error, ": is a folder, not a file"));
    assert_int_equal(text.len, 0);
    folder_done(&folder);
}

/* Two files joined: reading appends to the Buf. */
static void test_append(void **state) {
    _cleanup_(buf_done) Buf text = BUF_INIT(1 << 20);
    char error[FILE_ERROR_MAX];
    Folder folder;

    (void)state;
    folder_init(&folder);
    assert_int_equal(file_read(folder_write(&folder, "a", STR("one ")), &text, error), 0);
    assert_int_equal(file_read(folder_write(&folder, "b", STR("two")), &text, error), 0);
    assert_text("both", buf_str(&text), "one two");
    folder_done(&folder);
}

/* --- fingerprints ------------------------------------------------------------------------ */

static void set_time(const char *path, time_t seconds) {
    struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_fingerprint_of_file(void **state) {
    Folder folder;
    const char *path;
    uint64_t first, second;

    (void)state;
    folder_init(&folder);
    assert_int_equal(file_fingerprint(folder_path(&folder, "none")), 0);
    path = folder_write(&folder, "f", STR("one"));
    set_time(path, 1000);
    first = file_fingerprint(path);
    assert_true(first != 0 && first == file_fingerprint(path));
    set_time(path, 1001); /* as if written again with the same size */
    second = file_fingerprint(path);
    assert_true(second != first);
    (void)folder_write(&folder, "f", STR("longer"));
    set_time(path, 1001);
    assert_true(file_fingerprint(path) != second);
    folder_done(&folder);
}

/* A mounted ConfigMap: files are symlinks into "..data", which is swapped whole. */
static void test_fingerprint_of_swap(void **state) {
    Folder folder;
    char data[128], next[128], link[128];
    uint64_t before, in_folder_before;

    (void)state;
    folder_init(&folder);
    (void)snprintf(data, sizeof(data), "%s/..data", folder.path);
    (void)snprintf(next, sizeof(next), "%s/..next", folder.path);
    (void)snprintf(link, sizeof(link), "%s/p.yaml", folder.path);
    assert_int_equal(mkdir(folder_path(&folder, "..v1"), 0700), 0);
    assert_int_equal(mkdir(folder_path(&folder, "..v2"), 0700), 0);
    (void)folder_write(&folder, "..v1/p.yaml", STR("one"));
    (void)folder_write(&folder, "..v2/p.yaml", STR("two"));
    set_time(folder_path(&folder, "..v1/p.yaml"), 1000);
    set_time(folder_path(&folder, "..v2/p.yaml"), 1000);
    assert_int_equal(symlink("..v1", data), 0);
    assert_int_equal(symlink("..data/p.yaml", link), 0);
    set_time(folder.path, 1000);

    before = file_fingerprint(link);
    in_folder_before = file_fingerprint(folder.path);
    assert_int_equal(symlink("..v2", next), 0);
    assert_int_equal(rename(next, data), 0);
    set_time(folder.path, 1000); /* even if the folder's own time does not change */
    assert_true(file_fingerprint(link) != before);
    assert_true(file_fingerprint(folder.path) != in_folder_before);
    folder_done(&folder);
}

static void test_fingerprint_of_folder(void **state) {
    Folder folder;
    uint64_t one, two, renamed;

    (void)state;
    folder_init(&folder);
    (void)folder_write(&folder, "a", STR("x"));
    set_time(folder_path(&folder, "a"), 1000);
    set_time(folder.path, 1000);
    one = file_fingerprint(folder.path);
    (void)folder_write(&folder, "b", STR("x"));
    set_time(folder_path(&folder, "b"), 1000);
    set_time(folder.path, 1000);
    two = file_fingerprint(folder.path);
    assert_true(one != two);
    assert_true(two == file_fingerprint(folder.path));
    assert_int_equal(chdir(folder.path), 0);
    assert_int_equal(rename("b", "c"), 0);
    assert_int_equal(chdir("/"), 0);
    set_time(folder.path, 1000);
    renamed = file_fingerprint(folder.path);
    assert_true(renamed != two); /* names count: policies are read in their order */
    folder_done(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_fingerprint_of_file),
        cmocka_unit_test(test_fingerprint_of_swap),
        cmocka_unit_test(test_fingerprint_of_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
