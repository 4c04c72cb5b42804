#include "policy/test-scene.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "cluster/store.h"
#include "model/time.h"
#include "policy/metric-values.h"
#include "json/write.h"

#define SCENE_BUDGET ((size_t)64 << 20)
#define SCENE_TEXT_MAX ((size_t)16 << 20)
#define SCENE_NOW INT64_C(1767323045) /* 2026-01-02T03:04:05Z */

void scene_require(bool holds, Place place, const char *what) {
    if (holds)
        return;
    (void)fprintf(
        stderr, "%.*s:%zu:%zu: %s\n", STR_FMT(place.file), place.line, place.column, what);
    abort();
}

static void require_diags(int r, const DiagList *diags) {
    _cleanup_(buf_done) Buf text = BUF_INIT(SCENE_TEXT_MAX);

    if (r == 0)
        return;
    diag_list_print(diags, /* colour= */ false, &text);
    (void)fprintf(stderr, "%.*s", STR_FMT(buf_str(&text)));
    abort();
}

YamlStream scene_parse(const char *file, Str text, Arena *arena) {
    DiagList diags = DIAG_LIST_IN(arena);
    YamlStream stream = {0};

    require_diags(yaml_parse(str_from_c(file), text, arena, &diags, &stream), &diags);
    return stream;
}

/* A misspelt key would make a case that tests nothing. */
static void check_keys(const YamlNode *node, const Str *known, size_t n_known) {
    for (size_t i = 0; i < node->n; i++) {
        bool is_known = false;

        for (size_t j = 0; j < n_known; j++)
            is_known |= str_eq(known[j], node->pairs[i].key->text);
        scene_require(is_known, node->pairs[i].key->place, "no such key in a scene");
    }
}

/* --- nodes and pods as JSON --------------------------------------------------- */

static void write_tree(JsonWriter *writer, Str key, const YamlNode *value) {
    _cleanup_(buf_done) Buf json = BUF_INIT(SCENE_TEXT_MAX);

    if (!value)
        return;
    yaml_to_json(value, &json);
    json_write_key(writer, key);
    json_write_raw(writer, buf_str(&json));
}

static void write_text(JsonWriter *writer, Str key, const YamlNode *value) {
    if (!value)
        return;
    json_write_key(writer, key);
    json_write_string(writer, value->text);
}

/* Values of labels and annotations are strings, even if they look like numbers. */
static void write_labels(JsonWriter *writer, Str key, const YamlNode *labels) {
    if (!labels)
        return;
    json_write_key(writer, key);
    json_write_object(writer);
    for (size_t i = 0; i < labels->n; i++)
        write_text(writer, labels->pairs[i].key->text, labels->pairs[i].value);
    json_write_end_object(writer);
}

static void write_condition(JsonWriter *writer, Str type, Str status) {
    json_write_object(writer);
    json_write_key(writer, STR("type"));
    json_write_string(writer, type);
    json_write_key(writer, STR("status"));
    json_write_string(writer, status);
    json_write_end_object(writer);
}

static void write_conditions(JsonWriter *writer, const YamlNode *node) {
    const YamlNode *ready = yaml_find(node, STR("ready"));
    const YamlNode *others = yaml_find(node, STR("conditions"));

    json_write_key(writer, STR("conditions"));
    json_write_array(writer);
    if (!ready || ready->kind == YAML_BOOL)
        write_condition(
            writer, STR("Ready"), !ready || ready->boolean ? STR("True") : STR("False"));
    for (size_t i = 0; others && i < others->n; i++)
        write_condition(writer, others->pairs[i].key->text, others->pairs[i].value->text);
    json_write_end_array(writer);
}

