/* Objects that pods refer to: from the API's JSON to the kept text, and back for one pod. */

#include "cluster/related-objects.h"

#include <errno.h>

#include "cluster/object-fields.h"
#include "cluster/object-text.h"
#include "json/fields.h"

#define TEXT_MAX ((size_t)1024 * 1024) /* of one object; the API server's limit is 1.5 MiB */

/* A Service: its selector. */
typedef struct ServiceObject {
    Str namespace, name;
    Labels selector;
} ServiceObject;

static void decode_service(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("metadata.namespace", TEXT, ServiceObject, namespace),
        JSON_MEMBER("metadata.name", TEXT, ServiceObject, name),
        JSON_CUSTOM("spec.selector", ServiceObject, selector, labels_decode),
    };

    *(ServiceObject *)target = (ServiceObject){0};
    JSON_READ_FIELDS(reader, arena, fields, target);
}

static void write_service(JsonWriter *writer, const void *object) {
    const ServiceObject *service = object;

    json_write(writer,
        "{apiVersion: 'v1', kind: 'Service', metadata: {namespace?: %.*s, name?: %.*s}, spec: {",
        STR_FMT(service->namespace), STR_FMT(service->name));
    object_write_items(
        writer, "selector", &label_type, service->selector.items, service->selector.n);
    json_write(writer, "}}");
}

static void write_namespace(JsonWriter *writer, const void *object) {
    object_write_namespace(writer, object);
}

static void write_claim(JsonWriter *writer, const void *object) {
    object_write_claim(writer, object, /* with_volume= */ false);
}

static void write_volume(JsonWriter *writer, const void *object) {
    object_write_volume(writer, object);
}

#define IN_NONE SIZE_MAX

static const struct {
    const char *name;
    Str kind;
    size_t name_at, namespace_at; /* offsets; IN_NONE: it is in no namespace */
    JsonRead *decode;
    void (*write)(JsonWriter *writer, const void *object);
} kinds[] = {
    [RELATED_NAMESPACES] = {"namespaces", STR("Namespace"), offsetof(Namespace, name), IN_NONE,
        namespace_decode, write_namespace},
    [RELATED_CLAIMS] = {"persistentvolumeclaims", STR("PersistentVolumeClaim"),
        offsetof(VolumeClaim, name), offsetof(VolumeClaim, namespace), volume_claim_decode,
        write_claim},
    [RELATED_VOLUMES] = {"persistentvolumes", STR("PersistentVolume"),
        offsetof(PersistentVolume, name), IN_NONE, persistent_volume_decode, write_volume},
    [RELATED_SERVICES] = {"services", STR("Service"), offsetof(ServiceObject, name),
        offsetof(ServiceObject, namespace), decode_service, write_service},
};
_Static_assert(ELEMENTS_OF(kinds) == _RELATED_KINDS, "one each");

const char *related_kind_name(RelatedKind kind) {
    return kinds[kind].name;
}

RelatedKind related_kind_of(Str kind) {
    RelatedKind i = 0;

    while (i < _RELATED_KINDS && !str_eq(kinds[i].kind, kind))
        i++;
    return i;
}

RelatedObjects related_objects_ref(const RelatedObjects *objects) {
    RelatedObjects copy = *objects;

    for (size_t i = 0; i < _RELATED_KINDS; i++)
        if (copy.kinds[i])
            related_set_ref(copy.kinds[i]);
    return copy;
}

void related_objects_done(RelatedObjects *objects) {
    for (size_t i = 0; i < _RELATED_KINDS; i++)
        objects->kinds[i] = related_set_unref(objects->kinds[i]);
}

void related_object_decode(RelatedKind kind, JsonReader *reader, Arena *arena, RelatedObject *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    JsonWriter writer = JSON_WRITER(&text);
    union {
        Namespace namespace;
        VolumeClaim claim;
        PersistentVolume volume;
        ServiceObject service;
    } object;

    kinds[kind].decode(reader, arena, &object);
    *ret = (RelatedObject){0};
    memcpy(&ret->name, (const char *)&object + kinds[kind].name_at, sizeof(Str));
    if (kinds[kind].namespace_at != IN_NONE)
        memcpy(&ret->namespace, (const char *)&object + kinds[kind].namespace_at, sizeof(Str));
    if (json_error(reader))
        return;
    kinds[kind].write(&writer, &object);
    ret->text = arena_copy(arena, buf_str(&text));
    if (buf_error(&text) || !ret->text.ptr)
        json_fail(reader, JSON_E_MEMORY, "an object that is too large");
}

/* 1; 0 if @set has no such object, or is NULL: @ret stays as it is; or -ENOMEM. The text is our
 * own, so that it fails for nothing else. */
static int find_object(
    const RelatedSet *set, Str namespace, Str name, JsonRead *decode, Arena *arena, void *ret) {
    const RelatedObject *object = set ? related_set_find(set, namespace, name) : NULL;
    JsonReader reader;

    if (!object)
        return 0;
    json_reader_init(&reader, object->text);
    decode(&reader, arena, ret);
    return json_error(&reader) ? -ENOMEM : 1;
}

static int find_namespace(
    const RelatedObjects *objects, const Pod *pod, Arena *arena, Related *ret) {
    Namespace *namespace = ARENA_NEW(arena, Namespace);
    int r;

    if (!namespace)
        return -ENOMEM;
    r = find_object(objects->kinds[RELATED_NAMESPACES], STR_NULL, pod->namespace, namespace_decode,
        arena, namespace);
    ret->knows_namespaces = true;
    ret->namespace = r == 1 ? namespace : NULL;
    return r < 0 ? r : 0;
}

static int find_claim(const RelatedObjects *objects, Arena *arena, VolumeClaim *claim) {
    int r = find_object(objects->kinds[RELATED_CLAIMS], claim->namespace, claim->name,
        volume_claim_decode, arena, claim);

    if (r == 1 && claim->volume_name.len > 0)
        r = find_object(objects->kinds[RELATED_VOLUMES], STR_NULL, claim->volume_name,
            persistent_volume_decode, arena, &claim->volume);
    return r < 0 ? r : 0;
}

static int find_claims(const RelatedObjects *objects, const Pod *pod, Arena *arena, Related *ret) {
    size_t n_volumes = pod->details ? pod->details->n_volumes : 0;

    ret->knows_claims = true;
    ret->n_claims = 0;
    ret->claims = ARENA_ARRAY(arena, VolumeClaim, n_volumes);
    if (!ret->claims)
        return -ENOMEM;
    for (size_t i = 0; i < n_volumes; i++) {
        VolumeClaim *claim = &ret->claims[ret->n_claims];
        Str name = pod->details->volumes[i].claim_name;

        if (str_is_empty(name))
            continue;
        *claim = (VolumeClaim){.name = name, .namespace = pod->namespace};
        ret->n_claims++;
        if (find_claim(objects, arena, claim) < 0)
            return -ENOMEM;
    }
    return 0;
}

int related_objects_find(
    const RelatedObjects *objects, const Pod *pod, Arena *arena, Related *ret) {
    int r = 0;

    *ret = pod->related ? *pod->related : (Related){0};
    if (objects->kinds[RELATED_NAMESPACES])
        r = find_namespace(objects, pod, arena, ret);
    if (r == 0 && objects->kinds[RELATED_CLAIMS])
        r = find_claims(objects, pod, arena, ret);
    return r;
}
