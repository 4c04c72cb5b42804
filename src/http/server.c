/* Listening, handshakes, workers, limits and shutdown; requests are in request.c. */

#include "http/server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/body.h"
#include "http/connections.h"
#include "http/server-internal.h"
#include "http/tls.h"

/* The kernel lowers it to net.core.somaxconn. When it is full, probes wait for a second and more.
 */
#define LISTEN_BACKLOG 4096

/* Clients accepted before the next step of a handshake. */
#define ACCEPT_TURN 16u

/* Arenas and small body buffers kept per worker. */
#define KEEP_PER_WORKER 2u

/* Kept arenas use at most this fraction of memory_max together, and so do kept buffers. */
#define KEEP_SHARE 4u

/* At most this fraction of connections may have a deferred reply; the rest is for requests that are
 * answered at once, such as health checks. */
#define DEFER_SHARE 2u

typedef union Address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
} Address;

/* --- TLS ------------------------------------------------------------------------------------- */

/* GnuTLS callback: returns the server's certificate. */
static int on_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
    gnutls_pcert_st **chain, unsigned *n_chain, gnutls_ocsp_data_st **ocsp, unsigned *n_ocsp,
    gnutls_privkey_t *key, unsigned *flags) {
    const Connection *connection = gnutls_session_get_ptr(session);

    (void)info;
    tls_set_credentials(connection->tls, chain, n_chain, key);
    *ocsp = NULL;
    *n_ocsp = 0;
    *flags = 0;
    return 0;
}

static int init_tls(Server *server) {
    if (gnutls_certificate_allocate_credentials(&server->credentials) < 0 ||
        gnutls_priority_init(&server->priorities, TLS_PRIORITIES, NULL) < 0)
        return -ENOMEM;
    gnutls_certificate_set_retrieve_function3(server->credentials, on_certificate);
    return 0;
}

/* False when out of memory. */
static bool start_tls(const Server *server, Connection *connection) {
    static const gnutls_datum_t protocol = {
        .data = (unsigned char *)(uintptr_t) "http/1.1", .size = sizeof("http/1.1") - 1};
    gnutls_session_t *session = &connection->transport.session;

    if (gnutls_init(
            session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS) < 0) {
        *session = NULL;
        return false;
    }
    connection->tls = tls_store_ref_set(server->options.tls);
    gnutls_session_set_ptr(*session, connection);
    gnutls_transport_set_int(*session, connection->transport.fd);
    if (server->options.n_client_names > 0)
        tls_request_certificate(*session);
    return gnutls_priority_set(*session, server->priorities) == 0 &&
           gnutls_credentials_set(*session, GNUTLS_CRD_CERTIFICATE, server->credentials) == 0 &&
           gnutls_alpn_set_protocols(*session, &protocol, 1, GNUTLS_ALPN_MANDATORY) == 0;
}

/* --- the accepting thread -------------------------------------------------------------------- */

/* Waits for @events of @fd, which belongs to @connection; NULL: it is the listening socket. */
static bool watch(const Server *server, int how, int fd, uint32_t events, Connection *connection) {
    struct epoll_event event = {.events = events | EPOLLONESHOT, .data.ptr = connection};

    return epoll_ctl(server->workers[0].epoll_fd, how, fd, &event) == 0;
}

/* Passes the connection to its worker. The deadline of its headers still counts from accept. */
static void pass_on(Server *server, Connection *connection) {
    bool is_ready = transport_has_buffered(&connection->transport);

    if (!connection_enter(
            server->connections, connection, CONNECTION_HEADERS, connection->since_nsec) ||
        !connection_arm(connection, is_ready ? EPOLLOUT : EPOLLIN))
        connection_end(server, connection);
}

/* The connection no longer belongs to the accepting thread. */
static void unwatch(const Server *server, const Connection *connection) {
    (void)epoll_ctl(server->workers[0].epoll_fd, EPOLL_CTL_DEL, connection->transport.fd, NULL);
}

