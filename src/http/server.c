/* Listening, workers, limits and shutdown; requests are in request.c. */

#include "http/server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/body.h"
#include "http/connections.h"
#include "http/pending.h"
#include "http/server-internal.h"
#include "http/tls.h"

/* What libmicrohttpd may use per connection. Half of it is the buffer bodies are
 * read through: larger ones save system calls, but all that was used is zeroed
 * after each request. Above 32 KiB it is mapped, so what is not touched costs
 * nothing. */
#define CONNECTION_MEMORY ((size_t)64 * 1024)

/* Before 1.0 it can only be told to want a Host and no spaces in the target; what
 * else there is to check, request.c does. */
#if MHD_VERSION < 0x01000000
#define STRICTNESS MHD_OPTION_STRICT_FOR_CLIENT, 1
#else
#define STRICTNESS MHD_OPTION_CLIENT_DISCIPLINE_LVL, 2
#endif

#define LISTEN_BACKLOG 512

/* Arenas and small body buffers kept per worker. */
#define KEEP_PER_WORKER 2u

/* The arenas that are kept hold this part of memory_max at most, all together; and
 * so do the buffers. */
#define KEEP_SHARE 4u

/* Of the connections, this part may wait for an answer: the others are for requests that
 * are answered at once, health checks among them. */
#define DEFER_SHARE 2u

/* --- what libmicrohttpd calls --- */

static size_t on_unescape(void *context, struct MHD_Connection *mhd, char *text) {
    return strlen(text); /* paths are matched as sent */
}

/* @connection is NULL when it was refused. */
static void start_tls(Server *server, Connection *connection, struct MHD_Connection *mhd) {
    gnutls_session_t session = session_of(mhd);

    if (!session)
        return;
    gnutls_session_set_ptr(session, connection); /* for on_certificate() */
    if (!connection)
        return;
    connection->tls = tls_store_ref_set(server->options.tls);
    if (server->options.n_client_names > 0)
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
}

static void on_connection(void *context, struct MHD_Connection *mhd, void **state,
    enum MHD_ConnectionNotificationCode code) {
    Server *server = context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *fd =
            MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
        const union MHD_ConnectionInfo *address =
            MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        Connection *connection = connections_add(
            server->connections, fd->connect_fd, address->client_addr, clock_monotonic_nsec());

        if (server->options.tls)
            start_tls(server, connection, mhd);
        *state = connection;
    } else {
        connections_remove(server->connections, *state);
        *state = NULL;
    }
}

/* GnuTLS asks for a certificate. Refused connections have none. */
static int on_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
    gnutls_pcert_st **chain, unsigned *n_chain, gnutls_ocsp_data_st **ocsp, unsigned *n_ocsp,
    gnutls_privkey_t *key, unsigned *flags) {
    Connection *connection = gnutls_session_get_ptr(session);

    if (!connection || !connection->tls)
        return -1;
    tls_set_credentials(connection->tls, chain, n_chain, key);
    *ocsp = NULL;
    *n_ocsp = 0;
    *flags = 0;
    return 0;
}

/* Clients that connect while the server drains are turned away. Not with
 * MHD_quiesce_daemon(): in 0.9.75 it and a worker may both take the listening socket
 * out of the worker's epoll set, and the second of them aborts the process. */
static enum MHD_Result on_accept(
    void *context, const struct sockaddr *address, socklen_t address_size) {
    Server *server = context;

    (void)address;
    (void)address_size;
    return atomic_load(&server->is_draining) ? MHD_NO : MHD_YES;
}

/* --- the server --- */

ServerOptions server_default_options(void) {
    return (ServerOptions){
        .address = "127.0.0.1",
        .port = 8080,
        .n_workers = 2,
        .header_max = SERVER_HEADER_MAX,
        .body_max = SERVER_BODY_MAX,
        .memory_max = SERVER_MEMORY_MAX,
        .header_sec = SERVER_HEADER_SEC,
        .body_grace_sec = SERVER_BODY_GRACE_SEC,
        .body_rate = SERVER_BODY_RATE,
        .write_sec = SERVER_WRITE_SEC,
        .idle_sec = SERVER_IDLE_SEC,
        .connections_max = SERVER_CONNECTIONS_MAX,
        .connections_per_address_max = SERVER_CONNECTIONS_PER_ADDRESS_MAX,
    };
}

