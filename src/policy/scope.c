/* Declares the policy's own names: params, metrics and variables, each as fields of one record. */

#include "policy/scope.h"

#include "base/ascii.h"
#include "cel/run.h"
#include "policy/metric.h"

/* Limits for params: elements of a list, and levels of nesting. */
#define PARAM_ITEMS_MAX 1000u
#define PARAM_DEPTH_MAX 8u

/* A CEL record of values, indexed by field number. */
typedef struct Values {
    CelRecord head;
    CelValue items[];
} Values;

static CelValue get_value(const CelRecord *record, uint32_t field, CelRun *run) {
    return ((const Values *)(const void *)record)->items[field];
}

bool scope_name_is_valid(Str name) {
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_letter = ascii_is_letter(c) || c == '_';

        if (!is_letter && !(i > 0 && ascii_is_digit(c)))
            return false;
    }
    return name.len > 0 && name.len <= 63;
}

static bool check_name(YamlReader *reader, const YamlNode *name) {
    return scope_name_is_valid(name->text) ||
           reader_error_hint(reader, name,
               STR("a letter, then letters, digits and '_', at most 63 characters"),
               "\"%.*s\" cannot be a name in expressions", STR_FMT(name->text));
}

/* Returns the number of entries of @section, which may be NULL; 0 after an error. */
static size_t count_entries(
    YamlReader *reader, const YamlNode *section, const char *what, const Shape *shape) {
    return section && reader_entries(reader, section, what, shape) ? section->n : 0;
}

static CelValue read_scalar(const YamlNode *value, const CelType **ret_type) {
    switch (value->kind) {
    case YAML_BOOL:
        *ret_type = &cel_bool_type;
        return cel_bool(value->boolean);
    case YAML_INT:
        *ret_type = &cel_int_type;
        return cel_int(value->integer);
    case YAML_FLOAT:
        *ret_type = &cel_double_type;
        return cel_double(value->real);
    default:
        *ret_type = &cel_string_type;
        return cel_string(value->text);
    }
}

static CelValue read_param(
    YamlReader *reader, const YamlNode *value, size_t depth, const CelType **ret_type);

/* Reads a list's elements or a map's values, which must have one type. An int among doubles becomes
 * a double: [1, 2.5], {spot: 0.5, reserved: 1}. Returns NULL after an error. */
static const CelType *read_elements(
    YamlReader *reader, const YamlNode *value, size_t depth, CelValue *ret) {
    bool has_doubles = false;
    const CelType *element = &cel_dyn_type;

    for (size_t i = 0; i < value->n; i++)
        has_doubles |= yaml_child(value, i)->kind == YAML_FLOAT;
    for (size_t i = 0; i < value->n; i++) {
        const YamlNode *item = yaml_child(value, i);
        const CelType *type = NULL;

        ret[i] = read_param(reader, item, depth + 1, &type);
        if (ret[i].kind == CEL_ABSENT)
            return NULL;
        if (has_doubles && ret[i].kind == CEL_INT) {
            ret[i] = cel_double((double)ret[i].i);
            type = &cel_double_type;
        }
        if (i > 0 && !cel_type_equal(element, type)) {
            reader_error(reader, item, "the %s must be of one type",
                value->kind == YAML_SEQUENCE ? "elements of a list" : "values of a map");
            return NULL;
        }
        element = type;
    }
    return element;
}

static CelValue read_list(
    YamlReader *reader, const YamlNode *value, size_t depth, const CelType **ret_type) {
    CelList *list = ARENA_NEW(reader->arena, CelList);
    CelValue *items = ARENA_ARRAY(reader->arena, CelValue, value->n);
    const CelType *element = list && items ? read_elements(reader, value, depth, items) : NULL;

    if (!element)
        return cel_absent();
    *list = (CelList){.n = (uint32_t)value->n, .depth = 1, .items = items};
    for (size_t i = 0; i < value->n; i++)
        if (cel_depth(items[i]) >= list->depth)
            list->depth = cel_depth(items[i]) + 1;
    *ret_type = cel_list_of(reader->arena, element);
    return *ret_type ? cel_list(list) : cel_absent();
}

static CelValue read_map(
    YamlReader *reader, const YamlNode *value, size_t depth, const CelType **ret_type) {
    CelRun run = CEL_RUN(reader->arena);
    CelEntry *entries = cel_map_begin(&run, value->n);
    CelValue *values = ARENA_ARRAY(reader->arena, CelValue, value->n), map;
    const CelType *element = entries && values ? read_elements(reader, value, depth, values) : NULL;

    if (!element)
        return cel_absent();
    for (size_t i = 0; i < value->n; i++)
        entries[i] = (CelEntry){cel_string(value->pairs[i].key->text), values[i]};
    map = cel_map_end(&run, entries, value->n);
    *ret_type = cel_map_of(reader->arena, &cel_string_type, element);
    return map.kind == CEL_MAP && *ret_type ? map : cel_absent();
}

