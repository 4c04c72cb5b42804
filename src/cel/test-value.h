#pragma once

/* Values in tests: short constructors, and printing. */

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/run.h"
#include "cel/value.h"

#define TEST_BUDGET ((size_t)1024 * 1024)
#define S(literal) cel_string(STR(literal))
#define B(literal) cel_bytes(STR(literal))

/* Compares with the text that cel_value_print() writes; errors are "error: …". */
static inline void assert_value(CelRun *run, const char *name, CelValue got, const char *want) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEST_BUDGET);

    cel_value_print(got, run, 0, &out);
    assert_text(name, buf_str(&out), want);
}
