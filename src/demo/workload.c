/* The workloads of the demo. */

#include "demo/workload.h"

#define RENDER                                                                                     \
    .name = "render", .namespace = "ml", .owner_kind = "Job",                                      \
    .labels = {{"example.com/accelerator", "gpu"}, {DEMO_DEDICATED, "gpu"}}, .cpu = "4",           \
    .memory = "16Gi", .gpus = 1, .home = POOL_GPU

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
        .labels = {{"app.kubernetes.io/component", "api"}, {"telemetry-policy", "telemetry-aware"},
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
        .labels = {{DEMO_DEDICATED, "batch"}, {"telemetry-policy", "telemetry-aware"},
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
        .labels = {{"app", "gitpod"}, {"component", "workspace"}, {DEMO_DEDICATED, "workspace"},
            {"gitpod.io/headless", "false"}, {"workspaceType", "regular"}},
        .annotations = {{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"}},
        .has_person = true,
        .image = DEMO_IDE_IMAGE,
        .cpu = "1500m",
        .memory = "10Gi",
        .home = POOL_WORKSPACE,
        .share = 3,
        .home_max = 4,
        .life_span = 60,
    },
    {
        .name = "prebuild",
        .namespace = DEMO_WORKSPACES,
        .owner_kind = "Job",
        .labels = {{"app", "gitpod"}, {"component", "workspace"}, {DEMO_DEDICATED, "workspace"},
            {"gitpod.io/headless", "true"}, {"workspaceType", "prebuild"}},
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
    },
    {
        RENDER, .share = 1, .home_max = 0, /* it never ran anywhere */
    },
    {
        RENDER, .tolerates_gpu_taint = true, .is_fixed = true,
        .share = 0, /* only scenarios make it */
    },
};
const size_t n_workloads = ELEMENTS_OF(workloads);
_Static_assert(ELEMENTS_OF(workloads) <= DEMO_WORKLOADS_MAX, "counts have room for all");

const Workload *workload_named(const char *name) {
    for (size_t i = 0; i < n_workloads; i++)
        if (strcmp(workloads[i].name, name) == 0)
            return &workloads[i];
    return NULL;
}
