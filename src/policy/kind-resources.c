/* Built-in rules by resources of the node: headroom, binPack, spread, balance. Divisions read only
 * the node, so they are precomputed: a request only adds, multiplies and compares. */

#include "base/ascii.h"
#include "base/quantity.h"
#include "model/resources.h"
#include "policy/cel-text.h"

/*
 * A percentage is of the node's allocatable amount. A node that does not offer a resource has 0 of
 * it free, even if its pods request it.
 *
 * One side of a comparison reads only the node, the other only the pod, for speed. Percentages are
 * ratios of whole numbers (90 of 100, 971 of 1000), because 100 * 0.07 is more than 7 in floating
 * point, and would keep one slot too many free.
 */

#define SHARE_WHOLE INT64_C(100000000000)

typedef struct Reserve {
    Str resource;
    int64_t amount; /* in the resource's units */
    int64_t share;  /* instead of amount: of allocatable, in billionths of a percent */
} Reserve;

/* Kubernetes reads "m" and "." as 0; here they are errors. */
static bool has_digit(Str text) {
    for (size_t i = 0; i < text.len; i++)
        if (ascii_is_digit(text.ptr[i]))
            return true;
    return false;
}

/* Parses "10%" or "2.5 %", from 0 to 100. */
static bool parse_percent(Str text, int64_t *ret) {
    Quantity percent;

    if (!str_has_suffix(text, STR("%")))
        return false;
    text = str_take(text, text.len - 1);
    while (str_has_suffix(text, STR(" ")))
        text = str_take(text, text.len - 1);
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '.' && !ascii_is_digit(text.ptr[i]))
            return false; /* quantity_parse() would accept suffixes */
    if (!quantity_parse(text, &percent) || percent.nano > SHARE_WHOLE)
        return false;
    *ret = (int64_t)percent.nano;
    return true;
}

static void read_reserve(YamlReader *reader, const YamlPair *pair, void *item) {
    Reserve *reserve = item;
    Str text;

    reserve->resource = pair->key->text;
    if (!reader_resource_name(reader, pair->key) ||
        !reader_label_value(reader, pair->value, "headroom", &text))
        return;
    if (has_digit(text) && parse_percent(text, &reserve->share))
        return;
    if (!has_digit(text) || text.ptr[0] == '-' ||
        !resource_amount_parse(reserve->resource, text, &reserve->amount))
        reader_error_hint(reader, pair->value,
            STR("an amount like 500m, 2 or 1.5Gi, or a share of the node like 10%"),
            "\"%.*s\" is not an amount of %.*s", STR_FMT(text), STR_FMT(reserve->resource));
}

/* A share: 2.5 % is @part 25 of @whole 1000, a power of ten. */
typedef struct Ratio {
    int64_t part, whole;
} Ratio;

static Ratio ratio_of(int64_t share) {
    Ratio ratio = {.part = share, .whole = SHARE_WHOLE};

    while (ratio.whole > 100 && ratio.part % 10 == 0) {
        ratio.part /= 10;
        ratio.whole /= 10;
    }
    return ratio;
}

#define FREE "(node.allocatable$1 > 0.0 ? node.free$1 : 0.0)"

/* A node that does not offer the resource fails, except if the amount is 0. */
static void write_reserve(Buf *out, const void *item) {
    const Reserve *reserve = item;
    Ratio ratio = ratio_of(reserve->share);

    cel_text(out,
        reserve->share > 0    ? "(node.allocatable$1 > 0.0 ? node.allocatable$1 * $2 - "
                                "node.requested$1 * $3 : 0.0) >= pod.requests$1 * $3"
        : reserve->amount > 0 ? "node.free$1 >= pod.requests$1 + $4"
                              : FREE " >= pod.requests$1",
        TEXT_RESOURCE(reserve->resource), TEXT_NUMBER((double)(ratio.whole - ratio.part)),
        TEXT_NUMBER((double)ratio.whole), TEXT_NUMBER((double)reserve->amount));
}

/* amount() takes cpu in cores. Shares are rounded up. */
static void write_reserve_message(Buf *out, const void *item) {
    const Reserve *reserve = item;
    _cleanup_(buf_done) Buf amount = BUF_INIT(KIND_TEXT_MAX);
    Ratio ratio = ratio_of(reserve->share);

    resource_amount_print(reserve->resource, reserve->amount, &amount);
    cel_text(out,
        reserve->share > 0
            ? "'$2: ' + amount($3, (" FREE " - pod.requests$1)$4) + ' would remain free, ' + "
              "amount($3, math.ceil(node.allocatable$1 * $5 / $6)$4) + ' required'"
            : "'$2: ' + amount($3, (" FREE " - pod.requests$1)$4) + ' would remain free, $7 "
              "required'",
        TEXT_RESOURCE(reserve->resource), TEXT_ESCAPED(reserve->resource),
        TEXT_QUOTED(reserve->resource),
        TEXT_RAW(str_is(reserve->resource, "cpu") ? " / 1000.0" : ""),
        TEXT_NUMBER((double)ratio.part), TEXT_NUMBER((double)ratio.whole), TEXT_BUF(&amount));
}

static const Shape amount_shape = {.kind = SHAPE_AMOUNT};
static const Shape headroom_shape = {.kind = SHAPE_MAP, .of = &amount_shape, .min = 1};
static const TextPart headroom_part = {
    sizeof(Reserve), write_reserve, write_reserve_message, read_reserve};

const RuleKind kind_headroom = {STR("headroom"),
    "this much remains free on the node after the pod is placed", &headroom_shape,
    .part = &headroom_part};

