#include "policy/shape.h"

const Shape shape_any = {.kind = SHAPE_ANY};
const Shape shape_string = {.kind = SHAPE_STRING};
const Shape shape_name = {.kind = SHAPE_STRING, .pattern = "^[A-Za-z0-9_.-]{1,63}$"};
const Shape shape_bool = {.kind = SHAPE_BOOL};
const Shape shape_true = {.kind = SHAPE_TRUE};
const Shape shape_scalar = {.kind = SHAPE_SCALAR};
const Shape shape_duration = {.kind = SHAPE_DURATION};
const Shape shape_expression = {.kind = SHAPE_EXPRESSION};
const Shape shape_points = {.kind = SHAPE_NUMBER, .min = 0, .max = 100};
const Shape shape_scalars = {.kind = SHAPE_LIST, .of = &shape_scalar, .min = 1};
