#include "policy/test-scene.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "cluster/store.h"
#include "model/time.h"
#include "policy/metric-values.h"
#include "policy/short-objects.h"

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

/* Fails on unknown keys: with a misspelt one, a case would test nothing. */
static void check_keys(const YamlNode *node, const Str *known, size_t n_known) {
    for (size_t i = 0; i < node->n; i++) {
        bool is_known = false;

        for (size_t j = 0; j < n_known; j++)
            is_known |= str_eq(known[j], node->pairs[i].key->text);
        scene_require(is_known, node->pairs[i].key->place, "no such key in a scene");
    }
}

/* --- nodes and pods as JSON --------------------------------------------------- */

void scene_node_json(const YamlPair *node, Buf *out) {
    _cleanup_(arena_freep) Arena *arena = arena_new(SCENE_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    YamlReader reader = {.arena = arena, .diags = &diags};

    require_diags(short_node_json(&reader, node, out) ? 0 : -1, &diags);
}

/* Adds the objects that the pod refers to, for which the short form has no fields. */
void scene_pod_json(const YamlNode *pod, Buf *out) {
    _cleanup_(arena_freep) Arena *arena = arena_new(SCENE_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    YamlReader reader = {.arena = arena, .diags = &diags};
    YamlNode own = *pod;

    own.pairs = ARENA_ARRAY(arena, YamlPair, pod->n);
    own.n = 0;
    for (size_t i = 0; i < pod->n; i++)
        if (!str_is(pod->pairs[i].key->text, "related"))
            own.pairs[own.n++] = pod->pairs[i];
    require_diags(short_pod_json(&reader, &own, out) ? 0 : -1, &diags);
    if (own.n == pod->n || buf_error(out))
        return;
    out->len--; /* removes the closing brace */
    buf_append(out, STR(",\"" RELATED_KEY "\":"));
    yaml_to_json(yaml_find(pod, STR("related")), out);
    buf_append_char(out, '}');
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

/* Names the pod if it has no name: the cluster finds pods by name. */
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

static void compile(TestScene *scene, const YamlNode *policy, const YamlNode *policies) {
    size_t n = policies ? policies->n : policy ? 1 : 0;
    PolicySource *sources = ARENA_ARRAY(scene->arena, PolicySource, n);
    DiagList diags = DIAG_LIST_IN(scene->arena);

    for (size_t i = 0; i < n; i++) {
        if (policies)
            add_policy(scene, policies->pairs[i].key->text, policies->pairs[i].value, &sources[i]);
        else
            add_policy(scene, STR("policy"), policy, &sources[i]);
    }
    require_diags(program_compile(sources, n, &diags, &scene->program), &diags);
}

/* --- measurements --------------------------------------------------------------------- */

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
        .uptime_nsec = SCENE_UPTIME};
    scene_require(loads_build(&scene->input, &scene->table,
                      /* known= */ NULL, scene->arena, &scene->loads) == 0,
        scene->document->place, "no memory");
    scene->table.loads = &scene->loads;
}

/* --- scenes -------------------------------------------------------------------------- */

/* Returns the time of the request; a fixed time if none is given. */
static int64_t read_now(const YamlNode *now) {
    int64_t sec = SCENE_NOW;

    scene_require(!now || time_parse(now->text, &sec), now ? now->place : (Place){0}, "not a time");
    return sec * 1000 * 1000 * 1000;
}

void scene_init(TestScene *scene, const YamlNode *document, const Str *extra, size_t n_extra) {
    Str keys[32] = {STR("policy"), STR("policies"), STR("now"), STR("nodes"), STR("pods"),
        STR("pod"), STR("measured"), STR("workloads"), STR("measuredAge")};
    const size_t n_own = 9;
    const YamlNode *nodes = yaml_find(document, STR("nodes"));
    const YamlNode *pod = yaml_find(document, STR("pod"));

    for (size_t i = 0; i < n_extra; i++)
        keys[n_own + i] = extra[i];
    check_keys(document, keys, n_own + n_extra);
    *scene = (TestScene){.arena = arena_new(SCENE_BUDGET), .document = document};
    scene->now = read_now(yaml_find(document, STR("now")));
    compile(scene, yaml_find(document, STR("policy")), yaml_find(document, STR("policies")));
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
