/* Which names an anonymized bundle shows, and which it hashes. */

#include "base/test-assert.h"
#include "bundle/anonymous.h"
#include "policy/test-scene.h"

#include "model/workload.h"
#include <stdio.h>

#define BYTES_MAX ((size_t)1 << 24)

static const PolicySource policies[] = {
    {.file = STR("p.yaml"),
        .text = STR("spec: {filters: [{name: pool, expression: \"node.metadata.labels.pool == "
                    "'gold' && pod.metadata.name.startsWith('web-') && "
                    "node.metadata.labels['acme.io/tier'] != 'x y'\"}]}")},
};
static const uint64_t salt[2] = {11, 22};

/* "x-" and sixteen hexadecimal digits. */
static bool is_hashed(Str text) {
    if (text.len != 18 || !str_has_prefix(text, STR("x-")))
        return false;
    for (size_t i = 2; i < text.len; i++)
        if (!strchr("0123456789abcdef", text.ptr[i]))
            return false;
    return true;
}

static void test_names(void **state) {
    static const char *const stay[] = {
        "", "gold", "pool", "acme.io/tier", "true", "0", "12.5", "2026", "4Gi", "500m", "-3"};
    static const char *const go[] = {
        "node-7", "payments", "acme.io", "10.0.0.1", "::1", "v1.2.3", "golden", "a b"};
    _cleanup_(anonymous_freep) Anonymous *a = anonymous_new(policies, 1, salt);

    for (size_t i = 0; i < ELEMENTS_OF(stay); i++)
        assert_text(stay[i], anonymous_name(a, str_from_c(stay[i])), stay[i]);
    for (size_t i = 0; i < ELEMENTS_OF(go); i++) {
        Str shown = anonymous_name(a, str_from_c(go[i]));

        if (!is_hashed(shown))
            fail_msg("%.*s is not a hash", STR_FMT(shown));
        assert_true(str_eq(shown, anonymous_name(a, str_from_c(go[i]))));
    }
}

/* Another salt gives other hashes. */
static void test_salt(void **state) {
    static const uint64_t other[2] = {11, 23};
    _cleanup_(anonymous_freep) Anonymous *a = anonymous_new(policies, 1, salt);
    _cleanup_(anonymous_freep) Anonymous *b = anonymous_new(policies, 1, other);

    assert_false(str_eq(anonymous_name(a, STR("node-7")), anonymous_name(b, STR("node-7"))));
}

static void test_keys(void **state) {
    static const char *const stay[] = {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "node-role.kubernetes.io/control-plane",
        "pod-template-hash",
        "acme.io/tier",
        "berth.dev/retry-at",
        "cpu",
        "hugepages-2Mi",
    };
    _cleanup_(anonymous_freep) Anonymous *a = anonymous_new(policies, 1, salt);
    Str key = anonymous_key(a, STR("acme.io/owner")), role;

    for (size_t i = 0; i < ELEMENTS_OF(stay); i++)
        assert_text(stay[i], anonymous_key(a, str_from_c(stay[i])), stay[i]);
    assert_true(is_hashed(str_take(key, str_find(key, '/'))));
    assert_true(is_hashed(str_skip(key, str_find(key, '/') + 1)));
    assert_true(is_hashed(anonymous_key(a, STR("team"))));
    role = anonymous_key(a, STR("node-role.kubernetes.io/payments"));
    assert_true(str_has_prefix(role, STR("node-role.kubernetes.io/x-")));
}

static void test_images(void **state) {
    _cleanup_(anonymous_freep) Anonymous *a = anonymous_new(policies, 1, salt);
    Str app = anonymous_name(a, STR("app"));
    Str image = anonymous_image(a, STR("docker.io/library/app:latest"));

    assert_true(str_has_prefix(image, STR("docker.io/library/x-")));
    assert_true(str_has_suffix(image, STR(":latest")));
    assert_true(str_eq(str_take(str_skip(image, 18), app.len), app));
    assert_true(str_eq(anonymous_image(a, STR("app")), app));
}

