/* Details of running pods: the fields that are kept, and what pods share. */

#include "base/test-assert.h"
#include "cluster/object-fields.h"
#include "cluster/object-text.h"
#include "cluster/record-pool.h"
#include "cluster/record.h"

#define BUDGET ((size_t)1 << 20)

static bool details_equal(const PodDetails *a, const PodDetails *b) {
    return pod_record_equal(&(Pod){.details = a}, &(Pod){.details = b});
}

static const char text[] =
    "{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"shop\",\"uid\":\"u1\",\"annotations\":{"
    "\"a\":\"1\",\"b\":\"2\"},\"ownerReferences\":[{\"kind\":\"Zoo\",\"name\":\"own\",\"uid\":"
    "\"o1\"},"
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"web\",\"uid\":\"o2\","
    "\"controller\":true,\"blockOwnerDeletion\":true}]},\"spec\":{\"nodeName\":\"n1\","
    "\"nodeSelector\":{\"disk\":\"ssd\"},"
    "\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{"
    "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"disk\",\"operator\":\"In\","
    "\"values\":[\"ssd\",\"nvme\"]}],\"matchFields\":[{\"key\":\"metadata.name\","
    "\"operator\":\"NotIn\",\"values\":[\"b\"]}]}]},"
    "\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":7,\"preference\":{"
    "\"matchExpressions\":[{\"key\":\"gen\",\"operator\":\"Gt\",\"values\":[\"3\"]}]}}]},"
    "\"podAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":9,"
    "\"podAffinityTerm\":{\"topologyKey\":\"zone\",\"labelSelector\":{},"
    "\"namespaceSelector\":{\"matchLabels\":{\"team\":\"x\"}},\"mismatchLabelKeys\":[\"m\"]}}]},"
    "\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
    "\"topologyKey\":\"host\",\"namespaces\":[\"shop\"],\"matchLabelKeys\":[\"k\"],"
    "\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"},\"matchExpressions\":[{"
    "\"key\":\"tier\",\"operator\":\"Exists\"}]}}]}},"
    "\"topologySpreadConstraints\":[{\"maxSkew\":2,\"topologyKey\":\"zone\","
    "\"whenUnsatisfiable\":\"ScheduleAnyway\",\"labelSelector\":{\"matchLabels\":{"
    "\"app\":\"web\"}},\"minDomains\":3,\"nodeTaintsPolicy\":\"Honor\","
    "\"matchLabelKeys\":[\"hash\"]},{\"maxSkew\":1,\"topologyKey\":\"host\"}],"
    "\"priorityClassName\":\"high\",\"runtimeClassName\":\"kata\",\"preemptionPolicy\":\"Never\","
    "\"serviceAccountName\":\"sa\",\"hostNetwork\":true,\"schedulingGates\":[{\"name\":\"g\"}],"
    "\"overhead\":{\"cpu\":\"250m\"},\"resources\":{\"limits\":{\"memory\":\"2Gi\"}},"
    "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"data\"}},"
    "{\"name\":\"t\",\"ephemeral\":{\"volumeClaimTemplate\":{\"spec\":{"
    "\"storageClassName\":\"fast\"}}}}],\"resourceClaims\":[{\"name\":\"gpu\","
    "\"resourceClaimTemplateName\":\"big\"}],\"initContainers\":[{\"name\":\"log\","
    "\"restartPolicy\":\"Always\",\"resources\":{\"limits\":{\"cpu\":\"100m\"}}}],"
    "\"containers\":[{\"name\":\"m\",\"image\":\"app:1\",\"resources\":{\"requests\":{"
    "\"cpu\":\"1500m\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"2\"}},\"env\":[{\"name\":\"A\"}],"
    "\"ports\":[{\"containerPort\":80,\"hostPort\":8080,\"protocol\":\"UDP\"}]},"
    "{\"name\":\"s\",\"image\":\"side:2\"}]}}";

