#include "demo/world.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/dice.h"
#include "base/error.h"
#include "base/map.h"
#include "cluster/store.h"
#include "demo/fleet.h"
#include "model/node.h"
#include "json/read.h"

#define WORLD_BUDGET ((size_t)1024 * 1024 * 1024)
#define OBJECT_MAX ((size_t)64 * 1024)

/* How full nodes are at the start, percent of what they offer. */
#define LOAD_MIN 15
#define LOAD_MAX 92

/* How long the first pods have been there. */
#define AGE_MIN_SEC 180
#define AGE_MAX_SEC (3 * 86400)

/* Ticks until a pod that found no node is tried again; longer each time. */
#define RETRY_TICKS 8

typedef struct WorldNode {
    Str name;
    Dice dice;    /* as they were when it was made */
    Arena *arena; /* of what follows, once it was marked; NULL: the world's */
    Str json;
    Node model;
} WorldNode;

struct World {
    pthread_mutex_t lock; /* of all below that a bind touches: pods and figures */
    Arena *arena;         /* nodes, samples, and what pods are copied from */
    Dice dice;
    WorldNode *nodes;
    size_t n_nodes;
    Store *store; /* nodes, and the pods that have one: what a scheduler sees */
    Map index;    /* node name to number */
    int64_t now_sec, begun_sec;
    PodMaker maker;

    WorldPod **pods; /* oldest first */
    size_t n_pods, size;
    size_t n_ended;
    uint64_t now;       /* pods handed out so far */
    uint64_t life_span; /* of an average pod, in ticks */
};

/* --- pods ------------------------------------------------------------------ */

static WorldPod *add_pod(World *world, const Workload *workload) {
    WorldPod *pod;

    if (world->n_pods == world->size) {
        size_t size = world->size ? world->size * 2 : 256;
        WorldPod **pods = reallocarray(world->pods, size, sizeof(void *));

        if (!pods)
            return NULL;
        world->pods = pods;
        world->size = size;
    }
    pod = calloc(1, sizeof(*pod));
    if (!pod)
        return NULL;
    pod_maker_make(&world->maker, workload, world->now_sec, &world->dice, pod);
    world->pods[world->n_pods++] = pod;
    return pod;
}

static bool pod_is_pending(const WorldPod *pod) {
    return str_is_empty(pod->model.node_name);
}

/* --- the beginning ----------------------------------------------------------- */

/* Writes a node and reads it back: what is served and what is dumped are the same. */
static int write_node(const World *world, size_t number, NodeMarks marks, Dice *dice, Buf *text,
    Arena *arena, WorldNode *node) {
    JsonWriter writer = JSON_WRITER(text);
    JsonReader reader;

    buf_reset(text);
    fleet_write_node(number, world->begun_sec, marks, dice, &writer);
    node->json = arena_copy(arena, buf_str(text));
    if (buf_error(text) < 0 || !node->json.ptr)
        return -ENOMEM;
    json_reader_init(&reader, node->json);
    node_decode(&reader, arena, &node->model);
    return json_error(&reader) == JSON_OK ? 0 : -ENOMEM; /* what we write can be read */
}

static int make_node(World *world, size_t number, Buf *text) {
    WorldNode *node = &world->nodes[number];
    int r;

    node->dice = world->dice;
    r = write_node(world, number, (NodeMarks){0}, &world->dice, text, world->arena, node);
    if (r < 0)
        return r;
    node->name = node->model.name;
    return map_add(&world->index, node->name, (uint32_t)number);
}

static int64_t share_of(const Resources *all, Str name, size_t percent) {
    return resources_get(all, name) / 100 * (int64_t)percent;
}

