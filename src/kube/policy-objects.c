/* PlacementPolicies of the cluster, sorted by name. */

#include "kube/policy-objects.h"

#include <errno.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "base/thread.h"
#include "kube/reflector.h"
#include "model/time.h"
#include "yaml/write.h"
#include "json/fields.h"
#include "json/read.h"
#include "json/write.h"

#define OBJECT_BUDGET ((size_t)16 * 1024 * 1024) /* of one object while it is read */
#define VERSIONS_MAX_BYTES (POLICY_VERSIONS_MAX * (POLICY_VERSION_SPEC_MAX + 1024))

/* An object, and the versions of its status; one block of memory. */
typedef struct KnownObject {
    PolicyObject object;
    Str versions; /* JSON, not validated; empty: none */
} KnownObject;

/* Sorted by name. */
typedef struct ObjectList {
    KnownObject **items; /* NULL, or room for POLICY_OBJECTS_MAX */
    size_t n;
} ObjectList;

struct PolicyObjects {
    ObjectList listing;   /* of the list under way */
    Arena *arena;         /* of one object */
    pthread_mutex_t lock; /* for what follows; the watcher's thread alone writes */
    ObjectList known;
    uint64_t version;
};

/* Where @name is, or belongs; *ret_found: it is there. */
static size_t find(const ObjectList *list, Str name, bool *ret_found) {
    size_t low = 0, high = list->n;

    *ret_found = false;
    while (low < high && !*ret_found) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(list->items[middle]->object.name, name);

        if (order == 0) {
            *ret_found = true;
            low = middle;
        } else if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void clear(ObjectList *list) {
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i]);
    free(list->items);
    *list = (ObjectList){0};
}

/* Takes @object, unless it fails. 0, SINK_UNFIT (there are too many) or -ENOMEM. */
static int put(ObjectList *list, KnownObject *object) {
    bool is_found;
    size_t at = find(list, object->object.name, &is_found);

    if (is_found) {
        free(list->items[at]);
        list->items[at] = object;
        return 0;
    }
    if (list->n == POLICY_OBJECTS_MAX)
        return SINK_UNFIT;
    if (!list->items)
        list->items = malloc(POLICY_OBJECTS_MAX * sizeof(KnownObject *));
    if (!list->items)
        return -ENOMEM;
    memmove(&list->items[at + 1], &list->items[at], (list->n - at) * sizeof(KnownObject *));
    list->items[at] = object;
    list->n++;
    return 0;
}

static bool drop(ObjectList *list, Str name) {
    bool is_found;
    size_t at = find(list, name, &is_found);

    if (!is_found)
        return false;
    free(list->items[at]);
    list->n--;
    memmove(&list->items[at], &list->items[at + 1], (list->n - at) * sizeof(KnownObject *));
    return true;
}

static bool is_same(const PolicyObject *a, const PolicyObject *b) {
    return a->generation == b->generation && str_eq(a->name, b->name) && str_eq(a->uid, b->uid) &&
           str_eq(a->spec, b->spec);
}

static Str append(char **end, Str text) {
    Str copy = str_of(*end, text.len);

    if (text.len > 0)
        memcpy(*end, text.ptr, text.len);
    *end += text.len;
    return copy;
}

/* One block. NULL: out of memory. */
static KnownObject *copy_object(const PolicyObject *object, Str versions) {
    KnownObject *copy = malloc(
        sizeof(*copy) + object->name.len + object->uid.len + object->spec.len + versions.len);
    char *end = (char *)(copy + 1);

    if (!copy)
        return NULL;
    copy->object = (PolicyObject){
        .name = append(&end, object->name),
        .uid = append(&end, object->uid),
        .generation = object->generation,
        .spec = append(&end, object->spec),
    };
    copy->versions = append(&end, versions);
    return copy;
}

static void read_raw(JsonReader *reader, Arena *arena, void *target) {
    json_skip_fast(reader, target);
}

static void read_deletion(JsonReader *reader, Arena *arena, void *target) {
    *(bool *)target = json_peek(reader) == JSON_STRING;
    json_skip_fast(reader, NULL);
}

