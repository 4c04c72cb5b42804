#include "cel/library.h"

static const CelOverloadSpec overloads[] = {};

CEL_LIBRARY(cel_net_library, "net", overloads);
