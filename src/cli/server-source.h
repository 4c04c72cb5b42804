#pragma once

/* ServerSource: the running berths that a command sends requests to, and the credentials for them.
 *
 * Either one server, by its URL; or all replicas in a cluster, through the API server of a
 * kubeconfig (cli/replicas.h). The first of these counts: options of the command line,
 * $BERTH_SERVER, the configuration file, the default.
 */

#include "cli/berth-client.h"
#include "cli/cluster-source.h"
#include "cli/option.h"

/* The default address of `berth serve`. */
#define SERVER_SOURCE_DEFAULT "http://127.0.0.1:8080"
#define SERVER_SOURCE_VARIABLE "BERTH_SERVER"

typedef struct ServerSource {
    BerthAccess access;
    ClusterSource cluster; /* --kubeconfig, --context, --in-cluster */
    const char *namespace; /* --berth-namespace */
    bool prefers_cluster;  /* if nothing is given: the cluster, not the default server */
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
        .initial = "$BERTH_SERVER, or " SERVER_SOURCE_DEFAULT, .help = "a running berth"},         \
        SERVER_SOURCE_ACCESS_OPTIONS(type, member)
#define SERVER_SOURCE_NAMESPACE_OPTION(type, member)                                               \
    {                                                                                              \
        "berth-namespace", OPTION_TEXT, .argument = "NAME", OPTION_AT(type, member.namespace),     \
                                        .initial = "all, or berth-system",                         \
                                        .check = value_check_namespace,                            \
                                        .help = "where berth's pods are"                           \
    }
/* All these options, under a heading. */
#define SERVER_SOURCE_GROUP(type, member)                                                          \
    OPTION_GROUP("The running berth",                                                              \
        "One server, or all replicas in a cluster: these are found "                               \
        "and asked through its API server, with --kubeconfig, "                                    \
        "--context or --in-cluster, and always as `kubectl berth`."),                              \
        SERVER_SOURCE_OPTIONS(type, member), CLUSTER_SOURCE_LIVE_OPTIONS(type, member.cluster),    \
        SERVER_SOURCE_NAMESPACE_OPTION(type, member)

/* Whether an option for one server was given: its address, or a credential. */
bool server_source_is_given(const ServerSource *source);

/* NULL when its options are consistent; else the error. */
const char *server_source_check(const ServerSource *source);

/* Whether to use the replicas of a cluster, by the options, the environment, and whether there is a
 * configuration file. @arena is for temporary data. */
bool server_source_is_cluster(const ServerSource *source, Arena *arena);

/* Fills in the address of one server. If it is from the configuration file, so are the credentials,
 * which are in @arena. If the token cannot be read, the process ends (cli/terminal.h). */
void server_source_open(ServerSource *source, Arena *arena);

/* Only checks the token, for commands with servers of their own. */
void server_source_check_token(const ServerSource *source);
