#include "input/policies.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/vec.h"
#include "input/file.h"
#include "yaml/document.h"

typedef struct Loading {
    Arena *arena; /* owns file names and texts while compiling */
    DiagList *diags;
    size_t n_files;
    VEC(PolicySource) sources;
    bool is_unreadable; /* a path could not be read */
} Loading;

static void add_error(Loading *loading, Str text) {
    diag_add(loading->diags, DIAG_ERROR, (Place){0}, STR_NULL, text, STR_NULL);
}

static int add_file(Loading *loading, const char *path) {
    _cleanup_(buf_done) Buf text = BUF_INIT(YAML_SOURCE_MAX);
    char error[FILE_ERROR_MAX];
    PolicySource *source;

    if (loading->n_files++ >= POLICIES_FILES_MAX) {
        if (loading->n_files == POLICIES_FILES_MAX + 1) /* said once, for all of them */
            diag_addf(loading->diags,
                DIAG_ERROR,
                (Place){0},
                STR_NULL,
                "there are more than %u policy files",
                POLICIES_FILES_MAX);
        return 0;
    }
    if (file_read(path, &text, error) < 0) {
        loading->is_unreadable = true;
        add_error(loading, str_from_c(error));
        return 0;
    }
    source = VEC_PUSH(&loading->sources, loading->arena);
    if (!source)
        return -ENOMEM;
    source->file = arena_copy(loading->arena, str_from_c(path));
    source->text = arena_copy(loading->arena, buf_str(&text));
    return source->file.ptr && source->text.ptr ? 0 : -ENOMEM;
}

static int is_policy_file(const struct dirent *entry) {
    Str name = str_from_c(entry->d_name);

    return name.ptr[0] != '.' &&
           (str_has_suffix(name, STR(".yaml")) || str_has_suffix(name, STR(".yml")));
}

static int add_folder(Loading *loading, const char *path) {
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, is_policy_file, alphasort);
    int r = 0;

    if (n < 0) {
        loading->is_unreadable = true;
        add_error(loading, arena_printf(loading->arena, "%s: %s", path, strerror(errno)));
        return 0;
    }
    if (n == 0)
        add_error(loading, arena_printf(loading->arena, "%s: holds no *.yaml file", path));
    for (int i = 0; i < n; i++) {
        Str file = arena_printf(loading->arena, "%s/%s", path, entries[i]->d_name);

        if (r == 0)
            r = file.ptr ? add_file(loading, file.ptr) : -ENOMEM;
        free(entries[i]);
    }
    free(entries);
    return r;
}

static int add_path(Loading *loading, const char *path) {
    struct stat status;

    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return add_folder(loading, path);
    return add_file(loading, path);
}

int policies_load_texts(const char *const *paths, size_t n_paths, Arena *arena, DiagList *diags,
    Program **ret, const PolicySource **ret_sources, size_t *ret_n) {
    Loading loading = {.arena = arena, .diags = diags};
    int r;

    for (size_t i = 0; i < n_paths; i++) {
        r = add_path(&loading, paths[i]);
        if (r < 0)
            return r;
    }
    r = program_compile(loading.sources.items, loading.sources.n, diags, ret);
    if (r == PROGRAM_E_INVALID)
        return loading.is_unreadable ? POLICIES_E_UNREADABLE : POLICIES_E_INVALID;
    if (r != 0)
        return error_fold(r);
    *ret_sources = loading.sources.items;
    *ret_n = loading.sources.n;
    return 0;
}

int policies_load(const char *const *paths, size_t n_paths, DiagList *diags, Program **ret) {
    _cleanup_(arena_freep) Arena *arena = arena_new(POLICIES_BUDGET);
    const PolicySource *sources;
    size_t n;

    if (!arena)
        return -ENOMEM;
    return policies_load_texts(paths, n_paths, arena, diags, ret, &sources, &n);
}
