#pragma once

/*
 * MetricSource: a server that answers PromQL, as the operator has configured it.
 *
 * Policies name sources, never addresses: the operator configures where berth connects to. A policy
 * can only cause a query to a server of this list.
 */

#include "kube/access.h"
#include "kube/client.h"

#define SOURCES_MAX 16u
#define SOURCE_HEADERS_MAX ACCESS_HEADERS_MAX

typedef struct MetricSource {
    Str name; /* policies that name no source mean "default" */
    /* Its url ends before /api/v1/query. source_access() sets its name, and which addresses are
     * refused. */
    AccessServer server;
    bool may_be_link_local; /* 169.254.0.0/16, fe80::/10: where clouds keep credentials */
} MetricSource;

typedef struct MetricSources {
    const MetricSource *items;
    size_t n;
} MetricSources;

#define SOURCE_DEFAULT_NAME "default"

/* The name of the source: the default one if @name is empty. */
static inline Str source_meant(Str name) {
    return str_is_empty(name) ? STR(SOURCE_DEFAULT_NAME) : name;
}

/* The source named @name. NULL: none. */
const MetricSource *sources_find(const MetricSources *sources, Str name);

/* An address can be written in many ways, so berth checks what it connects to, not the text. */
typedef enum AddressKind {
    ADDRESS_PLAIN,
    ADDRESS_LINK_LOCAL,
    ADDRESS_OF_CLOUD, /* clouds serve credentials there, though it is not link-local */
    ADDRESS_MULTICAST,
    ADDRESS_UNSPECIFIED,
    ADDRESS_FOREIGN, /* neither IPv4 nor IPv6 */
} AddressKind;

/* @address: a struct sockaddr of @len bytes. If an IPv6 address has an IPv4 one inside (mapped,
 * compatible, NAT64, 6to4), that counts, too. */
AddressKind address_kind(const void *address, size_t len);

/* Why berth does not connect to @address, a struct sockaddr of @len bytes (AddressRefusal in
 * kube/access.h); NULL: it does. Always refused: multicast, unspecified and other families. Refused
 * unless @may_be_link_local: link-local addresses, also IPv4 ones inside IPv6, and addresses from
 * which clouds serve credentials. */
const char *source_address_refusal(const void *address, size_t len, bool may_be_link_local);

#define SOURCE_URL_MAX 2048u
#define SOURCE_TEXT_MAX 160u

/* Something wrong with a source, or worth a warning. */
typedef struct SourceFault {
    bool is_warning;
    bool is_secret;    /* the value is a password and must not be shown */
    const char *field; /* as the file calls it: "url", "tls.keyFile" */
    Str header;        /* its name, for field "headers"; else empty */
    char text[SOURCE_TEXT_MAX];
    const char *hint; /* NULL: none */
} SourceFault;

#define SOURCE_FAULTS_MAX (SOURCE_HEADERS_MAX + 16u)

/* Finds the faults of a source's server; returns their number. */
size_t source_faults(const AccessServer *server, SourceFault ret[SOURCE_FAULTS_MAX]);

/* Makes the access to a source (kube/access.h), which the caller frees: without a proxy, never to a
 * refused address, with credentials from files, which need not exist yet. 0; or -EINVAL or -ENOMEM
 * with a message in @error (ACCESS_ERROR_MAX). */
int source_access(const MetricSource *source, Access **ret, char *error) MUST_CHECK;

/* Connections are made on any thread, and used on the poll queue's. */

/* Limits of requests under way. One server has at most POLL_SHARE_MAX; failing servers have one
 * each, and POLL_SHARE_MAX together. So sources that answer are polled in time. */
#define POLL_REQUESTS_MAX 4u
#define POLL_SHARE_MAX (POLL_REQUESTS_MAX - 1)

typedef struct SourceConnection {
    char *name; /* of the source; NULL: the API server */
    Access *access;
    bool owns_access;
    Client *client; /* NULL: not made yet */

    bool wants_get; /* it rejects POST */
    /* A request got no answer, or a 5xx, and no other has been answered since it was sent. */
    bool is_failing;
    int64_t answered_nsec; /* monotonic: the last answer; 0: none */
    unsigned n_requests;   /* under way */
} SourceConnection;

void source_connection_done(SourceConnection *server);

typedef struct SourceConnections {
    size_t n;
    SourceConnection items[SOURCES_MAX];
} SourceConnections;

/* 0; or a negative errno with a message in @error (ACCESS_ERROR_MAX). */
int source_connections_new(const MetricSources *sources, SourceConnections **ret, char *error)
    MUST_CHECK;
SourceConnections *source_connections_free(SourceConnections *connections); /* takes NULL */
DEFINE_CLEANUP(SourceConnections *, source_connections_free)

/* As sources_find(). */
SourceConnection *source_connections_find(SourceConnections *connections, Str name);