/* One step of a handshake. */
static void shake_hands(Server *server, Connection *connection) {
    int r = transport_handshake(&connection->transport);

    if (r == -EAGAIN && watch(server, EPOLL_CTL_MOD, connection->transport.fd,
                            transport_handshake_events(&connection->transport), connection))
        return;
    unwatch(server, connection);
    if (r != 0) {
        connection_reject(server, connection);
        return;
    }
    connection_greet(server, connection);
    pass_on(server, connection);
}

/* A connection of the accepting thread is ready. */
static void go_on(Server *server, Connection *connection) {
    bool has_tls = server->options.tls;

    if (!has_tls) {
        unwatch(server, connection);
        pass_on(server, connection);
    } else if (connection->transport.session || start_tls(server, connection))
        shake_hands(server, connection);
    else
        connection_end(server, connection);
}

/* Clients that send nothing cost the workers nothing, and have no TLS session. The first step of a
 * handshake waits for its turn: else new clients would delay the next steps of others. */
static void take_client(Server *server, int fd, const struct sockaddr *address) {
    const Worker *worker = &server->workers[1 + server->n_taken++ % (server->n_workers - 1)];
    Connection *connection =
        connections_add(server->connections, fd, address, worker->epoll_fd, clock_monotonic_nsec());
    int on = 1;

    for (Connection *evicted; (evicted = connections_take_evicted(server->connections));)
        connection_end(server, evicted);
    if (!connection) {
        (void)close(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (!watch(server, EPOLL_CTL_ADD, fd, EPOLLIN, connection))
        connection_end(server, connection);
}

/* Stops accepting until server_tick(). */
static void pause_accepting(Server *server) {
    atomic_store(&server->is_accepting, false);
}

static void accept_clients(Server *server) {
    for (unsigned i = 0; i < ACCEPT_TURN; i++) {
        Address address;
        socklen_t size = sizeof(address);
        int fd;

        if (!connections_has_slot(server->connections)) {
            pause_accepting(server);
            return;
        }
        fd = accept4(server->listen_fd, &address.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            take_client(server, fd, &address.any);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_accepting(server);
            return;
        } else if (errno == EINVAL) /* server_drain() has closed it */
            return;
        else if (errno == EAGAIN)
            break;
    }
    (void)watch(server, EPOLL_CTL_MOD, server->listen_fd, EPOLLIN, NULL);
}

/* The next event; false when there is none. */
static bool wait_for_event(const Worker *worker, void **ret) {
    struct epoll_event event;

    if (epoll_wait(worker->epoll_fd, &event, 1, -1) != 1 ||
        event.data.ptr == &worker->server->stop_fd)
        return false;
    *ret = event.data.ptr;
    return true;
}

static void *run_accepting(void *context) {
    Worker *worker = context;
    Server *server = worker->server;

    (void)pthread_setname_np(pthread_self(), "http-accept");
    while (!atomic_load(&server->is_stopping)) {
        void *connection;

        if (!wait_for_event(worker, &connection))
            continue;
        if (connection)
            go_on(server, connection);
        /* After each step: while handshakes wait, the kernel's queue must not fill up. */
        if (atomic_load(&server->is_accepting))
            accept_clients(server);
    }
    return NULL;
}

static void *run_worker(void *context) {
    Worker *worker = context;

    (void)pthread_setname_np(pthread_self(), "http-worker");
    while (!atomic_load(&worker->server->is_stopping)) {
        void *connection;

        if (!wait_for_event(worker, &connection))
            continue;
        connection_hold(connection);
        connection_serve(worker->server, connection);
    }
    return NULL;
}

static int open_workers(Server *server) {
    struct epoll_event stop = {.events = EPOLLIN, .data.ptr = &server->stop_fd};

    server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->stop_fd < 0)
        return -errno;
    for (unsigned i = 0; i < server->n_workers; i++) {
        Worker *worker = &server->workers[i];

        worker->server = server;
        worker->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (worker->epoll_fd < 0 ||
            epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, server->stop_fd, &stop) < 0)
            return -errno;
    }
    return 0;
}

