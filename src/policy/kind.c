#include "policy/kind.h"

#include <stdio.h>

#include "base/cleanup.h"

#define HINT_MAX 64u

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

/* --- for the kinds --------------------------------------------------------------- */

void kind_read_switch(PolicyReader *reader, const YamlNode *value, const char *what) {
    char hint[HINT_MAX];
    bool is_wanted;

    if (!reader_bool(reader, value, what, &is_wanted) || is_wanted)
        return;
    (void)snprintf(hint, sizeof(hint), "write %s: true, or leave the rule out", what);
    reader_error_hint(reader, value, str_from_c(hint), "%s: false means nothing", what);
}

static const char *const prefer_words[] = {"low", "high", NULL};
const Shape kind_prefer_shape = {.kind = SHAPE_WORD, .words = prefer_words};

void kind_read_prefer(PolicyReader *reader, const YamlNode *value, bool *ret_is_low) {
    Str word;

    if (!reader_string(reader, value, "prefer", &word))
        return;
    *ret_is_low = str_is(word, "low");
    if (!*ret_is_low && !str_is(word, "high"))
        reader_error(reader, value, "prefer must be low or high, not \"%.*s\"", STR_FMT(word));
}