/* A value that equals a name is hashed like the name, so workloads still match. */
static void test_objects(void **state) {
    _cleanup_(anonymous_freep) Anonymous *a = anonymous_new(policies, 1, salt);
    _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
    const Label labels[] = {
        {STR("kubernetes.io/hostname"), STR("node-7")}, {STR("pod-template-hash"), STR("5d4f")}};
    const Label notes[] = {{STR("load"), STR("0.25,2026-01-02T03:04:05Z")}, {STR("x"), STR("who")}};
    const Node node = {.name = STR("node-7"), .labels = {labels, 1}, .annotations = {notes, 2}};
    const Pod pod = {
        .name = STR("web-5d4f-1"),
        .namespace = STR("shop"),
        .labels = {labels, 2},
        .owner_kind = STR("ReplicaSet"),
        .owner_name = STR("web-5d4f"),
    };
    const Node *shown = anonymous_mask(a).node(a, &node);
    Str workload;

    assert_non_null(shown);
    assert_true(is_hashed(shown->name));
    assert_true(str_eq(shown->name, shown->labels.items[0].value));
    assert_text("measured", shown->annotations.items[0].value, "0.25,2026-01-02T03:04:05Z");
    assert_true(is_hashed(shown->annotations.items[1].value));
    workload = workload_of(anonymous_mask(a).pod(a, &pod), arena);
    assert_true(str_eq(workload, anonymous_workload(a, STR("shop/Deployment/web"))));
}

/* Every name in a pod's details, none of which policies mention. */
static void test_details(void **state) {
    static const char text[] =
        "{\"metadata\":{\"name\":\"own-a\",\"labels\":{\"pod-template-hash\":\"own-17\"},"
        "\"ownerReferences\":[{\"apiVersion\":\"own-14/v1\",\"kind\":\"Zoo\",\"name\":\"own-15\","
        "\"uid\":\"own-16\"},{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":"
        "\"own-18-own-17\",\"uid\":\"own-19\",\"controller\":true}]},"
        "\"spec\":{\"priorityClassName\":\"own-b\","
        "\"runtimeClassName\":\"own-c\",\"serviceAccountName\":\"own-d\","
        "\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{"
        "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"own-x\",\"operator\":\"In\","
        "\"values\":[\"own-y\"]}],\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\","
        "\"values\":[\"own-z\"]}]}]},\"preferredDuringSchedulingIgnoredDuringExecution\":[{"
        "\"weight\":1,\"preference\":{\"matchExpressions\":[{\"key\":\"own-1\"}]}}]},"
        "\"podAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":5,"
        "\"podAffinityTerm\":{\"topologyKey\":\"own-2\",\"labelSelector\":{\"matchLabels\":{"
        "\"own-3\":\"own-4\"}},\"mismatchLabelKeys\":[\"own-5\"]}}]},"
        "\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
        "\"namespaces\":[\"own-6\"],\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"own-"
        "7\","
        "\"operator\":\"In\",\"values\":[\"own-8\"]}]},\"matchLabelKeys\":[\"own-9\"]}]}},"
        "\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"own-10\","
        "\"labelSelector\":{\"matchLabels\":{\"own-11\":\"own-12\"}},"
        "\"matchLabelKeys\":[\"own-13\"]}],"
        "\"schedulingGates\":[{\"name\":\"own-e\"}],\"overhead\":{\"own-f\":1},"
        "\"resourceClaims\":[{\"name\":\"own-g\",\"resourceClaimName\":\"own-h\","
        "\"resourceClaimTemplateName\":\"own-i\"}],\"resources\":{\"limits\":{\"own-j\":1}},"
        "\"volumes\":[{\"name\":\"own-k\",\"persistentVolumeClaim\":{\"claimName\":\"own-l\"}},{"
        "\"name\":\"own-m\",\"ephemeral\":{\"volumeClaimTemplate\":{\"spec\":{"
        "\"storageClassName\":\"own-n\"}}}}],\"containers\":[{\"name\":\"own-o\",\"image\":\"own-"
        "p\","
        "\"env\":[{\"name\":\"own-q\"}],\"ports\":[{\"name\":\"own-r\",\"hostIP\":\"own-s\"}],"
        "\"resources\":{\"requests\":{\"own-t\":1},\"limits\":{\"own-u\":1,\"cpu\":1}}}]}}";
    _cleanup_(anonymous_freep) Anonymous *a = anonymous_new(policies, 1, salt);
    _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
    _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
    JsonWriter writer = JSON_WRITER(&out);
    JsonReader reader;
    WorkloadName workload;
    const Pod *shown;
    Pod pod, again;

    json_reader_init(&reader, STR(text));
    pod_decode(&reader, arena, &pod);
    assert_int_equal(json_error(&reader), JSON_OK);
    shown = anonymous_mask(a).pod(a, &pod);
    assert_non_null(shown);
    object_write_pod(&writer, shown, STR_NULL);
    if (memmem(out.data, out.len, "own-", 4))
        fail_msg("%.*s", STR_FMT(buf_str(&out)));
    json_reader_init(&reader, buf_str(&out));
    pod_decode(&reader, arena, &again);
    assert_int_equal(json_error(&reader), JSON_OK);
    assert_true(is_hashed(again.details->volumes[0].claim_name));
    assert_text("kind", again.details->volumes[1].kind, "ephemeral");
    assert_int_equal(again.details->containers[0].limits.n, 2);
    assert_int_equal(again.requests.n, pod.requests.n);
    assert_int_equal(again.details->n_owners, 2);
    assert_text("group", again.details->owners[1].api_version, "apps/v1");
    assert_true(str_eq(again.details->owners[1].name, again.owner_name));
    assert_true(workload_find(&again, &workload));
    assert_text("workload", workload.kind, "Deployment");
    assert_int_equal(again.details->required_terms.n, 1);
    assert_text("field", again.details->affinity->node_required[0].fields[0].key, "metadata.name");
    assert_int_equal(again.details->affinity->pods.preferred[0].weight, 5);
    assert_true(is_hashed(again.details->affinity->anti.required[0].namespaces[0]));
    assert_int_equal(again.details->spread[0].max_skew, 1);
}

