#pragma once

/*
 * Managed: whether a rule has an effect where nothing calls berth: the default scheduler of a
 * managed control plane, to which no extender can be added (docs/managed.md). Published filters do
 * (publish.h): nodes show them.
 */

#include "policy/policy.h"

typedef struct Managed {
    bool works;
    const char *text;    /* why, for users */
    const char *instead; /* what to write instead; NULL: it works */
} Managed;

Managed managed_filter(const Filter *filter);
Managed managed_score(const Score *score);

/* Parts of a policy that are no rules. */
typedef enum ManagedPart {
    MANAGED_MATCH, /* match.expression */
    MANAGED_NARROW,
    MANAGED_BIND, /* bind.annotations */
    _MANAGED_PARTS,
} ManagedPart;

/* In parentheses, as users see it: "(match)". */
const char *managed_part_name(ManagedPart part);

/* False: @policy has no such part. None of them works. */
bool managed_part(const Policy *policy, ManagedPart part, Managed *ret);
