/*
 * Built-in rules by the pods that are on the node, or in its topology domain.
 *
 *     maxPods: 30
 *     maxPods: {limit: 2, per: owner}
 *     maxPods: {limit: 9, topologyKey: topology.kubernetes.io/zone, podSelector: {…}}
 *     maxFreshPods: {limit: 2, youngerThan: 120s}
 *     podAffinity: {podSelector: {matchLabels: {app: cache}}, topologyKey: example.com/rack}
 *     podAntiAffinity: {sameOwner: true}
 *     topologySpread: {topologyKey: …, maxSkew: 1, podSelector: {…}, minDomains: 3}
 *     podSpread: {sameOwner: true, topologyKey: topology.kubernetes.io/zone}       # score
 *     podPack: {podSelector: {matchLabels: {component: workspace}}, full: 20}      # score
 *
 * The fields that these rules share select the pods that count; all of them must hold:
 *
 *     podSelector: {matchLabels: {app: web}}
 *     sameOwner: true                    # the same controlling owner as the pod
 *     matchLabelKeys: [app]              # the pod's own value of that label
 *     namespaces: [team-a]               # ["*"]: all
 *     topologyKey: topology.kubernetes.io/zone
 *
 * Rules by sameOwner and matchLabelKeys do not apply to a pod without an owner, or without such a
 * label. Without a topologyKey the pods of the node itself count. A node without that label is in
 * no domain, and has no pods to count.
 */

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "policy/cel-text.h"
#include "policy/kind.h"

#define LABELS "node.metadata.labels"
#define POD_LABELS "pod.metadata.labels"
#define COUNT_MAX 1000000

/* The fields of any of the kinds. */
typedef struct PodRule {
    bool has_selector;
    Selector selector;
    bool is_same_owner;
    StrList label_keys;
    bool is_own_namespace; /* the pod's; the default of some kinds */
    StrList namespaces;    /* empty: all */
    Str topology_key;      /* empty: the node itself */

    int64_t limit;        /* maxPods, maxFreshPods */
    unsigned per;         /* maxPods */
    int64_t younger_than; /* maxFreshPods, in nanoseconds */
    int64_t max_skew;     /* topologySpread */
    int64_t min_domains;  /* topologySpread; 0: not given */
    int64_t full;         /* podPack */
} PodRule;

/* --- reading ------------------------------------------------------------------ */

static bool check_namespace(YamlReader *reader, const YamlNode *name) {
    return str_is(name->text, "*") || reader_namespace(reader, name);
}

static const Shape namespace_shape = {.kind = SHAPE_SCALAR, .check = check_namespace};
static const Shape namespaces_shape = {.kind = SHAPE_LIST, .of = &namespace_shape, .min = 1};

#define FIELD_SELECTOR                                                                             \
    {                                                                                              \
        OPTIONAL("podSelector"), INTO(PodRule, selector, shape_selector),                          \
            .about = "pods with these labels"                                                      \
    }
#define FIELD_SAME_OWNER                                                                           \
    {                                                                                              \
        OPTIONAL("sameOwner"), INTO(PodRule, is_same_owner, shape_true),                           \
            .about = "pods with the same controlling owner as the pod"                             \
    }
#define FIELD_LABEL_KEYS                                                                           \
    {                                                                                              \
        OPTIONAL("matchLabelKeys"), INTO(PodRule, label_keys, shape_label_keys),                   \
            .about = "pods with the same values of these labels as the pod"                        \
    }
#define FIELD_NAMESPACES(text)                                                                     \
    { OPTIONAL("namespaces"), INTO(PodRule, namespaces, namespaces_shape), .about = (text) }
#define FIELD_ALL_NAMESPACES FIELD_NAMESPACES("pods of these namespaces; default: all")
#define FIELD_OWN_NAMESPACE                                                                        \
    FIELD_NAMESPACES("pods of these namespaces, \"*\" for all; default: the pod's own")
#define FIELD_TOPOLOGY_KEY(text)                                                                   \
    { OPTIONAL("topologyKey"), INTO(PodRule, topology_key, shape_label_key), .about = (text) }

/* Reads a mapping. With @is_own_namespace other namespaces must be named explicitly, and so must a
 * selection of pods. */
