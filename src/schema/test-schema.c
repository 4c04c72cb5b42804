/* Every field of every record, through expressions, from objects as the API server sends them. */

#include "cluster/related-objects.h"
#include "schema/test-scene.h"

#define NODE_A                                                                                     \
    "{\"metadata\":{\"name\":\"a\",\"uid\":\"node-uid\","                                          \
    "\"creationTimestamp\":\"2026-01-02T03:04:05Z\","                                              \
    "\"labels\":{\"zone\":\"z1\",\"pool\":\"gpu\",\"empty\":\"\"},"                                \
    "\"annotations\":{\"note\":\"hello\"}},"                                                       \
    "\"spec\":{\"unschedulable\":true,\"providerID\":\"cloud://1\",\"podCIDRs\":[\"10.0.0.0/"      \
    "24\"],"                                                                                       \
    "\"taints\":["                                                                                 \
    "{\"key\":\"gpu\",\"value\":\"a\",\"effect\":\"NoSchedule\"},"                                 \
    "{\"key\":\"soft\",\"effect\":\"PreferNoSchedule\"},{\"key\":\"odd\",\"effect\":\"No\"}]},"    \
    "\"status\":{\"allocatable\":{\"cpu\":\"3500m\",\"memory\":\"1Gi\",\"nvidia.com/gpu\":\"2\","  \
    "\"hugepages-2Mi\":\"0\"},\"capacity\":{\"cpu\":\"4\",\"pods\":\"110\"},"                      \
    "\"nodeInfo\":{\"architecture\":\"amd64\",\"operatingSystem\":\"linux\",\"osImage\":"          \
    "\"Debian\","                                                                                  \
    "\"kernelVersion\":\"6.1.0\",\"containerRuntimeVersion\":\"containerd://2.1\","                \
    "\"kubeletVersion\":\"v1.34.1\"},\"volumesInUse\":[\"v1\"],\"volumesAttached\":[{"             \
    "\"name\":\"v1\",\"devicePath\":\"\"}],"                                                       \
    "\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.7\"}],"                          \
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","                                     \
    "\"lastTransitionTime\":\"2027-01-15T07:00:00Z\"},"                                            \
    "{\"type\":\"DiskPressure\",\"status\":\"False\"}],"                                           \
    "\"images\":[{\"names\":[\"app:1\",\"app@sha256:x\"],\"sizeBytes\":1000}]}}"

#define NODE_B "{\"metadata\":{\"name\":\"b\",\"labels\":{\"zone\":\"z2\"}}}"
#define NODE_C                                                                                     \
    "{\"metadata\":{\"name\":\"c\",\"labels\":{\"zone\":\"z1\"}},"                                 \
    "\"status\":{\"allocatable\":{\"cpu\":\"1\"}}}"

#define POD_ONE                                                                                    \
    "{\"metadata\":{\"name\":\"one\",\"namespace\":\"ns\",\"uid\":\"u1\","                         \
    "\"creationTimestamp\":\"2027-01-15T07:59:00Z\",\"labels\":{\"app\":\"web\"},"                 \
    "\"deletionTimestamp\":\"2027-01-15T08:00:00Z\","                                              \
    "\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"name\":\"web\",\"uid\":\"r1\","               \
    "\"controller\":true}]},"                                                                      \
    "\"spec\":{\"nodeName\":\"a\",\"priority\":7,\"containers\":[{\"name\":\"c\","                 \
    "\"image\":\"app:1\",\"resources\":{\"requests\":{\"cpu\":\"250m\",\"memory\":\"1Mi\"}}}]},"   \
    "\"status\":{\"startTime\":\"2027-01-15T07:59:30Z\",\"conditions\":[{"                         \
    "\"type\":\"PodScheduled\",\"status\":\"True\","                                               \
    "\"lastTransitionTime\":\"2027-01-15T07:59:20Z\"}]}}"
#define POD_TWO                                                                                    \
    "{\"metadata\":{\"name\":\"two\",\"namespace\":\"ns\",\"uid\":\"u2\","                         \
    "\"annotations\":{\"k\":\"v\"}},"                                                              \
    "\"spec\":{\"nodeName\":\"a\",\"priorityClassName\":\"high\",\"runtimeClassName\":\"kata\","   \
    "\"preemptionPolicy\":\"Never\",\"serviceAccountName\":\"sa\",\"hostNetwork\":true,"           \
    "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"data\"}}],"           \
    "\"initContainers\":[{\"name\":\"log\",\"restartPolicy\":\"Always\"}],"                        \
    "\"containers\":[{\"ports\":[{\"containerPort\":53,\"hostPort\":53}],\"resources\":{"          \
    "\"limits\":{\"cpu\":\"5\"},\"requests\":{\"cpu\":\"4\",\"odd/thing\":\"1\"}}}]}}"
#define POD_THREE                                                                                  \
    "{\"metadata\":{\"name\":\"three\",\"namespace\":\"ns\",\"uid\":\"u3\"},"                      \
    "\"spec\":{\"nodeName\":\"c\",\"containers\":[{\"resources\":{\"requests\":{"                  \
    "\"memory\":\"2Ki\"}}}]}}"

