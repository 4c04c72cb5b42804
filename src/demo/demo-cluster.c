/* The demo's nodes and pods, in a Store: those at the start; ticks, attempts and binds. */

#include "demo/demo-cluster.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/vec.h"
#include "cluster/store.h"
#include "scheduler/queues.h"
#include "json/read.h"

#define BUDGET ((size_t)1024 * 1024 * 1024)

/* Requests on nodes at the start, in percent of allocatable. */
#define LOAD_MIN 15
#define LOAD_MAX 92

/* Age of the first pods. */
#define AGE_MIN_SEC 180
#define AGE_MAX_SEC (3 * 86400)

/* GPUs in use on average. Now and then pods request more, and are pending until others end; below
 * 100 % their number stays small. */
#define GPUS_USED_PERCENT 98
#define GPU_LIFE_MIN 4 /* ticks, of an average pod */
#define LIFE_MIN 50    /* of pods without GPUs */

#define DEMO_OBJECT_MAX ((size_t)64 * 1024)

typedef struct DemoNode {
    Str name;
    Rng rng;      /* its state before the node was created */
    Arena *arena; /* memory of the fields below, if the node was changed; NULL: the cluster's */
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

    VEC(DemoPod *) pods; /* oldest first */
    PendingQueue pending;
    size_t n_ended, n_deleted;
    PendingPodDeleted *deleted; /* NULL: none */
    void *deleted_context;
    uint64_t now; /* ticks */
    int64_t tick_nsec;
    uint64_t life_span, gpu_life_span; /* of an average pod, in ticks */
};

/* --- the start ------------------------------------------------------------- */

/* Makes a pod, which is not yet in the queue; NULL: no memory. */
static DemoPod *add_pod(DemoCluster *cluster, const Workload *workload) {
    DemoPod *pod = calloc(1, sizeof(*pod));

    if (!pod)
        return NULL;
    if (!VEC_ADD(&cluster->pods, cluster->arena, pod)) {
        free(pod);
        return NULL;
    }
    pod_maker_make(&cluster->maker, workload, cluster->now_sec, &cluster->rng, pod);
    return pod;
}

/* Writes and decodes the JSON, so that the served node equals the dumped one. 0, or -ENOMEM. */
static int write_node(const DemoCluster *cluster, size_t number, NodeChanges changes, Rng *rng,
    Arena *arena, DemoNode *node) {
    _cleanup_(buf_done) Buf text = BUF_INIT(DEMO_OBJECT_MAX);
    JsonReader reader;

    demo_node_write(number, cluster->begun_sec, changes, rng, &text);
    node->json = arena_copy(arena, buf_str(&text));
    if (buf_error(&text) < 0 || !node->json.ptr)
        return -ENOMEM;
    json_reader_init(&reader, node->json);
    node_decode(&reader, arena, &node->model);
    return json_error(&reader) == JSON_OK ? 0 : -ENOMEM; /* the text is valid */
}

/* Adds a pod that ran on the node before the demo began. 0, or -ENOMEM. */
static int add_running_pod(DemoCluster *cluster, const Workload *workload, const DemoNode *node) {
    DemoPod *pod = add_pod(cluster, workload);

    if (!pod)
        return -ENOMEM;
    pod->model.node_name = node->name;
    pod->model.created_at -= (int64_t)rng_between(&cluster->rng, AGE_MIN_SEC, AGE_MAX_SEC);
    pod->model.scheduled_at = pod->model.created_at;
    return 0;
}

