/* One document of a policy file: the mapping around the rules. */

#include "policy/policy.h"

#include "policy/cel-text.h"
#include "policy/rules.h"

#define NARROW_MAX 100000

/* A policy while it is read. All mappings of the document store here. */
typedef struct PolicyReading {
    Policy policy; /* first: rules.c knows no more */
    unsigned mode;
    int64_t narrow_to, wire_max;
    unsigned api_version, kind; /* read to be checked; not used */
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

/* Written as an expression, so that errors, watches and explanations work as for expressions. */
static void read_namespace_selector(YamlReader *reader, const YamlNode *value, void *into) {
    Policy *policy = &((PolicyReading *)into)->policy;
    _cleanup_(buf_done) Buf text = BUF_INIT(KIND_TEXT_MAX);
    size_t n_errors = reader->diags->n_errors;
    Selector *selector = &policy->match.namespace_selector;

    reader_value(reader, value, "namespaceSelector", &shape_selector, selector);
    if (reader->diags->n_errors > n_errors || selector->n == 0)
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
        .about = "only pods of these namespaces"},
    {OPTIONAL("podSelector"), INTO(PolicyReading, policy.match.pod_selector, shape_selector),
        .about = "only pods with these labels"},
    {OPTIONAL("namespaceSelector"), .shape = &shape_selector,
        .about = "only pods of namespaces with these labels; needs get, list and watch on "
                 "namespaces",
        .read = read_namespace_selector},
    {OPTIONAL("expression"), .shape = &shape_expression, .about = "only pods for which it is true",
        .read = read_match_expression},
};
static const Shape match_shape = {SHAPE_OF(match_fields)};

/* --- bind ------------------------------------------------------------------------ */

/* `key: value`, or `key: {expression: …}`. */
/* The mapping of an annotation with an expression, as it is read. */
typedef struct AnnotationFields {
    const YamlNode *expression;
    BindOnError on_error;
} AnnotationFields;

static const char *const on_error_words[] = {"skip", "fail", NULL};
static const Shape on_error_shape = {.kind = SHAPE_WORD,
    .words = on_error_words,
    .hint = "skip (the default): bind without the annotation; or fail: do not bind"};

static const Field annotation_fields[] = {
    {REQUIRED("expression"), INTO(AnnotationFields, expression, shape_expression),
        .about = "string: the value; may read pod, node and decision"},
    {OPTIONAL("onError"), INTO(AnnotationFields, on_error, on_error_shape),
        .about = "when the expression fails: bind without the annotation, or do not bind; default "
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

    if (!reader_mapping(reader, value, "annotations"))
        return;
    if (value->n > BIND_ANNOTATIONS_MAX) {
        reader_error(reader, value, "at most %u annotations", BIND_ANNOTATIONS_MAX);
        return;
    }
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
        .about = "number of nodes that filter returns: the best by the scores",
        .what = "narrow.to"},
};
static const Shape narrow_shape = {SHAPE_OF(narrow_fields)};

static const Shape wire_max_shape = {
    .kind = SHAPE_INT, .min = WIRE_MAX_DEFAULT, .max = WIRE_MAX_LIMIT};
static const Field wire_fields[] = {
    {REQUIRED("maxScore"), INTO(PolicyReading, wire_max, wire_max_shape),
        .about = "score sent to kube-scheduler for the best node; over 10 it outweighs "
                 "kube-scheduler's own scores",
        .what = "wire.maxScore"},
};
static const Shape wire_shape = {SHAPE_OF(wire_fields)};

enum { MODE_ENFORCE, MODE_OBSERVE };
static const char *const mode_words[] = {
    [MODE_ENFORCE] = "Enforce", [MODE_OBSERVE] = "Observe", NULL};
static const Shape mode_shape = {.kind = SHAPE_WORD,
    .words = mode_words,
    .hint = "Enforce (the default), or Observe: count verdicts, do not act on them"};