/*
 * A share is (requested + the pod's request) / allocatable. The mean ignores resources that the
 * node does not offer; one that does not fit counts 0. A node that offers none of them gets 0
 * points.
 */

#define WEIGHTS_MAX 16u

typedef struct ResourceWeight {
    Str resource;
    double weight;
} ResourceWeight;

typedef struct ResourceWeights {
    ResourceWeight *items;
    size_t n;
} ResourceWeights;

static const Shape weight_shape = {.kind = SHAPE_NUMBER, .min = 0, .max = 1000, .is_above = true};
static const Shape weights_shape = {
    .kind = SHAPE_MAP, .of = &weight_shape, .min = 1, .max = WEIGHTS_MAX};
static const Shape list_shape = {
    .kind = SHAPE_LIST, .of = &shape_string, .min = 2, .max = WEIGHTS_MAX};

/* Reads entry @i of a mapping of resources and weights, or of a list of equally weighted
 * resources. */
static void read_resource(
    YamlReader *reader, const YamlNode *value, size_t i, ResourceWeight *items) {
    const YamlNode *name = value->kind == YAML_MAPPING ? value->pairs[i].key : value->items[i];

    items[i].weight = 1;
    if (value->kind == YAML_MAPPING)
        items[i].resource = name->text;
    else if (!reader_string(reader, name, "a resource", &items[i].resource))
        return;
    if (!reader_resource_name(reader, name))
        return;
    if (value->kind == YAML_MAPPING)
        (void)reader_value(
            reader, value->pairs[i].value, "a resource's weight", &weight_shape, &items[i].weight);
    for (size_t j = 0; value->kind == YAML_SEQUENCE && j < i; j++)
        if (str_eq(items[j].resource, items[i].resource))
            reader_error(reader, name, "\"%.*s\" is named twice", STR_FMT(items[i].resource));
}

static ResourceWeights read_resources(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value) {
    ResourceWeights weights = {0};

    if (!reader_entries(reader, value, kind->field.ptr, kind->shape))
        return weights;
    weights.items = ARENA_ARRAY(reader->arena, ResourceWeight, value->n);
    weights.n = weights.items ? value->n : 0;
    for (size_t i = 0; i < weights.n; i++)
        read_resource(reader, value, i, weights.items);
    return weights;
}

/* Writes @template for each resource ($1), with its weight ($2) and number ($3), and @between. */
static void write_each(
    Buf *out, const ResourceWeights *weights, const char *template, const char *between) {
    size_t begin = out->len;

    for (size_t i = 0; i < weights->n; i++) {
        cel_text_separate(out, begin, between);
        cel_text(out, template, TEXT_RESOURCE(weights->items[i].resource),
            TEXT_NUMBER(weights->items[i].weight), TEXT_INT((int64_t)i));
    }
}

/* The weight of a resource if the node offers it, and the weight of one unit. */
#define WEIGHT "(node.allocatable$1 > 0.0 ? $2 : 0.0)"
#define UNIT "(node.allocatable$1 > 0.0 ? $2 / node.allocatable$1 : 0.0)"

#define USED                                                                                       \
    "(pod.requests$1 <= node.free$1 ? (node.requested$1 + pod.requests$1) * " UNIT " : 0.0)"
#define LEFT "math.greatest(0.0, node.free$1 - pod.requests$1) * " UNIT

/* math.least removes rounding errors over 100. */
static void write_mean(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    ResourceWeights weights = read_resources(reader, kind, value);
    Buf *out = &ret->expression;

    buf_append(out, STR("cel.bind(w, "));
    write_each(out, &weights, WEIGHT, " + ");
    buf_append(out, STR(", math.least(100.0, ("));
    write_each(out, &weights, kind == &kind_bin_pack ? USED : LEFT, " + ");
    buf_append(out, STR(") * (w > 0.0 ? 100.0 / w : 0.0)))"));
}

const RuleKind kind_bin_pack = {STR("binPack"),
    "fuller nodes get more points, by weighted resources", &weights_shape, write_mean};

const RuleKind kind_spread = {STR("spread"), "emptier nodes get more points, by weighted resources",
    &weights_shape, write_mean};

/* 100 minus the standard deviation of the used shares s0, s1 …, like kube-scheduler's balanced
 * allocation; for two resources it is half their difference. n is the number of offered resources,
 * k = 1/n. */
static void write_balance(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    ResourceWeights weights = read_resources(reader, kind, value);
    Buf *out = &ret->expression;

    buf_append(out, STR("cel.bind(n, "));
    write_each(out, &weights, WEIGHT, " + ");
    buf_append(out, STR(", "));
    write_each(out, &weights,
        "cel.bind(s$3, math.least(1.0, (node.requested$1 + pod.requests$1) * " UNIT "), ", "");
    if (weights.n == 2) {
        buf_append(
            out, STR("(n > 0.0 ? 100.0 : 0.0) - (n > 1.0 ? 50.0 : 0.0) * math.abs(s0 - s1)"));
    } else {
        buf_append(out, STR("cel.bind(k, n > 0.0 ? 1.0 / n : 0.0, cel.bind(m, ("));
        write_each(out, &weights, "s$3", " + ");
        buf_append(
            out, STR(") * k, (n > 0.0 ? 100.0 : 0.0) - 100.0 * math.sqrt(math.greatest(0.0, ("));
        write_each(out, &weights, "s$3 * s$3", " + ");
        buf_append(out, STR(") * k - m * m))))"));
    }
    buf_append_repeat(out, ')', weights.n + 1);
}

const RuleKind kind_balance = {STR("balance"),
    "nodes whose resources are used evenly get more points", &list_shape, write_balance};
