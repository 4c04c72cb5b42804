/*
 * maxPods: how many pods the node may hold, this one included.
 *
 *     maxPods: 30
 *     maxPods: {limit: 4, podSelector: {matchLabels: {component: workspace}}}
 *
 * With a selector only the pods it matches count, and only they are held back.
 */

#include "policy/rule.h"

#define MAX_PODS_MAX 1000000

typedef struct Config {
    int64_t limit;
    bool has_selector;
    Selector selector;
} Config;

static void read_limit(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader_int(reader, value, "limit", 0, MAX_PODS_MAX, &((Config *)into)->limit);
}

static void read_selector(PolicyReader *reader, const YamlNode *value, void *into) {
    Config *config = into;

    config->has_selector = true;
    reader_selector(reader, value, &config->selector);
}

static const void *read(PolicyReader *reader, const YamlNode *value) {
    static const Field fields[] = {
        {.name = STR("limit"), .is_required = true, .read = read_limit},
        {.name = STR("podSelector"), .read = read_selector},
    };
    Config *config = ARENA_NEW(reader->arena, Config);

    if (!config)
        return NULL;
    if (value->kind == YAML_MAPPING)
        reader_fields(reader, value, "maxPods", fields, ELEMENTS_OF(fields), config);
    else
        (void)reader_int(reader, value, "maxPods", 0, MAX_PODS_MAX, &config->limit);
    return config;
}

static int64_t count(const Config *config, const NodeTable *table, uint32_t row) {
    const NodeChunk *chunk = table_chunk(table, row);
    const PodList *pods = chunk->pods[table_slot(row)];
    int64_t n = 0;

    if (!config->has_selector)
        return chunk->n_pods[table_slot(row)];
    for (uint32_t i = 0; pods && i < pods->n; i++)
        n += selector_matches(&config->selector, &pods->items[i]->labels);
    return n;
}

static bool is_selective(const void *config) {
    return ((const Config *)config)->has_selector;
}

/* One more pod that does not count makes no difference. */
static bool applies(const void *config, const Pod *pod) {
    return selector_matches(&((const Config *)config)->selector, &pod->labels);
}

static int judge(const void *config, const Batch *batch, uint8_t *ret_pass) {
    const Config *max_pods = config;

    for (size_t i = 0; i < batch->n; i++)
        ret_pass[i] = count(max_pods, batch->table, batch->rows[i]) < max_pods->limit;
    return 0;
}

static void explain(const void *config, const Batch *batch, Buf *out) {
    const Config *max_pods = config;

    buf_printf(out,
        "%lld %spods are there, %lld may be",
        (long long)count(max_pods, batch->table, batch->rows[0]),
        max_pods->has_selector ? "matching " : "",
        (long long)max_pods->limit);
}

const FilterKind filter_max_pods = {
    .field = STR("maxPods"),
    .class = RULE_NODE,
    .summary = "the node holds fewer pods than this",
    .read = read,
    .is_selective = is_selective,
    .applies = applies,
    .judge = judge,
    .explain = explain,
};
