#pragma once

/*
 * ServerSource: the berth that a command asks, and how it gets in.
 */

#include <stdbool.h>

#include "base/arena.h"
#include "cli/berth-client.h"

/* Where `berth serve` listens unless it is told otherwise. */
#define SERVER_SOURCE_DEFAULT "http://127.0.0.1:8080"

typedef struct ServerSource {
    BerthAccess access;
} ServerSource;

/* The lines about these options in a command's help. */
#define SERVER_SOURCE_ACCESS_HELP                                                                  \
    "  --ca FILE             who may have signed its certificate (PEM)\n"                          \
    "  --cert FILE --key FILE  who we are to it: a client certificate (PEM)\n"                     \
    "  --token-file FILE     or a token (berth serve --pages-token-file)\n"
#define SERVER_SOURCE_HELP                                                                         \
    "  --server URL          the berth to ask                 [" SERVER_SOURCE_DEFAULT             \
    "]\n" SERVER_SOURCE_ACCESS_HELP

enum {
    SERVER_SOURCE_SERVER = 704,
    SERVER_SOURCE_CA,
    SERVER_SOURCE_CERT,
    SERVER_SOURCE_KEY,
    SERVER_SOURCE_TOKEN_FILE,
};

/* For getopt_long(); the values are for server_source_set(). As with the lines above, a command
 * that asks several berths has a --server of its own. */
#define SERVER_SOURCE_ACCESS_OPTIONS                                                               \
    {"ca", required_argument, NULL, SERVER_SOURCE_CA},                                             \
        {"cert", required_argument, NULL, SERVER_SOURCE_CERT},                                     \
        {"key", required_argument, NULL, SERVER_SOURCE_KEY}, {                                     \
        "token-file", required_argument, NULL, SERVER_SOURCE_TOKEN_FILE                            \
    }
#define SERVER_SOURCE_OPTIONS                                                                      \
    {"server", required_argument, NULL, SERVER_SOURCE_SERVER}, SERVER_SOURCE_ACCESS_OPTIONS

/* True when @option was one of the above. */
bool server_source_set(ServerSource *source, int option, const char *value);

/* Whether any of its options was given. */
bool server_source_is_given(const ServerSource *source);

/* NULL when its options go together; else what is wrong. */
const char *server_source_check(const ServerSource *source);

/* Fills in the default server, and checks that the token can be read. 0; or an exit code, after an
 * error message of @who. */
int server_source_open(ServerSource *source, const char *who);