static PodRule read_rule(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, bool is_own_namespace) {
    const Shape *shape = kind->shape->kind == SHAPE_EITHER ? kind->shape->other : kind->shape;
    PodRule rule = {0};

    reader_fields(reader, value, kind->field.ptr, shape, &rule);
    rule.has_selector = yaml_find(value, STR("podSelector"));
    rule.is_own_namespace = is_own_namespace && !yaml_find(value, STR("namespaces"));
    for (size_t i = 0; i < rule.namespaces.n; i++)
        if (str_is(rule.namespaces.items[i], "*"))
            rule.namespaces.n = 0;
    if (is_own_namespace && value->kind == YAML_MAPPING && !rule.has_selector &&
        !yaml_find(value, STR("sameOwner")) && !yaml_find(value, STR("matchLabelKeys")))
        reader_error_hint(reader, value, STR("podSelector: {} selects all pods"),
            "%s needs one of podSelector, sameOwner and matchLabelKeys", kind->field.ptr);
    return rule;
}

/* --- writing ------------------------------------------------------------------ */

/* @separator, but before the first. */
static void append_separator(Buf *out, size_t begin, const char *separator) {
    if (out->len > begin)
        buf_append(out, str_from_c(separator));
}

/* The condition on p, a pod that may count. Empty when every pod counts. An owner is of the pod's
 * own namespace, so its uid is enough. */
static void write_predicate(Buf *out, const PodRule *rule) {
    size_t begin = out->len;

    if (rule->is_same_owner)
        buf_append(out, STR("p.owner == pod.owner"));
    for (size_t i = 0; i < rule->label_keys.n; i++) {
        append_separator(out, begin, " && ");
        cel_text(
            out, "p.metadata.labels$1 == " POD_LABELS "$1", TEXT_LABEL(rule->label_keys.items[i]));
    }
    if (rule->selector.n > 0) {
        append_separator(out, begin, " && ");
        cel_text_selector(out, &rule->selector, "p.metadata.labels");
    }
    if (rule->namespaces.n == 0 && (!rule->is_own_namespace || rule->is_same_owner))
        return;
    append_separator(out, begin, " && ");
    if (rule->namespaces.n == 0)
        buf_append(out, STR("p.metadata.namespace == pod.metadata.namespace"));
    else if (rule->namespaces.n == 1)
        cel_text(out, "p.metadata.namespace == $1", TEXT_QUOTED(rule->namespaces.items[0]));
    else
        cel_text(out, "p.metadata.namespace in $1", TEXT_STRINGS(&rule->namespaces));
}

/* Whether the rule applies to the pod: it has an owner and those labels (@op "!=", joined by &&);
 * or whether it does not ("==", joined by ||). Empty when it always applies. */
static void write_applies(Buf *out, const PodRule *rule, const char *op) {
    const char *separator = op[0] == '!' ? " && " : " || ";
    size_t begin = out->len;

    if (rule->is_same_owner)
        cel_text(out, "pod.owner $1 ''", TEXT_RAW(op));
    for (size_t i = 0; i < rule->label_keys.n; i++) {
        append_separator(out, begin, separator);
        cel_text(out, POD_LABELS "$1 $2 ''", TEXT_LABEL(rule->label_keys.items[i]), TEXT_RAW(op));
    }
}

/* Whether the pod itself is one that counts. Empty when it always is. */
static void write_match(Buf *out, const PodRule *rule) {
    size_t begin = out->len;

    if (rule->selector.n > 0)
        cel_text_selector(out, &rule->selector, POD_LABELS);
    if (rule->namespaces.n > 0) {
        append_separator(out, begin, " && ");
        cel_text(out, "pod.metadata.namespace in $1", TEXT_STRINGS(&rule->namespaces));
    }
}

/* "… || " for pods that the rule does not apply to, and with @counts for those that do not count
 * themselves. */
static void write_unless(Buf *out, const PodRule *rule, bool counts) {
    _cleanup_(buf_done) Buf match = BUF_INIT(KIND_TEXT_MAX);
    size_t begin = out->len;

    write_applies(out, rule, "==");
    append_separator(out, begin, " || ");
    if (counts)
        write_match(&match, rule);
    cel_text_part(out, "!($1) || ", &match);
}

/* .filter(p, PREDICATE); nothing when every pod counts. */
static void write_filter(Buf *out, const PodRule *rule) {
    _cleanup_(buf_done) Buf predicate = BUF_INIT(KIND_TEXT_MAX);

    write_predicate(&predicate, rule);
    cel_text_part(out, ".filter(p, $1)", &predicate);
}

static void write_pods(Buf *out, const PodRule *rule) {
    if (str_is_empty(rule->topology_key))
        buf_append(out, STR("node.pods"));
    else
        cel_text(out, "node.domain($1).pods", TEXT_QUOTED(rule->topology_key));
}

