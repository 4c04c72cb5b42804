/*
 * podAffinity, podAntiAffinity: near certain pods, or away from them.
 *
 *     podAffinity: {podSelector: {matchLabels: {app: cache}}, topologyKey: example.com/rack}
 *     podAntiAffinity: {sameOwner: true}
 *     podAntiAffinity: {matchLabelKeys: [app], topologyKey: kubernetes.io/hostname}
 *
 * Which pods: pod-choice.h; of the pod's own namespace unless namespaces are given. As in
 * Kubernetes a node without the topologyKey has no such pods near, and the first of a group that
 * wants to be together may go to any node that has it: when the pod is itself one that counts,
 * and there is none yet in any domain. (Without a topologyKey that is asked of the nodes by
 * their kubernetes.io/hostname, which every node has.)
 */

#include "base/cleanup.h"
#include "policy/cel-text.h"
#include "policy/kind.h"
#include "policy/pod-choice.h"

/* The label that makes every node a domain of its own. */
#define HOSTNAME STR("kubernetes.io/hostname")

static const Field fields[] = {
    POD_CHOICE_SELECTOR,
    POD_CHOICE_SAME_OWNER,
    POD_CHOICE_LABEL_KEYS,
    POD_CHOICE_OWN_NAMESPACE,
    POD_CHOICE_TOPOLOGY_KEY,
};

static PodChoice read(PolicyReader *reader, const YamlNode *value, const char *what) {
    PodChoice choice = {.is_own_namespace = true};

    reader_fields(reader, value, what, fields, ELEMENTS_OF(fields), &choice);
    pod_choice_require(reader, value, what, &choice);
    return choice;
}

/* The first of its group: the pod counts itself, and no pod of any domain does. The latter is the
 * same for all nodes. */
static void write_first(Buf *out, const PodChoice *choice) {
    _cleanup_(buf_done) Buf match = BUF_INIT(KIND_TEXT_MAX);
    Str key = str_is_empty(choice->topology_key) ? HOSTNAME : choice->topology_key;

    cel_text_string(out, key);
    buf_append(out, STR(" in node.metadata.labels && "));
    pod_choice_write_match(&match, choice);
    cel_text_part(out, "", &match, " && ");
    buf_append(out, STR("cluster.domains("));
    cel_text_string(out, key);
    buf_append(out, STR(").map(d, d.pods"));
    pod_choice_write_filter(out, choice);
    buf_append(out, STR(".size()).sum() == 0"));
}

static void write_affinity(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    PodChoice choice = read(reader, value, "podAffinity");

    pod_choice_write_unless(&ret->expression, &choice, /* counts= */ false);
    pod_choice_write_count(&ret->expression, &choice);
    buf_append(&ret->expression, STR(" > 0 || "));
    write_first(&ret->expression, &choice);
    pod_choice_write_unless_absent(&ret->message, &choice);
    pod_choice_write_located(&ret->message, &choice, "no matching pod is ", "");
}

static void write_anti_affinity(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    PodChoice choice = read(reader, value, "podAntiAffinity");

    pod_choice_write_unless(&ret->expression, &choice, /* counts= */ false);
    pod_choice_write_count(&ret->expression, &choice);
    buf_append(&ret->expression, STR(" == 0"));
    buf_append(&ret->message, STR("string("));
    pod_choice_write_count(&ret->message, &choice);
    buf_append(&ret->message, STR(") + "));
    pod_choice_write_located(&ret->message, &choice, " matching pods are ", "");
}

static const Shape shape = {
    .kind = SHAPE_OBJECT, .fields = fields, .n_fields = ELEMENTS_OF(fields)};

const RuleKind kind_pod_affinity = {
    .field = STR("podAffinity"),
    .summary = "a pod of this kind is near",
    .shape = &shape,
    .write = write_affinity,
};

const RuleKind kind_pod_anti_affinity = {
    .field = STR("podAntiAffinity"),
    .summary = "no pod of this kind is near",
    .shape = &shape,
    .write = write_anti_affinity,
};
