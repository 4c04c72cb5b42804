/* Built-in rules by the pods on the node or in its topology domain: maxPods, maxFreshPods,
 * podAffinity, podAntiAffinity, podSpread, podPack. pod-rule.h has their common fields. */

#include <inttypes.h>
#include <stdio.h>

#include "policy/cel-text.h"
#include "policy/pod-rule.h"

static const Shape per_shape = {
    SHAPE_WORDS("node", "owner"), .hint = "use topologyKey for zones and other domains"};
static const Shape limit_shape = {.kind = SHAPE_INT, .min = 0, .max = POD_COUNT_MAX};

#define FIELD_LIMIT                                                                                \
    {                                                                                              \
        REQUIRED("limit"), INTO(PodRule, limit, limit_shape),                                      \
            "maximum number of pods, this one included"                                            \
    }

static const Field max_fields[] = {
    FIELD_LIMIT,
    {OPTIONAL("per"), INTO(PodRule, per, per_shape),
        "owner: only pods with the same controlling owner as the pod count"},
    FIELD_SELECTOR,
    FIELD_LABEL_KEYS,
    FIELD_ALL_NAMESPACES,
    FIELD_TOPOLOGY_KEY("node label; nodes with the same value are counted together"),
};
static const Shape max_object_shape = {SHAPE_OF(max_fields)};
static const Shape max_shape = {
    .kind = SHAPE_EITHER, .of = &limit_shape, .other = &max_object_shape};

PodRule max_pods_read(YamlReader *reader, const YamlNode *value) {
    PodRule rule = {0};

    if (value->kind == YAML_MAPPING)
        rule = pod_rule_read(reader, &kind_max_pods, value, /* is_own_namespace= */ false);
    else
        (void)reader_value(reader, value, kind_max_pods.field.ptr, &limit_shape, &rule.limit);
    rule.is_same_owner = rule.per == 1;
    return rule;
}

/* Pods that do not count themselves pass. A node without the topologyKey fails, because the pods of
 * its domain cannot be counted. */
static void write_max_pods(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    PodRule rule = max_pods_read(reader, value);
    Buf *out = &ret->expression;
    char before[64], after[64];

    pod_rule_unless(out, &rule, /* counts= */ true);
    if (!str_is_empty(rule.topology_key))
        pod_rule_has_key(out, &rule, " && ");
    pod_rule_count(out, &rule);
    cel_text(out, " < $1", TEXT_INT(rule.limit));

    (void)snprintf(before, sizeof(before), " %spods%s", pod_rule_adjective(&rule),
        rule.is_same_owner ? " of its owner" : "");
    (void)snprintf(after, sizeof(after), ", limit %" PRId64, rule.limit);
    pod_rule_unless_absent(&ret->message, &rule);
    pod_rule_counted_message(&ret->message, &rule, before, after);
}

const RuleKind kind_max_pods = {STR("maxPods"),
    "limits the number of pods: a number for each node, or an object", &max_shape, write_max_pods};

static const Field fresh_fields[] = {
    FIELD_LIMIT,
    {REQUIRED("youngerThan"), INTO(PodRule, younger_than, shape_duration),
        "pods up to this age count"},
    FIELD_SELECTOR,
    FIELD_ALL_NAMESPACES,
};
static const Shape fresh_shape = {SHAPE_OF(fresh_fields)};

/* node.pods.filter(p, YOUNG && …).size(); a pod without a creation time counts as old. */
static void write_fresh_count(Buf *out, const PodRule *rule) {
    _cleanup_(buf_done) Buf predicate = BUF_INIT(KIND_TEXT_MAX);

    pod_rule_predicate(&predicate, rule);
    cel_text(out,
        "node.pods.filter(p, has(p.metadata.creationTimestamp) && "
        "p.metadata.creationTimestamp > now - duration('$1')$2$3).size()",
        TEXT_DURATION(rule->younger_than), TEXT_RAW(predicate.len > 0 ? " && " : ""),
        TEXT_BUF(&predicate));
}

/* A node with new pods is busy with pulling their images and starting them. */
static void write_max_fresh_pods(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    PodRule rule = pod_rule_read(reader, kind, value, /* is_own_namespace= */ false);

    pod_rule_unless(&ret->expression, &rule, /* counts= */ true);
    write_fresh_count(&ret->expression, &rule);
    cel_text(&ret->expression, " < $1", TEXT_INT(rule.limit));
    buf_append(&ret->message, STR("string("));
    write_fresh_count(&ret->message, &rule);
    cel_text(&ret->message, ") + ' $1pods younger than $2 on the node, limit $3'",
        TEXT_RAW(pod_rule_adjective(&rule)), TEXT_DURATION(rule.younger_than),
        TEXT_INT(rule.limit));
}

