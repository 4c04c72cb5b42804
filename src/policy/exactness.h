#pragma once

/*
 * Exactness: whether a filter that counts pods holds in a burst of pods, and why.
 *
 * A filter counts the pods on nodes. How soon a new pod counts depends on who binds it:
 * docs/bind-and-replicas.md, "Limits in a burst".
 */

#include "policy/policy.h"

/* Whether berth binds the pods it filters (--bind, and bindVerb in kube-scheduler's
 * configuration). */
typedef enum BindWiring {
    BIND_UNKNOWN,
    BIND_BY_SCHEDULER,
    BIND_BY_BERTH,
} BindWiring;

typedef enum Exactness {
    EXACT_NOTHING,   /* no limit on pods, or mode Observe */
    EXACT_BY_BIND,   /* berth binds */
    EXACT_BY_NARROW, /* filter returns one node */
    EXACT_IF_SLOTS,  /* kube-scheduler counts, if berth publishes slots and pods request them */
    EXACT_IF_BOUND,  /* exact if berth binds, which is not known */
    EXACT_NOT,       /* a burst can exceed the limit */
    _EXACTNESSES,
} Exactness;

/* Of narrow, only the filter's own policy counts: others may not apply to all of its pods. */
Exactness exactness_of(const Filter *filter, BindWiring bind);

/* Converts results for BIND_BY_SCHEDULER to words for programs: "narrow", "slots", "none"; NULL for
 * others. And converts back; EXACT_NOTHING: no such word. */
const char *exactness_word(Exactness exactness);
Exactness exactness_of_word(Str word, BindWiring bind);

/* Whether @pod, to which @policy applies, should count on a guessed node if several pass and
 * kube-scheduler binds, because a filter is not exact for it. */
bool exactness_wants_guess(const Policy *policy, const Pod *pod);

/* For users, at most 90 columns: the end of "counts of room are …". NULL for EXACT_NOTHING. */
const char *exactness_text(Exactness exactness);
