#pragma once

/* WiringVerb: the verb that a URL's path calls. Only the end of the path counts. */

#include "base/str.h"

typedef enum WiringVerb {
    WIRING_NO_VERB = -1,
    WIRING_FILTER, /* in the order of Verb (extender/verbs.h) */
    WIRING_PRIORITIZE,
    WIRING_PREEMPT,
    WIRING_BIND,
} WiringVerb;

/* Finds it by the last part of @path ("/scheduler/filter", "predicate"), or the last but one if
 * names may follow ("/predicates/NAME", "/priorities/NAME"). Ignores trailing slashes. */
WiringVerb wiring_verb_find(Str path);

/* Whether @path calls its verb as a dry run: "/any/dry-run/filter". */
bool wiring_is_dry_run(Str path);

/* The name that berth writes: "filter". */
Str wiring_verb_name(WiringVerb verb);
