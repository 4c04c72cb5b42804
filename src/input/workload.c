/* Reads objects with pod templates, and writes the pods that their controllers create. */

#include "input/workload.h"

#include <errno.h>
#include <stdio.h>

#include "json/write.h"

#define POD_TEXT_MAX ((size_t)16 * 1024 * 1024)

struct WorkloadKind {
    const char *kind;
    const char *template;              /* its path in the object */
    const char *owner_version, *owner; /* of the pods; NULL: they have none */
};

/* A Pod is its own template. */
static const WorkloadKind kinds[] = {
    {"Pod", "", NULL, NULL},
    {"Deployment", "spec.template", "apps/v1", "ReplicaSet"},
    {"ReplicaSet", "spec.template", "apps/v1", "ReplicaSet"},
    {"ReplicationController", "spec.template", "v1", "ReplicationController"},
    {"StatefulSet", "spec.template", "apps/v1", "StatefulSet"},
    {"DaemonSet", "spec.template", "apps/v1", "DaemonSet"},
    {"Job", "spec.template", "batch/v1", "Job"},
    {"CronJob", "spec.jobTemplate.spec.template", "batch/v1", "Job"},
    {"PodTemplate", "template", NULL, NULL},
};

static bool is_kind(const WorkloadObject *workload, const char *kind) {
    return str_is(workload->kind, kind);
}

/* The fields of all kinds together. */
typedef struct WorkloadFields {
    Str namespace, name, template;
    int64_t replicas;                 /* of all but Jobs */
    int64_t parallelism, completions; /* of Jobs */
    bool is_suspended;
} WorkloadFields;

/* The number of pods that exist at a time. */
static int64_t count_pods(const WorkloadObject *workload, const WorkloadFields *fields) {
    int64_t n = 1;

    if (is_kind(workload, "Job") || is_kind(workload, "CronJob"))
        n = fields->is_suspended                        ? 0
            : fields->parallelism < fields->completions ? fields->parallelism
                                                        : fields->completions;
    else if (!workload->is_per_node && !is_kind(workload, "PodTemplate"))
        n = fields->replicas;
    return n > 0 ? n : 0;
}

static int read_controller(const Object *object, Arena *arena, WorkloadObject *ret) {
    bool is_cron = is_kind(ret, "CronJob");
    const JsonField table[] = {
        JSON_MEMBER("metadata.namespace", TEXT, WorkloadFields, namespace),
        JSON_MEMBER("metadata.name", TEXT, WorkloadFields, name),
        {ret->type->template, JSON_FIELD_RAW, offsetof(WorkloadFields, template), NULL},
        JSON_MEMBER("spec.replicas", INT, WorkloadFields, replicas),
        {is_cron ? "spec.jobTemplate.spec.parallelism" : "spec.parallelism", JSON_FIELD_INT,
            offsetof(WorkloadFields, parallelism), NULL},
        {is_cron ? "spec.jobTemplate.spec.completions" : "spec.completions", JSON_FIELD_INT,
            offsetof(WorkloadFields, completions), NULL},
        JSON_MEMBER("spec.suspend", BOOL, WorkloadFields, is_suspended),
    };
    WorkloadFields fields = {.replicas = 1, .parallelism = 1, .completions = INT64_MAX};
    JsonReader reader;
    Pod pod;

    json_reader_init(&reader, object->json);
    JSON_READ_FIELDS(&reader, arena, table, &fields);
    if (json_error(&reader) != JSON_OK)
        return object_failed(object, &reader);
    ret->namespace = fields.namespace;
    ret->name = fields.name;
    ret->template = fields.template;
    ret->is_per_node = is_kind(ret, "DaemonSet");
    ret->has_numbered_names = is_kind(ret, "StatefulSet");
    ret->n_pods = count_pods(ret, &fields);
    if (str_is_empty(fields.template))
        return object_wrong(object, object->json, "%s \"%.*s\" has no pod template: it goes to %s",
            ret->type->kind, STR_FMT(fields.name), ret->type->template);
    /* decodes the template only to report errors with their place in the file */
    return object_decode(object, fields.template, pod_decode, arena, &pod);
}

int workload_read(const Object *object, Arena *arena, WorkloadObject *ret) {
    const WorkloadKind *type = NULL;
    Pod pod;
    int r;

    for (size_t i = 0; i < ELEMENTS_OF(kinds) && !type; i++)
        type = str_is(object->kind, kinds[i].kind) ? &kinds[i] : NULL;
    if (!type)
        return WORKLOAD_E_OTHER;
    *ret = (WorkloadObject){.type = type, .kind = str_from_c(type->kind)};
    if (is_kind(ret, "Pod")) {
        r = object_decode(object, object->json, pod_decode, arena, &pod);
        ret->namespace = pod.namespace;
        ret->name = pod.name;
        ret->template = object->json;
        ret->n_pods = 1;
    } else {
        r = read_controller(object, arena, ret);
    }
    if (str_is_empty(ret->namespace))
        ret->namespace = STR("default");
    return r;
}

