/*
 * Scores by how full the node would be with the pod there.
 *
 *     binPack: {cpu: 2, memory: 1}    # full is good: weighted mean of used shares
 *     spread: {cpu: 1, memory: 1}     # empty is good: weighted mean of free shares
 *     balance: [cpu, memory]          # even is good: 100 less the deviation of used shares
 *
 * A share is (requested + asked) / allocatable. A resource the node does not
 * offer is left out of the mean; what would not fit counts as nothing good: 0 for
 * that resource. A node that offers none of them scores 0.
 *
 * Divisions read the node only, and so they are done beforehand: a request adds, multiplies
 * and compares.
 */

#include "base/cleanup.h"
#include "policy/cel-text.h"
#include "policy/kind.h"

#define REQUESTED_RESOURCES_MAX 16u

typedef struct Part {
    Str resource;
    double weight;
} Part;

typedef struct Parts {
    Part *items;
    size_t n;
} Parts;

/* --- reading --------------------------------------------------------------- */

static bool check_count(PolicyReader *reader, const YamlNode *value, const char *what, size_t min) {
    if (value->n >= min && value->n <= REQUESTED_RESOURCES_MAX)
        return true;
    reader_error(
        reader, value, "%s must name %zu to %u resources", what, min, REQUESTED_RESOURCES_MAX);
    return false;
}

static Parts read_weights(PolicyReader *reader, const YamlNode *value, const char *what) {
    Parts parts = {0};

    if (!reader_mapping(reader, value, what) || !check_count(reader, value, what, 1))
        return parts;
    parts.items = ARENA_ARRAY(reader->arena, Part, value->n);
    parts.n = parts.items ? value->n : 0;
    for (size_t i = 0; i < parts.n; i++) {
        const YamlPair *pair = &value->pairs[i];
        Part *part = &parts.items[i];

        part->resource = pair->key->text;
        if (reader_resource_name(reader, pair->key) &&
            reader_number(reader, pair->value, "a resource's weight", 0, 1000, &part->weight) &&
            part->weight == 0)
            reader_error(reader, pair->value, "a resource's weight must be greater than 0");
    }
    return parts;
}

static void read_balanced(PolicyReader *reader, const YamlNode *list, size_t i, Part *parts) {
    parts[i].weight = 1;
    if (!reader_string(reader, list->items[i], "a resource", &parts[i].resource) ||
        !reader_resource_name(reader, list->items[i]))
        return;
    for (size_t j = 0; j < i; j++)
        if (str_eq(parts[j].resource, parts[i].resource))
            reader_error(
                reader, list->items[i], "\"%.*s\" is named twice", STR_FMT(parts[i].resource));
}

static Parts read_list(PolicyReader *reader, const YamlNode *value, const char *what) {
    Parts parts = {0};

    if (!reader_sequence(reader, value, what) || !check_count(reader, value, what, 2))
        return parts;
    parts.items = ARENA_ARRAY(reader->arena, Part, value->n);
    parts.n = parts.items ? value->n : 0;
    for (size_t i = 0; i < parts.n; i++)
        read_balanced(reader, value, i, parts.items);
    return parts;
}

/* --- writing ------------------------------------------------------------------ */

/* (allocatable > 0.0 ? WEIGHT : 0.0) */
static void write_weight(Buf *out, const Part *part) {
    buf_append_char(out, '(');
    cel_text_amount(out, "node.allocatable", part->resource);
    buf_append(out, STR(" > 0.0 ? "));
    cel_text_double(out, part->weight);
    buf_append(out, STR(" : 0.0)"));
}

static void write_weights(Buf *out, const Parts *parts) {
    for (size_t i = 0; i < parts->n; i++) {
        if (i > 0)
            buf_append(out, STR(" + "));
        write_weight(out, &parts->items[i]);
    }
}

/* The weight of one unit: (allocatable > 0.0 ? WEIGHT / allocatable : 0.0) */
static void write_unit(Buf *out, const Part *part) {
    buf_append_char(out, '(');
    cel_text_amount(out, "node.allocatable", part->resource);
    buf_append(out, STR(" > 0.0 ? "));
    cel_text_double(out, part->weight);
    buf_append(out, STR(" / "));
    cel_text_amount(out, "node.allocatable", part->resource);
    buf_append(out, STR(" : 0.0)"));
}

/* (requested + asked), or (free - asked) */
static void write_sum(Buf *out, Str resource, const char *map, const char *op) {
    buf_append_char(out, '(');
    cel_text_amount(out, map, resource);
    buf_append(out, str_from_c(op));
    cel_text_amount(out, "pod.requests", resource);
    buf_append_char(out, ')');
}

