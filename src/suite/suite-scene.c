/* The inputs of a case: its cluster, pod, time and metrics. */

#include <errno.h>

#include "base/error.h"
#include "base/nsec.h"
#include "input/measurements.h"
#include "input/workload.h"
#include "model/time.h"
#include "policy/metric-values.h"
#include "policy/short-objects.h"
#include "suite/suite-internal.h"

#define OBJECT_TEXT_MAX ((size_t)16 * 1024 * 1024)

Str suite_path(const SuiteRun *run, Str path) {
    Str folder = str_has_prefix(path, STR("/")) ? STR_NULL : run->folder;

    return arena_printf(run->arena, "%.*s%.*s", STR_FMT(folder), STR_FMT(path));
}

/* Reports @error at @at, which names the file or object; returns -ENOMEM as it is. */
static int complain(SuiteRun *run, const YamlNode *at, const char *error, int r) {
    if (r == -ENOMEM)
        return r;
    reader_error(&run->reader, at, "%s", error);
    return SUITE_E_INVALID;
}

/* Adds the objects of a file, or of a list of files. */
static int add_files(SuiteRun *run, const YamlNode *names, Store *store) {
    bool is_list = names->kind == YAML_SEQUENCE;

    for (size_t i = 0; i < (is_list ? names->n : 1); i++) {
        const YamlNode *name = is_list ? names->items[i] : names;
        char error[OBJECTS_ERROR_MAX] = "";
        Str path, text;
        int r;

        if (!reader_string(&run->reader, name, "cluster", &text))
            return SUITE_E_INVALID;
        path = suite_path(run, text);
        r = path.ptr ? objects_each(path.ptr, NULL, cluster_visit, store, error) : -ENOMEM;
        if (r < 0)
            return complain(run, name, error, r);
    }
    return 0;
}

static int add_objects(SuiteRun *run, const YamlNode *objects, Store *store) {
    char error[OBJECTS_ERROR_MAX] = "";
    int r = 0;

    if (!reader_sequence(&run->reader, objects, "objects"))
        return SUITE_E_INVALID;
    for (size_t i = 0; r == 0 && i < objects->n; i++)
        r = objects_each(run->path, objects->items[i], cluster_visit, store, error);
    return r < 0 ? complain(run, objects, error, r) : 0;
}

/* Decodes @json; strings of @ret point into @arena. */
static int decode(
    SuiteRun *run, const YamlNode *at, const Buf *json, JsonRead *read, Arena *arena, void *ret) {
    Str text = buf_error(json) ? STR_NULL : arena_copy(arena, buf_str(json));
    JsonReader reader;

    if (!text.ptr)
        return -ENOMEM;
    json_reader_init(&reader, text);
    read(&reader, arena, ret);
    if (json_error(&reader) == JSON_OK)
        return 0;
    return complain(
        run, at, reader.error_text, json_error(&reader) == JSON_E_MEMORY ? -ENOMEM : -EINVAL);
}

static int add_node(SuiteRun *run, const YamlPair *pair, Store *store) {
    _cleanup_(buf_done) Buf json = BUF_INIT(OBJECT_TEXT_MAX);
    Node node;
    int r;

    if (!short_node_json(&run->reader, pair, &json))
        return SUITE_E_INVALID;
    arena_reset(run->scratch);
    r = decode(run, pair->key, &json, node_decode, run->scratch, &node);
    if (r == 0 && store_find_node(store, node.name))
        return complain(run, pair->key, "the cluster has a node of this name already", -EINVAL);
    return r == 0 ? error_fold(store_apply_node(store, &node)) : r;
}

static int read_short_pod(SuiteRun *run, const YamlNode *value, Arena *arena, Pod *ret) {
    _cleanup_(buf_done) Buf json = BUF_INIT(OBJECT_TEXT_MAX);
    int r;

    if (!short_pod_json(&run->reader, value, &json))
        return SUITE_E_INVALID;
    r = decode(run, value, &json, pod_decode, arena, ret);
    if (r == 0 && str_is_empty(ret->namespace))
        ret->namespace = STR("default");
    return r;
}

/* Names a pod that has no name: the store finds pods by name. */
static int add_pod(SuiteRun *run, const YamlNode *value, size_t number, Store *store) {
    Pod pod;
    int r;

    arena_reset(run->scratch);
    r = read_short_pod(run, value, run->scratch, &pod);
    if (r != 0)
        return r;
    if (str_is_empty(pod.name))
        pod.name = arena_printf(run->scratch, "pod-%zu", number);
    if (!str_is_empty(pod.node_name) && !store_find_node(store, pod.node_name))
        return complain(run, yaml_find(value, STR("on")), "the cluster has no such node", -EINVAL);
    if (store_find_pod(store, pod.namespace, pod.name))
        return complain(run, value, "the cluster has a pod of this name already", -EINVAL);
    r = store_apply_pod(store, &pod);
    return r == STORE_BOUND ? 0 : error_fold(r);
}

int suite_cluster_build(SuiteRun *run, const SuiteScene *scene, SuiteCluster *ret) {
    size_t n_errors = run->reader.diags->n_errors;
    int r;

    suite_cluster_done(ret);
    ret->store = store_new();
    r = ret->store ? 0 : -ENOMEM;
    if (r == 0 && scene->cluster)
        r = add_files(run, scene->cluster, ret->store);
    if (r == 0 && scene->objects)
        r = add_objects(run, scene->objects, ret->store);
    if (r == 0 && ((scene->nodes && !reader_mapping(&run->reader, scene->nodes, "nodes")) ||
                      (scene->pods && !reader_sequence(&run->reader, scene->pods, "pods"))))
        r = SUITE_E_INVALID;
    if (r != 0)
        return r;
    for (size_t i = 0; scene->nodes && r >= 0 && i < scene->nodes->n; i++)
        r = add_node(run, &scene->nodes->pairs[i], ret->store);
    for (size_t i = 0; scene->pods && r >= 0 && i < scene->pods->n; i++)
        r = add_pod(run, scene->pods->items[i], i, ret->store);
    if (r < 0 || run->reader.diags->n_errors > n_errors)
        return r < 0 ? r : SUITE_E_INVALID;
    return store_publish(ret->store, &ret->snapshot);
}