const RuleKind kind_max_fresh_pods = {STR("maxFreshPods"),
    "limits the number of young pods on the node", &fresh_shape, write_max_fresh_pods};

static const Field affinity_fields[] = {
    FIELD_SELECTOR,
    FIELD_SAME_OWNER,
    FIELD_LABEL_KEYS,
    FIELD_OWN_NAMESPACE,
    FIELD_TOPOLOGY_KEY("node label; nodes with the same value are counted together"),
};
static const Shape affinity_shape = {SHAPE_OF(affinity_fields)};

/* Lets the first pod of a group pass, as in Kubernetes: it matches itself, and no pod in any domain
 * matches. Without a topologyKey every node is a domain, by its hostname label. */
static void write_first(Buf *out, const PodRule *rule) {
    _cleanup_(buf_done) Buf match = BUF_INIT(KIND_TEXT_MAX), filter = BUF_INIT(KIND_TEXT_MAX);
    Str key = str_is_empty(rule->topology_key) ? STR("kubernetes.io/hostname") : rule->topology_key;

    pod_rule_match(&match, rule);
    pod_rule_filter(&filter, rule);
    cel_text(out,
        "$1 in node.metadata.labels && $2$3cluster.domains($1).map(d, d.pods$4.size()).sum() == 0",
        TEXT_QUOTED(key), TEXT_BUF(&match), TEXT_RAW(match.len > 0 ? " && " : ""),
        TEXT_BUF(&filter));
}

static void write_affinity(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    PodRule rule = pod_rule_read(reader, kind, value, /* is_own_namespace= */ true);
    bool is_anti = kind == &kind_pod_anti_affinity;

    pod_rule_unless(&ret->expression, &rule, /* counts= */ false);
    pod_rule_count(&ret->expression, &rule);
    buf_append(&ret->expression, is_anti ? STR(" == 0") : STR(" > 0 || "));
    if (is_anti) {
        pod_rule_counted_message(&ret->message, &rule, " matching pods", "");
        return;
    }
    write_first(&ret->expression, &rule);
    pod_rule_unless_absent(&ret->message, &rule);
    pod_rule_where(&ret->message, &rule, "no matching pod", "");
}

const RuleKind kind_pod_affinity = {STR("podAffinity"),
    "a matching pod is on the node or in its domain", &affinity_shape, write_affinity};

const RuleKind kind_pod_anti_affinity = {STR("podAntiAffinity"),
    "no matching pod is on the node or in its domain", &affinity_shape, write_affinity};

#define FIELDS_OF_SCORES                                                                           \
    FIELD_SELECTOR, FIELD_SAME_OWNER, FIELD_LABEL_KEYS, FIELD_OWN_NAMESPACE,                       \
        FIELD_TOPOLOGY_KEY("node label; nodes with the same value are counted together, those "    \
                           "without it get 0 points")

static const Field spread_fields[] = {FIELDS_OF_SCORES};
static const Field pack_fields[] = {
    {REQUIRED("full"), INTO(PodRule, full, pod_rule_count_shape),
        "number of pods that gives 100 points"},
    FIELDS_OF_SCORES,
};
static const Shape spread_shape = {SHAPE_OF(spread_fields)};
static const Shape pack_shape = {SHAPE_OF(pack_fields)};

/* podSpread: 100 points for no pod, 50 for one, 33 for two. podPack: evenly up to 100 for `full`
 * pods. If the rule does not apply to the pod, it counts no pods. */
static void write_pod_score(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    _cleanup_(buf_done) Buf predicate = BUF_INIT(KIND_TEXT_MAX), count = BUF_INIT(KIND_TEXT_MAX);
    PodRule rule = pod_rule_read(reader, kind, value, /* is_own_namespace= */ true);
    bool has_key = !str_is_empty(rule.topology_key);

    pod_rule_applies(&predicate, &rule, "!=");
    cel_text_separate(&predicate, 0, " && ");
    pod_rule_predicate(&predicate, &rule);
    pod_rule_pods(&count, &rule);
    cel_text_part(&count, ".filter(p, $1)", &predicate);
    buf_append(&count, STR(".size()"));
    if (has_key)
        pod_rule_has_key(&ret->expression, &rule, " ? ");
    cel_text(&ret->expression,
        kind == &kind_pod_pack ? "math.least(100.0, double($1) * 100.0 / $2)$3"
                               : "100.0 / (1.0 + double($1))$3",
        TEXT_BUF(&count), TEXT_NUMBER((double)rule.full), TEXT_RAW(has_key ? " : 0.0" : ""));
}

const RuleKind kind_pod_spread = {STR("podSpread"),
    "nodes with fewer matching pods get more points", &spread_shape, write_pod_score};

const RuleKind kind_pod_pack = {
    STR("podPack"), "nodes with more matching pods get more points", &pack_shape, write_pod_score};
