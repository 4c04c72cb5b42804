/*
 * metricLimit, metricScore: rules by a number that is measured of the node.
 *
 *     metricLimit: {metric: load, max: 0.8}
 *     metricScore: {metric: load, low: 0, high: 1, prefer: low}
 *
 * A value that is exactly the limit passes. Points go evenly from 0 to 100 between low and high;
 * what is beyond counts as there.
 *
 * These are the only built-in rules that can fail, and must: where a value is absent, the
 * rule's onMissing says what counts, not we. The message shows what was measured, too, where pods
 * that were placed a moment ago have been added to it.
 */

#include "base/cleanup.h"
#include "policy/cel-text.h"
#include "policy/kind.h"
#include "policy/scope.h"

#define METRIC_BOUND_MAX 1e18

typedef struct Config {
    Str metric;
    double low, high; /* min and max of a limit */
    bool has_low, has_high;
    bool prefers_low;
} Config;

/* --- reading ------------------------------------------------------------------ */

/* Whether there is one is the expression's business. */
static void read_metric(PolicyReader *reader, const YamlNode *value, void *into) {
    Str *name = &((Config *)into)->metric;

    if (reader_string(reader, value, "metric", name) && !scope_name_is_valid(*name))
        reader_error_hint(reader,
            value,
            STR("the name of one that the policy declares under metrics"),
            "\"%.*s\" is not a metric's name",
            STR_FMT(*name));
}

static void read_bound(
    PolicyReader *reader, const YamlNode *value, const char *what, double *ret, bool *ret_given) {
    *ret_given = reader_number(reader, value, what, -METRIC_BOUND_MAX, METRIC_BOUND_MAX, ret);
}

static void read_min(PolicyReader *reader, const YamlNode *value, void *into) {
    Config *config = into;

    read_bound(reader, value, "min", &config->low, &config->has_low);
}

static void read_max(PolicyReader *reader, const YamlNode *value, void *into) {
    Config *config = into;

    read_bound(reader, value, "max", &config->high, &config->has_high);
}

static void read_low(PolicyReader *reader, const YamlNode *value, void *into) {
    Config *config = into;

    read_bound(reader, value, "low", &config->low, &config->has_low);
}

static void read_high(PolicyReader *reader, const YamlNode *value, void *into) {
    Config *config = into;

    read_bound(reader, value, "high", &config->high, &config->has_high);
}

static void read_prefer(PolicyReader *reader, const YamlNode *value, void *into) {
    kind_read_prefer(reader, value, &((Config *)into)->prefers_low);
}

static const Shape bound_shape = {
    .kind = SHAPE_NUMBER, .min = -METRIC_BOUND_MAX, .max = METRIC_BOUND_MAX};

static const Field limit_fields[] = {
    {.name = STR("metric"),
        .is_required = true,
        .shape = &shape_string,
        .about = "one of the policy's metrics, by name",
        .read = read_metric},
    {.name = STR("min"), .shape = &bound_shape, .about = "so much at least", .read = read_min},
    {.name = STR("max"), .shape = &bound_shape, .about = "so much at most", .read = read_max},
};

static const Field score_fields[] = {
    {.name = STR("metric"),
        .is_required = true,
        .shape = &shape_string,
        .about = "one of the policy's metrics, by name",
        .read = read_metric},
    {.name = STR("low"),
        .is_required = true,
        .shape = &bound_shape,
        .about = "the least value that makes a difference",
        .read = read_low},
    {.name = STR("high"),
        .is_required = true,
        .shape = &bound_shape,
        .about = "the greatest value that makes a difference",
        .read = read_high},
    {.name = STR("prefer"),
        .is_required = true,
        .shape = &kind_prefer_shape,
        .about = "which get more points",
        .read = read_prefer},
};

/* --- a limit ------------------------------------------------------------------ */

static void read_limit(PolicyReader *reader, const YamlNode *value, Config *ret) {
    size_t n_errors = reader->diags->n_errors;

    reader_fields(reader, value, "metricLimit", limit_fields, ELEMENTS_OF(limit_fields), ret);
    if (reader->diags->n_errors > n_errors)
        return;
    if (!ret->has_low && !ret->has_high)
        reader_error(reader, value, "metricLimit needs min or max");
    else if (ret->has_low && ret->has_high && ret->low > ret->high)
        reader_error(reader, value, "metricLimit: min is greater than max, no node could pass");
}

