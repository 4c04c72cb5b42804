/* Writes the CustomResourceDefinition of PlacementPolicy: the spec from its shape, and the status
 * that berth writes (kube/policy-status.h). */

#include "policy/admission.h"

#include "yaml/write.h"

#define CRD_TEXT_MAX ((size_t)1024 * 1024)

/* Azure's placement-policy plugins have a kind of this name in another group, so the short name is
 * not "pp". */
static const char metadata[] =
    "{'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', "
    "'metadata': {'name': '" POLICY_DEFINITION "', 'labels': {'app.kubernetes.io/name': "
    "'berth', 'app.kubernetes.io/part-of': 'berth'}, "
    "'annotations': {'" ADMISSION_DIGEST "': '";

static const char head[] =
    "{'group': '" POLICY_GROUP "', 'scope': 'Cluster', "
    "'names': {'kind': '" POLICY_KIND "', 'listKind': '" POLICY_KIND "List', "
    "'plural': '" POLICY_PLURAL "', 'singular': 'placementpolicy', 'shortNames': ['bpol'], "
    "'categories': ['berth']}, 'versions': [{'name': '" POLICY_VERSION "', 'served': true, "
    "'storage': true, 'subresources': {'status': {}}, "
    "'additionalPrinterColumns': [{'name': 'Ready', 'type': 'string', "
    "'description': 'its newest version is in force', "
    "'jsonPath': '.status.conditions[?(@.type==\\'InForce\\')].status'},"
    "{'name': 'Mode', 'type': 'string', 'jsonPath': '.status.mode'},"
    "{'name': 'Pods', 'type': 'integer', 'description': 'decisions about pods that it applied "
    "to', 'jsonPath': '.status.pods'},{'name': 'Rejected', 'type': 'integer', "
    "'description': 'nodes that its filters rejected in them', "
    "'jsonPath': '.status.rejected'},{'name': 'Age', 'type': 'date', "
    "'jsonPath': '.metadata.creationTimestamp'}], "
    "'schema': {'openAPIV3Schema': {'type': 'object', "
    "'description': 'Which nodes pods may be placed on, and which are preferred: a policy of "
    "the kube-scheduler extender berth.', 'required': ['spec'], "
    "'x-kubernetes-validations': [{'rule': 'self.metadata.name.size() <= 63', "
    "'message': 'the name of a policy has at most 63 characters'}], "
    "'properties': {'apiVersion': {'type': 'string'}, 'kind': {'type': 'string'}, "
    "'metadata': {'type': 'object'}, 'status': ";

static const char status[] =
    "{'type': 'object', 'description': 'Written by berth.', "
    "'properties': {'conditions': {'type': 'array', "
    "'description': 'Accepted: the policy has no mistakes; InForce: its newest version "
    "decides', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'], "
    "'items': {'type': 'object', 'required': ['type', 'status', 'reason', 'message', "
    "'lastTransitionTime'], 'properties': {'type': {'type': 'string'},"
    "'status': {'type': 'string', 'enum': ['True', 'False', 'Unknown']},"
    "'reason': {'type': 'string'},'message': {'type': 'string'},"
    "'observedGeneration': {'type': 'integer', 'format': 'int64'},"
    "'lastTransitionTime': {'type': 'string', 'format': 'date-time'}}}},"
    "'observedGeneration': {'type': 'integer', 'format': 'int64', "
    "'description': 'the generation that the conditions are about'},"
    "'inForceGeneration': {'type': 'integer', 'format': 'int64', "
    "'description': 'the generation that decides: the last good one; absent: none'},"
    "'mode': {'type': 'string', 'description': 'of that generation: Enforce or Observe'},"
    "'versions': {'type': 'array', 'maxItems': 3, 'x-kubernetes-list-type': 'atomic', "
    "'description': 'generations that were in force, the newest first: to go back to one, "
    "and for a berth that starts while the newest has a mistake', 'items': {'type': 'object', "
    "'required': ['generation', 'since'], 'properties': {'generation': {'type': 'integer', "
    "'format': 'int64'},'since': {'type': 'string', 'format': 'date-time'},"
    "'spec': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': true, "
    "'description': 'the policy as it was; absent: it was larger than 64 KiB'}}}},"
    "'pods': {'type': 'integer', 'format': 'int64', "
    "'description': 'filter requests of pods that it applied to, "
    "counted by the replica that writes the status'},"
    "'rejected': {'type': 'integer', 'format': 'int64', "
    "'description': 'nodes that its filters rejected in them'},"
    "'pending': {'type': 'integer', 'format': 'int64', "
    "'description': 'pods that are pending because of it'},"
    "'errors': {'type': 'integer', 'format': 'int64', "
    "'description': 'nodes on which one of its rules failed'}}}";

/* Writes JSON in which ' stands for ". */
static void write_json(Buf *out, Str text) {
    for (size_t i = 0; i < text.len; i++)
        buf_append_char(out, text.ptr[i] == '\'' ? '"' : text.ptr[i]);
}

static void write_spec(Buf *out) {
    write_json(out, STR(head));
    write_json(out, STR(status));
    buf_append(out, STR(", \"spec\": "));
    policy_spec_schema(out);
    buf_append(out, STR("}}}}]}"));
}

Digest policy_crd_digest(void) {
    _cleanup_(buf_done) Buf spec = BUF_INIT(CRD_TEXT_MAX);

    write_spec(&spec);
    return digest_of(buf_str(&spec));
}

void policy_crd(Buf *out) {
    _cleanup_(buf_done) Buf json = BUF_INIT(CRD_TEXT_MAX);
    char digest[DIGEST_TEXT_MAX];

    write_json(&json, STR(metadata));
    buf_printf(&json, "%s\"}}, \"spec\": ", digest_print(policy_crd_digest(), digest));
    write_spec(&json);
    buf_append_char(&json, '}');
    buf_append(
        out, STR("# Written by `berth check --crd`.\n# yamllint disable rule:line-length\n"));
    (void)!yaml_from_json(buf_str(&json), out);
}
