#include "input/objects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/error.h"
#include "cluster/store.h"
#include "input/file.h"
#include "model/node.h"
#include "yaml/document.h"
#include "json/read.h"

/* What one item needs while it is decoded; reset for each. */
#define OBJECT_BUDGET ((size_t)64 * 1024 * 1024)
#define YAML_BUDGET ((size_t)512 * 1024 * 1024)
#define POD_FILE_MAX ((size_t)4 * 1024 * 1024)

typedef struct Walk {
    const char *path;
    Str text;     /* JSON */
    bool is_yaml; /* it was YAML: byte offsets mean nothing to the reader */
    Arena *arena; /* scratch, reset for each object */
    char *error;
    int (*visit)(struct Walk *walk, Str kind, Str object);

    Store *store;     /* cluster_load */
    Arena *pod_arena; /* pod_load */
    Pod *pod;
    size_t n_pods;
    ObjectsVisit each; /* objects_each */
    void *context;
} Walk;

/* --- messages ------------------------------------------------------------- */

/* Line and column of a byte, for a person with an editor. */
static void place_of(Str text, size_t at, size_t *ret_line, size_t *ret_column) {
    *ret_line = 1;
    *ret_column = 1;
    for (size_t i = 0; i < at && i < text.len; i++) {
        *ret_column += 1;
        if (text.ptr[i] == '\n') {
            *ret_line += 1;
            *ret_column = 1;
        }
    }
}

static int json_failed(Walk *walk, const JsonReader *reader) {
    size_t at = (size_t)(reader->data - walk->text.ptr) + reader->error_at;
    size_t line, column;

    if (json_error(reader) == JSON_E_MEMORY)
        return -ENOMEM;
    place_of(walk->text, at, &line, &column);
    if (walk->is_yaml)
        (void)snprintf(walk->error, OBJECTS_ERROR_MAX, "%s: %s", walk->path, reader->error_text);
    else
        (void)snprintf(walk->error,
            OBJECTS_ERROR_MAX,
            "%s:%zu:%zu: %s",
            walk->path,
            line,
            column,
            reader->error_text);
    return -EINVAL;
}

/* --- walking lists ---------------------------------------------------------- */

typedef struct ObjectHead {
    Str kind;
    Str items; /* raw; empty when there is none */
} ObjectHead;

static int read_head(Walk *walk, Str object, ObjectHead *ret) {
    JsonReader reader;
    Str key;

    *ret = (ObjectHead){0};
    json_reader_init(&reader, object);
    if (json_peek(&reader) != JSON_OBJECT_BEGIN)
        json_fail(&reader, JSON_E_TYPE, "expected a Kubernetes object");
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (json_key_is(&reader, key, STR("kind")))
            json_string(&reader, walk->arena, &ret->kind);
        else if (json_key_is(&reader, key, STR("items")))
            json_skip(&reader, &ret->items);
        else
            json_skip(&reader, NULL);
    }
    json_end(&reader);
    return json_error(&reader) == JSON_OK ? 0 : json_failed(walk, &reader);
}

/* NodeList has items of kind Node, which do not say so themselves. */
static Str item_kind(Str list_kind) {
    if (str_is(list_kind, "NodeList"))
        return STR("Node");
    return str_is(list_kind, "PodList") ? STR("Pod") : STR_NULL;
}

static int visit_item(Walk *walk, Str kind, Str item) {
    ObjectHead head;
    int r;

    if (str_is_empty(kind)) {
        r = read_head(walk, item, &head);
        if (r < 0)
            return r;
        kind = head.kind;
    }
    r = walk->visit(walk, kind, item);
    arena_reset(walk->arena);
    return r;
}

/* @kind: of each; empty: they say it themselves. */
static int walk_items(Walk *walk, Str kind, Str items) {
    JsonReader reader;

    json_reader_init(&reader, items);
    json_array(&reader);
    while (json_element(&reader)) {
        Str item = STR_NULL;
        int r;

        json_skip(&reader, &item);
        if (json_error(&reader) != JSON_OK)
            break;
        r = visit_item(walk, kind, item);
        if (r < 0)
            return r;
    }
    return json_error(&reader) == JSON_OK ? 0 : json_failed(walk, &reader);
}

