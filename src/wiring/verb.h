#pragma once

/* WiringVerb: which verb a path means. A path of any length in front of it does not matter. */

#include "base/str.h"

typedef enum WiringVerb {
    WIRING_NO_VERB = -1,
    WIRING_FILTER, /* in the order of Verb (extender/verbs.h) */
    WIRING_PRIORITIZE,
    WIRING_PREEMPT,
    WIRING_BIND,
} WiringVerb;

/* By the last part of @path ("/scheduler/filter", "predicate"), or by the last but one if names may
 * follow it ("/predicates/NAME", "/priorities/NAME"). Slashes at the end do not count. */
WiringVerb wiring_verb_find(Str path);

/* Whether @path calls its verb as a dry run: "/any/dry-run/filter". */
bool wiring_is_dry_run(Str path);

/* The name that berth writes: "filter". */
Str wiring_verb_name(WiringVerb verb);