#define POD                                                                                        \
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"work\",\"uid\":\"u9\","                         \
    "\"creationTimestamp\":\"2027-01-15T08:00:00Z\","                                              \
    "\"labels\":{\"app\":\"web\",\"tier\":\"x\"},\"annotations\":{\"k\":\"v\"},"                   \
    "\"ownerReferences\":[{\"kind\":\"Other\",\"name\":\"o\",\"uid\":\"r0\"},"                     \
    "{\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"r2\",\"controller\":true}]},"                      \
    "\"spec\":{\"schedulerName\":\"berth\",\"priority\":100,\"nodeSelector\":{\"disk\":\"ssd\"},"  \
    "\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{"         \
    "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"disk\",\"operator\":\"In\","         \
    "\"values\":[\"ssd\",\"nvme\"]}],\"matchFields\":[{\"key\":\"metadata.name\","                 \
    "\"operator\":\"NotIn\",\"values\":[\"b\"]}]}]},"                                              \
    "\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":7,\"preference\":{"          \
    "\"matchExpressions\":[{\"key\":\"gen\",\"operator\":\"Gt\",\"values\":[\"3\"]}]}}]},"         \
    "\"podAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":9,"         \
    "\"podAffinityTerm\":{\"topologyKey\":\"zone\",\"labelSelector\":{},"                          \
    "\"namespaceSelector\":{\"matchLabels\":{\"team\":\"x\"}},\"mismatchLabelKeys\":[\"m\"]}}]},"  \
    "\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{"                   \
    "\"topologyKey\":\"host\",\"namespaces\":[\"shop\"],\"matchLabelKeys\":[\"k\"],"               \
    "\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"},\"matchExpressions\":[{"                 \
    "\"key\":\"tier\",\"operator\":\"Exists\"}]}}]}},"                                             \
    "\"topologySpreadConstraints\":[{\"maxSkew\":2,\"topologyKey\":\"zone\","                      \
    "\"whenUnsatisfiable\":\"ScheduleAnyway\",\"labelSelector\":{\"matchLabels\":{"                \
    "\"app\":\"web\"}},\"minDomains\":3,\"nodeTaintsPolicy\":\"Honor\","                           \
    "\"matchLabelKeys\":[\"hash\"]},{\"maxSkew\":1,\"topologyKey\":\"host\"}],"                    \
    "\"tolerations\":[{\"key\":\"gpu\",\"operator\":\"Equal\",\"value\":\"a\","                    \
    "\"effect\":\"NoSchedule\"},{\"operator\":\"Exists\",\"key\":\"k\"}],"                         \
    "\"priorityClassName\":\"high\",\"runtimeClassName\":\"kata\",\"serviceAccountName\":\"sa\","  \
    "\"schedulingGates\":[{\"name\":\"g\"}],\"overhead\":{\"cpu\":\"250m\"},"                      \
    "\"resources\":{\"limits\":{\"memory\":\"2Gi\"}},"                                             \
    "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"data\"}},"            \
    "{\"name\":\"t\",\"ephemeral\":{\"volumeClaimTemplate\":{\"spec\":{"                           \
    "\"storageClassName\":\"fast\"}}}}],\"resourceClaims\":[{\"name\":\"gpu\","                    \
    "\"resourceClaimTemplateName\":\"big\"}],"                                                     \
    "\"initContainers\":[{\"name\":\"i\",\"image\":\"init:1\"},{\"name\":\"log\","                 \
    "\"restartPolicy\":\"Always\",\"resources\":{\"limits\":{\"cpu\":\"100m\"}}}],"                \
    "\"containers\":[{\"name\":\"m\",\"image\":\"app:1\",\"resources\":{\"requests\":"             \
    "{\"cpu\":\"1500m\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"2\"}},\"env\":[{\"name\":\"A\"," \
    "\"value\":\"x\"}],\"ports\":[{\"containerPort\":80,\"hostPort\":8080}]},"                     \
    "{\"name\":\"s\",\"image\":\"side:2\"}]},"                                                     \
    "\"status\":{\"nominatedNodeName\":\"b\"}}"

static int setup(void **state) {
    static Scene scene;

    scene_init(&scene);
    scene_add_node(&scene, STR(NODE_A));
    scene_add_node(&scene, STR(NODE_B));
    scene_add_node(&scene, STR(NODE_C));
    scene_add_pod(&scene, STR(POD_ONE));
    scene_add_pod(&scene, STR(POD_TWO));
    scene_add_pod(&scene, STR(POD_THREE));
    scene_build(&scene, STR(POD));
    *state = &scene;
    return 0;
}

static int teardown(void **state) {
    scene_done(*state);
    return 0;
}

#define CHECK(scene, cases) assert_scenes((scene), (cases), ELEMENTS_OF(cases))

/* Evaluates with @fuel, and an arena of @budget bytes. */
static CelValue run_within(
    const Scene *scene, const CelProgram *program, int64_t fuel, size_t budget) {
    _cleanup_(arena_freep) Arena *arena = arena_new(budget);
    CelRun run = CEL_RUN(arena);

    assert_non_null(arena);
    run.fuel = fuel;
    return cel_run(program->code, &run, scene->variables);
}

