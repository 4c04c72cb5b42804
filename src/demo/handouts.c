#include "demo/handouts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "demo/panel.h"

/* How old the files may be. */
#define FILES_NSEC (5 * NSEC_PER_SEC)

#define METRICS_MAX ((size_t)64 * 1024 * 1024)

/* --- the pod ----------------------------------------------------------------------------- */

static void keep_pod(Handouts *handouts, const WorldPod *pod, const char *uid) {
    JsonWriter writer = JSON_WRITER(&handouts->pod);

    buf_reset(&handouts->pod);
    world_pod_write(pod, /* node= */ STR_NULL, /* is_typed= */ true, &writer);
    buf_append_char(&handouts->pod, '\n');
    (void)snprintf(handouts->uid, sizeof(handouts->uid), "%s", uid);
}

static int keep_sample(Handouts *handouts, World *world) {
    const WorldPod *pod = world_sample_pod(world, "ws");

    if (!pod)
        return -ENOMEM;
    keep_pod(handouts, pod, "");
    return 0;
}

/* --- files ------------------------------------------------------------------------------- */

static int write_cluster(Handouts *handouts, World *world, char *error) {
    _cleanup_(buf_done) Buf cluster = BUF_INIT(WORLD_DUMP_MAX);
    int r;

    world_write(world, &cluster);
    if (buf_error(&cluster) < 0 || buf_error(&handouts->pod) < 0)
        return -ENOMEM;
    r = folder_write(&handouts->folder, "cluster.json", buf_str(&cluster), error);
    if (r == 0)
        r = folder_write(&handouts->folder, "pod.json", buf_str(&handouts->pod), error);
    handouts->written_at_nsec = clock_monotonic_nsec();
    return r;
}

bool handouts_have_metrics(const Program *rules) {
    for (size_t i = 0; i < rules->n_gauges; i++)
        if (rules->gauges[i].source != GAUGE_ANNOTATION)
            return true;
    return false;
}

static int write_metrics(Handouts *handouts, const View *view, char *error) {
    _cleanup_(buf_done) Buf metrics = BUF_INIT(METRICS_MAX);

    if (!handouts_have_metrics(view->program))
        return 0;
    panel_write(view, clock_wall_nsec(), &metrics);
    if (buf_error(&metrics) < 0)
        return -ENOMEM;
    return folder_write(&handouts->folder, "metrics.json", buf_str(&metrics), error);
}

int handouts_write(Handouts *handouts, World *world, const View *view, char *error) {
    int r = write_cluster(handouts, world, error);

    return r < 0 ? r : write_metrics(handouts, view, error);
}

int handouts_open(Handouts *handouts, World *world, const char *policy, char *error) {
    const char *path = handouts->folder.path;
    int r = folder_open(&handouts->folder, error);

    if (r < 0)
        return r;
    (void)snprintf(handouts->cluster_path, HANDOUT_PATH_MAX, "%s/cluster.json", path);
    (void)snprintf(handouts->pod_path, HANDOUT_PATH_MAX, "%s/pod.json", path);
    (void)snprintf(handouts->metrics_path, HANDOUT_PATH_MAX, "%s/metrics.json", path);
    (void)snprintf(handouts->policy_path, HANDOUT_PATH_MAX, "%s/policy.yaml", path);
    if (policy)
        r = folder_write(&handouts->folder, "policy.yaml", str_from_c(policy), error);
    if (r == 0)
        r = keep_sample(handouts, world);
    if (r == 0)
        r = write_cluster(handouts, world, error);
    return r;
}

int handouts_refresh(
    Handouts *handouts, World *world, const View *view, const Placement *placement, char *error) {
    if (!str_is_empty(placement->node)) /* if it is that pod: it found one after all */
        return strcmp(handouts->uid, placement->pod->uid) == 0 ? keep_sample(handouts, world) : 0;
    keep_pod(handouts, placement->pod, placement->pod->uid);
    if (clock_monotonic_nsec() - handouts->written_at_nsec < FILES_NSEC)
        return 0;
    return handouts_write(handouts, world, view, error);
}

void handouts_done(Handouts *handouts) {
    folder_done(&handouts->folder);
    buf_done(&handouts->pod);
}
