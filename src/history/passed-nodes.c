/* A copy of the pod and a bit set over the rows of the node table. */

#include "history/passed-nodes.h"

#include <stdlib.h>

#include "cluster/record.h"

#define WORD_BITS 64u

/* Overhead of a text of a record: a count, and malloc's share. */
#define TEXT_COST 32u

static size_t text_bytes(Str text) {
    return TEXT_COST + text.len;
}

/* About the size of a record of @pod. */
static size_t pod_bytes(const Pod *pod) {
    const Str texts[] = {pod->name, pod->namespace, pod->uid, pod->resource_version,
        pod->owner_kind, pod->owner_name, pod->owner_uid, pod->node_name, pod->nominated_node_name,
        pod->scheduler_name};
    size_t bytes = sizeof(Pod);

    for (size_t i = 0; i < ELEMENTS_OF(texts); i++)
        bytes += text_bytes(texts[i]);
    for (size_t i = 0; i < pod->labels.n; i++) {
        const Label *label = &pod->labels.items[i];

        bytes += sizeof(*label) + text_bytes(label->key) + text_bytes(label->value);
    }
    for (size_t i = 0; i < pod->tolerations.n; i++) {
        const Toleration *toleration = &pod->tolerations.items[i];

        bytes += sizeof(*toleration) + text_bytes(toleration->key) + text_bytes(toleration->value);
    }
    for (size_t i = 0; i < pod->requests.n; i++)
        bytes += sizeof(Resource) + text_bytes(pod->requests.items[i].name);
    return bytes;
}

PassedNodes *passed_nodes_new(const Pod *pod, const PodParts *parts, const NodeNames *names) {
    size_t size =
        sizeof(PassedNodes) + (names->n_rows + WORD_BITS - 1) / WORD_BITS * sizeof(uint64_t);
    PassedNodes *passed;

    if (str_is_empty(pod->uid))
        return NULL;
    passed = calloc(1, size);
    if (!passed)
        return NULL;
    passed->pod = pod_record_new(/* pool= */ NULL, pod, parts);
    passed->text = pod_text_new(pod);
    passed->version = names->version;
    passed->n_rows = names->n_rows;
    if (!passed->pod || !passed->text)
        return passed_nodes_free(passed);
    passed->bytes = size + pod_bytes(pod) + pod_details_size(passed->pod->details) +
                    pod_text_bytes(passed->text);
    return passed->bytes <= PASSED_NODES_BYTES_MAX ? passed : passed_nodes_free(passed);
}

PassedNodes *passed_nodes_of(const View *view, const Decision *decision) {
    const FilterArgs *args = decision->args;
    PassedNodes *passed =
        passed_nodes_new(&args->pod, &view->program->needs.pods, view->table->names);

    for (size_t i = 0; passed && i < args->n; i++) {
        uint32_t row = args->rows[i];

        if (decision->verdicts[i] != VERDICT_PASS)
            continue;
        if (!args->has_names) /* the request's rows are those of its own table */
            row = table_find(view->table, args->node_set.table->names->names[row]);
        if (row < passed->n_rows) /* else the cluster does not know it */
            passed->bits[row / WORD_BITS] |= UINT64_C(1) << row % WORD_BITS;
    }
    return passed;
}

PassedNodes *passed_nodes_free(PassedNodes *passed) {
    if (passed) {
        pod_record_unref(passed->pod);
        pod_text_unref(passed->text);
    }
    free(passed);
    return NULL;
}

bool passed_nodes_has(const PassedNodes *passed, Str node, const NodeNames *names) {
    uint32_t row = names_find(names, node);

    if (row >= names->n_rows || row >= passed->n_rows)
        return false;
    if (names->version < passed->version || names->since[row] > passed->version)
        return false;
    return passed->bits[row / WORD_BITS] >> row % WORD_BITS & 1;
}
