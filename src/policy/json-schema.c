/* Writes the format of a policy as a JSON Schema, for editors, and as the schema of the
 * CustomResourceDefinition. Only `berth check` checks expressions and names in them. */

#include "policy/policy.h"
#include "json/write.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"
#define SELECTOR "#/$defs/selector" /* defined once */
#define INT_OR_STRING "x-kubernetes-int-or-string"
#define ANY_FIELDS "x-kubernetes-preserve-unknown-fields"
#define PATTERN_MAX 256u
#define NAMES_MAX 64u  /* fields of a mapping */
#define RULE_MAX 2048u /* the API server's limit for a message */

/* The formats of kind-resources.c and reader.c. */
#define NUMBER "([0-9]+(\\.[0-9]*)?|\\.[0-9]+)"
#define QUANTITY "[+]?" NUMBER "([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?"
#define SHARE NUMBER " *%"
#define DURATION "[0-9]+d|([0-9]+d)?(" NUMBER "(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+"

/* The API server needs a structural schema: each value has one type, no references; it handles
 * unknown fields itself. A value that may have several types has no type there, and each constraint
 * (pattern, minimum, ...) applies only to values of its own type. */
typedef struct SchemaWriter {
    JsonWriter json;
    bool is_structural;
    bool is_untyped; /* structural: in a value of several types */
} SchemaWriter;

/* @strings ends with NULL. */
static void write_strings(JsonWriter *writer, const char *key, const char *const *strings) {
    json_member_array(writer, key);
    for (size_t i = 0; strings[i]; i++)
        json_write_string(writer, str_from_c(strings[i]));
    json_write_end_array(writer);
}

static void write_type(SchemaWriter *schema, const char *type) {
    if (!schema->is_untyped)
        json_write(&schema->json, "type: %s", type);
}

/* Whether to write a bound: YAML 1.1 reads 1e+18 as a string. */
static bool is_bound(const SchemaWriter *schema, double bound) {
    return !schema->is_structural || (bound > -1e15 && bound < 1e15);
}

static void write_range(SchemaWriter *schema, const Shape *shape) {
    JsonWriter *writer = &schema->json;
    bool is_exclusive = shape->is_above && !schema->is_structural;

    write_type(schema, shape->kind == SHAPE_INT ? "integer" : "number");
    if (is_bound(schema, shape->min))
        json_write(writer, "%s: %g", is_exclusive ? "exclusiveMinimum" : "minimum", shape->min);
    json_write(writer, "exclusiveMinimum?: %i", shape->is_above && schema->is_structural);
    if (is_bound(schema, shape->max))
        json_write(writer, "maximum: %g", shape->max);
}

/* Allows @types; a structural schema can only have one type, or int-or-string. */
static void write_types(SchemaWriter *schema, const char *const *types) {
    if (!schema->is_structural)
        write_strings(&schema->json, "type", types);
    else if (!schema->is_untyped)
        json_write(&schema->json, INT_OR_STRING ": true");
}

/* In a value of several types, writes a pattern, which restricts only strings; an enum would
 * restrict all. */
static void write_words(SchemaWriter *schema, const Shape *shape) {
    _cleanup_(buf_done) Buf pattern = BUF_INIT(PATTERN_MAX);

    if (schema->is_structural)
        write_type(schema, "string");
    if (!schema->is_untyped) {
        write_strings(&schema->json, "enum", shape->words);
        return;
    }
    for (size_t i = 0; shape->words[i]; i++)
        buf_printf(&pattern, "%s%s", i > 0 ? "|" : "^(", shape->words[i]);
    buf_append(&pattern, STR(")$"));
    json_write_member(&schema->json, STR("pattern"), buf_str(&pattern));
}

