/* Decodes Namespaces. */

#include "model/namespace.h"

void namespace_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"metadata.name", JSON_FIELD_TEXT, offsetof(Namespace, name)},
        {"metadata.labels", JSON_FIELD_CUSTOM, offsetof(Namespace, labels), labels_decode},
        {"metadata.annotations", JSON_FIELD_CUSTOM, offsetof(Namespace, annotations),
            annotations_decode},
    };

    *(Namespace *)target = (Namespace){0};
    JSON_READ_FIELDS(reader, arena, fields, target);
}
