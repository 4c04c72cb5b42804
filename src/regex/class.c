/* Ranges are kept sloppily while they are added and in order when it matters, so that a class of n
 * parts costs n log n, however it was written. */

#include "regex/class.h"

#include <stdlib.h>

#define FOLD_CYCLE_MAX 4 /* code points that differ only in case, at most: theta has four */

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

static bool is_in_order(const RegexClass *class) {
    for (size_t i = 1; i < class->ranges.n; i++)
        if (class->ranges.items[i].lo <= class->ranges.items[i - 1].hi + 1)
            return false;
    return true;
}

void regex_class_sort(RegexClass *class) {
    RegexRange *items = class->ranges.items;
    size_t n = 0;

    if (class->ranges.n < 2 || is_in_order(class))
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
    uint32_t next = 0; /* the first code point not yet decided */

    regex_class_sort(class);
    n_old = class->ranges.n;
    items = class->ranges.items;
    /* Never more gaps before a range than ranges before it: in place. */
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

/* Adds what @fold makes of the code points from @lo to @hi, all of which it knows. */
static void add_folded(RegexClass *class, const RegexFold *fold, uint32_t lo, uint32_t hi) {
    if (fold->step == 1) {
        regex_class_add(
            class, (uint32_t)((int32_t)lo + fold->delta), (uint32_t)((int32_t)hi + fold->delta));
        return;
    }
    if ((lo - fold->lo) % 2 != 0)
        lo++;
    for (uint32_t c = lo; c <= hi; c += 2) {
        uint32_t folded = (uint32_t)((int32_t)c + fold->delta);

        regex_class_add(class, folded, folded);
    }
}

/* To @to: the next in its cycle for each member of @from that has one. @from is in order. */
static void fold_once(const RegexClass *from, RegexClass *to) {
    size_t first = 0; /* folds before it end before the range */

    for (size_t i = 0; i < from->ranges.n; i++) {
        RegexRange range = from->ranges.items[i];

        while (first < regex_n_folds && regex_folds[first].hi < range.lo)
            first++;
        for (size_t j = first; j < regex_n_folds && regex_folds[j].lo <= range.hi; j++) {
            const RegexFold *fold = &regex_folds[j];
            uint32_t lo = range.lo > fold->lo ? range.lo : fold->lo;
            uint32_t hi = range.hi < fold->hi ? range.hi : fold->hi;

            if (lo <= hi)
                add_folded(to, fold, lo, hi);
        }
    }
    regex_class_sort(to);
}

void regex_class_fold(RegexClass *class) {
    RegexClass step = {.arena = class->arena};

    regex_class_sort(class);
    fold_once(class, &step);
    for (int i = 2; i < FOLD_CYCLE_MAX && step.ranges.n > 0; i++) {
        RegexClass next = {.arena = class->arena};

        regex_class_add_all(class, step.ranges.items, step.ranges.n);
        fold_once(&step, &next);
        class->failed |= step.failed;
        step = next;
    }
    regex_class_add_all(class, step.ranges.items, step.ranges.n);
    class->failed |= step.failed;
    regex_class_sort(class);
}
