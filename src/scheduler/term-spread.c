/* Spread constraints of pods: their own, and kube-scheduler's defaults. */

#include "scheduler/forecast.h"
#include "scheduler/term-index.h"

#define BY_NODE STR("kubernetes.io/hostname")
#define BY_ZONE STR("topology.kubernetes.io/zone")

static uint8_t find_inclusion(const Pod *pod, const SpreadConstraint *constraint) {
    const PodDetails *details = pod->details;
    uint8_t inclusion = 0;

    if (!str_is(constraint->node_affinity_policy, "Ignore") &&
        (details->node_selector.n > 0 || details->required_terms.is_given))
        inclusion |= INCLUDED_BY_AFFINITY;
    if (str_is(constraint->node_taints_policy, "Honor"))
        inclusion |= INCLUDED_BY_TAINTS;
    return inclusion;
}

/* An empty selector counts no pod, but selects the pod itself. Returns false with too many terms,
 * or no memory. */
static bool find_selected(TermIndex *index, const TermSource *source, SpreadUse *use) {
    TermSelector selector;

    arena_reset(index->scratch);
    term_selector_make(source->pod, source->first, index->scratch, &selector);
    index->has_failed |= arena_has_failed(index->scratch);
    use->selects_itself = term_selector_selects(&selector, source->pod, NULL) == TERM_SELECTS;
    use->term = NO_TERM;
    if (selector.selects_none || (selector.labels.n == 0 && !source->by_owner))
        return true;
    use->term = term_index_number(index, source);
    if (use->term != NO_TERM && use->is_required)
        index->terms.items[use->term].is_sought = true;
    return use->term != NO_TERM;
}

/* @n_alike: constraints of the pod with the same whenUnsatisfiable; nodes must have all their keys.
 * Returns as find_selected(). */
static bool add_constraint(TermIndex *index, const Pod *pod, const SpreadConstraint *constraint,
    size_t n_alike, bool by_owner, SpreadUse *use) {
    PodAffinityTerm term = {
        .topology_key = constraint->topology_key,
        .selector = constraint->selector,
        .match_keys = constraint->match_keys,
        .n_match_keys = constraint->n_match_keys,
    };
    TermSource source = {
        .pod = pod, .first = &term, .n = 1, .is_spread = true, .by_owner = by_owner};

    use->key = term_index_number_key(index, constraint->topology_key);
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

static bool add_own(TermIndex *index, const Pod *pod, SpreadUse *uses) {
    const PodDetails *details = pod->details;
    size_t n_required = 0;
    bool has_room = true;

    for (size_t i = 0; i < details->n_spread; i++)
        n_required += is_required(&details->spread[i]);
    for (size_t i = 0; has_room && i < details->n_spread; i++) {
        uses[i].is_required = is_required(&details->spread[i]);
        has_room = add_constraint(index, pod, &details->spread[i],
            uses[i].is_required ? n_required : details->n_spread - n_required,
            /* by_owner= */ false, &uses[i]);
    }
    return has_room;
}

/* kube-scheduler's system defaults. */
static bool add_defaults(
    TermIndex *index, const Pod *pod, const Labels *services, bool by_owner, SpreadUse *uses) {
    const LabelSelector selector = {.is_given = true, .labels = *services};
    const SpreadConstraint by_node = {.topology_key = BY_NODE, .max_skew = 3, .selector = selector};
    const SpreadConstraint by_zone = {.topology_key = BY_ZONE, .max_skew = 5, .selector = selector};

    uses[0].is_default = uses[1].is_default = true;
    return add_constraint(index, pod, &by_node, /* n_alike= */ 1, by_owner, &uses[0]) &&
           add_constraint(index, pod, &by_zone, /* n_alike= */ 1, by_owner, &uses[1]);
}

static bool has_spread_owner(const Pod *pod) {
    static const Str kinds[] = {
        STR("ReplicaSet"), STR("StatefulSet"), STR("ReplicationController")};

    return !str_is_empty(pod->owner_name) &&
           str_is_one_of(pod->owner_kind, kinds, ELEMENTS_OF(kinds));
}

void term_index_add_spread(
    TermIndex *index, const Pod *pod, const Labels *services, PodTerms *terms) {
    bool by_owner = has_spread_owner(pod), has_own = pod->details->n_spread > 0;
    size_t n = has_own ? pod->details->n_spread : by_owner || services->n > 0 ? 2 : 0;
    SpreadUse *uses = n > 0 ? ARENA_ARRAY(index->arena, SpreadUse, n) : NULL;

    if (!uses ||
        !(has_own ? add_own(index, pod, uses) : add_defaults(index, pod, services, by_owner, uses)))
        return;
    terms->spread = uses;
    terms->n_spread = (uint32_t)n;
}
