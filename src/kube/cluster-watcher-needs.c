/* The fields that the watcher keeps; they only grow. If one is added, its objects are listed again,
 * and the old snapshot stays until that list is complete. */

#include <stdlib.h>

#include "base/thread.h"
#include "kube/cluster-watcher-internal.h"

bool watcher_needs_init(ClusterWatcher *watcher) {
    const ClusterNeeds *needs =
        watcher->options.needs ? watcher->options.needs : &cluster_needs_all;

    watcher->published = calloc(1, sizeof(*watcher->published));
    watcher->keeping = cluster_needs_join(needs, needs);
    if (watcher->keeping)
        store_keep_pod_parts(watcher->store, &watcher->keeping->pods);
    return watcher->keeping && watcher->published;
}

bool watcher_want(ClusterWatcher *watcher, const ClusterNeeds *needs) {
    ClusterNeeds *join = NULL;
    bool is_published;

    pthread_mutex_lock(&watcher->lock);
    is_published = watcher->published && cluster_needs_cover(watcher->published, needs);
    if (!is_published && !(watcher->wanted && cluster_needs_cover(watcher->wanted, needs)))
        join = cluster_needs_join(watcher->wanted ? watcher->wanted : needs, needs);
    if (join) {
        free(watcher->wanted);
        watcher->wanted = join;
    }
    pthread_mutex_unlock(&watcher->lock);
    if (join)
        client_wake(watcher->client);
    return is_published;
}

static void list_again(ClusterWatcher *watcher, WatcherKind kind) {
    watcher->resources[kind].needed = watcher->keeping_version;
    reflector_list_again(watcher->resources[kind].reflector);
}

void watcher_keep_wanted(ClusterWatcher *watcher) {
    ClusterNeeds *before = watcher->keeping, *join = NULL;

    pthread_mutex_lock(&watcher->lock);
    if (watcher->wanted && !cluster_needs_cover(before, watcher->wanted))
        join = cluster_needs_join(before, watcher->wanted);
    pthread_mutex_unlock(&watcher->lock);
    if (!join)
        return;
    watcher->keeping = join;
    watcher->keeping_version++;
    store_keep_pod_parts(watcher->store, &join->pods);
    if (!before->node_details && join->node_details)
        list_again(watcher, WATCHER_NODES);
    if (!pod_parts_cover(&before->pods, &join->pods))
        list_again(watcher, WATCHER_PODS);
    free(before);
}

void watcher_note_published(ClusterWatcher *watcher) {
    ClusterNeeds *join;

    if (!watcher->is_published || store_is_dirty(watcher->store) ||
        cluster_needs_cover(watcher->published, watcher->keeping))
        return;
    for (size_t i = 0; i < _WATCHER_KINDS; i++)
        if (watcher->resources[i].listed < watcher->resources[i].needed)
            return;
    join = cluster_needs_join(watcher->published, watcher->keeping);
    if (!join)
        return;
    pthread_mutex_lock(&watcher->lock);
    free(watcher->published);
    watcher->published = join;
    pthread_mutex_unlock(&watcher->lock);
}
