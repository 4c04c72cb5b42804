/* Decodes the objects that a recorded pod carries with it. */

#include "model/related.h"

#include "base/vec.h"
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

typedef VEC(VolumeClaim) ClaimVec;

static void read_claims(JsonReader *reader, Arena *arena, void *target) {
    Related *related = target;
    ClaimVec claims = {0};

    json_array(reader);
    while (json_element(reader)) {
        VolumeClaim *claim = claims.n < POD_VOLUMES_MAX ? VEC_PUSH(&claims, arena) : NULL;

        if (claim)
            volume_claim_decode(reader, arena, claim);
        else if (claims.n < POD_VOLUMES_MAX)
            json_fail(reader, JSON_E_MEMORY, "claims");
        else
            json_skip(reader, NULL);
    }
    related->knows_claims = true;
    related->claims = claims.items;
    related->n_claims = claims.n;
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
