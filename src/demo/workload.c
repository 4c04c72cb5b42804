#include "demo/workload.h"

#include <stdio.h>

#include "base/cleanup.h"

const Workload workloads[] = {
    {
        .name = "web",
        .namespace = "shop",
        .owner_kind = "ReplicaSet",
        .label = {"tier", "service"},
        .cpu = "250m",
        .memory = "1Gi",
        .home = POOL_GENERAL,
        .n_cards = 5,
        .home_max = 10,
        .life_span = 150,
    },
    {
        .name = "api",
        .namespace = "shop",
        .owner_kind = "ReplicaSet",
        .label = {"tier", "service"},
        .cpu = "1",
        .memory = "3Gi",
        .home = POOL_GENERAL,
        .n_cards = 4,
        .home_max = 6,
        .life_span = 130,
    },
    {
        .name = "report",
        .namespace = "batch",
        .owner_kind = "Job",
        .label = {"tier", "batch"},
        .cpu = "3",
        .memory = "6Gi",
        .home = POOL_BATCH,
        .n_cards = 4,
        .home_max = 9,
        .life_span = 60,
    },
    {
        .name = "ws",
        .namespace = "workspaces",
        .owner_kind = "StatefulSet",
        .label = {"component", "workspace"},
        .cpu = "1500m",
        .memory = "10Gi",
        .home = POOL_WORKSPACE,
        .n_cards = 4,
        .home_max = 4,
        .life_span = 90,
    },
    {
        .name = "training",
        .namespace = "ml",
        .owner_kind = "Job",
        .label = {"example.com/accelerator", "gpu"},
        .cpu = "6",
        .memory = "24Gi",
        .gpus = 1,
        .tolerates_gpu_taint = true,
        .home = POOL_GPU,
        .n_cards = 2,
        .home_max = 4,
        .life_span = 60,
    },
    {
        .name = "render",
        .namespace = "ml",
        .owner_kind = "Job",
        .label = {"example.com/accelerator", "gpu"},
        .cpu = "4",
        .memory = "16Gi",
        .gpus = 1,
        .home = POOL_GPU,
        .n_cards = 1,
        .home_max = 0, /* it never ran anywhere */
        .life_span = 30,
    },
};
const size_t n_workloads = ELEMENTS_OF(workloads);

static void write_pair(JsonWriter *writer, const char *key, const char *value) {
    json_write_key(writer, str_from_c(key));
    json_write_string(writer, str_from_c(value));
}

static void write_owner(const Workload *workload, JsonWriter *writer) {
    json_write_key(writer, STR("ownerReferences"));
    json_write_array(writer);
    json_write_object(writer);
    write_pair(writer, "apiVersion", workload->owner_kind[0] == 'J' ? "batch/v1" : "apps/v1");
    write_pair(writer, "kind", workload->owner_kind);
    write_pair(writer, "name", workload->name);
    write_pair(writer, "uid", workload->name);
    json_write_key(writer, STR("controller"));
    json_write_bool(writer, true);
    json_write_end_object(writer);
    json_write_end_array(writer);
}

static void write_metadata(
    const Workload *workload, const PodIdentity *identity, JsonWriter *writer) {
    json_write_key(writer, STR("metadata"));
    json_write_object(writer);
    json_write_key(writer, STR("name"));
    json_write_string(writer, identity->name);
    write_pair(writer, "namespace", workload->namespace);
    json_write_key(writer, STR("uid"));
    json_write_string(writer, identity->uid);
    json_write_key(writer, STR("labels"));
    json_write_object(writer);
    write_pair(writer, "app.kubernetes.io/name", workload->name);
    write_pair(writer, workload->label.key, workload->label.value);
    json_write_end_object(writer);
    write_owner(workload, writer);
    json_write_end_object(writer);
}

static void write_container(const Workload *workload, JsonWriter *writer) {
    char gpus[16];

    json_write_object(writer);
    write_pair(writer, "name", workload->name);
    write_pair(writer, "image", "registry.example.com/demo:1");
    json_write_key(writer, STR("resources"));
    json_write_object(writer);
    json_write_key(writer, STR("requests"));
    json_write_object(writer);
    write_pair(writer, "cpu", workload->cpu);
    write_pair(writer, "memory", workload->memory);
    if (workload->gpus > 0) {
        (void)snprintf(gpus, sizeof(gpus), "%d", workload->gpus);
        write_pair(writer, FLEET_GPU, gpus);
    }
    json_write_end_object(writer);
    json_write_end_object(writer);
    json_write_end_object(writer);
}

static void write_tolerations(JsonWriter *writer) {
    json_write_key(writer, STR("tolerations"));
    json_write_array(writer);
    json_write_object(writer);
    write_pair(writer, "key", FLEET_GPU);
    write_pair(writer, "operator", "Exists");
    write_pair(writer, "effect", "NoSchedule");
    json_write_end_object(writer);
    json_write_end_array(writer);
}

static void write_spec(const Workload *workload, const PodIdentity *identity, JsonWriter *writer) {
    json_write_key(writer, STR("spec"));
    json_write_object(writer);
    json_write_key(writer, STR("containers"));
    json_write_array(writer);
    write_container(workload, writer);
    json_write_end_array(writer);
    if (!str_is_empty(identity->node)) {
        json_write_key(writer, STR("nodeName"));
        json_write_string(writer, identity->node);
    }
    write_pair(writer, "schedulerName", "default-scheduler");
    if (workload->tolerates_gpu_taint)
        write_tolerations(writer);
    json_write_key(writer, STR("priority"));
    json_write_int(writer, 0);
    json_write_end_object(writer);
}

void workload_write_pod(
    const Workload *workload, const PodIdentity *identity, bool is_typed, JsonWriter *writer) {
    json_write_object(writer);
    if (is_typed) {
        write_pair(writer, "apiVersion", "v1");
        write_pair(writer, "kind", "Pod");
    }
    write_metadata(workload, identity, writer);
    write_spec(workload, identity, writer);
    json_write_key(writer, STR("status"));
    json_write_object(writer);
    write_pair(writer, "phase", str_is_empty(identity->node) ? "Pending" : "Running");
    json_write_end_object(writer);
    json_write_end_object(writer);
}