static void test_node(void **state) {
    static const SceneCase cases[] = {
        {"node.metadata.name", "\"a\""},
        {"node.metadata.uid", "\"node-uid\""},
        {"node.metadata.creationTimestamp", "timestamp(\"2026-01-02T03:04:05Z\")"},
        {"node.metadata.labels", "{\"empty\": \"\", \"pool\": \"gpu\", \"zone\": \"z1\"}"},
        {"node.metadata.labels['zone']", "\"z1\""},
        {"node.metadata.labels.pool", "\"gpu\""},
        {"node.metadata.labels['none']", "error: no such key: none"},
        {"node.metadata.labels[?'none'].orValue('x')", "\"x\""},
        {"'zone' in node.metadata.labels", "true"},
        {"'none' in node.metadata.labels", "false"},
        {"has(node.metadata.labels.empty)", "true"},
        {"node.metadata.labels.empty == ''", "true"},
        {"node.metadata.annotations", "{\"note\": \"hello\"}"},
        {"node.spec.unschedulable", "true"},
        {"node.spec.taints.map(t, t.key + '=' + t.value + ':' + t.effect)",
            "[\"gpu=a:NoSchedule\", \"soft=:PreferNoSchedule\", \"odd=:Unknown\"]"},
        {"node.spec.taints[0]", "Taint{key: \"gpu\", value: \"a\", effect: \"NoSchedule\", text: "
                                "\"gpu=a:NoSchedule\"}"},
        {"node.status.conditions.exists(c, c.type == 'DiskPressure' && c.status == 'False')",
            "true"},
        {"node.status.images.map(i, i.names)", "[[\"app:1\", \"app@sha256:x\"]]"},
        {"node.status.images[0].sizeBytes", "1000"},
        {"pod.spec.containers.exists(c, node.status.images.exists(i, c.image in i.names))", "true"},
        {"node.status.allocatable['cpu'] == quantity('3.5')", "true"},
        {"node.status.allocatable['memory']", "quantity(\"1Gi\")"},
        {"node.status.allocatable.cpu.isGreaterThan(quantity('3'))", "true"},
        {"node.status.allocatable['none']", "error: no such key: none"},
        {"node.ready", "true"},
        {"node.capacity", "{\"cpu\": 4.0, \"pods\": 110.0}"},
        {"node.capacity['milliCPU'] - node.allocatable['milliCPU']", "500.0"},
        {"node.capacity['none']", "0.0"},
        {"node.status.capacity['cpu']", "quantity(\"4\")"},
        {"node.status.nodeInfo",
            "NodeSystemInfo{architecture: \"amd64\", operatingSystem: \"linux\", osImage: "
            "\"Debian\", kernelVersion: \"6.1.0\", containerRuntimeVersion: \"containerd://2.1\", "
            "kubeletVersion: \"v1.34.1\"}"},
        {"semver(node.status.nodeInfo.kubeletVersion, true).isGreaterThan(semver('1.33.0'))",
            "true"},
        {"node.status.addresses", "[NodeAddress{type: \"InternalIP\", address: \"10.0.0.7\"}]"},
        {"node.status.volumesInUse", "[\"v1\"]"},
        {"node.status.volumesAttached", "[AttachedVolume{name: \"v1\"}]"},
        {"node.spec.providerID", "\"cloud://1\""},
        {"node.spec.podCIDRs.exists(c, cidr(c).containsIP('10.0.0.7'))", "true"},
        {"node.status.conditions.filter(c, has(c.lastTransitionTime)).map(c, now - "
         "c.lastTransitionTime)",
            "[duration(\"3600.5s\")]"},
        {"node.pods.map(p, p.metadata.name)", "[\"one\", \"two\"]"},
        {"node.pods.size()", "2"},
        {"type(node) == Node", "true"},
        {"node == node", "true"},
        {"node.metadata == node.metadata", "true"},
    };

    (void)state;
    CHECK(*state, cases);
}

static void test_amounts(void **state) {
    static const SceneCase cases[] = {
        {"node.allocatable['cpu']", "3.5"},
        {"node.allocatable.cpu", "3.5"},
        {"node.allocatable['milliCPU']", "3500.0"},
        {"node.allocatable['memory']", "1.073741824e+09"},
        {"node.allocatable['none']", "0.0"},
        {"node.allocatable.none", "0.0"},
        {"node.allocatable[pod.metadata.name]", "0.0"},
        {"'none' in node.allocatable", "false"},
        {"'nvidia.com/gpu' in node.allocatable", "true"},
        {"'hugepages-2Mi' in node.allocatable", "true"},
        {"has(node.allocatable.none)", "false"},
        {"has(node.allocatable.cpu)", "true"},
        {"node.allocatable[?'none'].hasValue()", "false"},
        {"'milliCPU' in node.allocatable", "true"},
        {"node.allocatable.all(r, r != 'milliCPU')", "true"},
        {"node.allocatable.size()", "4"},
        {"node.requested['cpu']", "4.25"},
        {"node.requested['memory']", "1.048576e+06"},
        {"node.requested['nvidia.com/gpu']", "0.0"},
        {"node.requested['odd/thing']", "0.0"}, /* no node has it allocatable: it is not counted */
        {"node.free['cpu']", "-0.75"},
        {"node.free['milliCPU']", "-750.0"},
        {"node.free['nvidia.com/gpu']", "2.0"},
        {"node.free.exists(r, node.free[r] < 0.0)", "true"},
        {"node.free == node.free", "true"},
        {"pod.requests['cpu']", "1.85"},
        {"pod.requests['milliCPU']", "1850.0"},
        {"pod.requests['none']", "0.0"},
        {"'memory' in pod.requests", "true"},
        {"pod.requests.all(r, pod.requests[r] <= node.allocatable[r])", "true"},
        {"node.pods.map(p, p.requests['cpu']).sum()", "4.25"},
        {"cluster.nodes", "3"},
        {"cluster.pods", "3"},
        {"cluster.allocatable['cpu']", "4.5"},
        {"cluster.requested['cpu']", "4.25"},
        {"cluster.requested['memory']", "1.050624e+06"},
        {"cluster.free['cpu']", "0.25"},
        {"cluster.free['memory']", "1.072693248e+09"}, /* node c has none */
        {"cluster.free['none']", "0.0"},
        {"cluster.free['milliCPU']", "250.0"},
        {"'none' in cluster.free", "false"},
        {"cluster.allocatable.size()", "4"},
        {"cluster.requested", "{\"cpu\": 4.25, \"memory\": 1.050624e+06, \"nvidia.com/gpu\": 0.0, "
                              "\"hugepages-2Mi\": 0.0}"},
        {"node.status.allocatable",
            "{\"cpu\": quantity(\"3500m\"), \"memory\": quantity(\"1Gi\"), "
            "\"nvidia.com/gpu\": quantity(\"2\"), \"hugepages-2Mi\": quantity(\"0\")}"},
        {"dyn(1) in node.free", "false"},
        {"dyn(1) in pod.requests", "false"},
        {"dyn(1) in cluster.free", "false"},
        {"dyn(1) in node.status.allocatable", "false"},
        {"dyn(1) in node.metadata.labels", "false"},
    };

    CHECK(*state, cases);
}