static void write_scalar(SchemaWriter *schema, const Shape *shape) {
    JsonWriter *writer = &schema->json;
    static const char *const any[] = {"string", "number", "boolean", NULL};
    static const char *const amount[] = {"string", "number", NULL};

    switch (shape->kind) {
    case SHAPE_STRING:
        json_write(writer, "type: 'string', pattern?: %s", shape->pattern);
        return;
    case SHAPE_BOOL:
        json_write(writer, "type: 'boolean'");
        return;
    case SHAPE_INT:
    case SHAPE_NUMBER:
        write_range(schema, shape);
        return;
    case SHAPE_TRUE:
        json_write(writer, schema->is_structural ? "type: 'boolean', enum: [true]" : "const: true");
        return;
    case SHAPE_AMOUNT:
        write_types(schema, amount);
        json_write(writer, "pattern: %s, minimum: 0", "^(" QUANTITY "|" SHARE ")$");
        return;
    case SHAPE_DURATION:
        json_write(writer, "type: 'string', pattern: %s", "^(0|" DURATION ")$");
        return;
    case SHAPE_WORD:
        write_words(schema, shape);
        return;
    case SHAPE_SCALAR:
        write_types(schema, any);
        return;
    case SHAPE_EXPRESSION: /* true and 50 are also expressions */
        write_types(schema, any);
        if (schema->is_structural)
            json_write(writer, "minLength: 1");
        return;
    default: /* ANY */
        if (schema->is_structural && !schema->is_untyped)
            json_write(writer, ANY_FIELDS ": true");
        return;
    }
}

/* @about may be NULL. Recursive: shapes nest. */
static void write_schema(SchemaWriter *schema, const Shape *shape, const char *about);
static void write_body(SchemaWriter *schema, const Shape *shape);

/* A limit of 0 means none. */
static void write_limits(SchemaWriter *schema, const Shape *shape) {
    bool is_list = shape->kind == SHAPE_LIST;

    write_type(schema, is_list ? "array" : "object");
    json_write(&schema->json, "%s?: %g, %s?: %g", is_list ? "minItems" : "minProperties",
        shape->min, is_list ? "maxItems" : "maxProperties", shape->max);
}

static void write_required(JsonWriter *writer, const Shape *shape) {
    Str names[NAMES_MAX];
    size_t n = 0;

    for (size_t i = 0; i < shape->n_fields; i++)
        if (shape->fields[i].is_required)
            names[n++] = shape->fields[i].name;
    if (n > 0)
        json_member_texts(writer, "required", names, n);
}

/* Whether validation rules of the API server can read the value, which needs a type. */
static bool is_exposed(const Shape *shape) {
    if (shape->kind == SHAPE_LIST || shape->kind == SHAPE_MAP)
        return is_exposed(shape->of);
    return shape->kind != SHAPE_EITHER && shape->kind != SHAPE_ANY;
}

/* Writes oneOf, or in a structural schema a validation rule, whose message names the choices; or
 * both, if the rule cannot read all choices. */
static void write_choices(SchemaWriter *schema, const Shape *shape) {
    _cleanup_(buf_done) Buf has = BUF_INIT(RULE_MAX), names = BUF_INIT(RULE_MAX);
    JsonWriter *writer = &schema->json;
    size_t n = 0, n_exposed = 0;
    ShapeChoice choice;
    bool are_all;

    for (; shape_choice(shape, n, &choice); n++) {
        buf_printf(&names, "%s%.*s", n > 0 ? ", " : "", STR_FMT(choice.name));
        if (is_exposed(choice.shape))
            buf_printf(&has, "%shas(self.%.*s)", n_exposed++ > 0 ? ", " : "", STR_FMT(choice.name));
    }
    are_all = n_exposed == n;
    if (!schema->is_structural || !are_all) {
        json_member_array(writer, "oneOf");
        for (size_t i = 0; shape_choice(shape, i, &choice); i++)
            json_write(writer, "{required: [%.*s]}", STR_FMT(choice.name));
        json_write_end_array(writer);
    }
    if (schema->is_structural)
        json_write(writer,
            "x-kubernetes-validations: [{rule: '[%.*s].filter(given, given).size() %s 1', "
            "message: 'needs %s one of: %.*s'}]",
            STR_FMT(buf_str(&has)), are_all ? "==" : "<=", are_all ? "exactly" : "only",
            STR_FMT(buf_str(&names)));
}

