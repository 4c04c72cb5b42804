/*
 * The format of a policy as a JSON Schema, for editors, and as the schema of a
 * CustomResourceDefinition. Neither knows valid expressions or which names are taken: `berth check`
 * does.
 */

#include "policy/kind.h"
#include "policy/policy.h"
#include "policy/reader.h"
#include "json/write.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"
#define SELECTOR "#/$defs/selector" /* used in many places */
#define INT_OR_STRING "x-kubernetes-int-or-string"
#define ANY_FIELDS "x-kubernetes-preserve-unknown-fields"

/* As kind-resources.c and reader.c read them. */
#define NUMBER "([0-9]+(\\.[0-9]*)?|\\.[0-9]+)"
#define QUANTITY "[+]?" NUMBER "([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?"
#define SHARE NUMBER " *%"
#define DURATION "[0-9]+d|([0-9]+d)?(" NUMBER "(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+"

/* The API server wants a structural schema: one type for each value, no references, and unknown
 * fields are its own affair. */
typedef struct SchemaWriter {
    JsonWriter json;
    bool is_structural;
} SchemaWriter;

static void write_text(JsonWriter *writer, const char *key, const char *text) {
    json_write_member(writer, str_from_c(key), str_from_c(text));
}

/* A list of strings, which ends with NULL. */
static void write_strings(JsonWriter *writer, const char *key, const char *const *strings) {
    json_member_array(writer, key);
    for (size_t i = 0; strings[i]; i++)
        json_write_string(writer, str_from_c(strings[i]));
    json_write_end_array(writer);
}

/* --- scalars ------------------------------------------------------------------------- */

/* A bound as YAML 1.1 reads it, too, which takes 1e+18 for a string. */
static bool is_bound(const SchemaWriter *schema, double bound) {
    return !schema->is_structural || (bound > -1e15 && bound < 1e15);
}

static void write_range(SchemaWriter *schema, const Shape *shape) {
    JsonWriter *writer = &schema->json;
    bool is_exclusive = shape->is_above && !schema->is_structural;

    write_text(writer, "type", shape->kind == SHAPE_INT ? "integer" : "number");
    if (is_bound(schema, shape->min))
        json_member_double(writer, is_exclusive ? "exclusiveMinimum" : "minimum", shape->min);
    if (shape->is_above && schema->is_structural)
        json_member_bool(writer, "exclusiveMinimum", true);
    if (is_bound(schema, shape->max))
        json_member_double(writer, "maximum", shape->max);
}

/* A value of one of @types; a structural schema has one type, or integer and string. */
static void write_types(SchemaWriter *schema, const char *const *types) {
    if (schema->is_structural)
        json_member_bool(&schema->json, INT_OR_STRING, true);
    else
        write_strings(&schema->json, "type", types);
}

static void write_true(SchemaWriter *schema) {
    JsonWriter *writer = &schema->json;

    if (!schema->is_structural) {
        json_member_bool(writer, "const", true);
        return;
    }
    write_text(writer, "type", "boolean");
    json_member_array(writer, "enum");
    json_write_bool(writer, true);
    json_write_end_array(writer);
}

static void write_scalar(SchemaWriter *schema, const Shape *shape) {
    JsonWriter *writer = &schema->json;
    static const char *const any[] = {"string", "number", "boolean", NULL};
    static const char *const amount[] = {"string", "number", NULL};

    switch (shape->kind) {
    case SHAPE_STRING:
        write_text(writer, "type", "string");
        if (shape->pattern)
            write_text(writer, "pattern", shape->pattern);
        return;
    case SHAPE_BOOL:
        write_text(writer, "type", "boolean");
        return;
    case SHAPE_INT:
    case SHAPE_NUMBER:
        write_range(schema, shape);
        return;
    case SHAPE_TRUE:
        write_true(schema);
        return;
    case SHAPE_AMOUNT:
        write_types(schema, amount);
        write_text(writer, "pattern", "^(" QUANTITY "|" SHARE ")$");
        json_member_double(writer, "minimum", 0);
        return;
    case SHAPE_DURATION:
        write_text(writer, "type", "string");
        write_text(writer, "pattern", "^(0|" DURATION ")$");
        return;
    case SHAPE_WORD:
        if (schema->is_structural)
            write_text(writer, "type", "string");
        write_strings(writer, "enum", shape->words);
        return;
    case SHAPE_SCALAR:
    case SHAPE_EXPRESSION: /* true and 50 are expressions, too */
        write_types(schema, any);
        return;
    default: /* ANY */
        if (schema->is_structural)
            json_member_bool(writer, ANY_FIELDS, true);
        return;
    }
}

/* --- containers ------------------------------------------------------------------------ */

/* @about may be NULL. Recursive: shapes nest. */
static void write_schema(SchemaWriter *schema, const Shape *shape, const char *about);

