#include "input/workload.h"

#include <errno.h>

#include "base/test-folder.h"

#define BUDGET ((size_t)64 << 20)

typedef struct Loaded {
    Folder folder;
    Arena *arena;
    WorkloadList list;
    char error[OBJECTS_ERROR_MAX];
    int r;
} Loaded;

static void load(Loaded *loaded, const char *text) {
    folder_init(&loaded->folder);
    loaded->arena = arena_new(BUDGET);
    loaded->error[0] = '\0';
    loaded->r = workloads_load(folder_write(&loaded->folder, "f", str_from_c(text)), NULL,
        loaded->arena, &loaded->list, loaded->error);
}

static void loaded_done(Loaded *loaded) {
    folder_done(&loaded->folder);
    arena_free(loaded->arena);
}

#define TEMPLATE                                                                                   \
    "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, resources: "         \
    "{limits: {cpu: 500m}}}]}}"

static void test_kinds(void **state) {
    static const struct {
        const char *text, *kind, *owner_kind, *pod;
        int64_t n_pods;
    } cases[] = {
        {"kind: Deployment\nmetadata: {name: a}\nspec: {replicas: 3, " TEMPLATE "}\n", "Deployment",
            "ReplicaSet", "a", 3},
        {"kind: Deployment\nmetadata: {name: a}\nspec: {replicas: 0, " TEMPLATE "}\n", "Deployment",
            "ReplicaSet", "a", 0},
        {"kind: ReplicaSet\nmetadata: {name: a}\nspec: {" TEMPLATE "}\n", "ReplicaSet",
            "ReplicaSet", "a", 1},
        {"kind: ReplicationController\nmetadata: {name: a}\nspec: {replicas: 2, " TEMPLATE "}\n",
            "ReplicationController", "ReplicationController", "a", 2},
        {"kind: StatefulSet\nmetadata: {name: a}\nspec: {replicas: 2, " TEMPLATE "}\n",
            "StatefulSet", "StatefulSet", "a-0", 2},
        {"kind: DaemonSet\nmetadata: {name: a}\nspec: {" TEMPLATE "}\n", "DaemonSet", "DaemonSet",
            "a", 1},
        {"kind: Job\nmetadata: {name: a}\nspec: {parallelism: 5, completions: 2, " TEMPLATE "}\n",
            "Job", "Job", "a", 2},
        {"kind: Job\nmetadata: {name: a}\nspec: {suspend: true, " TEMPLATE "}\n", "Job", "Job", "a",
            0},
        {"kind: CronJob\nmetadata: {name: a}\nspec: {jobTemplate: {spec: {parallelism: 4, " TEMPLATE
         "}}}\n",
            "CronJob", "Job", "a", 4},
        {"kind: PodTemplate\nmetadata: {name: a}\n" TEMPLATE "\n", "PodTemplate", "", "a", 1},
        {"kind: Pod\nmetadata: {name: a, labels: {app: web}}\nspec: {containers: [{resources: "
         "{limits: {cpu: 0.5}}}]}\n",
            "Pod", "", "a", 1},
        {"kind: DeploymentList\nitems: [{metadata: {name: a}, spec: {" TEMPLATE "}}]\n",
            "Deployment", "ReplicaSet", "a", 1},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(loaded_done) Loaded loaded;
        const WorkloadPod *one;

        load(&loaded, cases[i].text);
        assert_string_equal(loaded.error, "");
        assert_int_equal(loaded.r, 0);
        assert_int_equal(loaded.list.n, 1);
        one = &loaded.list.items[0];
        assert_text(cases[i].text, one->workload.kind, cases[i].kind);
        assert_text(cases[i].text, one->workload.name, "a");
        assert_text(cases[i].text, one->workload.namespace, "default");
        assert_int_equal(one->workload.n_pods, cases[i].n_pods);
        assert_text(cases[i].text, one->pod.name, cases[i].pod);
        assert_text(cases[i].text, one->pod.namespace, "default");
        assert_text(cases[i].text, one->pod.owner_kind, cases[i].owner_kind);
        assert_text(cases[i].text, one->pod.owner_name, cases[i].owner_kind[0] ? "a" : "");
        assert_text(cases[i].text, *labels_find(&one->pod.labels, STR("app")), "web");
        assert_int_equal(resources_get(&one->pod.requests, STR("cpu")), 500);
    }
}

static void test_labels_that_controllers_add(void **state) {
    _cleanup_(loaded_done) Loaded loaded;
    const Labels *labels;

    load(&loaded,
        "kind: StatefulSet\nmetadata: {name: db, namespace: shop}\nspec: {" TEMPLATE
        "}\n---\nkind: CronJob\nmetadata: {name: night}\nspec: {jobTemplate: {spec: {" TEMPLATE
        "}}}\n");
    assert_int_equal(loaded.list.n, 2);
    labels = &loaded.list.items[0].pod.labels;
    assert_text("db", *labels_find(labels, STR("statefulset.kubernetes.io/pod-name")), "db-0");
    assert_text("db", *labels_find(labels, STR("apps.kubernetes.io/pod-index")), "0");
    assert_text("db", loaded.list.items[0].pod.namespace, "shop");
    labels = &loaded.list.items[1].pod.labels;
    assert_text("night", *labels_find(labels, STR("job-name")), "night");
    assert_text("night", *labels_find(labels, STR("batch.kubernetes.io/job-name")), "night");
}

