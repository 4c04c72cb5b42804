/* The demo's nodes and pods, in a Store; ticks and binds. */

#include "demo/demo-cluster.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/rng.h"
#include "cluster/store.h"
#include "demo/demo-node.h"
#include "demo/json-put.h"
#include "model/node.h"
#include "json/read.h"

#define DEMO_CLUSTER_BUDGET ((size_t)1024 * 1024 * 1024)
#define OBJECT_MAX ((size_t)64 * 1024)

/* Requests on nodes at the start, in percent of allocatable. */
#define LOAD_MIN 15
#define LOAD_MAX 92

/* Age of the first pods. */
#define AGE_MIN_SEC 180
#define AGE_MAX_SEC (3 * 86400)

/* Ticks until a pending pod is tried again, times the number of attempts. */
#define RETRY_TICKS 8

typedef struct DemoNode {
    Str name;
    Rng rng;      /* its state before the node was created */
    Arena *arena; /* of the next fields once the node was changed; NULL: the cluster's */
    Str json;
    Node model;
} DemoNode;

struct DemoCluster {
    pthread_mutex_t lock; /* protects pods and counts, which binds change */
    Arena *arena;         /* nodes, sample pods and templates */
    Rng rng;
    DemoNode *nodes;
    size_t n_nodes;
    Store *store; /* nodes and placed pods, as a scheduler sees them */
    Map index;    /* node name to number */
    int64_t now_sec, begun_sec;
    PodMaker maker;

    DemoPod **pods; /* oldest first */
    size_t n_pods, size;
    size_t n_ended;
    uint64_t now;       /* ticks: pods returned so far */
    uint64_t life_span; /* of an average pod, in ticks */
};

/* --- pods ------------------------------------------------------------------ */

static DemoPod *add_pod(DemoCluster *cluster, const Workload *workload) {
    DemoPod *pod;

    if (cluster->n_pods == cluster->size) {
        size_t size = cluster->size ? cluster->size * 2 : 256;
        DemoPod **pods = reallocarray(cluster->pods, size, sizeof(void *));

        if (!pods)
            return NULL;
        cluster->pods = pods;
        cluster->size = size;
    }
    pod = calloc(1, sizeof(*pod));
    if (!pod)
        return NULL;
    pod_maker_make(&cluster->maker, workload, cluster->now_sec, &cluster->rng, pod);
    cluster->pods[cluster->n_pods++] = pod;
    return pod;
}

static bool pod_is_pending(const DemoPod *pod) {
    return str_is_empty(pod->model.node_name);
}

/* --- start ------------------------------------------------------------------- */

/* Decodes the JSON written here, so that the served node equals the dumped one. */
static int write_node(const DemoCluster *cluster, size_t number, NodeChanges changes, Rng *rng,
    Buf *text, Arena *arena, DemoNode *node) {
    JsonReader reader;

    buf_reset(text);
    demo_node_write(number, cluster->begun_sec, changes, rng, text);
    node->json = arena_copy(arena, buf_str(text));
    if (buf_error(text) < 0 || !node->json.ptr)
        return -ENOMEM;
    json_reader_init(&reader, node->json);
    node_decode(&reader, arena, &node->model);
    return json_error(&reader) == JSON_OK ? 0 : -ENOMEM; /* the text is valid */
}

static int make_node(DemoCluster *cluster, size_t number, Buf *text) {
    DemoNode *node = &cluster->nodes[number];
    int r;

    node->rng = cluster->rng;
    r = write_node(cluster, number, (NodeChanges){0}, &cluster->rng, text, cluster->arena, node);
    if (r < 0)
        return r;
    node->name = node->model.name;
    return map_add(&cluster->index, node->name, (uint32_t)number);
}

static int64_t share_of(const Resources *all, Str name, size_t percent) {
    return resources_get(all, name) / 100 * (int64_t)percent;
}

