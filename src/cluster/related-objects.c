/* Objects that pods refer to: from the API's JSON to the text that is kept, and back for one pod.
 */

#include "cluster/related-objects.h"

#include <errno.h>

#include "cluster/object-text.h"

#define TEXT_MAX ((size_t)1024 * 1024) /* of one object; the API server's limit is 1.5 MiB */

static const struct {
    const char *name;
    Str kind;
} kinds[] = {
    [RELATED_NAMESPACES] = {"namespaces", STR("Namespace")},
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
    Namespace namespace;

    *ret = (RelatedObject){0};
    switch (kind) {
    case RELATED_NAMESPACES:
        namespace_decode(reader, arena, &namespace);
        ret->name = namespace.name;
        if (!json_error(reader))
            object_write_namespace(&writer, &namespace);
        break;
    case _RELATED_KINDS:
        break;
    }
    ret->text = arena_copy(arena, buf_str(&text));
    if (!json_error(reader) && (buf_error(&text) || !ret->text.ptr))
        json_fail(reader, JSON_E_MEMORY, "an object that is too large");
}

static int find_namespace(
    const RelatedSet *set, const Pod *pod, Arena *arena, const Namespace **ret) {
    const RelatedObject *object = related_set_find(set, STR_NULL, pod->namespace);
    Namespace *namespace;
    JsonReader reader;

    *ret = NULL;
    if (!object)
        return 0;
    namespace = ARENA_NEW(arena, Namespace);
    if (!namespace)
        return -ENOMEM;
    json_reader_init(&reader, object->text);
    namespace_decode(&reader, arena, namespace);
    *ret = namespace;
    return json_error(&reader) ? -ENOMEM : 0; /* the text is our own */
}

int related_objects_find(
    const RelatedObjects *objects, const Pod *pod, Arena *arena, Related *ret) {
    *ret = pod->related ? *pod->related : (Related){0};
    if (!objects->kinds[RELATED_NAMESPACES])
        return 0;
    ret->knows_namespaces = true;
    return find_namespace(objects->kinds[RELATED_NAMESPACES], pod, arena, &ret->namespace);
}
