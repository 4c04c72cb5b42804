/*
 * Filters and scores. A rule is a mapping of common fields and exactly one more: `expression`,
 * or the name of a built-in rule, which writes one.
 */

#include "policy/rules.h"

#include <stdio.h>

#include "base/map.h"

/* Goes into kube-scheduler's events, which are cut at 1,024 bytes for all nodes
 * together. */
#define REASON_MAX 200u
#define RULES_MAX 1000 /* PROGRAM_FILTERS_MAX, of all policies together */

/* --- common fields ----------------------------------------------------------- */

/* A rule as it is read: a filter or a score. */
typedef struct Rule {
    Filter filter;
    Score score;
    const YamlNode *message_text;
    unsigned publish;      /* read to be checked; publish_read() uses it */
    const YamlNode *rules; /* the list that it is in */
    const RuleKind *kind;  /* NULL: an expression */
    Expression expression, message, missing;
} Rule;

static bool is_one_line(Str text) {
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
            return false;
    return true;
}

static bool check_reason(YamlReader *reader, const YamlNode *value) {
    Str reason = value->text;

    return (!str_is_empty(reason) && reason.len <= REASON_MAX && is_one_line(reason)) ||
           reader_error_hint(reader, value,
               STR("kube-scheduler groups nodes by this text and shows it in events"),
               "reason must be one line of 1 to %u bytes", REASON_MAX);
}

static const char *const fallback_words[] = {"reject", "allow", NULL};
const Shape fallback_shape = {.kind = SHAPE_WORD,
    .words = fallback_words,
    .hint = "reject (the default), or allow: as if the node had passed"};
static const Shape missing_shape = {.kind = SHAPE_WORD,
    .words = fallback_words,
    .hint = "reject, or allow: as if the node had passed; default: as onError"};
static const Shape reason_shape = {
    .kind = SHAPE_STRING, .pattern = "^[^\\x00-\\x1f\\x7f]{1,200}$", .check = check_reason};
static const Shape weight_shape = {.kind = SHAPE_NUMBER,
    .min = 0,
    .max = 1000000,
    .is_above = true,
    .hint = "leave the rule out instead"};
static const char *const normalize_words[] = {"none", "minMax", "rank", NULL};
static const Shape normalize_shape = {.kind = SHAPE_WORD,
    .words = normalize_words,
    .hint = "minMax and rank compare the candidates of a request"};

static const Field filter_fields[] = {
    {REQUIRED("name"), INTO(Rule, filter.name, shape_name),
        .about = "name in metrics and explanations; used once in the policy"},
    {OPTIONAL("reason"), INTO(Rule, filter.reason, reason_shape),
        .about = "text that kube-scheduler shows for rejected nodes (kubectl describe pod); the "
                 "same for all, "
                 "without numbers"},
    {OPTIONAL("messageExpression"), INTO(Rule, message_text, shape_expression),
        .about =
            "CEL, a string: shown by berth explain for a rejected node, as a value and its limit"},
    {OPTIONAL("unresolvable"), INTO(Rule, filter.is_unresolvable, shape_bool),
        .about = "preemption cannot help: kube-scheduler evicts no pods to make a rejected node "
                 "pass"},
    {OPTIONAL("onError"), INTO(Rule, filter.on_error, fallback_shape),
        .about = "verdict when the expression fails on a node; default reject"},
    {OPTIONAL("onMissing"), INTO(Rule, filter.on_missing, missing_shape),
        .about = "verdict when a metric that the rule reads is absent; default: as onError"},
    {OPTIONAL("publish"), INTO(Rule, publish, publish_shape),
        .about =
            "shows it to kube-scheduler and autoscalers; slots: nodes offer the limit of maxPods "
            "as an extended resource; label: nodes that it rejects have a label"},
};

static const Field score_fields[] = {
    {REQUIRED("name"), INTO(Rule, score.name, shape_name),
        .about = "name in metrics and explanations; used once in the policy"},
    {OPTIONAL("weight"), INTO(Rule, score.weight, weight_shape),
        .about = "weight among all scores that apply; default 1"},
    {OPTIONAL("onError"), INTO(Rule, score.on_error, shape_points),
        .about = "score when the expression fails on a node; default 0"},
    {OPTIONAL("onMissing"), INTO(Rule, score.on_missing, shape_points),
        .about = "score when a metric that the rule reads is absent; default: as onError"},
    {OPTIONAL("normalize"), INTO(Rule, score.normalize, normalize_shape),
        .about = "how values become 0 to 100 over the candidates"},
};

static const Shape filter_shape = {SHAPE_OF(filter_fields), .kinds = filter_kinds,
    .n_kinds = &n_filter_kinds, .or_field = "expression",
    .or_about = "CEL: true for nodes that pass"};
