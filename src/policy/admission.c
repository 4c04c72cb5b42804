/* A PlacementPolicy that publishes becomes a MutatingAdmissionPolicy for its slots, and one for its
 * label. They select the policy's pods by labels and namespaces. Another object is for namespaces
 * that opt in. Kyverno's MutatingPolicy has the same fields. */

#include "policy/admission.h"

#include <errno.h>

#include "json/write.h"

#define BODY_MAX ((size_t)1024 * 1024)

static void write_requirement(JsonWriter *json, const Requirement *requirement) {
    json_write(json, "{key: %.*s, operator: %.*s", STR_FMT(requirement->key),
        STR_FMT(selector_op_words[requirement->op]));
    if (requirement->n_values > 0)
        json_member_texts(json, "values", requirement->values, requirement->n_values);
    json_write_end_object(json);
}

static bool is_same(const Requirement *a, const Requirement *b) {
    bool is_same = str_eq(a->key, b->key) && a->op == b->op && a->n_values == b->n_values;

    for (size_t i = 0; is_same && i < a->n_values; i++)
        is_same = str_eq(a->values[i], b->values[i]);
    return is_same;
}

/* Writes the requirements of @selector that are not in @written. */
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
    json_write(&json, "{matchExpressions: [");
    write_names(&json, &match->namespaces);
    write_names(&json, &slots->namespaces);
    write_requirements(&json, &match->namespace_selector, &(Selector){0});
    json_write(&json, "]}");
    buf_append(out, STR("\n"));
}

static void write_labels(const Match *match, const SlotRule *slots, Buf *out) {
    JsonWriter json = JSON_WRITER(out);

    if (match->pod_selector.n + slots->selector.n == 0)
        return;
    buf_append(out, STR("    objectSelector: "));
    json_write(&json, "{matchExpressions: [");
    write_requirements(&json, &match->pod_selector, &(Selector){0});
    write_requirements(&json, &slots->selector, &match->pod_selector);
    json_write(&json, "]}");
    buf_append(out, STR("\n"));
}

typedef struct AdmissionText {
    const char *name;  /* part of the objects' names: berth-NAME.POLICY */
    const char *about; /* for users, after "New pods of the policy X" */
} AdmissionText;

static const AdmissionText texts[_ADMISSION_KINDS] = {
    [ADMISSION_SLOTS] = {"slots", "request one of its slots"},
    [ADMISSION_LABEL] = {"label", "require a node that it is not closed to"},
};

/* Requests one slot in the first container, unless a container already requests slots. */
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

/* The requirements of term t, converted to maps: a CEL list cannot mix API objects and maps. */
#define REQUIREMENTS(field)                                                                        \
    "t.?" field ".orValue([]).map(e,\n"                                                            \
    "                               dyn({'key': dyn(e.key), 'operator': dyn(e.operator), "         \
    "'values': "                                                                                   \
    "dyn(e.?values.orValue([]).map(v, v))}))"

/* Adds a required node affinity. Terms are alternatives, so each gets the condition, except empty
 * ones, which select no node. Cluster Autoscaler simulates new nodes as marked copies of real ones,
 * with their labels: a copy of each term accepts such nodes instead. */
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

/* New pods that a scheduler must place. */
static const char new_pods[] =
    "    resourceRules:\n"
    "      - {apiGroups: [\"\"], apiVersions: [v1], resources: [pods], operations: [CREATE]}\n"
    "  matchConditions:\n"
    "    - {name: has-no-node, expression: \"!has(object.spec.nodeName) || "
    "object.spec.nodeName == ''\"}\n"
    "    - name: is-not-of-a-daemonset\n"
    "      expression: \"!object.metadata.?ownerReferences.orValue([]).exists(o, o.kind == "
    "'DaemonSet')\"\n";

/* Writes the fields of spec that both formats have: the selected pods, and their mutation. */
static void write_body(const Policy *policy, AdmissionKind kind, Buf *out) {
    static const SlotRule no_slots;
    const SlotRule *slots = kind == ADMISSION_SLOTS ? policy_slots(policy) : &no_slots;
    Str key = kind == ADMISSION_SLOTS ? slots->resource : policy->closed_label;

    buf_append(out, STR("  matchConstraints:\n"));
    write_namespaces(&policy->match, slots, out);
    write_labels(&policy->match, slots, out);
    buf_append(out, STR(new_pods));
    buf_printf(
        out, kind == ADMISSION_SLOTS ? slots_mutation : label_mutation, STR_FMT(key), STR_FMT(key));
}

/* The API server sets the default scheduler if none is given, so both mean the same here. Pods of
 * the control plane and of berth keep it, even if every namespace has the label. Labels are
 * matchConditions because Kyverno's command line (1.19.1) did not apply an objectSelector here. */
