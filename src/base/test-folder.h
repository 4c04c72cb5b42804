#pragma once

/* A folder of files for one test, deleted with it. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test-assert.h"

typedef struct Folder {
    char path[64];
    char file[512]; /* of the last folder_path() */
} Folder;

static inline void folder_init(Folder *folder) {
    (void)snprintf(folder->path, sizeof(folder->path), "/tmp/berth-test-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
}

/* Valid until the next call. */
static inline const char *folder_path(Folder *folder, const char *name) {
    (void)snprintf(folder->file, sizeof(folder->file), "%s/%s", folder->path, name);
    return folder->file;
}

static inline const char *folder_write(Folder *folder, const char *name, Str text) {
    FILE *file = fopen(folder_path(folder, name), "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text.ptr, 1, text.len, file), text.len);
    assert_int_equal(fclose(file), 0);
    return folder->file;
}

/* Replaces the file instead of overwriting it: a new inode each time. */
static inline const char *folder_replace(Folder *folder, const char *name, const char *text) {
    char temporary[512];

    (void)snprintf(
        temporary, sizeof(temporary), "%s", folder_write(folder, ".new", str_from_c(text)));
    assert_int_equal(rename(temporary, folder_path(folder, name)), 0);
    return folder->file;
}

/* A shell script. */
static inline const char *folder_write_script(Folder *folder, const char *name, const char *text) {
    char script[8192];

    (void)snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", text);
    (void)folder_replace(folder, name, script);
    assert_int_equal(chmod(folder->file, 0700), 0);
    return folder->file;
}

static inline void folder_remove(const char *path) {
    DIR *folder = opendir(path);
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        char inner[512];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        (void)snprintf(inner, sizeof(inner), "%.200s/%.200s", path, entry->d_name);
        if (entry->d_type == DT_DIR)
            folder_remove(inner);
        else
            (void)unlink(inner);
    }
    if (folder)
        (void)closedir(folder);
    (void)rmdir(path);
}

static inline void folder_done(Folder *folder) {
    folder_remove(folder->path);
}
