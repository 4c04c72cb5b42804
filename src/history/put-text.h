#pragma once

/* Texts of a struct in one block of memory behind it. */

#include "base/str.h"

/* A copy of @text at *@at, which is advanced. */
static inline Str put_text(char **at, Str text) {
    Str copy = str_of(*at, text.len);

    if (text.len > 0)
        memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return copy;
}
