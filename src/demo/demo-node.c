/* Nodes of the demo: random properties, and their JSON. */

#include "demo/demo-node.h"

#include <stdio.h>

#include "base/nsec.h"
#include "json/write.h"

/* Reserved for kubelet and system daemons. */
#define RESERVED_CPU_MILLI 120
#define RESERVED_MEMORY_MI 1024

#define NOT_READY_PERCENT 4
#define CORDONED_PERCENT 3
#define DAEMON_MISSING_PERCENT 8
#define DISK_PRESSURE_PERCENT 4
#define HEADLESS_PERCENT 35 /* of the workspace nodes; some of these run regular pods, too */
#define HEADLESS_ONLY_PERCENT 15
#define IMAGE_PERCENT 45
#define VOLUMES_PERCENT 60 /* share of the general nodes with TopoLVM disks */
#define VOLUMES_BROKEN_PERCENT 4
#define STAYING_PERCENT 8
#define CANDIDATE_PERCENT 8 /* candidates for removal by the autoscaler */
#define LEAVING_PERCENT 2

#define AGE_MAX_SEC (90 * 86400)
#define GENERATION_MIN 3
#define GENERATION_MAX 5

#define HOSTS_OF_NET 250

typedef enum NodePool {
    POOL_GENERAL,
    POOL_BATCH,
    POOL_WORKSPACE,
    POOL_GPU,
    _POOL_MAX,
} NodePool;

typedef struct MachineType {
    const char *name;
    int cpu;        /* cores */
    int memory_gib; /* GiB */
    int gpus;
} MachineType;

static const struct {
    const char *name;
    MachineType types[3];
    size_t n_types;
} pool_types[_POOL_MAX] = {
    [POOL_GENERAL] = {"general",
        {{"standard-4", 4, 16, 0}, {"standard-8", 8, 32, 0}, {"standard-16", 16, 64, 0}}, 3},
    [POOL_BATCH] = {"batch", {{"compute-16", 16, 32, 0}, {"compute-32", 32, 64, 0}}, 2},
    [POOL_WORKSPACE] = {"workspace", {{"memory-8", 8, 64, 0}, {"memory-16", 16, 128, 0}}, 2},
    [POOL_GPU] = {"gpu", {{"gpu-2x", 24, 128, 2}, {"gpu-4x", 48, 256, 4}}, 2},
};

static NodePool pool_of(size_t index) {
    /* Per twenty nodes: nine general, four batch, five workspace, two gpu. */
    enum { G = POOL_GENERAL, B = POOL_BATCH, W = POOL_WORKSPACE, U = POOL_GPU };
    static const uint8_t pattern[] = {G, W, G, B, G, U, W, G, G, B, W, G, B, W, G, U, G, W, B, G};

    return (NodePool)pattern[index % ELEMENTS_OF(pattern)];
}

const char *demo_node_pool_name(size_t index) {
    return pool_types[pool_of(index)].name;
}

/* The random properties of a node. */
typedef struct DemoNodeSpec {
    NodePool pool;
    const MachineType *type;
    const char *zone;
    char name[64], address[16];
    int64_t created_at;
    size_t generation;
    bool is_ready, is_cordoned;
    bool has_daemon, is_pressed, takes_regular, takes_headless, has_image; /* for workspaces */
    bool has_volumes, is_broken;                                           /* TopoLVM's */
    uint64_t volume_bytes;
    bool stays, is_candidate, is_leaving; /* for the autoscaler: never, maybe or being removed */
} DemoNodeSpec;

static void roll_workspace(DemoNodeSpec *spec, Rng *rng) {
    size_t headless = rng_pick(rng, 100);

    spec->has_daemon = !rng_percent(rng, DAEMON_MISSING_PERCENT);
    spec->is_pressed = rng_percent(rng, DISK_PRESSURE_PERCENT);
    spec->has_image = rng_percent(rng, IMAGE_PERCENT);
    spec->takes_headless = headless < HEADLESS_PERCENT;
    spec->takes_regular = headless >= HEADLESS_ONLY_PERCENT;
}

