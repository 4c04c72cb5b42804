/*
 * nodeAge: how long the node has been there.
 *
 *     filters: nodeAge: {min: 2m, max: 7d}               # a node without a creation time passes
 *     scores:  nodeAge: {prefer: old, full: 30d}         # and here it gets 0
 *
 * As a score: 0 points for a new node and 100 for one as old as full, evenly in between; with
 * prefer: young the other way around. A clock that is behind the node's birth makes it new.
 */

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "cel/duration.h"
#include "policy/cel-text.h"
#include "policy/kind.h"

#define CREATED "node.metadata.creationTimestamp"

/* --- the filter ----------------------------------------------------------------- */

typedef struct Range {
    bool has_min, has_max;
    int64_t min, max;
} Range;

static void read_min(PolicyReader *reader, const YamlNode *value, void *into) {
    ((Range *)into)->has_min = reader_duration(reader, value, "min", &((Range *)into)->min);
}

static void read_max(PolicyReader *reader, const YamlNode *value, void *into) {
    ((Range *)into)->has_max = reader_duration(reader, value, "max", &((Range *)into)->max);
}

static const Field range_fields[] = {
    {.name = STR("min"), .shape = &shape_duration, .about = "at least so old", .read = read_min},
    {.name = STR("max"), .shape = &shape_duration, .about = "at most so old", .read = read_max},
};

static void check_range(PolicyReader *reader, const YamlNode *value, const Range *range) {
    if (value->kind == YAML_MAPPING && value->n == 0)
        reader_error(reader, value, "nodeAge needs min or max");
    if (range->has_min && range->has_max && range->min > range->max)
        reader_error(reader, value, "nodeAge: min is greater than max, no node could pass");
}

/* created <= now - duration('120s'): one side is the node's, the other is worked out once. */
static void write_bound(Buf *out, const char *op, int64_t age_ns) {
    buf_printf(out, CREATED " %s now - duration('", op);
    cel_duration_print(age_ns, out);
    buf_append(out, STR("')"));
}

static void write_range(Buf *out, const Range *range) {
    buf_append(out, STR("!has(" CREATED ")"));
    if (!range->has_min && !range->has_max)
        return;
    buf_append(out, STR(" || "));
    if (range->has_min)
        write_bound(out, "<=", range->min);
    if (range->has_min && range->has_max)
        buf_append(out, STR(" && "));
    if (range->has_max)
        write_bound(out, ">=", range->max);
}

/* Whole seconds are enough for people. */
static void write_range_message(Buf *out, const Range *range) {
    _cleanup_(buf_done) Buf words = BUF_INIT(KIND_TEXT_MAX);

    buf_append(&words, STR("s old, must be "));
    if (range->has_min) {
        buf_append(&words, STR("at least "));
        cel_duration_print(range->min, &words);
    }
    if (range->has_max) {
        buf_append(&words, range->has_min ? STR(" and at most ") : STR("at most "));
        cel_duration_print(range->max, &words);
    }
    buf_append(out, STR("'node is ' + string(int(now) - int(" CREATED ")) + "));
    cel_text_words(out, &words);
}

static void write_filter(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Range range = {0};

    reader_fields(reader, value, "nodeAge", range_fields, ELEMENTS_OF(range_fields), &range);
    check_range(reader, value, &range);
    write_range(&ret->expression, &range);
    write_range_message(&ret->message, &range);
}

/* --- the score -------------------------------------------------------------------- */

typedef struct Taste {
    bool is_young;
    int64_t full;
} Taste;

static void read_prefer(PolicyReader *reader, const YamlNode *value, void *into) {
    Str word;

    if (!reader_string(reader, value, "prefer", &word))
        return;
    ((Taste *)into)->is_young = str_eq(word, STR("young"));
    if (!str_eq(word, STR("young")) && !str_eq(word, STR("old")))
        reader_error_hint(reader,
            value,
            STR("old or young"),
            "prefer must be old or young, not \"%.*s\"",
            STR_FMT(word));
}

static void read_full(PolicyReader *reader, const YamlNode *value, void *into) {
    Taste *taste = into;

    if (reader_duration(reader, value, "full", &taste->full) && taste->full == 0)
        reader_error(reader, value, "full must be greater than 0");
}

static const char *const prefer_words[] = {"old", "young", NULL};
static const Shape prefer_shape = {.kind = SHAPE_WORD, .words = prefer_words};

static const Field taste_fields[] = {
    {.name = STR("prefer"),
        .is_required = true,
        .shape = &prefer_shape,
        .about = "which get more points",
        .read = read_prefer},
    {.name = STR("full"),
        .is_required = true,
        .shape = &shape_duration,
        .about = "the age from which on nothing changes",
        .read = read_full},
};

/* Seconds as doubles: those of the node are known beforehand. */
static void write_score(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Taste taste = {0};
    Buf *out = &ret->expression;

    reader_fields(reader, value, "nodeAge", taste_fields, ELEMENTS_OF(taste_fields), &taste);
    buf_append(out, STR("has(" CREATED ") ? "));
    if (taste.is_young)
        buf_append(out, STR("100.0 - "));
    buf_append(out,
        STR("math.greatest(0.0, math.least(100.0, (double(int(now)) - double(int(" CREATED
            "))) * (100.0 / "));
    cel_text_double(out, (double)taste.full / NSEC_PER_SEC);
    buf_append(out, STR("))) : 0.0"));
}

/* --- kinds -------------------------------------------------------------------- */

static const Shape range_shape = {
    .kind = SHAPE_OBJECT, .fields = range_fields, .n_fields = ELEMENTS_OF(range_fields), .min = 1};
static const Shape taste_shape = {
    .kind = SHAPE_OBJECT, .fields = taste_fields, .n_fields = ELEMENTS_OF(taste_fields)};

const RuleKind kind_node_age_range = {
    .field = STR("nodeAge"),
    .summary = "the node is neither too young nor too old",
    .shape = &range_shape,
    .write = write_filter,
};

const RuleKind kind_node_age = {
    .field = STR("nodeAge"),
    .summary = "the older, or the younger, the better",
    .shape = &taste_shape,
    .write = write_score,
};
