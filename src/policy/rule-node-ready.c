/*
 * nodeReady: true — the node's Ready condition is True and it is not cordoned.
 */

#include "policy/rule.h"

/* There is nothing to configure, but a rule that was read must not be NULL. */
static const char nothing;

static const void *read(PolicyReader *reader, const YamlNode *value) {
    bool wanted;

    if (!reader_bool(reader, value, "nodeReady", &wanted))
        return NULL;
    if (!wanted)
        reader_error_hint(reader,
            value,
            STR("write nodeReady: true, or leave the rule out"),
            "nodeReady: false means nothing");
    return &nothing;
}

static void needs(const void *config, NodeNeeds *ret) {
    (void)config;
    ret->conditions = true;
}

static int judge(const void *config, const Batch *batch, uint8_t *ret_pass) {
    const NodeTable *table = batch->table;

    (void)config;
    for (size_t i = 0; i < batch->n; i++) {
        const NodeChunk *chunk = table_chunk(table, batch->rows[i]);
        size_t slot = table_slot(batch->rows[i]);

        ret_pass[i] = chunk->is_ready[slot] && !chunk->is_unschedulable[slot];
    }
    return 0;
}

static void explain(const void *config, const Batch *batch, Buf *out) {
    const NodeChunk *chunk = table_chunk(batch->table, batch->rows[0]);

    (void)config;
    buf_append(out,
        chunk->is_ready[table_slot(batch->rows[0])] ? STR("node is cordoned")
                                                    : STR("condition Ready is not True"));
}

const FilterKind filter_node_ready = {
    .field = STR("nodeReady"),
    .class = RULE_NODE,
    .summary = "the node is Ready and not cordoned",
    .needs = needs,
    .read = read,
    .judge = judge,
    .explain = explain,
};
