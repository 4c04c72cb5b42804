/* The demo's nodes, and the pods that run at the start. */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "demo/demo-cluster-internal.h"
#include "demo/demo-node.h"
#include "json/read.h"

#define DEMO_CLUSTER_BUDGET ((size_t)1024 * 1024 * 1024)

/* Requests on nodes at the start, in percent of allocatable. */
#define LOAD_MIN 15
#define LOAD_MAX 92

/* Age of the first pods. */
#define AGE_MIN_SEC 180
#define AGE_MAX_SEC (3 * 86400)

/* GPUs in use on average. More pods at a time request them now and then, which are pending until
 * others end; with fewer than all, their number stays small. */
#define GPUS_USED_PERCENT 98
#define GPU_LIFE_MIN 4 /* ticks, of an average pod */
#define LIFE_MIN 50    /* of pods without GPUs */

DemoPod *demo_cluster_add_pod(DemoCluster *cluster, const Workload *workload) {
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

int demo_cluster_write_node(const DemoCluster *cluster, size_t number, NodeChanges changes,
    Rng *rng, Buf *text, Arena *arena, DemoNode *node) {
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
    r = demo_cluster_write_node(
        cluster, number, (NodeChanges){0}, &cluster->rng, text, cluster->arena, node);
    if (r < 0)
        return r;
    node->name = node->model.name;
    return map_add(&cluster->index, node->name, (uint32_t)number);
}

/* A pod that ran on the node before the demo began. 0, or -ENOMEM. */
static int add_running_pod(DemoCluster *cluster, const Workload *workload, const DemoNode *node) {
    DemoPod *pod = demo_cluster_add_pod(cluster, workload);

    if (!pod)
        return -ENOMEM;
    pod->model.node_name = node->name;
    pod->model.created_at -= (int64_t)rng_between(&cluster->rng, AGE_MIN_SEC, AGE_MAX_SEC);
    pod->model.scheduled_at = pod->model.created_at;
    return 0;
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
        *cpu += resources_get(requests, STR("cpu"));
        gpus -= workload->gpus;
        if (*cpu > share_of(allocatable, STR("cpu"), percent) || gpus < 0)
            return 0;
        if (add_running_pod(cluster, workload, node) < 0)
            return -ENOMEM;
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

/* GPUs that new pods can get. */
static size_t count_gpus(const DemoCluster *cluster) {
    size_t n = 0;

    for (size_t i = 0; i < cluster->n_nodes; i++) {
        const Node *node = &cluster->nodes[i].model;

        if (node->is_ready && !node->is_unschedulable)
            n += (size_t)resources_get(&node->allocatable, STR(DEMO_GPU));
    }
    return n;
}

uint64_t demo_cluster_life_max(const DemoCluster *cluster, const Workload *workload) {
    return workload->gpus > 0 ? cluster->gpu_life_span * 2
                              : cluster->life_span * 2 * workload->life_span / 100;
}

static uint64_t at_least(uint64_t n, uint64_t least) {
    return n < least ? least : n;
}

/* The number of pods is stable if an average pod lives for as many ticks as there are pods. Initial
 * pods are part of the way through their life. */
static void set_ends(DemoCluster *cluster) {
    uint64_t n_gpus = count_gpus(cluster) * GPUS_USED_PERCENT / 100;

    cluster->life_span = at_least(cluster->n_pods, LIFE_MIN);
    cluster->gpu_life_span = at_least(
        n_gpus * WORKLOAD_SHARES / workload_named("training")->share * 4 / 5, GPU_LIFE_MIN);
    for (size_t i = 0; i < cluster->n_pods; i++)
        cluster->pods[i]->ends_at = rng_between(
            &cluster->rng, 1, (size_t)demo_cluster_life_max(cluster, cluster->pods[i]->workload));
}

int demo_cluster_show_pod(DemoCluster *cluster, const DemoPod *pod) {
    int r = store_apply_pod(cluster->store, &pod->model);

    return r == STORE_BOUND ? 0 : error_fold(r);
}

static int fill_store(DemoCluster *cluster) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < cluster->n_nodes; i++)
        r = error_fold(store_apply_node(cluster->store, &cluster->nodes[i].model));
    for (size_t i = 0; r == 0 && i < cluster->n_pods; i++)
        r = demo_cluster_show_pod(cluster, cluster->pods[i]);
    return r;
}

static int populate(DemoCluster *cluster) {
    _cleanup_(buf_done) Buf text = BUF_INIT(DEMO_OBJECT_MAX);
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
    cluster->tick_nsec = DEMO_TICK_NSEC;
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

/* GPUs of the node that no pod uses. */
static int64_t free_gpus(const DemoCluster *cluster, const DemoNode *node) {
    int64_t n = resources_get(&node->model.allocatable, STR(DEMO_GPU));

    for (size_t i = 0; n > 0 && i < cluster->n_pods; i++)
        if (str_eq(cluster->pods[i]->model.node_name, node->name))
            n -= cluster->pods[i]->workload->gpus;
    return n;
}

int demo_cluster_use_gpus(DemoCluster *cluster) {
    const Workload *workload = workload_named("training");
    int r = 0;

    for (size_t i = 0; i < cluster->n_nodes; i++)
        for (int64_t n = free_gpus(cluster, &cluster->nodes[i]); r == 0 && n > 0; n--) {
            r = add_running_pod(cluster, workload, &cluster->nodes[i]);
            if (r == 0)
                r = demo_cluster_show_pod(cluster, cluster->pods[cluster->n_pods - 1]);
        }
    set_ends(cluster);
    return r;
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
    pending_queue_done(&cluster->pending);
    store_free(cluster->store);
    arena_free(cluster->arena);
    (void)pthread_mutex_destroy(&cluster->lock);
    free(cluster);
    return NULL;
}
