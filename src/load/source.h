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
    Str name; /* "default" is meant where a policy names none */
    /* Its url has the path before /api/v1/query. source_access() sets its name, and how it may be
     * reached. */
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

/* An address can be written in many ways: the one that is connected to is checked, not its text. */
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

/* Why no connection is made to @address (a struct sockaddr of @len bytes), as kube/access.h wants
 * it (AddressRefusal); NULL: one is. Unless @may_be_link_local these are link-local addresses of
 * both families, also IPv4 ones inside IPv6, and those that clouds serve credentials from; and in
 * any case those at which no server answers: multicast, unspecified, other families. */
const char *source_address_refusal(const void *address, size_t len, bool may_be_link_local);

#define SOURCE_URL_MAX 2048u
#define SOURCE_TEXT_MAX 160u

/* Something wrong with a source, or worth a warning. */
typedef struct SourceFault {
    bool is_warning;
    bool is_secret;    /* the value is a password and must not be shown */
    const char *field; /* as the file calls it: "url", "tls.keyFile" */
    Str header;        /* of field "headers": which; else empty */
    char text[SOURCE_TEXT_MAX];
    const char *hint; /* NULL: none */
} SourceFault;

#define SOURCE_FAULTS_MAX (SOURCE_HEADERS_MAX + 16u)

/* Finds the faults of a source's server; returns how many there are. */
size_t source_faults(const AccessServer *server, SourceFault ret[SOURCE_FAULTS_MAX]);

/* How to reach it (kube/access.h): never through a proxy, never at an address that is refused, with
 * the credentials of its files, which need not be there yet. 0; or -EINVAL or -ENOMEM with a
 * message in @error (ACCESS_ERROR_MAX). */
int source_access(const MetricSource *source, Access **ret, char *error) MUST_CHECK;

/* Connections: made on any thread, used on the poll queue's. */

/* Limits requests under way. One server never has all of them; failing ones have one each, and
 * together never all, so sources that answer are polled in time. */
#define POLL_REQUESTS_MAX 4u
#define POLL_SHARE_MAX (POLL_REQUESTS_MAX - 1)

typedef struct SourceConnection {
    char *name; /* of the source; NULL: the API server */
    Access *access;
    bool owns_access;
    Client *client; /* NULL: not made yet */

    bool wants_get; /* it does not take POST */
    /* A request got no answer, or a 5xx, and no other has been answered since it was sent. */
    bool is_failing;
    int64_t answered_nsec; /* monotonic: the last that was; 0: none */
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
