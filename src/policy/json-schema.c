/*
 * The format of a policy as a JSON Schema, for editors, and as the schema of a
 * CustomResourceDefinition. Neither knows valid expressions or which names are taken: `berth check`
 * does.
 */

#include "policy/kind.h"
#include "policy/policy.h"
#include "json/write.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"
#define SELECTOR "#/$defs/selector" /* used in many places */
#define INT_OR_STRING "x-kubernetes-int-or-string"
#define ANY_FIELDS "x-kubernetes-preserve-unknown-fields"
#define PATTERN_MAX 256u
#define RULE_MAX 2048u /* of the API server: a message */

/* As kind-resources.c and reader.c read them. */
#define NUMBER "([0-9]+(\\.[0-9]*)?|\\.[0-9]+)"
#define QUANTITY "[+]?" NUMBER "([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?"
#define SHARE NUMBER " *%"
#define DURATION "[0-9]+d|([0-9]+d)?(" NUMBER "(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+"

/* The API server wants a structural schema: one type for each value, no references, and unknown
 * fields are its own affair. A value of several types has none there; what is said about it holds
 * for the type that it is about. */
typedef struct SchemaWriter {
    JsonWriter json;
    bool is_structural;
    bool is_untyped; /* structural: one of the types of a value */
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

static void write_type(SchemaWriter *schema, const char *type) {
    if (!schema->is_untyped)
        write_text(&schema->json, "type", type);
}

/* --- scalars ------------------------------------------------------------------------- */

/* A bound as YAML 1.1 reads it, too, which takes 1e+18 for a string. */
static bool is_bound(const SchemaWriter *schema, double bound) {
    return !schema->is_structural || (bound > -1e15 && bound < 1e15);
}

static void write_range(SchemaWriter *schema, const Shape *shape) {
    JsonWriter *writer = &schema->json;
    bool is_exclusive = shape->is_above && !schema->is_structural;

    write_type(schema, shape->kind == SHAPE_INT ? "integer" : "number");
    if (is_bound(schema, shape->min))
        json_member_double(writer, is_exclusive ? "exclusiveMinimum" : "minimum", shape->min);
    if (shape->is_above && schema->is_structural)
        json_member_bool(writer, "exclusiveMinimum", true);
    if (is_bound(schema, shape->max))
        json_member_double(writer, "maximum", shape->max);
}

/* A value of one of @types; a structural schema has one type, or integer and string. */
static void write_types(SchemaWriter *schema, const char *const *types) {
    if (!schema->is_structural)
        write_strings(&schema->json, "type", types);
    else if (!schema->is_untyped)
        json_member_bool(&schema->json, INT_OR_STRING, true);
}

/* A list of words would be about values of all types; a pattern is about strings. */
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

static void write_true(SchemaWriter *schema) {
    if (!schema->is_structural) {
        json_member_bool(&schema->json, "const", true);
        return;
    }
    write_text(&schema->json, "type", "boolean");
    json_member_array(&schema->json, "enum");
    json_write_bool(&schema->json, true);
    json_write_end_array(&schema->json);
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
        write_words(schema, shape);
        return;
    case SHAPE_SCALAR:
        write_types(schema, any);
        return;
    case SHAPE_EXPRESSION: /* true and 50 are expressions, too */
        write_types(schema, any);
        if (schema->is_structural)
            json_member_double(writer, "minLength", 1);
        return;
    default: /* ANY */
        if (schema->is_structural && !schema->is_untyped)
            json_member_bool(writer, ANY_FIELDS, true);
        return;
    }
}

/* --- containers ------------------------------------------------------------------------ */

/* @about may be NULL. Recursive: shapes nest. */
static void write_schema(SchemaWriter *schema, const Shape *shape, const char *about);
static void write_body(SchemaWriter *schema, const Shape *shape);

