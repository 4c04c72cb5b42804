#include "cel/library.h"

static const CelOverloadSpec overloads[] = {};

CEL_LIBRARY(cel_math_library, "math", overloads);
