/* The list of built-in rules, in the order of the documentation. */

#include "policy/kind.h"

#include "policy/cel-text.h"

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
    &kind_pool_headroom,
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

void kind_write(YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    bool is_on;

    if (kind->write || kind->part) {
        (kind->write ? kind->write : cel_text_entries)(reader, kind, value, ret);
        return;
    }
    (void)reader_value(reader, value, kind->field.ptr, kind->shape, &is_on);
    buf_append(&ret->expression, str_from_c(kind->expression));
    buf_append(&ret->message, str_from_c(kind->message));
}

void kind_write_condition(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, Buf *out) {
    _cleanup_(rule_text_done) RuleText text = RULE_TEXT_INIT;

    kind_write(reader, kind, value, &text);
    cel_text_separate(out, 0, " && ");
    cel_text(out, "$1", TEXT_BUF(&text.expression));
}

void kind_write_conditions(
    YamlReader *reader, const RuleKind *kind, const YamlNode *rules, Buf *out) {
    for (size_t i = 0; rules && rules->kind == YAML_SEQUENCE && i < rules->n; i++) {
        const YamlNode *value = yaml_find(rules->items[i], kind->field);
        DiagList unread = DIAG_LIST_IN(reader->arena);
        YamlReader quiet = *reader;
        size_t len = out->len;

        quiet.diags = &unread;
        if (value)
            kind_write_condition(&quiet, kind, value, out);
        if (unread.n_errors > 0)
            out->len = len;
    }
}

const Shape kind_prefer_shape = {SHAPE_WORDS("low", "high")};
