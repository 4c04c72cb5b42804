/*
 * topologySpread: spreads matching pods evenly over domains, by the rules of Kubernetes'
 * topologySpreadConstraints with DoNotSchedule.
 *
 * Only eligible nodes count, with the pods on them; a domain without an eligible node is ignored.
 * Otherwise an empty zone that the pod can never use would stay the emptiest, and other zones could
 * take no more pods. A node that is not eligible passes: another rule, or kube-scheduler, rejects
 * it.
 */

#include "policy/cel-text.h"
#include "policy/pod-rule.h"

typedef enum InclusionPolicy { HONOR, IGNORE } InclusionPolicy;

static const Shape policy_shape = {SHAPE_WORDS("Honor", "Ignore")};

static const Field fields[] = {
    {REQUIRED("topologyKey"), INTO(PodRule, topology_key, shape_label_key),
        "node label whose values are the domains"},
    {REQUIRED("maxSkew"), INTO(PodRule, max_skew, pod_rule_count_shape),
        "how many more pods a domain may have than the emptiest one"},
    {OPTIONAL("minDomains"), INTO(PodRule, min_domains, pod_rule_count_shape),
        "with fewer domains than this, the emptiest domain counts as empty"},
    {OPTIONAL("nodeAffinityPolicy"), INTO(PodRule, affinity_policy, policy_shape),
        "Honor (default): only nodes count that match the pod's nodeSelector and required "
        "node affinity, and the nodeLabels and dedicated filters of this policy"},
    {OPTIONAL("nodeTaintsPolicy"), INTO(PodRule, taints_policy, policy_shape),
        "Honor: only nodes count whose taints the pod tolerates and the noTaints filters "
        "of this policy allow; default: Ignore, as in Kubernetes"},
    {OPTIONAL("nodeLabels"), INTO(PodRule, node_labels, kind_label_conditions_shape),
        "only nodes with these labels count: for a pool that another policy requires"},
    FIELD_SELECTOR,
    FIELD_SAME_OWNER,
    {OPTIONAL("matchLabelKeys"), INTO(PodRule, label_keys, shape_label_keys),
        "pods with the same values of these labels as the pod; beside podSelector or "
        "sameOwner, keys that the pod lacks are ignored"},
    FIELD_OWN_NAMESPACE,
};
static const Shape shape = {SHAPE_OF(fields)};

/* Writes the condition that `node` is eligible; nothing if every node is. */
static void write_eligible(
    YamlReader *reader, const PodRule *rule, const YamlNode *rules, Buf *out) {
    if (rule->affinity_policy == HONOR) {
        buf_append(out, STR("pod.selects(node)"));
        kind_write_conditions(reader, &kind_node_labels, rules, out);
        kind_write_conditions(reader, &kind_dedicated, rules, out);
    }
    if (rule->node_labels)
        kind_write_condition(reader, &kind_node_labels, rule->node_labels, out);
    if (rule->taints_policy == HONOR) {
        cel_text_separate(out, 0, " && ");
        buf_append(out, str_from_c(kind_tolerations.expression));
        kind_write_conditions(reader, &kind_no_taints, rules, out);
    }
}

/* The rule, and the condition on eligible nodes. */
typedef struct Spread {
    const PodRule *rule;
    const Buf *eligible;
    Buf filter; /* of pods */
} Spread;

/* Writes the number of pods of a domain, after the domain. The loop over its nodes must use the
 * variable `node`, as the condition does. */
static void write_count(Buf *out, const Spread *spread) {
    cel_text(out,
        spread->eligible->len == 0 ? ".pods$2.size()"
                                   : ".nodes.filter(node, $1).map(node, node.pods$2.size()).sum()",
        TEXT_BUF(spread->eligible), TEXT_BUF(&spread->filter));
}

static void write_own_count(Buf *out, const Spread *spread) {
    cel_text(out, "node.domain($1)", TEXT_QUOTED(spread->rule->topology_key));
    write_count(out, spread);
}

/* Writes the domains with an eligible node: the same for all candidates. */
static void write_domains(Buf *out, const Spread *spread) {
    cel_text(out, "cluster.domains($1)", TEXT_QUOTED(spread->rule->topology_key));
    cel_text_part(out, ".filter(d, d.nodes.exists(node, $1))", spread->eligible);
}

/* Writes the number of pods in the emptiest domain. */
static void write_least(Buf *out, const Spread *spread) {
    if (spread->rule->min_domains > 0) {
        buf_append_char(out, '(');
        write_domains(out, spread);
        cel_text(out, ".size() < $1 ? 0 : ", TEXT_INT(spread->rule->min_domains));
    }
    write_domains(out, spread);
    buf_append(out, STR(".map(d, d"));
    write_count(out, spread);
    buf_append(out, spread->rule->min_domains > 0 ? STR(").min())") : STR(").min()"));
}

/* "2 matching pods in zone a, 1 in the emptiest of 3 domains with an eligible node, maxSkew 1" */
static void write_message(Buf *out, const Spread *spread) {
    const PodRule *rule = spread->rule;

    pod_rule_unless_absent(out, rule);
    buf_append(out, STR("string("));
    write_own_count(out, spread);
    buf_append(out, STR(") + "));
    pod_rule_where(out, rule, " matching pods", ", ");
    buf_append(out, STR(" + string("));
    write_least(out, spread);
    buf_append(out, STR(") + ' in the emptiest of ' + string("));
    write_domains(out, spread);
    cel_text(out, ".size()) + ' domains$1, maxSkew $2",
        TEXT_RAW(spread->eligible->len > 0 ? " with an eligible node" : ""),
        TEXT_INT(rule->max_skew));
    if (rule->min_domains > 0)
        cel_text(out, ", minDomains $1", TEXT_INT(rule->min_domains));
    buf_append_char(out, '\'');
}

/* As in topologySpreadConstraints, pods that are being deleted do not count, and matchLabelKeys
 * that the pod lacks are ignored.
 *
 * min() fails without any domain, but its error has no effect: either no node is eligible, and each
 * passes; or no node has the label, and each fails. */
static void write_topology_spread(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    _cleanup_(buf_done) Buf eligible = BUF_INIT(KIND_TEXT_MAX);
    PodRule rule = pod_rule_read(reader, kind, value, /* is_own_namespace= */ true);
    Spread spread = {.rule = &rule, .eligible = &eligible, .filter = BUF_INIT(KIND_TEXT_MAX)};

    rule.skips_terminating = true;
    rule.ignores_absent_keys = rule.has_selector || rule.is_same_owner;
    if (!yaml_find(value, STR("nodeTaintsPolicy")))
        rule.taints_policy = IGNORE;
    write_eligible(reader, &rule, ret->rules, &eligible);
    pod_rule_filter(&spread.filter, &rule);
    pod_rule_unless(&ret->expression, &rule, /* counts= */ true);
    cel_text_part(&ret->expression, "!($1) || ", &eligible);
    pod_rule_has_key(&ret->expression, &rule, " && ");
    write_own_count(&ret->expression, &spread);
    buf_append(&ret->expression, STR(" < "));
    write_least(&ret->expression, &spread);
    cel_text(&ret->expression, " + $1", TEXT_INT(rule.max_skew));
    write_message(&ret->message, &spread);
    buf_done(&spread.filter);
}

const RuleKind kind_topology_spread = {STR("topologySpread"),
    "matching pods are spread evenly over zones or other domains", &shape, write_topology_spread};
