/* One document of a policy file: the mapping around the rules. */

#include "policy/policy.h"

#include "policy/rules.h"

#define POLICY_API_VERSION "berth.dev/v1alpha1"
#define POLICY_KIND "PlacementPolicy"

/* Of one policy. */
#define BIND_ANNOTATIONS_MAX 32u

#define NARROW_MAX 100000

/* A policy while it is read: what some fields say decides how others are understood. */
typedef struct Reading {
    Policy *policy;
    const Schema *schema;
    ScopeCommon *common;
} Reading;

static const Shape labels_shape = {.kind = SHAPE_MAP, .of = &shape_scalar};
static const Shape bind_annotations_shape = {
    .kind = SHAPE_MAP, .of = &shape_scalar, .max = BIND_ANNOTATIONS_MAX};

/* --- mode, match ------------------------------------------------------------- */

static void read_mode(PolicyReader *reader, const YamlNode *value, void *into) {
    Policy *policy = ((Reading *)into)->policy;
    Str mode;

    if (!reader_string(reader, value, "mode", &mode))
        return;
    if (str_is(mode, "Observe"))
        policy->is_observed = true;
    else if (!str_is(mode, "Enforce"))
        reader_error_hint(reader,
            value,
            STR("Enforce (the default), or Observe: record, do not act"),
            "unknown mode \"%.*s\"",
            STR_FMT(mode));
}

static void read_namespaces(PolicyReader *reader, const YamlNode *value, void *into) {
    Match *match = &((Reading *)into)->policy->match;

    if (!reader_string_list(reader, value, "namespaces", &match->namespaces, &match->n_namespaces))
        return;
    for (size_t i = 0; i < match->n_namespaces; i++)
        (void)reader_namespace(reader, value->items[i]);
}

static void read_pod_selector(PolicyReader *reader, const YamlNode *value, void *into) {
    reader_selector(reader, value, &((Reading *)into)->policy->match.pod_selector);
}

static void read_match_expression(PolicyReader *reader, const YamlNode *value, void *into) {
    Policy *policy = ((Reading *)into)->policy;
    Expression *expression = &policy->match.expression;

    if (expression_read(
            reader, policy->scope, value, "match.expression", EXPRESSION_BOOL, expression) &&
        (expression->groups & SCHEMA_BIT(SCHEMA_NODE)))
        reader_error_hint(reader,
            value,
            STR("a policy is for pods; what it asks of nodes belongs into a filter"),
            "match.expression cannot read %s",
            expression->metrics == 0 ? "node" : "metrics, which are a node's");
}

static const Field match_fields[] = {
    {.name = STR("namespaces"),
        .shape = &shape_scalars,
        .about = "only pods of these",
        .read = read_namespaces},
    {.name = STR("podSelector"),
        .shape = &shape_selector,
        .about = "only pods with these labels",
        .read = read_pod_selector},
    {.name = STR("expression"),
        .shape = &shape_expression,
        .about = "only pods for which it is true",
        .read = read_match_expression},
};
static const Shape match_shape = {
    .kind = SHAPE_OBJECT, .fields = match_fields, .n_fields = ELEMENTS_OF(match_fields)};

static void read_match(PolicyReader *reader, const YamlNode *value, void *into) {
    reader_fields(reader, value, "match", match_fields, ELEMENTS_OF(match_fields), into);
}

/* --- bind ------------------------------------------------------------------------ */

/* Sorted by insertion: there are a handful. */
void annotations_add(Labels *annotations, Label label) {
    Label *items = (Label *)(uintptr_t)annotations->items; /* read_annotations() made it */
    size_t at = annotations->n;

    for (size_t i = 0; i < annotations->n; i++) {
        if (str_eq(items[i].key, label.key)) {
            items[i] = label;
            return;
        }
    }
    while (at > 0 && str_cmp(items[at - 1].key, label.key) > 0) {
        items[at] = items[at - 1];
        at--;
    }
    items[at] = label;
    annotations->n++;
}

static void read_annotations(PolicyReader *reader, const YamlNode *value, void *into) {
    Labels *annotations = into;

    if (!reader_mapping(reader, value, "annotations"))
        return;
    if (value->n > BIND_ANNOTATIONS_MAX) {
        reader_error(reader, value, "at most %u annotations", BIND_ANNOTATIONS_MAX);
        return;
    }
    annotations->items = ARENA_ARRAY(reader->arena, Label, value->n);
    for (size_t i = 0; annotations->items && i < value->n; i++) {
        Label label = {.key = value->pairs[i].key->text};

        if (reader_annotation_key(reader, value->pairs[i].key) &&
            reader_label_value(
                reader, value->pairs[i].value, "an annotation's value", &label.value))
            annotations_add(annotations, label);
    }
}

