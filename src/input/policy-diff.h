#pragma once

/*
 * PolicyDiff: which policies, and which parts of them, differ between two sets of texts.
 *
 * Values are compared: the order of keys, comments, and quotes around numbers and words do not
 * matter, since the API server keeps none of them. The order of rules does: it decides which reason
 * is reported.
 */

#include "policy/program.h"

typedef enum PolicyChangeKind {
    POLICY_CHANGED,
    POLICY_ADDED,
    POLICY_REMOVED,
} PolicyChangeKind;

const char *policy_change_name(PolicyChangeKind kind); /* "changed", "added", "removed" */

/* A field of the spec, or an item of a list in it: "filters/pool". */
typedef struct PolicyPart {
    PolicyChangeKind kind;
    Str path;
} PolicyPart;

typedef struct PolicyChange {
    PolicyChangeKind kind;
    Str name;
    Str before, after; /* the spec as YAML; empty: there is none */
    PolicyPart *parts; /* of a changed policy; never empty */
    size_t n_parts;
} PolicyChange;

typedef struct PolicyDiff {
    PolicyChange *items; /* by name */
    size_t n;
    size_t n_equal; /* policies that are the same */
} PolicyDiff;

/* Compares two sets that compile, or did once. A text that cannot be read has no policies. *ret is
 * in @arena. 0, or -ENOMEM. */
int policy_diff(const PolicySource *before, size_t n_before, const PolicySource *after,
    size_t n_after, Arena *arena, PolicyDiff *ret) MUST_CHECK;

/* Returns @after plus one text for each policy of @before whose name @after lacks, in @arena. 0, or
 * -ENOMEM. */
int policy_diff_keep_others(const PolicySource *before, size_t n_before, const PolicySource *after,
    size_t n_after, Arena *arena, const PolicySource **ret, size_t *ret_n) MUST_CHECK;