/* Adds the pods of one workload that ran on the node before the demo began. */
static int load_node_with(DemoCluster *cluster, const DemoNode *node, const Workload *workload,
    size_t percent, int64_t *cpu) {
    const Resources *allocatable = &node->model.allocatable;
    const Resources *requests = &workload->templates[0].pod.requests;
    size_t n = rng_between(&cluster->rng, 0, workload->home_max);
    int64_t gpus = resources_get(allocatable, STR(DEMO_GPU));
    int64_t cpu_max = resources_get(allocatable, STR("cpu")) / 100 * (int64_t)percent;

    for (size_t i = 0; i < n; i++) {
        *cpu += resources_get(requests, STR("cpu"));
        gpus -= workload->gpus;
        if (*cpu > cpu_max || gpus < 0)
            return 0;
        if (add_running_pod(cluster, workload, node) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int load_node(DemoCluster *cluster, size_t number) {
    size_t percent = rng_between(&cluster->rng, LOAD_MIN, LOAD_MAX);
    const DemoWorkloads *all = &cluster->maker.workloads;
    int64_t cpu = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < all->n; i++)
        if (str_is(all->items[i].home, demo_node_pool_name(number)))
            r = load_node_with(cluster, &cluster->nodes[number], &all->items[i], percent, &cpu);
    return r;
}

/* Ticks that a pod of @workload lives at most. */
static uint64_t life_max(const DemoCluster *cluster, const Workload *workload) {
    return workload->gpus > 0 ? cluster->gpu_life_span * 2
                              : cluster->life_span * 2 * workload->life_span / 100;
}

/* The number of pods is stable if an average pod lives for as many ticks as there are pods. Initial
 * pods are part of the way through their life. */
static void set_ends(DemoCluster *cluster) {
    const Workload *training = demo_workloads_find(&cluster->maker.workloads, STR("training"));
    uint64_t n_gpus = 0; /* that new pods can get */

    for (size_t i = 0; i < cluster->n_nodes; i++) {
        const Node *node = &cluster->nodes[i].model;

        if (node->is_ready && !node->is_unschedulable)
            n_gpus += (uint64_t)resources_get(&node->allocatable, STR(DEMO_GPU));
    }
    n_gpus = n_gpus * GPUS_USED_PERCENT / 100;
    cluster->life_span = cluster->pods.n > LIFE_MIN ? cluster->pods.n : LIFE_MIN;
    cluster->gpu_life_span = n_gpus * WORKLOAD_SHARES / training->share * 4 / 5;
    if (cluster->gpu_life_span < GPU_LIFE_MIN)
        cluster->gpu_life_span = GPU_LIFE_MIN;
    for (size_t i = 0; i < cluster->pods.n; i++)
        cluster->pods.items[i]->ends_at = rng_between(
            &cluster->rng, 1, (size_t)life_max(cluster, cluster->pods.items[i]->workload));
}

/* Adds a pod, which has a node, to the store. 0, or -ENOMEM. */
static int show_pod(DemoCluster *cluster, const DemoPod *pod) {
    int r = store_apply_pod(cluster->store, &pod->model);

    return r == STORE_BOUND ? 0 : error_fold(r);
}

static int populate(DemoCluster *cluster) {
    int r = pod_maker_init(&cluster->maker, cluster->arena);

    for (size_t i = 0; r == 0 && i < cluster->n_nodes; i++) {
        DemoNode *node = &cluster->nodes[i];

        node->rng = cluster->rng;
        r = write_node(cluster, i, (NodeChanges){0}, &cluster->rng, cluster->arena, node);
        node->name = node->model.name;
        if (r == 0)
            r = map_add(&cluster->index, node->name, (uint32_t)i);
    }
    for (size_t i = 0; r == 0 && i < cluster->n_nodes; i++)
        r = load_node(cluster, i);
    set_ends(cluster);
    for (size_t i = 0; r == 0 && i < cluster->n_nodes; i++)
        r = error_fold(store_apply_node(cluster->store, &cluster->nodes[i].model));
    for (size_t i = 0; r == 0 && i < cluster->pods.n; i++)
        r = show_pod(cluster, cluster->pods.items[i]);
    return r;
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
    cluster->arena = arena_new(BUDGET);
    cluster->n_nodes = n_nodes;
    if (cluster->arena)
        cluster->nodes = ARENA_ARRAY(cluster->arena, DemoNode, n_nodes);
    r = cluster->store && cluster->nodes ? populate(cluster) : -ENOMEM;
    if (r < 0)
        return r;
    *ret = TAKE_PTR(cluster);
    return 0;
}

int demo_cluster_use_gpus(DemoCluster *cluster) {
    const Workload *workload = demo_workloads_find(&cluster->maker.workloads, STR("training"));
    int r = 0;

    for (size_t i = 0; i < cluster->n_nodes; i++) {
        const DemoNode *node = &cluster->nodes[i];
        int64_t n_free = resources_get(&node->model.allocatable, STR(DEMO_GPU));

        for (size_t k = 0; n_free > 0 && k < cluster->pods.n; k++)
            if (str_eq(cluster->pods.items[k]->model.node_name, node->name))
                n_free -= cluster->pods.items[k]->workload->gpus;
        for (; r == 0 && n_free > 0; n_free--) {
            r = add_running_pod(cluster, workload, node);
            if (r == 0)
                r = show_pod(cluster, cluster->pods.items[cluster->pods.n - 1]);
        }
    }
    set_ends(cluster);
    return r;
}

DemoCluster *demo_cluster_free(DemoCluster *cluster) {
    if (!cluster)
        return NULL;
    for (size_t i = 0; i < cluster->pods.n; i++)
        free(cluster->pods.items[i]);
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

static bool pod_is_pending(const DemoPod *pod) {
    return str_is_empty(pod->model.node_name);
}

static int64_t now_nsec(const DemoCluster *cluster) {
    return (int64_t)cluster->now * cluster->tick_nsec;
}

static void end_pods(DemoCluster *cluster) {
    size_t kept = 0;

    for (size_t i = 0; i < cluster->pods.n; i++) {
        DemoPod *pod = cluster->pods.items[i];

        if (pod->ends_at > cluster->now) {
            cluster->pods.items[kept++] = pod;
            continue;
        }
        if (pod_is_pending(pod)) {
            pending_queue_remove(&cluster->pending, pod->number);
            cluster->n_deleted++;
            if (cluster->deleted)
                cluster->deleted(cluster->deleted_context, &pod->model);
        } else {
            store_remove_pod(cluster->store, pod->model.namespace, pod->model.name, pod->model.uid);
            pending_queue_wake(&cluster->pending); /* there may be room for a pending one */
            cluster->n_ended++;
        }
        free(pod);
    }
    cluster->pods.n = kept;
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
    _unlock_ pthread_mutex_t *held = mutex_hold(&cluster->lock);
    bool is_random = !workload;
    uint64_t most;
    DemoPod *pod;

    cluster->now++;
    cluster->now_sec = now_sec;
    end_pods(cluster);
    workload = is_random ? pod_maker_next(&cluster->maker, &cluster->rng) : workload;
    *ret = pod = add_pod(cluster, workload);
    if (!pod)
        return -ENOMEM;
    pod->life = life;
    pod->ends_at = life > 0 ? cluster->now + life : UINT64_MAX;
    if (is_random) {
        most = life_max(cluster, workload);
        pod->life = rng_between(&cluster->rng, (size_t)most / 4, (size_t)most);
        pod->ends_at = cluster->now + 1 + (uint64_t)(DEMO_PATIENCE_NSEC / cluster->tick_nsec);
    }
    return pending_queue_add(&cluster->pending, cluster->arena, pod->number, pod->model.priority);
}

/* --- attempts --------------------------------------------------------------- */

static const DemoPod *note_attempt(DemoCluster *cluster, PendingPod *entry) {
    size_t i = cluster->pods.n - 1;
    DemoPod *pod;

    while (cluster->pods.items[i]->number != entry->number) /* the list has it */
        i--;
    pod = cluster->pods.items[i];
    pending_pod_park(entry, now_nsec(cluster));
    pod->n_attempts = entry->n_attempts;
    return pod;
}

const DemoPod *demo_cluster_due_pod(DemoCluster *cluster) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&cluster->lock);
    PendingPod *entry = pending_queue_due(&cluster->pending, now_nsec(cluster));

    return entry ? note_attempt(cluster, entry) : NULL;
}

void demo_cluster_try(DemoCluster *cluster, const DemoPod *pod) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&cluster->lock);

    for (size_t i = 0; i < cluster->pending.n; i++)
        if (cluster->pending.items[i].number == pod->number)
            (void)note_attempt(cluster, &cluster->pending.items[i]);
}

