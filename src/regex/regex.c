#include "regex/regex.h"
