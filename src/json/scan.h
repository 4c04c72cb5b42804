#pragma once

/*
 * Scan: finds the end of a value without reading it.
 *
 * Brackets are counted outside strings, strings end at an unescaped quote; nothing else is checked.
 * Any depth is safe, nothing is allocated. The kernels read 64 bytes a step (AVX2 where the
 * processor has it, NEON on arm64, portable C elsewhere; chosen before main()), so that 83 MB of
 * Node objects take milliseconds. No byte outside the given text is read. Any thread.
 */

#include "base/str.h"

/* @text starts with '{' or '['. Returns the length of the value including its closing bracket, or 0
 * if it does not end in @text. */
size_t scan_container(Str text);

/* @text starts right after an opening quote. Returns the offset of the closing quote, or
 * SIZE_MAX. */
size_t scan_string(Str text);

/* Returns how many bytes at the start of @text are plain: 0x20 to 0x7f, but no quote or backslash.
 * The caller handles what comes then: a quote, escape, control byte, byte over 0x7f, or the end. */
size_t scan_plain(Str text);

/* Returns which of the 64 bytes at @bytes are not plain: bit i for byte i. For callers that look at
 * the same bytes more than once (json/read.h). */
uint64_t scan_stops(const char *bytes);

typedef enum ScanKernel {
    SCAN_PORTABLE,
    SCAN_AVX2,
    SCAN_NEON,
} ScanKernel;

/* The kernel in use. */
ScanKernel scan_kernel(void);
const char *scan_kernel_name(ScanKernel kernel);

/* For tests and benchmarks: uses @kernel. False when the processor lacks it. */
bool scan_use_kernel(ScanKernel kernel);