static const Field bind_fields[] = {
    {.name = STR("annotations"),
        .is_required = true,
        .shape = &bind_annotations_shape,
        .about = "set on the pod together with its node",
        .read = read_annotations},
};
static const Shape bind_shape = {
    .kind = SHAPE_OBJECT, .fields = bind_fields, .n_fields = ELEMENTS_OF(bind_fields)};

static void read_bind(PolicyReader *reader, const YamlNode *value, void *into) {
    Policy *policy = ((Reading *)into)->policy;

    reader_fields(
        reader, value, "bind", bind_fields, ELEMENTS_OF(bind_fields), &policy->bind_annotations);
}

/* --- how much goes back, and what is said when time is up ------------------------------ */

static void read_narrow_to(PolicyReader *reader, const YamlNode *value, void *into) {
    int64_t to = 0;

    if (reader_int(reader, value, "narrow.to", 1, NARROW_MAX, &to))
        ((Policy *)into)->narrow_to = (uint32_t)to;
}

static const Shape narrow_to_shape = {.kind = SHAPE_INT, .min = 1, .max = NARROW_MAX};
static const Field narrow_fields[] = {
    {.name = STR("to"),
        .is_required = true,
        .shape = &narrow_to_shape,
        .about = "filter returns the so many best nodes, by the scores",
        .read = read_narrow_to},
};
static const Shape narrow_shape = {
    .kind = SHAPE_OBJECT, .fields = narrow_fields, .n_fields = ELEMENTS_OF(narrow_fields)};

static void read_narrow(PolicyReader *reader, const YamlNode *value, void *into) {
    reader_fields(reader,
        value,
        "narrow",
        narrow_fields,
        ELEMENTS_OF(narrow_fields),
        ((Reading *)into)->policy);
}

static void read_wire_max(PolicyReader *reader, const YamlNode *value, void *into) {
    int64_t max = 0;

    if (reader_int(reader, value, "wire.maxScore", WIRE_MAX_DEFAULT, WIRE_MAX_LIMIT, &max))
        ((Policy *)into)->wire_max = (uint32_t)max;
}

static const Shape wire_max_shape = {
    .kind = SHAPE_INT, .min = WIRE_MAX_DEFAULT, .max = WIRE_MAX_LIMIT};
static const Field wire_fields[] = {
    {.name = STR("maxScore"),
        .is_required = true,
        .shape = &wire_max_shape,
        .about =
            "what kube-scheduler is told of the best node; over 10 it outweighs its own scores",
        .read = read_wire_max},
};
static const Shape wire_shape = {
    .kind = SHAPE_OBJECT, .fields = wire_fields, .n_fields = ELEMENTS_OF(wire_fields)};

static void read_wire(PolicyReader *reader, const YamlNode *value, void *into) {
    reader_fields(
        reader, value, "wire", wire_fields, ELEMENTS_OF(wire_fields), ((Reading *)into)->policy);
}

static void read_on_timeout(PolicyReader *reader, const YamlNode *value, void *into) {
    reader_fallback(
        reader, value, "onTimeout", FALLBACK_HINT, &((Reading *)into)->policy->on_timeout);
}

/* --- the document ---------------------------------------------------------- */

static void read_policy_filters(PolicyReader *reader, const YamlNode *value, void *into) {
    filters_read(reader, value, ((Reading *)into)->policy);
}

static void read_policy_scores(PolicyReader *reader, const YamlNode *value, void *into) {
    scores_read(reader, value, ((Reading *)into)->policy);
}

static void read_nothing(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader;
    (void)value;
    (void)into;
}

static const char *const modes[] = {"Enforce", "Observe", NULL};
static const Shape mode_shape = {.kind = SHAPE_WORD, .words = modes};

static const Field spec_fields[] = {
    {.name = STR("mode"),
        .shape = &mode_shape,
        .about = "Observe: judged and counted, never acted upon",
        .read = read_mode},
    {.name = STR("match"),
        .shape = &match_shape,
        .about = "which pods it is for",
        .read = read_match},
    {.name = STR("params"),
        .shape = &scope_params_shape,
        .about = "constants: params.NAME in expressions",
        .read = read_nothing /* before all others: scope_new() */},
    {.name = STR("metrics"),
        .shape = &scope_metrics_shape,
        .about = "measured values: metrics.NAME in expressions",
        .read = read_nothing},
    {.name = STR("variables"),
        .shape = &scope_variables_shape,
        .about = "expressions with a name: variables.NAME in others",
        .read = read_nothing},
    {.name = STR("filters"),
        .shape = &filters_shape,
        .about = "which nodes a pod may go to",
        .read = read_policy_filters},
    {.name = STR("scores"),
        .shape = &scores_shape,
        .about = "how good they are",
        .read = read_policy_scores},
    {.name = STR("narrow"),
        .shape = &narrow_shape,
        .about = "how many nodes go back at most",
        .read = read_narrow},
    {.name = STR("onTimeout"),
        .shape = &fallback_shape,
        .about = "what counts for nodes that were not judged in time",
        .read = read_on_timeout},
    {.name = STR("wire"),
        .shape = &wire_shape,
        .about = "how scores are told to kube-scheduler",
        .read = read_wire},
    {.name = STR("bind"),
        .shape = &bind_shape,
        .about = "what is done besides when berth binds a pod",
        .read = read_bind},
};