static void test_related(void **state) {
    static const char text[] =
        "{\"metadata\":{\"name\":\"own-a\",\"namespace\":\"own-b\"},\"" RELATED_KEY
        "\":{\"namespace\":{\"metadata\":{\"name\":\"own-b\",\"labels\":{\"own-c\":\"own-d\","
        "\"kubernetes.io/metadata.name\":\"own-b\"},\"annotations\":{\"own-e\":\"own-f\"}}},"
        "\"claims\":[{\"metadata\":{\"name\":\"own-g\",\"namespace\":\"own-b\"},\"spec\":{"
        "\"storageClassName\":\"own-h\",\"volumeName\":\"own-i\",\"accessModes\":["
        "\"ReadWriteOnce\"]},\"status\":{\"phase\":\"Bound\",\"capacity\":{\"storage\":5}},"
        "\"volume\":{\"metadata\":{\"name\":\"own-i\",\"labels\":{"
        "\"topology.kubernetes.io/zone\":\"own-j__own-k\"}},\"spec\":{\"nodeAffinity\":{"
        "\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
        "\"topology.kubernetes.io/zone\",\"operator\":\"In\",\"values\":[\"own-l\"]}]}]}}}}}]}}";
    _cleanup_(anonymous_freep) Anonymous *a = anonymous_new(policies, 1, salt);
    _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
    _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
    JsonWriter writer = JSON_WRITER(&out);
    JsonReader reader;
    const Namespace *namespace;
    const VolumeClaim *claim;
    const Pod *shown;
    Pod pod, again;

    (void)state;
    json_reader_init(&reader, STR(text));
    pod_decode(&reader, arena, &pod);
    shown = anonymous_mask(a).pod(a, &pod);
    assert_non_null(shown);
    object_write_pod(&writer, shown, STR_NULL);
    if (memmem(out.data, out.len, "own-", 4))
        fail_msg("%.*s", STR_FMT(buf_str(&out)));
    json_reader_init(&reader, buf_str(&out));
    pod_decode(&reader, arena, &again);
    assert_int_equal(json_error(&reader), JSON_OK);
    namespace = again.related->namespace;
    assert_true(str_eq(namespace->name, again.namespace));
    assert_true(str_eq(
        *labels_find(&namespace->labels, STR("kubernetes.io/metadata.name")), again.namespace));
    assert_int_equal(namespace->labels.n, 2);
    assert_int_equal(namespace->annotations.n, 1);
    assert_int_equal(again.related->n_claims, 1);
    claim = &again.related->claims[0];
    assert_true(str_eq(claim->volume_name, claim->volume.name));
    assert_text("phase", claim->phase, "Bound");
    assert_text("mode", claim->access_modes[0], "ReadWriteOnce");
    assert_int_equal(claim->capacity, 5);
    assert_int_equal(claim->volume.n_zones, 3);
}

