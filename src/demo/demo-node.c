#include "demo/demo-node.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "model/time.h"

/* kubelet and system daemons keep this much of each machine. */
#define RESERVED_CPU_MILLI 120
#define RESERVED_MEMORY_MI 1024

#define NOT_READY_PERCENT 4
#define CORDONED_PERCENT 3
#define DAEMON_MISSING_PERCENT 8
#define DISK_PRESSURE_PERCENT 4
#define HEADLESS_PERCENT 35 /* of the nodes for workspaces; some of them take regular ones too */
#define HEADLESS_ONLY_PERCENT 15
#define IMAGE_PERCENT 45
#define VOLUMES_PERCENT 60 /* of the general nodes: with disks of TopoLVM's */
#define VOLUMES_BROKEN_PERCENT 4
#define STAYING_PERCENT 8
#define CANDIDATE_PERCENT 8 /* for removal by the autoscaler */
#define LEAVING_PERCENT 2

#define AGE_MAX_SEC (90 * 86400)
#define GENERATION_MIN 3
#define GENERATION_MAX 5

#define HOSTS_OF_NET 250

typedef struct MachineType {
    const char *name;
    int cpu;        /* cores */
    int memory_gib; /* GiB */
    int gpus;
} MachineType;

typedef struct NodePoolType {
    const char *name;
    MachineType types[3];
    size_t n_types;
} NodePoolType;

static const NodePoolType pool_kinds[_POOL_MAX] = {
    [POOL_GENERAL] = {"general",
        {{"standard-4", 4, 16, 0}, {"standard-8", 8, 32, 0}, {"standard-16", 16, 64, 0}},
        3},
    [POOL_BATCH] = {"batch", {{"compute-16", 16, 32, 0}, {"compute-32", 32, 64, 0}}, 2},
    [POOL_WORKSPACE] = {"workspace", {{"memory-8", 8, 64, 0}, {"memory-16", 16, 128, 0}}, 2},
    [POOL_GPU] = {"gpu", {{"gpu-2x", 24, 128, 2}, {"gpu-4x", 48, 256, 4}}, 2},
};

/* Of twenty nodes: nine general, four batch, five workspace, two gpu. */
static const NodePool pattern[] = {
    POOL_GENERAL,
    POOL_WORKSPACE,
    POOL_GENERAL,
    POOL_BATCH,
    POOL_GENERAL,
    POOL_GPU,
    POOL_WORKSPACE,
    POOL_GENERAL,
    POOL_GENERAL,
    POOL_BATCH,
    POOL_WORKSPACE,
    POOL_GENERAL,
    POOL_BATCH,
    POOL_WORKSPACE,
    POOL_GENERAL,
    POOL_GPU,
    POOL_GENERAL,
    POOL_WORKSPACE,
    POOL_BATCH,
    POOL_GENERAL,
};

NodePool demo_node_pool(size_t index) {
    return pattern[index % ELEMENTS_OF(pattern)];
}

/* Everything that is left to chance. */
typedef struct Machine {
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
    bool stays, is_candidate, is_leaving; /* to the autoscaler */
} Machine;

static void roll_workspace(Machine *machine, Rng *rng) {
    size_t headless = rng_pick(rng, 100);

    machine->has_daemon = !rng_percent(rng, DAEMON_MISSING_PERCENT);
    machine->is_pressed = rng_percent(rng, DISK_PRESSURE_PERCENT);
    machine->has_image = rng_percent(rng, IMAGE_PERCENT);
    machine->takes_headless = headless < HEADLESS_PERCENT;
    machine->takes_regular = headless >= HEADLESS_ONLY_PERCENT;
}

static void roll_general(Machine *machine, Rng *rng) {
    machine->has_volumes = rng_percent(rng, VOLUMES_PERCENT);
    machine->is_broken = rng_percent(rng, VOLUMES_BROKEN_PERCENT);
    machine->volume_bytes = ((UINT64_C(1) << rng_between(rng, 31, 40)) / 3) & ~UINT64_C(0xfffff);
    machine->is_candidate = rng_percent(rng, CANDIDATE_PERCENT);
    machine->is_leaving = rng_percent(rng, LEAVING_PERCENT);
}

