/* Reads one document of a policy file. */

#include "policy/policy.h"

#include "base/map.h"
#include "policy/cel-text.h"

#define NARROW_MAX 100000

/* kube-scheduler's events have 1,024 bytes for the reasons of all nodes. */
#define REASON_MAX 200u
#define RULES_MAX 1000 /* also the limit of all policies (PROGRAM_FILTERS_MAX) */

/* A policy while it is read; all mappings of the document are stored here. */
typedef struct PolicyReading {
    Policy policy;
    unsigned mode;
    int64_t narrow_to, wire_max;
    unsigned api_version, kind; /* only checked */
    const Schema *schema;
    ScopeCommon *common;
} PolicyReading;

static const Shape labels_shape = {.kind = SHAPE_MAP, .of = &shape_scalar};

/* --- match --------------------------------------------------------------------- */

static void read_match_expression(YamlReader *reader, const YamlNode *value, void *into) {
    Policy *policy = &((PolicyReading *)into)->policy;
    Expression *expression = &policy->match.expression;

    if (expression_read(
            reader, policy->scope, value, "match.expression", EXPRESSION_BOOL, expression) &&
        (expression->groups & SCHEMA_BIT(SCHEMA_NODE)))
        reader_error_hint(reader, value,
            STR("a policy selects pods; conditions on nodes belong in a filter"),
            "match.expression cannot read %s",
            expression->metrics == 0 ? "node" : "metrics, which belong to a node");
}

/* Writes it as an expression, so that errors, watches and explanations work as for those. */
static void read_namespace_selector(YamlReader *reader, const YamlNode *value, void *into) {
    Policy *policy = &((PolicyReading *)into)->policy;
    _cleanup_(buf_done) Buf text = BUF_INIT(KIND_TEXT_MAX);
    Selector *selector = &policy->match.namespace_selector;

    if (!reader_value(reader, value, "namespaceSelector", &shape_selector, selector) ||
        selector->n == 0)
        return;
    cel_text_selector(&text, selector, "namespace.metadata.labels");
    if (buf_error(&text)) {
        reader_error(reader, value, "namespaceSelector is too large");
        return;
    }
    (void)expression_write(reader, policy->scope, value, buf_str(&text), EXPRESSION_BOOL,
        &policy->match.namespace_test);
}

static const Field match_fields[] = {
    {OPTIONAL("namespaces"), INTO(PolicyReading, policy.match.namespaces, shape_namespaces),
        "only pods of these namespaces"},
    {OPTIONAL("podSelector"), INTO(PolicyReading, policy.match.pod_selector, shape_selector),
        "only pods with these labels"},
    {OPTIONAL("namespaceSelector"), .shape = &shape_selector,
        .about = "only pods of namespaces with these labels; needs get, list and watch on "
                 "namespaces",
        .read = read_namespace_selector},
    {OPTIONAL("expression"), .shape = &shape_expression, .about = "only pods for which it is true",
        .read = read_match_expression},
};
static const Shape match_shape = {SHAPE_OF(match_fields)};

/* --- filters and scores ----------------------------------------------------------------------- */

/* A filter or score while it is read. Besides common fields it has exactly one other: `expression`,
 * or the name of a built-in rule, which writes one. */
typedef struct Rule {
    Filter filter;
    Score score;
    const YamlNode *message_text;
    unsigned publish;      /* only checked; publish_read() reads it */
    const YamlNode *rules; /* the list with this rule */
    const RuleKind *kind;  /* NULL: an expression */
    Expression expression, message, missing;
} Rule;

static bool check_reason(YamlReader *reader, const YamlNode *value) {
    Str reason = value->text;

    return (!str_is_empty(reason) && reason.len <= REASON_MAX && !str_has_control(reason)) ||
           reader_error_hint(reader, value,
               STR("kube-scheduler groups nodes by this text and shows it in events"),
               "reason must be one line of 1 to %u bytes", REASON_MAX);
}