typedef union Address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
} Address;

static int parse_address(const ServerOptions *options, Address *ret) {
    *ret = (Address){0};
    if (inet_pton(AF_INET, options->address, &ret->in.sin_addr) == 1) {
        ret->in.sin_family = AF_INET;
        ret->in.sin_port = htons(options->port);
    } else if (inet_pton(AF_INET6, options->address, &ret->in6.sin6_addr) == 1) {
        ret->in6.sin6_family = AF_INET6;
        ret->in6.sin6_port = htons(options->port);
    } else
        return -EINVAL;
    return 0;
}

static int start_listening(Server *server) {
    Address address;
    socklen_t size = sizeof(address);
    int on = 1, r;

    r = parse_address(&server->options, &address);
    if (r < 0)
        return r;
    server->listen_fd =
        socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    if (server->listen_fd < 0)
        return -errno;
    if (setsockopt(server->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(server->listen_fd, &address.any, size) < 0 ||
        listen(server->listen_fd, LISTEN_BACKLOG) < 0 ||
        getsockname(server->listen_fd, &address.any, &size) < 0)
        return -errno;
    server->port =
        ntohs(address.any.sa_family == AF_INET6 ? address.in6.sin6_port : address.in.sin_port);
    return 0;
}

static int start_daemon(Server *server) {
    const ServerOptions *options = &server->options;
    size_t least = 2 * options->header_max;
    size_t memory = least > CONNECTION_MEMORY ? least : CONNECTION_MEMORY;
    struct MHD_OptionItem common[] = {
        {MHD_OPTION_LISTEN_SOCKET, server->listen_fd, NULL},
        {MHD_OPTION_THREAD_POOL_SIZE, options->n_workers, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, connections_capacity(server->connections), NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)memory, NULL},
        {STRICTNESS, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, server},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)request_completed, server},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)request_new, server},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)on_unescape, server},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
        {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)(uintptr_t)on_certificate},
        {MHD_OPTION_END, 0, NULL},
    };
    /* An uncontended lock at each turn of a worker. */
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;

    if (options->tls)
        flags |= MHD_USE_TLS;
    else
        tls[0].option = MHD_OPTION_END;
    errno = 0;
    server->daemon = MHD_start_daemon(flags, server->port, on_accept, server, request_step, server,
        MHD_OPTION_ARRAY, common, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    return server->daemon ? 0 : errno > 0 ? -errno : -EINVAL;
}

/* One scheduler has one address: it must not run out of connections over its own binds. */
static unsigned pendings_max(const ServerOptions *options) {
    unsigned n = options->connections_per_address_max < options->connections_max
                     ? options->connections_per_address_max
                     : options->connections_max;

    return (n + DEFER_SHARE - 1) / DEFER_SHARE;
}

int server_new(const ServerOptions *options, const ServerCallbacks *callbacks, Server **ret) {
    _cleanup_(server_freep) Server *server = calloc(1, sizeof(*server));
    unsigned n_workers = options->n_workers > 0 ? options->n_workers : 1;
    unsigned n_arenas = KEEP_PER_WORKER * n_workers; /* kept for all workers */
    size_t n_buffers = options->memory_max / KEEP_SHARE / BODY_SMALL;
    int r;

    if (!server)
        return -ENOMEM;
    server->listen_fd = -1;
    server->options = *options;
    server->options.n_workers = n_workers;
    server->callbacks = *callbacks;
    server->arenas = arena_pool_new(n_arenas,
        options->memory_max < SERVER_ARENA_BUDGET ? options->memory_max : SERVER_ARENA_BUDGET,
        options->memory_max / KEEP_SHARE / n_arenas);
    server->connections = connections_new(&server->options, server->refused);
    /* As many as arenas, where memory_max has room for them. */
    server->bodies = body_store_new(options->body_max, options->memory_max,
        n_buffers < n_arenas ? (unsigned)n_buffers : n_arenas);
    server->pendings = pendings_new(pendings_max(options));
    if (server->connections)
        server->streams = streams_new(SERVER_STREAMS_MAX, server->connections);
    if (!server->arenas || !server->streams || !server->bodies || !server->pendings)
        return -ENOMEM;

    r = start_listening(server);
    if (r < 0)
        return r;
    r = start_daemon(server);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(server);
    return 0;
}

