/* Writing a pod keeps all fields that policies can read: random pods, written and read back. */

#include <stdio.h>

#include "base/buf.h"
#include "base/rng.h"
#include "base/test-assert.h"
#include "cluster/object-text.h"
#include "cluster/record.h"

#define BYTES_MAX ((size_t)1 << 24)
#define N_PODS 2000u

static Rng rng = {.state = 7};

static unsigned pick(unsigned n) {
    return (unsigned)rng_pick(&rng, n);
}

static const char *pick_text(const char *const *list, unsigned n) {
    return list[pick(n)];
}

/* --- pods as users and controllers write them -------------------------------------------- */

static void make_amounts(Buf *out, const char *key) {
    static const char *const cpus[] = {
        "\"100m\"", "\"0.1\"", "2", "\"1500m\"", "\"0\"", "\"100u\""};
    static const char *const memories[] = {"\"1Gi\"", "1000", "\"12e6\"", "\"0.5Mi\"", "\"8E\""};

    buf_printf(out, "\"%s\":{\"cpu\":%s", key, pick_text(cpus, 6));
    if (pick(2))
        buf_printf(out, ",\"memory\":%s", pick_text(memories, 5));
    if (pick(4) == 0)
        buf_printf(out, ",\"example.com/gpu\":%u", pick(3));
    buf_append_char(out, '}');
}

