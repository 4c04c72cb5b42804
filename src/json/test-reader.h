#pragma once

/* Checks the state of a reader, for tests. */

#include "base/test-assert.h"
#include "json/read.h"

/* @at is ignored for JSON_OK. */
static inline void assert_error(const JsonReader *reader, JsonError error, size_t at) {
    assert_int_equal(json_error(reader), error);
    if (error != JSON_OK)
        assert_int_equal(reader->error_at, at);
}