static void write_count(Buf *out, const PodRule *rule) {
    write_pods(out, rule);
    write_filter(out, rule);
    buf_append(out, STR(".size()"));
}

static void write_has_key(Buf *out, const PodRule *rule, const char *after) {
    cel_text(out, "$1 in " LABELS "$2", TEXT_QUOTED(rule->topology_key), TEXT_RAW(after));
}

/* For messages: "@before on the node@after", or "in KEY VALUE". */
static void write_where(Buf *out, const PodRule *rule, const char *before, const char *after) {
    cel_text(out,
        str_is_empty(rule->topology_key) ? "'$1 on the node$2'"
        : after[0] != '\0'               ? "'$1 in $3 ' + " LABELS "$4 + '$2'"
                                         : "'$1 in $3 ' + " LABELS "$4",
        TEXT_RAW(before), TEXT_RAW(after), TEXT_ESCAPED(rule->topology_key),
        TEXT_LABEL(rule->topology_key));
}

/* The beginning of a message: for nodes without the topologyKey. */
static void write_unless_absent(Buf *out, const PodRule *rule) {
    if (!str_is_empty(rule->topology_key))
        cel_text(out,
            "!($1 in " LABELS ") ? 'label $2 is absent' : ", TEXT_QUOTED(rule->topology_key),
            TEXT_ESCAPED(rule->topology_key));
}

static const char *adjective(const PodRule *rule) {
    return rule->has_selector || rule->label_keys.n > 0 || rule->namespaces.n > 0 ? "matching "
                                                                                  : "";
}

static void write_counted_message(
    Buf *out, const PodRule *rule, const char *before, const char *after) {
    buf_append(out, STR("string("));
    write_count(out, rule);
    buf_append(out, STR(") + "));
    write_where(out, rule, before, after);
}

/* --- maxPods ------------------------------------------------------------------- */

static const char *const per_words[] = {"node", "owner", NULL};
static const Shape per_shape = {
    .kind = SHAPE_WORD, .words = per_words, .hint = "use topologyKey for zones and other domains"};
static const Shape limit_shape = {.kind = SHAPE_INT, .min = 0, .max = COUNT_MAX};

#define FIELD_LIMIT                                                                                \
    {                                                                                              \
        REQUIRED("limit"), INTO(PodRule, limit, limit_shape),                                      \
            .about = "maximum number of pods, this one included"                                   \
    }

static const Field max_fields[] = {
    FIELD_LIMIT,
    {OPTIONAL("per"), INTO(PodRule, per, per_shape),
        .about = "owner: only pods with the same controlling owner as the pod count"},
    FIELD_SELECTOR,
    FIELD_LABEL_KEYS,
    FIELD_ALL_NAMESPACES,
    FIELD_TOPOLOGY_KEY("node label; nodes with the same value are counted together"),
};
static const Shape max_object_shape = {SHAPE_OF(max_fields)};
static const Shape max_shape = {
    .kind = SHAPE_EITHER, .of = &limit_shape, .other = &max_object_shape};

/* Only pods that count are limited: one more of the others makes no difference. A node without the
 * topologyKey fails, since the pods of its domain cannot be counted. */
static void write_max_pods(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    Buf *out = &ret->expression;
    PodRule rule = {0};
    char before[64], after[64];

    if (value->kind == YAML_MAPPING)
        rule = read_rule(reader, kind, value, /* is_own_namespace= */ false);
    else
        (void)reader_value(reader, value, kind->field.ptr, &limit_shape, &rule.limit);
    rule.is_same_owner = rule.per == 1;
    write_unless(out, &rule, /* counts= */ true);
    if (!str_is_empty(rule.topology_key))
        write_has_key(out, &rule, " && ");
    write_count(out, &rule);
    cel_text(out, " < $1", TEXT_INT(rule.limit));

    (void)snprintf(before, sizeof(before), " %spods%s", adjective(&rule),
        rule.is_same_owner ? " of its owner" : "");
    (void)snprintf(after, sizeof(after), ", limit %" PRId64, rule.limit);
    write_unless_absent(&ret->message, &rule);
    write_counted_message(&ret->message, &rule, before, after);
}

const RuleKind kind_max_pods = {
    STR("maxPods"), "limits the number of pods", &max_shape, write_max_pods};

/* --- maxFreshPods ------------------------------------------------------------------ */

static const Field fresh_fields[] = {
    FIELD_LIMIT,
    {REQUIRED("youngerThan"), INTO(PodRule, younger_than, shape_duration),
        .about = "pods up to this age count"},
    FIELD_SELECTOR,
    FIELD_ALL_NAMESPACES,
};
static const Shape fresh_shape = {SHAPE_OF(fresh_fields)};

