/* Decides whether a filter that counts pods is exact: depends on who binds, and on narrow. */

#include "policy/exactness.h"

Exactness exactness_of(const Filter *filter, BindWiring bind) {
    /* podAffinity is no limit: pods not seen yet could only make more nodes pass. */
    if (!filter->counts_pods || filter->kind == &kind_pod_affinity || filter->policy->is_observed)
        return EXACT_NOTHING;
    if (bind == BIND_BY_BERTH)
        return EXACT_BY_BIND;
    if (filter->policy->narrow_to == 1)
        return EXACT_BY_NARROW;
    if (filter->slots)
        return EXACT_IF_SLOTS;
    return bind == BIND_UNKNOWN ? EXACT_IF_BOUND : EXACT_NOT;
}

static const char *const words[_EXACTNESSES] = {
    [EXACT_BY_NARROW] = "narrow", [EXACT_IF_SLOTS] = "slots", [EXACT_NOT] = "none"};

const char *exactness_word(Exactness exactness) {
    return words[exactness];
}

Exactness exactness_of_word(Str word, BindWiring bind) {
    for (Exactness i = 0; i < _EXACTNESSES; i++)
        if (words[i] && str_is(word, words[i]))
            return bind == BIND_BY_BERTH ? EXACT_BY_BIND : i;
    return EXACT_NOTHING;
}

bool exactness_wants_guess(const Policy *policy, const Pod *pod) {
    for (size_t i = 0; i < policy->n_filters; i++) {
        Exactness exactness = exactness_of(&policy->filters[i], BIND_BY_SCHEDULER);

        if (exactness == EXACT_NOT ||
            (exactness == EXACT_IF_SLOTS && /* of pods that request a slot kube-scheduler counts the
                                               slots */
                slot_rule_takes(policy->filters[i].slots, pod) > 0))
            return true;
    }
    return false;
}

const char *exactness_text(Exactness exactness) {
    static const char *const texts[_EXACTNESSES] = {
        [EXACT_BY_BIND] = "exact: berth binds, and counts every earlier bind",
        [EXACT_BY_NARROW] =
            "exact for requests to one berth: with narrow: {to: 1} a pod counts before the reply",
        [EXACT_IF_SLOTS] =
            "exact with berth serve --publish: kube-scheduler counts the slots that pods request",
        [EXACT_IF_BOUND] =
            "exact if berth binds (--bind) or with narrow: {to: 1}; else a burst can exceed limits",
        [EXACT_NOT] =
            "not exact: a burst can exceed limits; with --bind or narrow: {to: 1} it cannot",
    };

    return texts[exactness];
}