/* Pods of one workload that ran on the node before the demo began. */
static int load_node_with(
    World *world, const WorldNode *node, const Workload *workload, size_t percent, int64_t *cpu) {
    const Resources *offered = &node->model.allocatable;
    const Resources *asked = &pod_maker_template(&world->maker, workload, 0)->requests;
    size_t n = dice_between(&world->dice, 0, workload->home_max);
    int64_t gpus = resources_get(offered, STR(FLEET_GPU));

    for (size_t i = 0; i < n; i++) {
        WorldPod *pod;

        *cpu += resources_get(asked, STR("cpu"));
        gpus -= workload->gpus;
        if (*cpu > share_of(offered, STR("cpu"), percent) || gpus < 0)
            return 0;
        pod = add_pod(world, workload);
        if (!pod)
            return -ENOMEM;
        pod->model.node_name = node->name;
        pod->model.created_at -= (int64_t)dice_between(&world->dice, AGE_MIN_SEC, AGE_MAX_SEC);
        pod->model.scheduled_at = pod->model.created_at;
    }
    return 0;
}

static int load_node(World *world, size_t number) {
    size_t percent = dice_between(&world->dice, LOAD_MIN, LOAD_MAX);
    int64_t cpu = 0;
    int r;

    for (size_t i = 0; i < n_workloads; i++) {
        if (workloads[i].home != fleet_pool(number) || workloads[i].is_mended)
            continue;
        r = load_node_with(world, &world->nodes[number], &workloads[i], percent, &cpu);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Pods end as fast as they are created when there are as many of them as an
 * average one sees created in its life. The first ones have lived for a while. */
static void set_ends(World *world) {
    world->life_span = world->n_pods < 50 ? 50 : world->n_pods;
    for (size_t i = 0; i < world->n_pods; i++)
        world->pods[i]->ends_at = dice_between(&world->dice,
            1,
            (size_t)(world->life_span * 2 * world->pods[i]->workload->life_span / 100));
}

/* A scheduler sees the pod from now on. 0, or -ENOMEM. */
static int show_pod(World *world, const WorldPod *pod) {
    int r = store_apply_pod(world->store, &pod->model);

    return r == STORE_BOUND ? 0 : error_fold(r);
}

static int fill_store(World *world) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < world->n_nodes; i++)
        r = error_fold(store_apply_node(world->store, &world->nodes[i].model));
    for (size_t i = 0; r == 0 && i < world->n_pods; i++)
        r = show_pod(world, world->pods[i]);
    return r;
}

static int populate(World *world) {
    _cleanup_(buf_done) Buf text = BUF_INIT(OBJECT_MAX);
    int r = pod_maker_init(&world->maker, world->arena);

    for (size_t i = 0; r == 0 && i < world->n_nodes; i++)
        r = make_node(world, i, &text);
    for (size_t i = 0; r == 0 && i < world->n_nodes; i++)
        r = load_node(world, i);
    set_ends(world);
    return r < 0 ? r : fill_store(world);
}

int world_new(size_t n_nodes, uint64_t seed, int64_t now_sec, World **ret) {
    _cleanup_(world_freep) World *world = calloc(1, sizeof(*world));
    int r;

    assert(n_nodes > 0 && n_nodes <= WORLD_NODES_MAX);
    if (!world)
        return -ENOMEM;
    (void)pthread_mutex_init(&world->lock, NULL);
    world->dice = (Dice){.state = seed};
    world->now_sec = world->begun_sec = now_sec;
    world->index = MAP_INIT;
    world->store = store_new();
    world->arena = arena_new(WORLD_BUDGET);
    if (!world->store || !world->arena)
        return -ENOMEM;
    world->n_nodes = n_nodes;
    world->nodes = ARENA_ARRAY(world->arena, WorldNode, n_nodes);
    if (!world->nodes)
        return -ENOMEM;
    r = populate(world);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(world);
    return 0;
}

World *world_free(World *world) {
    if (!world)
        return NULL;
    for (size_t i = 0; i < world->n_pods; i++)
        free(world->pods[i]);
    free(world->pods);
    for (size_t i = 0; world->nodes && i < world->n_nodes; i++)
        arena_free(world->nodes[i].arena);
    map_done(&world->index);
    store_free(world->store);
    arena_free(world->arena);
    (void)pthread_mutex_destroy(&world->lock);
    free(world);
    return NULL;
}

/* --- time ------------------------------------------------------------------ */

