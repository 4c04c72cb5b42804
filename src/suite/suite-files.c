/* Finds test files in folders and by patterns. */

#include "suite/suite-files.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define DEPTH_MAX 32u

typedef struct FileSearch {
    Arena *arena;
    SuiteFiles *files;
    char *error;
} FileSearch;

static int fail(FileSearch *search, int r, const char *path, const char *what) {
    (void)snprintf(search->error, SUITE_FILES_ERROR_MAX, "%s: %s", path, what);
    return r;
}

static int add_file(FileSearch *search, const char *path) {
    Str kept = arena_copy(search->arena, str_from_c(path));

    if (search->files->paths.n == SUITE_FILES_MAX)
        return fail(search, -E2BIG, path, "there are too many test files");
    return kept.ptr && VEC_ADD(&search->files->paths, search->arena, kept.ptr) ? 0 : -ENOMEM;
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static int add_folder(FileSearch *search, const char *path, unsigned depth) {
    struct dirent **entries = NULL;
    const char *slash = str_has_suffix(str_from_c(path), STR("/")) ? "" : "/";
    int n = depth < DEPTH_MAX ? scandir(path, &entries, is_visible, alphasort) : 0;
    int r = 0;

    if (n < 0)
        return fail(search, -errno, path, strerror(errno));
    for (int i = 0; i < n; i++) {
        struct stat status;
        Str inner = strcmp(path, ".") == 0
                        ? arena_printf(search->arena, "%s", entries[i]->d_name)
                        : arena_printf(search->arena, "%s%s%s", path, slash, entries[i]->d_name);

        if (r == 0 && !inner.ptr)
            r = -ENOMEM;
        else if (r == 0 && lstat(inner.ptr, &status) == 0 && S_ISDIR(status.st_mode))
            r = add_folder(search, inner.ptr, depth + 1); /* a link to one could lead back */
        else if (r == 0 && (str_has_suffix(inner, STR(".test.yaml")) ||
                               str_has_suffix(inner, STR(".test.yml"))))
            r = add_file(search, inner.ptr);
        free(entries[i]);
    }
    free(entries);
    return r;
}

static int add_pattern(FileSearch *search, const char *pattern) {
    glob_t found = {0};
    int r = glob(pattern, 0, NULL, &found) == 0 ? 0 : -ENOENT;

    for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
        r = add_file(search, found.gl_pathv[i]);
    globfree(&found);
    return r == -ENOENT ? fail(search, r, pattern, strerror(ENOENT)) : r;
}

int suite_files_find(
    const char *const *paths, size_t n, Arena *arena, SuiteFiles *ret, char *error) {
    FileSearch search = {.arena = arena, .files = ret, .error = error};
    int r = 0;

    *ret = (SuiteFiles){0};
    (void)snprintf(error, SUITE_FILES_ERROR_MAX, "out of memory for the list of test files");
    for (size_t i = 0; r == 0 && i < n; i++) {
        size_t before = ret->paths.n;
        struct stat status;

        if (stat(paths[i], &status) < 0)
            r = add_pattern(&search, paths[i]);
        else if (S_ISDIR(status.st_mode))
            r = add_folder(&search, paths[i], 0);
        else
            r = add_file(&search, paths[i]);
        if (r == 0 && ret->paths.n == before)
            r = fail(&search, -ENOENT, paths[i], "contains no file NAME.test.yaml");
    }
    return r;
}