static void write_opt_in_body(Str scheduler, Buf *out) {
    buf_printf(out,
        "  matchConstraints:\n"
        "    namespaceSelector:\n"
        "      matchExpressions:\n"
        "        - {key: " OPT_IN_LABEL ", operator: In, values: [\"%.*s\"]}\n"
        "        - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, "
        "berth-system]}\n",
        STR_FMT(scheduler));
    buf_append(out, STR(new_pods));
    buf_printf(out,
        "    - name: has-not-opted-out\n"
        "      expression: \"object.metadata.?labels[?'" OPT_IN_LABEL "'].orValue('') != "
        "'default-scheduler'\"\n"
        "    - name: is-not-berth\n"
        "      expression: \"object.metadata.?labels[?'app.kubernetes.io/name'].orValue('') != "
        "'berth'\"\n"
        "    - name: has-no-scheduler-of-its-own\n"
        "      expression: \"object.spec.?schedulerName.orValue('') in ['', "
        "'default-scheduler']\"\n"
        "  mutations:\n"
        "    - patchType: JSONPatch\n"
        "      jsonPatch:\n"
        "        expression: \"[JSONPatch{op: 'add', path: '/spec/schedulerName', value: "
        "'%.*s'}]\"\n",
        STR_FMT(scheduler));
}

typedef struct FormatText {
    const char *api, *kind;
    bool has_binding;
    const char *needs;
} FormatText;

#define REGISTRATION "admissionregistration.k8s.io/"

static const FormatText formats[_ADMISSION_FORMATS] = {
    [ADMISSION_V1] = {REGISTRATION "v1", "MutatingAdmissionPolicy", true,
        "Kubernetes 1.36 and later"},
    [ADMISSION_V1BETA1] = {REGISTRATION "v1beta1", "MutatingAdmissionPolicy", true,
        "Kubernetes 1.34 and 1.35, with the feature gate MutatingAdmissionPolicy and this API"},
    [ADMISSION_KYVERNO] = {"policies.kyverno.io/v1", "MutatingPolicy", false,
        "Kyverno 1.17 and later"},
};

/* Writes an object up to spec. @digest may be empty. */
static void write_head(
    const FormatText *format, const char *suffix, Str name, const char *digest, Buf *out) {
    buf_printf(out,
        "apiVersion: %s\nkind: %s%s\nmetadata:\n  name: %.*s\n"
        "  labels: {app.kubernetes.io/name: berth}\n",
        format->api, format->kind, suffix, STR_FMT(name));
    if (digest[0])
        buf_printf(out, "  annotations: {" ADMISSION_DIGEST ": \"%s\"}\n", digest);
}

/* Writes an object with @body, and its binding. @out ends in a comment, to which the requirement is
 * added. */
static void write_objects(AdmissionFormat given, Str name, const char *digest, Str body, Buf *out) {
    const FormatText *format = &formats[given];

    buf_printf(out, " For %s.\n", format->needs);
    write_head(format, "", name, digest, out);
    buf_append(out, STR("spec:\n  failurePolicy: Fail\n  reinvocationPolicy: IfNeeded\n"));
    if (given == ADMISSION_KYVERNO)
        buf_append(out, STR("  autogen: {podControllers: {controllers: []}}\n"));
    buf_append(out, body);
    if (!format->has_binding)
        return;
    buf_append(out, STR("---\n"));
    write_head(format, "Binding", name, digest, out);
    buf_printf(out, "spec: {policyName: %.*s}\n", STR_FMT(name));
}

bool admission_is_needed(const Policy *policy, AdmissionKind kind) {
    return !policy->is_observed && (kind == ADMISSION_SLOTS ? policy_slots(policy) != NULL
                                                            : !str_is_empty(policy->closed_label));
}

void admission_name(const Policy *policy, AdmissionKind kind, Buf *out) {
    buf_printf(out, "berth-%s.%.*s", texts[kind].name, STR_FMT(policy->name));
}

int admission_digest(const Policy *policy, AdmissionKind kind, Digest *ret) {
    _cleanup_(buf_done) Buf body = BUF_INIT(BODY_MAX);

    write_body(policy, kind, &body);
    *ret = digest_of(buf_str(&body));
    return buf_error(&body);
}

int admission_write(const Policy *policy, AdmissionKind kind, AdmissionFormat format, Buf *out) {
    _cleanup_(buf_done) Buf body = BUF_INIT(BODY_MAX), name = BUF_INIT(ADMISSION_NAME_MAX);
    char digest[DIGEST_TEXT_MAX];

    write_body(policy, kind, &body);
    admission_name(policy, kind, &name);
    if (buf_error(&body) < 0 || buf_error(&name) < 0)
        return -ENOMEM;
    if (out->len > 0)
        buf_append(out, STR("---\n"));
    buf_printf(out, "# New pods of the policy %.*s %s.", STR_FMT(policy->name), texts[kind].about);
    write_objects(format, buf_str(&name), digest_print(digest_of(buf_str(&body)), digest),
        buf_str(&body), out);
    return 0;
}

int opt_in_write(Str scheduler, AdmissionFormat format, Buf *out) {
    _cleanup_(buf_done) Buf body = BUF_INIT(BODY_MAX), name = BUF_INIT(ADMISSION_NAME_MAX);

    write_opt_in_body(scheduler, &body);
    buf_printf(&name, "berth-scheduler.%.*s", STR_FMT(scheduler));
    if (buf_error(&body) < 0 || buf_error(&name) < 0)
        return -ENOMEM;
    if (out->len > 0)
        buf_append(out, STR("---\n"));
    buf_printf(out,
        "# New pods of namespaces with the label " OPT_IN_LABEL ": %.*s are for this scheduler.",
        STR_FMT(scheduler));
    write_objects(format, buf_str(&name), "", buf_str(&body), out);
    return 0;
}
