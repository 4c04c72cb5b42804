#include "model/pod.h"

#include "base/buf.h"
#include "model/pod-requests.h"
#include "model/test-decode.h"
#include "model/test-file.h"

/* When it was bound: conditions of a status, and what follows from them. */
static void test_scheduled(void **state) {
#define AT "\"lastTransitionTime\":\"2026-01-02T03:04:07Z\""
#define SCHEDULED "\"type\":\"PodScheduled\",\"status\":\"True\""
    static const struct {
        const char *status;
        int64_t scheduled_at, placed_at;
    } cases[] = {
        {"{}", 0, 1767323045},
        {"{\"conditions\":null}", 0, 1767323045},
        {"{\"conditions\":[]}", 0, 1767323045},
        {"{\"conditions\":[{" SCHEDULED "," AT "}]}", 1767323047, 1767323047},
        {"{\"conditions\":[{" AT "," SCHEDULED "}]}", 1767323047, 1767323047},
        {"{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\"," AT "}]}", 0,
            1767323045},
        {"{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"," AT "}]}", 0, 1767323045},
        {"{\"conditions\":[{" SCHEDULED "}]}", 0, 1767323045},
        {"{\"conditions\":[{" SCHEDULED ",\"lastTransitionTime\":null}]}", 0, 1767323045},
        {"{\"conditions\":[{" SCHEDULED ",\"lastTransitionTime\":{\"x\":[7]}}]}", 0, 1767323045},
        {"{\"conditions\":[{" SCHEDULED ",\"lastTransitionTime\":\"today\"}]}", 0, 1767323045},
        {"{\"conditions\":[{" SCHEDULED "," AT "},{" SCHEDULED
         ",\"lastTransitionTime\":\"2026-01-02T03:04:08Z\"}]}",
            1767323047, 1767323047}, /* the first */
        {"{\"conditions\":[{" SCHEDULED "," AT "}],\"conditions\":[]}", 0, 1767323045},
        {"{\"startTime\":\"2026-01-02T03:04:09Z\"}", 0, 1767323049},
        {"{\"startTime\":\"2026-01-02T03:04:09Z\",\"conditions\":[{" SCHEDULED "," AT "}]}",
            1767323047, 1767323047},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        _cleanup_(buf_done) Buf text = BUF_INIT(65536);
        Pod pod;

        buf_printf(&text,
            "{\"metadata\":{\"creationTimestamp\":\"2026-01-02T03:04:05Z\"},\"status\":%s}",
            cases[i].status);
        assert_case(cases[i].status, decode_pod(buf_str(&text), arena, &pod) == JSON_OK);
        assert_case(cases[i].status, pod.scheduled_at == cases[i].scheduled_at);
        assert_case(cases[i].status, pod_placed_at(&pod) == cases[i].placed_at);
    }
}

