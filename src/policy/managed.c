/* Which rules have an effect without an extender, and what to write instead of the others. */

#include "policy/managed.h"

#define SECOND_SCHEDULER "a second scheduler, which calls berth (docs/install.md)"

/* What Kubernetes itself has instead of a built-in rule. */
typedef struct Replacement {
    const RuleKind *kind;
    const char *instead;
} Replacement;

static const Replacement replacements[] = {
    {&kind_tolerations, "nothing: kube-scheduler compares taints and tolerations itself"},
    {&kind_dedicated, "a taint on the nodes; a toleration and node affinity in their pods"},
    {&kind_node_age_range, "a taint that new nodes have until they are old enough"},
    {&kind_headroom, "an expression of the node alone (node.free.cpu > 1.0), with publish: label"},
    {&kind_pool_headroom, "pods of low priority that request the headroom"},
    {&kind_max_pods, "podAntiAffinity or topologySpreadConstraints in the pods"},
    {&kind_pod_affinity, "affinity.podAffinity in the pods"},
    {&kind_pod_anti_affinity, "affinity.podAntiAffinity in the pods"},
    {&kind_topology_spread, "topologySpreadConstraints in the pods"},
    {&kind_spread, "nothing: kube-scheduler prefers nodes with free resources itself"},
    {&kind_balance, "nothing: kube-scheduler prefers balanced nodes itself"},
    {&kind_image_locality, "nothing: kube-scheduler prefers nodes with the image itself"},
    {&kind_node_label_preference, "preferred node affinity in the pods"},
    {&kind_label_order, "preferred node affinity in the pods"},
    {&kind_pod_spread, "topologySpreadConstraints with ScheduleAnyway in the pods"},
    {&kind_pod_pack, "preferred podAffinity in the pods"},
};

static const char *find_replacement(const RuleKind *kind) {
    for (size_t i = 0; kind && i < ELEMENTS_OF(replacements); i++)
        if (replacements[i].kind == kind)
            return replacements[i].instead;
    return SECOND_SCHEDULER;
}

Managed managed_filter(const Filter *filter) {
    Managed result = {.text = "it is not published, and nothing asks berth"};

    if ((filter->slots || filter->is_label) && filter->policy->is_observed)
        return (Managed){
            .text = "policies in mode Observe publish nothing", .instead = "mode: Enforce"};
    if (filter->slots || filter->is_label)
        return (Managed){.works = true,
            .text = filter->slots         ? "published as slots: the limit holds in a burst"
                    : filter->counts_pods ? "published as a label: a burst can exceed the limit"
                                          : "published as a label"};
    if (filter->limit)
        result.instead = policy_slots(filter->policy) ? "publish: slots, in a policy of its own"
                                                      : "publish: slots";
    else if (publish_fits_label(filter))
        result.instead = "publish: label";
    else {
        result.text = "it reads more than the node, so it cannot be published";
        result.instead = find_replacement(filter->kind);
    }
    return result;
}

Managed managed_score(const Score *score) {
    return (Managed){.text = "scores cannot be published, and nothing asks berth",
        .instead = find_replacement(score->kind)};
}

const char *managed_part_name(ManagedPart part) {
    static const char *const names[_MANAGED_PARTS] = {
        [MANAGED_MATCH] = "(match)", [MANAGED_NARROW] = "(narrow)", [MANAGED_BIND] = "(bind)"};

    return names[part];
}

bool managed_part(const Policy *policy, ManagedPart part, Managed *ret) {
    static const Managed results[_MANAGED_PARTS] = {
        [MANAGED_MATCH] = {.text = "admission selects pods by labels and namespaces only",
            .instead = "podSelector, namespaces or namespaceSelector"},
        [MANAGED_NARROW] = {.text = "nothing asks berth for nodes", .instead = "leave it out"},
        [MANAGED_BIND] = {.text = "kube-scheduler binds, not berth", .instead = "leave it out"},
    };
    const bool is_given[_MANAGED_PARTS] = {
        [MANAGED_MATCH] = expression_is_given(&policy->match.expression),
        [MANAGED_NARROW] = policy->narrow_to > 0,
        [MANAGED_BIND] = policy->n_bind_annotations > 0,
    };

    *ret = results[part];
    return is_given[part];
}