static int walk_document(Walk *walk, Str text) {
    ObjectHead head;
    int r;

    walk->text = text;
    r = read_head(walk, text, &head);
    if (r < 0)
        return r;
    if (!str_is_empty(head.items))
        return walk_items(walk, item_kind(head.kind), head.items);
    return visit_item(walk, /* kind= */ STR_NULL, text);
}

static void explain_yaml(Walk *walk, const Diag *diag) {
    if (diag->place.line > 0)
        (void)snprintf(walk->error,
            OBJECTS_ERROR_MAX,
            "%s:%zu:%zu: %.*s",
            walk->path,
            diag->place.line,
            diag->place.column,
            STR_FMT(diag->text));
    else /* the file as a whole: too large for YAML */
        (void)snprintf(walk->error,
            OBJECTS_ERROR_MAX,
            "%s: %.*s as YAML; write it with kubectl's -o json",
            walk->path,
            STR_FMT(diag->text));
}

/* YAML documents go through the same decoders as JSON text. */
static int walk_yaml(Walk *walk, Str source) {
    _cleanup_(arena_freep) Arena *arena = arena_new(YAML_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    YamlStream stream;
    int r;

    if (!arena)
        return -ENOMEM;
    walk->is_yaml = true;
    r = yaml_parse(str_from_c(walk->path), source, arena, &diags, &stream);
    if (r == -EINVAL && diags.diags.n > 0)
        explain_yaml(walk, &diags.diags.items[0]);
    if (r < 0)
        return r;
    for (size_t i = 0; i < stream.n_documents; i++) {
        _cleanup_(buf_done) Buf json = BUF_INIT(OBJECTS_FILE_MAX);

        yaml_to_json(stream.documents[i], &json);
        r = buf_error(&json) ? buf_error(&json) : walk_document(walk, buf_str(&json));
        if (r < 0)
            return r;
    }
    return 0;
}

static int walk_file(Walk *walk, size_t max) {
    _cleanup_(buf_done) Buf text = BUF_INIT(max);
    _cleanup_(arena_freep) Arena *arena = arena_new(OBJECT_BUDGET);
    Str trimmed;
    int r;

    walk->error[0] = '\0';
    walk->arena = arena;
    r = arena ? file_read(walk->path, &text, walk->error) : -ENOMEM;
    if (r < 0)
        return r;
    trimmed = str_trim(buf_str(&text));
    if (str_has_prefix(trimmed, STR("{")))
        r = walk_document(walk, buf_str(&text));
    else
        r = walk_yaml(walk, buf_str(&text));
    if (r < 0 && walk->error[0] == '\0')
        (void)snprintf(walk->error, OBJECTS_ERROR_MAX, "%s: out of memory", walk->path);
    return r;
}

/* --- clusters ---------------------------------------------------------------- */

static int full(Walk *walk) {
    (void)snprintf(walk->error,
        OBJECTS_ERROR_MAX,
        "%s: more than %u nodes or %u pods",
        walk->path,
        STORE_NODES_MAX,
        STORE_PODS_MAX);
    return -EINVAL;
}

static int add_node(Walk *walk, Str object) {
    JsonReader reader;
    Node node;
    int r;

    json_reader_init(&reader, object);
    node_decode(&reader, walk->arena, &node);
    if (json_error(&reader) != JSON_OK)
        return json_failed(walk, &reader);
    if (store_find_node(walk->store, node.name)) {
        (void)snprintf(walk->error,
            OBJECTS_ERROR_MAX,
            "%s: there are two nodes named \"%.*s\"",
            walk->path,
            STR_FMT(node.name));
        return -EINVAL;
    }
    r = store_apply_node(walk->store, &node);
    return r == STORE_FULL ? full(walk) : error_fold(r);
}

/* A store knows pods by their names and would take the second one for news of the first. */
static int add_pod(Walk *walk, Str object) {
    JsonReader reader;
    Pod pod;
    int r;

    json_reader_init(&reader, object);
    pod_decode(&reader, walk->arena, &pod);
    if (json_error(&reader) != JSON_OK)
        return json_failed(walk, &reader);
    if (pod.is_terminal)
        return 0;
    if (store_find_pod(walk->store, pod.namespace, pod.name)) {
        (void)snprintf(walk->error,
            OBJECTS_ERROR_MAX,
            "%s: there are two pods named \"%.*s\" in namespace \"%.*s\"",
            walk->path,
            STR_FMT(pod.name),
            STR_FMT(pod.namespace));
        return -EINVAL;
    }
    r = store_apply_pod(walk->store, &pod);
    return r == STORE_FULL ? full(walk) : r == STORE_BOUND ? 0 : error_fold(r);
}

static int visit_for_cluster(Walk *walk, Str kind, Str object) {
    if (str_is(kind, "Node"))
        return add_node(walk, object);
    if (str_is(kind, "Pod"))
        return add_pod(walk, object);
    return 0;
}

int cluster_load(const char *path, Snapshot **ret, char *error) {
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    Walk walk = {.path = path, .error = error, .visit = visit_for_cluster, .store = store};
    int r;

    (void)snprintf(error, OBJECTS_ERROR_MAX, "%s: out of memory", path);
    if (!store)
        return -ENOMEM;
    r = walk_file(&walk, OBJECTS_FILE_MAX);
    if (r == 0)
        r = store_publish(store, &snapshot);
    if (r < 0 && error[0] == '\0')
        (void)snprintf(error, OBJECTS_ERROR_MAX, "%s: out of memory", path);
    if (r < 0)
        return r;
    if (snapshot_table(snapshot)->names->n_nodes == 0) {
        (void)snprintf(error,
            OBJECTS_ERROR_MAX,
            "%s: holds no Node; make it with: kubectl get nodes,pods -A -o json",
            path);
        return -EINVAL;
    }
    *ret = TAKE_PTR(snapshot);
    return 0;
}

/* --- pods -------------------------------------------------------------------- */

static int visit_for_pod(Walk *walk, Str kind, Str object) {
    JsonReader reader;
    Str kept;

    if (!str_is(kind, "Pod"))
        return 0;
    walk->n_pods++;
    kept = arena_copy(walk->pod_arena, object); /* the pod's strings point into it */
    if (!kept.ptr)
        return -ENOMEM;
    json_reader_init(&reader, kept);
    pod_decode(&reader, walk->pod_arena, walk->pod);
    if (json_error(&reader) == JSON_OK)
        return 0;
    json_reader_init(&reader, object); /* once more, for a place in the file */
    pod_decode(&reader, walk->pod_arena, walk->pod);
    return json_failed(walk, &reader);
}

int pod_load(const char *path, Arena *arena, Pod *ret, char *error) {
    Walk walk = {
        .path = path,
        .error = error,
        .visit = visit_for_pod,
        .pod_arena = arena,
        .pod = ret,
    };
    int r = walk_file(&walk, POD_FILE_MAX);

    if (r < 0)
        return r;
    if (walk.n_pods != 1) {
        (void)snprintf(error,
            OBJECTS_ERROR_MAX,
            "%s: holds %zu Pods; exactly one is wanted",
            path,
            walk.n_pods);
        return -EINVAL;
    }
    return 0;
}

/* --- anything ---------------------------------------------------------------- */

static int visit_for_each(Walk *walk, Str kind, Str object) {
    return walk->each(walk->context, kind, object);
}

int objects_each(const char *path, ObjectsVisit visit, void *context, char *error) {
    Walk walk = {
        .path = path,
        .error = error,
        .visit = visit_for_each,
        .each = visit,
        .context = context,
    };

    return walk_file(&walk, OBJECTS_FILE_MAX);
}