/* One pod with every field we read, among others we do not. */
static const char whole_pod[] =
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-0\",\"namespace\":\"shop\",\"uid\":\"u-1\","
    "\"resourceVersion\":\"812\",\"creationTimestamp\":\"2026-01-02T03:04:05Z\","
    "\"generation\":3,\"labels\":{\"app\":\"web\",\"tier\":\"\\u0066ront\"},"
    "\"annotations\":{\"x\":\"[{]}\"},\"deletionTimestamp\":\"2026-01-01T00:00:00Z\","
    "\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"o-0\"},"
    "{\"kind\":\"Bystander\",\"name\":\"b\",\"uid\":\"o-1\",\"controller\":false},"
    "{\"apiVersion\":\"apps/v1\",\"controller\":true,\"kind\":\"StatefulSet\",\"name\":\"web\","
    "\"uid\":\"o-2\"},"
    "{\"kind\":\"Late\",\"name\":\"l\",\"uid\":\"o-3\",\"controller\":true}]},"
    "\"spec\":{\"priority\":-5,\"schedulerName\":\"berth\",\"nodeName\":\"n1\","
    "\"initContainers\":[{\"name\":\"i\",\"image\":\"first:1\"}],"
    "\"containers\":[{\"name\":\"\\u0061\",\"image\":\"web:2\",\"resources\":{\"limits\":{"
    "\"memory\":\"1\"},"
    "\"requests\":{\"cpu\":\"1\"}},\"env\":[{\"name\":\"A\",\"value\":\"v\"}],\"ports\":[{"
    "\"containerPort\":80,\"hostPort\":8080,\"hostIP\":\"::1\",\"protocol\":\"UDP\"}]}],"
    "\"priorityClassName\":\"high\",\"runtimeClassName\":\"gvisor\",\"hostNetwork\":true,"
    "\"preemptionPolicy\":\"Never\",\"serviceAccountName\":\"sa\",\"overhead\":{},"
    "\"schedulingGates\":[{\"name\":\"gate\"}],"
    "\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimTemplateName\":\"t\"}],"
    "\"volumes\":[{\"name\":\"kube-api-access-x\",\"projected\":{}},{\"name\":\"data\","
    "\"persistentVolumeClaim\":{\"claimName\":\"c\"}},{\"ephemeral\":{"
    "\"volumeClaimTemplate\":{\"spec\":{\"storageClassName\":\"fast\"}}},\"name\":\"tmp\"}],"
    "\"tolerations\":[{\"key\":\"gpu\",\"operator\":\"Exists\"}],\"nodeSelector\":{\"a\":\"b\"}},"
    "\"status\":{\"phase\":\"Failed\",\"nominatedNodeName\":\"n2\","
    "\"conditions\":[{\"type\":\"PodResizePending\",\"reason\":\"Defe\\u0072red\"},"
    "{\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-01-02T03:04:07Z\",\"status\":\"True\","
    "\"type\":\"PodScheduled\"},{\"type\":\"Ready\",\"status\":\"True\","
    "\"lastTransitionTime\":\"2026-01-02T03:05:07Z\"}],"
    "\"containerStatuses\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"3\"}},"
    "\"allocatedResources\":{\"cpu\":\"2\"}}],\"initContainerStatuses\":[{\"name\":\"i\"}],"
    "\"allocatedResources\":{\"cpu\":\"9\"},\"resources\":{\"limits\":{}},"
    "\"startTime\":\"2026-01-02T04:04:06+01:00\"}}";

static void test_fields(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    Pod pod;

    (void)state;
    assert_int_equal(decode_pod(STR(whole_pod), arena, &pod), JSON_OK);
    assert_text("name", pod.name, "web-0");
    assert_text("namespace", pod.namespace, "shop");
    assert_text("uid", pod.uid, "u-1");
    assert_text("resourceVersion", pod.resource_version, "812");
    assert_int_equal(pod.created_at, 1767323045);
    assert_int_equal(pod.started_at, 1767323046);
    assert_int_equal(pod.scheduled_at, 1767323047);
    assert_int_equal(pod.labels.n, 2);
    assert_text("label", *labels_find(&pod.labels, STR("tier")), "front");
    assert_text("owner kind", pod.owner_kind, "StatefulSet");
    assert_text("owner name", pod.owner_name, "web");
    assert_text("owner uid", pod.owner_uid, "o-2");
    assert_text("node", pod.node_name, "n1");
    assert_text("nominated", pod.nominated_node_name, "n2");
    assert_text("scheduler", pod.scheduler_name, "berth");
    assert_int_equal(pod.priority, -5);
    assert_true(pod.is_terminal);
    assert_true(pod.is_terminating);
    assert_int_equal(pod.tolerations.n, 1);
    assert_int_equal(resources_get(&pod.requests, STR("cpu")), 3000);
    assert_int_equal(resources_get(&pod.requests, STR("memory")), 1);
    assert_int_equal(pod.details->annotations.n, 1);
    assert_text("annotation", *labels_find(&pod.details->annotations, STR("x")), "[{]}");
    assert_text("selector", *labels_find(&pod.details->node_selector, STR("a")), "b");
    assert_int_equal(pod.details->n_containers, 1);
    assert_text("container", pod.details->containers[0].name, "a");
    assert_text("image", pod.details->containers[0].image, "web:2");
    assert_int_equal(pod.details->n_init_containers, 1);
    assert_text("init image", pod.details->init_containers[0].image, "first:1");
}

