/*
 * headroom: what must remain free on the node once the pod is there.
 *
 *     headroom: {cpu: 500m, memory: 10%}
 *
 * A percentage is of the node's allocatable amount. A node that does not offer a
 * resource has none of it free, and no less than none, whatever its pods ask for.
 *
 * What reads only the node stands on one side, what reads only the pod on the other: one
 * comparison for each node. Percentages are whole numbers on both sides (90 of 100, 971 of
 * 1000): 100 * 0.07 is more than 7 in floating point, and a slot too many would be kept free.
 */

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/quantity.h"
#include "model/resources.h"
#include "policy/cel-text.h"
#include "policy/kind.h"

#define SHARE_WHOLE INT64_C(100000000000)

typedef struct Reserve {
    Str resource;
    int64_t amount; /* in the resource's units */
    int64_t share;  /* of allocatable, in billionths of a percent; instead of amount */
} Reserve;

/* --- reading ------------------------------------------------------------------ */

/* To Kubernetes "m" and "." are nothing; whoever writes them here has forgotten something. */
static bool has_digit(Str text) {
    for (size_t i = 0; i < text.len; i++)
        if (ascii_is_digit(text.ptr[i]))
            return true;
    return false;
}

/* "10%" or "2.5 %": a number from 0 to 100. */
static bool parse_percent(Str text, int64_t *ret) {
    Quantity percent;

    if (!str_has_suffix(text, STR("%")))
        return false;
    text = str_take(text, text.len - 1);
    while (str_has_suffix(text, STR(" ")))
        text = str_take(text, text.len - 1);
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
    if (has_digit(text) && parse_percent(text, &reserve->share))
        return;
    if (!has_digit(text) || text.ptr[0] == '-' ||
        !resource_amount_parse(reserve->resource, text, &reserve->amount))
        reader_error_hint(reader,
            pair->value,
            STR("an amount like 500m, 2 or 1.5Gi, or a share of the node like 10%"),
            "\"%.*s\" is not an amount of %.*s",
            STR_FMT(text),
            STR_FMT(reserve->resource));
}

/* --- writing ------------------------------------------------------------------ */

/* A share as @part of @whole, a power of ten: 2.5 % is 25 of 1000. */
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

static void write_times(Buf *out, const char *map, Str resource, int64_t factor) {
    cel_text_amount(out, map, resource);
    buf_append(out, STR(" * "));
    cel_text_double(out, (double)factor);
}

/* (allocatable > 0.0 ? WHAT : 0.0), around what is written in between. */
static void begin_if_offered(Buf *out, Str resource) {
    buf_append_char(out, '(');
    cel_text_amount(out, "node.allocatable", resource);
    buf_append(out, STR(" > 0.0 ? "));
}

static void end_if_offered(Buf *out) {
    buf_append(out, STR(" : 0.0)"));
}

/* 90% of it, less what is requested, is enough for the pod. */
static void write_share(Buf *out, Str resource, Ratio ratio) {
    begin_if_offered(out, resource);
    write_times(out, "node.allocatable", resource, ratio.whole - ratio.part);
    buf_append(out, STR(" - "));
    write_times(out, "node.requested", resource, ratio.whole);
    end_if_offered(out);
    buf_append(out, STR(" >= "));
    write_times(out, "pod.requests", resource, ratio.whole);
}

/* Whoever does not offer it has less than any amount. */
static void write_amount(Buf *out, Str resource, int64_t amount) {
    cel_text_amount(out, "node.free", resource);
    buf_append(out, STR(" >= "));
    cel_text_amount(out, "pod.requests", resource);
    buf_append(out, STR(" + "));
    cel_text_double(out, (double)amount);
}

static void write_free(Buf *out, Str resource) {
    begin_if_offered(out, resource);
    cel_text_amount(out, "node.free", resource);
    end_if_offered(out);
}

static void write_condition(Buf *out, const void *item) {
    const Reserve *reserve = item;

    if (reserve->share > 0) {
        write_share(out, reserve->resource, ratio_of(reserve->share));
    } else if (reserve->amount > 0) {
        write_amount(out, reserve->resource, reserve->amount);
    } else {
        write_free(out, reserve->resource);
        buf_append(out, STR(" >= "));
        cel_text_amount(out, "pod.requests", reserve->resource);
    }
}

/* amount() takes cpu in cores. */
static void write_per_unit(Buf *out, Str resource) {
    if (str_eq(resource, STR("cpu")))
        buf_append(out, STR(" / 1000.0"));
}

/* 'cpu: ' + amount('cpu', what would be left) */
static void write_left(Buf *out, Str resource) {
    _cleanup_(buf_done) Buf words = BUF_INIT(KIND_TEXT_MAX);

    buf_printf(&words, "%.*s: ", STR_FMT(resource));
    cel_text_words(out, &words);
    buf_append(out, STR(" + amount("));
    cel_text_string(out, resource);
    buf_append(out, STR(", ("));
    write_free(out, resource);
    buf_append(out, STR(" - "));
    cel_text_amount(out, "pod.requests", resource);
    buf_append_char(out, ')');
    write_per_unit(out, resource);
    buf_append_char(out, ')');
}

/* Rounded up: a share is never less than it says. */
static void write_wanted_share(Buf *out, Str resource, Ratio ratio) {
    buf_append(out, STR(" + ' would be left, ' + amount("));
    cel_text_string(out, resource);
    buf_append(out, STR(", math.ceil("));
    write_times(out, "node.allocatable", resource, ratio.part);
    buf_append(out, STR(" / "));
    cel_text_double(out, (double)ratio.whole);
    buf_append_char(out, ')');
    write_per_unit(out, resource);
    buf_append(out, STR(") + ' must be'"));
}

static void write_wanted_amount(Buf *out, const Reserve *reserve) {
    _cleanup_(buf_done) Buf words = BUF_INIT(KIND_TEXT_MAX);

    buf_append(&words, STR(" would be left, "));
    resource_amount_print(reserve->resource, reserve->amount, &words);
    buf_append(&words, STR(" must be"));
    buf_append(out, STR(" + "));
    cel_text_words(out, &words);
}

static void write_finding(Buf *out, const void *item) {
    const Reserve *reserve = item;

    write_left(out, reserve->resource);
    if (reserve->share > 0)
        write_wanted_share(out, reserve->resource, ratio_of(reserve->share));
    else
        write_wanted_amount(out, reserve);
}

static const TextPart part = {.condition = write_condition, .finding = write_finding};

static void write(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Reserve *items;

    if (!reader_mapping(reader, value, "headroom"))
        return;
    if (value->n == 0)
        reader_error(reader, value, "headroom must name at least one resource");
    items = ARENA_ARRAY(reader->arena, Reserve, value->n);
    for (size_t i = 0; items && i < value->n; i++)
        read_reserve(reader, &value->pairs[i], &items[i]);
    cel_text_all(ret, &part, items, items ? value->n : 0, sizeof(*items));
}

static const Shape amount_shape = {.kind = SHAPE_AMOUNT};
static const Shape shape = {.kind = SHAPE_MAP, .of = &amount_shape, .min = 1};

const RuleKind kind_headroom = {
    .field = STR("headroom"),
    .summary = "so much remains free once the pod is there",
    .shape = &shape,
    .write = write,
};