/* A limit of 0 means none. */
static void write_limits(SchemaWriter *schema, const Shape *shape) {
    JsonWriter *writer = &schema->json;
    bool is_list = shape->kind == SHAPE_LIST;

    write_type(schema, is_list ? "array" : "object");
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

static const Field *find_field(const Shape *shape, const char *name) {
    for (size_t i = 0; i < shape->n_fields; i++)
        if (str_is(shape->fields[i].name, name))
            return &shape->fields[i];
    return NULL;
}

/* A validation of the API server: @text in a list of CEL, and the message. */
static void write_rule(JsonWriter *writer, const Buf *text, const char *about, const Buf *names) {
    _cleanup_(buf_done) Buf rule = BUF_INIT(RULE_MAX), message = BUF_INIT(RULE_MAX);

    buf_printf(&rule, "[%.*s", STR_FMT(buf_str(text)));
    buf_printf(&message, "%s%.*s", about, STR_FMT(buf_str(names)));
    json_member_array(writer, "x-kubernetes-validations");
    json_write_object(writer);
    json_write_member(writer, STR("rule"), buf_str(&rule));
    json_write_member(writer, STR("message"), buf_str(&message));
    json_write_end_object(writer);
    json_write_end_array(writer);
}

/* The kinds, or some fields, of which exactly one is given. The first is what the API server calls
 * missing if none is there: an expression would do. */
typedef struct Choice {
    Str name;
    const Shape *shape;
} Choice;

static bool next_choice(const Shape *shape, size_t i, Choice *ret) {
    if (shape->kinds && i == 0)
        *ret = (Choice){str_from_c(shape->or_field), &shape_expression};
    else if (shape->kinds && i <= *shape->n_kinds)
        *ret = (Choice){shape->kinds[i - 1]->field, shape->kinds[i - 1]->shape};
    else if (!shape->kinds && shape->one_of[i])
        *ret = (Choice){str_from_c(shape->one_of[i]), find_field(shape, shape->one_of[i])->shape};
    else
        return false;
    return true;
}

/* Whether expressions of the API server see a value: it must have a type. */
static bool is_exposed(const Shape *shape) {
    if (shape->kind == SHAPE_LIST || shape->kind == SHAPE_MAP)
        return is_exposed(shape->of);
    return shape->kind != SHAPE_EITHER && shape->kind != SHAPE_ANY;
}

/* With a message that names the choices. Those that expressions do not see are left to oneOf, whose
 * message does not. */
static void write_choices(SchemaWriter *schema, const Shape *shape) {
    _cleanup_(buf_done) Buf has = BUF_INIT(RULE_MAX), names = BUF_INIT(RULE_MAX);
    JsonWriter *writer = &schema->json;
    size_t n = 0, n_exposed = 0;
    Choice choice;
    bool are_all;

    for (; next_choice(shape, n, &choice); n++) {
        buf_printf(&names, "%s%.*s", n > 0 ? ", " : "", STR_FMT(choice.name));
        if (is_exposed(choice.shape))
            buf_printf(&has, "%shas(self.%.*s)", n_exposed++ > 0 ? ", " : "", STR_FMT(choice.name));
    }
    are_all = n_exposed == n;
    if (!schema->is_structural || !are_all) {
        json_member_array(writer, "oneOf");
        for (size_t i = 0; next_choice(shape, i, &choice); i++) {
            json_write_object(writer);
            json_member_texts(writer, "required", &choice.name, 1);
            json_write_end_object(writer);
        }
        json_write_end_array(writer);
    }
    if (!schema->is_structural)
        return;
    buf_printf(&has, "].filter(given, given).size() %s 1", are_all ? "==" : "<=");
    write_rule(writer, &has, are_all ? "needs exactly one of: " : "needs only one of: ", &names);
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

static void write_object(SchemaWriter *schema, const Shape *shape) {
    write_limits(schema, shape);
    write_properties(schema, shape);
    if (!schema->is_structural)
        json_member_bool(&schema->json, "additionalProperties", false);
    write_required(&schema->json, shape);
    if (shape->kinds || shape->one_of)
        write_choices(schema, shape);
}

static void write_either(SchemaWriter *schema, const Shape *shape) {
    if (schema->is_structural) {
        if (!schema->is_untyped)
            json_member_bool(&schema->json, ANY_FIELDS, true);
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
        /* Rules of a policy have names of their own; so the API server refuses a name that is used
         * twice, and changes by field managers are merged. */
        if (schema->is_structural && shape->kind == SHAPE_LIST && shape->of->n_fields > 0 &&
            shape->of->fields[0].is_required && str_is(shape->of->fields[0].name, "name")) {
            write_text(writer, "x-kubernetes-list-type", "map");
            json_member_texts(writer, "x-kubernetes-list-map-keys", &shape->of->fields[0].name, 1);
        }
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
    bool was_untyped = schema->is_untyped;

    schema->is_untyped = false;
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
    schema->is_untyped = was_untyped;
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
