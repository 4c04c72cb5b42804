/* Sets of fields of running pods. */

#include "model/pod-parts.h"

const PodParts pod_parts_all = {.fields = POD_BIT(_POD_PARTS) - 1};

bool pod_parts_is_empty(const PodParts *parts) {
    return parts->fields == 0 && parts->n_annotations == 0;
}

bool pod_parts_has_annotation(const PodParts *parts, Str key) {
    if (parts->fields & POD_BIT(POD_ANNOTATIONS))
        return true;
    for (size_t i = 0; i < parts->n_annotations; i++)
        if (str_eq(parts->annotations[i], key))
            return true;
    return false;
}

bool pod_parts_cover(const PodParts *kept, const PodParts *wanted) {
    for (size_t i = 0; i < wanted->n_annotations; i++)
        if (!pod_parts_has_annotation(kept, wanted->annotations[i]))
            return false;
    return (wanted->fields & ~kept->fields) == 0;
}
