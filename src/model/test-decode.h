#pragma once

/* Checks for every decoder of an object, and reading a pod for tests. */

#include <stdlib.h>

#include "base/test-assert.h"
#include "model/pod.h"
#include "json/read.h"

static inline JsonError decode_pod(Str text, Arena *arena, Pod *ret) {
    JsonReader reader;

    json_reader_init(&reader, text);
    pod_decode(&reader, arena, ret);
    json_end(&reader);
    return json_error(&reader);
}

typedef JsonError (*Decode)(Str text, Arena *arena);

/* Every proper prefix of @whole is an error, and no byte beyond its end is read. */
static inline void check_every_cut(Str whole, Decode decode) {
    for (size_t len = 0; len < whole.len; len++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        char *text = malloc(len > 0 ? len : 1);

        assert_non_null(text);
        memcpy(text, whole.ptr, len);
        assert_int_not_equal(decode(str_of(text, len), arena), JSON_OK);
        free(text);
    }
}

/* With any budget: an error, never half an object. */
static inline void check_every_budget(Str whole, Decode decode) {
    size_t budget = 0;
    JsonError error;

    do {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget++);

        error = decode(whole, arena);
        assert_true(error == JSON_OK || error == JSON_E_MEMORY);
    } while (error != JSON_OK);
    assert_in_range(budget, 100, 10000);
}