/* Like the output of `helm template`: many kinds, comments, empty documents. */
static void test_finds_workloads_among_other_kinds(void **state) {
    _cleanup_(loaded_done) Loaded loaded;

    load(&loaded,
        "---\n# Source: chart/templates/a.yaml\nkind: Service\nmetadata: {name: a}\n"
        "---\n# Source: nothing\n---\nkind: Deployment\nmetadata: {name: b}\nspec: {" TEMPLATE
        "}\n---\nkind: ConfigMap\ndata: {kind: Pod}\n---\nkind: List\nitems:\n"
        "- kind: Job\n  metadata: {name: c}\n  spec: {" TEMPLATE "}\n- kind: Secret\n");
    assert_string_equal(loaded.error, "");
    assert_int_equal(loaded.list.n, 2);
    assert_int_equal(loaded.list.n_others, 3);
    assert_text("first", loaded.list.items[0].workload.name, "b");
    assert_text("second", loaded.list.items[1].workload.name, "c");
}

static const Toleration *find_toleration(const Pod *pod, Str key) {
    for (size_t i = 0; i < pod->tolerations.n; i++)
        if (str_eq(pod->tolerations.items[i].key, key))
            return &pod->tolerations.items[i];
    return NULL;
}

/* Tolerations are those that the DaemonSet controller of Kubernetes adds. */
static void test_daemon_set(void **state) {
    static const char text[] =
        "kind: DaemonSet\nmetadata: {name: a}\nspec: {template: {spec: {hostNetwork: true, "
        "tolerations: [{key: own, operator: Exists}], affinity: {podAffinity: {x: 1}, "
        "nodeAffinity: "
        "{preferredDuringSchedulingIgnoredDuringExecution: [], "
        "requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "
        "[{key: old, operator: Exists}]}]}}}}}}\n";
    _cleanup_(loaded_done) Loaded loaded;
    const Pod *pod;

    load(&loaded, text);
    assert_string_equal(loaded.error, "");
    pod = &loaded.list.items[0].pod;
    assert_int_equal(pod->tolerations.n, 8);
    assert_non_null(find_toleration(pod, STR("own")));
    assert_non_null(find_toleration(pod, STR("node.kubernetes.io/unschedulable")));
    assert_non_null(find_toleration(pod, STR("node.kubernetes.io/network-unavailable")));
    assert_true(loaded.list.items[0].workload.is_per_node);
}

typedef struct OnePod {
    Buf *out;
    Arena *arena;
} OnePod;

static int write_for_node(void *context, const Object *object) {
    OnePod *one = context;
    WorkloadObject workload;

    assert_int_equal(workload_read(object, one->arena, &workload), 0);
    workload_write_pod(&workload, 0, STR("node-7"), one->out);
    return 0;
}

static void test_pod_of_a_daemon_set_is_for_one_node(void **state) {
    _cleanup_(buf_done) Buf out = BUF_INIT(1 << 20);
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    char error[OBJECTS_ERROR_MAX] = "";
    OnePod one = {&out, arena};
    Folder folder;

    folder_init(&folder);
    assert_int_equal(
        objects_each(folder_write(&folder, "f",
                         STR("kind: DaemonSet\nmetadata: {name: a}\nspec: {template: {spec: "
                             "{affinity: {nodeAffinity: {a: [], "
                             "requiredDuringSchedulingIgnoredDuringExecution: {}}}}}}\n")),
            NULL, write_for_node, &one, error),
        0);
    buf_append_char(&out, '\0');
    assert_non_null(strstr(out.data,
        "\"affinity\":{\"nodeAffinity\":{\"a\":[],"
        "\"requiredDuringSchedulingIgnoredDuringExecution\":"
        "{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\","
        "\"values\":[\"node-7\"]}]}]}}}"));
    folder_done(&folder);
}

static void test_errors_have_a_place(void **state) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"kind\":\"Node\"}",
            "f: contains no Pod, and no Deployment, StatefulSet, Job or other object with a pod "
            "template"},
        {"{\"kind\":\"Pod\",\n\"spec\":[]}", "f:2:8: expected an object"},
        {"kind: Pod\nspec: []\n", "f:2:7: expected an object"},
        {"{\"kind\":\"Pod\"", "f:1:14: the input ends inside an object"},
        {"kind: Service\n---\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n"
         "    spec:\n      containers:\n        - resources: {requests: {cpu: 1x}}\n",
            "f:9:39: not a quantity"},
        {"kind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: many\n",
            "f:4:13: expected a whole number"},
        {"kind: List\nitems:\n- kind: Job\n  metadata: {name: web}\n  spec: {}\n",
            "f:3:3: Job \"web\" has no pod template: it goes to spec.template"},
        {"kind: Deployment\nspec: {template: {metadata: {labels: {a: 1}}}}\n",
            "f:2:42: expected a string"},
        {"a: [\n", NULL},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(loaded_done) Loaded loaded;

        load(&loaded, cases[i].text);
        assert_int_equal(loaded.r, -EINVAL);
        if (cases[i].message)
            assert_text(cases[i].text,
                str_skip(str_from_c(loaded.error), strlen(loaded.folder.path) + 1),
                cases[i].message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_labels_that_controllers_add),
        cmocka_unit_test(test_finds_workloads_among_other_kinds),
        cmocka_unit_test(test_daemon_set),
        cmocka_unit_test(test_pod_of_a_daemon_set_is_for_one_node),
        cmocka_unit_test(test_errors_have_a_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
