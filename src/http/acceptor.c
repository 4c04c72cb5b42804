/* Accepts clients and does TLS handshakes, within a budget of CPU time. */

#include "http/acceptor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "http/server-internal.h"

/* The kernel limits it to net.core.somaxconn. When the queue is full, probes wait over a second. */
#define LISTEN_BACKLOG 4096

/* Clients accepted before the next step of a handshake. */
#define ACCEPT_TURN 16u

#define EVENTS_MAX 64

/* GnuTLS callback: returns the server's certificate. */
static int on_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
    gnutls_pcert_st **chain, unsigned *n_chain, gnutls_ocsp_data_st **ocsp, unsigned *n_ocsp,
    gnutls_privkey_t *key, unsigned *flags) {
    const Connection *connection = gnutls_session_get_ptr(session);

    tls_set_credentials(connection->tls, chain, n_chain, key);
    *ocsp = NULL;
    *n_ocsp = 0;
    *flags = 0;
    return 0;
}

static int init_tls(Acceptor *acceptor) {
    if (gnutls_certificate_allocate_credentials(&acceptor->credentials) < 0 ||
        gnutls_priority_init(&acceptor->priorities, TLS_PRIORITIES, NULL) < 0)
        return -ENOMEM;
    gnutls_certificate_set_retrieve_function3(acceptor->credentials, on_certificate);
    return 0;
}

/* False when out of memory. */
static bool start_tls(const Server *server, Connection *connection) {
    static const gnutls_datum_t protocol = {
        .data = (unsigned char *)(uintptr_t) "http/1.1", .size = sizeof("http/1.1") - 1};
    const Acceptor *acceptor = &server->acceptor;
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
    return gnutls_priority_set(*session, acceptor->priorities) == 0 &&
           gnutls_credentials_set(*session, GNUTLS_CRD_CERTIFICATE, acceptor->credentials) == 0 &&
           gnutls_alpn_set_protocols(*session, &protocol, 1, GNUTLS_ALPN_MANDATORY) == 0;
}

/* Waits for @events of @fd, the socket of @connection; NULL: @fd is the listening socket. */
static bool watch(const Server *server, int how, int fd, uint32_t events, Connection *connection) {
    struct epoll_event event = {.events = events | EPOLLONESHOT, .data.ptr = connection};

    return epoll_ctl(server->workers[0].epoll_fd, how, fd, &event) == 0;
}

/* Stops waiting, before another thread gets the connection. */
static void unwatch(const Server *server, const Connection *connection) {
    (void)epoll_ctl(server->workers[0].epoll_fd, EPOLL_CTL_DEL, connection->transport.fd, NULL);
}

/* Passes the connection to its worker. The deadline of its headers began with the handshake. */
static void pass_on(Server *server, Connection *connection) {
    bool is_ready = transport_has_buffered(&connection->transport);

    unwatch(server, connection);
    if (!connection_enter(
            server->connections, connection, CONNECTION_HEADERS, connection->since_nsec) ||
        !connection_arm(connection, is_ready ? EPOLLOUT : EPOLLIN))
        connection_end(server, connection);
}

/* Does one step of a handshake. */
static void step_handshake(Server *server, Connection *connection) {
    int r = -ENOMEM;

    if (connection->transport.session || start_tls(server, connection))
        r = transport_handshake(&connection->transport);
    if (r == -EAGAIN &&
        watch(server, EPOLL_CTL_MOD, connection->transport.fd,
            gnutls_record_get_direction(connection->transport.session) ? EPOLLOUT : EPOLLIN,
            connection))
        return;
    if (r != 0) {
        unwatch(server, connection);
        connection_reject(server, connection);
        return;
    }
    connection_greet(server, connection);
    pass_on(server, connection);
}

