#include "input/dump-file.h"

#include <errno.h>
#include <fcntl.h>

#include "base/test-folder.h"
#include "cluster/difference.h"
#include "input/objects.h"

static const char cluster[] = "{\"kind\":\"List\",\"items\":["
                              "{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"}},"
                              "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"uid\":\"u\"},"
                              "\"spec\":{\"nodeName\":\"a\"}}]}";

static Snapshot *load(const char *path) {
    char error[OBJECTS_ERROR_MAX];
    Snapshot *snapshot = NULL;

    if (cluster_load(path, &snapshot, error) < 0)
        fail_msg("%s", error);
    return snapshot;
}

static void assert_same(const Snapshot *a, const Snapshot *b) {
    _cleanup_(buf_done) Buf lines = BUF_INIT(4096);
    Difference difference;

    assert_int_equal(difference_find(a, b, 10, &lines, &difference), 0);
    assert_true(difference_is_none(&difference));
}

static size_t n_entries(const Folder *folder) {
    DIR *opened = opendir(folder->path);
    const struct dirent *entry;
    size_t n = 0;

    assert_non_null(opened);
    while ((entry = readdir(opened)))
        n += entry->d_name[0] != '.';
    assert_int_equal(closedir(opened), 0);
    return n;
}

/* An existing file is replaced, also one left by an interrupted dump; only the owner may read
 * it. */
static void test_written_whole(void **state) {
    Folder folder;
    Snapshot *before, *after;
    char error[DUMP_FILE_ERROR_MAX];
    struct stat status;

    (void)state;
    folder_init(&folder);
    before = load(folder_write(&folder, "cluster.json", STR(cluster)));
    (void)folder_write(&folder, "dump.json", STR("something else"));
    (void)folder_write(&folder, "dump.json.new", STR("{\"kind\":"));
    assert_int_equal(dump_file_write(folder_path(&folder, "dump.json"), before, error), 0);

    assert_int_equal(stat(folder_path(&folder, "dump.json"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(n_entries(&folder), 2);
    after = load(folder_path(&folder, "dump.json"));
    assert_same(before, after);
    snapshot_unref(before);
    snapshot_unref(after);
    folder_done(&folder);
}

/* After a failure no temporary file is left. */
static void test_not_written(void **state) {
    static const struct {
        const char *name, *error;
    } cases[] = {
        {"folder", "Is a directory"},
        {"nowhere/dump.json", "No such file or directory"},
    };
    Folder folder;
    Snapshot *snapshot;

    (void)state;
    folder_init(&folder);
    snapshot = load(folder_write(&folder, "cluster.json", STR(cluster)));
    assert_int_equal(mkdir(folder_path(&folder, "folder"), 0700), 0);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char error[DUMP_FILE_ERROR_MAX], wanted[2 * DUMP_FILE_ERROR_MAX];
        const char *path = folder_path(&folder, cases[i].name);

        (void)snprintf(wanted, sizeof(wanted), "cannot write %s: %s", path, cases[i].error);
        assert_true(dump_file_write(path, snapshot, error) < 0);
        assert_string_equal(error, wanted);
        assert_int_equal(n_entries(&folder), 2);
    }
    snapshot_unref(snapshot);
    folder_done(&folder);
}

static void test_name_too_long(void **state) {
    char path[5000], error[DUMP_FILE_ERROR_MAX];
    Folder folder;
    Snapshot *snapshot;

    (void)state;
    folder_init(&folder);
    snapshot = load(folder_write(&folder, "cluster.json", STR(cluster)));
    memset(path, 'a', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(dump_file_write(path, snapshot, error), -ENAMETOOLONG);
    snapshot_unref(snapshot);
    folder_done(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_whole),
        cmocka_unit_test(test_not_written),
        cmocka_unit_test(test_name_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