static void read_pod(Str json, Arena *arena, Pod *ret) {
    JsonReader reader;

    json_reader_init(&reader, json);
    pod_decode(&reader, arena, ret);
    assert_int_equal(json_error(&reader), JSON_OK);
}

static void test_keeps_every_field(void **state) {
    _cleanup_(record_pool_freep) RecordPool *pool = record_pool_new();
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    const Pod *record, *alone;
    Pod pod;

    (void)state;
    read_pod(STR(text), arena, &pod);
    record = pod_record_new(pool, &pod, &pod_parts_all);
    alone = pod_record_new(NULL, &pod, &pod_parts_all);
    assert_true(details_equal(record->details, pod.details));
    assert_int_equal(record->details->affinity->pods.preferred[0].weight, 9);
    assert_true(pod_record_equal(record, &pod) && pod_record_equal(alone, record));
    arena_reset(arena); /* it borrows nothing */
    assert_text("port", record->details->containers[0].ports[0].protocol, "UDP");
    pod_record_unref(record);
    pod_record_unref(alone);
    assert_true(record_pool_size(pool) > 0);
    (void)record_pool_sweep(pool);
    assert_int_equal(record_pool_size(pool), 0);
}

/* A record with one part keeps that part, and no other. */
static void test_keeps_only_parts(void **state) {
    static const Str keys[] = {STR("b"), STR("none")};
    static const struct {
        PodParts parts;
        const char *has, *lacks;
    } cases[] = {
        {{.annotations = keys, .n_annotations = 2}, "\"annotations\":{\"b\":\"2\"}", "volumes"},
        {{.fields = POD_BIT(POD_ANNOTATIONS)}, "\"a\":\"1\",\"b\":\"2\"", "volumes"},
        {{.fields = POD_BIT(POD_VOLUMES)}, "\"claimName\":\"data\"", "app:1"},
        {{.fields = POD_BIT(POD_CONTAINERS)}, "\"restartPolicy\":\"Always\"", "app:1"},
        {{.fields = POD_BIT(POD_CONTAINERS) | POD_BIT(POD_CONTAINER_NAMES)}, "app:1", "limits"},
        {{.fields = POD_BIT(POD_CONTAINERS) | POD_BIT(POD_CONTAINER_PORTS)}, "8080", "app:1"},
        {{.fields = POD_BIT(POD_CONTAINERS) | POD_BIT(POD_CONTAINER_ENV)}, "\"env\"", "app:1"},
        {{.fields = POD_BIT(POD_CONTAINERS) | POD_BIT(POD_CONTAINER_AMOUNTS)}, "limits", "2147"},
        {{.fields = POD_BIT(POD_AMOUNTS)}, "\"memory\":\"2147483648\"", "app:1"},
        {{.fields = POD_BIT(POD_AMOUNTS)}, "overhead", "ports"},
        {{.fields = POD_BIT(POD_NODE_SELECTOR)}, "\"disk\":\"ssd\"", "high"},
        {{.fields = POD_BIT(POD_PRIORITY_CLASS)}, "high", "kata"},
        {{.fields = POD_BIT(POD_RUNTIME_CLASS)}, "kata", "high"},
        {{.fields = POD_BIT(POD_PREEMPTION_POLICY)}, "Never", "high"},
        {{.fields = POD_BIT(POD_SERVICE_ACCOUNT)}, "\"sa\"", "high"},
        {{.fields = POD_BIT(POD_HOST_NETWORK)}, "hostNetwork", "high"},
        {{.fields = POD_BIT(POD_SCHEDULING_GATES)}, "schedulingGates", "hostNetwork"},
        {{.fields = POD_BIT(POD_RESOURCE_CLAIMS)}, "\"big\"", "hostNetwork"},
        {{.fields = POD_BIT(POD_AFFINITY)}, "\"nvme\"", "topologySpread"},
        {{.fields = POD_BIT(POD_AFFINITY)}, "\"mismatchLabelKeys\":[\"m\"]", "hostNetwork"},
        {{.fields = POD_BIT(POD_OWNERS)}, "\"Zoo\"", "affinity"},
        {{.fields = POD_BIT(POD_VOLUMES)}, "\"ReplicaSet\"", "\"Zoo\""},
        {{.fields = POD_BIT(POD_SPREAD)}, "\"minDomains\":3", "affinity"},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Pod pod, again;

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(buf_done) Buf out = BUF_INIT(65536);
        JsonWriter writer = JSON_WRITER(&out);
        const Pod *record;

        read_pod(STR(text), arena, &pod);
        record = pod_record_new(NULL, &pod, &cases[i].parts);
        assert_non_null(record->details);
        object_write_pod(&writer, record, record->node_name);
        read_pod(buf_str(&out), arena, &again);
        assert_case(cases[i].has, object_items_equal(&resource_type, again.requests.items,
                                      again.requests.n, pod.requests.items, pod.requests.n));
        buf_append_char(&out, '\0');
        if (!strstr(out.data, cases[i].has) || strstr(out.data, cases[i].lacks))
            fail_msg("%s: %s", cases[i].has, out.data);
        pod_record_unref(record);
        arena_reset(arena);
    }
}