static void write_compared(Buf *out, const Config *config, const char *operator, double bound) {
    buf_printf(out, "metrics.%.*s %s ", STR_FMT(config->metric), operator);
    cel_text_double(out, bound);
}

static void write_limit_expression(Buf *out, const Config *config) {
    if (config->has_low)
        write_compared(out, config, ">=", config->low);
    if (config->has_low && config->has_high)
        buf_append(out, STR(" && "));
    if (config->has_high)
        write_compared(out, config, "<=", config->high);
}

/* Six decimals: what is behind them is a measurement's noise. */
static void write_value(Buf *out, const Config *config, const char *field) {
    buf_printf(out,
        "string(math.round(metrics.%.*s%s * 1000000.0) / 1000000.0)",
        STR_FMT(config->metric),
        field);
}

/* ", may be 0.8 at most", ", must be from 10 to 90". */
static void write_bounds(Buf *out, const Config *config) {
    _cleanup_(buf_done) Buf words = BUF_INIT(KIND_TEXT_MAX);

    if (config->has_low && config->has_high)
        buf_printf(&words, ", must be from %.15g to %.15g", config->low, config->high);
    else if (config->has_low)
        buf_printf(&words, ", must be %.15g at least", config->low);
    else
        buf_printf(&words, ", may be %.15g at most", config->high);
    cel_text_words(out, &words);
}

static void write_limit_message(Buf *out, const Config *config) {
    Str name = config->metric;

    buf_printf(out, "has(metrics.%.*s) ? '%.*s is ' + ", STR_FMT(name), STR_FMT(name));
    write_value(out, config, "");
    buf_printf(out,
        " + (metrics.%.*s == metrics.%.*s.measured ? '' : ' with pods placed a moment ago, ' + ",
        STR_FMT(name),
        STR_FMT(name));
    write_value(out, config, ".measured");
    buf_append(out, STR(" + ' measured') + "));
    write_bounds(out, config);
    buf_printf(out, " : '%.*s is not known'", STR_FMT(name));
}

static void write_limit(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Config config = {0};

    read_limit(reader, value, &config);
    write_limit_expression(&ret->expression, &config);
    write_limit_message(&ret->message, &config);
}

static const Shape limit_shape = {
    .kind = SHAPE_OBJECT, .fields = limit_fields, .n_fields = ELEMENTS_OF(limit_fields)};

const RuleKind kind_metric_limit = {
    .field = STR("metricLimit"),
    .summary = "a measured value is within limits",
    .shape = &limit_shape,
    .write = write_limit,
};

/* --- a score ------------------------------------------------------------------- */

static void check_range(PolicyReader *reader, const YamlNode *value, const Config *config) {
    if (config->has_low && config->has_high && config->low >= config->high)
        reader_error(reader, yaml_find(value, STR("high")), "high must be greater than low");
}

static void write_score(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Config config = {0};
    Buf *out = &ret->expression;

    reader_fields(reader, value, "metricScore", score_fields, ELEMENTS_OF(score_fields), &config);
    check_range(reader, value, &config);
    buf_append(out, STR("math.greatest(0.0, math.least(100.0, ("));
    if (config.prefers_low) {
        cel_text_double(out, config.high);
        buf_printf(out, " - metrics.%.*s", STR_FMT(config.metric));
    } else {
        buf_printf(out, "metrics.%.*s - ", STR_FMT(config.metric));
        cel_text_double(out, config.low);
    }
    buf_append(out, STR(") * 100.0 / ("));
    cel_text_double(out, config.high);
    buf_append(out, STR(" - "));
    cel_text_double(out, config.low);
    buf_append(out, STR(")))"));
}

static const Shape score_shape = {
    .kind = SHAPE_OBJECT, .fields = score_fields, .n_fields = ELEMENTS_OF(score_fields)};

const RuleKind kind_metric_score = {
    .field = STR("metricScore"),
    .summary = "the lower, or the higher, a measured value, the better",
    .shape = &score_shape,
    .write = write_score,
};