static const char *const fallback_words[] = {"reject", "allow", NULL};
static const Shape fallback_shape = {.kind = SHAPE_WORD,
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
static const Shape normalize_shape = {SHAPE_WORDS("none", "minMax", "rank"),
    .hint = "minMax and rank compare the candidates of a request"};

static const Field filter_fields[] = {
    {REQUIRED("name"), INTO(Rule, filter.name, shape_name),
        "name in metrics and explanations; used once in the policy"},
    {OPTIONAL("reason"), INTO(Rule, filter.reason, reason_shape),
        "text that kube-scheduler shows for rejected nodes (kubectl describe pod); the "
        "same for all, "
        "without numbers"},
    {OPTIONAL("messageExpression"), INTO(Rule, message_text, shape_expression),
        "CEL, a string: shown by berth explain for a rejected node, as a value and its limit"},
    {OPTIONAL("unresolvable"), INTO(Rule, filter.is_unresolvable, shape_bool),
        "preemption cannot help: kube-scheduler evicts no pods to make a rejected node "
        "pass"},
    {OPTIONAL("onError"), INTO(Rule, filter.on_error, fallback_shape),
        "verdict when the expression fails on a node; default reject"},
    {OPTIONAL("onMissing"), INTO(Rule, filter.on_missing, missing_shape),
        "verdict when a metric that the rule reads is absent; default: as onError"},
    {OPTIONAL("publish"), INTO(Rule, publish, publish_shape),
        "shows it to kube-scheduler and autoscalers; slots: nodes offer the limit of maxPods "
        "as an extended resource; label: nodes that it rejects have a label"},
};

static const Field score_fields[] = {
    {REQUIRED("name"), INTO(Rule, score.name, shape_name),
        "name in metrics and explanations; used once in the policy"},
    {OPTIONAL("weight"), INTO(Rule, score.weight, weight_shape),
        "weight among all scores that apply; default 1"},
    {OPTIONAL("onError"), INTO(Rule, score.on_error, shape_points),
        "score when the expression fails on a node; default 0"},
    {OPTIONAL("onMissing"), INTO(Rule, score.on_missing, shape_points),
        "score when a metric that the rule reads is absent; default: as onError"},
    {OPTIONAL("normalize"), INTO(Rule, score.normalize, normalize_shape),
        "how values become 0 to 100 over the candidates"},
};

static const Shape filter_shape = {SHAPE_OF(filter_fields), .kinds = filter_kinds,
    .n_kinds = &n_filter_kinds, .choice = "kind", .or_field = "expression",
    .or_about = "CEL: true for nodes that pass"};
static const Shape score_shape = {SHAPE_OF(score_fields), .kinds = score_kinds,
    .n_kinds = &n_score_kinds, .choice = "kind", .or_field = "expression",
    .or_about = "CEL: a number from 0 to 100; more is better"};
static const Shape filters_shape = {.kind = SHAPE_LIST, .of = &filter_shape, .max = RULES_MAX};
static const Shape scores_shape = {.kind = SHAPE_LIST, .of = &score_shape, .max = RULES_MAX};

/* Writes and compiles the expressions of a built-in rule. */
static bool read_built_in(
    YamlReader *reader, Scope *scope, const YamlPair *pair, ExpressionType type, Rule *rule) {
    _cleanup_(rule_text_done) RuleText text = RULE_TEXT_INIT;
    size_t n_errors = reader->diags->n_errors;

    text.rules = rule->rules;
    kind_write(reader, rule->kind, pair->value, &text);
    if (reader->diags->n_errors > n_errors)
        return false;
    if (buf_error(&text.expression) || (!rule->message_text && buf_error(&text.message)))
        return reader_error(reader, pair->value, "the rule is too large: write it as several");
    return expression_write(
               reader, scope, pair->value, buf_str(&text.expression), type, &rule->expression) &&
           (rule->message_text || text.message.len == 0 ||
               expression_write(reader, scope, pair->value, buf_str(&text.message),
                   EXPRESSION_STRING, &rule->message));
}

/* Appends !has(metrics.a) || !has(metrics.b), for metrics with a bit in @named. */
static void write_absent(Buf *out, const char *record, const CelField *fields, uint64_t named) {
    for (size_t i = 0; i < SCHEMA_METRICS_MAX; i++)
        if (named >> i & 1)
            buf_printf(out, "%s!has(%s.%.*s)", out->len > 0 ? " || " : "", record,
                STR_FMT(fields[i].name));
}

/* Writes the condition that a metric of the rule is absent: then onMissing decides, not onError. It
 * must be known as early as the rule itself, so it ignores metrics that are never read (params.x ?
 * … : …). */
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
    size_t number;

    reader_fields(reader, value, what, shape, ret);
    if (value->kind != YAML_MAPPING)
        return false;
    pair = reader_choice(reader, value, what, shape, &number);
    if (!pair)
        return false;
    ret->kind = number > 0 ? shape->kinds[number - 1] : NULL;
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

static void read_filters(YamlReader *reader, const YamlNode *rules, void *into) {
    Policy *policy = &((PolicyReading *)into)->policy;

    policy->filters = ARENA_ARRAY(reader->arena, Filter, rules->n);
    for (size_t i = 0; policy->filters && i < rules->n; i++) {
        const YamlNode *value = rules->items[i];
        Rule rule = {.filter = {.missing_root = UINT32_MAX, .part = UINT32_MAX}, .rules = rules};
        Filter *filter = &policy->filters[policy->n_filters];

        if (!read_rule(reader, policy->scope, value, "a filter", &filter_shape, &rule))
            continue;
        *filter = rule.filter;
        filter->kind = rule.kind;
        filter->test = rule.expression;
        filter->missing = rule.missing;
        filter->message = rule.message;
        if (!yaml_find(value, STR("onMissing")))
            filter->on_missing = filter->on_error;
        if (str_is_empty(filter->reason))
            filter->reason = arena_printf(
                reader->arena, "rejected by placement rule %.*s", STR_FMT(filter->name));
        publish_read(reader, value, policy, filter);
        policy->n_filters++;
    }
}

static void read_scores(YamlReader *reader, const YamlNode *rules, void *into) {
    Policy *policy = &((PolicyReading *)into)->policy;

    policy->scores = ARENA_ARRAY(reader->arena, Score, rules->n);
    for (size_t i = 0; policy->scores && i < rules->n; i++) {
        const YamlNode *value = rules->items[i];
        Rule rule = {.score = {.weight = 1, .missing_root = UINT32_MAX}};
        Score *score = &policy->scores[policy->n_scores];

        if (!read_rule(reader, policy->scope, value, "a score", &score_shape, &rule))
            continue;
        *score = rule.score;
        score->kind = rule.kind;
        score->value = rule.expression;
        score->missing = rule.missing;
        if (!yaml_find(value, STR("onMissing")))
            score->on_missing = score->on_error;
        policy->n_scores++;
    }
}

/* --- bind ------------------------------------------------------------------------ */

/* An annotation with an expression, while it is read. */
typedef struct AnnotationFields {
    const YamlNode *expression;
    BindOnError on_error;
} AnnotationFields;

static const Shape on_error_shape = {SHAPE_WORDS("skip", "fail"),
    .hint = "skip (the default): bind without the annotation; or fail: do not bind"};

static const Field annotation_fields[] = {
    {REQUIRED("expression"), INTO(AnnotationFields, expression, shape_expression),
        "string: the value; may read pod, node and decision"},
    {OPTIONAL("onError"), INTO(AnnotationFields, on_error, on_error_shape),
        "when the expression fails: bind without the annotation, or do not bind; default "
        "skip"},
};
static const Shape annotation_mapping = {SHAPE_OF(annotation_fields)};
static const Shape annotation_shape = {
    .kind = SHAPE_EITHER, .of = &shape_scalar, .other = &annotation_mapping};
static const Shape annotations_shape = {
    .kind = SHAPE_MAP, .of = &annotation_shape, .max = BIND_ANNOTATIONS_MAX};

/* False after an error, which has been reported. */
static bool read_annotation(
    YamlReader *reader, const YamlNode *value, Scope *scope, BindAnnotation *ret) {
    AnnotationFields fields = {0};

    if (value->kind != YAML_MAPPING)
        return reader_label_value(reader, value, "an annotation's value", &ret->value);
    reader_fields(reader, value, "an annotation", &annotation_mapping, &fields);
    ret->on_error = fields.on_error;
    return fields.expression && expression_read(reader, scope, fields.expression, "expression",
                                    EXPRESSION_BIND, &ret->expression);
}

static void read_annotations(YamlReader *reader, const YamlNode *value, void *into) {
    Policy *policy = &((PolicyReading *)into)->policy;

    policy->bind_annotations = ARENA_ARRAY(reader->arena, BindAnnotation, value->n);
    for (size_t i = 0; policy->bind_annotations && i < value->n; i++) {
        BindAnnotation *annotation = &policy->bind_annotations[policy->n_bind_annotations];

        *annotation = (BindAnnotation){.key = value->pairs[i].key->text};
        if (reader_annotation_key(reader, value->pairs[i].key) &&
            read_annotation(reader, value->pairs[i].value, policy->scope, annotation))
            policy->n_bind_annotations++;
    }
}

static const Field bind_fields[] = {
    {REQUIRED("annotations"), .shape = &annotations_shape,
        .about = "annotations set on the pod together with its node", .read = read_annotations},
};
static const Shape bind_shape = {SHAPE_OF(bind_fields)};

/* --- the document ---------------------------------------------------------- */

static const Shape narrow_to_shape = {.kind = SHAPE_INT, .min = 1, .max = NARROW_MAX};
static const Field narrow_fields[] = {
    {REQUIRED("to"), INTO(PolicyReading, narrow_to, narrow_to_shape),
        "number of nodes that filter returns: the best by the scores", .what = "narrow.to"},
};
static const Shape narrow_shape = {SHAPE_OF(narrow_fields)};

static const Shape wire_max_shape = {
    .kind = SHAPE_INT, .min = WIRE_MAX_DEFAULT, .max = WIRE_MAX_LIMIT};
static const Field wire_fields[] = {
    {REQUIRED("maxScore"), INTO(PolicyReading, wire_max, wire_max_shape),
        "score sent to kube-scheduler for the best node; over 10 it outweighs "
        "kube-scheduler's own scores",
        .what = "wire.maxScore"},
};
static const Shape wire_shape = {SHAPE_OF(wire_fields)};

enum { MODE_ENFORCE, MODE_OBSERVE };
static const Shape mode_shape = {SHAPE_WORDS("Enforce", "Observe"),
    .hint = "Enforce (the default), or Observe: count verdicts, do not act on them"};

static const Field spec_fields[] = {
    {OPTIONAL("mode"), INTO(PolicyReading, mode, mode_shape),
        "Observe: evaluated and counted, but without effect"},
    {OPTIONAL("match"), .shape = &match_shape, .about = "pods that the policy applies to"},
    {OPTIONAL("params"), .shape = &scope_params_shape,
        .about =
            "constants: params.NAME in expressions"}, /* read before all others, by scope_new() */
    {OPTIONAL("metrics"), .shape = &scope_metrics_shape,
        .about = "measured values: metrics.NAME in expressions"},
    {OPTIONAL("variables"), .shape = &scope_variables_shape,
        .about = "named expressions: variables.NAME in later expressions"},
    {OPTIONAL("filters"), .shape = &filters_shape,
        .about = "which nodes a pod may be placed on: those that pass all filters; each has a name "
                 "and one rule: a built-in one, or an expression",
        .read = read_filters},
    {OPTIONAL("scores"), .shape = &scores_shape,
        .about = "which of these nodes are preferred: each score gives 0 to 100 and counts by its "
                 "weight",
        .read = read_scores},
    {OPTIONAL("narrow"), .shape = &narrow_shape,
        .about = "limits the number of nodes that filter returns"},
    {OPTIONAL("onTimeout"), INTO(PolicyReading, policy.on_timeout, fallback_shape),
        "verdict for nodes that were not evaluated before the deadline"},
    {OPTIONAL("wire"), .shape = &wire_shape, .about = "how scores are sent to kube-scheduler"},
    {OPTIONAL("bind"), .shape = &bind_shape,
        .about = "what berth does in addition when it binds a pod"},
};
const Shape policy_spec_shape = {SHAPE_OF(spec_fields)};

static void read_spec(YamlReader *reader, const YamlNode *value, void *into) {
    PolicyReading *reading = into;
    Policy *policy = &reading->policy;
    size_t n_errors = reader->diags->n_errors;

    policy->scope =
        scope_new(reader, reading->schema, reading->common, yaml_find(value, STR("params")),
            yaml_find(value, STR("metrics")), yaml_find(value, STR("variables")));
    if (!policy->scope)
        return; /* out of memory; the caller checks arena_has_failed() */
    reader_fields(reader, value, "spec", &policy_spec_shape, reading);
    policy->is_observed = reading->mode == MODE_OBSERVE;
    policy->narrow_to = (uint32_t)reading->narrow_to;
    policy->wire_max = (uint32_t)reading->wire_max;
    if (reader->diags->n_errors > n_errors)
        return;
    if (policy->n_filters + policy->n_scores + policy->n_bind_annotations == 0)
        reader_warning(
            reader, value, STR("add filters or scores"), "the policy has no rules and no effect");
    if (policy->narrow_to > 0 && policy->n_scores == 0)
        reader_warning(reader, yaml_find(value, STR("narrow")),
            STR("add scores: the best nodes are chosen by them"),
            "narrow without scores: filter returns the first nodes of a request");
}

/* A namespace is accepted and ignored: policies apply to the whole cluster. */
static void ignore(YamlReader *reader, const YamlNode *value, void *into) {
}

static const Field metadata_fields[] = {
    {REQUIRED("name"), INTO(PolicyReading, policy.name, shape_name),
        "name in metrics, explanations and messages"},
    {OPTIONAL("labels"), .shape = &labels_shape},
    {OPTIONAL("annotations"), .shape = &labels_shape},
    {OPTIONAL("namespace"), .shape = &shape_string, .read = ignore},
};
static const Shape metadata_shape = {SHAPE_OF(metadata_fields)};

static const Shape api_version_shape = {SHAPE_WORDS(POLICY_API_VERSION)};
static const Shape document_kind_shape = {SHAPE_WORDS(POLICY_KIND)};

static const Field document_fields[] = {
    {REQUIRED("apiVersion"), INTO(PolicyReading, api_version, api_version_shape)},
    {REQUIRED("kind"), INTO(PolicyReading, kind, document_kind_shape)},
    {REQUIRED("metadata"), .shape = &metadata_shape},
    {REQUIRED("spec"), .shape = &policy_spec_shape, .read = read_spec},
};
const Shape policy_shape = {SHAPE_OF(document_fields)};

/* Reports rules with the same name. @names has the line of each name. */
static void check_names(YamlReader *reader, const YamlNode *rules, Map *names) {
    for (size_t i = 0; rules && rules->kind == YAML_SEQUENCE && i < rules->n; i++) {
        const YamlNode *name = yaml_find(rules->items[i], STR("name"));
        uint32_t line = name ? map_find(names, name->text) : MAP_NONE;

        if (!name || !rule_name_is_valid(name->text))
            continue;
        if (line == MAP_NONE)
            (void)!map_add(names, name->text, (uint32_t)name->place.line);
        else
            reader_error_hint(reader, name,
                arena_printf(reader->arena, "the other is at line %u", line),
                "the policy has a rule named \"%.*s\" already", STR_FMT(name->text));
    }
}

void policy_read(YamlReader *reader, const Schema *schema, ScopeCommon *common,
    const YamlNode *document, Policy *ret) {
    PolicyReading reading = {.policy = {.place = document->place},
        .wire_max = WIRE_MAX_DEFAULT,
        .schema = schema,
        .common = common};
    const YamlNode *name = yaml_find(yaml_find(document, STR("metadata")), STR("name"));
    const YamlNode *spec = yaml_find(document, STR("spec"));
    Map names = MAP_INIT_IN(reader->arena); /* names of rules */

    if (rule_name_is_valid(yaml_text(name))) /* set first, because rules need it */
        reading.policy.name = name->text;
    reading.policy.match.namespace_root = reading.policy.match.root = UINT32_MAX;
    reader_fields(reader, document, "a policy", &policy_shape, &reading);
    check_names(reader, yaml_find(spec, STR("filters")), &names);
    check_names(reader, yaml_find(spec, STR("scores")), &names);
    *ret = reading.policy;
    if (name)
        ret->place = name->place;
}

bool policy_selects(const Policy *policy, const Pod *pod) {
    const Match *match = &policy->match;

    return (match->namespaces.n == 0 ||
               str_is_one_of(pod->namespace, match->namespaces.items, match->namespaces.n)) &&
           selector_matches(&match->pod_selector, &pod->labels);
}