static const Shape score_shape = {SHAPE_OF(score_fields), .kinds = score_kinds,
    .n_kinds = &n_score_kinds, .or_field = "expression",
    .or_about = "CEL: a number from 0 to 100; more is better"};
const Shape filters_shape = {.kind = SHAPE_LIST, .of = &filter_shape, .max = RULES_MAX};
const Shape scores_shape = {.kind = SHAPE_LIST, .of = &score_shape, .max = RULES_MAX};

/* --- one rule ------------------------------------------------------------------ */

/* Whether @name is a kind of the rule, or `expression`: then *ret_kind is NULL. */
static bool find_kind(const Shape *shape, Str name, const RuleKind **ret_kind) {
    *ret_kind = NULL;
    for (size_t i = 0; i < *shape->n_kinds; i++)
        if (str_eq(shape->kinds[i]->field, name)) {
            *ret_kind = shape->kinds[i];
            return true;
        }
    return str_is(name, shape->or_field);
}

/* The field that names the rule's kind. NULL when there is none. */
static const YamlPair *find_choice(YamlReader *reader, const YamlNode *rule, const char *what,
    const Shape *shape, const RuleKind **ret_kind) {
    const YamlPair *first = NULL;
    const RuleKind *kind;

    for (size_t i = 0; i < rule->n; i++) {
        if (!find_kind(shape, rule->pairs[i].key->text, &kind))
            continue;
        if (first) {
            reader_error_hint(reader, rule->pairs[i].key, STR("write two rules"),
                "%s has one kind, and \"%.*s\" is given already", what, STR_FMT(first->key->text));
        } else {
            first = &rule->pairs[i];
            *ret_kind = kind;
        }
    }
    return first;
}

static void report_no_kind(
    YamlReader *reader, const YamlNode *rule, const char *what, const Shape *shape) {
    char hint[1024] = "one of";
    size_t used = strlen(hint);

    for (size_t i = 0; i < *shape->n_kinds && used < sizeof(hint); i++)
        used += (size_t)snprintf(
            hint + used, sizeof(hint) - used, " %.*s,", STR_FMT(shape->kinds[i]->field));
    if (used < sizeof(hint))
        (void)snprintf(hint + used, sizeof(hint) - used, " %s", shape->or_field);
    reader_error_hint(reader, rule, str_from_c(hint), "%s needs a kind", what);
}

/* The expressions of a built-in rule. */
static bool read_built_in(
    YamlReader *reader, Scope *scope, const YamlPair *pair, ExpressionType type, Rule *rule) {
    RuleText text = {.expression = BUF_INIT(KIND_TEXT_MAX),
        .message = BUF_INIT(KIND_TEXT_MAX),
        .rules = rule->rules};
    size_t n_errors = reader->diags->n_errors;
    bool is_right = false;

    kind_write(reader, rule->kind, pair->value, &text);
    if (reader->diags->n_errors > n_errors)
        is_right = false;
    else if (buf_error(&text.expression) || (!rule->message_text && buf_error(&text.message)))
        reader_error(reader, pair->value, "the rule is too large: write it as several");
    else
        is_right = expression_write(reader, scope, pair->value, buf_str(&text.expression), type,
                       &rule->expression) &&
                   (rule->message_text || buf_str(&text.message).len == 0 ||
                       expression_write(reader, scope, pair->value, buf_str(&text.message),
                           EXPRESSION_STRING, &rule->message));
    buf_done(&text.expression);
    buf_done(&text.message);
    return is_right;
}

/* !has(metrics.a) || !has(metrics.b), for those whose bits are in @named. */
static void write_absent(Buf *out, const char *record, const CelField *fields, uint64_t named) {
    for (size_t i = 0; i < SCHEMA_METRICS_MAX; i++)
        if (named >> i & 1)
            buf_printf(out, "%s!has(%s.%.*s)", out->len > 0 ? " || " : "", record,
                STR_FMT(fields[i].name));
}

/* Whether a metric that the rule reads is absent: then onMissing decides, not onError. It must be
 * known as early as the rule itself: metrics that are named but never read (params.x ? … : …) do
 * not count. */
static bool write_missing(YamlReader *reader, Scope *scope, const YamlNode *at, Rule *rule) {
    _cleanup_(buf_done) Buf text = BUF_INIT(KIND_TEXT_MAX);
    const Expression *expression = &rule->expression;
    uint8_t of_node = SCHEMA_BIT(SCHEMA_NODE);

    if (expression->groups & of_node)
        write_absent(&text, "metrics", scope->metrics.fields, expression->metrics);
    if (expression->groups & ~of_node)
        write_absent(&text, "workload.metrics", scope->metrics.workload_fields,
            expression->workload_metrics);
    if (text.len == 0 && !buf_error(&text))
        return true;
    if (buf_error(&text))
        return reader_error(reader, at, "the rule reads too many metrics: write it as several");
    return expression_write(reader, scope, at, buf_str(&text), EXPRESSION_BOOL, &rule->missing);
}

