#pragma once

/* Lifetime: how much is left of a certificate. */

#include <stdbool.h>

#include "checkup/verdict.h"

/* A certificate of 90 days, as cert-manager makes them unless told otherwise, is renewed when 30
 * are left: a warning at 60, as one would like for those of a year, would be there for a third
 * of its life, with nothing wrong. */
#define LIFETIME_WARN_DAYS 30
#define LIFETIME_FAIL_DAYS 7

/* Speaks of one that ends in @sec seconds, if it should. False, saying nothing: 0, not known. */
bool lifetime_judge(const char *where, double sec, Verdict *verdict);
