/*
 * Figures: gathered by the mirror's thread at the end of each turn, copied out for everybody else.
 */

#include <stdio.h>

#include "kube/mirror-part.h"

void mirror_update_status(Mirror *mirror) {
    TouchFigures touch = touch_figures(mirror->touch);
    StoreFigures store;
    MirrorStatus status;

    store_figures(mirror->store, &store);
    status = (MirrorStatus){
        .n_nodes = store.n_nodes,
        .n_pods = store.n_pods,
        .n_assumed = store.n_assumed,
        .n_resources_left_out = store.n_resources_left_out,
        .n_published = mirror->n_published,
        .n_bound = mirror->n_bound,
        .n_bind_failed = mirror->n_bind_failed,
        .n_expired = mirror->n_expired,
        .n_touched = touch.n_touched,
        .n_touch_failed = touch.n_failed,
    };
    for (size_t i = 0; i < _MIRROR_KINDS; i++)
        side_status(&mirror->sides[i], &status.kinds[i]);
    (void)snprintf(status.server, sizeof(status.server), "%s", access_server(mirror->access));
    if (mirror->warrant) {
        status.has_lease = true;
        warrant_status(mirror->warrant, &status.lease);
    }
    if (mirror->announce) {
        status.may_announce = true;
        status.events = announce_figures(mirror->announce);
    }
    pthread_mutex_lock(&mirror->mutex);
    mirror->status = status;
    pthread_mutex_unlock(&mirror->mutex);
}

void mirror_status(Mirror *mirror, MirrorStatus *ret) {
    pthread_mutex_lock(&mirror->mutex);
    *ret = mirror->status;
    pthread_mutex_unlock(&mirror->mutex);
}

bool mirror_is_synced(Mirror *mirror) {
    return atomic_load_explicit(&mirror->is_synced, memory_order_acquire);
}