/* Returns CEL_ABSENT after an error. Recursive, at most PARAM_DEPTH_MAX deep. */
static CelValue read_param(
    YamlReader *reader, const YamlNode *value, size_t depth, const CelType **ret_type) {
    if (value->kind == YAML_NULL) {
        reader_error(reader, value, "a parameter needs a value");
        return cel_absent();
    }
    if (yaml_is_scalar(value))
        return read_scalar(value, ret_type);
    if (depth == PARAM_DEPTH_MAX || value->n > PARAM_ITEMS_MAX) {
        reader_error(reader, value, "at most %u elements, nested at most %u levels",
            PARAM_ITEMS_MAX, PARAM_DEPTH_MAX);
        return cel_absent();
    }
    return value->kind == YAML_SEQUENCE ? read_list(reader, value, depth, ret_type)
                                        : read_map(reader, value, depth, ret_type);
}

static void read_params(YamlReader *reader, const YamlNode *params, Scope *scope) {
    size_t n = count_entries(reader, params, "params", &scope_params_shape);
    CelField *fields = ARENA_ARRAY(reader->arena, CelField, n);
    Values *values = arena_zalloc(reader->arena, 1, sizeof(*values) + n * sizeof(CelValue));
    CelRecordType *type = &scope->params_type;

    *type = (CelRecordType){.name = STR("params"), .fields = fields, .get = get_value};
    for (size_t i = 0; fields && values && i < n; i++) {
        Str name = params->pairs[i].key->text;
        const CelType *found = NULL;
        CelValue value = read_param(reader, params->pairs[i].value, 0, &found);

        if (value.kind == CEL_ABSENT || !check_name(reader, params->pairs[i].key))
            continue;
        fields[type->n_fields] = (CelField){.name = name, .type = found, .always = true};
        values->items[type->n_fields++] = value;
    }
    if (!values)
        return;
    values->head.type = type;
    (void)!cel_env_add_constant(
        scope->env, STR("params"), cel_record_of(reader->arena, type), cel_record(&values->head));
}

/* Declares the metric, so that expressions can use it. Policies with equal metrics share a
 * gauge. */
static void add_metric(YamlReader *reader, Scope *scope, ScopeCommon *common, const Gauge *gauge) {
    SchemaMetrics *metrics = &scope->metrics;
    CelField field = {.name = gauge->name, .type = &cel_double_type};
    uint32_t number = 0;

    while (number < common->gauges.n && !gauge_equal(&common->gauges.items[number], gauge))
        number++;
    common->has_too_many |= number == SCOPE_GAUGES_MAX;
    if (number == common->gauges.n &&
        (common->has_too_many || !VEC_ADD(&common->gauges, reader->arena, *gauge)))
        number = 0;
    metrics->fields[metrics->type.n_fields] = field;
    metrics->gauges[metrics->type.n_fields++] = number;
    if (!gauge->is_of_pods)
        return;
    metrics->workload_fields[metrics->workload_type.n_fields] = field;
    metrics->of_pods[metrics->workload_type.n_fields++] = number;
}

static bool has_name(YamlReader *reader, const YamlNode *metric, const Gauge *gauges, size_t n) {
    const YamlNode *at = yaml_find(metric, STR("name"));
    const Gauge *gauge = &gauges[n];

    if (str_is_empty(gauge->name) || !at || !check_name(reader, at))
        return false;
    for (size_t i = 0; i < n; i++)
        if (str_eq(gauges[i].name, gauge->name))
            return reader_error(
                reader, at, "there is already a metric \"%.*s\"", STR_FMT(gauge->name));
    return true;
}

/* Adds metrics that others refer to (countBy) first, because their numbers are needed. */
static void add_metrics(
    YamlReader *reader, Scope *scope, ScopeCommon *common, Gauge *gauges, size_t n) {
    for (int counts = 0; counts <= 1; counts++)
        for (size_t i = 0; i < n; i++) {
            if (!str_is_empty(gauges[i].placements.by) != counts)
                continue;
            for (uint32_t k = 0; counts && k < scope->metrics.type.n_fields; k++)
                if (str_eq(scope->metrics.fields[k].name, gauges[i].placements.by))
                    gauges[i].placements.by_gauge = scope->metrics.gauges[k];
            add_metric(reader, scope, common, &gauges[i]);
        }
}

/* Reads the first entry of each name. Invalid entries are declared too, so that their use is not a
 * second error. */
