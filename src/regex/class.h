#pragma once

/* Class: a set of code points while it is put together, as ranges. Adding only appends; negation,
 * folding and the end of a bracket bring it into order first: ascending, nothing touching. No
 * memory or too many ranges set @failed, which is checked once, at the end. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

#define REGEX_CODE_POINT_MAX 0x10FFFFu
#define REGEX_CLASS_MAX 8192 /* ranges of one class; all of Unicode's letters are 659 */

typedef struct RegexRange {
    uint32_t lo, hi; /* both belong to it */
} RegexRange;

typedef struct RegexClass {
    Arena *arena;
    VEC(RegexRange) ranges;
    bool failed;
} RegexClass;

void regex_class_add(RegexClass *class, uint32_t lo, uint32_t hi);
void regex_class_add_all(RegexClass *class, const RegexRange *ranges, size_t n);

/* Puts the ranges in order. */
void regex_class_sort(RegexClass *class);

/* What was not in it, is. Also in order afterwards. */
void regex_class_negate(RegexClass *class);

/* Adds what differs from its members only in case (k, K and the Kelvin sign). */
void regex_class_fold(RegexClass *class);
