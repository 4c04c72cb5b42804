#pragma once

/* Reads test data, which is small and always exists. */

#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "base/test-assert.h"

/* A file below test/, on the heap: free(). */
static inline char *test_file_read(const char *name, Str *ret) {
    char path[1024];
    FILE *file;
    char *data = NULL;
    long size;

    (void)snprintf(path, sizeof(path), TEST_DATA "/%s", name);
    file = fopen(path, "rb");
    assert_case(path, file != NULL);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    assert_case(path, size > 0);
    rewind(file);
    data = malloc((size_t)size); /* exactly: ASan then sees a byte read too many */
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)size, file), (size_t)size);
    (void)fclose(file);
    *ret = str_of(data, (size_t)size);
    return data;
}
