/* Built-in rules by the state of the node: nodeReady, nodeConditions, tolerations, noTaints,
 * nodeAge (a filter and a score), imageLocality. */

#include "base/nsec.h"
#include "policy/cel-text.h"

const RuleKind kind_node_ready = {
    .field = STR("nodeReady"),
    .summary = "the node is Ready and not cordoned",
    .shape = &shape_true,
    .expression = "node.ready && !node.spec.unschedulable",
    .message = "node.ready ? 'node is cordoned' : 'condition Ready is not True'",
};

/* A condition that the node lacks counts as Unknown, like one that was not reported for a while in
 * Kubernetes. */
static const Str statuses[] = {STR("True"), STR("False"), STR("Unknown")};
#define UNKNOWN 2u

#define CONDITION_TYPE_MAX 316u /* limit of Kubernetes: prefix/name */

typedef struct AllowedStatus {
    Str type;
    bool is_allowed[ELEMENTS_OF(statuses)];
} AllowedStatus;

/* Accepts booleans, too: YAML reads an unquoted False as one. */
static void read_status(YamlReader *reader, const YamlNode *value, AllowedStatus *ret) {
    Str text;

    if (!reader_label_value(reader, value, "a condition's status", &text))
        return;
    for (size_t i = 0; i < ELEMENTS_OF(statuses); i++)
        if (str_eq_nocase(statuses[i], text)) {
            ret->is_allowed[i] = true;
            return;
        }
    reader_error_hint(reader, value, STR("one of True, False and Unknown"),
        "\"%.*s\" is not a condition's status", STR_FMT(text));
}

static void read_condition(YamlReader *reader, const YamlPair *pair, void *item) {
    AllowedStatus *ret = item;
    const YamlNode *value = pair->value;

    ret->type = pair->key->text;
    if (ret->type.len == 0 || ret->type.len > CONDITION_TYPE_MAX) {
        reader_error(reader, pair->key, "a condition's type has 1 to %u bytes", CONDITION_TYPE_MAX);
        return;
    }
    if (value->kind != YAML_SEQUENCE) {
        read_status(reader, value, ret);
        return;
    }
    if (value->n == 0)
        reader_error(reader, value, "a condition's statuses must not be empty");
    for (size_t i = 0; i < value->n; i++)
        read_status(reader, value->items[i], ret);
}

static size_t select_statuses(const AllowedStatus *condition, bool is_allowed, Str *ret) {
    size_t n = 0;

    for (size_t i = 0; i < ELEMENTS_OF(statuses); i++)
        if (condition->is_allowed[i] == is_allowed)
            ret[n++] = statuses[i];
    return n;
}

/* The condition exists with an allowed status; or if Unknown is allowed, not with another
 * status. */
static void write_condition(Buf *out, const void *item) {
    const AllowedStatus *condition = item;
    bool may_lack = condition->is_allowed[UNKNOWN];
    Str items[ELEMENTS_OF(statuses)];
    StrList list = {items, select_statuses(condition, !may_lack, items)};

    if (list.n == 0)
        buf_append(out, STR("true"));
    else
        cel_text(out, "$1node.status.conditions.exists(c, c.type == $2 && c.status $3 $4)",
            TEXT_RAW(may_lack ? "!" : ""), TEXT_QUOTED(condition->type),
            TEXT_RAW(list.n == 1 ? "==" : "in"),
            list.n == 1 ? TEXT_QUOTED(items[0]) : TEXT_STRINGS(&list));
}

static void write_condition_message(Buf *out, const void *item) {
    const AllowedStatus *condition = item;
    Str items[ELEMENTS_OF(statuses)];
    size_t n = select_statuses(condition, /* is_allowed= */ true, items);

    cel_text(out,
        "'condition $1 is ' + node.status.conditions.filter(c, c.type == $2).map(c, "
        "c.status).first().orValue('absent') + ', must be ",
        TEXT_ESCAPED(condition->type), TEXT_QUOTED(condition->type));
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%.*s", i > 0 ? " or " : "", STR_FMT(items[i]));
    buf_append_char(out, '\'');
}

static const Shape statuses_shape = {
    .kind = SHAPE_EITHER, .of = &shape_scalar, .other = &shape_scalars};
static const Shape conditions_shape = {.kind = SHAPE_MAP, .of = &statuses_shape, .min = 1};

static const TextPart conditions_part = {
    sizeof(AllowedStatus), write_condition, write_condition_message, read_condition};

const RuleKind kind_node_conditions = {STR("nodeConditions"),
    "the node's conditions have these statuses: one, or several of which one is enough",
    &conditions_shape, .part = &conditions_part};

#define TAINT "'taint ' + t.key + (t.value == '' ? '' : '=' + t.value) + "

/* kube-scheduler checks it, too; this adds a reason, and works without its TaintToleration
 * plugin. */
const RuleKind kind_tolerations = {
    .field = STR("tolerations"),
    .summary = "the pod tolerates the node's NoSchedule and NoExecute taints",
    .shape = &shape_true,
    .expression = "node.spec.taints.all(t, pod.tolerates(t.text))",
    .message = "node.spec.taints.filter(t, !pod.tolerates(t.text)).map(t, " TAINT
               "' is not tolerated').join('; ')",
};

