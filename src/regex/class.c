/* Ranges are appended unsorted, and sorted only when that is needed, so that a class of n parts
 * takes n log n time in whatever order it was written. */

#include "regex/class.h"

#include <stdlib.h>

void regex_class_add(RegexClass *class, uint32_t lo, uint32_t hi) {
    RegexRange *last = class->ranges.n > 0 ? &class->ranges.items[class->ranges.n - 1] : NULL;

    if (last && lo >= last->lo && lo <= last->hi + 1) { /* the usual order: grow the last one */
        if (hi > last->hi)
            last->hi = hi;
        return;
    }
    class->failed = class->failed || class->ranges.n >= REGEX_CLASS_MAX ||
                    !VEC_ADD(&class->ranges, class->arena, (RegexRange){lo, hi});
}

void regex_class_add_all(RegexClass *class, const RegexRange *ranges, size_t n) {
    for (size_t i = 0; i < n; i++)
        regex_class_add(class, ranges[i].lo, ranges[i].hi);
}

static int compare_ranges(const void *a, const void *b) {
    const RegexRange *x = a, *y = b;

    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

void regex_class_sort(RegexClass *class) {
    RegexRange *items = class->ranges.items;
    size_t n = 0;

    if (class->ranges.n < 2)
        return;
    qsort(items, class->ranges.n, sizeof(items[0]), compare_ranges);
    for (size_t i = 1; i < class->ranges.n; i++) {
        if (items[i].lo > items[n].hi + 1)
            items[++n] = items[i];
        else if (items[i].hi > items[n].hi)
            items[n].hi = items[i].hi;
    }
    class->ranges.n = n + 1;
}

void regex_class_negate(RegexClass *class) {
    RegexRange *items;
    size_t n_old, n = 0;
    uint32_t next = 0; /* the first code point after the ranges seen */

    regex_class_sort(class);
    n_old = class->ranges.n;
    items = class->ranges.items;
    /* In place: each range gives at most one gap, the one before it. */
    for (size_t i = 0; i < n_old; i++) {
        RegexRange range = items[i];

        if (range.lo > next)
            items[n++] = (RegexRange){next, range.lo - 1};
        next = range.hi + 1;
    }
    class->ranges.n = n;
    if (next <= REGEX_CODE_POINT_MAX)
        regex_class_add(class, next, REGEX_CODE_POINT_MAX);
}

/* Adds, moved by @delta, the members of @range that are also in @fold, whose first member is
 * @first. */
static void add_moved(
    RegexClass *class, RegexRange range, const RegexFold *fold, uint32_t first, uint32_t delta) {
    uint32_t last = first + (fold->hi - fold->lo);
    uint32_t lo = range.lo > first ? range.lo : first, hi = range.hi < last ? range.hi : last;

    lo += (lo - first) % fold->step;
    if (fold->step == 1 && lo <= hi)
        regex_class_add(class, lo + delta, hi + delta);
    for (uint32_t c = lo; fold->step == 2 && c <= hi; c += 2)
        regex_class_add(class, c + delta, c + delta);
}

/* Adds the code points that one fold maps members to, in both directions. */
static void fold_once(RegexClass *class) {
    size_t n;

    regex_class_sort(class);
    n = class->ranges.n;
    for (size_t i = 0; i < n; i++) {
        RegexRange range = class->ranges.items[i];

        for (size_t j = 0; j < regex_n_folds && regex_folds[j].lo <= range.hi; j++) {
            const RegexFold *fold = &regex_folds[j];

            add_moved(class, range, fold, fold->lo, fold->delta);
            add_moved(class, range, fold, fold->lo + fold->delta, 0 - fold->delta);
        }
    }
}

/* Folds twice: to the lowest code point that differs only in case, and from it to the others. */
void regex_class_fold(RegexClass *class) {
    fold_once(class);
    fold_once(class);
    regex_class_sort(class);
}

/* Adds the code points of a property to a class. Names are compared without separators and case, as
 * Go does. (Go 1.26 no longer finds scripts of two words, such as Old_Italic, though documented;
 * here they are found.) */

#define NAME_MAX_LENGTH 40 /* the longest in the table has 21 */

/* The name in the spelling of the table; false when it cannot be one. */
static bool canonicalise(Str name, char out[NAME_MAX_LENGTH + 1]) {
    size_t n = 0;

    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (c == '_' || c == '-' || c == ' ')
            continue;
        if (n == 0 && c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        else if (n > 0 && c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (n == NAME_MAX_LENGTH)
            return false;
        out[n++] = c;
    }
    out[n] = '\0';
    return n > 0;
}

static const char *resolve_alias(const char *name) {
    for (size_t i = 0; i < regex_n_unicode_aliases; i++)
        if (strcmp(regex_unicode_aliases[i].alias, name) == 0)
            return regex_unicode_aliases[i].name;
    return name;
}

/* Whether category @part belongs to @whole, which is the same, its first letter, or Lc (letters
 * with case). */
static bool is_part_of(const char *part, const char *whole) {
    if (strcmp(part, whole) == 0)
        return true;
    if (whole[1] == '\0' && strchr("CLMNPSZ", whole[0])) /* not Y: Yi is a script */
        return part[0] == whole[0] && part[1] != '\0' && part[2] == '\0';
    return strcmp(whole, "Lc") == 0 &&
           (strcmp(part, "Lu") == 0 || strcmp(part, "Ll") == 0 || strcmp(part, "Lt") == 0);
}

static uint32_t read_number(const char **at) {
    uint32_t value = 0, place = 1;

    for (; **at < 'a'; (*at)++, place *= 26)
        value += (uint32_t)(**at - 'A') * place;
    return value + (uint32_t)(*(*at)++ - 'a') * place;
}

static void add_table(RegexClass *class, const RegexUnicodeTable *table) {
    const char *at = table->ranges;
    uint32_t next = 0;

    while (*at != '\0') {
        uint32_t lo = next + read_number(&at), hi = lo + read_number(&at);

        regex_class_add(class, lo, hi);
        next = hi + 1;
    }
}

static void add_assigned(RegexClass *class) {
    for (size_t i = 0; i < regex_n_unicode_categories; i++)
        add_table(class, &regex_unicode_tables[i]);
}

/* Cn is every code point in no other category. */
static void add_unassigned(RegexClass *class) {
    RegexClass others = {.arena = class->arena};

    add_assigned(&others);
    regex_class_negate(&others);
    regex_class_add_all(class, others.ranges.items, others.ranges.n);
    class->failed |= others.failed;
}

static bool add_tables(RegexClass *class, const char *name) {
    bool found = false;

    for (size_t i = 0; i < regex_n_unicode_tables; i++)
        if (is_part_of(regex_unicode_tables[i].name, name)) {
            add_table(class, &regex_unicode_tables[i]);
            found = true;
        }
    if (is_part_of("Cn", name)) {
        add_unassigned(class);
        found = true;
    }
    return found;
}

bool regex_unicode_add(RegexClass *class, Str name) {
    char canonical[NAME_MAX_LENGTH + 1];

    if (!canonicalise(name, canonical))
        return false;
    if (strcmp(canonical, "Any") == 0)
        regex_class_add(class, 0, REGEX_CODE_POINT_MAX);
    else if (strcmp(canonical, "Assigned") == 0)
        add_assigned(class);
    else if (strcmp(canonical, "Ascii") == 0)
        regex_class_add(class, 0, 0x7F);
    else
        return add_tables(class, canonical) || add_tables(class, resolve_alias(canonical));
    return true;
}