static void roll_machine(size_t index, int64_t now_sec, Rng *rng, Machine *ret) {
    static const char *const zones[] = {"a", "b", "c"};
    NodePool pool = demo_node_pool(index);

    *ret = (Machine){
        .pool = pool,
        .zone = zones[rng_pick(rng, ELEMENTS_OF(zones))],
        .type = &pool_kinds[pool].types[rng_pick(rng, pool_kinds[pool].n_types)],
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
        ret->name, sizeof(ret->name), "%s-%s-%03zu", pool_kinds[pool].name, ret->zone, index);
    (void)snprintf(ret->address,
        sizeof(ret->address),
        "10.20.%u.%u",
        (unsigned)(index / HOSTS_OF_NET % 256),
        (unsigned)(index % HOSTS_OF_NET + 1));
}

static void write_pair(JsonWriter *writer, const char *key, const char *value) {
    json_write_key(writer, str_from_c(key));
    json_write_string(writer, str_from_c(value));
}

/* What policies/workspaces.yaml asks for: Gitpod's labels. */
static void write_workspace_labels(const Machine *machine, Str daemon, JsonWriter *writer) {
    if (str_is_empty(daemon))
        daemon = machine->has_daemon ? STR("ready") : STR("starting");
    json_write_key(writer, STR(DEMO_DAEMON));
    json_write_string(writer, daemon);
    if (machine->is_pressed)
        write_pair(writer, "gitpod.io/diskPressure", "true");
    write_pair(writer, "gitpod.io/registry-facade_ready_ns_" DEMO_WORKSPACES, "true");
    if (machine->takes_headless)
        write_pair(writer, "gitpod.io/workload_workspace_headless", "true");
    if (machine->takes_regular)
        write_pair(writer, "gitpod.io/workload_workspace_regular", "true");
    write_pair(writer, "gitpod.io/ws-daemon_ready_ns_" DEMO_WORKSPACES, "true");
}

static void write_labels(const Machine *machine, Str daemon, JsonWriter *writer) {
    const char *pool = pool_kinds[machine->pool].name;
    char generation[16];

    (void)snprintf(generation, sizeof(generation), "%zu", machine->generation);
    json_write_key(writer, STR("labels"));
    json_write_object(writer);
    if (machine->pool != POOL_GENERAL)
        write_pair(writer, DEMO_DEDICATED, pool);
    write_pair(writer, "example.com/node-generation", generation);
    write_pair(writer, "example.com/pool", pool);
    if (machine->pool == POOL_WORKSPACE)
        write_workspace_labels(machine, daemon, writer);
    write_pair(writer, "kubernetes.io/arch", "amd64");
    write_pair(writer, "kubernetes.io/hostname", machine->name);
    write_pair(writer, "kubernetes.io/os", "linux");
    write_pair(writer, "node.kubernetes.io/instance-type", machine->type->name);
    write_pair(writer, "topology.kubernetes.io/zone", machine->zone);
    json_write_end_object(writer);
}

static void write_annotations(const Machine *machine, NodeChanges changes, JsonWriter *writer) {
    char bytes[24];

    if (!machine->has_volumes && !machine->stays && changes.n == 0)
        return;
    (void)snprintf(bytes, sizeof(bytes), "%" PRIu64, machine->volume_bytes);
    json_write_key(writer, STR("annotations"));
    json_write_object(writer);
    if (machine->has_volumes)
        write_pair(writer, DEMO_VOLUMES, machine->is_broken ? "unknown" : bytes);
    if (machine->stays)
        write_pair(writer, "cluster-autoscaler.kubernetes.io/scale-down-disabled", "true");
    for (size_t i = 0; i < changes.n; i++) {
        json_write_key(writer, changes.items[i].key);
        json_write_string(writer, changes.items[i].value);
    }
    json_write_end_object(writer);
}

void demo_write_created(int64_t sec, JsonWriter *writer) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64);

    time_print(sec, &text);
    json_write_key(writer, STR("creationTimestamp"));
    json_write_string(writer, buf_str(&text));
}

static void write_metadata(const Machine *machine, NodeChanges changes, JsonWriter *writer) {
    json_write_key(writer, STR("metadata"));
    json_write_object(writer);
    write_pair(writer, "name", machine->name);
    demo_write_created(machine->created_at, writer);
    write_labels(machine, changes.daemon, writer);
    write_annotations(machine, changes, writer);
    json_write_end_object(writer);
}

static void write_taint(
    JsonWriter *writer, bool is_there, const char *key, const char *value, const char *effect) {
    if (!is_there)
        return;
    json_write_object(writer);
    write_pair(writer, "key", key);
    if (value)
        write_pair(writer, "value", value);
    write_pair(writer, "effect", effect);
    json_write_end_object(writer);
}

