/* Lists as sets: repeated elements count once, and 1, 1u and 1.0 are one. For large lists one side
 * is hashed first, so that the work grows with the sum of the sizes, not with their product. */

#include "cel/elements.h"
#include "cel/library.h"

#define SETS_HASH_MIN 64 /* comparisons from which on hashing is worth it */

/* One side of a comparison: an array, and an index of it if that pays. */
typedef struct Side {
    const CelValue *items;
    uint32_t n;
    bool is_hashed;
    CelMembers members;
} Side;

/* Hashes the side if that pays for @n_lookups. Null or an error. */
static CelValue side_hash(Side *side, CelRun *run, uint32_t n_lookups) {
    if ((uint64_t)side->n * n_lookups < SETS_HASH_MIN)
        return cel_null();
    if (!cel_members_begin(&side->members, run, side->items, side->n))
        return cel_no_memory(run);
    if (!cel_charge(run, side->n))
        return cel_exhausted(run);
    for (uint32_t i = 0; i < side->n && !run->limit; i++)
        (void)cel_members_add(&side->members, i, run);
    side->is_hashed = true;
    return run->limit ? cel_limit(run) : cel_null();
}

static bool side_has(const Side *side, CelValue v, CelRun *run) {
    if (side->is_hashed)
        return cel_members_has(&side->members, v, run);
    for (uint32_t i = 0; i < side->n; i++) {
        if (cel_equal(side->items[i], v, run))
            return true;
    }
    return false;
}

/* @want: whether any element of @sub is in @all; !@want: whether any is missing there. */
static CelValue any(CelRun *run, Side *all, const Side *sub, bool want) {
    CelValue r = side_hash(all, run, sub->n);

    if (r.kind == CEL_ERROR)
        return r;
    for (uint32_t i = 0; i < sub->n; i++) {
        bool has;

        if (!cel_charge(run, all->is_hashed ? 1 : all->n))
            return cel_exhausted(run);
        has = side_has(all, sub->items[i], run);
        if (run->limit)
            return cel_limit(run);
        if (has == want)
            return cel_bool(true);
    }
    return cel_bool(false);
}

static CelValue contains(CelRun *run, Side *all, const Side *sub) {
    CelValue missing = any(run, all, sub, false);

    return missing.kind == CEL_BOOL ? cel_bool(!missing.boolean) : missing;
}

typedef enum Question {
    CONTAINS,
    EQUIVALENT,
    INTERSECTS,
} Question;

static CelValue compare(CelRun *run, const CelValue *args, Question question) {
    CelValue r;
    Side a = {.items = cel_items(run, args[0].list, &r), .n = args[0].list->n};
    Side b = {.items = a.items ? cel_items(run, args[1].list, &r) : NULL, .n = args[1].list->n};

    if (!b.items)
        return r;
    if (question == INTERSECTS)
        return any(run, &b, &a, true);
    r = contains(run, &a, &b);
    return question == EQUIVALENT && cel_is_true(r) ? contains(run, &b, &a) : r;
}

CEL_RETURNS(sets_contains, compare(run, args, CONTAINS))
CEL_RETURNS(sets_equivalent, compare(run, args, EQUIVALENT))
CEL_RETURNS(sets_intersects, compare(run, args, INTERSECTS))

static const CelOverloadSpec overloads[] = {
    {"sets.contains", "(list(T), list(T)) -> bool", sets_contains, .cost = CEL_COST_PRODUCT},
    {"sets.equivalent", "(list(T), list(T)) -> bool", sets_equivalent, .cost = CEL_COST_PRODUCT},
    {"sets.intersects", "(list(T), list(T)) -> bool", sets_intersects, .cost = CEL_COST_PRODUCT},
};

CEL_LIBRARY(cel_sets_library, "sets", overloads);