/* False after an error, which has been reported. */
static bool read_rule(YamlReader *reader, Scope *scope, const YamlNode *value, const char *what,
    const Shape *shape, Rule *ret) {
    ExpressionType type = shape == &filter_shape ? EXPRESSION_BOOL : EXPRESSION_NUMBER;
    const YamlPair *pair;
    bool is_right = true;

    reader_fields(reader, value, what, shape, ret);
    if (value->kind != YAML_MAPPING)
        return false;
    pair = find_choice(reader, value, what, shape, &ret->kind);
    if (!pair && !reader_has_unknown(value, shape))
        report_no_kind(reader, value, what, shape);
    if (!pair)
        return false;
    if (ret->message_text)
        is_right = expression_read(reader, scope, ret->message_text, "messageExpression",
            EXPRESSION_STRING, &ret->message);
    if (ret->kind)
        is_right &= read_built_in(reader, scope, pair, type, ret);
    else
        is_right &=
            expression_read(reader, scope, pair->value, "expression", type, &ret->expression);
    return is_right && write_missing(reader, scope, pair->value, ret);
}

/* --- the lists -------------------------------------------------------------------- */

static void read_filter(YamlReader *reader, const YamlNode *rules, size_t i, Policy *policy) {
    const YamlNode *value = rules->items[i];
    Rule rule = {.filter = {.missing_root = UINT32_MAX, .part = UINT32_MAX}, .rules = rules};
    Filter *filter = &policy->filters[policy->n_filters];

    if (!read_rule(reader, policy->scope, value, "a filter", &filter_shape, &rule))
        return;
    *filter = rule.filter;
    filter->kind = rule.kind;
    filter->test = rule.expression;
    filter->missing = rule.missing;
    filter->message = rule.message;
    if (!yaml_find(value, STR("onMissing")))
        filter->on_missing = filter->on_error;
    if (str_is_empty(filter->reason))
        filter->reason =
            arena_printf(reader->arena, "rejected by placement rule %.*s", STR_FMT(filter->name));
    publish_read(reader, value, filter);
    policy->n_filters++;
}

static void read_score(YamlReader *reader, const YamlNode *value, Policy *policy) {
    Rule rule = {.score = {.weight = 1, .missing_root = UINT32_MAX}};
    Score *score = &policy->scores[policy->n_scores];

    if (!read_rule(reader, policy->scope, value, "a score", &score_shape, &rule))
        return;
    *score = rule.score;
    score->kind = rule.kind;
    score->value = rule.expression;
    score->missing = rule.missing;
    if (!yaml_find(value, STR("onMissing")))
        score->on_missing = score->on_error;
    policy->n_scores++;
}

void filters_read(YamlReader *reader, const YamlNode *value, void *into) {
    Policy *policy = into;

    if (!reader_sequence(reader, value, "filters"))
        return;
    policy->filters = ARENA_ARRAY(reader->arena, Filter, value->n);
    for (size_t i = 0; policy->filters && i < value->n; i++)
        read_filter(reader, value, i, policy);
}

void scores_read(YamlReader *reader, const YamlNode *value, void *into) {
    Policy *policy = into;

    if (!reader_sequence(reader, value, "scores"))
        return;
    policy->scores = ARENA_ARRAY(reader->arena, Score, value->n);
    for (size_t i = 0; policy->scores && i < value->n; i++)
        read_score(reader, value->items[i], policy);
}

/* --- names ------------------------------------------------------------------- */

/* @names has the line of each. */
static int check_names(YamlReader *reader, const YamlNode *rules, Map *names) {
    for (size_t i = 0; rules && rules->kind == YAML_SEQUENCE && i < rules->n; i++) {
        const YamlNode *name = yaml_find(rules->items[i], STR("name"));
        uint32_t line;

        if (!name || !rule_name_is_valid(name->text))
            continue;
        line = map_find(names, name->text);
        if (line == MAP_NONE) {
            int r = map_add(names, name->text, (uint32_t)name->place.line);

            if (r < 0)
                return r;
            continue;
        }
        reader_error_hint(reader, name,
            arena_printf(reader->arena, "the other is at line %u", line),
            "the policy has a rule named \"%.*s\" already", STR_FMT(name->text));
    }
    return 0;
}

int rule_names_check(YamlReader *reader, const YamlNode *document) {
    const YamlNode *spec = yaml_find(document, STR("spec"));
    Map names = MAP_INIT_IN(reader->arena);
    int r = check_names(reader, yaml_find(spec, STR("filters")), &names);

    if (r == 0)
        r = check_names(reader, yaml_find(spec, STR("scores")), &names);
    return r;
}