static void test_details(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    const PodDetails *details;
    Pod pod;

    (void)state;
    assert_int_equal(decode_pod(STR(whole_pod), arena, &pod), JSON_OK);
    details = pod.details;
    assert_text("priority class", details->priority_class_name, "high");
    assert_text("runtime class", details->runtime_class_name, "gvisor");
    assert_text("preemption", details->preemption_policy, "Never");
    assert_text("service account", details->service_account_name, "sa");
    assert_true(details->host_network);
    assert_int_equal(details->n_scheduling_gates, 1);
    assert_text("gate", details->scheduling_gates[0], "gate");
    assert_int_equal(details->n_resource_claims, 1);
    assert_text("claim", details->resource_claims[0].name, "gpu");
    assert_text("template", details->resource_claims[0].template_name, "t");
    assert_int_equal(details->n_volumes, 2); /* not the token */
    assert_text("volume", details->volumes[0].name, "data");
    assert_text("kind", details->volumes[0].kind, "persistentVolumeClaim");
    assert_text("claim name", details->volumes[0].claim_name, "c");
    assert_text("ephemeral", details->volumes[1].claim_name, "web-0-tmp");
    assert_text("class", details->volumes[1].storage_class, "fast");
    assert_int_equal(details->containers[0].n_env, 1);
    assert_text("env", details->containers[0].env[0], "A");
    assert_int_equal(details->containers[0].n_ports, 1);
    assert_int_equal(details->containers[0].ports[0].port, 80);
    assert_int_equal(details->containers[0].ports[0].host_port, 8080);
    assert_text("address", details->containers[0].ports[0].host_ip, "::1");
    assert_text("protocol", details->containers[0].ports[0].protocol, "UDP");
    assert_true(details->has_status_amounts);
}

/* Beyond the limits the rest is left out. */
static void test_limits_of_details(void **state) {
    static const struct {
        const char *list, *element;
        size_t offset, max;
    } cases[] = {
        {"volumes", "{\"name\":\"v\"}", offsetof(PodDetails, n_volumes), POD_VOLUMES_MAX},
        {"resourceClaims", "{}", offsetof(PodDetails, n_resource_claims), POD_RESOURCE_CLAIMS_MAX},
        {"schedulingGates", "{}", offsetof(PodDetails, n_scheduling_gates),
            POD_SCHEDULING_GATES_MAX},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
        _cleanup_(buf_done) Buf text = BUF_INIT(65536);
        Pod pod;

        buf_printf(&text, "{\"spec\":{\"%s\":[", cases[i].list);
        for (size_t k = 0; k < cases[i].max + 1; k++)
            buf_printf(&text, "%s%s", k > 0 ? "," : "", cases[i].element);
        buf_append(&text, STR("]}}"));
        assert_case(cases[i].list, decode_pod(buf_str(&text), arena, &pod) == JSON_OK);
        assert_case(cases[i].list,
            *(const size_t *)(const void *)((const char *)pod.details + cases[i].offset) ==
                cases[i].max);
    }
}

/* Ports and variables of a container over the limit are left out, too. */
static void test_limits_of_containers(void **state) {
    static const char *const lists[] = {"ports", "env"};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(lists); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
        _cleanup_(buf_done) Buf text = BUF_INIT(65536);
        size_t max = i == 0 ? CONTAINER_PORTS_MAX : CONTAINER_ENV_MAX;
        Pod pod;

        buf_printf(&text, "{\"spec\":{\"containers\":[{\"%s\":[", lists[i]);
        for (size_t k = 0; k < max + 1; k++)
            buf_append(&text, k > 0 ? STR(",{}") : STR("{}"));
        buf_append(&text, STR("]}]}}"));
        assert_int_equal(decode_pod(buf_str(&text), arena, &pod), JSON_OK);
        assert_int_equal(
            i == 0 ? pod.details->containers[0].n_ports : pod.details->containers[0].n_env, max);
    }
}

#define C(...) "{\"resources\":{" __VA_ARGS__ "}}"
#define SIDECAR(...) "{\"restartPolicy\":\"Always\",\"resources\":{" __VA_ARGS__ "}}"
#define REQUESTS(cpu, memory) "\"requests\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"}"
#define LIMITS(cpu, memory) "\"limits\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"}"

