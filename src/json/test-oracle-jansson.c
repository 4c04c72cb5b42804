#include "json/test-oracle.h"

#include <jansson.h>

OracleSays oracle_ask(const char *text, size_t len) {
    /* Any value may be at the top, and \u0000 is legal JSON. Integers are read as reals, because
     * jansson refuses those over 64 bits, and our reader keeps numbers as text. */
    size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    json_error_t error;
    json_t *value = json_loadb(text, len, flags, &error);

    if (value) {
        json_decref(value);
        return ORACLE_ACCEPTS;
    }
    switch (json_error_code(&error)) {
    case json_error_numeric_overflow:
    case json_error_stack_overflow:
    case json_error_null_byte_in_key:
        return ORACLE_ABSTAINS;
    default:
        return ORACLE_REJECTS;
    }
}