/* Returns how long handshakes must wait for CPU time, in nanoseconds; 0: they need not. */
static int64_t pause_of(Acceptor *acceptor, int64_t now) {
    acceptor->allowance_nsec += (now - acceptor->allowance_at) / HANDSHAKE_CPU_SHARE;
    acceptor->allowance_at = now;
    if (acceptor->allowance_nsec > HANDSHAKE_BURST_NSEC)
        acceptor->allowance_nsec = HANDSHAKE_BURST_NSEC;
    return acceptor->allowance_nsec > 0 ? 0 : -acceptor->allowance_nsec * HANDSHAKE_CPU_SHARE + 1;
}

static void run_next_handshake(Server *server) {
    Acceptor *acceptor = &server->acceptor;
    Connection *connection = NULL;
    int64_t now = clock_monotonic_nsec(), start;

    if (acceptor->n_due > 0 && pause_of(acceptor, now) == 0)
        connection = connections_next_handshake(server->connections, now);
    if (!connection)
        return;
    atomic_store(&connection->is_due, false);
    acceptor->n_due--;
    start = clock_thread_cpu_nsec();
    step_handshake(server, connection);
    acceptor->allowance_nsec -= clock_thread_cpu_nsec() - start;
    acceptor_resume(acceptor);
}

/* Gives the accepted client a connection, or refuses it. False: it must wait. While handshakes wait
 * for CPU time, only the first client of an address must wait for a place, to keep others fast. */
static bool take_client(Server *server) {
    Acceptor *acceptor = &server->acceptor;
    const Worker *worker = &server->workers[1 + acceptor->n_taken % (server->n_workers - 1)];
    Connection *connection;
    int fd = acceptor->waiting_fd, on = 1;
    int r = connections_add(server->connections, fd, &acceptor->waiting_address.any,
        worker->epoll_fd, clock_monotonic_nsec(), &connection);

    for (Connection *evicted; (evicted = connections_take_evicted(server->connections));) {
        acceptor->n_due -= atomic_load(&evicted->is_due);
        connection_end(server, evicted);
    }
    if (r == CONNECTIONS_E_WAIT || (r == CONNECTIONS_E_QUEUED && acceptor->allowance_nsec > 0))
        return false;
    acceptor->waiting_fd = -1;
    if (r != 0) {
        atomic_fetch_add_explicit(
            &server->refused[SERVER_REFUSED_CONNECTIONS], 1, memory_order_relaxed);
        (void)close(fd);
        return true;
    }
    acceptor->n_taken++;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (!watch(server, EPOLL_CTL_ADD, fd, EPOLLIN, connection))
        connection_end(server, connection);
    return true;
}

/* Tries take_client() twice: a place that became free before is_accepting was false resumes
 * nothing. */
static bool place_client(Server *server) {
    atomic_bool *is_accepting = &server->acceptor.is_accepting;

    if (take_client(server))
        return true;
    atomic_store(is_accepting, false);
    if (!take_client(server))
        return false;
    atomic_store(is_accepting, true);
    return true;
}

