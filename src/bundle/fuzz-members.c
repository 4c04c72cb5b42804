/*
 * The bytes choose the content of a bundle: a cluster, its changes, metrics, pods and decisions
 * that mostly fit each other, and now and then a number, a letter or a file that does not.
 */

#include "base/test-choices.h"
#include "bundle/fuzz-bundle.h"

#define FAULT 24u /* one of this many choices */

static Choices choices;

static unsigned pick(unsigned n) {
    return choose(&choices, n);
}

/* Writes a number below @n, or rarely one out of range. */
static void put_number(Buf *out, unsigned n) {
    if (choose_rarely(&choices, FAULT))
        buf_append(out, str_from_c(CHOOSE(&choices, "-1", "null", "4294967295", "1e3", "\"0\"",
                            "9223372036854775807", "-9223372036854775808", "[]", "2000000")));
    else
        buf_append_int(out, n > 0 ? pick(n) : 0);
}

/* Writes "KEY": […] with up to @most numbers below @n. */
static void put_numbers(Buf *out, const char *key, unsigned most, unsigned n) {
    buf_printf(out, ",\"%s\":[", key);
    for (unsigned i = pick(most + 1); i > 0; i--) {
        put_number(out, n);
        buf_append(out, i > 1 ? STR(",") : STR(""));
    }
    buf_append_char(out, ']');
}

static void put_name(Buf *out) {
    buf_append(out, str_from_c(CHOOSE(&choices, "a", "b", "c", "d", "\\u0061", "", "x\\ny")));
}

static void put_node(Buf *out) {
    buf_append(out, STR("{\"kind\":\"Node\",\"metadata\":{\"name\":\""));
    put_name(out);
    buf_append(out, STR("\",\"labels\":{\"zone\":\""));
    put_name(out);
    buf_printf(out, "\"}},\"status\":{\"allocatable\":{\"cpu\":\"%u\"}}}", pick(9));
}

static void put_pod(Buf *out) {
    buf_append(out, STR("{\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"s\",\"name\":\""));
    put_name(out);
    buf_append(out, STR("\",\"uid\":\""));
    put_name(out);
    buf_append(out, STR("\"},\"spec\":{\"nodeName\":\""));
    put_name(out);
    buf_printf(out,
        "\",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"%um\"}}}]},"
        "\"status\":{\"phase\":\"%s\"}}",
        pick(200), CHOOSE(&choices, "Running", "Pending", "Succeeded"));
}

/* Writes up to @most items, separated by commas. */
static void put_list(Buf *out, unsigned most, const char *before, void (*put)(Buf *), Str after) {
    for (unsigned i = pick(most + 1); i > 0; i--) {
        buf_append(out, str_from_c(before));
        put(out);
        buf_append(out, after);
        buf_append(out, i > 1 ? STR(",") : STR(""));
    }
}

static void put_cluster(Buf *out) {
    buf_append(out, STR("{\"kind\":\"List\",\"items\":["));
    put_list(out, 5, "", put_node, STR(""));
    if (out->data[out->len - 1] == '}')
        buf_append_char(out, ',');
    put_list(out, 5, "", put_pod, STR(""));
    if (out->data[out->len - 1] == ',')
        out->len--;
    buf_append(out, STR("]}"));
}

/* Returns the number of scenes. */
static unsigned put_changes(Buf *out) {
    unsigned n = 1 + pick(4);

    for (unsigned i = 0; i < n; i++) {
        buf_printf(out, "{\"scene\":%u,\"generation\":%u,\"madeNsec\":5,\"uptimeNsec\":", i, i + 1);
        put_number(out, 9);
        if (choose_rarely(&choices, FAULT))
            buf_append(out, STR(",\"noCluster\":true"));
        if (i == 0) {
            buf_append(out, STR(",\"order\":{\"x\":0"));
            put_numbers(out, "rows", 5, 5);
            put_numbers(out, "pods", 5, 5);
            put_numbers(out, "assumed", 2, 5);
            buf_append_char(out, '}');
        }
        buf_append(out, STR(",\"forgotten\":[\"a\"],\"removedPods\":["));
        put_list(out, 2, "[\"s\",\"", put_name, STR("\"]"));
        buf_append(out, STR("],\"removedNodes\":["));
        put_list(out, 2, "\"", put_name, STR("\""));
        buf_append(out, STR("],\"nodes\":["));
        put_list(out, 2,
            CHOOSE(&choices, "{\"node\":", "{\"row\":1,\"node\":", "{\"row\":70,\"node\":"),
            put_node, STR("}"));
        buf_append(out, STR("],\"pods\":["));
        put_list(
            out, 2, CHOOSE(&choices, "{\"pod\":", "{\"assumed\":true,\"pod\":"), put_pod, STR("}"));
        buf_append(out, STR("]}\n"));
    }
    return n;
}

static void put_reading(Buf *out) {
    buf_append_char(out, '"');
    put_name(out);
    buf_append(out, str_from_c(CHOOSE(&choices, "\":0.5", "\":null", "\":1e300", "\":-7")));
}