static void test_amounts_of_another_node(void **state) {
    static const SceneCase cases[] = {
        {"node.requested['memory']", "2048.0"}, /* requested, though the node has none */
        {"'memory' in node.requested", "true"},
        {"node.free['memory']", "0.0"},
        {"'memory' in node.free", "false"},
        {"node.free.cpu", "1.0"},
        {"node.allocatable.size()", "1"},
        {"node.capacity", "{}"},
        {"node.status.nodeInfo.kubeletVersion", "\"\""},
    };
    Scene *scene = *state;

    scene_set_row(scene, 2);
    CHECK(scene, cases);
    scene_set_row(scene, 0);
}

static void test_pod(void **state) {
    static const SceneCase cases[] = {
        {"pod.metadata.name", "\"p\""},
        {"pod.metadata.namespace", "\"work\""},
        {"pod.metadata.uid", "\"u9\""},
        {"pod.metadata.labels['app']", "\"web\""},
        {"pod.metadata.annotations", "{\"k\": \"v\"}"},
        {"now - pod.metadata.creationTimestamp", "duration(\"0.5s\")"},
        {"pod.metadata.ownerReferences",
            "[OwnerReference{apiVersion: \"\", kind: \"Other\", name: \"o\", uid: \"r0\", "
            "controller: "
            "false, blockOwnerDeletion: false}, OwnerReference{apiVersion: \"\", kind: \"Job\", "
            "name: "
            "\"j\", uid: \"r2\", controller: true, blockOwnerDeletion: false}]"},
        {"pod.workload", "PodWorkload{kind: \"Job\", name: \"j\"}"},
        {"pod.spec.nodeName", "\"\""},
        {"pod.spec.schedulerName", "\"berth\""},
        {"pod.spec.priority", "100"},
        {"pod.spec.tolerations[0]",
            "Toleration{key: \"gpu\", operator: \"Equal\", value: \"a\", effect: "
            "\"NoSchedule\"}"},
        {"pod.spec.tolerations[1]",
            "Toleration{key: \"k\", operator: \"Exists\", value: \"\", effect: \"\"}"},
        {"pod.spec.nodeSelector", "{\"disk\": \"ssd\"}"},
        {"pod.spec.containers.map(c, c.name + '=' + c.image)", "[\"m=app:1\", \"s=side:2\"]"},
        {"pod.spec.containers[0]",
            "Container{name: \"m\", image: \"app:1\", restartPolicy: \"\", resources: "
            "ResourceRequirements{requests: {\"cpu\": quantity(\"1500m\"), \"memory\": "
            "quantity(\"1Gi\")}, limits: {\"cpu\": quantity(\"2\")}}, requests: {\"cpu\": 1.5, "
            "\"memory\": 1.073741824e+09}, limits: {\"cpu\": 2.0}, ports: [ContainerPort{name: "
            "\"\", containerPort: 80, hostPort: 8080, protocol: \"TCP\", hostIP: \"\"}], env: "
            "[EnvVar{name: \"A\"}]}"},
        {"pod.spec.initContainers.map(c, c.name)", "[\"i\", \"log\"]"},
        {"pod.spec.initContainers.filter(c, c.restartPolicy == 'Always').map(c, c.name)",
            "[\"log\"]"},
        {"pod.spec.containers.map(c, c.limits['cpu'])", "[2.0, 0.0]"},
        {"pod.spec.containers[1].resources.limits.cpu", "error: no such key: cpu"},
        {"'pods' in pod.spec.containers[0].requests", "false"},
        {"pod.spec.priorityClassName", "\"high\""},
        {"pod.spec.preemptionPolicy", "\"PreemptLowerPriority\""},
        {"pod.spec.runtimeClassName", "\"kata\""},
        {"pod.spec.serviceAccountName", "\"sa\""},
        {"pod.spec.hostNetwork", "false"},
        {"pod.spec.schedulingGates", "[PodSchedulingGate{name: \"g\"}]"},
        {"pod.spec.overhead", "{\"cpu\": quantity(\"250m\")}"},
        {"pod.spec.resources",
            "ResourceRequirements{requests: {}, limits: {\"memory\": quantity(\"2Gi\")}}"},
        {"pod.spec.volumes",
            "[Volume{name: \"v\", kind: \"persistentVolumeClaim\", claimName: \"data\", "
            "storageClassName: \"\"}, Volume{name: \"t\", kind: \"ephemeral\", claimName: "
            "\"p-t\", storageClassName: \"fast\"}]"},
        {"pod.spec.resourceClaims", "[PodResourceClaim{name: \"gpu\", resourceClaimName: \"\", "
                                    "resourceClaimTemplateName: \"big\"}]"},
        {"pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
         ".nodeSelectorTerms[0].matchExpressions[0].values",
            "[\"ssd\", \"nvme\"]"},
        {"pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
         ".nodeSelectorTerms.map(t, t.matchFields.map(f, f.key + f.operator + f.values[0]))",
            "[[\"metadata.nameNotInb\"]]"},
        {"pod.spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
         ".map(t, [string(t.weight), t.preference.matchExpressions[0].operator])",
            "[[\"7\", \"Gt\"]]"},
        {"pod.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution", "[]"},
        {"pod.spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution.map(t, "
         "t.podAffinityTerm).map(t, [t.topologyKey, t.mismatchLabelKeys[0], "
         "t.namespaceSelector.matchLabels['team'], string(has(t.labelSelector))])",
            "[[\"zone\", \"m\", \"x\", \"true\"]]"},
        {"pod.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.map(t, "
         "[t.topologyKey, t.namespaces[0], t.matchLabelKeys[0], t.labelSelector.matchLabels['app'],"
         " t.labelSelector.matchExpressions[0].operator, string(has(t.namespaceSelector))])",
            "[[\"host\", \"shop\", \"k\", \"web\", \"Exists\", \"false\"]]"},
        {"pod.spec.topologySpreadConstraints.map(c, [string(c.maxSkew), c.topologyKey, "
         "c.whenUnsatisfiable, c.nodeAffinityPolicy, c.nodeTaintsPolicy, string(has(c.minDomains)),"
         " string(has(c.labelSelector))])",
            "[[\"2\", \"zone\", \"ScheduleAnyway\", \"Honor\", \"Honor\", \"true\", \"true\"], "
            "[\"1\", \"host\", \"DoNotSchedule\", \"Honor\", \"Ignore\", \"false\", \"false\"]]"},
        {"pod.spec.topologySpreadConstraints[0].minDomains", "3"},
        {"pod.spec.topologySpreadConstraints[1].minDomains", "error: no such key: minDomains"},
        {"pod.spec.topologySpreadConstraints[0].matchLabelKeys", "[\"hash\"]"},
        {"node.pods[0].spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution",
            "[]"},
        {"pod.limits", "{\"cpu\": 2.35, \"memory\": 2.147483648e+09}"},
        {"pod.limits['nvidia.com/gpu']", "0.0"},
        {"'pods' in pod.limits", "false"},
        {"pod.requests['pods']", "1.0"},
        {"pod.status.qosClass", "\"Burstable\""},
        {"pod.status.nominatedNodeName", "\"b\""},
        {"pod.terminating", "false"},
        {"has(pod.status.startTime)", "false"},
        {"pod.status.startTime", "error: no such key: startTime"},
    };

    CHECK(*state, cases);
}

