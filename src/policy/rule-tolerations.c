/*
 * tolerations: true — the pod tolerates the node's NoSchedule and NoExecute
 * taints. kube-scheduler checks that too; here it says so with the policy's own
 * reason, and it holds where kube-scheduler's TaintToleration is switched off.
 *
 * Thousands of nodes share a handful of taint lists: each list is judged once.
 */

#include <errno.h>

#include "base/error.h"
#include "policy/rule.h"

static const char nothing;

static const void *read(PolicyReader *reader, const YamlNode *value) {
    bool wanted;

    if (!reader_bool(reader, value, "tolerations", &wanted))
        return NULL;
    if (!wanted)
        reader_error_hint(reader,
            value,
            STR("write tolerations: true, or leave the rule out"),
            "tolerations: false means nothing");
    return &nothing;
}

static void needs(const void *config, NodeNeeds *ret) {
    (void)config;
    ret->taints = true;
}

static uint32_t taint_set_of(const NodeTable *table, uint32_t row) {
    return table_chunk(table, row)->taint_set[table_slot(row)];
}

static int judge(const void *config, const Batch *batch, uint8_t *ret_pass) {
    const NodeTable *table = batch->table;
    uint8_t *admits = ARENA_ARRAY(batch->arena, uint8_t, table->n_taint_sets);

    (void)config;
    if (!admits)
        return error_origin(-ENOMEM);
    for (size_t i = 0; i < table->n_taint_sets; i++)
        admits[i] = tolerations_admit(&batch->pod->tolerations, &table->taint_sets[i]);
    for (size_t i = 0; i < batch->n; i++)
        ret_pass[i] = admits[taint_set_of(table, batch->rows[i])];
    return 0;
}

static void explain(const void *config, const Batch *batch, Buf *out) {
    const NodeTable *table = batch->table;
    const Taints *taints = &table->taint_sets[taint_set_of(table, batch->rows[0])];

    (void)config;
    for (size_t i = 0; i < taints->n; i++) {
        Taints one = {.items = &taints->items[i], .n = 1};

        if (tolerations_admit(&batch->pod->tolerations, &one))
            continue;
        if (out->len > 0)
            buf_append(out, STR("; "));
        buf_printf(out, "taint %.*s", STR_FMT(taints->items[i].key));
        if (!str_is_empty(taints->items[i].value))
            buf_printf(out, "=%.*s", STR_FMT(taints->items[i].value));
        buf_append(out, STR(" is not tolerated"));
    }
}

const FilterKind filter_tolerations = {
    .field = STR("tolerations"),
    .class = RULE_POD_NODE,
    .summary = "the pod tolerates the node's taints",
    .needs = needs,
    .read = read,
    .judge = judge,
    .explain = explain,
};
