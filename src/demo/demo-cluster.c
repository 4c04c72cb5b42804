/* The demo's nodes and pods, in a Store; ticks, attempts and binds. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "demo/demo-cluster-internal.h"
#include "demo/json-put.h"

static bool pod_is_pending(const DemoPod *pod) {
    return str_is_empty(pod->model.node_name);
}

/* --- time ------------------------------------------------------------------ */

static int64_t now_nsec(const DemoCluster *cluster) {
    return (int64_t)cluster->now * cluster->tick_nsec;
}

/* The end of a pod with a node may make room for a pending one. */
static void end_pod(DemoCluster *cluster, DemoPod *pod) {
    if (pod_is_pending(pod)) {
        pending_queue_remove(&cluster->pending, pod->number);
        cluster->n_deleted++;
        if (cluster->deleted)
            cluster->deleted(cluster->deleted_context, &pod->model);
    } else {
        store_remove_pod(cluster->store, pod->model.namespace, pod->model.name, pod->model.uid);
        pending_queue_wake(&cluster->pending);
        cluster->n_ended++;
    }
    free(pod);
}

static void end_pods(DemoCluster *cluster) {
    size_t kept = 0;

    for (size_t i = 0; i < cluster->n_pods; i++) {
        DemoPod *pod = cluster->pods[i];

        if (pod->ends_at > cluster->now)
            cluster->pods[kept++] = pod;
        else
            end_pod(cluster, pod);
    }
    cluster->n_pods = kept;
}

static uint64_t random_life(DemoCluster *cluster, const Workload *workload) {
    uint64_t most = demo_cluster_life_max(cluster, workload);

    return rng_between(&cluster->rng, (size_t)most / 4, (size_t)most);
}

static int create_pod(
    DemoCluster *cluster, const Workload *workload, uint64_t life, DemoPod **ret) {
    bool is_random = !workload;
    DemoPod *pod;

    workload = is_random ? pod_maker_next(&cluster->maker, &cluster->rng) : workload;
    *ret = pod = demo_cluster_add_pod(cluster, workload);
    if (!pod)
        return -ENOMEM;
    pod->life = is_random ? random_life(cluster, workload) : life;
    pod->ends_at = UINT64_MAX;
    if (is_random)
        pod->ends_at = cluster->now + 1 + (uint64_t)(DEMO_PATIENCE_NSEC / cluster->tick_nsec);
    else if (life > 0)
        pod->ends_at = cluster->now + life;
    return pending_queue_add(&cluster->pending, pod->number, pod->model.priority);
}

void demo_cluster_on_deleted(DemoCluster *cluster, PendingPodDeleted *deleted, void *context) {
    cluster->deleted = deleted;
    cluster->deleted_context = context;
}

void demo_cluster_set_tick(DemoCluster *cluster, int64_t nsec) {
    cluster->tick_nsec = nsec;
}

int demo_cluster_create_pod(DemoCluster *cluster, const Workload *workload, uint64_t life,
    int64_t now_sec, const DemoPod **ret) {
    DemoPod *pod = NULL;
    int r;

    (void)pthread_mutex_lock(&cluster->lock);
    cluster->now++;
    cluster->now_sec = now_sec;
    end_pods(cluster);
    r = create_pod(cluster, workload, life, &pod);
    (void)pthread_mutex_unlock(&cluster->lock);
    *ret = pod;
    return r;
}

/* --- attempts --------------------------------------------------------------- */

static const DemoPod *note_attempt(DemoCluster *cluster, PendingPod *entry) {
    size_t i = cluster->n_pods - 1;
    DemoPod *pod;

    while (cluster->pods[i]->number != entry->number) /* it is there */
        i--;
    pod = cluster->pods[i];
    pending_pod_park(entry, now_nsec(cluster));
    pod->n_attempts = entry->n_attempts;
    return pod;
}

const DemoPod *demo_cluster_due_pod(DemoCluster *cluster) {
    const DemoPod *pod = NULL;
    PendingPod *entry;

    (void)pthread_mutex_lock(&cluster->lock);
    entry = pending_queue_due(&cluster->pending, now_nsec(cluster));
    if (entry)
        pod = note_attempt(cluster, entry);
    (void)pthread_mutex_unlock(&cluster->lock);
    return pod;
}

void demo_cluster_try(DemoCluster *cluster, const DemoPod *pod) {
    (void)pthread_mutex_lock(&cluster->lock);
    for (size_t i = 0; i < cluster->pending.n; i++)
        if (cluster->pending.items[i].number == pod->number)
            (void)note_attempt(cluster, &cluster->pending.items[i]);
    (void)pthread_mutex_unlock(&cluster->lock);
}

int demo_cluster_clear(DemoCluster *cluster) {
    size_t n_ended = cluster->n_ended, n_deleted = cluster->n_deleted, n_left;

    (void)pthread_mutex_lock(&cluster->lock);
    for (size_t i = 0; i < cluster->n_pods; i++)
        cluster->pods[i]->ends_at = 0;
    end_pods(cluster);
    cluster->n_ended = n_ended; /* cleared, not ended */
    cluster->n_deleted = n_deleted;
    n_left = cluster->n_pods;
    (void)pthread_mutex_unlock(&cluster->lock);
    return n_left == 0 ? 0 : -ENOMEM;
}

const DemoPod *demo_cluster_sample_pod(DemoCluster *cluster, const char *name) {
    const Workload *workload = workload_named(name);
    DemoPod *pod = workload ? ARENA_NEW(cluster->arena, DemoPod) : NULL;

    if (pod)
        pod_maker_make(&cluster->maker, workload, cluster->now_sec, &cluster->rng, pod);
    return pod;
}

