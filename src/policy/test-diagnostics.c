/*
 * Messages about invalid policies: test/data/policy/errors.
 *
 * Compiling NAME.yaml, or the files of the folder NAME in order, must print exactly NAME.expected.
 * With UPDATE_EXPECTED in the environment, the expected texts are rewritten; check them before
 * committing.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test-assert.h"
#include "policy/program.h"
#include "policy/test-scene.h"

#define FILES_MAX 8u

typedef struct Sources {
    Arena *arena;
    PolicySource items[FILES_MAX];
    size_t n;
} Sources;

static Str base_name(const char *path, Arena *arena) {
    Str name = str_from_c(path);

    return arena_copy(arena, str_skip(name, str_find_last(name, '/') + 1));
}

static void add_source(const char *path, void *user) {
    Sources *sources = user;
    PolicySource *source = &sources->items[sources->n++];

    assert_true(sources->n <= FILES_MAX);
    source->file = base_name(path, sources->arena);
    source->text = scene_read(path, sources->arena);
}

static void update(const char *path, Str text) {
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text.ptr, 1, text.len, file), text.len);
    (void)fclose(file);
}

static void check_messages(const char *path, void *user) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)64 << 20);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 20);
    Sources sources = {.arena = arena};
    DiagList diags = DIAG_LIST_IN(arena);
    Str stem = str_from_c(path);
    char input[4096];
    struct stat status;
    int r;

    (void)user;
    stem = str_take(stem, stem.len - strlen(".expected"));
    (void)snprintf(input, sizeof(input), "%.*s", STR_FMT(stem));
    if (stat(input, &status) == 0 && S_ISDIR(status.st_mode)) {
        assert_true(scene_each(input, ".yaml", add_source, &sources) > 0);
    } else {
        (void)snprintf(input, sizeof(input), "%.*s.yaml", STR_FMT(stem));
        add_source(input, &sources);
    }

    r = program_compile(sources.items, sources.n, &diags, &program);
    assert_case(path, r == (diags.n_errors > 0 ? PROGRAM_E_INVALID : 0));
    assert_case(path, (program != NULL) == (r == 0));
    diag_list_print(&diags, /* colour= */ false, &text);
    if (getenv("UPDATE_EXPECTED"))
        update(path, buf_str(&text));
    assert_text(path, buf_str(&text), scene_read(path, arena).ptr);
}

/* Every input needs an expected text; without one it would test nothing. */
static void check_has_expected(const char *path, void *user) {
    char expected[4096];
    Str stem = str_from_c(path);

    (void)user;
    stem = str_take(stem, stem.len - strlen(".yaml"));
    (void)snprintf(expected, sizeof(expected), "%.*s.expected", STR_FMT(stem));
    if (getenv("UPDATE_EXPECTED") && access(expected, F_OK) != 0)
        update(expected, STR_NULL);
    assert_case(path, access(expected, F_OK) == 0);
}

static void test_messages(void **state) {
    (void)state;
    assert_true(scene_each(TEST_DATA "/policy/errors", ".yaml", check_has_expected, NULL) > 0);
    assert_true(scene_each(TEST_DATA "/policy/errors", ".expected", check_messages, NULL) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
