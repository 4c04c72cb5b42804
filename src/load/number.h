#pragma once

/*
 * Number: the numbers of an answer, from text.
 *
 * An answer holds thousands of them; most have few digits and no exponent, and are read without
 * libc. The result is always the double nearest to what is written.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* A value as Prometheus writes it: decimal, or "NaN", "+Inf", "-Inf" ("Inf"). Too large is
 * infinite. False: it is none of these. */
bool number_parse(Str text, double *ret);

/* Seconds since 1970, with a fraction or an exponent, as milliseconds; a further fraction is
 * dropped. False: it is no such time, or not one of the years up to 9999. */
bool number_parse_time(Str text, int64_t *ret_msec);
