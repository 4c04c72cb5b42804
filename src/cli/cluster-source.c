/* Loads the cluster of a command from a file or an API server. */

#include "cli/cluster-source.h"

#include "base/diag.h"
#include "base/nsec.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "input/measurements.h"
#include "input/objects.h"
#include "input/sources.h"
#include "kube/fetch.h"

#define DIAGS_BUDGET ((size_t)16 * 1024 * 1024)
#define QUERY_NSEC (INT64_C(15) * NSEC_PER_SEC) /* longer than any request may take */

const char *metrics_source_check(const MetricsSource *source, const ClusterSource *cluster) {
    bool is_queried = source->prometheus || source->sources;

    if (source->file && is_queried)
        return "--metrics is instead of --prometheus and --sources";
    return is_queried ? cluster_source_check(cluster) : NULL;
}

/* Queries each source once. Failures are in @ret_statuses. */
static Measurements *query(const MetricsSource *source, const ClusterSource *cluster,
    const Program *program, Snapshot *snapshot, Arena *arena, PollStatus *ret_statuses) {
    _cleanup_(access_freep) Access *access = NULL;
    DiagList diags = DIAG_LIST_IN(arena);
    PollStatus *statuses =
        ret_statuses ? ret_statuses : ARENA_ARRAY(arena, PollStatus, program->n_gauges + 1);
    Measurements *measurements = NULL;
    MetricSources sources = {0};
    int r = sources_gather(source->prometheus, source->sources, arena, &diags, &sources);

    if (terminal_check(r, "the list of metric sources", arena) > 0)
        terminal_exit_for(r == FILE_E_UNREADABLE ? EXIT_UNREACHABLE : EXIT_FAILED, &diags);
    if (!cluster->file)
        access = cluster_source_access(cluster);
    progress_begin("fetching metrics");
    r = poller_once(&sources, access, program->gauges, program->n_gauges, snapshot, QUERY_NSEC,
        &measurements, statuses);
    progress_end();
    (void)terminal_check(r, "the metric values", NULL);
    for (size_t i = 0; !ret_statuses && i < program->n_gauges; i++)
        if (statuses[i].error[0])
            terminal_warn("metric %.*s: %s", STR_FMT(program->gauges[i].name), statuses[i].error);
    return measurements;
}

Measurements *metrics_source_load(const MetricsSource *source, const ClusterSource *cluster,
    const Program *program, Snapshot *snapshot, int64_t now_nsec, int64_t uptime_nsec,
    PollStatus *ret_statuses) {
    _cleanup_(arena_freep) Arena *arena = terminal_arena("the metric values", DIAGS_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    Measurements *measurements = NULL;
    int r;

    if (!source->file && (source->prometheus || source->sources || ret_statuses ||
                             (program->n_gauges > 0 && !cluster->file)))
        return query(source, cluster, program, snapshot, arena, ret_statuses);
    if (!source->file)
        return NULL;
    r = measurements_load(
        source->file, program, snapshot, now_nsec, uptime_nsec, &diags, &measurements);
    if (terminal_check(r, "the metric values", NULL) > 0)
        terminal_exit_for(r == FILE_E_UNREADABLE ? EXIT_UNREACHABLE : EXIT_FAILED, &diags);
    return measurements;
}

bool cluster_source_is_live(const ClusterSource *source) {
    return source->kubeconfig || source->context || source->is_in_cluster;
}

bool cluster_source_is_given(const ClusterSource *source) {
    return source->file || cluster_source_is_live(source);
}

const char *cluster_source_check(const ClusterSource *source) {
    if (source->file && cluster_source_is_live(source))
        return "--cluster is instead of --kubeconfig, --context and --in-cluster";
    if ((source->kubeconfig || source->context) && source->is_in_cluster)
        return "--kubeconfig and --context are instead of --in-cluster";
    return NULL;
}

Access *cluster_source_access(const ClusterSource *source) {
    char error[ACCESS_ERROR_MAX] = "out of memory for the kubeconfig";
    Access *access = NULL;
    int r = source->is_in_cluster
                ? access_in_cluster(/* root= */ "", &access, error)
                : access_search(source->kubeconfig, source->context, &access, error);

    if (r < 0)
        terminal_fail_with(r, error);
    if (access_is_insecure(access))
        terminal_warn("WARNING: the certificate of %s is not verified (insecure-skip-tls-verify)",
            access_server(access));
    return access;
}

Snapshot *cluster_source_load(const ClusterSource *source, unsigned related) {
    char error[FETCH_ERROR_MAX > OBJECTS_ERROR_MAX ? FETCH_ERROR_MAX : OBJECTS_ERROR_MAX];
    Access *access = source->file ? NULL : cluster_source_access(source);
    Snapshot *snapshot = NULL;
    int r;

    progress_begin("reading the cluster");
    r = source->file ? cluster_load(source->file, &snapshot, error)
                     : fetch_cluster(access, related, &snapshot, error);
    progress_end();
    if (r < 0)
        terminal_fail_with(r, error);
    return snapshot;
}

/* A search for one pod of a file. */
typedef struct PodSearch {
    Str namespace, name;
    Arena *arena;
    Pod *pod;
    bool is_found;
} PodSearch;

static int look_at(void *context, const Object *object) {
    PodSearch *search = context;
    Pod pod;
    int r;

    if (!str_is(object->kind, "Pod") || search->is_found)
        return 0;
    r = object_decode(object, object->json, pod_decode, search->arena, &pod);
    if (r == 0 && str_eq(pod.name, search->name) && str_eq(pod.namespace, search->namespace)) {
        search->is_found = true;
        *search->pod = pod;
    }
    return r;
}

static void pod_of_file(const char *path, PodSearch *search) {
    char error[OBJECTS_ERROR_MAX] = "";
    int r = objects_each(path, NULL, look_at, search, error);

    if (r < 0)
        terminal_fail_with(r, error);
    if (!search->is_found)
        terminal_fail(
            "%s has no pod \"%.*s/%.*s\"", path, STR_FMT(search->namespace), STR_FMT(search->name));
}

void cluster_source_pod(const ClusterSource *source, const char *name, Arena *arena, Pod *ret) {
    _cleanup_(access_freep) Access *access = NULL;
    char error[FETCH_ERROR_MAX];
    Str rest = str_from_c(name), namespace;
    int r;

    if (!str_split(&rest, '/', &namespace) || str_is_empty(namespace) || str_is_empty(rest))
        terminal_exit(EXIT_FAILED, "a pod is named NAMESPACE/NAME");
    if (source->file) {
        pod_of_file(source->file, &(PodSearch){namespace, rest, arena, ret});
        return;
    }
    access = cluster_source_access(source);
    r = fetch_pod(access, namespace, rest, arena, ret, error);
    if (r < 0)
        terminal_fail_with(r, error);
}
