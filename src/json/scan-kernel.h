#pragma once

/* ScanOps: what a kernel is to scan.c. The meaning of each is in scan.h. */

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

typedef struct ScanOps {
    size_t (*container)(Str text);
    size_t (*string)(Str text);
    size_t (*plain)(Str text);
    uint64_t (*stops)(const char *bytes);
} ScanOps;

extern const ScanOps scan_portable_ops;
#ifdef __x86_64__
extern const ScanOps scan_sse2_ops;
extern const ScanOps scan_avx2_ops;
#endif
