/* Decodes the objects that a recorded pod carries with it. */

#include "model/related.h"

#include "model/pod-details.h"
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

static void read_claims(JsonReader *reader, Arena *arena, void *target) {
    Related *related = target;

    related->knows_claims = true;
    JSON_READ_ITEMS(
        reader, arena, POD_VOLUMES_MAX, volume_claim_decode, related->claims, &related->n_claims);
}

void related_decode(JsonReader *reader, Arena *arena, Related *ret) {
    static const JsonField fields[] = {
        {"namespace", JSON_FIELD_CUSTOM, offsetof(Related, namespace), read_namespace},
        {"claims", JSON_FIELD_CUSTOM, 0, read_claims},
    };

    *ret = (Related){0};
    JSON_READ_FIELDS(reader, arena, fields, ret);
    ret->knows_namespaces = ret->namespace != NULL;
}
