/*
 * A PlacementPolicy that publishes becomes a MutatingAdmissionPolicy for its slots, and one for its
 * label. They select the same pods by labels and namespaces. For Karpenter, its slots become a
 * NodeOverlay.
 */

#include "commands/config-admission.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "json/write.h"

#define WHO "berth config"

/* --- the pods that it selects ----------------------------------------------------------------- */

static void write_requirement(JsonWriter *json, const Requirement *requirement) {
    json_write_object(json);
    json_write_member(json, STR("key"), requirement->key);
    json_write_member(json, STR("operator"), selector_op_words[requirement->op]);
    if (requirement->n_values > 0) {
        json_member_array(json, "values");
        for (size_t i = 0; i < requirement->n_values; i++)
            json_write_string(json, requirement->values[i]);
        json_write_end_array(json);
    }
    json_write_end_object(json);
}

static bool is_same(const Requirement *a, const Requirement *b) {
    bool is_same = str_eq(a->key, b->key) && a->op == b->op && a->n_values == b->n_values;

    for (size_t i = 0; is_same && i < a->n_values; i++)
        is_same = str_eq(a->values[i], b->values[i]);
    return is_same;
}

/* Those of @selector that are not in @written. */
static void write_requirements(
    JsonWriter *json, const Selector *selector, const Selector *written) {
    for (size_t i = 0; i < selector->n; i++) {
        bool is_known = false;

        for (size_t j = 0; j < written->n; j++)
            is_known |= is_same(&selector->items[i], &written->items[j]);
        if (!is_known)
            write_requirement(json, &selector->items[i]);
    }
}

static void write_names(JsonWriter *json, const StrList *namespaces) {
    const Requirement requirement = {.key = STR("kubernetes.io/metadata.name"),
        .op = SELECTOR_IN,
        .values = namespaces->items,
        .n_values = namespaces->n};

    if (namespaces->n > 0)
        write_requirement(json, &requirement);
}

/* A line "    namespaceSelector: {"matchExpressions":[…]}"; JSON is YAML. */
static void write_namespaces(const Match *match, const SlotRule *slots, Buf *out) {
    JsonWriter json = JSON_WRITER(out);

    if (match->namespaces.n + slots->namespaces.n + match->namespace_selector.n == 0)
        return;
    buf_append(out, STR("    namespaceSelector: "));
    json_write_object(&json);
    json_member_array(&json, "matchExpressions");
    write_names(&json, &match->namespaces);
    write_names(&json, &slots->namespaces);
    write_requirements(&json, &match->namespace_selector, &(Selector){0});
    json_write_end_array(&json);
    json_write_end_object(&json);
    buf_append(out, STR("\n"));
}

static void write_labels(const Match *match, const SlotRule *slots, Buf *out) {
    JsonWriter json = JSON_WRITER(out);

    if (match->pod_selector.n + slots->selector.n == 0)
        return;
    buf_append(out, STR("    objectSelector: "));
    json_write_object(&json);
    json_member_array(&json, "matchExpressions");
    write_requirements(&json, &match->pod_selector, &(Selector){0});
    write_requirements(&json, &slots->selector, &match->pod_selector);
    json_write_end_array(&json);
    json_write_end_object(&json);
    buf_append(out, STR("\n"));
}

/* --- the policies ----------------------------------------------------------------------------- */

/* One MutatingAdmissionPolicy: its name is berth-KIND.POLICY. */
typedef struct Admission {
    const Policy *policy;
    const char *kind, *about;
    const SlotRule *slots; /* whose pods it also selects; may be NULL */
} Admission;

static void write_head(const Admission *admission, Buf *out) {
    static const SlotRule no_slots;
    const SlotRule *slots = admission->slots ? admission->slots : &no_slots;
    Str name = admission->policy->name;

    if (out->len > 0)
        buf_append(out, STR("---\n"));
    buf_printf(out,
        "# New pods of the policy %.*s %s. For Kubernetes 1.36 and later.\n"
        "apiVersion: admissionregistration.k8s.io/v1\n"
        "kind: MutatingAdmissionPolicy\n"
        "metadata: {name: berth-%s.%.*s}\n"
        "spec:\n"
        "  failurePolicy: Fail\n"
        "  reinvocationPolicy: IfNeeded\n"
        "  matchConstraints:\n",
        STR_FMT(name), admission->about, admission->kind, STR_FMT(name));
    write_namespaces(&admission->policy->match, slots, out);
    write_labels(&admission->policy->match, slots, out);
    buf_append(out,
        STR("    resourceRules:\n"
            "      - {apiGroups: [\"\"], apiVersions: [v1], resources: [pods], operations: "
            "[CREATE]}\n"
            "  matchConditions:\n"
            "    - {name: has-no-node, expression: \"!has(object.spec.nodeName) || "
            "object.spec.nodeName == ''\"}\n"
            "    - name: is-not-of-a-daemonset\n"
            "      expression: \"!object.metadata.?ownerReferences.orValue([]).exists(o, o.kind == "
            "'DaemonSet')\"\n"));
}

