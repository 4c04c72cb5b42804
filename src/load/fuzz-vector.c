/*
 * Reads any bytes as a server's answer. Requires a printable message that fits, or series within
 * the ceilings. Joins these to a small cluster, as nodes and as pods, each twice: with and without
 * a memory, the report must be equal. With spaces added, which defeats the comparison of shapes,
 * the answer must give the same series.
 */

#include <math.h>

#include "base/cleanup.h"
#include "base/fuzz.h"
#include "base/hash.h"
#include "cluster/store.h"
#include "load/join.h"
#include "load/vector.h"

#define BUDGET ((size_t)64 * 1024 * 1024)

static void check_text(const char *text, size_t size) {
    const char *end = memchr(text, '\0', size);

    require(end);
    for (const char *c = text; c < end; c++)
        require((unsigned char)*c >= ' ' && *c != 0x7f);
}

/* --- the cluster ----------------------------------------------------------- */

static const Snapshot *cluster(void) {
    static Snapshot *snapshot;
    Address address = {ADDRESS_INTERNAL_IP, STR("10.0.0.1")};
    Node nodes[] = {{.name = STR("a"), .addresses = &address, .n_addresses = 1},
        {.name = STR("b"), .uid = STR("b")}};
    Pod pod = {.name = STR("p"), .namespace = STR("s"), .uid = STR("u"), .node_name = STR("b")};
    Store *store;

    if (snapshot)
        return snapshot;
    hash_set_key(1);
    store = store_new();
    require(store && store_apply_node(store, &nodes[0]) >= 0 &&
            store_apply_node(store, &nodes[1]) >= 0 && store_apply_pod(store, &pod) >= 0 &&
            store_publish(store, &snapshot) >= 0);
    store_free(store);
    return snapshot;
}

static void check_report(const JoinReport *report, const Vector *vector, const Gauge *gauge) {
    size_t n_dropped = 0;

    for (size_t i = 0; i < _JOIN_DROPS; i++)
        n_dropped += report->n_dropped[i];
    require(report->n_series == vector->n);
    require(n_dropped + (gauge->is_of_pods ? report->n_pods : report->n_covered) == vector->n);
    check_text(report->how, sizeof(report->how));
    check_text(report->error, sizeof(report->error));
    for (size_t i = 0; i < JOIN_EXAMPLES_MAX; i++)
        check_text(report->unmatched[i], sizeof(report->unmatched[i]));
}

static void join(const Vector *vector, bool is_of_pods, Arena *arena) {
    _cleanup_(join_index_freep) JoinIndex *index = join_index_new();
    _cleanup_(join_memory_freep) JoinMemory *memory = join_memory_new();
    const NodeTable *table = snapshot_table(cluster());
    Gauge gauge = {.is_of_pods = is_of_pods, .max_age_nsec = INT64_C(60000000000)};
    JoinTime time = {.asked_nsec = 1, .uptime_nsec = 1};
    static JoinReport reports[2];

    for (size_t i = 0; i < 2; i++) {
        _cleanup_(measurement_unrefp) Measurement *measurement = NULL;

        require(join_vector(&gauge, vector, table, &time, index, memory, arena, &reports[i],
                    &measurement) == 0);
        check_report(&reports[i], vector, &gauge);
        for (size_t row = 0; row < table->n_rows; row++)
            require(!isinf(measurement->values[row]));
    }
    require(memcmp(&reports[0], &reports[1], sizeof(reports[0])) == 0);
}

/* --- the same answer with spaces --------------------------------------------- */

/* Adds a space after every comma outside of strings: then no series has the shape of the one
 * before. */
static Str loosen(Str body, Arena *arena) {
    char *text = arena_alloc(arena, body.len * 2);
    bool is_string = false;
    size_t len = 0;

    require(text);
    for (size_t i = 0; i < body.len; i++) {
        char c = body.ptr[i];

        text[len++] = c;
        if (c == '\\' && is_string && i + 1 < body.len)
            text[len++] = body.ptr[++i];
        else if (c == '"')
            is_string = !is_string;
        else if (c == ',' && !is_string)
            text[len++] = ' ';
    }
    return str_of(text, len);
}

static void check_same(const Vector *a, const Vector *b) {
    require(a->n == b->n && a->n_histograms == b->n_histograms);
    for (size_t i = 0; i < a->n; i++) {
        const Series *x = &a->items[i], *y = &b->items[i];

        require(x->n_labels == y->n_labels && x->at_msec == y->at_msec);
        require(memcmp(&x->value, &y->value, sizeof(x->value)) == 0);
        for (size_t k = 0; k < x->n_labels; k++)
            require(str_eq(x->labels[k].name, y->labels[k].name) &&
                    str_eq(x->labels[k].value, y->labels[k].value));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUDGET);
    Str body = str_of((const char *)data, size);
    char error[VECTOR_ERROR_MAX];
    Vector vector, again;
    int r;

    require(arena);
    memset(error, 'x', sizeof(error));
    r = vector_read_prometheus(body, arena, &vector, error);
    check_text(error, sizeof(error));
    require((r < 0) == (error[0] != '\0'));
    require((vector_read_prometheus(loosen(body, arena), arena, &again, error) < 0) == (r < 0));
    if (r < 0)
        return 0;
    require(vector.n <= VECTOR_SERIES_MAX);
    check_same(&vector, &again);
    join(&vector, false, arena);
    join(&vector, true, arena);
    return 0;
}
