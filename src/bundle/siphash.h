#pragma once

/*
 * SipHash-2-4: a keyed hash that keeps its key secret, even if many hashes are known (Aumasson and
 * Bernstein, 2012). It is for names in anonymized bundles; hash tables use base/hash.h.
 */

#include "base/str.h"

uint64_t siphash(Str text, const uint64_t key[static 2]);
