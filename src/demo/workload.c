#include "demo/workload.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "model/time.h"

const Workload workloads[] = {
    {
        .name = "web",
        .namespace = "shop",
        .owner_kind = "ReplicaSet",
        .labels = {{"app.kubernetes.io/component", "web"}, {"tier", "service"}},
        .cpu = "250m",
        .memory = "1Gi",
        .home = POOL_GENERAL,
        .share = 4,
        .home_max = 10,
        .life_span = 150,
    },
    {
        .name = "api",
        .namespace = "shop",
        .owner_kind = "ReplicaSet",
        .labels = {{"app.kubernetes.io/component", "api"},
            {"telemetry-policy", "telemetry-aware"},
            {"tier", "service"}},
        .cpu = "1",
        .memory = "3Gi",
        .home = POOL_GENERAL,
        .share = 3,
        .home_max = 6,
        .life_span = 130,
    },
    {
        .name = "db",
        .namespace = "shop",
        .owner_kind = "StatefulSet",
        .labels = {{"app.kubernetes.io/component", "db"}, {"tier", "service"}},
        .annotations = {{DEMO_VOLUMES, "21474836480"}},
        .cpu = "500m",
        .memory = "2Gi",
        .home = POOL_GENERAL,
        .share = 2,
        .home_max = 1,
        .life_span = 200,
    },
    {
        .name = "report",
        .namespace = "batch",
        .owner_kind = "Job",
        .labels = {{DEMO_DEDICATED, "batch"},
            {"telemetry-policy", "telemetry-aware"},
            {"tier", "batch"}},
        .annotations = {{"example.com/expected-hours", "2"}},
        .cpu = "3",
        .memory = "6Gi",
        .home = POOL_BATCH,
        .share = 3,
        .home_max = 9,
        .life_span = 60,
    },
    {
        .name = "ws",
        .namespace = DEMO_WORKSPACES,
        .owner_kind = "StatefulSet",
        .labels = {{"app", "gitpod"},
            {"component", "workspace"},
            {DEMO_DEDICATED, "workspace"},
            {"gitpod.io/headless", "false"},
            {"workspaceType", "regular"}},
        .annotations = {{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"}},
        .has_person = true,
        .image = DEMO_IDE_IMAGE,
        .cpu = "1500m",
        .memory = "10Gi",
        .home = POOL_WORKSPACE,
        .share = 3,
        .home_max = 4,
        .life_span = 90,
    },
    {
        .name = "prebuild",
        .namespace = DEMO_WORKSPACES,
        .owner_kind = "Job",
        .labels = {{"app", "gitpod"},
            {"component", "workspace"},
            {DEMO_DEDICATED, "workspace"},
            {"gitpod.io/headless", "true"},
            {"workspaceType", "prebuild"}},
        .has_person = true,
        .image = DEMO_IDE_IMAGE,
        .cpu = "1",
        .memory = "6Gi",
        .home = POOL_WORKSPACE,
        .share = 2,
        .home_max = 1,
        .life_span = 20,
    },
    {
        .name = "training",
        .namespace = "ml",
        .owner_kind = "Job",
        .labels = {{"example.com/accelerator", "gpu"}, {DEMO_DEDICATED, "gpu"}},
        .cpu = "6",
        .memory = "24Gi",
        .gpus = 1,
        .tolerates_gpu_taint = true,
        .home = POOL_GPU,
        .share = 2,
        .home_max = 4,
        .life_span = 60,
    },
    {
        .name = "render",
        .namespace = "ml",
        .owner_kind = "Job",
        .labels = {{"example.com/accelerator", "gpu"}, {DEMO_DEDICATED, "gpu"}},
        .cpu = "4",
        .memory = "16Gi",
        .gpus = 1,
        .home = POOL_GPU,
        .share = 1,
        .home_max = 0, /* it never ran anywhere */
        .life_span = 30,
    },
    {
        .name = "render",
        .namespace = "ml",
        .owner_kind = "Job",
        .labels = {{"example.com/accelerator", "gpu"}, {DEMO_DEDICATED, "gpu"}},
        .cpu = "4",
        .memory = "16Gi",
        .gpus = 1,
        .tolerates_gpu_taint = true,
        .is_fixed = true,
        .home = POOL_GPU,
        .share = 0, /* a person has to come and mend it */
        .life_span = 30,
    },
};
const size_t n_workloads = ELEMENTS_OF(workloads);

const Workload *workload_named(const char *name) {
    for (size_t i = 0; i < n_workloads; i++)
        if (strcmp(workloads[i].name, name) == 0)
            return &workloads[i];
    return NULL;
}

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

static void write_pairs(const WorkloadPair *pairs, JsonWriter *writer) {
    for (size_t i = 0; i < WORKLOAD_PAIRS_MAX && pairs[i].key; i++)
        write_pair(writer, pairs[i].key, pairs[i].value);
}

static void write_labels(
    const Workload *workload, const PodIdentity *identity, JsonWriter *writer) {
    char person[16];

    json_write_key(writer, STR("labels"));
    json_write_object(writer);
    write_pair(writer, "app.kubernetes.io/name", workload->name);
    write_pairs(workload->labels, writer);
    if (workload->has_person) {
        (void)snprintf(person, sizeof(person), "user-%u", identity->person + 1);
        write_pair(writer, "owner", person);
    }
    json_write_end_object(writer);
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
    demo_write_created(identity->created_at, writer);
    write_labels(workload, identity, writer);
    if (workload->annotations[0].key) {
        json_write_key(writer, STR("annotations"));
        json_write_object(writer);
        write_pairs(workload->annotations, writer);
        json_write_end_object(writer);
    }
    write_owner(workload, writer);
    json_write_end_object(writer);
}

static void write_container(const Workload *workload, JsonWriter *writer) {
    char gpus[16];

    json_write_object(writer);
    write_pair(writer, "name", workload->name);
    write_pair(writer, "image", workload->image ? workload->image : "registry.example.com/demo:1");
    json_write_key(writer, STR("resources"));
    json_write_object(writer);
    json_write_key(writer, STR("requests"));
    json_write_object(writer);
    write_pair(writer, "cpu", workload->cpu);
    write_pair(writer, "memory", workload->memory);
    if (workload->gpus > 0) {
        (void)snprintf(gpus, sizeof(gpus), "%d", workload->gpus);
        write_pair(writer, DEMO_GPU, gpus);
    }
    json_write_end_object(writer);
    json_write_end_object(writer);
    json_write_end_object(writer);
}

static void write_tolerations(JsonWriter *writer) {
    json_write_key(writer, STR("tolerations"));
    json_write_array(writer);
    json_write_object(writer);
    write_pair(writer, "key", DEMO_GPU);
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

static void write_placed(int64_t sec, JsonWriter *writer) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64);

    time_print(sec, &text);
    json_write_key(writer, STR("conditions"));
    json_write_array(writer);
    json_write_object(writer);
    write_pair(writer, "type", "PodScheduled");
    write_pair(writer, "status", "True");
    json_write_key(writer, STR("lastTransitionTime"));
    json_write_string(writer, buf_str(&text));
    json_write_end_object(writer);
    json_write_end_array(writer);
}

static void write_status(const PodIdentity *identity, JsonWriter *writer) {
    bool is_placed = !str_is_empty(identity->node);

    json_write_key(writer, STR("status"));
    json_write_object(writer);
    write_pair(writer, "phase", is_placed ? "Running" : "Pending");
    if (is_placed)
        write_placed(identity->placed_at, writer);
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
    write_status(identity, writer);
    json_write_end_object(writer);
}
