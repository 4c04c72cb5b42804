/* Sets of fields that a cluster keeps. */

#include "cluster/needs.h"

#include <stdlib.h>

const ClusterNeeds cluster_needs_all = {
    .node_details = true, .pods = {.fields = POD_BIT(_POD_PARTS) - 1}};

bool cluster_needs_cover(const ClusterNeeds *kept, const ClusterNeeds *wanted) {
    return (kept->node_details || !wanted->node_details) &&
           pod_parts_cover(&kept->pods, &wanted->pods);
}

static size_t keys_size(const PodParts *parts) {
    size_t size = parts->n_annotations * sizeof(Str);

    for (size_t i = 0; i < parts->n_annotations; i++)
        size += parts->annotations[i].len;
    return size;
}

/* Appends the keys of @from that @to lacks; their texts begin at @text. Returns where they end. */
static char *add_keys(PodParts *to, const PodParts *from, Str *keys, char *text) {
    for (size_t i = 0; i < from->n_annotations; i++) {
        Str key = from->annotations[i];

        if (pod_parts_has_annotation(to, key) || str_is_empty(key))
            continue;
        keys[to->n_annotations++] = str_carve(&text, key);
    }
    return text;
}

ClusterNeeds *cluster_needs_join(const ClusterNeeds *a, const ClusterNeeds *b) {
    ClusterNeeds *join = calloc(1, sizeof(*join) + keys_size(&a->pods) + keys_size(&b->pods));
    Str *keys;
    char *text;

    if (!join)
        return NULL;
    keys = (Str *)(join + 1);
    text = (char *)(keys + a->pods.n_annotations + b->pods.n_annotations);
    join->node_details = a->node_details || b->node_details;
    join->pods.fields = a->pods.fields | b->pods.fields;
    join->pods.annotations = keys;
    text = add_keys(&join->pods, &a->pods, keys, text);
    (void)add_keys(&join->pods, &b->pods, keys, text);
    return join;
}