static void roll_general(DemoNodeSpec *spec, Rng *rng) {
    spec->has_volumes = rng_percent(rng, VOLUMES_PERCENT);
    spec->is_broken = rng_percent(rng, VOLUMES_BROKEN_PERCENT);
    spec->volume_bytes = ((UINT64_C(1) << rng_between(rng, 31, 40)) / 3) & ~UINT64_C(0xfffff);
    spec->is_candidate = rng_percent(rng, CANDIDATE_PERCENT);
    spec->is_leaving = rng_percent(rng, LEAVING_PERCENT);
}

static void roll_spec(size_t index, int64_t now_sec, Rng *rng, DemoNodeSpec *ret) {
    static const char *const zones[] = {"a", "b", "c"};
    NodePool pool = pool_of(index);

    *ret = (DemoNodeSpec){
        .pool = pool,
        .zone = zones[rng_pick(rng, ELEMENTS_OF(zones))],
        .type = &pool_types[pool].types[rng_pick(rng, pool_types[pool].n_types)],
    };
    ret->is_ready = !rng_percent(rng, NOT_READY_PERCENT);
    ret->is_cordoned = rng_percent(rng, CORDONED_PERCENT);
    ret->created_at = now_sec - (int64_t)rng_between(rng, 3600, AGE_MAX_SEC);
    ret->generation = rng_between(rng, GENERATION_MIN, GENERATION_MAX);
    ret->stays = rng_percent(rng, STAYING_PERCENT);
    if (pool == POOL_WORKSPACE)
        roll_workspace(ret, rng);
    if (pool == POOL_GENERAL)
        roll_general(ret, rng);
    (void)snprintf(
        ret->name, sizeof(ret->name), "%s-%s-%03zu", pool_types[pool].name, ret->zone, index);
    (void)snprintf(ret->address, sizeof(ret->address), "10.20.%u.%u",
        (unsigned)(index / HOSTS_OF_NET % 256), (unsigned)(index % HOSTS_OF_NET + 1));
}

/* Some labels are Gitpod's, which policies/workspaces.yaml reads. */
static void put_labels(const DemoNodeSpec *spec, JsonWriter *writer) {
    bool is_workspace = spec->pool == POOL_WORKSPACE;
    const char *pool = pool_types[spec->pool].name;
    char generation[24];
    const struct {
        const char *key, *value; /* NULL: the label is omitted */
    } labels[] = {
        {DEMO_DEDICATED, spec->pool != POOL_GENERAL ? pool : NULL},
        {"example.com/node-generation", generation},
        {"example.com/pool", pool},
        {DEMO_DAEMON, !is_workspace      ? NULL
                      : spec->has_daemon ? "ready"
                                         : "starting"},
        {"gitpod.io/diskPressure", spec->is_pressed ? "true" : NULL},
        {"gitpod.io/registry-facade_ready_ns_" DEMO_WORKSPACES, is_workspace ? "true" : NULL},
        {"gitpod.io/workload_workspace_headless", spec->takes_headless ? "true" : NULL},
        {"gitpod.io/workload_workspace_regular", spec->takes_regular ? "true" : NULL},
        {"gitpod.io/ws-daemon_ready_ns_" DEMO_WORKSPACES, is_workspace ? "true" : NULL},
        {"kubernetes.io/arch", "amd64"},
        {"kubernetes.io/hostname", spec->name},
        {"kubernetes.io/os", "linux"},
        {"node.kubernetes.io/instance-type", spec->type->name},
        {"topology.kubernetes.io/zone", spec->zone},
    };

    (void)snprintf(generation, sizeof(generation), "%zu", spec->generation);
    for (size_t i = 0; i < ELEMENTS_OF(labels); i++)
        json_write(writer, "%s?: %s", labels[i].key, labels[i].value);
}