/* (asked <= free ? (requested + asked) * UNIT : 0.0) */
static void write_used(Buf *out, const Part *part) {
    buf_append_char(out, '(');
    cel_text_amount(out, "pod.requests", part->resource);
    buf_append(out, STR(" <= "));
    cel_text_amount(out, "node.free", part->resource);
    buf_append(out, STR(" ? "));
    write_sum(out, part->resource, "node.requested", " + ");
    buf_append(out, STR(" * "));
    write_unit(out, part);
    buf_append(out, STR(" : 0.0)"));
}

/* math.greatest(0.0, free - asked) * UNIT */
static void write_left(Buf *out, const Part *part) {
    buf_append(out, STR("math.greatest(0.0, "));
    cel_text_amount(out, "node.free", part->resource);
    buf_append(out, STR(" - "));
    cel_text_amount(out, "pod.requests", part->resource);
    buf_append(out, STR(") * "));
    write_unit(out, part);
}

/* Points for the weighted mean; what rounding adds to the last place is cut off:
 * cel.bind(w, W, math.least(100.0, (A + B) * (w > 0.0 ? 100.0 / w : 0.0))) */
static void write_mean(
    Buf *out, const Parts *parts, void (*write_part)(Buf *out, const Part *part)) {
    buf_append(out, STR("cel.bind(w, "));
    write_weights(out, parts);
    buf_append(out, STR(", math.least(100.0, ("));
    for (size_t i = 0; i < parts->n; i++) {
        if (i > 0)
            buf_append(out, STR(" + "));
        write_part(out, &parts->items[i]);
    }
    buf_append(out, STR(") * (w > 0.0 ? 100.0 / w : 0.0)))"));
}

static void write_bin_pack(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Parts parts = read_weights(reader, value, "binPack");

    write_mean(&ret->expression, &parts, write_used);
}

static void write_spread(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Parts parts = read_weights(reader, value, "spread");

    write_mean(&ret->expression, &parts, write_left);
}

/* --- balance ------------------------------------------------------------------ */

/* cel.bind(sI, used share, at most 1, … */
static void bind_shares(Buf *out, const Parts *parts) {
    for (size_t i = 0; i < parts->n; i++) {
        buf_printf(out, "cel.bind(s%zu, math.least(1.0, ", i);
        write_sum(out, parts->items[i].resource, "node.requested", " + ");
        buf_append(out, STR(" * "));
        write_unit(out, &parts->items[i]);
        buf_append(out, STR("), "));
    }
}

/* s0 + s1, or their squares. */
static void write_shares(Buf *out, const Parts *parts, bool squared) {
    for (size_t i = 0; i < parts->n; i++) {
        if (i > 0)
            buf_append(out, STR(" + "));
        if (squared)
            buf_printf(out, "s%zu * s%zu", i, i);
        else
            buf_printf(out, "s%zu", i);
    }
}

/* The standard deviation of many: k is one through the number of resources offered. */
static void write_deviation(Buf *out, const Parts *parts) {
    buf_append(out, STR("cel.bind(k, n > 0.0 ? 1.0 / n : 0.0, cel.bind(m, ("));
    write_shares(out, parts, /* squared= */ false);
    buf_append(out, STR(") * k, (n > 0.0 ? 100.0 : 0.0) - 100.0 * math.sqrt(math.greatest(0.0, ("));
    write_shares(out, parts, /* squared= */ true);
    buf_append(out, STR(") * k - m * m))))"));
}

/* 100 less the standard deviation of shares, as kube-scheduler's balanced allocation. Of two it
 * is half their distance. */
static void write_balance(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Parts parts = read_list(reader, value, "balance");
    Buf *out = &ret->expression;

    buf_append(out, STR("cel.bind(n, "));
    write_weights(out, &parts);
    buf_append(out, STR(", "));
    bind_shares(out, &parts);
    if (parts.n == 2)
        buf_append(
            out, STR("(n > 0.0 ? 100.0 : 0.0) - (n > 1.0 ? 50.0 : 0.0) * math.abs(s0 - s1)"));
    else
        write_deviation(out, &parts);
    buf_append_repeat(out, ')', parts.n + 1);
}

/* --- kinds -------------------------------------------------------------------- */

static const Shape weight_shape = {.kind = SHAPE_NUMBER, .min = 0, .max = 1000, .is_above = true};
static const Shape weights_shape = {
    .kind = SHAPE_MAP, .of = &weight_shape, .min = 1, .max = REQUESTED_RESOURCES_MAX};
static const Shape list_shape = {
    .kind = SHAPE_LIST, .of = &shape_string, .min = 2, .max = REQUESTED_RESOURCES_MAX};

const RuleKind kind_bin_pack = {
    .field = STR("binPack"),
    .summary = "the fuller, the better",
    .shape = &weights_shape,
    .write = write_bin_pack,
};

const RuleKind kind_spread = {
    .field = STR("spread"),
    .summary = "the emptier, the better",
    .shape = &weights_shape,
    .write = write_spread,
};

const RuleKind kind_balance = {
    .field = STR("balance"),
    .summary = "the more evenly used, the better",
    .shape = &list_shape,
    .write = write_balance,
};
