#pragma once

/*
 * KeptVersion: a version of a PlacementPolicy that is, was or may be in force.
 *
 * Not thread safe: the owner serializes ref and unref.
 */

#include "base/buf.h"

typedef struct KeptVersion {
    unsigned n_refs;
    int64_t generation;
    int64_t since_nsec; /* since 1970: when it came in force; 0: it was not */
    Buf spec;           /* JSON */
    Buf text;           /* of a policy file; empty: it is not checked, or has a mistake */
    size_t n_filters, n_scores;
    bool is_observed;
} KeptVersion;

/* NULL: out of memory. */
KeptVersion *kept_version_new(int64_t generation, int64_t since_nsec, Str spec);
KeptVersion *kept_version_ref(KeptVersion *version);   /* takes NULL */
KeptVersion *kept_version_unref(KeptVersion *version); /* takes NULL */
DEFINE_CLEANUP(KeptVersion *, kept_version_unref)

/* Compiles it as a policy by itself. As policy_check_alone(). */
int kept_version_check(KeptVersion *version, Str name, Buf *mistakes, Buf *warnings) MUST_CHECK;