static void test_node_details(void **state) {
    static const char text[] =
        "{\"metadata\":{\"name\":\"own-a\"},\"spec\":{\"providerID\":\"own-b\",\"podCIDRs\":["
        "\"own-c\"]},\"status\":{\"capacity\":{\"own-d\":1,\"cpu\":2},\"volumesInUse\":[\"own-e\"],"
        "\"volumesAttached\":[{\"name\":\"own-f\"}],\"nodeInfo\":{\"osImage\":\"own-g\","
        "\"kernelVersion\":\"own-h\",\"containerRuntimeVersion\":\"own-i\","
        "\"kubeletVersion\":\"v1.34.1\"}}}";
    _cleanup_(anonymous_freep) Anonymous *a = anonymous_new(policies, 1, salt);
    _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
    _cleanup_(buf_done) Buf out = BUF_INIT(BYTES_MAX);
    JsonWriter writer = JSON_WRITER(&out);
    JsonReader reader;
    const Node *shown;
    Node node, again;

    json_reader_init(&reader, STR(text));
    node_decode(&reader, arena, &node);
    shown = anonymous_mask(a).node(a, &node);
    assert_non_null(shown);
    object_write_node(&writer, shown);
    if (memmem(out.data, out.len, "own-", 4))
        fail_msg("%.*s", STR_FMT(buf_str(&out)));
    json_reader_init(&reader, buf_str(&out));
    node_decode(&reader, arena, &again);
    assert_int_equal(json_error(&reader), JSON_OK);
    assert_text("kubelet", again.details->kubelet_version, "v1.34.1");
    assert_int_equal(resources_get(&again.details->capacity, STR("cpu")), 2000);
    assert_true(is_hashed(again.details->volumes_in_use.items[0]));
    assert_true(is_hashed(again.details->volumes_attached.items[0]));
}

/* Lists only functions that the rules call, with the types of arguments that they use. */
static void test_functions(void **state) {
    static const struct {
        const char *rule, *functions;
    } cases[] = {
        {"size(node.pods) < 3", ""},
        {"size(pod.metadata.name) < 3", "size"},
        {"node.metadata.name == pod.metadata.name + 'x'", ""},
        {"pod.metadata.name.startsWith('a') && pod.metadata.name.startsWith('b')", "startsWith"},
        {"'abc'.startsWith('a') || node.spec.unschedulable", ""},
        {"[pod.metadata.name, 'b'].join('-') in ['a-b']", "join"},
        {"'%s'.format([pod.metadata.name]) == 'a'", "format"},
        {"strings.quote(pod.metadata.name) == 'a'", "strings.quote"},
        {"[pod.metadata.name, 'b'].sort()[0] == 'b'", "sort"},
        {"[pod.spec.priority, 2].sort()[0] == 2", ""},
        {"[1, 2].sortBy(i, pod.metadata.name)[0] == 2", "sortBy"},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        char text[512], names[256] = "";
        Str found[ANONYMOUS_FUNCTIONS_MAX];
        TestScene scene;
        size_t n;

        (void)snprintf(text, sizeof(text),
            "policies:\n  p:\n    filters:\n      - {name: r, expression: \"%s\"}\n",
            cases[i].rule);
        scene_init_text(&scene, text);
        n = anonymous_functions(scene.program, found);
        for (size_t j = 0; j < n; j++)
            (void)snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%.*s",
                j > 0 ? " " : "", STR_FMT(found[j]));
        assert_text(cases[i].rule, str_from_c(names), cases[i].functions);
        scene_done(&scene);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_salt),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_details),
        cmocka_unit_test(test_node_details),
        cmocka_unit_test(test_related),
        cmocka_unit_test(test_functions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