static void test_namespace(void **state) {
    static const Label label = {STR("tier"), STR("gold")}, note = {STR("note"), STR("x")};
    static const Namespace known = {.labels = {&label, 1}, .annotations = {&note, 1}};
    const Related related = {.knows_namespaces = true, .namespace = &known};
    const Related none = {.knows_namespaces = true};
    static const SceneCase cases[] = {
        {"namespace.metadata.labels['tier']", "\"gold\""},
        {"namespace.metadata.labels['none']", "error: no such key: none"},
        {"namespace.metadata.annotations", "{\"note\": \"x\"}"},
        {"namespace.metadata.name == pod.metadata.namespace", "true"},
        {"type(namespace) == Namespace", "true"},
    };
    Scene *scene = *state;

    assert_scene(scene, "namespace.metadata.name == pod.metadata.namespace", "true");
    assert_scene(scene, "namespace.metadata.labels",
        "error: namespaces are not known: no API server, no right to list them, or none in the "
        "--cluster file");
    scene->pod.related = &none;
    assert_scene(scene, "namespace.metadata.annotations", "error: namespace \"work\" is not known");
    scene->pod.related = &related;
    assert_scenes(scene, cases, ELEMENTS_OF(cases));
    scene->pod.related = NULL;
}

static void test_claims(void **state) {
    static const Str modes[] = {STR("ReadWriteOnce")}, zones[] = {STR("z1")};
    static const Requirement in_z1 = {
        .key = STR("zone"), .op = SELECTOR_IN, .values = zones, .n_values = 1};
    NodeTerm term = {.labels = {&in_z1, 1}};
    VolumeClaim claims[] = {
        {.name = STR("data"),
            .storage_class = STR("fast"),
            .volume_name = STR("pv"),
            .phase = STR("Bound"),
            .requested = 10,
            .capacity = 12,
            .access_modes = modes,
            .n_access_modes = 1,
            .volume = {.name = STR("pv"),
                .terms = {.items = &term, .n = 1, .is_given = true},
                .zones = zones,
                .n_zones = 1}},
        {.name = STR("new"), .phase = STR("Pending")},
        {.name = STR("lost"), .phase = STR("Bound"), .volume_name = STR("gone")},
    };
    const Related related = {.knows_claims = true, .claims = claims, .n_claims = 3};
    static const SceneCase cases[] = {
        {"pod.claims[0]",
            "PersistentVolumeClaim{name: \"data\", storageClassName: \"fast\", phase: \"Bound\", "
            "volumeName: \"pv\", requested: 10.0, capacity: 12.0, accessModes: "
            "[\"ReadWriteOnce\"], zones: [\"z1\"]}"},
        {"pod.claims.map(c, c.name)", "[\"data\", \"new\", \"lost\"]"},
        {"pod.claims[0].selects(node)", "true"},
        {"pod.claims[1].zones", "[]"},
        {"pod.claims[1].selects(node)", "true"},
        {"pod.claims[2].zones", "error: volume \"gone\" is not known"},
        {"pod.claims[2].selects(node)", "error: volume \"gone\" is not known"},
    };
    static PodVolume volume = {.claim_name = STR("data")};
    static PodDetails details = {.volumes = &volume, .n_volumes = 1};
    Scene *scene = *state;
    const PodDetails *before = scene->pod.details;

    scene->pod.details = NULL;
    assert_scene(scene, "pod.claims", "[]"); /* without volumes nothing needs to be known */
    scene->pod.details = &details;
    assert_scene(scene, "pod.claims",
        "error: claims are not known: no API server, no right to list them, or none in the "
        "--cluster file");
    scene->pod.related = &related;
    assert_scenes(scene, cases, ELEMENTS_OF(cases));
    scene_set_row(scene, 1);
    assert_scene(scene, "pod.claims[0].selects(node)", "false");
    scene_set_row(scene, 0);
    scene->pod.related = NULL;
    scene->pod.details = before;
}