static const Field spec_fields[] = {
    {OPTIONAL("mode"), INTO(PolicyReading, mode, mode_shape),
        .about = "Observe: evaluated and counted, but without effect"},
    {OPTIONAL("match"), .shape = &match_shape, .about = "pods that the policy applies to"},
    {OPTIONAL("params"), .shape = &scope_params_shape,
        .about = "constants: params.NAME in expressions"}, /* before all others: scope_new() */
    {OPTIONAL("metrics"), .shape = &scope_metrics_shape,
        .about = "measured values: metrics.NAME in expressions"},
    {OPTIONAL("variables"), .shape = &scope_variables_shape,
        .about = "named expressions: variables.NAME in later expressions"},
    {OPTIONAL("filters"), .shape = &filters_shape,
        .about = "which nodes a pod may be placed on: those that pass all filters; each has a name "
                 "and one rule: a built-in one, or an expression",
        .read = filters_read},
    {OPTIONAL("scores"), .shape = &scores_shape,
        .about = "which of these nodes are preferred: each score gives 0 to 100 and counts by its "
                 "weight",
        .read = scores_read},
    {OPTIONAL("narrow"), .shape = &narrow_shape,
        .about = "limits the number of nodes that filter returns"},
    {OPTIONAL("onTimeout"), INTO(PolicyReading, policy.on_timeout, fallback_shape),
        .about = "verdict for nodes that were not evaluated before the deadline"},
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
        return; /* out of memory: arena_has_failed() */
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

/* A namespace is accepted, but policies apply to the whole cluster. */
static void ignore(YamlReader *reader, const YamlNode *value, void *into) {
}

static const Field metadata_fields[] = {
    {REQUIRED("name"), INTO(PolicyReading, policy.name, shape_name),
        .about = "name in metrics, explanations and messages"},
    {OPTIONAL("labels"), .shape = &labels_shape},
    {OPTIONAL("annotations"), .shape = &labels_shape},
    {OPTIONAL("namespace"), .shape = &shape_string, .read = ignore},
};
static const Shape metadata_shape = {SHAPE_OF(metadata_fields)};

static const char *const api_versions[] = {POLICY_API_VERSION, NULL};
static const char *const document_kinds[] = {POLICY_KIND, NULL};
static const Shape api_version_shape = {.kind = SHAPE_WORD, .words = api_versions};
static const Shape document_kind_shape = {.kind = SHAPE_WORD, .words = document_kinds};

static const Field document_fields[] = {
    {REQUIRED("apiVersion"), INTO(PolicyReading, api_version, api_version_shape)},
    {REQUIRED("kind"), INTO(PolicyReading, kind, document_kind_shape)},
    {REQUIRED("metadata"), .shape = &metadata_shape},
    {REQUIRED("spec"), .shape = &policy_spec_shape, .read = read_spec},
};
const Shape policy_shape = {SHAPE_OF(document_fields)};

void policy_read(YamlReader *reader, const Schema *schema, ScopeCommon *common,
    const YamlNode *document, Policy *ret) {
    PolicyReading reading = {.policy = {.place = document->place},
        .wire_max = WIRE_MAX_DEFAULT,
        .schema = schema,
        .common = common};
    const YamlNode *name = yaml_find(yaml_find(document, STR("metadata")), STR("name"));

    reading.policy.match.namespace_root = reading.policy.match.root = UINT32_MAX;
    reader_fields(reader, document, "a policy", &policy_shape, &reading);
    publish_name(reader, document, &reading.policy);
    *ret = reading.policy;
    if (name)
        ret->place = name->place;
}

bool policy_selects(const Policy *policy, const Pod *pod) {
    const Match *match = &policy->match;
    bool in_namespace = match->namespaces.n == 0;

    for (size_t i = 0; i < match->namespaces.n && !in_namespace; i++)
        in_namespace = str_eq(match->namespaces.items[i], pod->namespace);
    return in_namespace && selector_matches(&match->pod_selector, &pod->labels);
}