/* Adds the pods of one workload that ran on the node before the demo began. */
static int load_node_with(DemoCluster *cluster, const DemoNode *node, const Workload *workload,
    size_t percent, int64_t *cpu) {
    const Resources *allocatable = &node->model.allocatable;
    const Resources *requests = &pod_maker_template(&cluster->maker, workload, 0)->pod.requests;
    size_t n = rng_between(&cluster->rng, 0, workload->home_max);
    int64_t gpus = resources_get(allocatable, STR(DEMO_GPU));

    for (size_t i = 0; i < n; i++) {
        DemoPod *pod;

        *cpu += resources_get(requests, STR("cpu"));
        gpus -= workload->gpus;
        if (*cpu > share_of(allocatable, STR("cpu"), percent) || gpus < 0)
            return 0;
        pod = add_pod(cluster, workload);
        if (!pod)
            return -ENOMEM;
        pod->model.node_name = node->name;
        pod->model.created_at -= (int64_t)rng_between(&cluster->rng, AGE_MIN_SEC, AGE_MAX_SEC);
        pod->model.scheduled_at = pod->model.created_at;
    }
    return 0;
}

static int load_node(DemoCluster *cluster, size_t number) {
    size_t percent = rng_between(&cluster->rng, LOAD_MIN, LOAD_MAX);
    int64_t cpu = 0;
    int r;

    for (size_t i = 0; i < n_workloads; i++) {
        if (workloads[i].home != demo_node_pool(number) || workloads[i].is_fixed)
            continue;
        r = load_node_with(cluster, &cluster->nodes[number], &workloads[i], percent, &cpu);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The number of pods is stable if an average pod lives for as many ticks as there are pods. Initial
 * pods are part of the way through their life. */
static void set_ends(DemoCluster *cluster) {
    cluster->life_span = cluster->n_pods < 50 ? 50 : cluster->n_pods;
    for (size_t i = 0; i < cluster->n_pods; i++)
        cluster->pods[i]->ends_at = rng_between(&cluster->rng, 1,
            (size_t)(cluster->life_span * 2 * cluster->pods[i]->workload->life_span / 100));
}

static int show_pod(DemoCluster *cluster, const DemoPod *pod) {
    int r = store_apply_pod(cluster->store, &pod->model);

    return r == STORE_BOUND ? 0 : error_fold(r);
}

static int fill_store(DemoCluster *cluster) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < cluster->n_nodes; i++)
        r = error_fold(store_apply_node(cluster->store, &cluster->nodes[i].model));
    for (size_t i = 0; r == 0 && i < cluster->n_pods; i++)
        r = show_pod(cluster, cluster->pods[i]);
    return r;
}

static int populate(DemoCluster *cluster) {
    _cleanup_(buf_done) Buf text = BUF_INIT(OBJECT_MAX);
    int r = pod_maker_init(&cluster->maker, cluster->arena);

    for (size_t i = 0; r == 0 && i < cluster->n_nodes; i++)
        r = make_node(cluster, i, &text);
    for (size_t i = 0; r == 0 && i < cluster->n_nodes; i++)
        r = load_node(cluster, i);
    set_ends(cluster);
    return r < 0 ? r : fill_store(cluster);
}

int demo_cluster_new(size_t n_nodes, uint64_t seed, int64_t now_sec, DemoCluster **ret) {
    _cleanup_(demo_cluster_freep) DemoCluster *cluster = calloc(1, sizeof(*cluster));
    int r;

    assert(n_nodes > 0 && n_nodes <= DEMO_NODES_MAX);
    if (!cluster)
        return -ENOMEM;
    (void)pthread_mutex_init(&cluster->lock, NULL);
    cluster->rng = (Rng){.state = seed};
    cluster->now_sec = cluster->begun_sec = now_sec;
    cluster->index = MAP_INIT;
    cluster->store = store_new();
    cluster->arena = arena_new(DEMO_CLUSTER_BUDGET);
    if (!cluster->store || !cluster->arena)
        return -ENOMEM;
    cluster->n_nodes = n_nodes;
    cluster->nodes = ARENA_ARRAY(cluster->arena, DemoNode, n_nodes);
    if (!cluster->nodes)
        return -ENOMEM;
    r = populate(cluster);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(cluster);
    return 0;
}

DemoCluster *demo_cluster_free(DemoCluster *cluster) {
    if (!cluster)
        return NULL;
    for (size_t i = 0; i < cluster->n_pods; i++)
        free(cluster->pods[i]);
    free(cluster->pods);
    for (size_t i = 0; cluster->nodes && i < cluster->n_nodes; i++)
        arena_free(cluster->nodes[i].arena);
    map_done(&cluster->index);
    store_free(cluster->store);
    arena_free(cluster->arena);
    (void)pthread_mutex_destroy(&cluster->lock);
    free(cluster);
    return NULL;
}

