#include "policy/kind.h"

#include "base/cleanup.h"

const RuleKind *const filter_kinds[] = {
    &kind_node_labels,
    &kind_node_annotations,
    &kind_node_ready,
    &kind_node_conditions,
    &kind_tolerations,
    &kind_no_taints,
    &kind_dedicated,
    &kind_node_age_range,
    &kind_headroom,
    &kind_max_pods,
    &kind_max_fresh_pods,
    &kind_pod_affinity,
    &kind_pod_anti_affinity,
    &kind_topology_spread,
    &kind_metric_limit,
};
const size_t n_filter_kinds = ELEMENTS_OF(filter_kinds);

const RuleKind *const score_kinds[] = {
    &kind_bin_pack,
    &kind_spread,
    &kind_balance,
    &kind_node_label_preference,
    &kind_label_order,
    &kind_label_number,
    &kind_node_age,
    &kind_image_locality,
    &kind_pod_spread,
    &kind_pod_pack,
    &kind_metric_score,
};
const size_t n_score_kinds = ELEMENTS_OF(score_kinds);
