#pragma once

/* Number: reads texts as CEL's conversions do. Each returns false, with @ret unchanged, if @text is
 * no such number. */

#include "base/str.h"

/* int("-5"): digits with a sign or without. */
bool cel_number_int(Str text, int64_t *ret);

/* uint("5"): digits only. */
bool cel_number_uint(Str text, uint64_t *ret);

/* double("1.5"): decimal, hexadecimal with a p exponent, inf, infinity and nan in any case; "_"
 * between digits. A number that is too large is rejected; one that is too small is 0. */
bool cel_number_double(Str text, double *ret);
