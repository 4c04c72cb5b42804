/* Reads Kubernetes objects from JSON or YAML files. */

#include "input/objects.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "input/file.h"
#include "model/node.h"
#include "model/pod.h"

/* For one object while it is decoded. */
#define OBJECT_BUDGET ((size_t)64 * 1024 * 1024)
#define YAML_BUDGET ((size_t)512 * 1024 * 1024)

struct ObjectReader {
    const char *path;
    Str text;                 /* JSON */
    const YamlNode *document; /* the YAML that text was written from; NULL: the file is JSON */
    Arena *arena;             /* scratch, reset for each object */
    char *error;
    ObjectsVisit visit;
    void *context;
};

__attribute__((format(printf, 2, 3))) static int fail(
    ObjectReader *objects, const char *format, ...) {
    int n = snprintf(objects->error, OBJECTS_ERROR_MAX, "%s", objects->path);
    va_list arguments;

    va_start(arguments, format);
    if (n > 0 && n < (int)OBJECTS_ERROR_MAX)
        (void)vsnprintf(objects->error + n, OBJECTS_ERROR_MAX - (size_t)n, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

static void no_memory(ObjectReader *objects) {
    if (objects->arena && arena_limit_reached(objects->arena) > 0)
        (void)fail(objects, ": one object needs more than %zu MiB, the limit for it",
            OBJECT_BUDGET / 1024 / 1024);
    else
        (void)fail(objects, ": out of memory for its nodes and pods");
}

/* The place of byte @at of the text. */
static Place place_of(const ObjectReader *objects, size_t at) {
    return objects->document ? yaml_json_place(objects->document, at)
                             : yaml_place(STR_NULL, objects->text, at);
}

int object_failed(const Object *object, const JsonReader *reader) {
    ObjectReader *objects = object->reader;
    Place place;

    if (json_error(reader) == JSON_E_MEMORY)
        return -ENOMEM;
    place = place_of(objects, (size_t)(reader->data - objects->text.ptr) + reader->error_at);
    return fail(objects, ":%zu:%zu: %s", place.line, place.column, reader->error_text);
}

/* The same for a text that is not known to be an object. */
static int json_result(ObjectReader *objects, const JsonReader *reader) {
    return json_error(reader) == JSON_OK ? 0 : object_failed(&(Object){.reader = objects}, reader);
}

int object_decode(const Object *object, Str json, JsonRead *read, Arena *arena, void *ret) {
    Str copy = arena_copy(arena, json);
    JsonReader reader;

    if (!copy.ptr)
        return -ENOMEM;
    json_reader_init(&reader, copy);
    read(&reader, arena, ret);
    reader.data = json.ptr; /* so that an error has its place in the file's text */
    return json_error(&reader) == JSON_OK ? 0 : object_failed(object, &reader);
}

int object_wrong(const Object *object, Str part, const char *format, ...) {
    ObjectReader *objects = object->reader;
    Place place = place_of(objects, (size_t)(part.ptr - objects->text.ptr));
    char text[OBJECTS_ERROR_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return fail(objects, ":%zu:%zu: %s", place.line, place.column, text);
}

typedef struct ObjectHead {
    Str kind;
    Str items; /* raw; empty when missing */
} ObjectHead;

static int read_head(ObjectReader *objects, Str object, ObjectHead *ret) {
    static const JsonField fields[] = {
        JSON_MEMBER("kind", TEXT, ObjectHead, kind),
        JSON_MEMBER("items", RAW, ObjectHead, items),
    };
    JsonReader reader;

    *ret = (ObjectHead){0};
    json_reader_init(&reader, object);
    if (json_peek(&reader) != JSON_OBJECT_BEGIN)
        json_fail(&reader, JSON_E_TYPE, "expected a Kubernetes object");
    JSON_READ_KEYS(&reader, objects->arena, fields, ret);
    json_end(&reader);
    return json_result(objects, &reader);
}

static int visit_item(ObjectReader *objects, Str kind, Str item) {
    ObjectHead head;
    int r;

    if (str_is_empty(kind)) {
        r = read_head(objects, item, &head);
        if (r < 0)
            return r;
        kind = head.kind;
    }
    r = objects->visit(objects->context, &(Object){.kind = kind, .json = item, .reader = objects});
    arena_reset(objects->arena);
    return r;
}

/* @kind: the kind of all items; empty: each item has its own. */
static int read_items(ObjectReader *objects, Str kind, Str items) {
    JsonReader reader;

    json_reader_init(&reader, items);
    json_array(&reader);
    while (json_element(&reader)) {
        Str item = STR_NULL;
        int r;

        json_skip(&reader, &item);
        if (json_error(&reader) != JSON_OK)
            break;
        r = visit_item(objects, kind, item);
        if (r < 0)
            return r;
    }
    return json_result(objects, &reader);
}

static int read_document(ObjectReader *objects, Str text) {
    ObjectHead head;
    int r;

    objects->text = text;
    r = read_head(objects, text, &head);
    if (r < 0)
        return r;
    if (!str_is_empty(head.items))
        /* Items of a NodeList have no kind of their own; items of a List have one. */
        return read_items(objects,
            str_has_suffix(head.kind, STR("List")) ? str_take(head.kind, head.kind.len - 4)
                                                   : STR_NULL,
            head.items);
    return visit_item(objects, /* kind= */ STR_NULL, text);
}

/* Converts the document to JSON, to use the same decoders. */
static int read_yaml_document(ObjectReader *objects, const YamlNode *document) {
    _cleanup_(buf_done) Buf json = BUF_INIT(OBJECTS_FILE_MAX);

    objects->document = document;
    yaml_to_json(document, &json);
    return buf_error(&json) ? buf_error(&json) : read_document(objects, buf_str(&json));
}

static int read_yaml(ObjectReader *objects, Str source) {
    _cleanup_(arena_freep) Arena *arena = arena_new(YAML_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    YamlStream stream;
    int r;

    if (!arena)
        return -ENOMEM;
    r = yaml_parse(str_from_c(objects->path), source, arena, &diags, &stream);
    if (r == -EINVAL && diags.diags.n > 0) {
        const Diag *diag = &diags.diags.items[0];

        if (diag->place.line > 0)
            (void)fail(objects, ":%zu:%zu: %.*s", diag->place.line, diag->place.column,
                STR_FMT(diag->text));
        else /* the file as a whole: too large for YAML */
            (void)fail(
                objects, ": %.*s as YAML; write it with kubectl's -o json", STR_FMT(diag->text));
    }
    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < stream.n_documents; i++)
        r = read_yaml_document(objects, stream.documents[i]);
    return r;
}

static int read_file(ObjectReader *objects) {
    _cleanup_(buf_done) Buf text = BUF_INIT(OBJECTS_FILE_MAX);
    int r = file_read(objects->path, &text, objects->error);

    if (r < 0)
        return r;
    return str_has_prefix(str_trim(buf_str(&text)), STR("{"))
               ? read_document(objects, buf_str(&text))
               : read_yaml(objects, buf_str(&text));
}

int objects_each(
    const char *path, const YamlNode *document, ObjectsVisit visit, void *context, char *error) {
    _cleanup_(arena_freep) Arena *arena = arena_new(OBJECT_BUDGET);
    ObjectReader objects = {
        .path = path, .error = error, .visit = visit, .context = context, .arena = arena};
    int r;

    error[0] = '\0';
    r = !arena ? -ENOMEM : document ? read_yaml_document(&objects, document) : read_file(&objects);
    if (r < 0 && error[0] == '\0')
        no_memory(&objects);
    return r;
}

static int full(const Object *object) {
    return fail(object->reader, ": more than %u nodes or %u pods", STORE_NODES_MAX, STORE_PODS_MAX);
}

static int add_node(Store *store, const Object *object) {
    Node node;
    int r = object_decode(object, object->json, node_decode, object->reader->arena, &node);

    if (r < 0)
        return r;
    if (store_find_node(store, node.name))
        return fail(object->reader, ": there are two nodes named \"%.*s\"", STR_FMT(node.name));
    r = store_apply_node(store, &node);
    return r == STORE_FULL ? full(object) : error_fold(r);
}

/* The store identifies pods by name, and would take the second one for an update of the first. */
static int add_pod(Store *store, const Object *object) {
    Pod pod;
    int r = object_decode(object, object->json, pod_decode, object->reader->arena, &pod);

    if (r < 0 || pod.is_terminal)
        return r;
    if (store_find_pod(store, pod.namespace, pod.name))
        return fail(object->reader, ": there are two pods named \"%.*s\" in namespace \"%.*s\"",
            STR_FMT(pod.name), STR_FMT(pod.namespace));
    r = store_apply_pod(store, &pod);
    return r == STORE_FULL ? full(object) : r == STORE_BOUND ? 0 : error_fold(r);
}

int object_add_related(Store *store, const Object *object, Arena *arena) {
    RelatedKind kind = related_kind_of(object->kind);
    RelatedObject related;
    JsonReader reader;
    int r;

    if (kind == _RELATED_KINDS)
        return 0;
    json_reader_init(&reader, object->json);
    related_object_decode(kind, &reader, arena, &related);
    if (json_error(&reader) != JSON_OK)
        return object_failed(object, &reader);
    r = store_apply_related(store, kind, &related);
    return r == STORE_FULL
               ? fail(object->reader, ": more than %u %s", RELATED_MAX, related_kind_name(kind))
               : error_fold(r);
}

int cluster_visit(void *context, const Object *object) {
    if (str_is(object->kind, "Node"))
        return add_node(context, object);
    if (str_is(object->kind, "Pod"))
        return add_pod(context, object);
    return object_add_related(context, object, object->reader->arena);
}

int cluster_load(const char *path, Snapshot **ret, char *error) {
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    ObjectReader objects = {.path = path, .error = error};
    int r;

    error[0] = '\0';
    r = store ? objects_each(path, NULL, cluster_visit, store, error) : -ENOMEM;
    if (r == 0)
        r = store_publish(store, &snapshot);
    if (r < 0 && error[0] == '\0')
        no_memory(&objects);
    if (r < 0)
        return r;
    if (snapshot_table(snapshot)->names->n_nodes == 0)
        return fail(
            &objects, ": contains no Node; make it with: kubectl get nodes,pods -A -o json");
    *ret = TAKE_PTR(snapshot);
    return 0;
}
