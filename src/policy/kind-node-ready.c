/*
 * nodeReady: true — the node's Ready condition is True and it is not cordoned.
 */

#include "policy/kind.h"

static void write(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    kind_read_switch(reader, value, "nodeReady");
    buf_append(&ret->expression, STR("node.ready && !node.spec.unschedulable"));
    buf_append(
        &ret->message, STR("node.ready ? 'node is cordoned' : 'condition Ready is not True'"));
}

const RuleKind kind_node_ready = {
    .field = STR("nodeReady"),
    .summary = "the node is Ready and not cordoned",
    .shape = &shape_true,
    .write = write,
};