static void write_binding(const Admission *admission, Buf *out) {
    buf_printf(out,
        "---\n"
        "apiVersion: admissionregistration.k8s.io/v1\n"
        "kind: MutatingAdmissionPolicyBinding\n"
        "metadata: {name: berth-%s.%.*s}\n"
        "spec: {policyName: berth-%s.%.*s}\n",
        admission->kind, STR_FMT(admission->policy->name), admission->kind,
        STR_FMT(admission->policy->name));
}

/* A request for one slot in the first container. Pods that request some already keep that. */
static const char slots_mutation[] =
    "    - name: requests-none\n"
    "      expression: \"!object.spec.containers.exists(c, '%.*s' in "
    "c.?resources.?requests.orValue({}))\"\n"
    "  variables:\n"
    "    - {name: has, expression: \"has(object.spec.containers[0].resources)\"}\n"
    "    - {name: hasRequests, expression: \"variables.has && "
    "has(object.spec.containers[0].resources.requests)\"}\n"
    "    - {name: hasLimits, expression: \"variables.has && "
    "has(object.spec.containers[0].resources.limits)\"}\n"
    "  mutations:\n"
    "    - patchType: JSONPatch\n"
    "      jsonPatch:\n"
    "        expression: |\n"
    "          (variables.has ? [] : [JSONPatch{op: 'add', path: "
    "'/spec/containers/0/resources', value: {}}])\n"
    "            + (variables.hasRequests ? [] : [JSONPatch{op: 'add', path: "
    "'/spec/containers/0/resources/requests', value: {}}])\n"
    "            + (variables.hasLimits ? [] : [JSONPatch{op: 'add', path: "
    "'/spec/containers/0/resources/limits', value: {}}])\n"
    "            + ['requests', 'limits'].map(part, JSONPatch{op: 'add', value: '1',\n"
    "                path: '/spec/containers/0/resources/' + part + '/' + "
    "jsonpatch.escapeKey('%.*s')})\n";

static void write_slots(const Policy *policy, const SlotRule *slots, Buf *out) {
    const Admission admission = {policy, "slots", "request one of its slots", slots};

    write_head(&admission, out);
    buf_printf(out, slots_mutation, STR_FMT(slots->resource), STR_FMT(slots->resource));
    write_binding(&admission, out);
}

/* Those of the term t, as maps: a list of CEL cannot hold both objects of the pod and new maps. */
#define REQUIREMENTS(field)                                                                        \
    "t.?" field ".orValue([]).map(e,\n"                                                            \
    "                               dyn({'key': dyn(e.key), 'operator': dyn(e.operator), "         \
    "'values': "                                                                                   \
    "dyn(e.?values.orValue([]).map(v, v))}))"

/* A required node affinity. Terms are alternatives, so each gets the condition; an empty one
 * selects no node, and stays empty. Cluster Autoscaler simulates new nodes as copies of real ones,
 * with their label: each term is there a second time for these, which it marks. */