/* Each image is a name, a list of names, or both with a size: {names: [a, b], sizeBytes: 1}. */
static void write_images(JsonWriter *writer, const YamlNode *images) {
    if (!images)
        return;
    json_write_key(writer, STR("images"));
    json_write_array(writer);
    for (size_t i = 0; i < images->n; i++) {
        const YamlNode *sized = images->items[i];
        const YamlNode *image =
            sized->kind == YAML_MAPPING ? yaml_find(sized, STR("names")) : sized;
        bool is_list = image->kind == YAML_SEQUENCE;

        json_write_object(writer);
        write_tree(writer, STR("sizeBytes"), yaml_find(sized, STR("sizeBytes")));
        json_write_key(writer, STR("names"));
        json_write_array(writer);
        for (size_t n = 0; n < (is_list ? image->n : 1); n++)
            json_write_string(writer, is_list ? image->items[n]->text : image->text);
        json_write_end_array(writer);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_status(JsonWriter *writer, const YamlNode *node) {
    json_write_object(writer);
    write_conditions(writer, node);
    write_images(writer, yaml_find(node, STR("images")));
    write_tree(writer, STR("allocatable"), yaml_find(node, STR("allocatable")));
    write_tree(writer, STR("capacity"), yaml_find(node, STR("capacity")));
    write_tree(writer, STR("nodeInfo"), yaml_find(node, STR("nodeInfo")));
    json_write_end_object(writer);
}

void scene_node_json(const YamlPair *node, Buf *out) {
    static const Str keys[] = {STR("labels"), STR("annotations"), STR("created"), STR("taints"),
        STR("ready"), STR("cordoned"), STR("conditions"), STR("images"), STR("allocatable"),
        STR("capacity"), STR("nodeInfo")};
    JsonWriter writer = JSON_WRITER(out);

    check_keys(node->value, keys, ELEMENTS_OF(keys));
    json_write_object(&writer);
    json_write_key(&writer, STR("metadata"));
    json_write_object(&writer);
    write_text(&writer, STR("name"), node->key);
    write_text(&writer, STR("creationTimestamp"), yaml_find(node->value, STR("created")));
    write_labels(&writer, STR("labels"), yaml_find(node->value, STR("labels")));
    write_labels(&writer, STR("annotations"), yaml_find(node->value, STR("annotations")));
    json_write_end_object(&writer);
    json_write_key(&writer, STR("spec"));
    json_write_object(&writer);
    write_tree(&writer, STR("taints"), yaml_find(node->value, STR("taints")));
    write_tree(&writer, STR("unschedulable"), yaml_find(node->value, STR("cordoned")));
    json_write_end_object(&writer);
    json_write_key(&writer, STR("status"));
    write_status(&writer, node->value);
    json_write_end_object(&writer);
}

/* A container for each image, or one without an image; the first has all requests. */
static void write_containers(JsonWriter *writer, const YamlNode *pod) {
    const YamlNode *images = yaml_find(pod, STR("images"));

    json_write_array(writer);
    for (size_t i = 0; i < (images ? images->n : 1); i++) {
        json_write_object(writer);
        write_text(writer, STR("image"), images ? images->items[i] : NULL);
        json_write_key(writer, STR("resources"));
        json_write_object(writer);
        write_tree(writer, STR("requests"), i == 0 ? yaml_find(pod, STR("requests")) : NULL);
        write_tree(writer, STR("limits"), i == 0 ? yaml_find(pod, STR("limits")) : NULL);
        json_write_end_object(writer);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

/* Required node affinity. */
static void write_affinity(JsonWriter *writer, const YamlNode *terms) {
    static const char *const path[] = {
        "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"};

    if (!terms)
        return;
    for (size_t i = 0; i < ELEMENTS_OF(path); i++) {
        json_write_key(writer, str_from_c(path[i]));
        json_write_object(writer);
    }
    write_tree(writer, STR("nodeSelectorTerms"), terms);
    for (size_t i = 0; i < ELEMENTS_OF(path); i++)
        json_write_end_object(writer);
}

/* Further fields of a spec, as they are. */
static void write_more(JsonWriter *writer, const YamlNode *fields) {
    for (size_t i = 0; fields && i < fields->n; i++)
        write_tree(writer, fields->pairs[i].key->text, fields->pairs[i].value);
}

static void write_pod_spec(JsonWriter *writer, const YamlNode *pod) {
    json_write_object(writer);
    write_text(writer, STR("nodeName"), yaml_find(pod, STR("on")));
    write_tree(writer, STR("priority"), yaml_find(pod, STR("priority")));
    write_tree(writer, STR("priorityClassName"), yaml_find(pod, STR("priorityClassName")));
    write_tree(writer, STR("tolerations"), yaml_find(pod, STR("tolerations")));
    write_labels(writer, STR("nodeSelector"), yaml_find(pod, STR("nodeSelector")));
    write_affinity(writer, yaml_find(pod, STR("nodeSelectorTerms")));
    write_more(writer, yaml_find(pod, STR("spec")));
    json_write_key(writer, STR("containers"));
    write_containers(writer, pod);
    json_write_end_object(writer);
}

/* The controlling owner, by its UID; a ReplicaSet unless ownerKind says otherwise. */
static void write_owner(JsonWriter *writer, const YamlNode *owner, const YamlNode *kind) {
    if (!owner)
        return;
    json_write_key(writer, STR("ownerReferences"));
    json_write_array(writer);
    json_write_object(writer);
    write_text(writer, STR("uid"), owner);
    write_text(writer, STR("name"), owner);
    json_write_key(writer, STR("kind"));
    json_write_string(writer, kind ? kind->text : STR("ReplicaSet"));
    json_write_key(writer, STR("controller"));
    json_write_bool(writer, true);
    json_write_end_object(writer);
    json_write_end_array(writer);
}

/* When it was bound. */
static void write_scheduled(JsonWriter *writer, const YamlNode *time) {
    if (!time)
        return;
    json_write_key(writer, STR("conditions"));
    json_write_array(writer);
    json_write_object(writer);
    json_write_key(writer, STR("type"));
    json_write_string(writer, STR("PodScheduled"));
    json_write_key(writer, STR("status"));
    json_write_string(writer, STR("True"));
    write_text(writer, STR("lastTransitionTime"), time);
    json_write_end_object(writer);
    json_write_end_array(writer);
}

void scene_pod_json(const YamlNode *pod, Buf *out) {
    static const Str keys[] = {STR("name"), STR("namespace"), STR("uid"), STR("labels"),
        STR("annotations"), STR("owner"), STR("ownerKind"), STR("created"), STR("images"),
        STR("on"), STR("phase"), STR("nominated"), STR("priority"), STR("priorityClassName"),
        STR("requests"), STR("limits"), STR("scheduled"), STR("tolerations"), STR("nodeSelector"),
        STR("nodeSelectorTerms"), STR("deleted"), STR("spec"), STR("related")};
    JsonWriter writer = JSON_WRITER(out);

    check_keys(pod, keys, ELEMENTS_OF(keys));
    json_write_object(&writer);
    json_write_key(&writer, STR("metadata"));
    json_write_object(&writer);
    write_text(&writer, STR("name"), yaml_find(pod, STR("name")));
    write_text(&writer, STR("namespace"), yaml_find(pod, STR("namespace")));
    write_text(&writer, STR("uid"), yaml_find(pod, STR("uid")));
    write_text(&writer, STR("creationTimestamp"), yaml_find(pod, STR("created")));
    write_text(&writer, STR("deletionTimestamp"), yaml_find(pod, STR("deleted")));
    write_labels(&writer, STR("labels"), yaml_find(pod, STR("labels")));
    write_labels(&writer, STR("annotations"), yaml_find(pod, STR("annotations")));
    write_owner(&writer, yaml_find(pod, STR("owner")), yaml_find(pod, STR("ownerKind")));
    json_write_end_object(&writer);
    json_write_key(&writer, STR("spec"));
    write_pod_spec(&writer, pod);
    json_write_key(&writer, STR("status"));
    json_write_object(&writer);
    write_text(&writer, STR("phase"), yaml_find(pod, STR("phase")));
    write_text(&writer, STR("nominatedNodeName"), yaml_find(pod, STR("nominated")));
    write_scheduled(&writer, yaml_find(pod, STR("scheduled")));
    json_write_end_object(&writer);
    write_tree(&writer, STR(RELATED_KEY), yaml_find(pod, STR("related")));
    json_write_end_object(&writer);
}

/* --- from JSON to what policies see ------------------------------------------- */

static void decode_pod(TestScene *scene, const YamlNode *pod, Pod *ret) {
    _cleanup_(buf_done) Buf json = BUF_INIT(SCENE_TEXT_MAX);
    JsonReader reader;

    scene_pod_json(pod, &json);
    json_reader_init(&reader, arena_copy(scene->arena, buf_str(&json)));
    pod_decode(&reader, scene->arena, ret);
    scene_require(json_error(&reader) == JSON_OK, pod->place, "not a Pod");
}

static void decode_node(TestScene *scene, const YamlPair *node, Node *ret) {
    _cleanup_(buf_done) Buf json = BUF_INIT(SCENE_TEXT_MAX);
    JsonReader reader;

    scene_node_json(node, &json);
    json_reader_init(&reader, arena_copy(scene->arena, buf_str(&json)));
    node_decode(&reader, scene->arena, ret);
    scene_require(json_error(&reader) == JSON_OK, node->key->place, "not a Node");
}

/* Pods of a scene need no names; in the cluster they are found by name. */
static void name_pod(TestScene *scene, size_t i, Pod *pod) {
    if (str_is_empty(pod->name))
        pod->name = arena_printf(scene->arena, "pod-%zu", i);
}

static void build_snapshot(TestScene *scene, const YamlNode *nodes, const YamlNode *pods) {
    _cleanup_(store_freep) Store *store = store_new();

    for (size_t i = 0; nodes && i < nodes->n; i++) {
        Node node;

        decode_node(scene, &nodes->pairs[i], &node);
        scene_require(store_apply_node(store, &node) == 0, nodes->pairs[i].key->place,
            "the node cannot be added");
    }
    for (size_t i = 0; pods && i < pods->n; i++) {
        Pod pod;

        decode_pod(scene, pods->items[i], &pod);
        name_pod(scene, i, &pod);
        scene_require(
            store_apply_pod(store, &pod) >= 0, pods->items[i]->place, "the pod cannot be added");
    }
    scene_require(
        store_publish(store, &scene->snapshot) == 0, scene->document->place, "no snapshot");
}

/* --- policies -------------------------------------------------------------------- */

static void add_policy(TestScene *scene, Str name, const YamlNode *spec, PolicySource *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(SCENE_TEXT_MAX);

    buf_printf(&text,
        "{\"apiVersion\": \"berth.dev/v1alpha1\", \"kind\": \"PlacementPolicy\", "
        "\"metadata\": {\"name\": \"%.*s\"}, \"spec\": ",
        STR_FMT(name));
    yaml_to_json(spec, &text);
    buf_append_char(&text, '}');
    ret->file = name;
    ret->text = arena_copy(scene->arena, buf_str(&text));
}

/* A preset that we ship, unchanged. */
static void add_preset(TestScene *scene, const YamlNode *preset, PolicySource *ret) {
    Str path = arena_printf(scene->arena, POLICIES "/%.*s", STR_FMT(preset->text));

    ret->file = preset->text;
    ret->text = scene_read(path.ptr, scene->arena);
}

static void compile(
    TestScene *scene, const YamlNode *preset, const YamlNode *policy, const YamlNode *policies) {
    size_t n = policies ? policies->n : policy || preset ? 1 : 0;
    PolicySource *sources = ARENA_ARRAY(scene->arena, PolicySource, n);
    DiagList diags = DIAG_LIST_IN(scene->arena);

    for (size_t i = 0; i < n; i++) {
        if (preset)
            add_preset(scene, preset, &sources[i]);
        else if (policies)
            add_policy(scene, policies->pairs[i].key->text, policies->pairs[i].value, &sources[i]);
        else
            add_policy(scene, STR("policy"), policy, &sources[i]);
    }
    require_diags(program_compile(sources, n, &diags, &scene->program), &diags);
}

/* --- measurements --------------------------------------------------------------------- */

/* The only zone of a scene: China, which has no summer time. */
static bool from_china(const LoadZones *zones, Str zone, int64_t local_sec, int64_t *ret_sec) {
    (void)zones;
    *ret_sec = local_sec - 8 * 3600;
    return str_is(zone, "Asia/Shanghai");
}

static const LoadZones scene_zones = {.to_utc = from_china};

static void measure(TestScene *scene) {
    DiagList diags = DIAG_LIST_IN(scene->arena);
    YamlReader reader = {.arena = scene->arena, .diags = &diags};
    const MetricValues measured = {
        .metrics = yaml_find(scene->document, STR("measured")),
        .workloads = yaml_find(scene->document, STR("workloads")),
        .age = yaml_find(scene->document, STR("measuredAge")),
    };

    scene->table = *snapshot_table(scene->snapshot);
    if (scene->program->n_gauges == 0)
        return;
    require_diags(metric_values_read(&reader, &measured, scene->program, &scene->table, scene->now,
                      SCENE_UPTIME, &scene->measurements),
        &diags);
    scene_require(diags.n_errors == 0, scene->document->place, "what was measured");
    scene->input = (LoadsInput){.gauges = scene->program->gauges,
        .n_gauges = scene->program->n_gauges,
        .measurements = scene->measurements,
        .now_nsec = scene->now,
        .uptime_nsec = SCENE_UPTIME,
        .zones = &scene_zones};
    scene_require(loads_build(&scene->input, &scene->table,
                      /* known= */ NULL, scene->arena, &scene->loads) == 0,
        scene->document->place, "no memory");
    scene->table.loads = &scene->loads;
}

/* --- scenes -------------------------------------------------------------------------- */

/* The time of the request; without one, a fixed time. */
static int64_t read_now(const YamlNode *now) {
    int64_t sec = SCENE_NOW;

    scene_require(!now || time_parse(now->text, &sec), now ? now->place : (Place){0}, "not a time");
    return sec * 1000 * 1000 * 1000;
}

void scene_init(TestScene *scene, const YamlNode *document, const Str *extra, size_t n_extra) {
    Str keys[32] = {STR("preset"), STR("policy"), STR("policies"), STR("now"), STR("nodes"),
        STR("pods"), STR("pod"), STR("measured"), STR("workloads"), STR("measuredAge")};
    const size_t n_own = 10;
    const YamlNode *nodes = yaml_find(document, STR("nodes"));
    const YamlNode *pod = yaml_find(document, STR("pod"));

    for (size_t i = 0; i < n_extra; i++)
        keys[n_own + i] = extra[i];
    check_keys(document, keys, n_own + n_extra);
    *scene = (TestScene){.arena = arena_new(SCENE_BUDGET), .document = document};
    scene->now = read_now(yaml_find(document, STR("now")));
    compile(scene, yaml_find(document, STR("preset")), yaml_find(document, STR("policy")),
        yaml_find(document, STR("policies")));
    if (nodes)
        build_snapshot(scene, nodes, yaml_find(document, STR("pods")));
    if (nodes)
        measure(scene);
    if (pod)
        decode_pod(scene, pod, &scene->pod);
}

void scene_init_text(TestScene *scene, const char *text) {
    _cleanup_(arena_freep) Arena *arena = arena_new(SCENE_BUDGET);
    YamlStream stream = scene_parse("scene", str_from_c(text), arena);

    scene_init(scene, stream.documents[0], /* extra= */ NULL, 0);
    scene->document = NULL; /* freed with this function's arena */
}

void scene_done(TestScene *scene) {
    scene->program = program_unref(scene->program);
    scene->measurements = measurements_unref(scene->measurements);
    scene->snapshot = snapshot_unref(scene->snapshot);
    scene->arena = arena_free(scene->arena);
}

/* --- files ------------------------------------------------------------------------------ */

Str scene_read(const char *path, Arena *arena) {
    _cleanup_(buf_done) Buf text = BUF_INIT(SCENE_TEXT_MAX);
    FILE *file = fopen(path, "rb");
    char block[4096];
    size_t n;

    scene_require(file != NULL, (Place){.file = str_from_c(path)}, "cannot be opened");
    while (file && (n = fread(block, 1, sizeof(block), file)) > 0)
        buf_append(&text, str_of(block, n));
    (void)fclose(file);
    return arena_copy(arena, buf_str(&text));
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

size_t scene_each(
    const char *folder, const char *suffix, void (*visit)(const char *path, void *), void *user) {
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, is_visible, alphasort);
    size_t n_visited = 0;

    for (int i = 0; i < n; i++) {
        char path[4096];

        if (str_has_suffix(str_from_c(entries[i]->d_name), str_from_c(suffix))) {
            (void)snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
            visit(path, user);
            n_visited++;
        }
        free(entries[i]);
    }
    free(entries);
    return n_visited;
}