static void test_related(void **state) {
    static const struct {
        const char *source;
        unsigned want;
    } cases[] = {
        {"true", 0},
        {"pod.metadata.namespace == 'a'", 0},
        {"'a' in namespace.metadata.labels", RELATED_BIT(RELATED_NAMESPACES)},
        {"[1, 2].exists(i, size(namespace.metadata.annotations) == i)",
            RELATED_BIT(RELATED_NAMESPACES)},
        {"[1].exists(namespace, namespace > 2)", 0},
        {"pod.claims.size() > 0", RELATED_BIT(RELATED_CLAIMS) | RELATED_BIT(RELATED_VOLUMES)},
        {"has(pod.claims)", RELATED_BIT(RELATED_CLAIMS) | RELATED_BIT(RELATED_VOLUMES)},
        {"dyn(pod).claims == []", RELATED_BIT(RELATED_CLAIMS) | RELATED_BIT(RELATED_VOLUMES)},
        {"pod.spec.resourceClaims.size() > 0", 0},
    };
    Scene *scene = *state;

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        CelChecked *checked = NULL;

        assert_int_equal(
            cel_compile_tree(scene->schema->env, STR("test"), str_from_c(cases[i].source),
                &(CelOptions){0}, scene->arena, &scene->diags, &checked),
            0);
        assert_case(cases[i].source, schema_related(scene->schema, checked) == cases[i].want);
    }
}

static void test_node_pod(void **state) {
    static const SceneCase cases[] = {
        {"node.pods[0].metadata.namespace", "\"ns\""},
        {"node.pods[0].metadata.uid", "\"u1\""},
        {"node.pods[0].metadata.labels", "{\"app\": \"web\"}"},
        {"node.pods[0].metadata.creationTimestamp < now - duration('60s')", "true"},
        {"node.pods[0].metadata.ownerReferences[0].name", "\"web\""},
        {"node.pods[1].metadata.ownerReferences", "[]"},
        {"node.pods.map(p, p.workload.kind + '/' + p.workload.name)",
            "[\"ReplicaSet/web\", \"/\"]"},
        {"node.pods[0].spec.nodeName", "\"a\""},
        {"node.pods[0].spec.schedulerName", "\"\""},
        {"node.pods[0].spec.priority", "7"},
        {"node.pods[0].spec.tolerations", "[]"},
        {"node.pods[0].status.startTime", "timestamp(\"2027-01-15T07:59:30Z\")"},
        {"node.pods.filter(p, has(p.status.startTime)).size()", "1"},
        {"node.pods.filter(p, has(p.metadata.creationTimestamp)).size()", "1"},
        {"node.pods[0].scheduledTime", "timestamp(\"2027-01-15T07:59:20Z\")"},
        {"node.pods[1].scheduledTime", "error: no such key: scheduledTime"},
        {"node.pods.filter(p, has(p.scheduledTime)).size()", "1"},
        {"node.pods.filter(p, has(p.scheduledTime) && now - p.scheduledTime < "
         "duration('5m')).size()",
            "1"},
        {"node.pods.filter(p, has(p.scheduledTime) && now - p.scheduledTime < "
         "duration('30s')).size()",
            "0"},
        {"node.pods.map(p, p.terminating)", "[true, false]"},
        {"node.pods[0].requests", "{\"cpu\": 0.25, \"memory\": 1.048576e+06}"},
        {"has(node.pods[0].status.nominatedNodeName)", "false"},
        {"node.pods.filter(p, p.metadata.labels[?'app'] == optional.of('web')).size()", "1"},
        {"has(dyn(node.pods[0]).status.phase)", "false"}, /* not kept */
        {"dyn(node.pods[0]).metadata.annotations", "{}"},
        {"node.pods.map(p, p.metadata.annotations[?'k'].orValue('none'))", "[\"none\", \"v\"]"},
        {"node.pods.map(p, 'k' in p.metadata.annotations)", "[false, true]"},
        {"node.pods[1].metadata.annotations['x']", "error: no such key: x"},
        {"node.pods.map(p, p.limits['cpu'])", "[0.0, 5.0]"},
        {"node.pods.map(p, p.status.qosClass)", "[\"Burstable\", \"Burstable\"]"},
        {"node.pods[0].spec.containers.map(c, c.image)", "[\"app:1\"]"},
        {"node.pods[1].spec.initContainers.map(c, c.restartPolicy)", "[\"Always\"]"},
        {"node.pods[1].spec.containers[0].ports.map(p, p.hostPort)", "[53]"},
        {"node.pods[1].spec.containers[0].limits['cpu']", "5.0"},
        {"node.pods[1].spec.volumes.map(v, v.claimName)", "[\"data\"]"},
        {"node.pods[1].spec.runtimeClassName + node.pods[1].spec.priorityClassName",
            "\"katahigh\""},
        {"node.pods.map(p, p.spec.preemptionPolicy)", "[\"PreemptLowerPriority\", \"Never\"]"},
        {"node.pods[1].spec.serviceAccountName", "\"sa\""},
        {"node.pods.map(p, p.spec.hostNetwork)", "[false, true]"},
        {"node.pods[1].spec.overhead['cpu'].isGreaterThan(quantity('0'))",
            "error: no such key: cpu"},
    };

    CHECK(*state, cases);
}

