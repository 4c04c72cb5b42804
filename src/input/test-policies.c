#include "input/policies.h"

#include <errno.h>

#include "base/test-folder.h"

#define POLICY(name)                                                                               \
    "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: " name "}\n"          \
    "spec: {filters: [{name: r, nodeReady: true}]}\n"

static int load(const char *const *paths, size_t n_paths, Arena *arena, Program **ret, Buf *text) {
    DiagList diags = DIAG_LIST_IN(arena);
    int r = policies_load(paths, n_paths, &diags, ret);

    diag_list_print(&diags, /* colour= */ false, text);
    return r;
}

/* Sorted by name, visible YAML files only; symlinks count as files. */
static void test_folder(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT(65536);
    const char *path;
    Folder folder;
    int r;

    (void)state;
    folder_init(&folder);
    (void)folder_write(&folder, "20-b.yaml", STR(POLICY("b")));
    (void)folder_write(&folder, "10-c.yml", STR(POLICY("c")));
    (void)folder_write(&folder, "30-a.yaml", STR(POLICY("a") "---\n" POLICY("a2")));
    (void)folder_write(&folder, ".hidden.yaml", STR("not: a policy\n"));
    (void)folder_write(&folder, "README.md", STR("not a policy\n"));
    (void)folder_write(&folder, "old.yaml.bak", STR("not a policy\n"));
    (void)folder_write(&folder, "yaml", STR("not a policy\n"));
    assert_int_equal(mkdir(folder_path(&folder, "..data"), 0700), 0);
    (void)folder_write(&folder, "..data/d.yaml", STR(POLICY("d")));
    assert_int_equal(symlink("..data/d.yaml", folder_path(&folder, "15-d.yaml")), 0);
    path = folder.path;
    r = load(&path, 1, arena, &program, &text);
    folder_done(&folder); /* the files may be deleted */
    assert_text("messages", buf_str(&text), "");
    assert_int_equal(r, 0);
    assert_int_equal(program->n_policies, 5);
    assert_text("10", program->policies[0].name, "c");
    assert_text("15", program->policies[1].name, "d");
    assert_text("20", program->policies[2].name, "b");
    assert_text("30", program->policies[3].name, "a");
    assert_text("30", program->policies[4].name, "a2");
}

static void test_several_paths(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT(65536);
    char one[512], two[512];
    const char *const paths[] = {two, one};
    Folder folder;

    (void)state;
    folder_init(&folder);
    (void)snprintf(one, sizeof(one), "%s", folder_write(&folder, "one", STR(POLICY("one"))));
    (void)snprintf(two, sizeof(two), "%s", folder_write(&folder, "two", STR(POLICY("two"))));
    assert_int_equal(load(paths, 2, arena, &program, &text), 0);
    assert_text("as given", program->policies[0].name, "two");
    assert_text("as given", program->policies[1].name, "one");
    folder_done(&folder);
}

static void test_no_path(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT(65536);

    (void)state;
    assert_int_equal(load(NULL, 0, arena, &program, &text), 0);
    assert_int_equal(program->n_policies, 0);
}

/* All files are read, and every error in any of them is reported; @folder stands for the path of
 * the folder. */
static void check_error(Folder *folder, const char *path, int outcome, const char *want) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT(65536);
    _cleanup_(buf_done) Buf shown = BUF_INIT(65536);
    Str rest, place = str_from_c(folder->path);
    const char *found;

    assert_int_equal(load(&path, 1, arena, &program, &text), outcome);
    assert_null(program);
    rest = buf_str(&text);
    while ((found = memmem(rest.ptr, rest.len, place.ptr, place.len))) {
        buf_append(&shown, str_of(rest.ptr, (size_t)(found - rest.ptr)));
        buf_append(&shown, STR("@folder"));
        rest = str_skip(rest, (size_t)(found - rest.ptr) + place.len);
    }
    buf_append(&shown, rest);
    assert_text(path, buf_str(&shown), want);
}

static void test_errors(void **state) {
    Folder folder;

    (void)state;
    folder_init(&folder);
    check_error(&folder, folder.path, POLICIES_E_INVALID,
        "error: @folder: contains no *.yaml file\n1 error\n");
    check_error(&folder, folder_path(&folder, "none.yaml"), POLICIES_E_UNREADABLE,
        "error: @folder/none.yaml: No such file or directory\n1 error\n");

    (void)folder_write(&folder, "a.yaml", STR(POLICY("same")));
    (void)folder_write(&folder, "b.yaml", STR(POLICY("same")));
    (void)folder_write(&folder, "c.yaml", STR("apiVersion: [\n"));
    (void)folder_write(&folder, "d.yaml", STR(""));
    assert_int_equal(symlink("nowhere", folder_path(&folder, "e.yaml")), 0);
    assert_int_equal(mkdir(folder_path(&folder, "f.yaml"), 0700), 0);
    check_error(&folder, folder.path, POLICIES_E_UNREADABLE,
        "error: @folder/e.yaml: No such file or directory\n"
        "error: @folder/f.yaml: is a folder, not a file\n"
        "@folder/b.yaml:3:18: error: there are two policies named \"same\"\n"
        "  3 | metadata: {name: same}\n"
        "    |                  ^^^^\n"
        "  = the other is at @folder/a.yaml:3\n"
        "@folder/c.yaml:1:13: error: the closing ] is missing\n"
        "  1 | apiVersion: [\n"
        "    |             ^\n"
        "@folder/d.yaml: error: contains no policy\n"
        "  = remove the file if this is intended\n"
        "5 errors\n");
    folder_done(&folder);
}

static void test_too_many(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT(65536);
    const char *path;
    Folder folder;

    (void)state;
    folder_init(&folder);
    for (unsigned i = 0; i < POLICIES_FILES_MAX + 3; i++) {
        char name[32], policy[256];

        (void)snprintf(name, sizeof(name), "%04u.yaml", i);
        (void)snprintf(policy, sizeof(policy),
            "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: p%u}\n"
            "spec: {filters: [{name: r, nodeReady: true}]}\n",
            i);
        (void)folder_write(&folder, name, str_from_c(policy));
    }
    path = folder.path;
    assert_int_equal(load(&path, 1, arena, &program, &text), POLICIES_E_INVALID);
    assert_text("once", buf_str(&text), "error: there are more than 256 policy files\n1 error\n");
    folder_done(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_several_paths),
        cmocka_unit_test(test_no_path),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
