/*
 * The format of a policy as a JSON Schema, for editors. It knows neither valid expressions nor
 * which names are taken: `berth check` does.
 */

#include "policy/kind.h"
#include "policy/policy.h"
#include "policy/reader.h"
#include "json/write.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"
#define SELECTOR "#/$defs/selector" /* used in many places */

/* As kind-resources.c and reader.c read them. */
#define NUMBER "([0-9]+(\\.[0-9]*)?|\\.[0-9]+)"
#define QUANTITY "[+]?" NUMBER "([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?"
#define SHARE NUMBER " *%"
#define DURATION "[0-9]+d|([0-9]+d)?(" NUMBER "(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+"

static void write_text(JsonWriter *writer, const char *key, const char *text) {
    json_write_member(writer, str_from_c(key), str_from_c(text));
}

static void write_number(JsonWriter *writer, const char *key, double number) {
    json_write_key(writer, str_from_c(key));
    json_write_double(writer, number);
}

/* A list of strings, which ends with NULL. */
static void write_strings(JsonWriter *writer, const char *key, const char *const *strings) {
    json_write_key(writer, str_from_c(key));
    json_write_array(writer);
    for (size_t i = 0; strings[i]; i++)
        json_write_string(writer, str_from_c(strings[i]));
    json_write_end_array(writer);
}

/* --- scalars ------------------------------------------------------------------------- */

static void write_range(JsonWriter *writer, const Shape *shape) {
    write_text(writer, "type", shape->kind == SHAPE_INT ? "integer" : "number");
    write_number(writer, shape->is_above ? "exclusiveMinimum" : "minimum", shape->min);
    write_number(writer, "maximum", shape->max);
}

static void write_scalar(JsonWriter *writer, const Shape *shape) {
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
        write_range(writer, shape);
        return;
    case SHAPE_TRUE:
        json_write_key(writer, STR("const"));
        json_write_bool(writer, true);
        return;
    case SHAPE_AMOUNT:
        write_strings(writer, "type", amount);
        write_text(writer, "pattern", "^(" QUANTITY "|" SHARE ")$");
        write_number(writer, "minimum", 0);
        return;
    case SHAPE_DURATION:
        write_text(writer, "type", "string");
        write_text(writer, "pattern", "^(0|" DURATION ")$");
        return;
    case SHAPE_WORD:
        write_strings(writer, "enum", shape->words);
        return;
    case SHAPE_SCALAR:
    case SHAPE_EXPRESSION: /* true and 50 are expressions, too */
        write_strings(writer, "type", any);
        return;
    default:
        return; /* ANY */
    }
}

/* --- containers ------------------------------------------------------------------------ */

/* @about may be NULL. Recursive: shapes nest. */
static void write_schema(JsonWriter *writer, const Shape *shape, const char *about);

/* 0: no limit. */
static void write_limits(
    JsonWriter *writer, const Shape *shape, const char *at_least, const char *at_most) {
    if (shape->min > 0)
        write_number(writer, at_least, shape->min);
    if (shape->max > 0)
        write_number(writer, at_most, shape->max);
}

static void write_list(JsonWriter *writer, const Shape *shape) {
    write_text(writer, "type", "array");
    write_limits(writer, shape, "minItems", "maxItems");
    json_write_key(writer, STR("items"));
    write_schema(writer, shape->of, NULL);
}

static void write_map(JsonWriter *writer, const Shape *shape) {
    write_text(writer, "type", "object");
    write_limits(writer, shape, "minProperties", "maxProperties");
    json_write_key(writer, STR("additionalProperties"));
    write_schema(writer, shape->of, NULL);
}

static void write_required(JsonWriter *writer, const Shape *shape) {
    bool is_any = false;

    for (size_t i = 0; i < shape->n_fields; i++)
        is_any |= shape->fields[i].is_required;
    if (!is_any)
        return;
    json_write_key(writer, STR("required"));
    json_write_array(writer);
    for (size_t i = 0; i < shape->n_fields; i++)
        if (shape->fields[i].is_required)
            json_write_string(writer, shape->fields[i].name);
    json_write_end_array(writer);
}