static void write_no_taints(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    StrList keys = {0};

    if (!reader_value(reader, value, kind->field.ptr, kind->shape, &keys))
        return;
    cel_text(&ret->expression, "!node.spec.taints.exists(t, t.key in $1)", TEXT_STRINGS(&keys));
    cel_text(&ret->message,
        "node.spec.taints.filter(t, t.key in $1).map(t, " TAINT "' is not allowed').join('; ')",
        TEXT_STRINGS(&keys));
}

const RuleKind kind_no_taints = {STR("noTaints"),
    "the node has none of these taints, whatever their effect and what the pod "
    "tolerates",
    &shape_label_keys, write_no_taints};

#define CREATED "node.metadata.creationTimestamp"

typedef struct AgeRange {
    int64_t min, max; /* -1: not given */
} AgeRange;

static const Field range_fields[] = {
    {OPTIONAL("min"), INTO(AgeRange, min, shape_duration), "minimum age"},
    {OPTIONAL("max"), INTO(AgeRange, max, shape_duration), "maximum age"},
};
static const Shape range_shape = {SHAPE_OF(range_fields), .min = 1};

/* A node without a creation time passes. Only one side of each comparison reads the node; the other
 * is computed once. */
static void write_age_range(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    AgeRange range = {.min = -1, .max = -1};
    bool has_min, has_max;

    reader_fields(reader, value, kind->field.ptr, kind->shape, &range);
    has_min = range.min >= 0;
    has_max = range.max >= 0;
    if (value->kind == YAML_MAPPING && value->n == 0)
        reader_error(reader, value, "nodeAge needs min or max");
    if (has_min && has_max && range.min > range.max)
        reader_error(reader, value, "nodeAge: min is greater than max, no node could pass");
    buf_append(&ret->expression, STR("!has(" CREATED ") || "));
    buf_append(
        &ret->message, STR("'node is ' + string(int(now) - int(" CREATED ")) + 's old, must be "));
    if (has_min) {
        cel_text(&ret->expression, CREATED " <= now - duration('$1')$2", TEXT_DURATION(range.min),
            TEXT_RAW(has_max ? " && " : ""));
        cel_text(&ret->message, "at least $1$2", TEXT_DURATION(range.min),
            TEXT_RAW(has_max ? " and " : ""));
    }
    if (has_max) {
        cel_text(&ret->expression, CREATED " >= now - duration('$1')", TEXT_DURATION(range.max));
        cel_text(&ret->message, "at most $1", TEXT_DURATION(range.max));
    }
    buf_append_char(&ret->message, '\'');
}

const RuleKind kind_node_age_range = {STR("nodeAge"),
    "the node's age is within limits; a node without a creation time passes", &range_shape,
    write_age_range};

typedef struct AgePreference {
    enum { PREFER_OLD, PREFER_YOUNG } prefer;
    int64_t full;
} AgePreference;

static void read_full(YamlReader *reader, const YamlNode *value, void *into) {
    AgePreference *preference = into;

    if (reader_duration(reader, value, "full", &preference->full) && preference->full == 0)
        reader_error(reader, value, "full must be greater than 0");
}

static const Shape age_word_shape = {SHAPE_WORDS("old", "young")};

static const Field preference_fields[] = {
    {REQUIRED("prefer"), INTO(AgePreference, prefer, age_word_shape),
        "which nodes get more points"},
    {REQUIRED("full"), .shape = &shape_duration,
        .about = "the age with the most, or the fewest, points; older nodes get the same",
        .read = read_full},
};
static const Shape preference_shape = {SHAPE_OF(preference_fields)};

/* A node created in the future is new. Seconds are doubles, so that those of the node can be
 * precomputed. */
static void write_age_preference(
    YamlReader *reader, const RuleKind *kind, const YamlNode *value, RuleText *ret) {
    AgePreference preference = {0};

    reader_fields(reader, value, kind->field.ptr, kind->shape, &preference);
    cel_text(&ret->expression,
        "has(" CREATED ") ? $1math.greatest(0.0, math.least(100.0, (double(int(now)) - "
        "double(int(" CREATED "))) * (100.0 / $2))) : 0.0",
        TEXT_RAW(preference.prefer == PREFER_YOUNG ? "100.0 - " : ""),
        TEXT_NUMBER((double)preference.full / NSEC_PER_SEC));
}

const RuleKind kind_node_age = {STR("nodeAge"),
    "older, or younger, nodes get more points, evenly up to the age `full`", &preference_shape,
    write_age_preference};

/*
 * Names are compared as the node lists them. An image without a tag is :latest, and one without a
 * registry is also looked up as docker.io/NAME and docker.io/library/NAME, as most container
 * runtimes list it. No image is called docker.io/docker.io/…, so every name gets the prefixes. The
 * pod's names are computed once, the node's in advance.
 */
const RuleKind kind_image_locality = {
    .field = STR("imageLocality"),
    .summary = "nodes that have more of the pod's images get more points; sizes do not count",
    .shape = &shape_true,
    .expression =
        "cel.bind(i, pod.spec.containers.map(c, "
        "c.image.matches('[:@][^/]*$') ? c.image : c.image + ':latest').distinct(), "
        "cel.bind(names, i + i.map(n, 'docker.io/' + n) + i.map(n, 'docker.io/library/' + n), "
        "math.least(100.0, "
        "double(node.status.images.map(m, m.names).flatten().filter(n, n in names).size()) * "
        "(i.size() > 0 ? 100.0 / double(i.size()) : 0.0))))",
};
