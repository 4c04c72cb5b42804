#pragma once

/*
 * Semver: a version by semver.org's rules (2.0.0), "1.2.3-rc.1+build.5", as strict as Kubernetes
 * is: numbers without leading zeros, within 64 bits, also those of a pre-release; no empty
 * identifier. Build metadata counts neither for order nor for equality.
 *
 * With normalization, a text may also begin with one "v", have leading zeros in its three numbers,
 * and omit the last one or two of them ("1.2") if nothing follows.
 */

#include "base/buf.h"

typedef struct CelSemver {
    uint64_t numbers[3]; /* major, minor, patch */
    Str pre;             /* "rc.1"; empty: a release. Into the text it was read from */
    Str build;           /* "build.5" */
} CelSemver;

/* False when @text is no version; @ret_why (may be NULL) is the reason, a static text. */
bool cel_semver_parse(Str text, bool normalise, CelSemver *ret, const char **ret_why);

/* Below, at or above 0: -1, 0, 1. */
int cel_semver_cmp(const CelSemver *a, const CelSemver *b);

void cel_semver_print(const CelSemver *version, Buf *out);
