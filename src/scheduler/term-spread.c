/* Spread constraints of pods: their own, and kube-scheduler's defaults. */

#include <errno.h>

#include "scheduler/forecast.h"
#include "scheduler/term-index-internal.h"

#define BY_NODE STR("kubernetes.io/hostname")
#define BY_ZONE STR("topology.kubernetes.io/zone")

static bool restricts_nodes(const Pod *pod) {
    return pod->details->node_selector.n > 0 || pod->details->required_terms.is_given;
}

static uint8_t find_inclusion(const Pod *pod, const SpreadConstraint *constraint) {
    uint8_t inclusion = 0;

    if (!str_is(constraint->node_affinity_policy, "Ignore") && restricts_nodes(pod))
        inclusion |= INCLUDED_BY_AFFINITY;
    if (str_is(constraint->node_taints_policy, "Honor"))
        inclusion |= INCLUDED_BY_TAINTS;
    return inclusion;
}

/* An empty selector counts no pod, but selects the pod itself. */
static int find_selected(TermIndex *index, const TermSource *source, SpreadUse *use) {
    TermSelector selector;
    int r;

    arena_reset(index->scratch);
    if (term_selector_make(source->pod, source->first, index->scratch, &selector) < 0)
        return -ENOMEM;
    use->selects_itself = term_selector_selects(&selector, source->pod, NULL) == TERM_SELECTS;
    use->term = NO_TERM;
    if (selector.selects_none || (selector.labels.n == 0 && !source->by_owner))
        return 0;
    r = term_index_number(index, source, &use->term);
    if (r == 0 && use->is_required)
        index->terms.items[use->term].is_sought = true;
    return r;
}

/* @n_alike: constraints of the pod with the same whenUnsatisfiable; nodes must have all their keys.
 * Returns as term_index_number(). */
static int add_constraint(TermIndex *index, const Pod *pod, const SpreadConstraint *constraint,
    size_t n_alike, bool by_owner, SpreadUse *use) {
    PodAffinityTerm term = {
        .topology_key = constraint->topology_key,
        .selector = constraint->selector,
        .match_keys = constraint->match_keys,
        .n_match_keys = constraint->n_match_keys,
    };
    TermSource source = {
        .pod = pod, .first = &term, .n = 1, .is_spread = true, .by_owner = by_owner};
    int key = term_index_number_key(index, constraint->topology_key);

    if (key < 0)
        return key;
    use->key = (uint32_t)key;
    use->max_skew = constraint->max_skew;
    use->min_domains = constraint->min_domains > 0 ? constraint->min_domains : 1;
    use->is_by_node = str_eq(constraint->topology_key, BY_NODE);
    use->inclusion = find_inclusion(pod, constraint);
    use->counts_rows = use->inclusion != 0 || (!use->is_default && n_alike > 1);
    if (!use->is_required && use->is_by_node)
        use->counts_rows = false; /* the score of a node counts its own pods, whatever it is */
    source.key = use->counts_rows ? ROWS : constraint->topology_key;
    return find_selected(index, &source, use);
}

static bool is_required(const SpreadConstraint *constraint) {
    return !str_is(constraint->when_unsatisfiable, "ScheduleAnyway");
}

static int add_own(TermIndex *index, const Pod *pod, SpreadUse *uses) {
    const PodDetails *details = pod->details;
    size_t n_required = 0;
    int r = 0;

    for (size_t i = 0; i < details->n_spread; i++)
        n_required += is_required(&details->spread[i]);
    for (size_t i = 0; r == 0 && i < details->n_spread; i++) {
        uses[i].is_required = is_required(&details->spread[i]);
        r = add_constraint(index, pod, &details->spread[i],
            uses[i].is_required ? n_required : details->n_spread - n_required,
            /* by_owner= */ false, &uses[i]);
    }
    return r;
}

static int add_defaults(
    TermIndex *index, const Pod *pod, const Labels *services, bool by_owner, SpreadUse *uses) {
    SpreadConstraint constraints[] = {
        /* kube-scheduler's system defaults */
        {.topology_key = BY_NODE, .max_skew = 3},
        {.topology_key = BY_ZONE, .max_skew = 5},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ELEMENTS_OF(constraints); i++) {
        constraints[i].selector = (LabelSelector){.is_given = true, .labels = *services};
        uses[i].is_default = true;
        r = add_constraint(index, pod, &constraints[i], /* n_alike= */ 1, by_owner, &uses[i]);
    }
    return r;
}

static bool has_spread_owner(const Pod *pod) {
    static const char *const kinds[] = {"ReplicaSet", "StatefulSet", "ReplicationController"};

    for (size_t i = 0; !str_is_empty(pod->owner_name) && i < ELEMENTS_OF(kinds); i++)
        if (str_is(pod->owner_kind, kinds[i]))
            return true;
    return false;
}

int term_index_add_spread(
    TermIndex *index, const Pod *pod, const Labels *services, PodTerms *terms) {
    bool by_owner = has_spread_owner(pod);
    size_t n = pod->details->n_spread > 0    ? pod->details->n_spread
               : by_owner || services->n > 0 ? 2
                                             : 0;
    SpreadUse *uses;
    int r;

    if (n == 0)
        return 0;
    uses = ARENA_ARRAY(index->arena, SpreadUse, n);
    if (!uses)
        return -ENOMEM;
    r = pod->details->n_spread > 0 ? add_own(index, pod, uses)
                                   : add_defaults(index, pod, services, by_owner, uses);
    if (r == 0) {
        terms->spread = uses;
        terms->n_spread = (uint32_t)n;
    }
    return r;
}