/* Copies the members of the object @raw, except the @n keys @without, into the open object. */
static void copy_members(JsonWriter *writer, Str raw, const char *const *without, size_t n) {
    JsonReader reader;
    Str key, value;

    json_reader_init(&reader, str_is_empty(raw) ? STR("{}") : raw);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        bool is_left_out = false;

        for (size_t i = 0; i < n; i++)
            is_left_out |= json_key_is(&reader, key, str_from_c(without[i]));
        json_skip(&reader, &value);
        if (is_left_out || json_error(&reader) != JSON_OK)
            continue;
        json_write_raw_key(writer, key);
        json_write_raw(writer, value);
    }
}

/* The member @name of the object @raw; empty: it has none. */
static Str find_member(Str raw, const char *name) {
    JsonReader reader;
    Str key, value, found = STR_NULL;

    json_reader_init(&reader, str_is_empty(raw) ? STR("{}") : raw);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        bool is_it = json_key_is(&reader, key, str_from_c(name));

        json_skip(&reader, &value);
        if (is_it && !str_is(value, "null"))
            found = value;
    }
    return found;
}

/* Writes @labels and the labels that controllers add, if their values can be known. */
static void write_labels(
    const WorkloadObject *workload, int64_t number, Str labels, JsonWriter *writer) {
    json_member_object(writer, "labels");
    copy_members(writer, labels, NULL, 0);
    if (workload->has_numbered_names)
        json_write(writer,
            "statefulset.kubernetes.io/pod-name: '%.*s-%jd', apps.kubernetes.io/pod-index: '%jd'",
            STR_FMT(workload->name), number, number);
    else if (workload->type->owner && str_is(STR("Job"), workload->type->owner))
        json_write(writer, "batch.kubernetes.io/job-name: %.*s, job-name: %.*s",
            STR_FMT(workload->name), STR_FMT(workload->name));
    json_write_end_object(writer);
}

static void write_metadata(const WorkloadObject *workload, int64_t number, JsonWriter *writer) {
    static const char *const own[] = {
        "name", "generateName", "namespace", "labels", "ownerReferences"};
    Str metadata = find_member(workload->template, "metadata");

    json_write(writer, "metadata: {name: ");
    if (workload->has_numbered_names)
        json_write(writer, "'%.*s-%jd'", STR_FMT(workload->name), number);
    else
        json_write_string(writer, workload->name);
    json_write_member(writer, STR("namespace"), workload->namespace);
    copy_members(writer, metadata, own, ELEMENTS_OF(own));
    write_labels(workload, number, find_member(metadata, "labels"), writer);
    if (workload->type->owner)
        json_write(writer,
            "ownerReferences: [{apiVersion: %s, kind: %s, name: %.*s, controller: true}]",
            workload->type->owner_version, workload->type->owner, STR_FMT(workload->name));
    json_write_end_object(writer);
}

/* Writes the spec's tolerations and those that the DaemonSet controller adds, so that its pods run
 * on nodes with problems, too. */
static void write_daemon_tolerations(Str spec, JsonWriter *writer) {
    static const char *const added[][2] = {
        {"node.kubernetes.io/not-ready", "NoExecute"},
        {"node.kubernetes.io/unreachable", "NoExecute"},
        {"node.kubernetes.io/disk-pressure", "NoSchedule"},
        {"node.kubernetes.io/memory-pressure", "NoSchedule"},
        {"node.kubernetes.io/pid-pressure", "NoSchedule"},
        {"node.kubernetes.io/unschedulable", "NoSchedule"},
        {"node.kubernetes.io/network-unavailable", "NoSchedule"}, /* with hostNetwork */
    };
    bool has_host_network = str_is(find_member(spec, "hostNetwork"), "true");
    Str own = find_member(spec, "tolerations"), item;
    JsonReader reader;

    json_member_array(writer, "tolerations");
    json_reader_init(&reader, str_is_empty(own) ? STR("[]") : own);
    json_array(&reader);
    while (json_element(&reader)) {
        json_skip(&reader, &item);
        json_write_raw(writer, item);
    }
    for (size_t i = 0; i < ELEMENTS_OF(added) - !has_host_network; i++)
        json_write(writer, "{key: %s, operator: 'Exists', effect: %s}", added[i][0], added[i][1]);
    json_write_end_array(writer);
}

/* Writes metadata.name In [NODE] in place of the template's required terms: the controller checks
 * those before it creates the pod. */
static void write_daemon_affinity(Str spec, Str node, JsonWriter *writer) {
    static const char *const required = "requiredDuringSchedulingIgnoredDuringExecution";
    static const char *const own[] = {"nodeAffinity"};
    Str affinity = find_member(spec, "affinity");

    json_member_object(writer, "affinity");
    copy_members(writer, affinity, own, ELEMENTS_OF(own));
    json_member_object(writer, "nodeAffinity");
    copy_members(writer, find_member(affinity, "nodeAffinity"), &required, 1);
    json_write(writer,
        "%s: {nodeSelectorTerms: [{matchFields: "
        "[{key: 'metadata.name', operator: 'In', values: [%.*s]}]}]}}}",
        required, STR_FMT(node));
}

