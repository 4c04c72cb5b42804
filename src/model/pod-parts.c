/* Sets of fields of running pods. */

#include "model/pod-parts.h"

const PodParts pod_parts_all = {.fields = POD_BIT(_POD_PARTS) - 1};

bool pod_parts_is_empty(const PodParts *parts) {
    return parts->fields == 0 && parts->n_annotations == 0;
}

bool pod_parts_has_annotation(const PodParts *parts, Str key) {
    return parts->fields & POD_BIT(POD_ANNOTATIONS) ||
           str_is_one_of(key, parts->annotations, parts->n_annotations);
}

bool pod_parts_cover(const PodParts *kept, const PodParts *wanted) {
    for (size_t i = 0; i < wanted->n_annotations; i++)
        if (!pod_parts_has_annotation(kept, wanted->annotations[i]))
            return false;
    return (wanted->fields & ~kept->fields) == 0;
}
