#pragma once

/*
 * Shape: what may stand at a place of a policy file, as data.
 *
 * One table describes each mapping of the format: it reads the file (reader.h), finds what is
 * unknown and what was meant, and becomes the JSON Schema for editors (json-schema.h). So the
 * three cannot differ.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

typedef enum ShapeKind {
    SHAPE_ANY,
    SHAPE_STRING, /* like @pattern, if that is given */
    SHAPE_BOOL,
    SHAPE_TRUE,       /* a switch: to leave it out is the only other way */
    SHAPE_INT,        /* min..max */
    SHAPE_NUMBER,     /* min..max; with @is_above more than min */
    SHAPE_SCALAR,     /* a string as written: labels' values, where 1 and true need no quotes */
    SHAPE_AMOUNT,     /* a quantity, not below 0, or a share: 500m, 1.5Gi, 10% */
    SHAPE_DURATION,   /* 90s, 5m, 2h30m */
    SHAPE_EXPRESSION, /* CEL */
    SHAPE_WORD,       /* one of @words */
    SHAPE_LIST,       /* of @of, at least @min, at most @max (0: no limit) */
    SHAPE_MAP,        /* any key to @of; the same limits */
    SHAPE_OBJECT,     /* @fields; at least @min of them */
    SHAPE_EITHER,     /* @of or @other */
} ShapeKind;

typedef struct Field Field;       /* reader.h */
typedef struct RuleKind RuleKind; /* kind.h */
typedef struct Shape Shape;

struct Shape {
    ShapeKind kind;
    double min, max;
    bool is_above;
    const char *const *words; /* NULL behind the last */
    const char *pattern;      /* a regular expression for the JSON Schema */
    const Shape *of, *other;
    const Field *fields;
    size_t n_fields;
    const RuleKind *const *kinds; /* OBJECT: exactly one of these besides, or @or_field */
    const size_t *n_kinds;
    const char *or_field;
    const char *const *one_of; /* OBJECT: exactly one of these fields; NULL behind the last */
};

/* The plain ones. */
extern const Shape shape_any, shape_string, shape_name, shape_bool, shape_true, shape_scalar;
extern const Shape shape_duration, shape_expression;
extern const Shape shape_points;   /* of a score: 0 to 100 */
extern const Shape shape_scalars;  /* a list of at least one */
extern const Shape shape_selector; /* matchLabels, matchExpressions */
