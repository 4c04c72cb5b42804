/* Cluster, pod and metrics as files for the suggested commands. */

#include "demo/demo-files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "json/write.h"

/* Maximum age of the files. */
#define FILES_NSEC (5 * NSEC_PER_SEC)

#define KEY_MAX 256u
#define METRICS_MAX ((size_t)64 * 1024 * 1024)

/* --- the pod ----------------------------------------------------------------------------- */

static void keep_pod(DemoFiles *files, const DemoPod *pod, const char *uid) {
    buf_reset(&files->pod);
    demo_pod_write(pod, /* node= */ STR_NULL, /* is_typed= */ true, &files->pod);
    buf_append_char(&files->pod, '\n');
    (void)snprintf(files->uid, sizeof(files->uid), "%s", uid);
}

static int keep_sample(DemoFiles *files, DemoCluster *cluster) {
    const DemoPod *pod = demo_cluster_sample_pod(cluster, "ws");

    if (!pod)
        return -ENOMEM;
    keep_pod(files, pod, "");
    return 0;
}

/* --- metrics ----------------------------------------------------------------------------- */

static bool is_first_of_name(const Program *rules, size_t gauge) {
    for (size_t i = 0; i < gauge; i++)
        if (str_eq(rules->gauges[i].name, rules->gauges[gauge].name))
            return false;
    return true;
}

static void write_value(JsonWriter *writer, Str key, double value) {
    if (isnan(value))
        return;
    json_write_key(writer, key);
    json_write_double(writer, value);
}

static void write_nodes(JsonWriter *writer, const View *view, size_t gauge) {
    for (uint32_t row = 0; row < view->table->n_rows; row++)
        write_value(writer, view->table->names->names[row],
            loads_value(view->table->loads, gauge, LOAD_MEASURED, row));
}

static void write_workloads(JsonWriter *writer, const View *view, size_t gauge) {
    for (size_t i = 0; i < n_workloads; i++) {
        char key[KEY_MAX];

        (void)snprintf(key, sizeof(key), "%s/%s/%s", workloads[i].namespace,
            workloads[i].owner_kind, workloads[i].name);
        write_value(
            writer, str_from_c(key), loads_workload(view->table->loads, gauge, str_from_c(key)));
    }
}

/* Annotations are in the file of the cluster. */
static void write_section(JsonWriter *writer, const View *view, bool is_of_workloads) {
    const Program *rules = view->program;

    json_member_object(writer, is_of_workloads ? "workloads" : "metrics");
    for (size_t i = 0; i < rules->n_gauges; i++) {
        if (rules->gauges[i].source == GAUGE_ANNOTATION || !is_first_of_name(rules, i) ||
            (is_of_workloads && !rules->gauges[i].is_of_pods))
            continue;
        json_write_key(writer, rules->gauges[i].name);
        json_write_object(writer);
        (is_of_workloads ? write_workloads : write_nodes)(writer, view, i);
        json_write_end_object(writer);
    }
    json_write_end_object(writer);
}

static int64_t age_sec(const View *view, int64_t now_nsec) {
    int64_t oldest_nsec = now_nsec;

    for (size_t i = 0; i < view->program->n_gauges; i++) {
        LoadsFigures figures;

        if (view->program->gauges[i].source == GAUGE_ANNOTATION)
            continue;
        loads_figures(&view->loads, view->table, i, &figures);
        if (figures.oldest_nsec > 0 && figures.oldest_nsec < oldest_nsec)
            oldest_nsec = figures.oldest_nsec;
    }
    return (now_nsec - oldest_nsec) / NSEC_PER_SEC;
}

void demo_files_print_metrics(const View *view, int64_t now_nsec, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);
    char age[32];

    (void)snprintf(age, sizeof(age), "%llds", (long long)age_sec(view, now_nsec));
    json_write_object(&writer);
    write_section(&writer, view, /* is_of_workloads= */ false);
    write_section(&writer, view, /* is_of_workloads= */ true);
    json_write_member(&writer, STR("age"), str_from_c(age));
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}

/* --- files ------------------------------------------------------------------------------- */

static int write_cluster(DemoFiles *files, DemoCluster *cluster, char *error) {
    _cleanup_(buf_done) Buf json = BUF_INIT(DEMO_DUMP_MAX);
    int r;

    demo_cluster_write(cluster, &json);
    if (buf_error(&json) < 0 || buf_error(&files->pod) < 0)
        return -ENOMEM;
    r = demo_folder_write(&files->folder, "cluster.json", buf_str(&json), error);
    if (r == 0)
        r = demo_folder_write(&files->folder, "pod.json", buf_str(&files->pod), error);
    files->written_at_nsec = clock_monotonic_nsec();
    return r;
}

bool demo_files_have_metrics(const Program *rules) {
    for (size_t i = 0; i < rules->n_gauges; i++)
        if (rules->gauges[i].source != GAUGE_ANNOTATION)
            return true;
    return false;
}

static int write_metrics(DemoFiles *files, const View *view, char *error) {
    _cleanup_(buf_done) Buf metrics = BUF_INIT(METRICS_MAX);

    if (!demo_files_have_metrics(view->program))
        return 0;
    demo_files_print_metrics(view, clock_wall_nsec(), &metrics);
    if (buf_error(&metrics) < 0)
        return -ENOMEM;
    return demo_folder_write(&files->folder, "metrics.json", buf_str(&metrics), error);
}

int demo_files_write(DemoFiles *files, DemoCluster *cluster, const View *view, char *error) {
    int r = write_cluster(files, cluster, error);

    return r < 0 ? r : write_metrics(files, view, error);
}

int demo_files_open(DemoFiles *files, DemoCluster *cluster, const char *policy, char *error) {
    const char *path = files->folder.path;
    int r = demo_folder_open(&files->folder, error);

    if (r < 0)
        return r;
    (void)snprintf(files->cluster_path, DEMO_FILES_PATH_MAX, "%s/cluster.json", path);
    (void)snprintf(files->pod_path, DEMO_FILES_PATH_MAX, "%s/pod.json", path);
    (void)snprintf(files->metrics_path, DEMO_FILES_PATH_MAX, "%s/metrics.json", path);
    (void)snprintf(files->policy_path, DEMO_FILES_PATH_MAX, "%s/policy.yaml", path);
    if (policy)
        r = demo_folder_write(&files->folder, "policy.yaml", str_from_c(policy), error);
    if (r == 0)
        r = keep_sample(files, cluster);
    if (r == 0)
        r = write_cluster(files, cluster, error);
    return r;
}

int demo_files_refresh(DemoFiles *files, DemoCluster *cluster, const View *view,
    const Placement *placement, char *error) {
    if (!str_is_empty(placement->node)) /* the pod in the file was placed */
        return strcmp(files->uid, placement->pod->uid) == 0 ? keep_sample(files, cluster) : 0;
    keep_pod(files, placement->pod, placement->pod->uid);
    if (clock_monotonic_nsec() - files->written_at_nsec < FILES_NSEC)
        return 0;
    return demo_files_write(files, cluster, view, error);
}

void demo_files_done(DemoFiles *files) {
    demo_folder_done(&files->folder);
    buf_done(&files->pod);
}
