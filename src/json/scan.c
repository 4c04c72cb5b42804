/* Scan: which kernel. The scanning itself is in scan-walk.h. */

#include "json/scan.h"

#include <stdatomic.h>

#include "base/cleanup.h"
#include "json/scan-kernel.h"

static size_t first_container(Str text);
static size_t first_string(Str text);
static size_t first_plain(Str text);
static uint64_t first_stops(const char *bytes);

/* In use before a kernel is chosen: each chooses one, then calls it.
 * Later calls pay one load and one jump, and no test. */
static const ScanOps choosing_ops = {
    .container = first_container,
    .string = first_string,
    .plain = first_plain,
    .stops = first_stops,
};

/* Relaxed is enough: the tables are constants, and threads that choose at the
 * same time choose the same. */
static _Atomic(const ScanOps *) ops_in_use = &choosing_ops;

static const ScanOps *ops(void) {
    return atomic_load_explicit(&ops_in_use, memory_order_relaxed);
}

/* NULL when this machine has it not. */
static const ScanOps *kernel_ops(ScanKernel kernel) {
    switch (kernel) {
    case SCAN_PORTABLE:
        return &scan_portable_ops;
#ifdef __x86_64__
    case SCAN_SSE2:
        return &scan_sse2_ops;
    case SCAN_AVX2:
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
            __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("pclmul") &&
            __builtin_cpu_supports("popcnt"))
            return &scan_avx2_ops;
        return NULL;
#endif
    default:
        return NULL;
    }
}

bool scan_use_kernel(ScanKernel kernel) {
    const ScanOps *wanted = kernel_ops(kernel);

    if (!wanted)
        return false;
    atomic_store_explicit(&ops_in_use, wanted, memory_order_relaxed);
    return true;
}

static const ScanOps *choose(void) {
    if (!scan_use_kernel(SCAN_AVX2) && !scan_use_kernel(SCAN_SSE2))
        (void)scan_use_kernel(SCAN_PORTABLE);
    return ops();
}

static size_t first_container(Str text) {
    return choose()->container(text);
}

static size_t first_string(Str text) {
    return choose()->string(text);
}

static size_t first_plain(Str text) {
    return choose()->plain(text);
}

static uint64_t first_stops(const char *bytes) {
    return choose()->stops(bytes);
}

size_t scan_container(Str text) {
    return ops()->container(text);
}

size_t scan_string(Str text) {
    return ops()->string(text);
}

size_t scan_plain(Str text) {
    return ops()->plain(text);
}

uint64_t scan_stops(const char *bytes) {
    return ops()->stops(bytes);
}

ScanKernel scan_kernel(void) {
    const ScanOps *current = ops() == &choosing_ops ? choose() : ops();

    if (current == kernel_ops(SCAN_AVX2))
        return SCAN_AVX2;
    if (current == kernel_ops(SCAN_SSE2))
        return SCAN_SSE2;
    return SCAN_PORTABLE;
}

const char *scan_kernel_name(ScanKernel kernel) {
    static const char *const names[] = {
        [SCAN_PORTABLE] = "portable",
        [SCAN_SSE2] = "sse2",
        [SCAN_AVX2] = "avx2",
    };

    return kernel < ELEMENTS_OF(names) ? names[kernel] : "unknown";
}