/* Limits and the QoS class are those that Kubernetes computes. */
static void test_limits_and_qos(void **state) {
    static const struct {
        const char *spec, *qos;
        int64_t cpu, memory; /* limits */
    } cases[] = {
        {"{}", "BestEffort", 0, 0},
        {"{\"containers\":[" C() "]}", "BestEffort", 0, 0},
        {"{\"containers\":[" C("\"limits\":{\"nvidia.com/gpu\":1}") "]}", "BestEffort", 0, 0},
        {"{\"containers\":[" C(LIMITS("1", "1Ki")) "]}", "Guaranteed", 1000, 1024},
        {"{\"containers\":[" C(REQUESTS("1", "1Ki") "," LIMITS("1000m", "1024")) "]}", "Guaranteed",
            1000, 1024},
        {"{\"containers\":[" C(REQUESTS("1", "1")) "]}", "Burstable", 0, 0},
        {"{\"containers\":[" C(REQUESTS("1", "1") "," LIMITS("2", "1")) "]}", "Burstable", 2000, 1},
        {"{\"containers\":[" C(LIMITS("1", "1")) "," C() "]}", "Burstable", 1000, 1},
        {"{\"containers\":[" C(LIMITS("500u", "1")) "," C(LIMITS("500u", "2")) "]}", "Guaranteed",
            1, 3},
        {"{\"containers\":[" C(LIMITS("1", "1")) "],\"initContainers\":[" C(LIMITS("3", "1")) "]}",
            "Guaranteed", 3000, 1},
        {"{\"containers\":[" C(LIMITS("1", "1")) "],\"initContainers\":[" SIDECAR(
             LIMITS("3", "1")) "," C(LIMITS("2", "1")) "]}",
            "Guaranteed", 5000, 2},
        {"{\"containers\":[" C(LIMITS("1", "1")) "],\"overhead\":{\"cpu\":\"1\"}}", "Guaranteed",
            2000, 1},
        {"{\"containers\":[" C() "],\"overhead\":{\"cpu\":\"1\"}}", "BestEffort", 0, 0},
        {"{\"containers\":[" C(LIMITS("1", "1")) "],\"resources\":{" LIMITS("4", "8") "}}",
            "Burstable", 4000, 8}, /* the API server would add the requests */
        {"{\"containers\":[" C(LIMITS("1", "1")) "],\"resources\":{" REQUESTS("4", "8") "," LIMITS(
             "4", "8") "}}",
            "Guaranteed", 4000, 8},
        {"{\"containers\":[" C() "],\"resources\":{" REQUESTS("4", "8") "}}", "Burstable", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        _cleanup_(buf_done) Buf text = BUF_INIT(65536);
        Resources limits;
        Pod pod;

        buf_printf(&text, "{\"spec\":%s}", cases[i].spec);
        assert_case(cases[i].spec, decode_pod(buf_str(&text), arena, &pod) == JSON_OK);
        assert_text(cases[i].spec, pod_qos_class(pod.details), cases[i].qos);
        assert_int_equal(pod_limits(pod.details, arena, &limits), 0);
        assert_case(cases[i].spec, resources_get(&limits, STR("cpu")) == cases[i].cpu);
        assert_case(cases[i].spec, resources_get(&limits, STR("memory")) == cases[i].memory);
    }
}

#define TERMS(text)                                                                                \
    STR("{\"spec\":{\"affinity\":{\"nodeAffinity\":{"                                              \
        "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[" text         \
        "]}}},\"nodeSelector\":{\"pool\":\"gpu\"}}}")

/* The nodeSelector and one of the terms must hold. */
static void test_selects(void **state) {
    static const Label gpu[] = {{STR("pool"), STR("gpu")}, {STR("zone"), STR("a")}};
    static const Label web[] = {{STR("pool"), STR("web")}, {STR("zone"), STR("a")}};
    static const struct {
        Str pod;
        bool gpu, web;
    } cases[] = {
        {STR("{}"), true, true},
        {STR("{\"spec\":{\"nodeSelector\":{\"pool\":\"gpu\"}}}"), true, false},
        {STR("{\"spec\":{\"affinity\":{\"podAffinity\":{}}}}"), true, true},
        {TERMS(""), false, false},
        {TERMS("{}"), false, false},
        {TERMS(
             "{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"a\"]}]}"),
            true, false},
        {TERMS("{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"DoesNotExist\"}]},"
               "{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":"
               "[\"gpu\"]}]}"),
            true, false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        Pod pod;

        assert_int_equal(decode_pod(cases[i].pod, arena, &pod), JSON_OK);
        assert_int_equal(pod_selects(&pod, STR("gpu"), &(Labels){gpu, 2}), cases[i].gpu);
        assert_int_equal(pod_selects(&pod, STR("web"), &(Labels){web, 2}), cases[i].web);
    }
}

/* A node affinity over the limits: a pending pod is rejected, a running pod loses only that. */
static void test_affinity_over_limits(void **state) {
    _cleanup_(buf_done) Buf text = BUF_INIT(1 << 20);

    (void)state;
    for (int is_bound = 0; is_bound < 2; is_bound++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
        Pod pod;

        buf_reset(&text);
        buf_printf(&text, "{\"spec\":{%s\"affinity\":{\"nodeAffinity\":{",
            is_bound ? "\"nodeName\":\"n\"," : "");
        buf_append(&text,
            STR("\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{}"));
        for (unsigned i = 0; i < TERMS_MAX; i++)
            buf_append(&text, STR(",{}"));
        buf_append(&text, STR("]}}}}}"));
        assert_int_equal(
            decode_pod(buf_str(&text), arena, &pod), is_bound ? JSON_OK : JSON_E_RANGE);
        if (is_bound)
            assert_int_equal(pod.details->required_terms.n, TERMS_MAX);
    }
}

/* Annotations over the limit are left out, also of a pending pod. */
static void test_annotations_over_limits(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    _cleanup_(buf_done) Buf text = BUF_INIT(1 << 20);
    Pod pod;

    (void)state;
    buf_append(&text, STR("{\"metadata\":{\"annotations\":{\"a\":\""));
    buf_append_repeat(&text, 'x', ANNOTATION_VALUE_MAX);
    buf_append(&text, STR("\",\"b\":\""));
    buf_append_repeat(&text, 'x', ANNOTATION_VALUE_MAX + 1);
    buf_append_char(&text, '"');
    for (unsigned i = 0; i < ANNOTATIONS_MAX; i++)
        buf_printf(&text, ",\"c%u\":\"%u\"", i, i);
    buf_append(&text, STR("}}}"));
    assert_int_equal(decode_pod(buf_str(&text), arena, &pod), JSON_OK);
    assert_int_equal(pod.details->annotations.n, ANNOTATIONS_MAX);
    assert_non_null(labels_find(&pod.details->annotations, STR("a")));
    assert_null(labels_find(&pod.details->annotations, STR("b")));
    assert_non_null(labels_find(&pod.details->annotations, STR("c126")));
    assert_null(labels_find(&pod.details->annotations, STR("c127")));
    /* Parts that are left out are still validated. */
    text.data[text.len - 6] = '\x01';
    assert_int_not_equal(decode_pod(buf_str(&text), arena, &pod), JSON_OK);
}

static void test_absent_and_null_are_alike(void **state) {
    static const char *const texts[] = {
        "{}",
        "null",
        "{\"metadata\":null,\"spec\":null,\"status\":null}",
        "{\"metadata\":{\"name\":null,\"namespace\":null,\"uid\":null,\"labels\":null,"
        "\"ownerReferences\":null,\"deletionTimestamp\":null,\"resourceVersion\":null,"
        "\"annotations\":null,"
        "\"creationTimestamp\":null},\"spec\":{\"containers\":null,"
        "\"initContainers\":null,\"overhead\":null,\"resources\":null,\"tolerations\":null,"
        "\"nodeName\":null,\"schedulerName\":null,\"priority\":null,\"nodeSelector\":null},"
        "\"status\":{\"phase\":null,\"nominatedNodeName\":null,\"startTime\":null,"
        "\"conditions\":null,\"containerStatuses\":null,\"initContainerStatuses\":null,"
        "\"resources\":null,\"allocatedResources\":null}}",
        "{\"metadata\":{\"ownerReferences\":[null]},\"spec\":{\"containers\":[null]}}",
        "{\"status\":{\"conditions\":[null],\"containerStatuses\":[null]}}",
        ("{\"status\":{\"containerStatuses\":[{\"name\":null,\"resources\":null,"
         "\"allocatedResources\":null}],\"resources\":{\"requests\":null}}}"),
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        Pod pod;

        assert_case(texts[i], decode_pod(str_from_c(texts[i]), arena, &pod) == JSON_OK);
        assert_case(texts[i], pod.name.len + pod.namespace.len + pod.uid.len == 0);
        assert_case(texts[i], pod.created_at == 0 && pod.started_at == 0);
        assert_case(texts[i],
            pod.resource_version.len + pod.labels.n + pod.tolerations.n + pod.requests.n == 0);
        assert_case(texts[i], pod.owner_kind.len + pod.node_name.len == 0 && pod.priority == 0);
        assert_case(texts[i], !pod.is_terminal && !pod.is_terminating);
        assert_case(texts[i], pod.details->annotations.n + pod.details->node_selector.n == 0);
    }
}

static void test_phases(void **state) {
    static const struct {
        const char *phase;
        bool is_terminal;
    } cases[] = {
        {"Pending", false},
        {"Running", false},
        {"Succeeded", true},
        {"Failed", true},
        {"Unknown", false},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        char text[64];
        Pod pod;

        (void)snprintf(text, sizeof(text), "{\"status\":{\"phase\":\"%s\"}}", cases[i].phase);
        assert_int_equal(decode_pod(str_from_c(text), arena, &pod), JSON_OK);
        assert_case(text, pod.is_terminal == cases[i].is_terminal);
    }
}

/* If a key is repeated, the second one counts, as in Go. */
static void test_duplicate_keys(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    Pod pod;

    (void)state;
    assert_int_equal(
        decode_pod(
            STR("{\"metadata\":{\"name\":\"a\",\"name\":\"b\"},\"spec\":{"
                "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"9\"}}}],"
                "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\",\"cpu\":\"2\"}}}],"
                "\"tolerations\":[{},{}],\"tolerations\":[{}]}}"),
            arena, &pod),
        JSON_OK);
    assert_text("name", pod.name, "b");
    assert_int_equal(pod.tolerations.n, 1);
    assert_int_equal(resources_get(&pod.requests, STR("cpu")), 2000);
}

/* A repeated status replaces the first one completely. */
#define SPEC "{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}"
#define STATUS "{\"containerStatuses\":[{\"name\":\"a\",\"allocatedResources\":{\"cpu\":\"7\"}}]}"

static void test_duplicate_keys_of_a_status(void **state) {
    static const struct {
        const char *json;
        int64_t cpu;
    } cases[] = {
        {"{\"spec\":{\"containers\":[{\"name\":\"b\"}]},\"spec\":" SPEC ",\"status\":" STATUS "}",
            7000},
        {"{\"spec\":" SPEC ",\"status\":" STATUS ",\"status\":{}}", 1000},
        {"{\"spec\":" SPEC ",\"status\":{\"containerStatuses\":[{\"name\":\"a\","
         "\"allocatedResources\":{\"cpu\":\"5\"},\"allocatedResources\":{\"cpu\":\"2\"}}]}}",
            2000},
        {"{\"spec\":" SPEC ",\"status\":{\"containerStatuses\":[{\"name\":\"a\","
         "\"allocatedResources\":{\"cpu\":\"9\"}}],\"containerStatuses\":[]}}",
            1000},
        {"{\"spec\":" SPEC ",\"status\":{\"conditions\":[{\"type\":\"PodResizePending\","
         "\"reason\":\"Infeasible\"}],\"conditions\":[]}}",
            1000},
        {"{\"spec\":" SPEC ",\"status\":{\"allocatedResources\":{\"cpu\":\"3\"},"
         "\"resources\":{\"requests\":{\"cpu\":\"8\"}},\"resources\":null}}",
            1000},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        Pod pod;

        assert_case(cases[i].json, decode_pod(str_from_c(cases[i].json), arena, &pod) == JSON_OK);
        assert_case(cases[i].json, resources_get(&pod.requests, STR("cpu")) == cases[i].cpu);
    }
}

static void test_malformed(void **state) {
    static const struct {
        const char *json;
        JsonError error;
    } cases[] = {
        {"", JSON_E_END},
        {"{", JSON_E_END},
        {"[]", JSON_E_TYPE},
        {"\"pod\"", JSON_E_TYPE},
        {"{}{}", JSON_E_TRAILING},
        {"{\"metadata\":[]}", JSON_E_TYPE},
        {"{\"metadata\":{\"name\":1}}", JSON_E_TYPE},
        {"{\"metadata\":{\"labels\":[]}}", JSON_E_TYPE},
        {"{\"metadata\":{\"ownerReferences\":{}}}", JSON_E_TYPE},
        {"{\"metadata\":{\"ownerReferences\":[{\"controller\":\"true\"}]}}", JSON_E_TYPE},
        {"{\"metadata\":{\"resourceVersion\":1}}", JSON_E_TYPE},
        {"{\"metadata\":{\"creationTimestamp\":\"2026-02-30T00:00:00Z\"}}", JSON_OK},
        {"{\"metadata\":{\"creationTimestamp\":1}}", JSON_OK},
        {"{\"status\":{\"startTime\":\"now\"}}", JSON_OK},
        {"{\"spec\":{\"priority\":1.5}}", JSON_E_TYPE},
        {"{\"spec\":{\"priority\":99999999999999999999}}", JSON_E_RANGE},
        {"{\"spec\":{\"containers\":{}}}", JSON_E_TYPE},
        {"{\"spec\":{\"containers\":[1]}}", JSON_E_TYPE},
        {"{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"x\"}}}]}}",
            JSON_E_TYPE},
        {"{\"spec\":{\"overhead\":{\"cpu\":[]}}}", JSON_E_TYPE},
        {"{\"status\":{\"conditions\":{}}}", JSON_E_TYPE},
        {"{\"status\":{\"conditions\":[{\"type\":1}]}}", JSON_E_TYPE},
        {"{\"status\":{\"containerStatuses\":[1]}}", JSON_E_TYPE},
        {"{\"status\":{\"containerStatuses\":[{\"allocatedResources\":[]}]}}", JSON_E_TYPE},
        {"{\"status\":{\"initContainerStatuses\":[{\"allocatedResources\":{\"cpu\":\"x\"}}]}}",
            JSON_E_TYPE},
        {"{\"status\":{\"resources\":{\"requests\":{\"cpu\":\"1 x\"}}}}", JSON_E_TYPE},
        {"{\"status\":{\"allocatedResources\":\"1\"}}", JSON_E_TYPE},
        {"{\"unread\":[1,]}", JSON_E_SYNTAX},           /* skipped text is validated too */
        {"{\"unread\":{\"a\":\"\xff\"}}", JSON_E_UTF8}, /* in every byte */
        {"{\"spec\":{\"hostAliases\":[tru]}}", JSON_E_SYNTAX},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        Pod pod;

        assert_case(
            cases[i].json, decode_pod(str_from_c(cases[i].json), arena, &pod) == cases[i].error);
    }
}

static JsonError decode_only(Str text, Arena *arena) {
    Pod pod;

    return decode_pod(text, arena, &pod);
}

static void test_every_cut(void **state) {
    (void)state;
    check_every_cut(STR(whole_pod), decode_only);
}

static void test_every_budget(void **state) {
    (void)state;
    check_every_budget(STR(whole_pod), decode_only);
}

static JsonError decode_many(
    const char *list, size_t n, const char *element, bool has_node, Arena *arena, Pod *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(65536);

    buf_printf(&text, "{%s[", list);
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i > 0 ? "," : "", element);
    buf_printf(&text, "]%s}}", has_node ? ",\"nodeName\":\"n\"" : "");
    return decode_pod(arena_copy(arena, buf_str(&text)), arena, ret);
}

/* A pod to be placed must not exceed the limit; a pod on a node is kept. */
static void test_lists_over_limits(void **state) {
    static const struct {
        const char *list;
        const char *element;
        size_t max;
        int64_t cpu; /* for a pod on a node */
    } cases[] = {
        {"\"spec\":{\"containers\":", "{\"resources\":{\"requests\":{\"cpu\":1}}}",
            POD_CONTAINERS_MAX, POD_CONTAINERS_MAX * INT64_C(1000)},
        {"\"spec\":{\"initContainers\":", "{\"resources\":{\"requests\":{\"cpu\":1}}}",
            POD_CONTAINERS_MAX, 1000},
        {"\"status\":{\"containerStatuses\":[]},\"spec\":{\"tolerations\":", "{\"key\":\"k\"}",
            TOLERATIONS_MAX, 0},
        {"\"spec\":{},\"status\":{\"containerStatuses\":", "{}", POD_CONTAINERS_MAX, -1},
        {"\"spec\":{},\"status\":{\"initContainerStatuses\":", "{}", POD_CONTAINERS_MAX, -1},
        {"\"spec\":{\"nodeName\":\"n\"},\"status\":{\"containerStatuses\":", "{}",
            POD_CONTAINERS_MAX, -2},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        const char *list = cases[i].list, *element = cases[i].element;
        size_t max = cases[i].max;
        bool is_placed = cases[i].cpu == -2;
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        Pod pod;

        assert_case(list, decode_many(list, max, element, false, arena, &pod) == JSON_OK);
        assert_case(list, decode_many(list, max + 1, element, false, arena, &pod) ==
                              (is_placed ? JSON_OK : JSON_E_RANGE));
        if (cases[i].cpu < 0)
            continue;
        assert_case(list, decode_many(list, max + 9, element, true, arena, &pod) == JSON_OK);
        assert_case(list, resources_get(&pod.requests, STR("cpu")) == cases[i].cpu);
        assert_case(list, pod.tolerations.n <= TOLERATIONS_MAX);
        assert_text(list, pod.node_name, "n");
    }
}

/* The Pod of an extender request. */
static void decode_request(Str request, Arena *arena, Pod *ret) {
    JsonReader reader;
    Str key;

    json_reader_init(&reader, request);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (json_key_is(&reader, key, STR("Pod")))
            pod_decode(&reader, arena, ret);
        else
            json_skip(&reader, NULL);
    }
    json_end(&reader);
    assert_int_equal(json_error(&reader), JSON_OK);
}

