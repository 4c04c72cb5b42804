#include "policy/rule.h"

#include "base/cleanup.h"

const FilterKind *const filter_kinds[] = {
    &filter_node_labels,
    &filter_node_ready,
    &filter_tolerations,
    &filter_headroom,
    &filter_max_pods,
};
const size_t n_filter_kinds = ELEMENTS_OF(filter_kinds);

const ScoreKind *const score_kinds[] = {
    &score_bin_pack,
    &score_spread,
    &score_balance,
    &score_node_label_preference,
};
const size_t n_score_kinds = ELEMENTS_OF(score_kinds);

void needs_label(NodeNeeds *needs, Str key) {
    Str *slot = VEC_PUSH(&needs->labels, needs->arena);

    if (slot)
        *slot = key;
    else
        needs->has_failed = true;
}