static void test_pods_of_one_template_share_details(void **state) {
    _cleanup_(record_pool_freep) RecordPool *pool = record_pool_new();
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    PodParts parts = {.fields = pod_parts_all.fields & ~POD_BIT(POD_VOLUMES)};
    const Pod *a, *b, *other;
    Pod pod;

    (void)state;
    read_pod(STR(text), arena, &pod);
    a = pod_record_new(pool, &pod, &parts);
    pod.name = STR("web-2");
    pod.uid = STR("u2");
    b = pod_record_new(pool, &pod, &parts);
    assert_ptr_equal(a->details, b->details);
    assert_ptr_equal(b, pod_record_replace(pool, b, &pod, &parts)); /* one more reference */
    pod_record_unref(b);
    other = pod_record_replace(pool, b, &pod, &pod_parts_all);
    assert_true(other != b);
    assert_ptr_equal(other->details->containers, a->details->containers);
    assert_int_equal(other->details->n_volumes, 2);
    pod_record_unref(a);
    pod_record_unref(b);
    pod_record_unref(other);
}

static void test_compares_fields(void **state) {
    static const char *const changes[][2] = {{"app:1", "app:2"}, {"8080", "8081"},
        {"\"A\"", "\"B\""}, {"\"1\"", "\"3\""}, {"1500m", "1501m"}, {"2Gi", "3Gi"},
        {"data", "date"}, {"fast", "last"}, {"ssd", "hdd"}, {"true", "null"}, {"\"g\"", "\"h\""},
        {"big", "bag"}, {"Always", "Never1"}, {"nvme", "hdd2"}, {"NotIn", "Inn"},
        {"\"weight\":9", "\"weight\":8"}, {"\"zone\"", "\"room\""}, {"\"team\"", "\"crew\""},
        {"\"m\"", "\"n\""}, {"Zoo", "Zee"}, {"apps/v1", "apps/v2"},
        {"ScheduleAnyway", "DoNotSchedule"}, {"\"tier\"", "\"tear\""}};
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Pod pod, other;

    (void)state;
    read_pod(STR(text), arena, &pod);
    for (size_t i = 0; i < ELEMENTS_OF(changes); i++) {
        _cleanup_(buf_done) Buf changed = BUF_INIT(65536);
        const char *at = strstr(text, changes[i][0]);

        buf_append(&changed, str_of(text, (size_t)(at - text)));
        buf_append(&changed, str_from_c(changes[i][1]));
        buf_append(&changed, str_from_c(at + strlen(changes[i][0])));
        read_pod(arena_copy(arena, buf_str(&changed)), arena, &other);
        assert_case(changes[i][1], !details_equal(pod.details, other.details));
    }
    assert_true(details_equal(NULL, NULL) && !details_equal(pod.details, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps_every_field),
        cmocka_unit_test(test_keeps_only_parts),
        cmocka_unit_test(test_pods_of_one_template_share_details),
        cmocka_unit_test(test_compares_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
