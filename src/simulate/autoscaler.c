/* An autoscaler's view of the simulated cluster: kube-scheduler's filters and published rules. */

#include "simulate/autoscaler.h"

#include <errno.h>
#include <stdlib.h>

struct Autoscaler {
    const AutoscalePool *pool;
    ClusterState *cluster;
    BerthExtender *berth; /* NULL: no policy */
    Scheduler *scheduler; /* of the autoscaler: it tries all nodes */
    bool *is_there;       /* by node of the pool */
    size_t n_there;
};

int autoscaler_new(const AutoscalePool *pool, const SchedulerOptions *options,
    ClusterState *cluster, BerthExtender *berth, Autoscaler **ret) {
    _cleanup_(autoscaler_freep) Autoscaler *autoscaler = calloc(1, sizeof(*autoscaler));
    SchedulerOptions own = *options;
    SchedulerExtender published = {0};
    int r;

    if (!autoscaler)
        return -ENOMEM;
    autoscaler->pool = pool;
    autoscaler->cluster = cluster;
    autoscaler->berth = berth;
    autoscaler->is_there = calloc(pool->n + 1, sizeof(bool));
    if (!autoscaler->is_there)
        return -ENOMEM;
    own.percentage = 100;
    if (berth)
        published = berth_extender_published(berth);
    r = scheduler_new(&own, cluster, published, &autoscaler->scheduler);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(autoscaler);
    return 0;
}

Autoscaler *autoscaler_free(Autoscaler *autoscaler) {
    if (!autoscaler)
        return NULL;
    scheduler_free(autoscaler->scheduler);
    free(autoscaler->is_there);
    free(autoscaler);
    return NULL;
}

size_t autoscaler_count(const Autoscaler *autoscaler) {
    return autoscaler->n_there;
}

/* 0 or -ENOMEM. */
static int choose(
    Autoscaler *autoscaler, const PodRequest *request, int64_t now_nsec, Choice *ret) {
    int r = scheduler_choose(autoscaler->scheduler, request, now_nsec, NO_ROW, ret);

    return r < 0 ? r : 0;
}

int autoscaler_has_room(
    Autoscaler *autoscaler, const PodRequest *request, int64_t now_nsec, bool *ret) {
    Choice choice = {.row = NO_ROW};
    int r = choose(autoscaler, request, now_nsec, &choice);

    *ret = choice.row != NO_ROW;
    return r;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static int add_node(Autoscaler *autoscaler, size_t i) {
    uint32_t row = autoscaler->pool->rows[i];

    cluster_state_show(autoscaler->cluster, row);
    autoscaler->is_there[i] = true;
    autoscaler->n_there++;
    return autoscaler->berth ? berth_extender_add_node(autoscaler->berth, row) : 0;
}

static void remove_node(Autoscaler *autoscaler, size_t i) {
    uint32_t row = autoscaler->pool->rows[i];

    cluster_state_hide(autoscaler->cluster, &row, 1);
    autoscaler->is_there[i] = false;
    autoscaler->n_there--;
    if (autoscaler->berth)
        berth_extender_remove_node(autoscaler->berth, row);
}

int autoscaler_scale(
    Autoscaler *autoscaler, const PodRequest *request, int64_t now_nsec, ScaleResult *ret) {
    Choice choice = {.row = NO_ROW};
    bool has_room = false;
    size_t i = 0;
    int r = autoscaler_has_room(autoscaler, request, now_nsec, &has_room);

    *ret = SCALE_HAS_ROOM;
    if (r < 0 || has_room)
        return r;
    while (i < autoscaler->pool->n && autoscaler->is_there[i])
        i++;
    *ret = SCALE_AT_MAX;
    if (i == autoscaler->pool->n)
        return 0;
    r = add_node(autoscaler, i);
    if (r == 0)
        r = choose(autoscaler, request, now_nsec, &choice);
    *ret = choice.row == NO_ROW ? SCALE_UNSUITABLE : SCALE_ADDED;
    if (r == 0 && choice.row == NO_ROW)
        remove_node(autoscaler, i);
    return r;
}

void autoscaler_remove_empty(Autoscaler *autoscaler) {
    for (size_t i = 0; i < autoscaler->pool->n; i++)
        if (autoscaler->is_there[i] && autoscaler->cluster->n_own[autoscaler->pool->rows[i]] == 0)
            remove_node(autoscaler, i);
}
