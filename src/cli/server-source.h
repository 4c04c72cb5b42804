#pragma once

/* ServerSource: the running berth that a command sends requests to, and the credentials for it. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "bundle/bundle.h"
#include "cli/berth-client.h"
#include "cli/option.h"

/* Where `berth serve` listens by default. */
#define SERVER_SOURCE_DEFAULT "http://127.0.0.1:8080"

typedef struct ServerSource {
    BerthAccess access;
} ServerSource;

/* Rows of an option table whose settings of type @type hold a ServerSource at @member. A command
 * with several servers has a --server of its own. */
#define SERVER_SOURCE_ACCESS_OPTIONS(type, member)                                                 \
    {"ca", OPTION_FILE, .argument = "FILE", OPTION_AT(type, member.access.ca),                     \
        .help = "CA that signed its certificate (PEM)"},                                           \
        {"cert", OPTION_FILE, .argument = "FILE", OPTION_AT(type, member.access.cert),             \
            .help = "client certificate for it (PEM), with --key"},                                \
        {"key", OPTION_FILE, .argument = "FILE", OPTION_AT(type, member.access.key),               \
            .help = "private key of --cert (PEM)"},                                                \
    {                                                                                              \
        "token-file", OPTION_FILE, .argument = "FILE", OPTION_AT(type, member.access.token_file),  \
                                   .help = "bearer token for it (berth serve --pages-token-file)"  \
    }
#define SERVER_SOURCE_OPTIONS(type, member)                                                        \
    {"server", OPTION_TEXT, .argument = "URL", OPTION_AT(type, member.access.server),              \
        .initial = SERVER_SOURCE_DEFAULT, .help = "a running berth"},                              \
        SERVER_SOURCE_ACCESS_OPTIONS(type, member)

/* Whether any of its options was given. */
bool server_source_is_given(const ServerSource *source);

/* NULL when its options are consistent; else the error. */
const char *server_source_check(const ServerSource *source);

/* Fills in the default server, and checks that the token can be read. 0; or an exit code, after an
 * error message of @who. */
int server_source_open(ServerSource *source, const char *who);

/* The bundle of a command: from a file, or from a running berth. */

/* Which decisions, and how. */
typedef struct BundleRequest {
    int64_t last;
    bool is_anonymous;
    bool only_digest;
} BundleRequest;

/* Each returns 0; or an exit code, after complaining as @who. */

/* The file as a berth sends it, in @arena. */
int bundle_source_fetch(
    ServerSource *source, const BundleRequest *request, const char *who, Arena *arena, Str *ret);

/* The content of @file; @name is for messages. bundle_done() ends it, also after a failure. */
int bundle_source_unpack(Str file, const char *name, const char *who, Bundle *ret);

/* The same of a file by its path. */
int bundle_source_load(const char *path, const char *who, Bundle *ret);