Server *server_free(Server *server) {
    if (!server)
        return NULL;
    if (server->daemon) {
        pendings_close(server->pendings);
        streams_close(server->streams);
        MHD_stop_daemon(server->daemon); /* closes the listening socket too */
    } else if (server->listen_fd >= 0)
        (void)close(server->listen_fd);
    arena_pool_free(server->arenas);
    pendings_free(server->pendings);
    streams_free(server->streams);
    connections_free(server->connections);
    body_store_free(server->bodies);
    free(server);
    return NULL;
}

uint16_t server_port(const Server *server) {
    return server->port;
}

bool server_is_loopback(const char *address) {
    return str_has_prefix(str_from_c(address), STR("127.")) || str_is(str_from_c(address), "::1");
}

const char *server_url(const Server *server, char ret[static SERVER_URL_MAX]) {
    const ServerOptions *options = &server->options;
    bool is_ipv6 = str_find(str_from_c(options->address), ':') != SIZE_MAX;

    (void)snprintf(ret, SERVER_URL_MAX, "%s://%s%s%s:%u", options->tls ? "https" : "http",
        is_ipv6 ? "[" : "", options->address, is_ipv6 ? "]" : "", server->port);
    return ret;
}

void server_tick(Server *server, int64_t monotonic_nsec) {
    connections_tick(server->connections, monotonic_nsec);
}

/* Whether a request fails when a server goes is settled by who closes the connection. A Go client
 * that finds its idle connection closed takes another one, but one that has begun to write a POST
 * when the end arrives must fail: it cannot know whether the request was carried out. So no
 * connection is cut while time is left: each reply says "Connection: close", which leaves
 * no doubt, and who does not ask has no request to lose. What is idle at the very end has been so
 * for the whole delay, and is not likely to speak in the moment in which it is cut. */
void server_retire(Server *server) {
    atomic_store(&server->is_retiring, true);
}

unsigned server_drain(Server *server) {
    atomic_store(&server->is_draining, true);
    streams_end(server->streams);
    return connections_drain(server->connections, clock_monotonic_nsec());
}

static const char *const refusal_names[_SERVER_REFUSED_MAX] = {
    [SERVER_REFUSED_HEADERS] = "headers",
    [SERVER_REFUSED_HEADER_SIZE] = "header_size",
    [SERVER_REFUSED_ENCODING] = "encoding",
    [SERVER_REFUSED_BODY_SIZE] = "body_size",
    [SERVER_REFUSED_MEMORY] = "memory",
    [SERVER_REFUSED_HEADER_TIME] = "header_time",
    [SERVER_REFUSED_BODY_TIME] = "body_time",
    [SERVER_REFUSED_WRITE_TIME] = "write_time",
    [SERVER_REFUSED_CONNECTIONS] = "connections",
};

const char *server_refusal_name(ServerRefusal refusal) {
    assert(refusal < _SERVER_REFUSED_MAX);
    return refusal_names[refusal];
}

void server_figures(const Server *server, ServerFigures *ret) {
    *ret = (ServerFigures){
        .connections_total = connections_total(server->connections),
        .connections = connections_count(server->connections),
        .deferred = pendings_count(server->pendings),
        .memory = body_store_memory(server->bodies),
    };
    for (size_t i = 0; i < _SERVER_REFUSED_MAX; i++)
        ret->refused[i] = atomic_load_explicit(&server->refused[i], memory_order_relaxed);
}
