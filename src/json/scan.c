/* Scan: chooses the kernel. The algorithm is in scan-walk.h. */

#include "json/scan.h"

#include <stdatomic.h>

#include "base/cleanup.h"
#include "json/scan-kernel.h"

/* Relaxed order is enough, because the tables are constant. */
static _Atomic(const ScanOps *) ops_in_use = &scan_portable_ops;

static const ScanOps *ops(void) {
    return atomic_load_explicit(&ops_in_use, memory_order_relaxed);
}

/* Returns NULL if this machine does not support @kernel. */
static const ScanOps *kernel_ops(ScanKernel kernel) {
    switch (kernel) {
    case SCAN_PORTABLE:
        return &scan_portable_ops;
#ifdef __x86_64__
    case SCAN_AVX2:
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
            __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("pclmul") &&
            __builtin_cpu_supports("popcnt"))
            return &scan_avx2_ops;
        return NULL;
#elif defined(__aarch64__)
    case SCAN_NEON:
        return &scan_neon_ops;
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

/* Runs before main(), so that no call has to check. */
__attribute__((constructor)) static void choose_kernel(void) {
#ifdef __x86_64__
    __builtin_cpu_init();
#endif
    if (!scan_use_kernel(SCAN_AVX2))
        (void)scan_use_kernel(SCAN_NEON);
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
    ScanKernel kernel = SCAN_PORTABLE;

    while (kernel < SCAN_NEON && ops() != kernel_ops(kernel))
        kernel++;
    return kernel;
}

const char *scan_kernel_name(ScanKernel kernel) {
    static const char *const names[] = {
        [SCAN_PORTABLE] = "portable",
        [SCAN_AVX2] = "avx2",
        [SCAN_NEON] = "neon",
    };

    return kernel < ELEMENTS_OF(names) ? names[kernel] : "unknown";
}