/* Requests as kube-scheduler sent them. */
static void test_wire(void **state) {
    static const struct {
        const char *file, *name, *nominated;
        int64_t gpus, priority;
        size_t n_tolerations;
    } cases[] = {
        {"filter-nodecache-true.json", "plain-pod", "", 0, 0, 2},
        {"filter-nodecache-true-affinity.json", "affinity-pod", "", 0, 0, 3},
        {"filter-nodecache-true-gpu.json", "gpu-pod", "", 1, 0, 3},
        {"filter-nodecache-true-managed-resource.json", "gpu-hungry-pod", "", 64, 0, 3},
        {"filter-nodecache-true-nominated.json", "urgent-pod", "node-00003.pool-3.example.internal",
            8, 100000, 3},
        {"filter-nodecache-false.json", "plain-pod", "", 0, 0, 2},
        {"preempt-nodecache-true.json", "urgent-pod", "", 8, 100000, 3},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        char path[128];
        Pod pod = {0};
        Str text;
        char *data;

        (void)snprintf(path, sizeof(path), "wire/fixtures/%s", cases[i].file);
        data = test_file_read(path, &text);
        decode_request(text, arena, &pod);
        assert_text(path, pod.name, cases[i].name);
        assert_text(path, pod.namespace, "team-a");
        assert_text(path, pod.scheduler_name, "default-scheduler");
        assert_text(path, pod.nominated_node_name, cases[i].nominated);
        assert_text(path, pod.labels.items[0].value, cases[i].name);
        assert_case(path, resources_get(&pod.requests, STR("cpu")) == 250);
        assert_case(path, resources_get(&pod.requests, STR("memory")) == INT64_C(256) << 20);
        assert_case(path, resources_get(&pod.requests, STR("nvidia.com/gpu")) == cases[i].gpus);
        assert_case(path, pod.priority == cases[i].priority);
        assert_case(path, pod.tolerations.n == cases[i].n_tolerations);
        assert_case(path, !pod.is_terminal && !pod.is_terminating && pod.uid.len == 36);
        free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scheduled),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_details),
        cmocka_unit_test(test_limits_of_details),
        cmocka_unit_test(test_limits_of_containers),
        cmocka_unit_test(test_limits_and_qos),
        cmocka_unit_test(test_selects),
        cmocka_unit_test(test_affinity_over_limits),
        cmocka_unit_test(test_annotations_over_limits),
        cmocka_unit_test(test_absent_and_null_are_alike),
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_duplicate_keys),
        cmocka_unit_test(test_duplicate_keys_of_a_status),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_every_budget),
        cmocka_unit_test(test_lists_over_limits),
        cmocka_unit_test(test_wire),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