/* node.pods.filter(p, YOUNG && …).size(); a pod without a creation time is old. */
static void write_fresh_count(Buf *out, const PodRule *rule) {
    _cleanup_(buf_done) Buf predicate = BUF_INIT(KIND_TEXT_MAX);

    write_predicate(&predicate, rule);
    cel_text(out,
        "node.pods.filter(p, has(p.metadata.creationTimestamp) && "
        "p.metadata.creationTimestamp > now - duration('$1')$2$3).size()",
        TEXT_DURATION(rule->younger_than), TEXT_RAW(predicate.len > 0 ? " && " : ""),
        TEXT_BUF(&predicate));
}

/* A node that has just been given pods is busy pulling images and starting them. */
static void write_max_fresh_pods(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    PodRule rule = read_rule(reader, kind, value, /* is_own_namespace= */ false);

    write_unless(&ret->expression, &rule, /* counts= */ true);
    write_fresh_count(&ret->expression, &rule);
    cel_text(&ret->expression, " < $1", TEXT_INT(rule.limit));
    buf_append(&ret->message, STR("string("));
    write_fresh_count(&ret->message, &rule);
    cel_text(&ret->message, ") + ' $1pods younger than $2 on the node, limit $3'",
        TEXT_RAW(adjective(&rule)), TEXT_DURATION(rule.younger_than), TEXT_INT(rule.limit));
}

const RuleKind kind_max_fresh_pods = {STR("maxFreshPods"),
    "limits the number of young pods on the node", &fresh_shape, write_max_fresh_pods};

/* --- podAffinity, podAntiAffinity ---------------------------------------------------- */

static const Field affinity_fields[] = {
    FIELD_SELECTOR,
    FIELD_SAME_OWNER,
    FIELD_LABEL_KEYS,
    FIELD_OWN_NAMESPACE,
    FIELD_TOPOLOGY_KEY("node label; nodes with the same value are counted together"),
};
static const Shape affinity_shape = {SHAPE_OF(affinity_fields)};

/* The first pod of its group, as in Kubernetes: it counts itself, and no pod of any domain does.
 * Without a topologyKey every node is a domain, by the label that every node has. */
static void write_first(Buf *out, const PodRule *rule) {
    _cleanup_(buf_done) Buf match = BUF_INIT(KIND_TEXT_MAX), filter = BUF_INIT(KIND_TEXT_MAX);
    Str key = str_is_empty(rule->topology_key) ? STR("kubernetes.io/hostname") : rule->topology_key;

    write_match(&match, rule);
    write_filter(&filter, rule);
    cel_text(out, "$1 in " LABELS " && $2$3cluster.domains($1).map(d, d.pods$4.size()).sum() == 0",
        TEXT_QUOTED(key), TEXT_BUF(&match), TEXT_RAW(match.len > 0 ? " && " : ""),
        TEXT_BUF(&filter));
}

static void write_affinity(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    PodRule rule = read_rule(reader, kind, value, /* is_own_namespace= */ true);

    write_unless(&ret->expression, &rule, /* counts= */ false);
    write_count(&ret->expression, &rule);
    buf_append(&ret->expression, STR(" > 0 || "));
    write_first(&ret->expression, &rule);
    write_unless_absent(&ret->message, &rule);
    write_where(&ret->message, &rule, "no matching pod", "");
}

static void write_anti_affinity(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    PodRule rule = read_rule(reader, kind, value, /* is_own_namespace= */ true);

    write_unless(&ret->expression, &rule, /* counts= */ false);
    write_count(&ret->expression, &rule);
    buf_append(&ret->expression, STR(" == 0"));
    write_counted_message(&ret->message, &rule, " matching pods", "");
}

const RuleKind kind_pod_affinity = {STR("podAffinity"),
    "a matching pod is on the node or in its domain", &affinity_shape, write_affinity};

const RuleKind kind_pod_anti_affinity = {STR("podAntiAffinity"),
    "no matching pod is on the node or in its domain", &affinity_shape, write_anti_affinity};

/* --- topologySpread ------------------------------------------------------------------ */

static const Shape count_shape = {.kind = SHAPE_INT, .min = 1, .max = COUNT_MAX};

