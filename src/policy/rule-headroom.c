/*
 * headroom: what must remain free on the node once the pod is there.
 *
 *     headroom: {cpu: 500m, memory: 10%}
 *
 * A percentage is of the node's allocatable amount. A node that does not offer a
 * resource has none of it free, and no less than none, whatever its pods ask for.
 */

#include "base/num.h"
#include "base/quantity.h"
#include "policy/rule.h"

/* Shares are fixed point: 100 * 0.07 is more than 7 in floating point, and a slot
 * too many would be kept free. */
#define SHARE_WHOLE INT64_C(100000000000)

typedef struct Reserve {
    Str resource;
    int64_t amount; /* in the resource's units */
    int64_t share;  /* of allocatable, in billionths of a percent; instead of amount */
} Reserve;

typedef struct Config {
    const Reserve *items;
    size_t n;
} Config;

/* "10%" or "2.5 %": a number from 0 to 100. */
static bool parse_percent(Str text, int64_t *ret) {
    Quantity percent;

    text = str_trim(text);
    if (!str_has_suffix(text, STR("%")))
        return false;
    text = str_trim(str_take(text, text.len - 1));
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '.' && (text.ptr[i] < '0' || text.ptr[i] > '9'))
            return false; /* a quantity's suffixes mean nothing here */
    if (!quantity_parse(text, &percent) || percent.nano > SHARE_WHOLE)
        return false;
    *ret = (int64_t)percent.nano;
    return true;
}

static void read_reserve(PolicyReader *reader, const YamlPair *pair, Reserve *reserve) {
    Str text;

    reserve->resource = pair->key->text;
    if (!reader_resource_name(reader, pair->key) ||
        !reader_label_value(reader, pair->value, "headroom", &text))
        return;
    if (parse_percent(text, &reserve->share))
        return;
    if (!resource_amount_parse(reserve->resource, text, &reserve->amount) || reserve->amount < 0)
        reader_error_hint(reader,
            pair->value,
            STR("an amount like 500m, 2 or 1.5Gi, or a share of the node like 10%"),
            "\"%.*s\" is not an amount of %.*s",
            STR_FMT(text),
            STR_FMT(reserve->resource));
}

static const void *read(PolicyReader *reader, const YamlNode *value) {
    Config *config = ARENA_NEW(reader->arena, Config);
    Reserve *items;

    if (!config || !reader_mapping(reader, value, "headroom"))
        return NULL;
    if (value->n == 0)
        reader_error(reader, value, "headroom must name at least one resource");
    items = ARENA_ARRAY(reader->arena, Reserve, value->n);
    for (size_t i = 0; items && i < value->n; i++)
        read_reserve(reader, &value->pairs[i], &items[i]);
    *config = (Config){.items = items, .n = items ? value->n : 0};
    return config;
}

/* What would be free of the resource on @row with the pod there. */
static int64_t free_after(const NodeTable *table, uint32_t row, size_t resource, int64_t asked) {
    bool is_offered = table_amount(table, row, resource, AMOUNT_ALLOCATABLE) > 0;

    return num_sub_sat(is_offered ? table_amount(table, row, resource, AMOUNT_FREE) : 0, asked);
}

/* Rounded up: a share is never less than it says. */
static int64_t wanted_on(
    const Reserve *reserve, const NodeTable *table, uint32_t row, size_t resource) {
    __int128 whole = table_amount(table, row, resource, AMOUNT_ALLOCATABLE);

    if (reserve->share == 0)
        return reserve->amount;
    return whole > 0 ? (int64_t)((whole * reserve->share + SHARE_WHOLE - 1) / SHARE_WHOLE) : 0;
}

/* An amount (more than 0) is the same for all nodes: one comparison a row. */
static void judge_amount(size_t resource, int64_t least, const Batch *batch, uint8_t *pass) {
    for (size_t i = 0; i < batch->n; i++)
        pass[i] &= table_amount(batch->table, batch->rows[i], resource, AMOUNT_FREE) >= least;
}

static void judge_reserve(const Reserve *reserve, const Batch *batch, uint8_t *pass) {
    const NodeTable *table = batch->table;
    size_t resource = table_find_resource(table, reserve->resource);
    int64_t asked = resources_get(&batch->pod->requests, reserve->resource);

    /* Nobody offers it: nothing is free, nothing may be asked or kept. */
    if (resource == SIZE_MAX) {
        if (asked > 0 || reserve->amount > 0)
            memset(pass, 0, batch->n);
        return;
    }
    if (reserve->share == 0 && reserve->amount > 0) {
        judge_amount(resource, num_add_sat(reserve->amount, asked), batch, pass);
        return;
    }
    for (size_t i = 0; i < batch->n; i++) {
        uint32_t row = batch->rows[i];

        pass[i] &=
            free_after(table, row, resource, asked) >= wanted_on(reserve, table, row, resource);
    }
}

static void needs(const void *config, NodeNeeds *ret) {
    (void)config;
    ret->allocatable = true;
}

static int judge(const void *config, const Batch *batch, uint8_t *ret_pass) {
    const Config *headroom = config;

    memset(ret_pass, 1, batch->n);
    for (size_t i = 0; i < headroom->n; i++)
        judge_reserve(&headroom->items[i], batch, ret_pass);
    return 0;
}

static void explain(const void *config, const Batch *batch, Buf *out) {
    const Config *headroom = config;
    const NodeTable *table = batch->table;
    uint32_t row = batch->rows[0];

    for (size_t i = 0; i < headroom->n; i++) {
        const Reserve *reserve = &headroom->items[i];
        size_t resource = table_find_resource(table, reserve->resource);
        bool is_offered = resource != SIZE_MAX;
        int64_t asked = resources_get(&batch->pod->requests, reserve->resource);
        int64_t left = is_offered ? free_after(table, row, resource, asked) : num_sub_sat(0, asked);
        int64_t wanted = is_offered ? wanted_on(reserve, table, row, resource) : reserve->amount;

        if (left >= wanted)
            continue;
        if (out->len > 0)
            buf_append(out, STR("; "));
        buf_printf(out, "%.*s: ", STR_FMT(reserve->resource));
        resource_amount_print(reserve->resource, left, out);
        buf_append(out, STR(" would be left, "));
        resource_amount_print(reserve->resource, wanted, out);
        buf_append(out, STR(" must be"));
    }
}

const FilterKind filter_headroom = {
    .field = STR("headroom"),
    .class = RULE_POD_NODE,
    .summary = "so much remains free once the pod is there",
    .needs = needs,
    .read = read,
    .judge = judge,
    .explain = explain,
};
