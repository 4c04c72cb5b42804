/* Reads the common fields of rules by pods, and writes their CEL. */

#include "policy/pod-rule.h"

#include "policy/cel-text.h"

#define LABELS "node.metadata.labels"
#define POD_LABELS "pod.metadata.labels"

static bool check_namespace(YamlReader *reader, const YamlNode *name) {
    return str_is(name->text, "*") || reader_namespace(reader, name);
}

static const Shape namespace_shape = {.kind = SHAPE_SCALAR, .check = check_namespace};
const Shape pod_rule_count_shape = {.kind = SHAPE_INT, .min = 1, .max = POD_COUNT_MAX};
const Shape pod_rule_namespaces_shape = {.kind = SHAPE_LIST, .of = &namespace_shape, .min = 1};

PodRule pod_rule_read(
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

/* With sameOwner no namespace is needed: an owner is in the pod's own namespace. */
void pod_rule_predicate(Buf *out, const PodRule *rule) {
    size_t begin = out->len;

    if (rule->is_same_owner)
        buf_append(out, STR("p.owner == pod.owner"));
    for (size_t i = 0; i < rule->label_keys.n; i++) {
        cel_text_separate(out, begin, " && ");
        cel_text(out,
            rule->ignores_absent_keys ? "(" POD_LABELS
                                        "$1 == '' || p.metadata.labels$1 == " POD_LABELS "$1)"
                                      : "p.metadata.labels$1 == " POD_LABELS "$1",
            TEXT_LABEL(rule->label_keys.items[i]));
    }
    if (rule->selector.n > 0) {
        cel_text_separate(out, begin, " && ");
        cel_text_selector(out, &rule->selector, "p.metadata.labels");
    }
    if (rule->skips_terminating) {
        cel_text_separate(out, begin, " && ");
        buf_append(out, STR("!p.terminating"));
    }
    if (rule->namespaces.n == 0 && (!rule->is_own_namespace || rule->is_same_owner))
        return;
    cel_text_separate(out, begin, " && ");
    if (rule->namespaces.n == 0)
        buf_append(out, STR("p.metadata.namespace == pod.metadata.namespace"));
    else if (rule->namespaces.n == 1)
        cel_text(out, "p.metadata.namespace == $1", TEXT_QUOTED(rule->namespaces.items[0]));
    else
        cel_text(out, "p.metadata.namespace in $1", TEXT_STRINGS(&rule->namespaces));
}

void pod_rule_applies(Buf *out, const PodRule *rule, const char *op) {
    const char *separator = op[0] == '!' ? " && " : " || ";
    size_t begin = out->len;

    if (rule->is_same_owner)
        cel_text(out, "pod.owner $1 ''", TEXT_RAW(op));
    for (size_t i = 0; !rule->ignores_absent_keys && i < rule->label_keys.n; i++) {
        cel_text_separate(out, begin, separator);
        cel_text(out, POD_LABELS "$1 $2 ''", TEXT_LABEL(rule->label_keys.items[i]), TEXT_RAW(op));
    }
}

void pod_rule_match(Buf *out, const PodRule *rule) {
    size_t begin = out->len;

    if (rule->selector.n > 0)
        cel_text_selector(out, &rule->selector, POD_LABELS);
    if (rule->namespaces.n > 0) {
        cel_text_separate(out, begin, " && ");
        cel_text(out, "pod.metadata.namespace in $1", TEXT_STRINGS(&rule->namespaces));
    }
}

void pod_rule_unless(Buf *out, const PodRule *rule, bool counts) {
    _cleanup_(buf_done) Buf match = BUF_INIT(KIND_TEXT_MAX);
    size_t begin = out->len;

    pod_rule_applies(out, rule, "==");
    cel_text_separate(out, begin, " || ");
    if (counts)
        pod_rule_match(&match, rule);
    cel_text_part(out, "!($1) || ", &match);
}

void pod_rule_filter(Buf *out, const PodRule *rule) {
    _cleanup_(buf_done) Buf predicate = BUF_INIT(KIND_TEXT_MAX);

    pod_rule_predicate(&predicate, rule);
    cel_text_part(out, ".filter(p, $1)", &predicate);
}

void pod_rule_pods(Buf *out, const PodRule *rule) {
    if (str_is_empty(rule->topology_key))
        buf_append(out, STR("node.pods"));
    else
        cel_text(out, "node.domain($1).pods", TEXT_QUOTED(rule->topology_key));
}

void pod_rule_count(Buf *out, const PodRule *rule) {
    pod_rule_pods(out, rule);
    pod_rule_filter(out, rule);
    buf_append(out, STR(".size()"));
}

void pod_rule_has_key(Buf *out, const PodRule *rule, const char *after) {
    cel_text(out, "$1 in " LABELS "$2", TEXT_QUOTED(rule->topology_key), TEXT_RAW(after));
}

void pod_rule_where(Buf *out, const PodRule *rule, const char *before, const char *after) {
    cel_text(out,
        str_is_empty(rule->topology_key) ? "'$1 on the node$2'"
        : after[0] != '\0'               ? "'$1 in $3 ' + " LABELS "$4 + '$2'"
                                         : "'$1 in $3 ' + " LABELS "$4",
        TEXT_RAW(before), TEXT_RAW(after), TEXT_ESCAPED(rule->topology_key),
        TEXT_LABEL(rule->topology_key));
}

void pod_rule_unless_absent(Buf *out, const PodRule *rule) {
    if (!str_is_empty(rule->topology_key))
        cel_text(out,
            "!($1 in " LABELS ") ? 'label $2 is absent' : ", TEXT_QUOTED(rule->topology_key),
            TEXT_ESCAPED(rule->topology_key));
}

const char *pod_rule_adjective(const PodRule *rule) {
    return rule->has_selector || rule->label_keys.n > 0 || rule->namespaces.n > 0 ? "matching "
                                                                                  : "";
}

void pod_rule_counted_message(
    Buf *out, const PodRule *rule, const char *before, const char *after) {
    buf_append(out, STR("string("));
    pod_rule_count(out, rule);
    buf_append(out, STR(") + "));
    pod_rule_where(out, rule, before, after);
}