static void read_metadata(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {JSON_NAME("name"), JSON_FIELD_TEXT, offsetof(PolicyObject, name)},
        {JSON_NAME("uid"), JSON_FIELD_TEXT, offsetof(PolicyObject, uid)},
        {JSON_NAME("generation"), JSON_FIELD_INT, offsetof(PolicyObject, generation)},
        {JSON_NAME("deletionTimestamp"), JSON_FIELD_CUSTOM, offsetof(PolicyObject, is_terminating),
            read_deletion},
    };

    json_read_parts(reader, arena, fields, ELEMENTS_OF(fields), 0, target);
}

/* The versions of a status. A strange status is as good as none: the object must not be lost. */
static Str find_versions(Str status) {
    JsonReader reader;
    Str key, versions = STR_NULL;

    json_reader_init(&reader, status);
    json_object(&reader);
    while (json_key(&reader, &key))
        json_skip_fast(&reader, json_key_is(&reader, key, STR("versions")) ? &versions : NULL);
    return json_error(&reader) == JSON_OK && versions.len <= VERSIONS_MAX_BYTES ? versions
                                                                                : STR_NULL;
}

/* As policy_object_read(); in versions its status. */
static int read_fields(Str object, Arena *arena, KnownObject *ret) {
    static const JsonField fields[] = {
        {JSON_NAME("metadata"), JSON_FIELD_CUSTOM, offsetof(KnownObject, object), read_metadata},
        {JSON_NAME("spec"), JSON_FIELD_CUSTOM, offsetof(KnownObject, object.spec), read_raw},
        {JSON_NAME("status"), JSON_FIELD_CUSTOM, offsetof(KnownObject, versions), read_raw},
    };
    JsonReader reader;

    *ret = (KnownObject){0};
    json_reader_init(&reader, object);
    json_read_parts(&reader, arena, fields, ELEMENTS_OF(fields), 0, ret);
    json_end(&reader);
    if (json_error(&reader) != JSON_OK)
        return json_error(&reader) == JSON_E_TYPE ? SINK_UNFIT : SINK_MALFORMED;
    if (str_is_empty(ret->object.name))
        return SINK_UNFIT;
    if (ret->object.spec.len > POLICY_OBJECT_TEXT_MAX)
        ret->object.spec = STR_NULL;
    return 0;
}

int policy_object_read(Str object, Arena *arena, PolicyObject *ret) {
    KnownObject read;
    int r = read_fields(object, arena, &read);

    *ret = read.object;
    return r;
}

/* 0 with *ret, SINK_UNFIT, SINK_MALFORMED or -ENOMEM. */
static int read_object(PolicyObjects *objects, Str object, KnownObject **ret) {
    KnownObject read;
    int r;

    arena_reset(objects->arena);
    r = read_fields(object, objects->arena, &read);
    if (r != 0)
        return r;
    *ret = copy_object(&read.object, find_versions(read.versions));
    return *ret ? 0 : -ENOMEM;
}

int policy_object_text(Str name, Str spec, Buf *out) {
    _cleanup_(buf_done) Buf json = BUF_INIT(POLICY_OBJECT_TEXT_MAX);
    JsonWriter writer = JSON_WRITER(&json);
    size_t before = out->len;

    json_write(&writer,
        "{apiVersion: 'berth.dev/v1alpha1', kind: 'PlacementPolicy', metadata: {name: %.*s}",
        STR_FMT(name));
    if (!str_is_empty(spec)) {
        json_write_key(&writer, STR("spec"));
        json_write_raw(&writer, spec);
    }
    json_write_end_object(&writer);
    if (buf_error(&json) < 0 || yaml_from_json(buf_str(&json), out) < 0)
        out->len = before;
    return buf_error(&json) == -ENOMEM || buf_error(out) == -ENOMEM ? -ENOMEM : 0;
}

void policy_objects_begin(PolicyObjects *objects) {
    clear(&objects->listing);
}

int policy_objects_item(PolicyObjects *objects, Str text) {
    KnownObject *object;
    int r = read_object(objects, text, &object);

    if (r == 0) {
        r = put(&objects->listing, object);
        if (r != 0)
            free(object);
    }
    return r;
}

int policy_objects_end(PolicyObjects *objects) {
    const ObjectList before = objects->known, *listing = &objects->listing;
    bool is_changed = objects->version == 0 || listing->n != before.n;

    for (size_t i = 0; i < before.n && !is_changed; i++)
        is_changed = !is_same(&listing->items[i]->object, &before.items[i]->object);
    pthread_mutex_lock(&objects->lock);
    objects->version += is_changed;
    objects->known = *listing;
    pthread_mutex_unlock(&objects->lock);
    objects->listing = before;
    clear(&objects->listing);
    return 0;
}