/* Before 1970, too, the fraction of a second is positive. */
static void test_now(void **state) {
    CelValue before = schema_now(-1), after = schema_now(SCENE_NOW);

    (void)state;
    assert_true(before.kind == CEL_TIMESTAMP && after.kind == CEL_TIMESTAMP);
    assert_true(before.i == -1 && before.len == 999999999);
    assert_true(after.i == 1800000000 && after.len == 500000000);
}

/* With too little fuel or memory an evaluation ends with an error, until there is enough. */
static void test_little_fuel_and_memory(void **state) {
    static const char *const sources[] = {
        "node.free.map(r, node.free[r]).size() + pod.requests.size() == 6",
        "cluster.free.all(r, cluster.free[r] >= 0.0)",
        "node.status.allocatable.all(r, node.status.allocatable[r].isGreaterThan(quantity('-1')))",
        "node.metadata.labels.all(k, node.metadata.labels[k] != 'x')",
        "node.spec.taints.exists(t, !pod.tolerates(t)) || pod.tolerates(node.spec.taints[0].text)",
        "node.pods.map(p, p.metadata.ownerReferences.size()).sum() == 1",
        "node.status.images.all(i, i.names.exists(n, n == 'app:1'))",
        "pod.limits['cpu'] > 2.0 && pod.spec.overhead.size() == 1",
        "pod.spec.containers.all(c, c.limits.size() < 2 && c.resources.limits.size() < 2)",
        "pod.spec.containers.all(c, c.ports.all(p, p.hostPort > 0) && c.env.all(e, e.name == 'A'))",
        "pod.spec.volumes.exists(v, v.claimName == 'data') && pod.spec.resourceClaims.size() == 1",
        "node.domain('zone').pods.size() == 3 && node.domain('zone').nodes[1].ready == false",
        "cluster.domains('zone').map(d, d.nodes.map(n, n.pods.size()).sum()) == [3, 0]",
        "cluster.nodesByLabel('zone')['z1'] == 2",
        "amount('cpu', 0.5) == '500m'",
    };
    Scene *scene = *state;

    for (size_t i = 0; i < ELEMENTS_OF(sources); i++) {
        CelProgram *program = scene_compile(scene, sources[i]);
        size_t fuel = 0, budget = 0;
        CelValue v;

        do {
            v = run_within(scene, program, (int64_t)fuel++, SCENE_BUDGET);
            assert_case(sources[i], v.kind == CEL_ERROR || v.boolean);
        } while (v.kind == CEL_ERROR && fuel < 10000);
        assert_case(sources[i], v.kind == CEL_BOOL && fuel > 1);
        do {
            v = run_within(scene, program, CEL_FUEL_DEFAULT, budget);
            assert_case(sources[i], v.kind == CEL_ERROR || v.boolean);
            budget += 16;
        } while (v.kind == CEL_ERROR && budget < 100000);
        assert_case(sources[i], v.kind == CEL_BOOL);
    }
}

/* An unknown node, and a node with no optional fields. */
static void test_absent(void **state) {
    static const SceneCase cases[] = {
        {"node.metadata.uid", "\"\""},
        {"node.metadata.annotations", "{}"},
        {"has(node.metadata.creationTimestamp)", "false"},
        {"node.metadata.creationTimestamp", "error: no such key: creationTimestamp"},
        {"node.spec.unschedulable", "false"},
        {"node.spec.taints", "[]"},
        {"node.status.conditions", "[]"},
        {"node.status.images", "[]"},
        {"node.status.allocatable", "{}"},
        {"node.ready", "false"},
        {"node.free", "{}"},
        {"node.free['cpu']", "0.0"},
        {"node.allocatable.milliCPU", "0.0"},
        {"'cpu' in node.requested", "false"},
        {"node.pods", "[]"},
    };
    Scene *scene = *state;

    scene_set_row(scene, 3); /* n_rows */
    CHECK(scene, cases);
    assert_scene(scene, "node.metadata.name", "\"\"");
    assert_scene(scene, "node.domain('zone').value", "\"\"");
    assert_scene(scene, "node.metadata.labels", "{}");
    scene_set_row(scene, 1);
    CHECK(scene, cases);
    assert_scene(scene, "node.metadata.name", "\"b\"");
    scene_set_row(scene, 0);
}