static void make_containers(Buf *out, const char *key, unsigned n) {
    static const char *const images[] = {"nginx", "reg.io/a/b:v1", "x@sha256:00", "", "\\u00e4"};

    buf_printf(out, ",\"%s\":[", key);
    for (unsigned i = 0; i < n; i++) {
        buf_printf(out,
            "%s{\"name\":\"c%u\",\"image\":\"%s\",\"env\":[{\"name\":\"A\",\"value\":\"hunter2\"}]",
            i ? "," : "", i, pick_text(images, 5));
        if (pick(3)) {
            buf_append(out, STR(",\"resources\":{"));
            make_amounts(out, pick(4) ? "requests" : "limits");
            if (pick(2)) {
                buf_append_char(out, ',');
                make_amounts(out, pick(2) ? "requests" : "limits");
            }
            buf_append_char(out, '}');
        }
        if (pick(3) == 0)
            buf_printf(out,
                ",\"ports\":[{\"containerPort\":%u},{\"name\":\"dns\",\"containerPort\":53,"
                "\"hostPort\":%u,\"protocol\":\"UDP\",\"hostIP\":\"10.0.0.1\"}]",
                pick(9), pick(3));
        if (pick(4) == 0)
            buf_append(out, STR(",\"restartPolicy\":\"Always\""));
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
}

static void make_labels(Buf *out, const char *key) {
    static const char *const keys[] = {"app", "x/y", "\\u0041", "empty", "app"};
    static const char *const values[] = {"\"web\"", "\"\"", "null", "\"a\\nb\""};
    unsigned n = pick(4);

    buf_printf(out, ",\"%s\":{", key);
    for (unsigned i = 0; i < n; i++)
        buf_printf(out, "%s\"%s\":%s", i ? "," : "", pick_text(keys, 5), pick_text(values, 4));
    buf_append_char(out, '}');
}

static void make_metadata(Buf *out) {
    buf_printf(out, "\"metadata\":{\"name\":\"p%u\",\"namespace\":\"ns\",\"uid\":\"u%u\"", pick(9),
        pick(9));
    make_labels(out, "labels");
    make_labels(out, "annotations");
    if (pick(2))
        buf_append(out, STR(",\"creationTimestamp\":\"2026-01-02T03:04:05Z\""));
    if (pick(4) == 0)
        buf_append(out, STR(",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\""));
    if (pick(2))
        buf_printf(out,
            ",\"ownerReferences\":[{\"kind\":\"Other\",\"name\":\"o\"},{\"kind\":\"ReplicaSet\","
            "\"name\":\"web-1\",\"uid\":\"w\",\"controller\":%s}]",
            pick(2) ? "true" : "false");
    buf_append_char(out, '}');
}

static void make_affinity(Buf *out) {
    static const char *const terms[] = {
        "{}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"x\",\"y\"]}]}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"x\"]},"
        "{\"key\":\"b\",\"operator\":\"Exists\"},{\"key\":\"c\",\"operator\":\"DoesNotExist\"}]}",
        "{\"matchExpressions\":[{\"key\":\"n\",\"operator\":\"Gt\",\"values\":[\"3\"]},{\"key\":"
        "\"n\",\"operator\":\"Lt\",\"values\":[\"-7\"]}]}",
        "{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"NotIn\",\"values\":[\"n1\"]}]"
        "}",
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Like\"}]}",
    };
    unsigned n = pick(4);

    static const char *const near[] = {"null", "{}",
        "{\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"z\"}]}",
        "{\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"z\","
        "\"labelSelector\":{\"matchLabels\":{\"a\":\"b\"},\"matchExpressions\":[{\"key\":\"c\","
        "\"operator\":\"NotIn\",\"values\":[\"d\"]}]},\"namespaces\":[\"n\"],"
        "\"matchLabelKeys\":[\"k\"]}],\"preferredDuringSchedulingIgnoredDuringExecution\":["
        "{\"weight\":3,\"podAffinityTerm\":{\"topologyKey\":\"y\",\"labelSelector\":{},"
        "\"namespaceSelector\":{},\"mismatchLabelKeys\":[\"m\"]}}]}"};

    buf_printf(out, ",\"affinity\":{\"podAffinity\":%s,\"podAntiAffinity\":%s,",
        pick_text(near, ELEMENTS_OF(near)), pick_text(near, ELEMENTS_OF(near)));
    buf_append(out, STR("\"nodeAffinity\":{"
                        "\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":2,"
                        "\"preference\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":"
                        "\"Exists\"}]}}],"
                        "\"requiredDuringSchedulingIgnoredDuringExecution\":"
                        "{\"nodeSelectorTerms\":["));
    for (unsigned i = 0; i < n; i++)
        buf_printf(out, "%s%s", i ? "," : "", pick_text(terms, ELEMENTS_OF(terms)));
    buf_append(out, STR("]}}}"));
}

static void make_rest(Buf *out) {
    buf_printf(out, ",\"priorityClassName\":\"high\",\"runtimeClassName\":\"gvisor\"");
    buf_printf(out, ",\"preemptionPolicy\":\"Never\",\"serviceAccountName\":\"sa\"");
    buf_printf(out,
        ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"z\","
        "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{\"a\":\"b\"}},"
        "\"minDomains\":%u,\"nodeAffinityPolicy\":\"Ignore\",\"nodeTaintsPolicy\":\"Honor\","
        "\"matchLabelKeys\":[\"k\"]}]",
        1 + pick(2));
    buf_printf(out, ",\"hostNetwork\":%s", pick(2) ? "true" : "false");
    buf_printf(out, ",\"schedulingGates\":[{\"name\":\"a.b/c\"},{\"name\":\"d\"}]");
    buf_printf(out, ",\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"g\"},{"
                    "\"name\":\"t\",\"resourceClaimTemplateName\":\"u\"}]");
}

static void make_spec(Buf *out) {
    static const char *const tolerations[] = {
        "{\"operator\":\"Exists\"}",
        "{\"key\":\"a\",\"value\":\"b\",\"effect\":\"NoSchedule\"}",
        "{\"key\":\"a\",\"operator\":\"Exists\",\"effect\":\"Strange\"}",
        "{\"key\":\"c\",\"effect\":\"PreferNoSchedule\"}",
    };

    buf_printf(out, ",\"spec\":{\"priority\":%d", (int)pick(5) - 2);
    make_labels(out, "nodeSelector");
    if (pick(3) == 0)
        make_affinity(out);
    make_containers(out, "containers", pick(4));
    if (pick(3) == 0)
        make_containers(out, "initContainers", 1 + pick(3));
    if (pick(3) == 0)
        buf_printf(
            out, ",\"tolerations\":[%s,%s]", pick_text(tolerations, 4), pick_text(tolerations, 4));
    if (pick(4) == 0)
        buf_append(out, STR(",\"nodeName\":\"n1\""));
    if (pick(2))
        buf_append(out, STR(",\"schedulerName\":\"default-scheduler\""));
    if (pick(4) == 0) {
        buf_append(out, STR(",\"resources\":{"));
        make_amounts(out, pick(2) ? "requests" : "limits");
        buf_append_char(out, '}');
    }
    if (pick(4) == 0) {
        buf_append_char(out, ',');
        make_amounts(out, "overhead");
    }
    if (pick(3) == 0)
        make_rest(out);
    buf_append(out, STR(",\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"hunter2\"}},"
                        "{\"name\":\"w\"},{\"name\":\"c\",\"persistentVolumeClaim\":{"
                        "\"claimName\":\"data\"}},{\"name\":\"e\",\"ephemeral\":{"
                        "\"volumeClaimTemplate\":{\"spec\":{\"storageClassName\":\"fast\"}}}},"
                        "{\"name\":\"kube-api-access-1\",\"projected\":{}}]}"));
}

static void make_status(Buf *out) {
    static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed"};

    buf_printf(out, ",\"status\":{\"phase\":\"%s\"", pick_text(phases, 4));
    if (pick(3) == 0)
        buf_append(out, STR(",\"nominatedNodeName\":\"n2\""));
    if (pick(3) == 0)
        buf_append(out, STR(",\"startTime\":\"2026-01-02T03:04:06Z\""));
    if (pick(3) == 0)
        buf_append(out, STR(",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\","
                            "\"lastTransitionTime\":\"2026-01-02T03:04:07Z\"}]"));
    if (pick(4) == 0) {
        buf_append(out, STR(",\"containerStatuses\":[{\"name\":\"c0\",\"allocatedResources\":{"));
        buf_append(out, STR("\"cpu\":\"3\"}}]"));
    }
    buf_append_char(out, '}');
}

/* --- the comparison ---------------------------------------------------------------------- */

/* By name: the order does not matter. */
static bool amounts_equal(const Resources *a, const Resources *b) {
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const Resource *other = resources_find(b, a->items[i].name);

        if (!other || other->amount != a->items[i].amount)
            return false;
    }
    return true;
}