static void put_metrics(Buf *out, unsigned n_scenes) {
    unsigned n_gauges = pick(3), n_samplings = pick(4);

    buf_append(out, STR("{\"gauges\":0,\"items\":["));
    for (unsigned i = 0; i < n_gauges; i++)
        buf_printf(out, "%s{\"name\":\"g%u\",\"source\":\"%s\",\"query\":\"q\"}", i ? "," : "", i,
            CHOOSE(&choices, "prometheus", "resources", "annotation", "?"));
    buf_append(out, STR("]}\n"));
    for (unsigned i = 0; i < n_samplings; i++) {
        buf_printf(out, "{\"sampling\":%u,\"atNsec\":1,\"uptimeNsec\":1,\"nodes\":{", i);
        put_list(out, 4, "", put_reading, STR(""));
        buf_append(out, STR("},\"lagsNsec\":{"));
        put_list(out, 2, "", put_reading, STR(""));
        buf_append(out, STR("},\"workloads\":{"));
        put_list(out, 2, "", put_reading, STR(""));
        buf_append(out, STR("}}\n"));
    }
    for (unsigned i = 0; i < n_scenes; i++) {
        buf_printf(out, "{\"scene\":%u,\"gaugesOf\":0,\"samplings\":[", i);
        for (unsigned j = 0; j < n_gauges; j++) {
            buf_append(out, j ? STR(",") : STR(""));
            put_number(out, n_samplings);
        }
        buf_append(out, STR("]}\n"));
    }
}

static void put_decision(Buf *out, unsigned id, unsigned n_pods, unsigned n_scenes) {
    unsigned n = pick(5);

    buf_printf(out,
        "{\"id\":%u,\"verb\":\"%s\",\"nowNsec\":1,\"name\":\"p\",\"names\":true,\"in\":", id,
        CHOOSE(&choices, "filter", "prioritize", "preempt", "bind", "?"));
    put_number(out, 5);
    buf_append(out, STR(",\"out\":"));
    put_number(out, 5);
    buf_append(out, STR(",\"pod\":"));
    put_number(out, n_pods);
    buf_append(out, STR(",\"scene\":"));
    put_number(out, n_scenes);
    buf_append(
        out, STR(",\"rules\":[{\"policy\":\"p\",\"name\":\"r\",\"reason\":\"no\"}],\"asked\":["));
    if (n > 0)
        buf_printf(out, "[0,%u]", n);
    buf_append(out, STR("],\"became\":\""));
    for (unsigned i = 0; i < n; i++)
        buf_append_char(out, "prunls?"[pick(7)]);
    buf_append_char(out, '"');
    put_numbers(out, "by", 4, 2);
    if (pick(2)) {
        buf_append(out, STR(",\"scores\":["));
        for (unsigned i = 0; i < n; i++) {
            buf_append(out, i ? STR(",") : STR(""));
            put_number(out, 101);
        }
        buf_append_char(out, ']');
    }
    buf_append(out, STR("}\n"));
}

static void pack(Pack *pack, const char *name, Buf *text) {
    if (!choose_rarely(&choices, 2 * FAULT)) {
        pack_begin(pack, str_from_c(name));
        pack_write(pack, buf_str(text));
        pack_end(pack);
    }
    buf_reset(text);
}

static void pack_all(Pack *to) {
    _cleanup_(buf_done) Buf text = BUF_INIT(FUZZ_ROOM);
    unsigned n_scenes, n_pods = pick(4);

    buf_printf(&text,
        "{\"bundle\":1,\"berth\":\"1\",\"madeNsec\":1,\"cluster\":\"%s\",\"policies\":["
        "{\"path\":\"policy/p\",\"file\":\"p.yaml\"}],\"exemptions\":[\"%s\"]}",
        CHOOSE(&choices, "whole", "digest"), CHOOSE(&choices, "kube-system", "*", "a/b", "/"));
    pack(to, "b/about.json", &text);
    buf_append(&text, STR("kind: PlacementPolicy\n"));
    pack(to, "b/policy/p", &text);
    put_cluster(&text);
    pack(to, "b/cluster.json", &text);
    n_scenes = put_changes(&text);
    pack(to, "b/changes.jsonl", &text);
    put_metrics(&text, n_scenes);
    pack(to, "b/metrics.jsonl", &text);
    for (unsigned i = 0; i < n_pods; i++) {
        buf_append(&text, STR("{\"pod\":"));
        put_pod(&text);
        buf_append(&text, STR("}\n"));
    }
    pack(to, "b/pods.jsonl", &text);
    buf_append(&text, STR("{\"nodes\":[\"a\",\"b\",\"c\",\"d\",\"e\"]}\n"));
    for (unsigned i = pick(5); i > 0; i--) {
        put_decision(&text, i, n_pods, n_scenes);
        if (choose_rarely(&choices, FAULT))
            buf_append(&text, STR("{\"nodes\":[\"a\"]}\n"));
    }
    pack(to, "b/decisions.jsonl", &text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(buf_done) Buf file = BUF_INIT(FUZZ_ROOM);
    _cleanup_(pack_freep) Pack *pack = pack_new(&file, 0);

    require(pack);
    choices = (Choices){.bytes = data, .n = size};
    pack_all(pack);
    require(pack_finish(pack) == 0);
    fuzz_bundle(&file);
    return 0;
}