void demo_cluster_count(DemoCluster *cluster, DemoClusterCounts *ret) {
    (void)pthread_mutex_lock(&cluster->lock);
    *ret = (DemoClusterCounts){.n_nodes = cluster->n_nodes,
        .n_pending = cluster->pending.n,
        .n_running = cluster->n_pods - cluster->pending.n,
        .n_ended = cluster->n_ended,
        .n_deleted = cluster->n_deleted};
    for (size_t i = 0; i < cluster->n_pods; i++)
        if (pod_is_pending(cluster->pods[i]))
            ret->pending[cluster->pods[i]->workload - workloads]++;
    (void)pthread_mutex_unlock(&cluster->lock);
}

/* --- binds ------------------------------------------------------------------ */

/* Newest first: a bind is for a recent pod. */
static DemoPod *find_pod(DemoCluster *cluster, Str namespace, Str name) {
    for (size_t i = cluster->n_pods; i-- > 0;) {
        const Pod *model = &cluster->pods[i]->model;

        if (str_eq(model->name, name) && str_eq(model->namespace, namespace))
            return cluster->pods[i];
    }
    return NULL;
}

static void place_pod(
    DemoCluster *cluster, DemoPod *pod, const DemoNode *node, char *error, size_t size) {
    pod->model.node_name = node->name;
    pod->model.scheduled_at = cluster->now_sec;
    if (demo_cluster_show_pod(cluster, pod) == 0) {
        pending_queue_remove(&cluster->pending, pod->number);
        pod->ends_at = pod->life > 0 ? cluster->now + pod->life : UINT64_MAX;
        return;
    }
    pod->model.node_name = STR_NULL;
    pod->model.scheduled_at = 0;
    (void)snprintf(error, size, "out of memory for a pod of the demo");
}

static void bind_locked(DemoCluster *cluster, const BindArgs *args, char *error, size_t size) {
    DemoPod *pod = find_pod(cluster, args->pod_namespace, args->pod_name);
    uint32_t node = map_find(&cluster->index, args->node);

    if (!pod)
        (void)snprintf(error, size, "pods \"%.*s\" not found", STR_FMT(args->pod_name));
    else if (!str_eq(pod->model.uid, args->pod_uid))
        (void)snprintf(error, size, "the UID of pod %s is %s now", pod->name, pod->uid);
    else if (node == MAP_NONE)
        (void)snprintf(error, size, "nodes \"%.*s\" not found", STR_FMT(args->node));
    else if (pod_is_pending(pod))
        place_pod(cluster, pod, &cluster->nodes[node], error, size);
    else if (!str_eq(pod->model.node_name, args->node))
        (void)snprintf(error, size, "pod %s is already assigned to node \"%.*s\"", pod->name,
            STR_FMT(pod->model.node_name));
}

void demo_cluster_bind(DemoCluster *cluster, const BindArgs *args, char *error, size_t size) {
    error[0] = '\0';
    (void)pthread_mutex_lock(&cluster->lock);
    bind_locked(cluster, args, error, size);
    (void)pthread_mutex_unlock(&cluster->lock);
}

/* --- changes of nodes ------------------------------------------------------- */

static int mark_locked(DemoCluster *cluster, size_t number, NodeChanges changes) {
    _cleanup_(buf_done) Buf text = BUF_INIT(DEMO_OBJECT_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(DEMO_OBJECT_MAX * 4);
    DemoNode *node = &cluster->nodes[number], marked = *node;
    Rng rng = node->rng;
    int r;

    if (!arena)
        return -ENOMEM;
    r = demo_cluster_write_node(cluster, number, changes, &rng, &text, arena, &marked);
    if (r == 0)
        r = error_fold(store_apply_node(cluster->store, &marked.model));
    if (r < 0)
        return r;
    marked.arena = TAKE_PTR(arena);
    arena = node->arena; /* freed at return */
    *node = marked;
    return 0;
}

int demo_cluster_change_node(DemoCluster *cluster, Str name, NodeChanges changes) {
    uint32_t number = map_find(&cluster->index, name);
    int r = 0;

    if (number == MAP_NONE)
        return 0;
    (void)pthread_mutex_lock(&cluster->lock);
    r = mark_locked(cluster, number, changes);
    pending_queue_wake(&cluster->pending);
    (void)pthread_mutex_unlock(&cluster->lock);
    return r;
}

/* --- views ------------------------------------------------------------------ */

int demo_cluster_snapshot(DemoCluster *cluster, Snapshot **ret) {
    int r;

    (void)pthread_mutex_lock(&cluster->lock);
    r = store_publish(cluster->store, ret);
    (void)pthread_mutex_unlock(&cluster->lock);
    return r;
}

void demo_cluster_write(DemoCluster *cluster, Buf *out) {
    const char *comma = "";

    json_put(out, "{'apiVersion':'v1','kind':'List','items':[");
    (void)pthread_mutex_lock(&cluster->lock);
    for (size_t i = 0; i < cluster->n_nodes; i++) {
        buf_append(out, str_from_c(comma));
        buf_append(out, cluster->nodes[i].json);
        comma = ",";
    }
    for (size_t i = 0; i < cluster->n_pods; i++) {
        const DemoPod *pod = cluster->pods[i];

        buf_append(out, str_from_c(comma));
        demo_pod_write(pod, pod->model.node_name, /* is_typed= */ true, out);
    }
    (void)pthread_mutex_unlock(&cluster->lock);
    buf_append(out, STR("]}\n"));
}