static void end_pods(World *world) {
    size_t kept = 0;

    for (size_t i = 0; i < world->n_pods; i++) {
        WorldPod *pod = world->pods[i];

        if (pod->ends_at > world->now) {
            world->pods[kept++] = pod;
            continue;
        }
        store_remove_pod(world->store, pod->model.namespace, pod->model.name, pod->model.uid);
        free(pod);
    }
    world->n_ended += world->n_pods - kept;
    world->n_pods = kept;
}

static WorldPod *find_due(World *world) {
    for (size_t i = 0; i < world->n_pods; i++) {
        WorldPod *pod = world->pods[i];

        if (pod_is_pending(pod) && pod->retry_at <= world->now &&
            pod->n_attempts < WORLD_ATTEMPTS_MAX)
            return pod;
    }
    return NULL;
}

static WorldPod *create_pod(World *world) {
    const Workload *workload = pod_maker_deal(&world->maker, &world->dice);
    uint64_t most = world->life_span * 2 * workload->life_span / 100;
    WorldPod *pod = add_pod(world, workload);

    if (pod)
        pod->ends_at = world->now + dice_between(&world->dice, (size_t)most / 4, (size_t)most);
    return pod;
}

int world_next_pod(World *world, int64_t now_sec, const WorldPod **ret) {
    WorldPod *pod;

    (void)pthread_mutex_lock(&world->lock);
    world->now++;
    world->now_sec = now_sec;
    end_pods(world);
    pod = find_due(world);
    if (!pod)
        pod = create_pod(world);
    if (pod) {
        pod->n_attempts++;
        pod->retry_at = world->now + (uint64_t)RETRY_TICKS * pod->n_attempts;
    }
    (void)pthread_mutex_unlock(&world->lock);
    if (!pod)
        return -ENOMEM;
    *ret = pod;
    return 0;
}

int world_make_pod(
    World *world, const Workload *workload, uint64_t life, int64_t now_sec, const WorldPod **ret) {
    WorldPod *pod;

    (void)pthread_mutex_lock(&world->lock);
    world->now++;
    world->now_sec = now_sec;
    end_pods(world);
    pod = add_pod(world, workload);
    if (pod) {
        pod->n_attempts = 1;
        pod->ends_at = life > 0 ? world->now + life : UINT64_MAX;
    }
    (void)pthread_mutex_unlock(&world->lock);
    if (!pod)
        return -ENOMEM;
    *ret = pod;
    return 0;
}

void world_try_again(World *world, const WorldPod *pod) {
    (void)pthread_mutex_lock(&world->lock);
    for (size_t i = world->n_pods; i-- > 0;)
        if (world->pods[i] == pod)
            world->pods[i]->n_attempts++;
    (void)pthread_mutex_unlock(&world->lock);
}

int world_clear(World *world) {
    size_t n_before = world->n_pods;

    (void)pthread_mutex_lock(&world->lock);
    for (size_t i = 0; i < world->n_pods; i++)
        world->pods[i]->ends_at = 0;
    end_pods(world);
    world->n_ended -= n_before - world->n_pods; /* they were taken away */
    n_before = world->n_pods;
    (void)pthread_mutex_unlock(&world->lock);
    return n_before == 0 ? 0 : -ENOMEM;
}

const WorldPod *world_sample_pod(World *world, const char *name) {
    const Workload *workload = workload_named(name);
    WorldPod *pod = workload ? ARENA_NEW(world->arena, WorldPod) : NULL;

    if (pod)
        pod_maker_make(&world->maker, workload, world->now_sec, &world->dice, pod);
    return pod;
}

void world_figures(World *world, WorldFigures *ret) {
    (void)pthread_mutex_lock(&world->lock);
    *ret = (WorldFigures){.n_nodes = world->n_nodes, .n_ended = world->n_ended};
    for (size_t i = 0; i < world->n_pods; i++)
        *(pod_is_pending(world->pods[i]) ? &ret->n_pending : &ret->n_running) += 1;
    (void)pthread_mutex_unlock(&world->lock);
}

/* --- binds ------------------------------------------------------------------ */

