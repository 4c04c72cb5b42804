/*
 * Built-in rules by a metric of the node: metricLimit, metricScore. A value equal to the limit
 * passes. Points rise evenly from 0 to 100 between low and high.
 *
 * These are the only built-in rules whose evaluation can fail: if a value is absent, onMissing
 * decides. The message also shows the measured value if recently placed pods were added to it.
 */

#include <math.h>
#include <stdio.h>

#include "policy/cel-text.h"
#include "policy/scope.h"

#define METRIC_BOUND_MAX 1e18

typedef struct MetricRule {
    Str metric;
    double low, high; /* of metricLimit: min and max; NaN: not given */
    Preferred prefer;
} MetricRule;

/* Checks only the form; the compiler checks whether the policy declares the metric. */
static bool check_metric(YamlReader *reader, const YamlNode *value) {
    return scope_name_is_valid(value->text) ||
           reader_error_hint(reader, value,
               STR("the name of a metric that the policy declares under metrics"),
               "\"%.*s\" is not a metric's name", STR_FMT(value->text));
}

static const Shape metric_name_shape = {.kind = SHAPE_STRING, .check = check_metric};
static const Shape bound_shape = {
    .kind = SHAPE_NUMBER, .min = -METRIC_BOUND_MAX, .max = METRIC_BOUND_MAX};

#define FIELD_METRIC                                                                               \
    {                                                                                              \
        REQUIRED("metric"), INTO(MetricRule, metric, metric_name_shape),                           \
            "name of one of the policy's metrics"                                                  \
    }

static const Field limit_fields[] = {
    FIELD_METRIC,
    {OPTIONAL("min"), INTO(MetricRule, low, bound_shape), "minimum"},
    {OPTIONAL("max"), INTO(MetricRule, high, bound_shape), "maximum"},
};
static const Shape limit_shape = {SHAPE_OF(limit_fields)};

/* Rounds to six decimals. */
#define ROUNDED(value) "string(math.round(" value " * 1000000.0) / 1000000.0)"

static void write_limit(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    MetricRule rule = {.low = NAN, .high = NAN};
    bool is_right = reader_fields(reader, value, kind->field.ptr, kind->shape, &rule);
    bool has_low = !isnan(rule.low), has_high = !isnan(rule.high);
    TextArg metric = TEXT_ESCAPED(rule.metric);
    char bounds[96];

    if (is_right && !has_low && !has_high)
        reader_error(reader, value, "metricLimit needs min or max");
    else if (is_right && rule.low > rule.high)
        reader_error(reader, value, "metricLimit: min is greater than max, no node could pass");
    if (has_low && has_high)
        (void)snprintf(bounds, sizeof(bounds), "must be from %.15g to %.15g", rule.low, rule.high);
    else if (has_low)
        (void)snprintf(bounds, sizeof(bounds), "must be at least %.15g", rule.low);
    else
        (void)snprintf(bounds, sizeof(bounds), "must be at most %.15g", rule.high);
    cel_text(&ret->expression,
        has_low && has_high ? "metrics.$1 >= $2 && metrics.$1 <= $3"
        : has_low           ? "metrics.$1 >= $2"
                            : "metrics.$1 <= $3",
        metric, TEXT_NUMBER(rule.low), TEXT_NUMBER(rule.high));
    cel_text(&ret->message,
        "has(metrics.$1) ? '$1 is ' + " ROUNDED(
            "metrics.$1") " + (metrics.$1 == "
                          "metrics.$1.measured ? '' : ' with recently placed pods, measured ' "
                          "+ " ROUNDED("metrics.$1.measured") ") + ', $2' : '$1 is unknown'",
        metric, TEXT_RAW(bounds));
}

const RuleKind kind_metric_limit = {
    STR("metricLimit"), "a metric of the node is within limits", &limit_shape, write_limit};

static const Field score_fields[] = {
    FIELD_METRIC,
    {REQUIRED("low"), INTO(MetricRule, low, bound_shape), "lower values get the same points"},
    {REQUIRED("high"), INTO(MetricRule, high, bound_shape), "higher values get the same points"},
    {REQUIRED("prefer"), INTO(MetricRule, prefer, kind_prefer_shape),
        "which nodes get more points"},
};
static const Shape score_shape = {SHAPE_OF(score_fields)};

#define POINTS(distance) "math.greatest(0.0, math.least(100.0, (" distance ") * 100.0 / ($3 - $2)))"

static void write_score(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    MetricRule rule = {.low = NAN, .high = NAN};

    reader_fields(reader, value, kind->field.ptr, kind->shape, &rule);
    if (rule.low >= rule.high)
        reader_error(reader, yaml_find(value, STR("high")), "high must be greater than low");
    cel_text(&ret->expression,
        rule.prefer == PREFER_LOW ? POINTS("$3 - metrics.$1") : POINTS("metrics.$1 - $2"),
        TEXT_ESCAPED(rule.metric), TEXT_NUMBER(rule.low), TEXT_NUMBER(rule.high));
}

const RuleKind kind_metric_score = {STR("metricScore"),
    "lower, or higher, values of a metric get more points", &score_shape, write_score};