/* --- time ------------------------------------------------------------------ */

static void end_pods(DemoCluster *cluster) {
    size_t kept = 0;

    for (size_t i = 0; i < cluster->n_pods; i++) {
        DemoPod *pod = cluster->pods[i];

        if (pod->ends_at > cluster->now) {
            cluster->pods[kept++] = pod;
            continue;
        }
        store_remove_pod(cluster->store, pod->model.namespace, pod->model.name, pod->model.uid);
        free(pod);
    }
    cluster->n_ended += cluster->n_pods - kept;
    cluster->n_pods = kept;
}

static DemoPod *find_due(DemoCluster *cluster) {
    for (size_t i = 0; i < cluster->n_pods; i++) {
        DemoPod *pod = cluster->pods[i];

        if (pod_is_pending(pod) && pod->retry_at <= cluster->now &&
            pod->n_attempts < DEMO_ATTEMPTS_MAX)
            return pod;
    }
    return NULL;
}

static uint64_t random_life(DemoCluster *cluster, const Workload *workload) {
    uint64_t most = cluster->life_span * 2 * workload->life_span / 100;

    return rng_between(&cluster->rng, (size_t)most / 4, (size_t)most);
}

int demo_cluster_next_pod(DemoCluster *cluster, const Workload *workload, uint64_t life,
    int64_t now_sec, const DemoPod **ret) {
    DemoPod *pod;

    (void)pthread_mutex_lock(&cluster->lock);
    cluster->now++;
    cluster->now_sec = now_sec;
    end_pods(cluster);
    pod = workload ? NULL : find_due(cluster);
    if (!pod) {
        bool is_random = !workload;

        workload = is_random ? pod_maker_next(&cluster->maker, &cluster->rng) : workload;
        pod = add_pod(cluster, workload);
        if (pod && is_random)
            life = random_life(cluster, workload);
        if (pod)
            pod->ends_at = life > 0 ? cluster->now + life : UINT64_MAX;
    }
    if (pod) {
        pod->n_attempts++;
        pod->retry_at = cluster->now + (uint64_t)RETRY_TICKS * pod->n_attempts;
    }
    (void)pthread_mutex_unlock(&cluster->lock);
    *ret = pod;
    return pod ? 0 : -ENOMEM;
}

void demo_cluster_try_again(DemoCluster *cluster, const DemoPod *pod) {
    (void)pthread_mutex_lock(&cluster->lock);
    for (size_t i = cluster->n_pods; i-- > 0;)
        if (cluster->pods[i] == pod)
            cluster->pods[i]->n_attempts++;
    (void)pthread_mutex_unlock(&cluster->lock);
}

int demo_cluster_clear(DemoCluster *cluster) {
    size_t n_before = cluster->n_pods;

    (void)pthread_mutex_lock(&cluster->lock);
    for (size_t i = 0; i < cluster->n_pods; i++)
        cluster->pods[i]->ends_at = 0;
    end_pods(cluster);
    cluster->n_ended -= n_before - cluster->n_pods; /* cleared, not ended */
    n_before = cluster->n_pods;
    (void)pthread_mutex_unlock(&cluster->lock);
    return n_before == 0 ? 0 : -ENOMEM;
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
    *ret = (DemoClusterCounts){.n_nodes = cluster->n_nodes, .n_ended = cluster->n_ended};
    for (size_t i = 0; i < cluster->n_pods; i++)
        *(pod_is_pending(cluster->pods[i]) ? &ret->n_pending : &ret->n_running) += 1;
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
    if (show_pod(cluster, pod) == 0)
        return;
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
    _cleanup_(buf_done) Buf text = BUF_INIT(OBJECT_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(OBJECT_MAX * 4);
    DemoNode *node = &cluster->nodes[number], marked = *node;
    Rng rng = node->rng;
    int r;

    if (!arena)
        return -ENOMEM;
    r = write_node(cluster, number, changes, &rng, &text, arena, &marked);
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