static bool requirements_equal(const Requirement *a, const Requirement *b) {
    bool is_equal = str_eq(a->key, b->key) && a->op == b->op && a->bound == b->bound &&
                    a->n_values == b->n_values;

    for (size_t i = 0; is_equal && i < a->n_values; i++)
        is_equal = str_eq(a->values[i], b->values[i]);
    return is_equal;
}

/* The conditions of a term that no node matches do not matter. */
static bool term_equal(const NodeTerm *a, const NodeTerm *b) {
    bool is_equal = a->holds_nowhere == b->holds_nowhere;

    if (a->holds_nowhere || !is_equal || a->labels.n != b->labels.n || a->n_names != b->n_names)
        return is_equal && a->holds_nowhere;
    for (size_t i = 0; is_equal && i < a->labels.n; i++)
        is_equal = requirements_equal(&a->labels.items[i], &b->labels.items[i]);
    for (size_t i = 0; is_equal && i < a->n_names; i++)
        is_equal = str_eq(a->names[i].value, b->names[i].value) &&
                   a->names[i].is_not == b->names[i].is_not;
    return is_equal;
}

static bool terms_equal(const NodeTerms *a, const NodeTerms *b) {
    bool is_equal = a->is_given == b->is_given && a->n == b->n;

    for (size_t i = 0; is_equal && i < a->n; i++)
        is_equal = term_equal(&a->items[i], &b->items[i]);
    return is_equal;
}

static bool pods_equal(const Pod *a, Pod *b) {
    bool has_same_amounts = amounts_equal(&a->requests, &b->requests);

    b->requests = a->requests; /* compared by name above */
    return has_same_amounts && pod_record_equal(a, b) &&
           terms_equal(&a->details->required_terms, &b->details->required_terms);
}

static bool has(Str text, const char *part) {
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static void test_random(void **state) {
    size_t n_read = 0;

    for (unsigned i = 0; i < N_PODS; i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
        _cleanup_(buf_done) Buf sent = BUF_INIT(BYTES_MAX), written = BUF_INIT(BYTES_MAX);
        JsonWriter writer = JSON_WRITER(&written);
        JsonReader reader;
        Pod pod, again;

        buf_append_char(&sent, '{');
        make_metadata(&sent);
        make_spec(&sent);
        make_status(&sent);
        buf_append_char(&sent, '}');
        json_reader_init(&reader, buf_str(&sent));
        pod_decode(&reader, arena, &pod);
        if (json_error(&reader))
            print_error("%.*s\n", STR_FMT(buf_str(&sent)));
        assert_int_equal(json_error(&reader), JSON_OK);
        n_read++;
        object_write_pod(&writer, &pod, pod.node_name);
        json_reader_init(&reader, buf_str(&written));
        pod_decode(&reader, arena, &again);
        assert_int_equal(json_error(&reader), JSON_OK);
        if (!pods_equal(&pod, &again)) {
            print_error("sent    %.*s\nwritten %.*s\n", STR_FMT(buf_str(&sent)),
                STR_FMT(buf_str(&written)));
            fail();
        }
        assert_false(has(buf_str(&written), "hunter2"));
    }
    assert_int_equal(n_read, N_PODS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