static int start_workers(Server *server) {
    sigset_t all, before;
    int r = 0;

    (void)sigfillset(&all); /* signals are for the main thread */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 0; r == 0 && i < server->n_workers; i++) {
        Worker *worker = &server->workers[i];

        r = -pthread_create(&worker->thread, NULL, i == 0 ? run_accepting : run_worker, worker);
        if (r == 0)
            server->n_threads++;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

static void stop_workers(Server *server) {
    atomic_store(&server->is_stopping, true);
    if (server->stop_fd >= 0)
        (void)eventfd_write(server->stop_fd, 1);
    while (server->n_threads > 0)
        (void)pthread_join(server->workers[--server->n_threads].thread, NULL);
}

static void close_workers(const Server *server) {
    for (unsigned i = 0; i < server->n_workers; i++)
        if (server->workers[i].epoll_fd > 0)
            (void)close(server->workers[i].epoll_fd);
    if (server->stop_fd >= 0)
        (void)close(server->stop_fd);
    if (server->listen_fd >= 0)
        (void)close(server->listen_fd);
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
        getsockname(server->listen_fd, &address.any, &size) < 0 ||
        !watch(server, EPOLL_CTL_ADD, server->listen_fd, EPOLLIN, NULL))
        return -errno;
    server->port =
        ntohs(address.any.sa_family == AF_INET6 ? address.in6.sin6_port : address.in.sin_port);
    return 0;
}

/* A scheduler has one address: its deferred binds must not use up that address's connections. */
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
    server->listen_fd = server->stop_fd = -1;
    server->options = *options;
    server->callbacks = *callbacks;
    atomic_init(&server->is_accepting, true);
    server->workers = calloc(1 + n_workers, sizeof(*server->workers));
    server->n_workers = server->workers ? 1 + n_workers : 0;
    server->arenas = arena_pool_new(n_arenas,
        options->memory_max < SERVER_ARENA_BUDGET ? options->memory_max : SERVER_ARENA_BUDGET,
        options->memory_max / KEEP_SHARE / n_arenas);
    server->connections = connections_new(&server->options, server->refused);
    /* As many as arenas, if memory_max has room. */
    server->bodies = body_store_new(options->body_max, options->memory_max,
        n_buffers < n_arenas ? (unsigned)n_buffers : n_arenas);
    server->pendings_max = pendings_max(options);
    if (!server->workers || !server->arenas || !server->connections || !server->bodies)
        return -ENOMEM;

    r = options->tls ? init_tls(server) : 0;
    if (r == 0)
        r = open_workers(server);
    if (r == 0)
        r = start_listening(server);
    if (r == 0)
        r = start_workers(server);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(server);
    return 0;
}

Server *server_free(Server *server) {
    if (!server)
        return NULL;
    stop_workers(server);
    for (Connection *connection;
         server->connections && (connection = connections_first(server->connections));)
        connection_end(server, connection);
    close_workers(server);
    if (server->credentials)
        gnutls_certificate_free_credentials(server->credentials);
    if (server->priorities)
        gnutls_priority_deinit(server->priorities);
    free(server->workers);
    arena_pool_free(server->arenas);
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
    if (!atomic_exchange(&server->is_accepting, true))
        (void)watch(server, EPOLL_CTL_MOD, server->listen_fd, EPOLLIN, NULL);
}

/* Closes no connection. A Go client that finds its idle connection closed opens another one, but a
 * POST that it has begun to write fails: the client cannot know whether the server handled it. So
 * each reply has "Connection: close" instead. A connection that is idle at the end was idle for the
 * whole delay, and is unlikely to send a request just when it is closed. */
void server_retire(Server *server) {
    atomic_store(&server->is_retiring, true);
}

unsigned server_drain(Server *server) {
    if (!atomic_exchange(&server->is_draining, true))
        (void)shutdown(server->listen_fd, SHUT_RDWR); /* the kernel refuses new clients */
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
        .deferred = atomic_load(&server->n_pendings),
        .memory = body_store_memory(server->bodies),
    };
    for (size_t i = 0; i < _SERVER_REFUSED_MAX; i++)
        ret->refused[i] = atomic_load_explicit(&server->refused[i], memory_order_relaxed);
}