void demo_cluster_clear(DemoCluster *cluster) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&cluster->lock);
    size_t n_ended = cluster->n_ended, n_deleted = cluster->n_deleted;

    for (size_t i = 0; i < cluster->pods.n; i++)
        cluster->pods.items[i]->ends_at = 0;
    end_pods(cluster);
    cluster->n_ended = n_ended; /* cleared, not ended */
    cluster->n_deleted = n_deleted;
}

const DemoWorkloads *demo_cluster_workloads(const DemoCluster *cluster) {
    return &cluster->maker.workloads;
}

void demo_cluster_count(DemoCluster *cluster, DemoClusterCounts *ret) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&cluster->lock);

    *ret = (DemoClusterCounts){.n_nodes = cluster->n_nodes,
        .n_pending = cluster->pending.n,
        .n_running = cluster->pods.n - cluster->pending.n,
        .n_ended = cluster->n_ended,
        .n_deleted = cluster->n_deleted};
    for (size_t i = 0; i < cluster->pods.n; i++)
        if (pod_is_pending(cluster->pods.items[i]))
            ret->pending[cluster->pods.items[i]->workload->number]++;
}

/* --- binds ------------------------------------------------------------------ */

/* Searches from the newest: a bind is for a recent pod. */
static DemoPod *find_pod(DemoCluster *cluster, Str namespace, Str name) {
    for (size_t i = cluster->pods.n; i-- > 0;) {
        const Pod *model = &cluster->pods.items[i]->model;

        if (str_eq(model->name, name) && str_eq(model->namespace, namespace))
            return cluster->pods.items[i];
    }
    return NULL;
}