static void read_metrics(
    YamlReader *reader, const YamlNode *metrics, Scope *scope, ScopeCommon *common) {
    size_t n_entries = count_entries(reader, metrics, "metrics", &scope_metrics_shape), n = 0;
    Gauge *gauges = ARENA_ARRAY(reader->arena, Gauge, n_entries);

    for (size_t i = 0; gauges && i < n_entries; i++) {
        metric_read(reader, metrics->items[i], &gauges[n]);
        n += has_name(reader, metrics->items[i], gauges, n);
    }
    metrics_check(reader, metrics, gauges, n);
    add_metrics(reader, scope, common, gauges, n);
    schema_add_metrics(scope->env, &scope->metrics, reader->arena);
}

typedef struct VariableText {
    Str name;
    const YamlNode *expression;
} VariableText;

static const Shape variable_name_shape = {.kind = SHAPE_STRING, .check = check_name};

static const Field variable_fields[] = {
    {REQUIRED("name"), INTO(VariableText, name, variable_name_shape),
        "variables.NAME in the expressions that follow"},
    {REQUIRED("expression"), INTO(VariableText, expression, shape_expression), "the expression"},
};

static const Shape variable_shape = {SHAPE_OF(variable_fields)};

static void read_variable(YamlReader *reader, const YamlNode *value, Scope *scope) {
    CelRecordType *type = &scope->variables_type;
    Variable *variable = &scope->variables[type->n_fields];
    VariableText text = {0};

    reader_fields(reader, value, "a variable", &variable_shape, &text);
    if (str_is_empty(text.name) || !text.expression)
        return;
    if (cel_record_find(type, text.name) != UINT32_MAX) {
        reader_error(reader, value, "there is already a variable \"%.*s\"", STR_FMT(text.name));
        return;
    }
    variable->name = text.name;
    /* An invalid variable is declared anyway, so that its use is not a second error. */
    if (!expression_read(
            reader, scope, text.expression, "expression", EXPRESSION_ANY, &variable->expression))
        variable->expression.checked = NULL;
    scope->variable_fields[type->n_fields] = (CelField){
        .name = text.name,
        .type = variable->expression.checked ? cel_checked_type(variable->expression.checked)
                                             : &cel_dyn_type,
        .always = true,
    };
    type->n_fields++; /* expressions after it can use it */
}

static void read_variables(YamlReader *reader, const YamlNode *variables, Scope *scope) {
    CelRecordType *type = &scope->variables_type;
    size_t n = count_entries(reader, variables, "variables", &scope_variables_shape);

    *type = (CelRecordType){.name = STR("variables"), .fields = scope->variable_fields};
    /* Its size and group are unused: the variables' expressions replace it. */
    if (cel_env_add_variable(scope->env, STR("variables"), cel_record_of(reader->arena, type),
            /* max_size= */ 1, SCHEMA_NOW, &scope->variables_slot) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        read_variable(reader, variables->items[i], scope);
}

const Shape scope_params_shape = {.kind = SHAPE_MAP, .of = &shape_any, .max = SCOPE_PARAMS_MAX};
const Shape scope_metrics_shape = {
    .kind = SHAPE_LIST, .of = &metric_shape, .max = SCOPE_METRICS_MAX};
const Shape scope_variables_shape = {
    .kind = SHAPE_LIST, .of = &variable_shape, .max = SCOPE_VARIABLES_MAX};

Scope *scope_new(YamlReader *reader, const Schema *schema, ScopeCommon *common,
    const YamlNode *params, const YamlNode *metrics, const YamlNode *variables) {
    Scope *scope = ARENA_NEW(reader->arena, Scope);

    if (!scope)
        return NULL;
    scope->env = cel_env_extend(schema->env, reader->arena);
    if (!scope->env)
        return NULL;
    cel_env_skip_slots(scope->env, common->next_slot);
    scope->metrics.schema = schema;
    scope->needs = &common->needs;
    read_params(reader, params, scope);
    if (!arena_has_failed(reader->arena)) /* otherwise, missing params would be reported too */
        read_metrics(reader, metrics, scope, common);
    if (!arena_has_failed(reader->arena))
        read_variables(reader, variables, scope);
    common->next_slot = cel_env_n_slots(scope->env);
    return arena_has_failed(reader->arena) ? NULL : scope;
}

int scope_lower(Scope *scope, CelGraph *graph) {
    for (uint32_t i = 0; i < scope->variables_type.n_fields; i++) {
        Expression *expression = &scope->variables[i].expression;
        int r = expression_lower(expression, graph);

        if (r < 0)
            return r;
        scope->nodes[i] = expression->node;
    }
    return 0;
}
