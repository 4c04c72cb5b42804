#include "cel/library.h"

static const CelOverloadSpec overloads[] = {};

CEL_LIBRARY(cel_strings_library, "strings", overloads);