void suite_cluster_done(SuiteCluster *cluster) {
    cluster->snapshot = snapshot_unref(cluster->snapshot);
    cluster->store = store_free(cluster->store);
}

/* Finds the pod NAMESPACE/NAME in the cluster. */
static int find_pod(SuiteRun *run, const YamlNode *value, const SuiteCluster *cluster, Pod *ret) {
    Str rest = value->text, namespace;
    const Pod *pod = NULL;

    if (str_split(&rest, '/', &namespace))
        pod = store_find_pod(cluster->store, namespace, rest);
    if (!pod) {
        reader_error_hint(&run->reader, value,
            STR("a pod is NAMESPACE/NAME of the cluster, {file: FILE}, or an object"),
            "the cluster has no pod \"%.*s\"", STR_FMT(value->text));
        return SUITE_E_INVALID;
    }
    *ret = *pod;
    return 0;
}

typedef struct PodFile {
    Str file, name;
} PodFile;

static const Field pod_file_fields[] = {
    {REQUIRED("file"), INTO(PodFile, file, shape_string)},
    {OPTIONAL("name"), INTO(PodFile, name, shape_string)},
};
static const Shape pod_file_shape = {SHAPE_OF(pod_file_fields)};

/* Loads the pod @name, or the only one, of the file at @path or of @document in it. */
static int load_pod(SuiteRun *run, const YamlNode *at, const char *path, const YamlNode *document,
    Str name, Arena *arena, Pod *ret) {
    char error[OBJECTS_ERROR_MAX] = "";
    const WorkloadPod *found;
    WorkloadList list;
    int r = path ? workloads_load(path, document, arena, &list, error) : -ENOMEM;

    if (r < 0)
        return complain(run, at, error, r);
    found = &list.items[0];
    if (name.len > 0)
        found = workloads_find(&list, name.ptr, error);
    else if (list.n > 1)
        return complain(
            run, at, "the file has several pods; choose one: {file: FILE, name: NAME}", -EINVAL);
    if (!found)
        return complain(run, at, error, -EINVAL);
    *ret = found->pod;
    return 0;
}

int suite_pod(
    SuiteRun *run, const SuiteScene *scene, const SuiteCluster *cluster, Arena *arena, Pod *ret) {
    const YamlNode *value = scene->pod;
    PodFile file = {0};

    *ret = (Pod){.namespace = STR("default")};
    if (!value)
        return 0;
    if (value->kind == YAML_STRING)
        return find_pod(run, value, cluster, ret);
    if (yaml_find(value, STR("file")))
        return reader_fields(&run->reader, value, "a pod in a file", &pod_file_shape, &file)
                   ? load_pod(run, value, suite_path(run, file.file).ptr, /* document= */ NULL,
                         file.name, arena, ret)
                   : SUITE_E_INVALID;
    if (yaml_find(value, STR("kind"))) /* a whole object: a Pod, a Deployment */
        return load_pod(run, value, run->path, value, STR_NULL, arena, ret);
    return read_short_pod(run, value, arena, ret);
}

int suite_now(SuiteRun *run, const SuiteScene *scene, int64_t *ret_nsec) {
    int64_t sec = SUITE_NOW;

    if (scene->now && (scene->now->kind != YAML_STRING || !time_parse(scene->now->text, &sec))) {
        reader_wrong_kind(
            &run->reader, scene->now, "now", "a time like 2026-01-31T20:00:00Z", STR_NULL);
        return SUITE_E_INVALID;
    }
    *ret_nsec = sec * NSEC_PER_SEC;
    return 0;
}

static int load_metrics(SuiteRun *run, const SuiteScene *scene, const SuiteCluster *cluster,
    int64_t now_nsec, Measurements **ret) {
    Str path = suite_path(run, scene->metrics->text);
    int r;

    if (scene->workloads || scene->age)
        return complain(run, scene->workloads ? scene->workloads : scene->age,
            "the file of metrics has it", -EINVAL);
    if (!path.ptr)
        return -ENOMEM;
    r = measurements_load(path.ptr, run->program, cluster->snapshot, now_nsec, SUITE_UPTIME_NSEC,
        run->reader.diags, ret);
    return r > 0 ? SUITE_E_INVALID : r;
}

int suite_measure(SuiteRun *run, const SuiteScene *scene, const SuiteCluster *cluster,
    int64_t now_nsec, Measurements **ret) {
    const MetricValues values = {
        .metrics = scene->metrics, .workloads = scene->workloads, .age = scene->age};
    size_t n_errors = run->reader.diags->n_errors;
    int r;

    if (scene->metrics && scene->metrics->kind == YAML_STRING)
        return load_metrics(run, scene, cluster, now_nsec, ret);
    if ((scene->metrics && !reader_mapping(&run->reader, scene->metrics, "metrics")) ||
        (scene->workloads && !reader_mapping(&run->reader, scene->workloads, "workloads")))
        return SUITE_E_INVALID;
    r = metric_values_read(&run->reader, &values, run->program, snapshot_table(cluster->snapshot),
        now_nsec, SUITE_UPTIME_NSEC, ret);
    return r == 0 && run->reader.diags->n_errors > n_errors ? SUITE_E_INVALID : r;
}
