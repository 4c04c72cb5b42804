#pragma once

/* Class: a set of code points, as ranges, while it is built. Adding only appends; negation, folding
 * and the end of a bracket sort first: ascending, none adjacent. Running out of memory or too many
 * ranges set @failed, which is checked once, at the end. */

#include "base/vec.h"

#define REGEX_CODE_POINT_MAX 0x10FFFFu
#define REGEX_CLASS_MAX 8192 /* ranges of one class; all of Unicode's letters are 659 */

typedef struct RegexRange {
    uint32_t lo, hi; /* both included */
} RegexRange;

typedef struct RegexClass {
    Arena *arena;
    VEC(RegexRange) ranges;
    bool failed;
} RegexClass;

void regex_class_add(RegexClass *class, uint32_t lo, uint32_t hi);
void regex_class_add_all(RegexClass *class, const RegexRange *ranges, size_t n);

/* Sorts the ranges, and joins those that overlap or are adjacent. */
void regex_class_sort(RegexClass *class);

/* Inverts the class, and sorts it. */
void regex_class_negate(RegexClass *class);

/* Adds all code points that differ from a member only in case (k, K and the Kelvin sign). */
void regex_class_fold(RegexClass *class);

/* Unicode: which code points have a property, and which differ only in case, as in Go's package
 * unicode (unicode-table.go writes the tables). */

/* A general category of two letters, or a script. Its ranges: code points to skip, length - 1, and
 * so on; numbers in base 26, lowest digit first, the last digit as a small letter. */
typedef struct RegexUnicodeTable {
    const char *name; /* as regex_unicode_add() compares: "Lu", "Olditalic" */
    const char *ranges;
} RegexUnicodeTable;

typedef struct RegexUnicodeAlias {
    const char *alias, *name;
} RegexUnicodeAlias;

/* Every @step-th code point from @lo to @hi differs only in case from the one that is @delta
 * further, and is the lowest of all such. */
typedef struct RegexFold {
    uint32_t lo, hi, delta;
    uint32_t step; /* 1 or 2 */
} RegexFold;

extern const RegexUnicodeTable regex_unicode_tables[]; /* categories (without Cn), then scripts */
extern const size_t regex_n_unicode_tables, regex_n_unicode_categories;
extern const RegexUnicodeAlias regex_unicode_aliases[];
extern const size_t regex_n_unicode_aliases;
extern const RegexFold regex_folds[]; /* in order of lo */
extern const size_t regex_n_folds;

/* Adds the code points of the property to @class: a category, a script, Any, Assigned, ASCII. Case,
 * spaces, - and _ in the name do not matter. Returns false if there is no such property. */
bool regex_unicode_add(RegexClass *class, Str name) MUST_CHECK;