static void warn_of_nothing(PolicyReader *reader, const YamlNode *value, const Policy *policy) {
    if (policy->n_filters + policy->n_scores + policy->bind_annotations.n == 0)
        reader_warning(reader,
            value,
            STR("add filters or scores"),
            "the policy has no rules and does nothing");
    if (policy->narrow_to > 0 && policy->n_scores == 0)
        reader_warning(reader,
            yaml_find(value, STR("narrow")),
            STR("add scores: the best nodes are chosen by them"),
            "the policy narrows without scores: the first nodes of a request go back");
}

static void read_spec(PolicyReader *reader, const YamlNode *value, void *into) {
    Reading *reading = into;
    size_t n_errors = reader->diags->n_errors;

    reading->policy->scope = scope_new(reader,
        reading->schema,
        reading->common,
        yaml_find(value, STR("params")),
        yaml_find(value, STR("metrics")),
        yaml_find(value, STR("variables")));
    if (!reading->policy->scope)
        return; /* out of memory, which the arena remembers */
    reader_fields(reader, value, "spec", spec_fields, ELEMENTS_OF(spec_fields), reading);
    if (reader->diags->n_errors == n_errors)
        warn_of_nothing(reader, value, reading->policy);
}

static void read_policy_name(PolicyReader *reader, const YamlNode *value, void *into) {
    reader_name(reader, value, &((Reading *)into)->policy->name);
}

static const Field metadata_fields[] = {
    {.name = STR("name"),
        .is_required = true,
        .shape = &shape_name,
        .about = "how metrics, explanations and messages call it",
        .read = read_policy_name},
    {.name = STR("labels"), .shape = &labels_shape, .read = read_nothing},
    {.name = STR("annotations"), .shape = &labels_shape, .read = read_nothing},
    {.name = STR("namespace"), .shape = &shape_string, .read = read_nothing},
};

static void read_metadata(PolicyReader *reader, const YamlNode *value, void *into) {
    reader_fields(reader, value, "metadata", metadata_fields, ELEMENTS_OF(metadata_fields), into);
}

static void read_api_version(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)into;
    reader_constant(reader, value, "apiVersion", POLICY_API_VERSION);
}

static void read_kind(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)into;
    reader_constant(reader, value, "kind", POLICY_KIND);
}

static const char *const api_versions[] = {POLICY_API_VERSION, NULL};
static const char *const document_kinds[] = {POLICY_KIND, NULL};
static const Shape api_version_shape = {.kind = SHAPE_WORD, .words = api_versions};
static const Shape document_kind_shape = {.kind = SHAPE_WORD, .words = document_kinds};
static const Shape metadata_shape = {
    .kind = SHAPE_OBJECT, .fields = metadata_fields, .n_fields = ELEMENTS_OF(metadata_fields)};
static const Shape spec_shape = {
    .kind = SHAPE_OBJECT, .fields = spec_fields, .n_fields = ELEMENTS_OF(spec_fields)};

static const Field document_fields[] = {
    {.name = STR("apiVersion"),
        .is_required = true,
        .shape = &api_version_shape,
        .read = read_api_version},
    {.name = STR("kind"), .is_required = true, .shape = &document_kind_shape, .read = read_kind},
    {.name = STR("metadata"), .is_required = true, .shape = &metadata_shape, .read = read_metadata},
    {.name = STR("spec"), .is_required = true, .shape = &spec_shape, .read = read_spec},
};
const Shape policy_shape = {
    .kind = SHAPE_OBJECT, .fields = document_fields, .n_fields = ELEMENTS_OF(document_fields)};

void policy_read(PolicyReader *reader, const Schema *schema, ScopeCommon *common,
    const YamlNode *document, Policy *ret) {
    Reading reading = {.policy = ret, .schema = schema, .common = common};
    const YamlNode *name;

    *ret = (Policy){.place = document->place, .wire_max = WIRE_MAX_DEFAULT};
    ret->match.root = UINT32_MAX;
    reader_fields(
        reader, document, "a policy", document_fields, ELEMENTS_OF(document_fields), &reading);
    name = yaml_find(yaml_find(document, STR("metadata")), STR("name"));
    if (name)
        ret->place = name->place;
}

bool policy_selects(const Policy *policy, const Pod *pod) {
    const Match *match = &policy->match;
    bool in_namespace = match->n_namespaces == 0;

    for (size_t i = 0; i < match->n_namespaces && !in_namespace; i++)
        in_namespace = str_eq(match->namespaces[i], pod->namespace);
    return in_namespace && selector_matches(&match->pod_selector, &pod->labels);
}