int policy_objects_apply(
    PolicyObjects *objects, WatchEventType type, const ObjectMeta *meta, Str text) {
    KnownObject *object = NULL;
    bool is_found, is_changed;
    int r = type == EVENT_DELETED ? 0 : read_object(objects, text, &object);
    size_t at;

    if (r != 0)
        return r;
    pthread_mutex_lock(&objects->lock);
    if (object) {
        at = find(&objects->known, object->object.name, &is_found);
        is_changed = !is_found || !is_same(&objects->known.items[at]->object, &object->object);
        r = put(&objects->known, object);
    } else {
        is_changed = drop(&objects->known, meta->name);
    }
    objects->version += r == 0 && is_changed;
    pthread_mutex_unlock(&objects->lock);
    if (r != 0)
        free(object);
    return r;
}

PolicyObjects *policy_objects_new(void) {
    PolicyObjects *objects = calloc(1, sizeof(*objects));

    if (!objects)
        return NULL;
    pthread_mutex_init(&objects->lock, NULL);
    objects->arena = arena_new(OBJECT_BUDGET);
    return objects->arena ? objects : policy_objects_free(objects);
}

PolicyObjects *policy_objects_free(PolicyObjects *objects) {
    if (!objects)
        return NULL;
    clear(&objects->listing);
    clear(&objects->known);
    arena_free(objects->arena);
    pthread_mutex_destroy(&objects->lock);
    free(objects);
    return NULL;
}

uint64_t policy_objects_version(PolicyObjects *objects) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&objects->lock);

    return objects->version;
}

size_t policy_objects_count(PolicyObjects *objects) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&objects->lock);

    return objects->known.n;
}

int policy_objects_copy(PolicyObjects *objects, Arena *arena, PolicyObject **ret, size_t *ret_n,
    uint64_t *ret_version) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&objects->lock);
    PolicyObject *copies = ARENA_ARRAY(arena, PolicyObject, objects->known.n);

    for (size_t i = 0; copies && i < objects->known.n; i++) {
        const PolicyObject *object = &objects->known.items[i]->object;

        copies[i] = (PolicyObject){
            .name = arena_copy(arena, object->name),
            .uid = arena_copy(arena, object->uid),
            .generation = object->generation,
            .spec = arena_copy(arena, object->spec),
        };
    }
    *ret = copies;
    *ret_n = objects->known.n;
    *ret_version = objects->version;
    return copies && !arena_has_failed(arena) ? 0 : -ENOMEM;
}

typedef struct ReadVersion {
    PolicyVersion version;
    Str since;
} ReadVersion;

typedef struct VersionList {
    PolicyVersion *items;
    size_t n;
} VersionList;

/* A version without a time that can be is left out. */
static void read_version(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"generation", JSON_FIELD_INT, offsetof(ReadVersion, version.generation)},
        {"since", JSON_FIELD_TEXT, offsetof(ReadVersion, since)},
        {"spec", JSON_FIELD_CUSTOM, offsetof(ReadVersion, version.spec), read_raw},
    };
    VersionList *list = target;
    ReadVersion read = {0};
    int64_t sec = 0;

    JSON_READ_FIELDS(reader, arena, fields, &read);
    if (list->n == POLICY_VERSIONS_MAX || !time_parse(read.since, &sec) || sec < 0 ||
        sec > INT64_MAX / NSEC_PER_SEC)
        return;
    read.version.since_nsec = sec * NSEC_PER_SEC;
    list->items[list->n++] = read.version;
}

size_t policy_objects_versions(
    PolicyObjects *objects, Str name, Arena *arena, PolicyVersion ret[POLICY_VERSIONS_MAX]) {
    VersionList list = {.items = ret};
    Str text = STR_NULL;
    JsonReader reader;
    bool is_found;
    size_t at;

    pthread_mutex_lock(&objects->lock);
    at = find(&objects->known, name, &is_found);
    if (is_found)
        text = arena_copy(arena, objects->known.items[at]->versions);
    pthread_mutex_unlock(&objects->lock);
    json_reader_init(&reader, text);
    json_read_array(&reader, arena, read_version, &list);
    json_end(&reader);
    return json_error(&reader) == JSON_OK && !arena_has_failed(arena) ? list.n : 0;
}
