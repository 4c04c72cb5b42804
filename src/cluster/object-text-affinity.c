/* Writes affinity and topology spread constraints of pods as the JSON that the decoder reads. */

#include "cluster/object-text-internal.h"

static void write_texts(JsonWriter *writer, const char *key, const Str *texts, size_t n) {
    if (n == 0)
        return;
    json_member_texts(writer, key, texts, n);
}

static void write_expressions(
    JsonWriter *writer, const char *key, const MatchExpression *items, size_t n) {
    if (n == 0)
        return;
    json_member_array(writer, key);
    for (size_t i = 0; i < n; i++) {
        json_write_object(writer);
        object_write_field(writer, STR("key"), items[i].key);
        object_write_field(writer, STR("operator"), items[i].operator);
        write_texts(writer, "values", items[i].values, items[i].n_values);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_selector(JsonWriter *writer, const char *key, const LabelSelector *selector) {
    if (!selector->is_given)
        return;
    json_member_object(writer, key);
    object_write_labels(writer, STR("matchLabels"), &selector->labels);
    write_expressions(writer, "matchExpressions", selector->expressions, selector->n_expressions);
    json_write_end_object(writer);
}

static void write_node_term(JsonWriter *writer, const NodeSelectorTerm *term) {
    write_expressions(writer, "matchExpressions", term->expressions, term->n_expressions);
    write_expressions(writer, "matchFields", term->fields, term->n_fields);
}

static void write_pod_term(JsonWriter *writer, const PodAffinityTerm *term) {
    write_selector(writer, "labelSelector", &term->selector);
    write_selector(writer, "namespaceSelector", &term->namespace_selector);
    write_texts(writer, "namespaces", term->namespaces, term->n_namespaces);
    object_write_field(writer, STR("topologyKey"), term->topology_key);
    write_texts(writer, "matchLabelKeys", term->match_keys, term->n_match_keys);
    write_texts(writer, "mismatchLabelKeys", term->mismatch_keys, term->n_mismatch_keys);
}

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static void write_node_affinity(JsonWriter *writer, const PodAffinity *affinity) {
    json_member_object(writer, "nodeAffinity");
    if (affinity->is_node_required) {
        json_member_object(writer, REQUIRED);
        json_member_array(writer, "nodeSelectorTerms");
        for (size_t i = 0; i < affinity->n_node_required; i++) {
            json_write_object(writer);
            write_node_term(writer, &affinity->node_required[i]);
            json_write_end_object(writer);
        }
        json_write_end_array(writer);
        json_write_end_object(writer);
    }
    if (affinity->n_node_preferred > 0) {
        json_member_array(writer, PREFERRED);
        for (size_t i = 0; i < affinity->n_node_preferred; i++) {
            json_write_object(writer);
            json_member_int(writer, "weight", affinity->node_preferred[i].weight);
            json_member_object(writer, "preference");
            write_node_term(writer, &affinity->node_preferred[i]);
            json_write_end_object(writer);
            json_write_end_object(writer);
        }
        json_write_end_array(writer);
    }
    json_write_end_object(writer);
}

static void write_pod_affinity(JsonWriter *writer, const char *key, const PodAffinityTerms *terms) {
    if (terms->n_required + terms->n_preferred == 0)
        return;
    json_member_object(writer, key);
    json_member_array(writer, REQUIRED);
    for (size_t i = 0; i < terms->n_required; i++) {
        json_write_object(writer);
        write_pod_term(writer, &terms->required[i]);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
    json_member_array(writer, PREFERRED);
    for (size_t i = 0; i < terms->n_preferred; i++) {
        json_write_object(writer);
        json_member_int(writer, "weight", terms->preferred[i].weight);
        json_member_object(writer, "podAffinityTerm");
        write_pod_term(writer, &terms->preferred[i]);
        json_write_end_object(writer);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
    json_write_end_object(writer);
}

static void write_constraint(JsonWriter *writer, const SpreadConstraint *of) {
    json_write_object(writer);
    json_member_int(writer, "maxSkew", of->max_skew);
    object_write_field(writer, STR("topologyKey"), of->topology_key);
    object_write_field(writer, STR("whenUnsatisfiable"), of->when_unsatisfiable);
    write_selector(writer, "labelSelector", &of->selector);
    if (of->min_domains != 0)
        json_member_int(writer, "minDomains", of->min_domains);
    object_write_field(writer, STR("nodeAffinityPolicy"), of->node_affinity_policy);
    object_write_field(writer, STR("nodeTaintsPolicy"), of->node_taints_policy);
    write_texts(writer, "matchLabelKeys", of->match_keys, of->n_match_keys);
    json_write_end_object(writer);
}

void object_write_affinity(JsonWriter *writer, const PodDetails *details) {
    const PodAffinity *affinity = details->affinity;

    if (affinity) {
        json_member_object(writer, "affinity");
        if (affinity->is_node_required || affinity->n_node_preferred > 0)
            write_node_affinity(writer, affinity);
        write_pod_affinity(writer, "podAffinity", &affinity->pods);
        write_pod_affinity(writer, "podAntiAffinity", &affinity->anti);
        json_write_end_object(writer);
    }
    if (details->n_spread == 0)
        return;
    json_member_array(writer, "topologySpreadConstraints");
    for (size_t i = 0; i < details->n_spread; i++)
        write_constraint(writer, &details->spread[i]);
    json_write_end_array(writer);
}