/* A limit of 0 means none. */
static void write_limits(JsonWriter *writer, const Shape *shape) {
    bool is_list = shape->kind == SHAPE_LIST;

    write_text(writer, "type", is_list ? "array" : "object");
    if (shape->min > 0)
        json_member_double(writer, is_list ? "minItems" : "minProperties", shape->min);
    if (shape->max > 0)
        json_member_double(writer, is_list ? "maxItems" : "maxProperties", shape->max);
}

static void write_required(JsonWriter *writer, const Shape *shape) {
    bool is_any = false;

    for (size_t i = 0; i < shape->n_fields; i++)
        is_any |= shape->fields[i].is_required;
    if (!is_any)
        return;
    json_member_array(writer, "required");
    for (size_t i = 0; i < shape->n_fields; i++)
        if (shape->fields[i].is_required)
            json_write_string(writer, shape->fields[i].name);
    json_write_end_array(writer);
}

static void write_choice(JsonWriter *writer, Str name) {
    json_write_object(writer);
    json_member_array(writer, "required");
    json_write_string(writer, name);
    json_write_end_array(writer);
    json_write_end_object(writer);
}

/* Exactly one of the kinds, or of some fields. */
static void write_choices(JsonWriter *writer, const Shape *shape) {
    json_member_array(writer, "oneOf");
    for (size_t i = 0; shape->kinds && i < *shape->n_kinds; i++)
        write_choice(writer, shape->kinds[i]->field);
    if (shape->or_field)
        write_choice(writer, str_from_c(shape->or_field));
    for (size_t i = 0; shape->one_of && shape->one_of[i]; i++)
        write_choice(writer, str_from_c(shape->one_of[i]));
    json_write_end_array(writer);
}

static void write_properties(SchemaWriter *schema, const Shape *shape) {
    JsonWriter *writer = &schema->json;

    json_member_object(writer, "properties");
    for (size_t i = 0; i < shape->n_fields; i++) {
        const Field *field = &shape->fields[i];

        json_write_key(writer, field->name);
        write_schema(schema, field->shape, field->about);
    }
    for (size_t i = 0; shape->kinds && i < *shape->n_kinds; i++) {
        json_write_key(writer, shape->kinds[i]->field);
        write_schema(schema, shape->kinds[i]->shape, shape->kinds[i]->summary);
    }
    if (shape->or_field) {
        json_write_key(writer, str_from_c(shape->or_field));
        write_schema(schema, &shape_expression, NULL);
    }
    json_write_end_object(writer);
}

static void write_object(SchemaWriter *schema, const Shape *shape) {
    JsonWriter *writer = &schema->json;

    write_limits(writer, shape);
    write_properties(schema, shape);
    if (!schema->is_structural)
        json_member_bool(writer, "additionalProperties", false);
    write_required(writer, shape);
    if (shape->kinds || shape->one_of)
        write_choices(writer, shape);
}

static void write_either(SchemaWriter *schema, const Shape *shape) {
    JsonWriter *writer = &schema->json;

    if (schema->is_structural) {
        json_member_bool(writer, ANY_FIELDS, true);
        return;
    }
    json_member_array(writer, "anyOf");
    write_schema(schema, shape->of, NULL);
    write_schema(schema, shape->other, NULL);
    json_write_end_array(writer);
}

static void write_body(SchemaWriter *schema, const Shape *shape) {
    JsonWriter *writer = &schema->json;

    switch (shape->kind) {
    case SHAPE_LIST:
    case SHAPE_MAP:
        write_limits(writer, shape);
        json_write_key(
            writer, shape->kind == SHAPE_LIST ? STR("items") : STR("additionalProperties"));
        write_schema(schema, shape->of, NULL);
        return;
    case SHAPE_OBJECT:
        write_object(schema, shape);
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

    json_write_object(writer);
    if (shape->kind == SHAPE_EXPRESSION)
        about = about ? about : "CEL";
    if (about)
        write_text(writer, "description", about);
    if (shape == &shape_selector && !schema->is_structural)
        write_text(writer, "$ref", SELECTOR);
    else
        write_body(schema, shape);
    json_write_end_object(writer);
}

void policy_json_schema(Buf *out) {
    SchemaWriter schema = {.json = {.out = out, .indent = 1}};
    JsonWriter *writer = &schema.json;

    json_write_object(writer);
    write_text(writer, "$schema", DIALECT);
    write_text(writer, "title", "berth PlacementPolicy");
    write_body(&schema, &policy_shape);
    json_member_object(writer, "$defs");
    json_member_object(writer, "selector");
    write_body(&schema, &shape_selector);
    json_write_end_object(writer);
    json_write_end_object(writer);
    json_write_end_object(writer);
    buf_append_char(out, '\n');
}

void shape_structural_schema(const Shape *shape, const char *about, Buf *out) {
    SchemaWriter schema = {.json = JSON_WRITER(out), .is_structural = true};

    write_schema(&schema, shape, about);
}