static void test_domains(void **state) {
    static const SceneCase cases[] = {
        {"node.domain('zone').value", "\"z1\""},
        {"node.domain('zone').nodes.map(n, n.metadata.name)", "[\"a\", \"c\"]"},
        {"node.domain('zone').pods.map(p, p.metadata.name)", "[\"one\", \"two\", \"three\"]"},
        {"node.domain('zone').pods.filter(p, p.metadata.labels[?'app'] == optional.of('web'))"
         ".size()",
            "1"},
        {"node.domain('none').value", "\"\""},
        {"node.domain('none').nodes.size()", "0"},
        {"node.domain('none').pods.size()", "0"},
        {"node.domain('empty').nodes.size()", "1"},
        {"cluster.domains('zone').map(d, d.value)", "[\"z1\", \"z2\"]"},
        {"cluster.domains('zone').map(d, d.nodes.size())", "[2, 1]"},
        {"cluster.domains('zone').map(d, d.pods.size())", "[3, 0]"},
        {"cluster.domains('none')", "[]"},
        {"cluster.domains('pool').map(d, d.nodes[0].metadata.name)", "[\"a\"]"},
        {"cluster.nodesByLabel('zone')", "{\"z1\": 2, \"z2\": 1}"},
        {"cluster.nodesByLabel('none')", "{}"},
    };

    CHECK(*state, cases);
}

static void test_functions(void **state) {
    static const SceneCase cases[] = {
        {"amount('cpu', 0.25)", "\"250m\""},
        {"amount('cpu', 2.0)", "\"2\""},
        {"amount('milliCPU', 250.0)", "\"250m\""},
        {"amount('memory', 1610612736.0)", "\"1.5Gi\""},
        {"amount('memory', -1024.0)", "\"-1Ki\""},
        {"amount('nvidia.com/gpu', 2.0)", "\"2\""},
        {"amount('pods', 1e300)", "\"9223372036854775807\""},
        {"amount('pods', -1e300)", "\"-9223372036854775808\""},
        {"amount('cpu', 0.0 / 0.0)", "error: amount(): not a number"},
        {"node.spec.taints.map(t, pod.tolerates(t))", "[true, true, true]"},
        {"node.spec.taints.map(t, node.pods[0].tolerates(t))", "[false, true, true]"},
        {"node.spec.taints.map(t, pod.tolerates(t.text))", "[true, true, true]"},
        {"node.spec.taints.map(t, node.pods[0].tolerates(t.text))", "[false, true, true]"},
        {"node.pods[0].tolerates('gpu:NoSchedule')", "false"},
        {"node.pods[0].tolerates('gpu:PreferNoSchedule')", "true"},
        {"pod.tolerates('gpu')", "error: not a taint: key=value:Effect or key:Effect is one"},
    };

    CHECK(*state, cases);
}

/* Errors and their texts. */
static void test_mistakes(void **state) {
    static const struct {
        const char *source, *text, *hint;
    } cases[] = {
        {"node.metadata.label", "undefined field 'label' of NodeMetadata", "labels"},
        {"node.fre", "undefined field 'fre' of Node", "did you mean 'free'?"},
        {"nodes.ready", "undeclared reference to 'nodes'", "did you mean 'node'?"},
        {"pod.spec.prioritty", "undefined field 'prioritty' of PodSpec", "'priority'"},
        {"pod.metadata.deletionTimestamp", "undefined field 'deletionTimestamp'",
            "pod.terminating"},
        {"pod.status.phase", "undefined field 'phase' of PodStatus", "Pending"},
        {"node.metadata.annotation", "undefined field", "did you mean 'annotations'?"},
        {"node.pods[0].metadata.annotation", "undefined field", "did you mean 'annotations'?"},
        {"node.free['cpu'] + 1", "no matching overload", "double"},
        {"node.status.allocatable.cpu + 1.0", "no matching overload", ""},
        {"pod.domain('x')", "no matching overload", "Node"},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(1 << 16);
        Scene *scene = *state;
        CelProgram *program;
        DiagList diags = DIAG_LIST_IN(scene->arena);
        Str source = str_from_c(cases[i].source);

        assert_case(cases[i].source, cel_compile(scene->schema->env, STR("t"), source, NULL,
                                         scene->arena, &diags, &program) == CEL_REFUSED);
        diag_list_print(&diags, false, &text);
        buf_append_char(&text, '\0');
        if (!strstr(text.data, cases[i].text) || !strstr(text.data, cases[i].hint))
            fail_msg("%s: %s", cases[i].source, text.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_amounts_of_another_node),
        cmocka_unit_test(test_pod),
        cmocka_unit_test(test_namespace),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_related),
        cmocka_unit_test(test_node_pod),
        cmocka_unit_test(test_now),
        cmocka_unit_test(test_little_fuel_and_memory),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_domains),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_mistakes),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
