/*
 * nodeLabels: what the node's labels must say.
 *
 *     nodeLabels:
 *       example.com/pool: workspace                 # equal
 *       topology.kubernetes.io/zone: [a, b]         # one of
 *       example.com/state: {notIn: [draining]}      # none of, or absent
 *       example.com/gpu: {exists: true}
 *       example.com/retired: {absent: true}
 *       example.com/generation: {gt: 3, lt: 9}      # whole numbers
 */

#include <errno.h>

#include "base/error.h"
#include "base/vec.h"
#include "policy/rule.h"

typedef VEC(Requirement) Requirements;

typedef struct Reading {
    Str key;
    Requirements *requirements;
} Reading;

static void require(PolicyReader *reader, Reading *reading, SelectorOp op, const Str *values,
    size_t n_values, int64_t bound) {
    Requirement *requirement = VEC_PUSH(reading->requirements, reader->arena);

    if (requirement)
        *requirement = (Requirement){
            .key = reading->key,
            .op = op,
            .values = values,
            .n_values = n_values,
            .bound = bound,
        };
}

static void require_equal(PolicyReader *reader, const YamlNode *value, void *into) {
    Str *values = ARENA_ARRAY(reader->arena, Str, 1);

    if (values && reader_label_value(reader, value, "a label's value", &values[0]))
        require(reader, into, SELECTOR_IN, values, 1, 0);
}

static void require_list(PolicyReader *reader, const YamlNode *value, const char *what,
    SelectorOp op, Reading *reading) {
    const Str *values;
    size_t n_values;

    if (reader_string_list(reader, value, what, &values, &n_values))
        require(reader, reading, op, values, n_values, 0);
}

static void require_in(PolicyReader *reader, const YamlNode *value, void *into) {
    require_list(reader, value, "in", SELECTOR_IN, into);
}

static void require_not_in(PolicyReader *reader, const YamlNode *value, void *into) {
    require_list(reader, value, "notIn", SELECTOR_NOT_IN, into);
}

static void require_exists(PolicyReader *reader, const YamlNode *value, void *into) {
    bool wanted;

    if (reader_bool(reader, value, "exists", &wanted))
        require(reader, into, wanted ? SELECTOR_EXISTS : SELECTOR_ABSENT, NULL, 0, 0);
}

static void require_absent(PolicyReader *reader, const YamlNode *value, void *into) {
    bool wanted;

    if (reader_bool(reader, value, "absent", &wanted))
        require(reader, into, wanted ? SELECTOR_ABSENT : SELECTOR_EXISTS, NULL, 0, 0);
}

static void require_gt(PolicyReader *reader, const YamlNode *value, void *into) {
    int64_t bound;

    if (reader_int(reader, value, "gt", INT64_MIN, INT64_MAX, &bound))
        require(reader, into, SELECTOR_GT, NULL, 0, bound);
}

static void require_lt(PolicyReader *reader, const YamlNode *value, void *into) {
    int64_t bound;

    if (reader_int(reader, value, "lt", INT64_MIN, INT64_MAX, &bound))
        require(reader, into, SELECTOR_LT, NULL, 0, bound);
}

static const Field condition_fields[] = {
    {.name = STR("equal"), .read = require_equal},
    {.name = STR("in"), .read = require_in},
    {.name = STR("notIn"), .read = require_not_in},
    {.name = STR("exists"), .read = require_exists},
    {.name = STR("absent"), .read = require_absent},
    {.name = STR("gt"), .read = require_gt},
    {.name = STR("lt"), .read = require_lt},
};

static void read_condition(PolicyReader *reader, const YamlNode *value, Reading *reading) {
    if (value->kind == YAML_SEQUENCE)
        require_in(reader, value, reading);
    else if (value->kind != YAML_MAPPING)
        require_equal(reader, value, reading);
    else if (value->n == 0)
        reader_error(reader, value, "a label condition must not be empty");
    else
        reader_fields(reader,
            value,
            "a label condition",
            condition_fields,
            ELEMENTS_OF(condition_fields),
            reading);
}

static const void *read(PolicyReader *reader, const YamlNode *value) {
    Requirements requirements = {0};
    Selector *selector = ARENA_NEW(reader->arena, Selector);

    if (!selector || !reader_mapping(reader, value, "nodeLabels"))
        return NULL;
    if (value->n == 0)
        reader_error(reader, value, "nodeLabels must name at least one label");
    for (size_t i = 0; i < value->n; i++) {
        Reading reading = {.key = value->pairs[i].key->text, .requirements = &requirements};

        if (reader_label_key(reader, value->pairs[i].key))
            read_condition(reader, value->pairs[i].value, &reading);
    }
    *selector = (Selector){.items = requirements.items, .n = requirements.n};
    return selector;
}

static void needs(const void *config, NodeNeeds *ret) {
    const Selector *selector = config;

    for (size_t i = 0; i < selector->n; i++)
        needs_label(ret, selector->items[i].key);
}

static int judge(const void *config, const Batch *batch, uint8_t *ret_pass) {
    const Selector *selector = config;

    for (size_t i = 0; i < batch->n; i++)
        ret_pass[i] = selector_matches(selector, table_labels(batch->table, batch->rows[i]));
    return 0;
}

static void explain_values(const Requirement *requirement, Buf *out) {
    if (requirement->n_values > 1)
        buf_append(out, STR("one of "));
    for (size_t i = 0; i < requirement->n_values; i++)
        buf_printf(out, "%s\"%.*s\"", i > 0 ? ", " : "", STR_FMT(requirement->values[i]));
}

static void explain_wanted(const Requirement *requirement, Buf *out) {
    switch (requirement->op) {
    case SELECTOR_IN:
        buf_append(out, STR("must be "));
        explain_values(requirement, out);
        return;
    case SELECTOR_NOT_IN:
        buf_append(out, STR("must not be "));
        explain_values(requirement, out);
        return;
    case SELECTOR_EXISTS:
        buf_append(out, STR("must exist"));
        return;
    case SELECTOR_ABSENT:
        buf_append(out, STR("must be absent"));
        return;
    case SELECTOR_GT:
        buf_printf(out, "must be over %lld", (long long)requirement->bound);
        return;
    case SELECTOR_LT:
        buf_printf(out, "must be under %lld", (long long)requirement->bound);
        return;
    }
}

static void explain(const void *config, const Batch *batch, Buf *out) {
    const Selector *selector = config;
    const Labels *labels = table_labels(batch->table, batch->rows[0]);

    for (size_t i = 0; i < selector->n; i++) {
        const Requirement *requirement = &selector->items[i];
        const Str *value = labels_find(labels, requirement->key);

        if (requirement_matches(requirement, value))
            continue;
        if (out->len > 0)
            buf_append(out, STR("; "));
        buf_printf(out, "label %.*s is ", STR_FMT(requirement->key));
        if (value)
            buf_printf(out, "\"%.*s\", ", STR_FMT(*value));
        else
            buf_append(out, STR("absent, "));
        explain_wanted(requirement, out);
    }
}

const FilterKind filter_node_labels = {
    .field = STR("nodeLabels"),
    .class = RULE_NODE,
    .summary = "the node's labels are as required",
    .needs = needs,
    .read = read,
    .judge = judge,
    .explain = explain,
};
