#pragma once

/* Asks jansson whether a text is valid. In a separate file because its header and ours share names
 * (json_object, JSON_STRING, ...). */

#include <stddef.h>

typedef enum OracleSays {
    ORACLE_ACCEPTS,
    ORACLE_REJECTS,
    ORACLE_ABSTAINS, /* not comparable, because of jansson's limits: number range, depth, NUL in a
                        key */
} OracleSays;

OracleSays oracle_ask(const char *text, size_t len);
