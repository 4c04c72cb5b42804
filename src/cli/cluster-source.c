/* Loads the cluster of a command from a file or an API server. */

#include "cli/cluster-source.h"

#include <errno.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/terminal.h"
#include "input/objects.h"
#include "kube/access.h"
#include "kube/fetch.h"

bool cluster_source_is_live(const ClusterSource *source) {
    return source->kubeconfig || source->is_in_cluster;
}

const char *cluster_source_check(const ClusterSource *source) {
    int n = (source->file != NULL) + (source->kubeconfig != NULL) + source->is_in_cluster;

    if (n != 1)
        return "one of --cluster, --kubeconfig and --in-cluster is needed";
    return cluster_source_check_live(source);
}

const char *cluster_source_check_live(const ClusterSource *source) {
    if (source->kubeconfig && source->is_in_cluster)
        return "--kubeconfig is instead of --in-cluster";
    if (source->context && !source->kubeconfig)
        return "--context needs --kubeconfig";
    return NULL;
}

/* Content is wrong (1), or something cannot be reached (3). */
static int complain(const char *who, const char *error, int r) {
    terminal_complain(who, error);
    return r == -EINVAL ? EXIT_FAILED : EXIT_UNREACHABLE;
}

int cluster_source_access(const ClusterSource *source, const char *who, Access **ret) {
    char error[ACCESS_ERROR_MAX] = "out of memory";
    int r = access_find(source->kubeconfig, source->context, ret, error);

    if (r < 0)
        return complain(who, error, r);
    if (access_is_insecure(*ret))
        (void)fprintf(stderr,
            "%s: WARNING: the certificate of %s is not verified (insecure-skip-tls-verify)\n", who,
            access_server(*ret));
    return 0;
}

int cluster_source_load(const ClusterSource *source, const char *who, Snapshot **ret) {
    char error[FETCH_ERROR_MAX > OBJECTS_ERROR_MAX ? FETCH_ERROR_MAX : OBJECTS_ERROR_MAX];
    Access *access = NULL;
    int r;

    if (source->file) {
        r = cluster_load(source->file, ret, error);
        return r < 0 ? complain(who, error, r) : 0;
    }
    r = cluster_source_access(source, who, &access);
    if (r != 0)
        return r;
    r = fetch_cluster(access, ret, error);
    return r < 0 ? complain(who, error, r) : 0;
}

int cluster_source_pod(
    const ClusterSource *source, const char *who, const char *name, Arena *arena, Pod *ret) {
    _cleanup_(access_freep) Access *access = NULL;
    char error[FETCH_ERROR_MAX];
    Str rest = str_from_c(name), namespace;
    int r;

    if (!str_split(&rest, '/', &namespace) || str_is_empty(namespace) || str_is_empty(rest))
        return complain(who, "a pod is named NAMESPACE/NAME", -EINVAL);
    r = cluster_source_access(source, who, &access);
    if (r != 0)
        return r;
    r = fetch_pod(access, namespace, rest, arena, ret, error);
    return r < 0 ? complain(who, error, r) : 0;
}
