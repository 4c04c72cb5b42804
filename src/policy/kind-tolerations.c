/*
 * tolerations: true — the pod tolerates the node's NoSchedule and NoExecute
 * taints. kube-scheduler checks that too; here it says so with the policy's own
 * reason, and it holds where kube-scheduler's TaintToleration is switched off.
 */

#include "policy/kind.h"

static void write(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    kind_read_switch(reader, value, "tolerations");
    buf_append(&ret->expression, STR("node.spec.taints.all(t, pod.tolerates(t.text))"));
    buf_append(&ret->message,
        STR("node.spec.taints.filter(t, !pod.tolerates(t.text)).map(t, 'taint ' + t.key + "
            "(t.value == '' ? '' : '=' + t.value) + ' is not tolerated').join('; ')"));
}

const RuleKind kind_tolerations = {
    .field = STR("tolerations"),
    .summary = "the pod tolerates the node's taints",
    .shape = &shape_true,
    .write = write,
};
