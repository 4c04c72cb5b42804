#pragma once

/*
 * Exactness: whether a filter that counts pods holds in a burst of pods, and because of what.
 *
 * A filter counts the pods that are on nodes. How soon a new pod counts depends on who binds it:
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
    EXACT_NOTHING,   /* no limit on pods: the filter reads none, or its policy only observes */
    EXACT_BY_BIND,   /* berth binds */
    EXACT_BY_NARROW, /* filter returns one node */
    EXACT_IF_SLOTS,  /* kube-scheduler counts, if berth publishes slots and pods request them */
    EXACT_IF_BOUND,  /* it depends on who binds, which is not known */
    EXACT_NOT,       /* a burst can exceed it */
    _EXACTNESSES,
} Exactness;

/* Only narrowing by the filter's own policy counts: others may apply to some of its pods only. */
Exactness exactness_of(const Filter *filter, BindWiring bind);

/* The word for programs of a result for BIND_BY_SCHEDULER: "narrow", "slots", "none"; NULL: another
 * result. And the result for a word; EXACT_NOTHING: no such word. */
const char *exactness_word(Exactness exactness);
Exactness exactness_of_word(Str word, BindWiring bind);

/* Whether @pod, to which @policy applies, should count on a guessed node if several are left and
 * kube-scheduler binds: one of the filters is not exact for @pod. */
bool exactness_wants_guess(const Policy *policy, const Pod *pod);

/* For users: the end of a sentence, "counts of room are …", at most 90 columns. NULL:
 * EXACT_NOTHING. */
const char *exactness_text(Exactness exactness);
