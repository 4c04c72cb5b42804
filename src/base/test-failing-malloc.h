#pragma once

/*
 * The k-th allocation fails: for a test that is linked with
 * --wrap=malloc,--wrap=calloc,--wrap=realloc.
 */

#include <stdbool.h>
#include <stdlib.h>

static unsigned countdown; /* allocations until one fails; 0: none does */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool is_due(void) {
    return countdown > 0 && --countdown == 0;
}

void *__wrap_malloc(size_t size) {
    return is_due() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
    return is_due() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size) {
    return is_due() ? NULL : __real_realloc(old, size);
}
