#pragma once

/* JSON of the demo's own objects, written with formats. */

#include "base/buf.h"

/* Appends @format, in which ' stands for ". Strings among the arguments need no escapes. */
__attribute__((format(printf, 2, 3))) void json_put(Buf *out, const char *format, ...);

typedef struct JsonPair {
    const char *key, *value;
} JsonPair;

/* Appends the members "key":"value", escaped where needed; those without a value are left out. */
void json_put_pairs(Buf *out, const JsonPair *pairs, size_t n);

/* "2026-01-02T11:04:05Z". */
#define JSON_TIME_MAX 32u
const char *json_time(int64_t sec, char text[static JSON_TIME_MAX]);
