/* Cluster, pod and metrics as files for the suggested commands. */

#include "demo/demo-files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "demo/panel.h"

/* Maximum age of the files. */
#define FILES_NSEC (5 * NSEC_PER_SEC)

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
    panel_write(view, clock_wall_nsec(), &metrics);
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
