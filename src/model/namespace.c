/* Decodes Namespaces. */

#include "model/namespace.h"

#include "model/pod-details.h"
#include "json/fields.h"

static void read_labels(JsonReader *reader, Arena *arena, void *target) {
    labels_decode(reader, arena, target);
}

static void read_annotations(JsonReader *reader, Arena *arena, void *target) {
    labels_decode_bounded(reader, arena, POD_ANNOTATIONS_MAX, POD_ANNOTATION_VALUE_MAX, target);
}

void namespace_decode(JsonReader *reader, Arena *arena, Namespace *ret) {
    static const JsonField fields[] = {
        {"metadata.name", JSON_FIELD_TEXT, offsetof(Namespace, name)},
        {"metadata.labels", JSON_FIELD_CUSTOM, offsetof(Namespace, labels), read_labels},
        {"metadata.annotations", JSON_FIELD_CUSTOM, offsetof(Namespace, annotations),
            read_annotations},
    };

    *ret = (Namespace){0};
    JSON_READ_FIELDS(reader, arena, fields, ret);
}
