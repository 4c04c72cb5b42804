#include "cel/library.h"

static const CelOverloadSpec overloads[] = {};

CEL_LIBRARY(cel_standard_library, "standard", overloads);