static void write_spec(const Machine *machine, JsonWriter *writer) {
    bool is_starting = machine->pool == POOL_WORKSPACE && !machine->has_daemon;

    json_write_key(writer, STR("spec"));
    json_write_object(writer);
    json_write_key(writer, STR("taints"));
    json_write_array(writer);
    write_taint(writer, machine->pool == POOL_GPU, DEMO_GPU, "present", "NoSchedule");
    write_taint(writer, is_starting, "gitpod.io/ws-daemon-not-ready", "true", "NoSchedule");
    write_taint(writer,
        machine->is_candidate,
        "DeletionCandidateOfClusterAutoscaler",
        NULL,
        "PreferNoSchedule");
    write_taint(writer, machine->is_leaving, "ToBeDeletedByClusterAutoscaler", NULL, "NoSchedule");
    write_taint(
        writer, machine->is_cordoned, "node.kubernetes.io/unschedulable", NULL, "NoSchedule");
    json_write_end_array(writer);
    if (machine->is_cordoned) {
        json_write_key(writer, STR("unschedulable"));
        json_write_bool(writer, true);
    }
    json_write_end_object(writer);
}

static void write_resources(
    const char *key, int cpu_milli, int memory_mi, int gpus, JsonWriter *writer) {
    char text[32];

    json_write_key(writer, str_from_c(key));
    json_write_object(writer);
    (void)snprintf(text, sizeof(text), "%dm", cpu_milli);
    write_pair(writer, "cpu", text);
    (void)snprintf(text, sizeof(text), "%dMi", memory_mi);
    write_pair(writer, "memory", text);
    if (gpus > 0) {
        (void)snprintf(text, sizeof(text), "%d", gpus);
        write_pair(writer, DEMO_GPU, text);
    }
    write_pair(writer, "pods", "110");
    json_write_end_object(writer);
}

static void write_conditions(bool is_ready, JsonWriter *writer) {
    json_write_key(writer, STR("conditions"));
    json_write_array(writer);
    json_write_object(writer);
    write_pair(writer, "type", "Ready");
    write_pair(writer, "status", is_ready ? "True" : "Unknown");
    write_pair(writer, "reason", is_ready ? "KubeletReady" : "NodeStatusUnknown");
    json_write_end_object(writer);
    json_write_end_array(writer);
}

static void write_images(JsonWriter *writer) {
    json_write_key(writer, STR("images"));
    json_write_array(writer);
    json_write_object(writer);
    json_write_key(writer, STR("names"));
    json_write_array(writer);
    json_write_string(writer, STR(DEMO_IDE_IMAGE));
    json_write_end_array(writer);
    json_write_key(writer, STR("sizeBytes"));
    json_write_int(writer, INT64_C(2400000000));
    json_write_end_object(writer);
    json_write_end_array(writer);
}

static void write_address(const char *type, const char *address, JsonWriter *writer) {
    json_write_object(writer);
    write_pair(writer, "type", type);
    write_pair(writer, "address", address);
    json_write_end_object(writer);
}

static void write_addresses(const Machine *machine, JsonWriter *writer) {
    json_write_key(writer, STR("addresses"));
    json_write_array(writer);
    write_address("InternalIP", machine->address, writer);
    write_address("Hostname", machine->name, writer);
    json_write_end_array(writer);
}

static void write_status(const Machine *machine, JsonWriter *writer) {
    const MachineType *type = machine->type;
    int cpu_milli = type->cpu * 1000, memory_mi = type->memory_gib * 1024;

    json_write_key(writer, STR("status"));
    json_write_object(writer);
    write_resources("capacity", cpu_milli, memory_mi, type->gpus, writer);
    write_resources("allocatable",
        cpu_milli - RESERVED_CPU_MILLI,
        memory_mi - RESERVED_MEMORY_MI,
        type->gpus,
        writer);
    write_conditions(machine->is_ready, writer);
    write_addresses(machine, writer);
    if (machine->has_image)
        write_images(writer);
    json_write_end_object(writer);
}

void demo_node_write(
    size_t index, int64_t now_sec, NodeChanges changes, Rng *rng, JsonWriter *writer) {
    Machine machine;

    roll_machine(index, now_sec, rng, &machine);
    json_write_object(writer);
    write_pair(writer, "apiVersion", "v1");
    write_pair(writer, "kind", "Node");
    write_metadata(&machine, changes, writer);
    write_spec(&machine, writer);
    write_status(&machine, writer);
    json_write_end_object(writer);
}