static void place_pod(
    DemoCluster *cluster, DemoPod *pod, const DemoNode *node, char *error, size_t size) {
    pod->model.node_name = node->name;
    pod->model.scheduled_at = cluster->now_sec;
    if (show_pod(cluster, pod) == 0) {
        pending_queue_remove(&cluster->pending, pod->number);
        pod->ends_at = pod->life > 0 ? cluster->now + pod->life : UINT64_MAX;
        return;
    }
    pod->model.node_name = STR_NULL;
    pod->model.scheduled_at = 0;
    (void)snprintf(error, size, "out of memory for a pod of the demo");
}

void demo_cluster_bind(void *context, const BindArgs *args, char *error, size_t size) {
    DemoCluster *cluster = context;
    _unlock_ pthread_mutex_t *held = mutex_hold(&cluster->lock);
    DemoPod *pod = find_pod(cluster, args->pod_namespace, args->pod_name);
    uint32_t node = map_find(&cluster->index, args->node);

    error[0] = '\0';
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

/* --- changes of nodes ------------------------------------------------------- */

static int change_node_locked(DemoCluster *cluster, size_t number, NodeChanges changes) {
    _cleanup_(arena_freep) Arena *arena = arena_new(DEMO_OBJECT_MAX * 4);
    DemoNode *node = &cluster->nodes[number], marked = *node;
    Rng rng = node->rng;
    int r;

    if (!arena)
        return -ENOMEM;
    r = write_node(cluster, number, changes, &rng, arena, &marked);
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
    _unlock_ pthread_mutex_t *held = mutex_hold(&cluster->lock);

    if (number == MAP_NONE)
        return 0;
    pending_queue_wake(&cluster->pending);
    return change_node_locked(cluster, number, changes);
}

/* --- views ------------------------------------------------------------------ */

int demo_cluster_snapshot(DemoCluster *cluster, Snapshot **ret) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&cluster->lock);

    return store_publish(cluster->store, ret);
}

void demo_cluster_write(DemoCluster *cluster, Buf *out) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&cluster->lock);
    const char *comma = "";

    buf_append(out, STR("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["));
    for (size_t i = 0; i < cluster->n_nodes; i++) {
        buf_append(out, str_from_c(comma));
        buf_append(out, cluster->nodes[i].json);
        comma = ",";
    }
    for (size_t i = 0; i < cluster->pods.n; i++) {
        const DemoPod *pod = cluster->pods.items[i];

        buf_append(out, str_from_c(comma));
        demo_pod_write(pod, /* is_typed= */ true, out);
    }
    buf_append(out, STR("]}\n"));
}
