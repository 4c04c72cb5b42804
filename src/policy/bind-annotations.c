/* Reads bind.annotations: `key: value`, or `key: {expression: …}`. */

#include "policy/bind-annotations.h"

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
const Shape bind_annotations_shape = {
    .kind = SHAPE_MAP, .of = &annotation_shape, .max = BIND_ANNOTATIONS_MAX};

/* False after an error, which has been reported. */
static bool read_value(
    YamlReader *reader, const YamlNode *value, Scope *scope, BindAnnotation *ret) {
    AnnotationFields fields = {0};

    if (value->kind != YAML_MAPPING)
        return reader_label_value(reader, value, "an annotation's value", &ret->value);
    reader_fields(reader, value, "an annotation", &annotation_mapping, &fields);
    ret->on_error = fields.on_error;
    return fields.expression && expression_read(reader, scope, fields.expression, "expression",
                                    EXPRESSION_BIND, &ret->expression);
}

void bind_annotations_read(YamlReader *reader, const YamlNode *value, Policy *policy) {
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
            read_value(reader, value->pairs[i].value, policy->scope, annotation))
            policy->n_bind_annotations++;
    }
}