static const Field skew_fields[] = {
    {REQUIRED("topologyKey"), INTO(PodRule, topology_key, shape_label_key),
        .about = "node label whose values are the domains"},
    {REQUIRED("maxSkew"), INTO(PodRule, max_skew, count_shape),
        .about = "how many more pods a domain may have than the emptiest one"},
    {OPTIONAL("minDomains"), INTO(PodRule, min_domains, count_shape),
        .about = "with fewer domains than this, the emptiest domain counts as empty"},
    FIELD_SELECTOR,
    FIELD_SAME_OWNER,
    FIELD_LABEL_KEYS,
    FIELD_OWN_NAMESPACE,
};
static const Shape skew_shape = {SHAPE_OF(skew_fields)};

/* The pods of the emptiest domain: the same for all nodes. */
static void write_least(Buf *out, const PodRule *rule) {
    _cleanup_(buf_done) Buf filter = BUF_INIT(KIND_TEXT_MAX);

    write_filter(&filter, rule);
    cel_text(out,
        rule->min_domains > 0 ? "(cluster.domains($1).size() < $2 ? 0 : "
                                "cluster.domains($1).map(d, d.pods$3.size()).min())"
                              : "cluster.domains($1).map(d, d.pods$3.size()).min()",
        TEXT_QUOTED(rule->topology_key), TEXT_INT(rule->min_domains), TEXT_BUF(&filter));
}

/* Where no node has the label there are no domains, and min() fails: but then the first condition
 * is false everywhere, and the error does not count. */
static void write_topology_spread(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    PodRule rule = read_rule(reader, kind, value, /* is_own_namespace= */ true);

    write_unless(&ret->expression, &rule, /* counts= */ true);
    write_has_key(&ret->expression, &rule, " && ");
    write_count(&ret->expression, &rule);
    buf_append(&ret->expression, STR(" < "));
    write_least(&ret->expression, &rule);
    cel_text(&ret->expression, " + $1", TEXT_INT(rule.max_skew));

    write_unless_absent(&ret->message, &rule);
    write_counted_message(&ret->message, &rule, " matching pods", ", ");
    buf_append(&ret->message, STR(" + string("));
    write_least(&ret->message, &rule);
    cel_text(&ret->message, ") + ' in the emptiest domain, maxSkew $1'", TEXT_INT(rule.max_skew));
}

const RuleKind kind_topology_spread = {STR("topologySpread"),
    "matching pods are spread evenly over zones or other domains", &skew_shape,
    write_topology_spread};

/* --- podSpread, podPack ---------------------------------------------------------------- */

#define FIELDS_OF_SCORES                                                                           \
    FIELD_SELECTOR, FIELD_SAME_OWNER, FIELD_LABEL_KEYS, FIELD_OWN_NAMESPACE,                       \
        FIELD_TOPOLOGY_KEY("node label; nodes with the same value are counted together, those "    \
                           "without it get 0 points")

static const Field spread_fields[] = {FIELDS_OF_SCORES};
static const Field pack_fields[] = {
    {REQUIRED("full"), INTO(PodRule, full, count_shape),
        .about = "number of pods that gives 100 points"},
    FIELDS_OF_SCORES,
};
static const Shape spread_shape = {SHAPE_OF(spread_fields)};
static const Shape pack_shape = {SHAPE_OF(pack_fields)};

/* podSpread: 100 points for no pod, 50 for one, 33 for two. podPack: evenly from 0 to 100, which
 * `full` pods get. A pod that the rule does not apply to counts none. */
static void write_pod_score(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    _cleanup_(buf_done) Buf predicate = BUF_INIT(KIND_TEXT_MAX), count = BUF_INIT(KIND_TEXT_MAX);
    PodRule rule = read_rule(reader, kind, value, /* is_own_namespace= */ true);
    bool has_key = !str_is_empty(rule.topology_key);

    write_applies(&predicate, &rule, "!=");
    append_separator(&predicate, 0, " && ");
    write_predicate(&predicate, &rule);
    write_pods(&count, &rule);
    cel_text_part(&count, ".filter(p, $1)", &predicate);
    buf_append(&count, STR(".size()"));
    if (has_key)
        write_has_key(&ret->expression, &rule, " ? ");
    cel_text(&ret->expression,
        kind == &kind_pod_pack ? "math.least(100.0, double($1) * 100.0 / $2)$3"
                               : "100.0 / (1.0 + double($1))$3",
        TEXT_BUF(&count), TEXT_NUMBER((double)rule.full), TEXT_RAW(has_key ? " : 0.0" : ""));
}

const RuleKind kind_pod_spread = {STR("podSpread"),
    "nodes with fewer matching pods get more points", &spread_shape, write_pod_score};

const RuleKind kind_pod_pack = {
    STR("podPack"), "nodes with more matching pods get more points", &pack_shape, write_pod_score};