static void put_metadata(const DemoNodeSpec *spec, NodeChanges changes, JsonWriter *writer) {
    json_write(writer, "metadata: {name: %s, creationTimestamp: %.0td, labels: {", spec->name,
        spec->created_at * NSEC_PER_SEC);
    put_labels(spec, writer);
    json_write(writer, "}, annotations: {");
    if (spec->has_volumes && spec->is_broken)
        json_write(writer, DEMO_VOLUMES ": 'unknown'");
    else if (spec->has_volumes)
        json_write(writer, DEMO_VOLUMES ": '%zu'", spec->volume_bytes);
    if (spec->stays)
        json_write(writer, "cluster-autoscaler.kubernetes.io/scale-down-disabled: 'true'");
    for (size_t i = 0; i < changes.n; i++)
        json_write_member(writer, changes.items[i].key, changes.items[i].value);
    json_write(writer, "}}");
}

static void put_spec(const DemoNodeSpec *spec, JsonWriter *writer) {
    const struct {
        bool is_there;
        const char *key, *value, *effect;
    } taints[] = {
        {spec->pool == POOL_GPU, DEMO_GPU, "present", "NoSchedule"},
        {spec->pool == POOL_WORKSPACE && !spec->has_daemon, "gitpod.io/ws-daemon-not-ready", "true",
            "NoSchedule"},
        {spec->is_candidate, "DeletionCandidateOfClusterAutoscaler", "", "PreferNoSchedule"},
        {spec->is_leaving, "ToBeDeletedByClusterAutoscaler", "", "NoSchedule"},
        {spec->is_cordoned, "node.kubernetes.io/unschedulable", "", "NoSchedule"},
    };

    json_write(writer, "spec: {taints: [");
    for (size_t i = 0; i < ELEMENTS_OF(taints); i++)
        if (taints[i].is_there)
            json_write(writer, "{key: %s, value?: %s, effect: %s}", taints[i].key, taints[i].value,
                taints[i].effect);
    json_write(writer, "], unschedulable?: %i}", spec->is_cordoned);
}

static void put_resources(
    const char *key, int cpu_milli, int memory_mi, int gpus, JsonWriter *writer) {
    json_write(writer, "%s: {cpu: '%dm', memory: '%dMi'", key, cpu_milli, memory_mi);
    if (gpus > 0)
        json_write(writer, DEMO_GPU ": '%d'", gpus);
    json_write(writer, "pods: '110'}");
}

static void put_status(const DemoNodeSpec *spec, JsonWriter *writer) {
    int cpu_milli = spec->type->cpu * 1000, memory_mi = spec->type->memory_gib * 1024;
    int gpus = spec->type->gpus;

    json_write(writer, "status: {");
    put_resources("capacity", cpu_milli, memory_mi, gpus, writer);
    put_resources("allocatable", cpu_milli - RESERVED_CPU_MILLI, memory_mi - RESERVED_MEMORY_MI,
        gpus, writer);
    json_write(writer, "conditions: [{type: 'Ready', status: %s, reason: %s}]",
        spec->is_ready ? "True" : "Unknown", spec->is_ready ? "KubeletReady" : "NodeStatusUnknown");
    json_write(writer,
        "addresses: [{type: 'InternalIP', address: %s}, {type: 'Hostname', address: %s}]",
        spec->address, spec->name);
    if (spec->has_image)
        json_write(writer, "images: [{names: ['" DEMO_IDE_IMAGE "'], sizeBytes: 2400000000}]");
    json_write(writer, "}");
}

void demo_node_write(size_t index, int64_t now_sec, NodeChanges changes, Rng *rng, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);
    DemoNodeSpec spec;

    roll_spec(index, now_sec, rng, &spec);
    json_write(&writer, "{apiVersion: 'v1', kind: 'Node'");
    put_metadata(&spec, changes, &writer);
    put_spec(&spec, &writer);
    put_status(&spec, &writer);
    json_write(&writer, "}");
}
