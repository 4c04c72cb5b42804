/* Decodes the objects that a recorded pod carries with it. */

#include "model/related.h"

#include "json/fields.h"

static void read_namespace(JsonReader *reader, Arena *arena, void *target) {
    Namespace *namespace = ARENA_NEW(arena, Namespace);

    if (!namespace) {
        json_fail(reader, JSON_E_MEMORY, "a namespace");
        return;
    }
    namespace_decode(reader, arena, namespace);
    *(const Namespace **)target = namespace;
}

void related_decode(JsonReader *reader, Arena *arena, Related *ret) {
    static const JsonField fields[] = {
        {"namespace", JSON_FIELD_CUSTOM, offsetof(Related, namespace), read_namespace},
    };

    *ret = (Related){0};
    JSON_READ_FIELDS(reader, arena, fields, ret);
    ret->knows_namespaces = ret->namespace != NULL;
}
