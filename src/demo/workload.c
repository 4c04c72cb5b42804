/* The workloads of the demo, and the JSON of their pods. */

#include "demo/workload.h"

#include <string.h>

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
        .share = 0, /* only scenarios make it */
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

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_pairs(const JsonPair *pairs, Buf *out) {
    for (size_t i = 0; i < WORKLOAD_PAIRS_MAX && pairs[i].key; i++)
        json_put(out, "%s'%s':'%s'", i > 0 ? "," : "", pairs[i].key, pairs[i].value);
}

static void put_metadata(const Workload *workload, const PodIdentity *identity, Buf *out) {
    char created[JSON_TIME_MAX];

    json_put(out,
        "'metadata':{'name':'%.*s','namespace':'%s','uid':'%.*s','creationTimestamp':'%s',"
        "'labels':{'app.kubernetes.io/name':'%s',",
        STR_FMT(identity->name),
        workload->namespace,
        STR_FMT(identity->uid),
        json_time(identity->created_at, created),
        workload->name);
    put_pairs(workload->labels, out);
    if (workload->has_person)
        json_put(out, ",'owner':'user-%u'", identity->person + 1);
    buf_append_char(out, '}');
    if (workload->annotations[0].key) {
        json_put(out, ",'annotations':{");
        put_pairs(workload->annotations, out);
        buf_append_char(out, '}');
    }
    json_put(out,
        ",'ownerReferences':[{'apiVersion':'%s','kind':'%s','name':'%s','uid':'%s',"
        "'controller':true}]}",
        workload->owner_kind[0] == 'J' ? "batch/v1" : "apps/v1",
        workload->owner_kind,
        workload->name,
        workload->name);
}

static void put_spec(const Workload *workload, const PodIdentity *identity, Buf *out) {
    json_put(out,
        "'spec':{'containers':[{'name':'%s','image':'%s','resources':{'requests':"
        "{'cpu':'%s','memory':'%s'",
        workload->name,
        workload->image ? workload->image : "registry.example.com/demo:1",
        workload->cpu,
        workload->memory);
    if (workload->gpus > 0)
        json_put(out, ",'" DEMO_GPU "':'%d'", workload->gpus);
    json_put(out, "}}}],");
    if (!str_is_empty(identity->node))
        json_put(out, "'nodeName':'%.*s',", STR_FMT(identity->node));
    json_put(out, "'schedulerName':'default-scheduler',");
    if (workload->tolerates_gpu_taint)
        json_put(out,
            "'tolerations':[{'key':'" DEMO_GPU "','operator':'Exists','effect':'NoSchedule'}],");
    json_put(out, "'priority':0}");
}

void workload_write_pod(
    const Workload *workload, const PodIdentity *identity, bool is_typed, Buf *out) {
    char placed[JSON_TIME_MAX];

    json_put(out, "{%s", is_typed ? "'apiVersion':'v1','kind':'Pod'," : "");
    put_metadata(workload, identity, out);
    buf_append_char(out, ',');
    put_spec(workload, identity, out);
    if (str_is_empty(identity->node))
        json_put(out, ",'status':{'phase':'Pending'}}");
    else
        json_put(out,
            ",'status':{'phase':'Running','conditions':[{'type':'PodScheduled','status':'True',"
            "'lastTransitionTime':'%s'}]}}",
            json_time(identity->placed_at, placed));
}