static void write_choice(JsonWriter *writer, Str name) {
    json_write_object(writer);
    json_write_key(writer, STR("required"));
    json_write_array(writer);
    json_write_string(writer, name);
    json_write_end_array(writer);
    json_write_end_object(writer);
}

/* Exactly one of the kinds, or of some fields. */
static void write_choices(JsonWriter *writer, const Shape *shape) {
    json_write_key(writer, STR("oneOf"));
    json_write_array(writer);
    for (size_t i = 0; shape->kinds && i < *shape->n_kinds; i++)
        write_choice(writer, shape->kinds[i]->field);
    if (shape->or_field)
        write_choice(writer, str_from_c(shape->or_field));
    for (size_t i = 0; shape->one_of && shape->one_of[i]; i++)
        write_choice(writer, str_from_c(shape->one_of[i]));
    json_write_end_array(writer);
}

static void write_properties(JsonWriter *writer, const Shape *shape) {
    json_write_key(writer, STR("properties"));
    json_write_object(writer);
    for (size_t i = 0; i < shape->n_fields; i++) {
        const Field *field = &shape->fields[i];

        json_write_key(writer, field->name);
        write_schema(writer, field->shape, field->about);
    }
    for (size_t i = 0; shape->kinds && i < *shape->n_kinds; i++) {
        json_write_key(writer, shape->kinds[i]->field);
        write_schema(writer, shape->kinds[i]->shape, shape->kinds[i]->summary);
    }
    if (shape->or_field) {
        json_write_key(writer, str_from_c(shape->or_field));
        write_schema(writer, &shape_expression, NULL);
    }
    json_write_end_object(writer);
}

static void write_object(JsonWriter *writer, const Shape *shape) {
    write_text(writer, "type", "object");
    write_limits(writer, shape, "minProperties", "maxProperties");
    write_properties(writer, shape);
    json_write_key(writer, STR("additionalProperties"));
    json_write_bool(writer, false);
    write_required(writer, shape);
    if (shape->kinds || shape->one_of)
        write_choices(writer, shape);
}

static void write_either(JsonWriter *writer, const Shape *shape) {
    json_write_key(writer, STR("anyOf"));
    json_write_array(writer);
    write_schema(writer, shape->of, NULL);
    write_schema(writer, shape->other, NULL);
    json_write_end_array(writer);
}

static void write_body(JsonWriter *writer, const Shape *shape) {
    switch (shape->kind) {
    case SHAPE_LIST:
        write_list(writer, shape);
        return;
    case SHAPE_MAP:
        write_map(writer, shape);
        return;
    case SHAPE_OBJECT:
        write_object(writer, shape);
        return;
    case SHAPE_EITHER:
        write_either(writer, shape);
        return;
    default:
        write_scalar(writer, shape);
    }
}

static void write_schema(JsonWriter *writer, const Shape *shape, const char *about) {
    json_write_object(writer);
    if (shape->kind == SHAPE_EXPRESSION)
        about = about ? about : "CEL";
    if (about)
        write_text(writer, "description", about);
    if (shape == &shape_selector)
        write_text(writer, "$ref", SELECTOR);
    else
        write_body(writer, shape);
    json_write_end_object(writer);
}

void policy_json_schema(Buf *out) {
    JsonWriter writer = {.out = out, .indent = 1};

    json_write_object(&writer);
    write_text(&writer, "$schema", DIALECT);
    write_text(&writer, "title", "berth PlacementPolicy");
    write_body(&writer, &policy_shape);
    json_write_key(&writer, STR("$defs"));
    json_write_object(&writer);
    json_write_key(&writer, STR("selector"));
    json_write_object(&writer);
    write_body(&writer, &shape_selector);
    json_write_end_object(&writer);
    json_write_end_object(&writer);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}
