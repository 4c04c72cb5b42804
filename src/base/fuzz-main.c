/*
 * Replays saved inputs through a fuzz target; `make test` runs this instead of
 * libFuzzer. Arguments are files, or folders of files. A missing or empty folder
 * is an error, since nothing would be tested.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fuzz.h"

static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long size = -1;

    if (!file) {
        perror(path);
        return -1;
    }
    if (fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    rewind(file);
    if (size >= 0)
        data = malloc(size > 0 ? (size_t)size : 1); /* the exact size: ASan finds overreads */
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
        (void)fprintf(stderr, "%s: cannot be read\n", path);
        free(data);
        (void)fclose(file);
        return -1;
    }
    (void)fclose(file);
    (void)LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return 1;
}

static int replay_folder(const char *path) {
    DIR *folder = opendir(path);
    struct dirent *entry;
    int n = 0;

    if (!folder) {
        perror(path);
        return -1;
    }
    while ((entry = readdir(folder))) {
        char file[4096];

        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        if (replay_file(file) < 0) {
            (void)closedir(folder);
            return -1;
        }
        n++;
    }
    (void)closedir(folder);
    return n;
}

int main(int argc, char *argv[]) {
    int n = 0;

    for (int i = 1; i < argc; i++) {
        struct stat status;
        int replayed;

        if (stat(argv[i], &status) < 0) {
            perror(argv[i]);
            return 1;
        }
        replayed = S_ISDIR(status.st_mode) ? replay_folder(argv[i]) : replay_file(argv[i]);
        if (replayed < 0)
            return 1;
        n += replayed;
    }
    (void)printf("%d inputs replayed\n", n);
    return n > 0 ? 0 : 1;
}
