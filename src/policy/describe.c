/* Writes the format of a policy as Markdown tables; rules have their own tables. */

#include "policy/policy.h"

#define PATH_MAX_BYTES 256u

/* Recursive, for lists of lists. */
static void describe_shape(Buf *out, const Shape *shape) {
    static const char *const plain[] = {
        [SHAPE_ANY] = "any value",
        [SHAPE_STRING] = "string",
        [SHAPE_BOOL] = "true or false",
        [SHAPE_TRUE] = "`true`",
        [SHAPE_SCALAR] = "value",
        [SHAPE_AMOUNT] = "quantity or share: `500m`, `10%`",
        [SHAPE_DURATION] = "duration: `90s`, `2h30m`, `30d`",
        [SHAPE_EXPRESSION] = "CEL",
        [SHAPE_OBJECT] = "mapping",
    };

    switch (shape->kind) {
    case SHAPE_INT:
    case SHAPE_NUMBER:
        buf_append(out, shape->kind == SHAPE_INT ? STR("integer") : STR("number"));
        if (shape->min > -9e18 && shape->max < 9e18) /* an int always has both */
            buf_printf(out, shape->is_above ? " over %.10g, to %.10g" : " from %.10g to %.10g",
                shape->min, shape->max);
        return;
    case SHAPE_WORD:
        for (size_t i = 0; shape->words[i]; i++)
            buf_printf(out, "%s`%s`", i > 0 ? ", " : "", shape->words[i]);
        return;
    case SHAPE_LIST:
    case SHAPE_MAP:
        buf_printf(out, "%s%s: ", shape->kind == SHAPE_LIST ? "list" : "map",
            shape->min > 0 ? ", not empty" : "");
        describe_shape(out, shape->of);
        return;
    case SHAPE_EITHER:
        describe_shape(out, shape->of);
        buf_append(out, STR("; or "));
        describe_shape(out, shape->other);
        return;
    default:
        if (shape == &shape_selector)
            buf_append(out, STR("selector"));
        else
            buf_append(out, str_from_c(plain[shape->kind]));
    }
}

static void describe_fields(Buf *out, Buf *path, const Shape *shape);

/* Describes the fields inside @shape, which is at @path. */
static void describe_inside(Buf *out, Buf *path, const Shape *shape) {
    size_t len = path->len;

    switch (shape->kind) {
    case SHAPE_OBJECT:
        if (shape != &shape_selector)
            describe_fields(out, path, shape);
        return;
    case SHAPE_LIST:
    case SHAPE_MAP:
        buf_append(path, shape->kind == SHAPE_LIST ? STR("[]") : STR(".KEY"));
        describe_inside(out, path, shape->of);
        path->len = len;
        return;
    case SHAPE_EITHER:
        describe_inside(out, path, shape->of);
        describe_inside(out, path, shape->other);
        return;
    default:
        return;
    }
}

static void describe_field(Buf *out, Buf *path, const Field *field) {
    size_t len = path->len;

    buf_printf(path, "%s%.*s", len > 0 ? "." : "", STR_FMT(field->name));
    buf_printf(out, "| `%.*s`%s | ", STR_FMT(buf_str(path)), field->is_required ? " *" : "");
    describe_shape(out, field->shape);
    buf_printf(out, " | %s |\n", field->about ? field->about : "");
    describe_inside(out, path, field->shape);
    path->len = len;
}

static void describe_fields(Buf *out, Buf *path, const Shape *shape) {
    for (size_t i = 0; i < shape->n_fields; i++)
        describe_field(out, path, &shape->fields[i]);
}

static void describe_head(Buf *out, const char *title) {
    buf_printf(out, "%s\n\n| field | type | description |\n|---|---|---|\n", title);
}

static void describe_kinds(
    Buf *out, Buf *path, const char *title, const RuleKind *const *kinds, size_t n_kinds) {
    describe_head(out, title);
    for (size_t i = 0; i < n_kinds; i++)
        describe_field(out, path,
            &(Field){kinds[i]->field, .shape = kinds[i]->shape, .about = kinds[i]->summary});
}

void policy_describe(Buf *out) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES);

    describe_head(out, "### A policy");
    describe_fields(out, &path, &policy_shape);
    describe_head(out, "\n### Selectors");
    describe_fields(out, &path, &shape_selector);
    describe_kinds(
        out, &path, "\n### Filters: one of these, or `expression`", filter_kinds, n_filter_kinds);
    describe_kinds(
        out, &path, "\n### Scores: one of these, or `expression`", score_kinds, n_score_kinds);
}
