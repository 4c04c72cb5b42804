/*
 * Figures: gathered by the watcher's thread at the end of each turn, copied out for everybody else.
 */

#include <stdio.h>

#include "kube/cluster-watcher-internal.h"

void watcher_update_status(ClusterWatcher *watcher) {
    NodeMarkerFigures marker = node_marker_figures(watcher->marker);
    StoreFigures store;
    WatcherStatus status;

    store_figures(watcher->store, &store);
    status = (WatcherStatus){
        .n_nodes = store.n_nodes,
        .n_pods = store.n_pods,
        .n_assumed = store.n_assumed,
        .n_resources_left_out = store.n_resources_left_out,
        .n_published = watcher->n_published,
        .n_bound = watcher->n_bound,
        .n_bind_failed = watcher->n_bind_failed,
        .n_expired = watcher->n_expired,
        .n_marked = marker.n_marked,
        .n_mark_failed = marker.n_failed,
    };
    for (size_t i = 0; i < _WATCHER_KINDS; i++)
        watched_resource_status(&watcher->resources[i], &status.kinds[i]);
    (void)snprintf(status.server, sizeof(status.server), "%s", access_server(watcher->access));
    if (watcher->permit) {
        status.has_lease = true;
        bind_permit_status(watcher->permit, &status.lease);
    }
    if (watcher->poster) {
        status.posts_events = true;
        status.events = event_poster_figures(watcher->poster);
    }
    pthread_mutex_lock(&watcher->mutex);
    watcher->status = status;
    pthread_mutex_unlock(&watcher->mutex);
}

void watcher_status(ClusterWatcher *watcher, WatcherStatus *ret) {
    pthread_mutex_lock(&watcher->mutex);
    *ret = watcher->status;
    pthread_mutex_unlock(&watcher->mutex);
}

bool watcher_is_synced(ClusterWatcher *watcher) {
    return atomic_load_explicit(&watcher->is_synced, memory_order_acquire);
}
