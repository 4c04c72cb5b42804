#include "demo/fleet.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"

/* kubelet and system daemons keep this much of each machine. */
#define RESERVED_CPU_MILLI 120
#define RESERVED_MEMORY_MI 1024

#define NOT_READY_PERCENT 4
#define CORDONED_PERCENT 3
#define DAEMON_MISSING_PERCENT 8

typedef struct MachineType {
    const char *name;
    int cpu;        /* cores */
    int memory_gib; /* GiB */
    int gpus;
} MachineType;

typedef struct PoolKind {
    const char *name;
    MachineType types[3];
    size_t n_types;
} PoolKind;

static const PoolKind pool_kinds[_POOL_MAX] = {
    [POOL_GENERAL] = {"general",
        {{"standard-4", 4, 16, 0}, {"standard-8", 8, 32, 0}, {"standard-16", 16, 64, 0}},
        3},
    [POOL_BATCH] = {"batch", {{"compute-16", 16, 32, 0}, {"compute-32", 32, 64, 0}}, 2},
    [POOL_WORKSPACE] = {"workspace", {{"memory-8", 8, 64, 0}, {"memory-16", 16, 128, 0}}, 2},
    [POOL_GPU] = {"gpu", {{"gpu-2x", 24, 128, 2}, {"gpu-4x", 48, 256, 4}}, 2},
};

/* Of twenty nodes: nine general, four batch, five workspace, two gpu. */
static const Pool pattern[] = {
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

Pool fleet_pool(size_t index) {
    return pattern[index % ELEMENTS_OF(pattern)];
}

static void write_pair(JsonWriter *writer, const char *key, const char *value) {
    json_write_key(writer, str_from_c(key));
    json_write_string(writer, str_from_c(value));
}

static void write_labels(
    const char *name, const char *zone, Pool pool, const char *type, Dice *dice, JsonWriter *w) {
    json_write_key(w, STR("labels"));
    json_write_object(w);
    write_pair(w, "example.com/pool", pool_kinds[pool].name);
    if (pool == POOL_WORKSPACE)
        write_pair(w,
            "example.com/workspace-daemon",
            dice_percent(dice, DAEMON_MISSING_PERCENT) ? "starting" : "ready");
    write_pair(w, "kubernetes.io/arch", "amd64");
    write_pair(w, "kubernetes.io/hostname", name);
    write_pair(w, "kubernetes.io/os", "linux");
    write_pair(w, "node.kubernetes.io/instance-type", type);
    write_pair(w, "topology.kubernetes.io/zone", zone);
    json_write_end_object(w);
}

static void write_taint(JsonWriter *writer, const char *key, const char *value) {
    json_write_object(writer);
    write_pair(writer, "key", key);
    if (value)
        write_pair(writer, "value", value);
    write_pair(writer, "effect", "NoSchedule");
    json_write_end_object(writer);
}

static void write_spec(Pool pool, bool is_cordoned, JsonWriter *writer) {
    json_write_key(writer, STR("spec"));
    json_write_object(writer);
    if (pool == POOL_GPU || is_cordoned) {
        json_write_key(writer, STR("taints"));
        json_write_array(writer);
        if (pool == POOL_GPU)
            write_taint(writer, FLEET_GPU, "present");
        if (is_cordoned)
            write_taint(writer, "node.kubernetes.io/unschedulable", NULL);
        json_write_end_array(writer);
    }
    if (is_cordoned) {
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
        write_pair(writer, FLEET_GPU, text);
    }
    write_pair(writer, "pods", "110");
    json_write_end_object(writer);
}

static void write_status(const MachineType *type, bool is_ready, JsonWriter *writer) {
    int cpu_milli = type->cpu * 1000, memory_mi = type->memory_gib * 1024;

    json_write_key(writer, STR("status"));
    json_write_object(writer);
    write_resources("capacity", cpu_milli, memory_mi, type->gpus, writer);
    write_resources("allocatable",
        cpu_milli - RESERVED_CPU_MILLI,
        memory_mi - RESERVED_MEMORY_MI,
        type->gpus,
        writer);
    json_write_key(writer, STR("conditions"));
    json_write_array(writer);
    json_write_object(writer);
    write_pair(writer, "type", "Ready");
    write_pair(writer, "status", is_ready ? "True" : "Unknown");
    write_pair(writer, "reason", is_ready ? "KubeletReady" : "NodeStatusUnknown");
    json_write_end_object(writer);
    json_write_end_array(writer);
    json_write_end_object(writer);
}

void fleet_write_node(size_t index, Dice *dice, JsonWriter *writer) {
    static const char *const zones[] = {"a", "b", "c"};
    Pool pool = fleet_pool(index);
    const PoolKind *kind = &pool_kinds[pool];
    const char *zone = zones[dice_pick(dice, ELEMENTS_OF(zones))];
    const MachineType *type = &kind->types[dice_pick(dice, kind->n_types)];
    bool is_ready = !dice_percent(dice, NOT_READY_PERCENT);
    bool is_cordoned = dice_percent(dice, CORDONED_PERCENT);
    char name[64];

    (void)snprintf(name, sizeof(name), "%s-%s-%03zu", kind->name, zone, index);
    json_write_object(writer);
    write_pair(writer, "apiVersion", "v1");
    write_pair(writer, "kind", "Node");
    json_write_key(writer, STR("metadata"));
    json_write_object(writer);
    write_pair(writer, "name", name);
    write_labels(name, zone, pool, type->name, dice, writer);
    json_write_end_object(writer);
    write_spec(pool, is_cordoned, writer);
    write_status(type, is_ready, writer);
    json_write_end_object(writer);
}
