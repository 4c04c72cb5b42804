#pragma once

/*
 * Ref: a reference count that threads may share.
 *
 * Taking a reference needs no order; dropping the last one must see everything
 * other holders did before they dropped theirs.
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Ref {
    atomic_uint count;
} Ref;

#define REF_ONE ((Ref){.count = 1})

/* Counting does not change the object, so a const pointer is enough for it. */
static inline atomic_uint *ref_count(const Ref *ref) {
    return (atomic_uint *)(uintptr_t)&ref->count;
}

static inline void ref_take(const Ref *ref) {
    unsigned before = atomic_fetch_add_explicit(ref_count(ref), 1, memory_order_relaxed);

    assert(before > 0);
    (void)before;
}

/* True when that was the last reference and the object must be destroyed. */
static inline bool ref_drop(const Ref *ref) {
    unsigned before = atomic_fetch_sub_explicit(ref_count(ref), 1, memory_order_acq_rel);

    assert(before > 0);
    return before == 1;
}

/* NAME_ref(): another reference, for structs with a member ref; @type may be const. */
#define DEFINE_REF(type, name)                                                                     \
    static inline type *name##_ref(type *name) {                                                   \
        ref_take(&name->ref);                                                                      \
        return name;                                                                               \
    }
