#pragma once

/* Stores the texts of a struct behind it, in the same block of memory. */

#include "base/str.h"

/* Copies @text to *@at, and advances *@at. */
static inline Str put_text(char **at, Str text) {
    Str copy = str_of(*at, text.len);

    if (text.len > 0)
        memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return copy;
}
