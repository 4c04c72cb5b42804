/* Loads the cluster of a command from a file or an API server. */

#include "cli/cluster-source.h"

#include <errno.h>

#include "base/diag.h"
#include "base/nsec.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "input/measurements.h"
#include "input/objects.h"
#include "input/sources.h"
#include "kube/fetch.h"
#include "json/read.h"

#define DIAGS_BUDGET ((size_t)16 * 1024 * 1024)
#define ASK_NSEC (INT64_C(15) * NSEC_PER_SEC) /* longer than any request may take */

const char *metrics_source_check(const MetricsSource *source, const ClusterSource *cluster) {
    bool is_asking = source->prometheus || source->sources;

    if (source->file && is_asking)
        return "--metrics is instead of --prometheus and --sources";
    if (is_asking && cluster_source_check(cluster))
        return cluster_source_check(cluster);
    return NULL;
}

static int complain_of_sources(const DiagList *diags, bool is_unreadable) {
    terminal_print_diags(diags);
    return is_unreadable ? EXIT_UNREACHABLE : EXIT_FAILED;
}

/* Queries each source once. Failures are in @ret_statuses. */
static int ask(const MetricsSource *source, const ClusterSource *cluster, const Program *program,
    Snapshot *snapshot, Arena *arena, Measurements **ret, PollStatus *ret_statuses) {
    _cleanup_(access_freep) Access *access = NULL;
    DiagList diags = DIAG_LIST_IN(arena);
    PollStatus *statuses = ret_statuses;
    MetricSources sources = {0};
    int r;

    if (!statuses)
        statuses = ARENA_ARRAY(arena, PollStatus, program->n_gauges + 1);
    if (!statuses)
        return terminal_out_of_memory("the states of the metrics", arena);
    r = sources_gather(source->prometheus, source->sources, arena, &diags, &sources);
    if (r < 0)
        return terminal_failed("the list of metric sources", r, arena);
    if (r != 0)
        return complain_of_sources(&diags, r == SOURCES_E_UNREADABLE);
    if (!cluster->file) {
        r = cluster_source_access(cluster, &access);
        if (r != 0)
            return r;
    }
    progress_begin("fetching metrics");
    r = poller_once(
        &sources, access, program->gauges, program->n_gauges, snapshot, ASK_NSEC, ret, statuses);
    progress_end();
    if (r < 0)
        return terminal_failed("the metric values", r, NULL);
    for (size_t i = 0; !ret_statuses && i < program->n_gauges; i++)
        if (statuses[i].error[0])
            (void)terminal_complain(
                "metric %.*s: %s", STR_FMT(program->gauges[i].name), statuses[i].error);
    return 0;
}

int metrics_source_load(const MetricsSource *source, const ClusterSource *cluster,
    const Program *program, Snapshot *snapshot, int64_t now_nsec, int64_t uptime_nsec,
    Measurements **ret, PollStatus *ret_statuses) {
    _cleanup_(arena_freep) Arena *arena = arena_new(DIAGS_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    int r;

    *ret = NULL;
    if (!arena)
        return terminal_out_of_memory("the metric values", NULL);
    if (source->file) {
        r = measurements_load(source->file, program, snapshot, now_nsec, uptime_nsec, &diags, ret);
        if (r < 0)
            return terminal_failed("the metric values", r, NULL);
        return r == 0 ? 0 : complain_of_sources(&diags, r == MEASUREMENTS_E_UNREADABLE);
    }
    if (source->prometheus || source->sources || ret_statuses ||
        (program->n_gauges > 0 && !cluster->file))
        return ask(source, cluster, program, snapshot, arena, ret, ret_statuses);
    return 0;
}

bool cluster_source_is_live(const ClusterSource *source) {
    return source->kubeconfig || source->context || source->is_in_cluster;
}

const char *cluster_source_check(const ClusterSource *source) {
    if (source->file && cluster_source_is_live(source))
        return "--cluster is instead of --kubeconfig, --context and --in-cluster";
    return cluster_source_check_live(source);
}

const char *cluster_source_check_live(const ClusterSource *source) {
    if ((source->kubeconfig || source->context) && source->is_in_cluster)
        return "--kubeconfig and --context are instead of --in-cluster";
    return NULL;
}

int cluster_source_access(const ClusterSource *source, Access **ret) {
    char error[ACCESS_ERROR_MAX] = "out of memory for the kubeconfig";
    int r = source->is_in_cluster ? access_in_cluster(/* root= */ "", ret, error)
                                  : access_search(source->kubeconfig, source->context, ret, error);

    if (r < 0)
        return terminal_report(r, error);
    if (access_is_insecure(*ret))
        (void)terminal_complain("WARNING: the certificate of %s is not verified "
                                "(insecure-skip-tls-verify)",
            access_server(*ret));
    return 0;
}

int cluster_source_load(const ClusterSource *source, unsigned related, Snapshot **ret) {
    char error[FETCH_ERROR_MAX > OBJECTS_ERROR_MAX ? FETCH_ERROR_MAX : OBJECTS_ERROR_MAX];
    Access *access = NULL;
    int r;

    if (!source->file) {
        r = cluster_source_access(source, &access);
        if (r != 0)
            return r;
    }
    progress_begin("reading the cluster");
    r = source->file ? cluster_load(source->file, ret, error)
                     : fetch_cluster(access, related, ret, error);
    progress_end();
    return r < 0 ? terminal_report(r, error) : 0;
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
    JsonReader reader;
    Pod pod;
    Str json;

    if (!str_is(object->kind, "Pod") || search->is_found)
        return 0;
    json = arena_copy(search->arena, object->json); /* strings of the pod point into it */
    if (!json.ptr)
        return -ENOMEM;
    json_reader_init(&reader, json);
    pod_decode(&reader, search->arena, &pod);
    if (json_error(&reader) != JSON_OK || !str_eq(pod.name, search->name) ||
        !str_eq(pod.namespace, search->namespace))
        return 0;
    search->is_found = true;
    *search->pod = pod;
    return 0;
}

static int pod_of_file(const char *path, PodSearch *search) {
    char error[OBJECTS_ERROR_MAX] = "";
    int r = objects_each(path, look_at, search, error);

    if (r < 0)
        return terminal_report(r, error);
    if (search->is_found)
        return 0;
    return terminal_complain(
        "%s has no pod \"%.*s/%.*s\"", path, STR_FMT(search->namespace), STR_FMT(search->name));
}

int cluster_source_pod(const ClusterSource *source, const char *name, Arena *arena, Pod *ret) {
    _cleanup_(access_freep) Access *access = NULL;
    char error[FETCH_ERROR_MAX];
    Str rest = str_from_c(name), namespace;
    int r;

    if (!str_split(&rest, '/', &namespace) || str_is_empty(namespace) || str_is_empty(rest))
        return terminal_refuse(EXIT_FAILED, "a pod is named NAMESPACE/NAME");
    if (source->file) {
        PodSearch search = {.namespace = namespace, .name = rest, .arena = arena, .pod = ret};

        return pod_of_file(source->file, &search);
    }
    r = cluster_source_access(source, &access);
    if (r != 0)
        return r;
    r = fetch_pod(access, namespace, rest, arena, ret, error);
    return r < 0 ? terminal_report(r, error) : 0;
}
