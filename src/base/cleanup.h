#pragma once

/*
 * Cleanup belongs to the declaration.
 *
 *     _cleanup_(snapshot_unrefp) Snapshot *s = NULL;
 *     ...
 *     *ret = TAKE_PTR(s);
 *
 * Every local that owns something is declared with _cleanup_() and a value that
 * is safe to clean up; TAKE_PTR() passes ownership on. At the end are three macros that every
 * folder needs.
 */

#define _cleanup_(func) __attribute__((cleanup(func)))

/* Defines funcp(), the form that _cleanup_() needs, for a destructor that takes
 * NULL and whose return value does not matter. */
#define DEFINE_CLEANUP(type, func)                                                                 \
    static inline void func##p(type *p) {                                                          \
        (void)func(*p);                                                                            \
    }

/* The pointer's value; the pointer itself becomes NULL. */
#define TAKE_PTR(ptr)                                                                              \
    ({                                                                                             \
        __typeof__(ptr) *_take_at = &(ptr);                                                        \
        __typeof__(ptr) _taken = *_take_at;                                                        \
        *_take_at = NULL;                                                                          \
        _taken;                                                                                    \
    })

/* For large variables of functions that run for every request or pod and read only what they have
 * written: excepts them from -ftrivial-auto-var-init, which zeroes all others. Zeroing Amounts was
 * 7 % of the time it takes to read a pod. */
#if __has_attribute(uninitialized)
#define SCRATCH __attribute__((uninitialized))
#else
#define SCRATCH
#endif

#define ELEMENTS_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MUST_CHECK __attribute__((warn_unused_result))