/* Accepts a client, unless one waits for a place. 0 or a negative errno. */
static int accept_client(Acceptor *acceptor) {
    socklen_t size = sizeof(acceptor->waiting_address);

    if (acceptor->waiting_fd >= 0)
        return 0;
    acceptor->waiting_fd = accept4(
        acceptor->listen_fd, &acceptor->waiting_address.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return acceptor->waiting_fd >= 0 ? 0 : -errno;
}

static void accept_clients(Server *server) {
    Acceptor *acceptor = &server->acceptor;

    for (unsigned i = 0; i < ACCEPT_TURN; i++) {
        int r = accept_client(acceptor);

        if (r == 0 && !place_client(server))
            return;
        if (r == -EMFILE || r == -ENFILE || r == -ENOBUFS || r == -ENOMEM) {
            atomic_store(&acceptor->is_accepting, false);
            return;
        }
        if (r == -EINVAL) /* server_drain() has shut it down */
            return;
        if (r == -EAGAIN)
            break;
    }
    (void)watch(server, EPOLL_CTL_MOD, acceptor->listen_fd, EPOLLIN, NULL);
}

void acceptor_resume(Acceptor *acceptor) {
    if (!atomic_load(&acceptor->is_accepting) && !atomic_exchange(&acceptor->is_accepting, true))
        (void)eventfd_write(acceptor->resume_fd, 1);
}

/* Closes only the connection of the current event: later events refer to other connections. */
static void collect_events(Worker *worker) {
    Server *server = worker->server;
    Acceptor *acceptor = &server->acceptor;
    bool has_tls = server->options.tls;
    struct epoll_event events[EVENTS_MAX];
    int64_t now = clock_monotonic_nsec();
    /* How long to wait for events; -1: without limit. */
    int64_t msec =
        acceptor->n_due == 0 ? -1 : (pause_of(acceptor, now) + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
    int n = epoll_wait(worker->epoll_fd, events, EVENTS_MAX, (int)msec);

    now = clock_monotonic_nsec();
    for (int i = 0; i < n; i++) {
        Connection *connection = events[i].data.ptr;

        if (!connection || events[i].data.ptr == &acceptor->resume_fd ||
            events[i].data.ptr == &server->stop_fd)
            continue;
        connection_set_due(connection, connection_received_nsec(connection, now));
        if (has_tls)
            acceptor->n_due++;
        else
            pass_on(server, connection);
    }
}

void acceptor_run(Worker *worker) {
    Server *server = worker->server;

    while (!atomic_load(&server->is_stopping)) {
        collect_events(worker);
        run_next_handshake(server);
        /* After each step: the kernel's queue must not fill up while handshakes wait. */
        if (atomic_load(&server->acceptor.is_accepting))
            accept_clients(server);
    }
}

static int parse_address(const ServerOptions *options, SocketAddress *ret) {
    *ret = (SocketAddress){0};
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

static int start_listening(Server *server, uint16_t *ret_port) {
    Acceptor *acceptor = &server->acceptor;
    SocketAddress address;
    socklen_t size = sizeof(address);
    int on = 1, r;

    r = parse_address(&server->options, &address);
    if (r < 0)
        return r;
    acceptor->listen_fd =
        socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    if (acceptor->listen_fd < 0)
        return -errno;
    if (setsockopt(acceptor->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(acceptor->listen_fd, &address.any, size) < 0 ||
        listen(acceptor->listen_fd, LISTEN_BACKLOG) < 0 ||
        getsockname(acceptor->listen_fd, &address.any, &size) < 0 ||
        !watch(server, EPOLL_CTL_ADD, acceptor->listen_fd, EPOLLIN, NULL))
        return -errno;
    *ret_port =
        ntohs(address.any.sa_family == AF_INET6 ? address.in6.sin6_port : address.in.sin_port);
    return 0;
}

int acceptor_open(Server *server, uint16_t *ret_port) {
    Acceptor *acceptor = &server->acceptor;
    struct epoll_event resume = {.events = EPOLLIN | EPOLLET, .data.ptr = &acceptor->resume_fd};
    int r;

    acceptor->allowance_nsec = HANDSHAKE_BURST_NSEC;
    acceptor->allowance_at = clock_monotonic_nsec();
    atomic_init(&acceptor->is_accepting, true);
    acceptor->resume_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (acceptor->resume_fd < 0 ||
        epoll_ctl(server->workers[0].epoll_fd, EPOLL_CTL_ADD, acceptor->resume_fd, &resume) < 0)
        return -errno;
    r = server->options.tls ? init_tls(acceptor) : 0;
    return r == 0 ? start_listening(server, ret_port) : r;
}

void acceptor_close(Acceptor *acceptor) {
    fd_closep(&acceptor->listen_fd);
    fd_closep(&acceptor->resume_fd);
    fd_closep(&acceptor->waiting_fd);
    if (acceptor->credentials)
        gnutls_certificate_free_credentials(acceptor->credentials);
    if (acceptor->priorities)
        gnutls_priority_deinit(acceptor->priorities);
}
