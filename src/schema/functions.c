/* Functions of expressions that read the model. */

#include "schema/schema-internal.h"

#include <math.h>

#include "model/taint.h"
#include "schema/amounts.h"

#define AMOUNT_TEXT_MAX 64

/* Decides about one taint by the rule for lists of taints. */
static CelValue tolerates_taint(CelRun *run, const CelRecord *record, const Taint *taint) {
    const Pod *pod = OBJECT_OF(record, PodValue, head)->pod;
    Taints one = {.items = taint, .n = 1};

    if (!cel_charge(run, pod->tolerations.n))
        return cel_exhausted(run);
    return cel_bool(tolerations_admit(&pod->tolerations, &one));
}

CelValue schema_call_tolerates(CelRun *run, const CelValue *args, const void *prepared) {
    return tolerates_taint(run, args[0].record, item_of(args[1].record));
}

/* The same for a taint as kubectl writes it, key=value:Effect. */
CelValue schema_call_tolerates_text(CelRun *run, const CelValue *args, const void *prepared) {
    Taint taint;

    if (!taint_parse(cel_str(args[1]), &taint))
        return cel_fail(run, "not a taint: key=value:Effect or key:Effect is one");
    return tolerates_taint(run, args[0].record, &taint);
}

CelValue schema_call_selects(CelRun *run, const CelValue *args, const void *prepared) {
    const Pod *pod = OBJECT_OF(args[0].record, PodValue, head)->pod;
    const Node *node = node_value_of(args[1])->node;

    if (!cel_charge(run, pod->details ? pod->details->node_selector.n : 0) ||
        !cel_charge(run, pod->details ? pod->details->required_terms.n : 0))
        return cel_exhausted(run);
    return cel_bool(pod_selects(pod, node->name, &node->labels));
}

/* The nearest whole number that an int64 holds. */
static int64_t to_units(double units) {
    if (units >= 0x1p63)
        return INT64_MAX;
    return units < -0x1p63 ? INT64_MIN : (int64_t)round(units);
}

CEL_FUNCTION(print_amount) {
    _cleanup_(buf_done) Buf text = BUF_INIT(AMOUNT_TEXT_MAX);
    AmountKey key = amount_key(cel_str(args[0]));

    if (isnan(args[1].d))
        return cel_fail(run, "amount(): not a number");
    resource_amount_print(key.resource, to_units(args[1].d * key.scale), &text);
    if (buf_error(&text) < 0)
        return cel_no_memory(run);
    return cel_make_string(run, buf_str(&text));
}

CEL_RETURNS(raise, cel_double(pow(args[0].d, args[1].d)))

const CelOverloadSpec schema_functions[] = {
    {"domain", "Node.(string) -> Domain", schema_call_domain},
    {"domains", "Cluster.(string) -> list(Domain)", schema_call_domains},
    {"nodesByLabel", "Cluster.(string) -> map(string, int)", schema_call_nodes_by_label},
    {"tolerates", "Pod.(Taint) -> bool", schema_call_tolerates},
    {"tolerates", "NodePod.(Taint) -> bool", schema_call_tolerates},
    {"tolerates", "Pod.(string) -> bool", schema_call_tolerates_text},
    {"tolerates", "NodePod.(string) -> bool", schema_call_tolerates_text},
    {"selects", "Pod.(Node) -> bool", schema_call_selects},
    {"selects", "PersistentVolumeClaim.(Node) -> bool", schema_call_claim_selects},
    {"amount", "(string, double) -> string", print_amount},
    {"pow", "(double, double) -> double", raise},
};
const Str schema_function_abouts[] = {
    STR("the nodes with the node's value of that label. Reads every node: once for all of them "
        "where its pods or nodes are counted or summed, else once for each candidate"),
    STR("all domains of that label, in the order of their first node"),
    STR("the number of nodes for each value of that label"),
    STR("whether the pod tolerates the taint, as kube-scheduler decides: always if its effect is "
        "PreferNoSchedule"),
    STR("the same"),
    STR("the same for the text of a taint; faster over many nodes, since it is evaluated once for "
        "each distinct text"),
    STR("the same"),
    STR("whether the node matches the nodeSelector and the required node affinity of the pod to be "
        "placed, as kube-scheduler decides"),
    STR("whether the node can reach the volume that the claim is bound to, by the volume's node "
        "affinity; true while it is not bound"),
    STR("a number of node.free and the like as text: amount('cpu', 0.25) is \"250m\""),
    STR("the first to the power of the second: pow(9.0, 0.5) is 3.0; NaN where it is undefined"),
};
_Static_assert(ELEMENTS_OF(schema_functions) == ELEMENTS_OF(schema_function_abouts), "one each");
const size_t schema_n_functions = ELEMENTS_OF(schema_functions);
