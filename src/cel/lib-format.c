#include "cel/library.h"

static const CelOverloadSpec overloads[] = {};

CEL_LIBRARY(cel_format_library, "format", overloads);
