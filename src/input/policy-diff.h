#pragma once

/*
 * PolicyDiff: which policies, and which parts of them, two sets of texts have in a different form.
 *
 * Compared are values: the order of keys, comments, and quotes around numbers and words do not
 * matter, as the API server keeps none of them. The order of rules does: it decides which reason is
 * reported.
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

/* @before and @after are sets that compile, or did. A text that cannot be read has no policies. All
 * of *ret is in @arena. 0, or -ENOMEM. */
int policy_diff(const PolicySource *before, size_t n_before, const PolicySource *after,
    size_t n_after, Arena *arena, PolicyDiff *ret) MUST_CHECK;

/* @after, and the policies of @before whose name it does not have, as texts of their own. 0, or
 * -ENOMEM. */
int policy_diff_keep_others(const PolicySource *before, size_t n_before, const PolicySource *after,
    size_t n_after, Arena *arena, const PolicySource **ret, size_t *ret_n) MUST_CHECK;