static const char label_mutation[] =
    "    - name: requires-none\n"
    "      expression: |-\n"
    "        !object.spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution"
    ".?nodeSelectorTerms.orValue([])\n"
    "          .exists(t, t.?matchExpressions.orValue([]).exists(e, e.key == '%.*s'))\n"
    "    - name: selects-nodes\n"
    "      expression: |-\n"
    "        !has(object.spec.affinity) || !has(object.spec.affinity.nodeAffinity)\n"
    "          || "
    "!has(object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution)\n"
    "          || object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    ".nodeSelectorTerms\n"
    "              .exists(t, has(t.matchExpressions) || has(t.matchFields))\n"
    "  variables:\n"
    "    - {name: hasAffinity, expression: \"has(object.spec.affinity)\"}\n"
    "    - {name: hasNode, expression: \"variables.hasAffinity && "
    "has(object.spec.affinity.nodeAffinity)\"}\n"
    "    - {name: hasRequired, expression: \"variables.hasNode && "
    "has(object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution)\"}\n"
    "    - {name: open, expression: \"[dyn({'key': '%.*s', 'operator': 'DoesNotExist'})]\"}\n"
    "    - {name: simulated, expression: \"[dyn({'key': "
    "'cluster-autoscaler.kubernetes.io/template-node', 'operator': 'Exists'})]\"}\n"
    "  mutations:\n"
    "    - patchType: JSONPatch\n"
    "      jsonPatch:\n"
    "        expression: |\n"
    "          (variables.hasAffinity ? [] : [JSONPatch{op: 'add', path: '/spec/affinity', value: "
    "{}}])\n"
    "            + (variables.hasNode ? [] : [JSONPatch{op: 'add', path: "
    "'/spec/affinity/nodeAffinity', value: {}}])\n"
    "            + [JSONPatch{op: 'add',\n"
    "                path: "
    "'/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution',\n"
    "                value: {'nodeSelectorTerms': [variables.open, "
    "variables.simulated].map(condition,\n"
    "                  !variables.hasRequired ? [dyn({'matchExpressions': condition})]\n"
    "                  : object.spec.affinity.nodeAffinity"
    ".requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.map(t,\n"
    "                      !has(t.matchExpressions) && !has(t.matchFields) ? dyn({})\n"
    "                      : dyn({'matchFields': " REQUIREMENTS(
        "matchFields") ",\n"
                       "                             'matchExpressions': " REQUIREMENTS(
                           "matchExpressions") " + "
                                               "condition}))).flatten()}}]\n";

static void write_label(const Policy *policy, Buf *out) {
    const Admission admission = {policy, "label", "require a node that it is not closed to", NULL};
    Str key = policy->closed_label;

    write_head(&admission, out);
    buf_printf(out, label_mutation, STR_FMT(key), STR_FMT(key));
    write_binding(&admission, out);
}

int config_admission_write(const Program *program, Buf *out) {
    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];
        const SlotRule *slots = policy_slots(policy);
        bool is_published = slots || !str_is_empty(policy->closed_label);

        if (policy->is_observed || !is_published)
            continue;
        if (expression_is_given(&policy->match.expression)) {
            (void)fprintf(stderr,
                WHO
                ": the policy %.*s has a match.expression: admission selects pods by labels and "
                "namespaces only\n",
                STR_FMT(policy->name));
            return EXIT_FAILED;
        }
        if (slots)
            write_slots(policy, slots, out);
        if (!str_is_empty(policy->closed_label))
            write_label(policy, out);
    }
    if (out->len > 0 || buf_error(out) < 0)
        return 0;
    (void)fprintf(stderr, WHO
        ": no policy publishes anything: add `publish: slots` to a maxPods filter, or `publish: "
        "label` to one that reads only the node\n");
    return EXIT_FAILED;
}

/* --- Karpenter ------------------------------------------------------------------------------- */

int config_node_overlay_write(const Program *program, const char *pool, Buf *out) {
    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];
        const SlotRule *slots = policy->is_observed ? NULL : policy_slots(policy);

        if (!slots)
            continue;
        if (out->len > 0)
            buf_append(out, STR("---\n"));
        buf_printf(out,
            "# What new nodes of Karpenter's NodePool %s offer. Needs its feature gate "
            "NodeOverlay.\n"
            "apiVersion: karpenter.sh/v1alpha1\n"
            "kind: NodeOverlay\n"
            "metadata: {name: berth-slots.%.*s.%s}\n"
            "spec:\n"
            "  requirements: [{key: karpenter.sh/nodepool, operator: In, values: [%s]}]\n"
            "  capacity: {%.*s: \"%" PRId64 "\"}\n",
            pool, STR_FMT(policy->name), pool, pool, STR_FMT(slots->resource), slots->limit);
    }
    if (out->len > 0 || buf_error(out) < 0)
        return 0;
    (void)fprintf(stderr, WHO ": no policy publishes slots\n");
    return EXIT_FAILED;
}
