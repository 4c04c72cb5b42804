/* Keeps the PlacementPolicies of a list and a watch, and reads their text and versions. */

#include "kube/policy-objects.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/nsec.h"
#include "base/set.h"
#include "base/thread.h"
#include "kube/reflector.h"
#include "model/time.h"
#include "yaml/write.h"
#include "json/fields.h"
#include "json/read.h"
#include "json/write.h"

#define OBJECT_BUDGET ((size_t)16 * 1024 * 1024) /* for decoding one object */
#define VERSIONS_MAX_BYTES (POLICY_VERSIONS_MAX * (POLICY_VERSION_SPEC_MAX + 1024))

/* An object with the versions in its status, in one block of memory. */
typedef struct KnownObject {
    PolicyObject object;
    Str versions; /* JSON, not validated; empty: none */
} KnownObject;

struct PolicyObjects {
    Set listing;          /* KnownObjects of the running list */
    Arena *arena;         /* of one object */
    pthread_mutex_t lock; /* protects the fields below, which only the watcher's thread writes */
    Set known;
    uint64_t version;
};

static bool is_called(const void *item, const void *key) {
    return str_eq(((const KnownObject *)item)->object.name, *(const Str *)key);
}

static KnownObject *find(const Set *set, Str name) {
    return set_find(set, hash_str(name), is_called, &name);
}

static void clear(Set *set) {
    KnownObject *object;

    for (size_t i = 0; (object = set_next(set, &i)); i++)
        free(object);
    set_done(set);
}

/* Adds or replaces @object, which it owns on success. 0, SINK_UNFIT (too many) or -ENOMEM. */
static int put(Set *set, KnownObject *object) {
    KnownObject *before = find(set, object->object.name);
    uint64_t hash = hash_str(object->object.name);

    if (!before)
        return set->n_used == POLICY_OBJECTS_MAX ? SINK_UNFIT : set_add(set, hash, object);
    set_replace(set, hash, before, object);
    free(before);
    return 0;
}

static bool drop(Set *set, Str name) {
    KnownObject *object = find(set, name);

    if (!object)
        return false;
    (void)set_remove(set, hash_str(name), object);
    free(object);
    return true;
}

static bool is_same(const PolicyObject *a, const PolicyObject *b) {
    return a->generation == b->generation && str_eq(a->name, b->name) && str_eq(a->uid, b->uid) &&
           str_eq(a->spec, b->spec);
}

/* Copies an object to one block; NULL when out of memory. */
static KnownObject *copy_object(const PolicyObject *object, Str versions) {
    KnownObject *copy = malloc(
        sizeof(*copy) + object->name.len + object->uid.len + object->spec.len + versions.len);
    char *end = (char *)(copy + 1);

    if (!copy)
        return NULL;
    copy->object = (PolicyObject){
        .name = str_carve(&end, object->name),
        .uid = str_carve(&end, object->uid),
        .generation = object->generation,
        .spec = str_carve(&end, object->spec),
    };
    copy->versions = str_carve(&end, versions);
    return copy;
}

static void read_deletion(JsonReader *reader, Arena *arena, void *target) {
    *(bool *)target = json_peek(reader) == JSON_STRING;
    json_skip_fast(reader, NULL);
}

static void read_metadata(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("name", TEXT, PolicyObject, name),
        JSON_MEMBER("uid", TEXT, PolicyObject, uid),
        JSON_MEMBER("generation", INT, PolicyObject, generation),
        JSON_CUSTOM("deletionTimestamp", PolicyObject, is_terminating, read_deletion),
    };

    json_read_parts(reader, arena, fields, ELEMENTS_OF(fields), 0, target);
}

/* The versions of a status. An invalid status has none, since the object must be kept. */
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

/* Like policy_object_read(); @versions gets the whole status. */
static int read_fields(Str object, Arena *arena, KnownObject *ret) {
    static const JsonField fields[] = {
        JSON_CUSTOM("metadata", KnownObject, object, read_metadata),
        JSON_CUSTOM("spec", KnownObject, object.spec, json_read_value),
        JSON_CUSTOM("status", KnownObject, versions, json_read_value),
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
    const Set before = objects->known, *listing = &objects->listing;
    bool is_changed = objects->version == 0 || listing->n_used != before.n_used;
    const KnownObject *object, *was;

    for (size_t i = 0; !is_changed && (object = set_next(listing, &i)); i++) {
        was = find(&before, object->object.name);
        is_changed = !was || !is_same(&object->object, &was->object);
    }
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
    KnownObject *object = NULL, *was;
    int r = type == EVENT_DELETED ? 0 : read_object(objects, text, &object);
    bool is_changed;

    if (r != 0)
        return r;
    pthread_mutex_lock(&objects->lock);
    if (object) {
        was = find(&objects->known, object->object.name);
        is_changed = !was || !is_same(&was->object, &object->object);
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

    return objects->known.n_used;
}

static int by_name(const void *a, const void *b) {
    return str_cmp(((const PolicyObject *)a)->name, ((const PolicyObject *)b)->name);
}

int policy_objects_copy(PolicyObjects *objects, Arena *arena, PolicyObject **ret, size_t *ret_n,
    uint64_t *ret_version) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&objects->lock);
    PolicyObject *copies = ARENA_ARRAY(arena, PolicyObject, objects->known.n_used);
    const KnownObject *known;
    size_t n = 0;

    for (size_t i = 0; copies && (known = set_next(&objects->known, &i)); i++)
        copies[n++] = (PolicyObject){
            .name = arena_copy(arena, known->object.name),
            .uid = arena_copy(arena, known->object.uid),
            .generation = known->object.generation,
            .spec = arena_copy(arena, known->object.spec),
        };
    *ret = copies;
    *ret_n = n;
    *ret_version = objects->version;
    if (!copies || arena_has_failed(arena))
        return -ENOMEM;
    qsort(copies, n, sizeof(*copies), by_name);
    return 0;
}

typedef struct ReadVersion {
    PolicyVersion version;
    Str since;
} ReadVersion;

typedef struct VersionList {
    PolicyVersion *items;
    size_t n;
} VersionList;

/* Skips a version without a valid time. */
static void read_version(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("generation", INT, ReadVersion, version.generation),
        JSON_MEMBER("since", TEXT, ReadVersion, since),
        JSON_CUSTOM("spec", ReadVersion, version.spec, json_read_value),
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
    const KnownObject *known;
    JsonReader reader;

    pthread_mutex_lock(&objects->lock);
    known = find(&objects->known, name);
    if (known)
        text = arena_copy(arena, known->versions);
    pthread_mutex_unlock(&objects->lock);
    json_reader_init(&reader, text);
    json_read_array(&reader, arena, read_version, &list);
    json_end(&reader);
    return json_error(&reader) == JSON_OK && !arena_has_failed(arena) ? list.n : 0;
}
