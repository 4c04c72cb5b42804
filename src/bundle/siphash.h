#pragma once

/*
 * SipHash-2-4: a keyed hash that reveals nothing of its key, however many hashes are seen (Aumasson
 * and Bernstein, 2012). For names in anonymized bundles; tables have base/hash.h.
 */

#include "base/str.h"

uint64_t siphash(Str text, const uint64_t key[static 2]);