static void write_spec(const WorkloadObject *workload, Str node, JsonWriter *writer) {
    static const char *const own[] = {"tolerations", "affinity"};
    Str spec = find_member(workload->template, "spec");
    size_t n_own = !workload->is_per_node ? 0 : str_is_empty(node) ? 1 : 2;

    json_member_object(writer, "spec");
    copy_members(writer, spec, own, n_own);
    if (n_own > 0)
        write_daemon_tolerations(spec, writer);
    if (n_own > 1)
        write_daemon_affinity(spec, node, writer);
    json_write_end_object(writer);
}

void workload_write_pod(const WorkloadObject *workload, int64_t number, Str node, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    if (is_kind(workload, "Pod")) {
        buf_append(out, workload->template);
        return;
    }
    json_write(&writer, "{apiVersion: 'v1', kind: 'Pod'");
    write_metadata(workload, number, &writer);
    write_spec(workload, node, &writer);
    json_write_end_object(&writer);
}

typedef struct Loading {
    Arena *arena, *scratch;
    VEC(WorkloadPod) pods;
    size_t n_others;
} Loading;

/* Adds a workload and its first pod, whose strings point into a copy of its text. */
static int add(Loading *loading, const Object *object, const WorkloadObject *workload) {
    _cleanup_(buf_done) Buf text = BUF_INIT(POD_TEXT_MAX);
    WorkloadPod *added;
    JsonReader reader;
    Str kept;

    if (loading->pods.n == WORKLOAD_FILE_PODS_MAX)
        return object_wrong(
            object, object->json, "more than %u pods and pod templates", WORKLOAD_FILE_PODS_MAX);
    added = VEC_PUSH(&loading->pods, loading->arena);
    workload_write_pod(workload, 0, STR_NULL, &text);
    kept = arena_copy(loading->arena, buf_str(&text));
    if (buf_error(&text) || !kept.ptr || !added)
        return -ENOMEM;
    json_reader_init(&reader, kept);
    pod_decode(&reader, loading->arena, &added->pod);
    if (json_error(&reader) != JSON_OK)
        return -ENOMEM; /* the template was read before: only memory can be missing */
    added->workload = *workload;
    added->workload.template = STR_NULL;
    added->workload.namespace = arena_copy(loading->arena, workload->namespace);
    added->workload.name = arena_copy(loading->arena, workload->name);
    added->pod.namespace = added->workload.namespace;
    return arena_has_failed(loading->arena) ? -ENOMEM : 0;
}

static int visit(void *context, const Object *object) {
    Loading *loading = context;
    WorkloadObject workload;
    int r;

    arena_reset(loading->scratch);
    r = workload_read(object, loading->scratch, &workload);
    loading->n_others += r == WORKLOAD_E_OTHER;
    return r == WORKLOAD_E_OTHER ? 0 : r < 0 ? r : add(loading, object, &workload);
}

int workloads_load(
    const char *path, const YamlNode *document, Arena *arena, WorkloadList *ret, char *error) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(POD_TEXT_MAX * 4);
    Loading loading = {.arena = arena, .scratch = scratch};
    int r = scratch ? objects_each(path, document, visit, &loading, error) : -ENOMEM;

    if (r < 0)
        return r;
    if (loading.pods.n == 0) {
        (void)snprintf(error, OBJECTS_ERROR_MAX,
            "%s: contains no Pod, and no Deployment, StatefulSet, Job or other object with a pod "
            "template",
            path);
        return -EINVAL;
    }
    *ret = (WorkloadList){
        .items = loading.pods.items, .n = loading.pods.n, .n_others = loading.n_others};
    return 0;
}

/* Whether @name means the workload: "web", "Deployment/web" or "shop/web". */
static bool is_named(const WorkloadObject *workload, Str name) {
    size_t slash = str_find(name, '/');
    Str first = str_take(name, slash);

    if (slash == SIZE_MAX)
        return str_eq(workload->name, name);
    return str_eq(workload->name, str_skip(name, slash + 1)) &&
           (str_eq_nocase(workload->kind, first) || str_eq(workload->namespace, first));
}

const WorkloadPod *workloads_find(
    const WorkloadList *list, const char *name, char error[static WORKLOAD_NAME_ERROR_MAX]) {
    const WorkloadPod *found = NULL;

    for (size_t i = 0; i < list->n; i++) {
        const WorkloadObject *workload = &list->items[i].workload;

        if (!is_named(workload, str_from_c(name)))
            continue;
        if (found) {
            (void)snprintf(error, WORKLOAD_NAME_ERROR_MAX,
                "\"%s\" is ambiguous: there are %.*s/%.*s and %.*s/%.*s", name,
                STR_FMT(found->workload.kind), STR_FMT(str_take(found->workload.name, 128)),
                STR_FMT(workload->kind), STR_FMT(str_take(workload->name, 128)));
            return NULL;
        }
        found = &list->items[i];
    }
    if (!found)
        (void)snprintf(error, WORKLOAD_NAME_ERROR_MAX,
            "the file has no \"%s\"; without a name, all of them are listed", name);
    return found;
}
