/* Details of running pods: the parts that policies read. */

#include "cluster/kept-details.h"

#include "cluster/object-fields.h"

static Labels choose_annotations(const Labels *all, const PodParts *parts, Label *room) {
    size_t n = 0;

    for (size_t i = 0; i < all->n && n < POD_ANNOTATIONS_MAX; i++)
        if (pod_parts_has_annotation(parts, all->items[i].key))
            room[n++] = all->items[i];
    return (Labels){.items = room, .n = n};
}

bool kept_details_take(
    RecordPool *pool, const PodDetails *details, const PodParts *parts, const PodDetails **ret) {
    Label annotations[POD_ANNOTATIONS_MAX];
    PodDetails chosen;

    *ret = NULL;
    if (!details || pod_parts_is_empty(parts))
        return true;
    chosen = *details;
    chosen.annotations = choose_annotations(&details->annotations, parts, annotations);
    chosen.has_status_amounts |= !(parts->fields & POD_BIT(POD_AMOUNTS));
    *ret = object_take_block(pool, &pod_details_type, parts->fields, &chosen);
    return *ret;
}

bool kept_details_equal(const PodDetails *a, const PodDetails *b) {
    return a && b ? object_equal(&pod_details_type, a, b) : a == b;
}

size_t kept_details_size(const PodDetails *kept) {
    return kept ? object_items_size(&pod_details_type, kept, 1) : 0;
}
