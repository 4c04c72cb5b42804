/* Reads policy files and folders, and compiles them. */

#include "input/policies.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "input/file.h"
#include "input/zones.h"
#include "policy/lint.h"

static void add_error(PolicyFiles *files, Str text) {
    diag_add(files->diags, DIAG_ERROR, (Place){0}, STR_NULL, text, STR_NULL);
}

static int add_file(PolicyFiles *files, const char *path) {
    _cleanup_(buf_done) Buf text = BUF_INIT(YAML_SOURCE_MAX);
    char error[FILE_ERROR_MAX];
    if (files->n_files++ >= POLICIES_FILES_MAX) {
        if (files->n_files == POLICIES_FILES_MAX + 1) /* reported once */
            diag_addf(files->diags, DIAG_ERROR, (Place){0}, STR_NULL,
                "there are more than %u policy files", POLICIES_FILES_MAX);
        return 0;
    }
    if (file_read(path, &text, error) < 0) {
        files->is_unreadable = true;
        add_error(files, str_from_c(error));
        return 0;
    }
    (void)VEC_ADD(&files->sources, files->arena,
        (PolicySource){.file = arena_copy(files->arena, str_from_c(path)),
            .text = arena_copy(files->arena, buf_str(&text))});
    return arena_has_failed(files->arena) ? -ENOMEM : 0;
}

static int is_policy_file(const struct dirent *entry) {
    Str name = str_from_c(entry->d_name);

    return name.ptr[0] != '.' &&
           (str_has_suffix(name, STR(".yaml")) || str_has_suffix(name, STR(".yml")));
}

static int add_folder(PolicyFiles *files, const char *path) {
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, is_policy_file, alphasort);
    int r = 0;

    if (n < 0) {
        files->is_unreadable = true;
        add_error(files, arena_printf(files->arena, "%s: %s", path, strerror(errno)));
        return 0;
    }
    if (n == 0)
        add_error(files, arena_printf(files->arena, "%s: contains no *.yaml file", path));
    for (int i = 0; i < n; i++) {
        Str file = arena_printf(files->arena, "%s/%s", path, entries[i]->d_name);

        if (r == 0)
            r = file.ptr ? add_file(files, file.ptr) : -ENOMEM;
        free(entries[i]);
    }
    free(entries);
    return r;
}

int policies_add(PolicyFiles *files, const char *path) {
    struct stat status;

    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return add_folder(files, path);
    return add_file(files, path);
}

int policies_compile(const PolicySource *sources, size_t n, DiagList *diags, Program **ret) {
    _cleanup_(zones_freep) Zones *zones = zones_new();
    int r = zones ? program_compile(sources, n, diags, ret) : -ENOMEM;

    if (r == PROGRAM_E_INVALID)
        return POLICIES_E_INVALID;
    if (r < 0)
        return error_fold(r);
    lint_zones(*ret, zones_finder(zones), diags);
    diag_list_sort(diags, 0);
    if (diags->n_errors == 0)
        return 0;
    *ret = program_unref(*ret);
    return POLICIES_E_INVALID;
}

int policies_load_texts(const char *const *paths, size_t n_paths, Arena *arena, DiagList *diags,
    Program **ret, const PolicySource **ret_sources, size_t *ret_n) {
    PolicyFiles files = {.arena = arena, .diags = diags};
    int r;

    for (size_t i = 0; i < n_paths; i++) {
        r = policies_add(&files, paths[i]);
        if (r < 0)
            return r;
    }
    r = policies_compile(files.sources.items, files.sources.n, diags, ret);
    if (r != 0)
        return r > 0 && files.is_unreadable ? POLICIES_E_UNREADABLE : r;
    *ret_sources = files.sources.items;
    *ret_n = files.sources.n;
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