/* The newest are the likely ones. */
static WorldPod *find_pod(World *world, Str namespace, Str name) {
    for (size_t i = world->n_pods; i-- > 0;) {
        const Pod *model = &world->pods[i]->model;

        if (str_eq(model->name, name) && str_eq(model->namespace, namespace))
            return world->pods[i];
    }
    return NULL;
}

static void place_pod(
    World *world, WorldPod *pod, const WorldNode *node, char *error, size_t size) {
    pod->model.node_name = node->name;
    pod->model.scheduled_at = world->now_sec;
    if (show_pod(world, pod) == 0)
        return;
    pod->model.node_name = STR_NULL;
    pod->model.scheduled_at = 0;
    (void)snprintf(error, size, "out of memory");
}

static void bind_locked(World *world, const BindArgs *args, char *error, size_t size) {
    WorldPod *pod = find_pod(world, args->pod_namespace, args->pod_name);
    uint32_t node = map_find(&world->index, args->node);

    if (!pod)
        (void)snprintf(error, size, "pods \"%.*s\" not found", STR_FMT(args->pod_name));
    else if (!str_eq(pod->model.uid, args->pod_uid))
        (void)snprintf(error, size, "the UID of pod %s is %s now", pod->name, pod->uid);
    else if (node == MAP_NONE)
        (void)snprintf(error, size, "nodes \"%.*s\" not found", STR_FMT(args->node));
    else if (pod_is_pending(pod))
        place_pod(world, pod, &world->nodes[node], error, size);
    else if (!str_eq(pod->model.node_name, args->node))
        (void)snprintf(error,
            size,
            "pod %s is already assigned to node \"%.*s\"",
            pod->name,
            STR_FMT(pod->model.node_name));
}

void world_bind(World *world, const BindArgs *args, char *error, size_t size) {
    error[0] = '\0';
    (void)pthread_mutex_lock(&world->lock);
    bind_locked(world, args, error, size);
    (void)pthread_mutex_unlock(&world->lock);
}

/* --- marks ------------------------------------------------------------------ */

static int mark_locked(World *world, size_t number, NodeMarks marks) {
    _cleanup_(buf_done) Buf text = BUF_INIT(OBJECT_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(OBJECT_MAX * 4);
    WorldNode *node = &world->nodes[number], marked = *node;
    Dice dice = node->dice;
    int r;

    if (!arena)
        return -ENOMEM;
    r = write_node(world, number, marks, &dice, &text, arena, &marked);
    if (r == 0)
        r = error_fold(store_apply_node(world->store, &marked.model));
    if (r < 0)
        return r;
    marked.arena = TAKE_PTR(arena);
    arena = node->arena; /* goes */
    *node = marked;
    return 0;
}

int world_mark_node(World *world, Str name, NodeMarks marks) {
    uint32_t number = map_find(&world->index, name);
    int r = 0;

    if (number == MAP_NONE)
        return 0;
    (void)pthread_mutex_lock(&world->lock);
    r = mark_locked(world, number, marks);
    (void)pthread_mutex_unlock(&world->lock);
    return r;
}

/* --- views ------------------------------------------------------------------ */

int world_snapshot(World *world, Snapshot **ret) {
    int r;

    (void)pthread_mutex_lock(&world->lock);
    r = store_publish(world->store, ret);
    (void)pthread_mutex_unlock(&world->lock);
    return r;
}

static void write_items(World *world, JsonWriter *writer) {
    for (size_t i = 0; i < world->n_nodes; i++)
        json_write_raw(writer, world->nodes[i].json);
    for (size_t i = 0; i < world->n_pods; i++) {
        const WorldPod *pod = world->pods[i];

        world_pod_write(pod, pod->model.node_name, /* is_typed= */ true, writer);
    }
}

void world_write(World *world, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write_object(&writer);
    json_write_key(&writer, STR("apiVersion"));
    json_write_string(&writer, STR("v1"));
    json_write_key(&writer, STR("kind"));
    json_write_string(&writer, STR("List"));
    json_write_key(&writer, STR("items"));
    json_write_array(&writer);
    (void)pthread_mutex_lock(&world->lock);
    write_items(world, &writer);
    (void)pthread_mutex_unlock(&world->lock);
    json_write_end_array(&writer);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}
