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

static void keep_pod(DemoFiles *files, const DemoPod *pod, const char *uid) {
    buf_reset(&files->pod);
    demo_pod_write(pod, /* is_typed= */ true, &files->pod);
    buf_append_char(&files->pod, '\n');
    (void)snprintf(files->uid, sizeof(files->uid), "%s", uid);
}

static int keep_sample(DemoFiles *files) {
    const DemoPod *pod = demo_cluster_sample_pod(files->env->cluster, "ws");

    if (pod)
        keep_pod(files, pod, "");
    return pod ? 0 : -ENOMEM;
}

static void write_value(JsonWriter *writer, Str key, double value) {
    if (isnan(value))
        return;
    json_write_key(writer, key);
    json_write_double(writer, value);
}

/* Annotations are in the file of the cluster. @workloads NULL: of nodes. */
static void write_section(
    JsonWriter *writer, const View *view, const char *name, const DemoWorkloads *workloads) {
    const Program *rules = view->program;

    json_member_object(writer, name);
    for (size_t i = 0; i < rules->n_gauges; i++) {
        size_t first = 0; /* of this name */

        while (!str_eq(rules->gauges[first].name, rules->gauges[i].name))
            first++;
        if (rules->gauges[i].source == GAUGE_ANNOTATION || first < i ||
            (workloads && !rules->gauges[i].is_of_pods))
            continue;
        json_write_key(writer, rules->gauges[i].name);
        json_write_object(writer);
        for (uint32_t row = 0; !workloads && row < view->table->n_rows; row++)
            write_value(writer, view->table->names->names[row],
                loads_value(view->table->loads, i, LOAD_MEASURED, row));
        for (size_t k = 0; workloads && k < workloads->n; k++) {
            const Workload *workload = &workloads->items[k];
            char key[KEY_MAX];

            (void)snprintf(key, sizeof(key), "%.*s/%.*s/%.*s", STR_FMT(workload->namespace),
                STR_FMT(workload->owner_kind), STR_FMT(workload->name));
            write_value(
                writer, str_from_c(key), loads_workload(view->table->loads, i, str_from_c(key)));
        }
        json_write_end_object(writer);
    }
    json_write_end_object(writer);
}

void demo_files_print_metrics(
    const View *view, const DemoWorkloads *workloads, int64_t now_nsec, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);
    int64_t oldest_nsec = now_nsec;

    for (size_t i = 0; i < view->program->n_gauges; i++) {
        LoadsFigures figures;

        if (view->program->gauges[i].source == GAUGE_ANNOTATION)
            continue;
        loads_figures(&view->loads, view->table, i, &figures);
        if (figures.oldest_nsec > 0 && figures.oldest_nsec < oldest_nsec)
            oldest_nsec = figures.oldest_nsec;
    }
    json_write(&writer, "{");
    write_section(&writer, view, "metrics", /* workloads= */ NULL);
    write_section(&writer, view, "workloads", workloads);
    json_write(&writer, "age: '%jds'}\n", (now_nsec - oldest_nsec) / NSEC_PER_SEC);
}

static int write_file(const DemoFiles *files, const char *name, const Buf *text, char *error) {
    if (buf_error(text) < 0)
        return -ENOMEM;
    return demo_folder_write(&files->env->folder, name, buf_str(text), error);
}

bool demo_files_have_metrics(const Program *rules) {
    for (size_t i = 0; i < rules->n_gauges; i++)
        if (rules->gauges[i].source != GAUGE_ANNOTATION)
            return true;
    return false;
}

int demo_files_write(DemoFiles *files, const View *view, char *error) {
    _cleanup_(buf_done) Buf cluster = BUF_INIT(DEMO_DUMP_MAX), metrics = BUF_INIT(METRICS_MAX);
    int r = files->pod.len == 0 ? keep_sample(files) : 0;

    demo_cluster_write(files->env->cluster, &cluster);
    demo_files_print_metrics(
        view, demo_cluster_workloads(files->env->cluster), clock_wall_nsec(), &metrics);
    if (r == 0)
        r = write_file(files, "cluster.json", &cluster, error);
    if (r == 0)
        r = write_file(files, "pod.json", &files->pod, error);
    if (r == 0 && demo_files_have_metrics(view->program))
        r = write_file(files, "metrics.json", &metrics, error);
    files->written_at_nsec = clock_monotonic_nsec();
    return r;
}

int demo_files_refresh(
    DemoFiles *files, const View *view, const Placement *placement, char *error) {
    if (!str_is_empty(placement->node)) /* the pod in the file was placed */
        return strcmp(files->uid, placement->pod->uid) == 0 ? keep_sample(files) : 0;
    keep_pod(files, placement->pod, placement->pod->uid);
    if (clock_monotonic_nsec() - files->written_at_nsec < FILES_NSEC)
        return 0;
    return demo_files_write(files, view, error);
}