static void write_properties(SchemaWriter *schema, const Shape *shape) {
    json_member_object(&schema->json, "properties");
    for (size_t i = 0; i < shape->n_fields; i++) {
        const Field *field = &shape->fields[i];

        json_write_key(&schema->json, field->name);
        write_schema(schema, field->shape, field->about);
    }
    for (size_t i = 0; shape->kinds && i < *shape->n_kinds; i++) {
        json_write_key(&schema->json, shape->kinds[i]->field);
        write_schema(schema, shape->kinds[i]->shape, shape->kinds[i]->summary);
    }
    if (shape->or_field) {
        json_write_key(&schema->json, str_from_c(shape->or_field));
        write_schema(schema, &shape_expression, shape->or_about);
    }
    json_write_end_object(&schema->json);
}

static void write_either(SchemaWriter *schema, const Shape *shape) {
    if (schema->is_structural) {
        if (!schema->is_untyped)
            json_write(&schema->json, ANY_FIELDS ": true");
        schema->is_untyped = true;
        write_body(schema, shape->of);
        write_body(schema, shape->other);
        return;
    }
    json_member_array(&schema->json, "anyOf");
    write_schema(schema, shape->of, NULL);
    write_schema(schema, shape->other, NULL);
    json_write_end_array(&schema->json);
}

static void write_body(SchemaWriter *schema, const Shape *shape) {
    JsonWriter *writer = &schema->json;

    switch (shape->kind) {
    case SHAPE_LIST:
    case SHAPE_MAP:
        write_limits(schema, shape);
        /* Names of rules are unique: so the API server rejects a repeated name, and merges changes
         * of different field managers. */
        if (schema->is_structural && shape->kind == SHAPE_LIST && shape->of->n_fields > 0 &&
            shape->of->fields[0].is_required && str_is(shape->of->fields[0].name, "name"))
            json_write(
                writer, "x-kubernetes-list-type: 'map', x-kubernetes-list-map-keys: ['name']");
        json_write_key(
            writer, shape->kind == SHAPE_LIST ? STR("items") : STR("additionalProperties"));
        write_schema(schema, shape->of, NULL);
        return;
    case SHAPE_OBJECT:
        write_limits(schema, shape);
        write_properties(schema, shape);
        if (!schema->is_structural)
            json_write(writer, "additionalProperties: false");
        write_required(writer, shape);
        if (shape->kinds || shape->one_of)
            write_choices(schema, shape);
        return;
    case SHAPE_EITHER:
        write_either(schema, shape);
        return;
    default:
        write_scalar(schema, shape);
    }
}

static void write_schema(SchemaWriter *schema, const Shape *shape, const char *about) {
    JsonWriter *writer = &schema->json;
    bool was_untyped = schema->is_untyped;

    schema->is_untyped = false;
    if (shape->kind == SHAPE_EXPRESSION)
        about = about ? about : "CEL";
    json_write(writer, "{description?: %s", about);
    if (shape == &shape_selector && !schema->is_structural)
        json_write(writer, "$ref: '" SELECTOR "'");
    else
        write_body(schema, shape);
    json_write_end_object(writer);
    schema->is_untyped = was_untyped;
}

void policy_json_schema(Buf *out) {
    SchemaWriter schema = {.json = {.out = out, .indent = 1}};
    JsonWriter *writer = &schema.json;

    json_write(writer, "{$schema: '" DIALECT "', title: 'berth PlacementPolicy'");
    write_body(&schema, &policy_shape);
    json_write(writer, "$defs: {selector: {");
    write_body(&schema, &shape_selector);
    json_write(writer, "}}}\n");
}

void policy_spec_schema(Buf *out) {
    SchemaWriter schema = {.json = JSON_WRITER(out), .is_structural = true};

    write_schema(&schema, &policy_spec_shape,
        "which pods the policy applies to, and its rules: filters and scores");
}
