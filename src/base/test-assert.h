#pragma once

/* Assertions of our own, on top of cmocka, which wants these headers before it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

/* A Str against a C string; @name is the case's. */
#define assert_text(name, got, want) assert_text_at((name), (got), (want), __FILE__, __LINE__)

static inline void assert_text_at(
    const char *name, Str got, const char *want, const char *file, int line) {
    if (str_is(got, want))
        return;
    print_error("%s:\n  got  \"%.*s\"\n  want \"%s\"\n", name, STR_FMT(got), want);
    _fail(file, line);
}

/* A condition in a table of cases: says which case it was. */
#define assert_case(name, condition)                                                               \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            print_error("%s: %s does not hold\n", (name), #condition);                             \
            _fail(__FILE__, __LINE__);                                                             \
        }                                                                                          \
    } while (0)
