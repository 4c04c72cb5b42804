/* Workers, limits and shutdown. acceptor.c accepts clients; request.c serves requests. */

#include "http/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "http/server-internal.h"

/* Arenas and small body buffers kept per worker. */
#define KEEP_PER_WORKER 2u

/* Kept arenas use at most this fraction of memory_max together, and so do kept buffers. */
#define KEEP_SHARE 4u

/* At most this fraction of connections may have a deferred reply; the rest is for requests that are
 * answered at once, such as health checks. */
#define DEFER_SHARE 2u

static void serve_connections(const Worker *worker) {
    Server *server = worker->server;
    struct epoll_event event;

    while (!atomic_load(&server->is_stopping)) {
        if (epoll_wait(worker->epoll_fd, &event, 1, -1) != 1 || event.data.ptr == &server->stop_fd)
            continue;
        connection_hold(event.data.ptr);
        connection_serve(server, event.data.ptr);
        acceptor_resume(&server->acceptor);
    }
}

static void *run(void *context) {
    Worker *worker = context;
    Server *server = worker->server;

    if (server->options.nice > 0) /* without the right to, it stays as it is */
        (void)setpriority(PRIO_PROCESS, (id_t)gettid(), server->options.nice);
    if (worker == server->workers)
        acceptor_run(worker);
    else
        serve_connections(worker);
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
    int r = 0;

    for (unsigned i = 0; r == 0 && i < server->n_workers; i++) {
        Worker *worker = &server->workers[i];

        r = thread_start(&worker->thread, i == 0 ? "http-accept" : "http-worker", run, worker);
        server->n_threads += r == 0;
    }
    return r;
}

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

/* A scheduler has one address: its deferred binds must leave connections of that address free. */
static unsigned pendings_max(const ServerOptions *options) {
    unsigned n = options->connections_per_address_max < options->connections_max
                     ? options->connections_per_address_max
                     : options->connections_max;

    return (n + DEFER_SHARE - 1) / DEFER_SHARE;
}

int server_new(const ServerOptions *options, const ServerCallbacks *callbacks, Server **ret) {
    _cleanup_(server_freep) Server *server = calloc(1, sizeof(*server));
    unsigned n_workers = options->n_workers > 0 ? options->n_workers : 1;
    unsigned n_arenas = KEEP_PER_WORKER * n_workers; /* for all workers together */
    size_t n_buffers = options->memory_max / KEEP_SHARE / BODY_SMALL;
    int r;

    if (!server)
        return -ENOMEM;
    server->stop_fd = -1;
    server->acceptor = (Acceptor){.listen_fd = -1, .resume_fd = -1, .waiting_fd = -1};
    server->options = *options;
    server->callbacks = *callbacks;
    server->workers = calloc(1 + n_workers, sizeof(*server->workers));
    server->n_workers = server->workers ? 1 + n_workers : 0;
    server->arenas = arena_pool_new(n_arenas,
        options->memory_max < SERVER_ARENA_BUDGET ? options->memory_max : SERVER_ARENA_BUDGET,
        options->memory_max / KEEP_SHARE / n_arenas);
    server->connections = connections_new(&server->options, server->refused);
    /* One for each arena, if memory_max has room. */
    server->bodies = body_store_new(options->body_max, options->memory_max,
        n_buffers < n_arenas ? (unsigned)n_buffers : n_arenas);
    server->pendings_max = pendings_max(options);
    if (!server->workers || !server->arenas || !server->connections || !server->bodies)
        return -ENOMEM;

    r = open_workers(server) ?: acceptor_open(server, &server->port) ?: start_workers(server);
    if (r == 0)
        *ret = TAKE_PTR(server);
    return r;
}

Server *server_free(Server *server) {
    if (!server)
        return NULL;
    atomic_store(&server->is_stopping, true);
    if (server->stop_fd >= 0)
        (void)eventfd_write(server->stop_fd, 1);
    while (server->n_threads > 0)
        thread_join(server->workers[--server->n_threads].thread);
    for (Connection *connection;
         server->connections && (connection = connections_first(server->connections));)
        connection_end(server, connection);
    for (unsigned i = 0; i < server->n_workers; i++)
        if (server->workers[i].epoll_fd > 0)
            (void)close(server->workers[i].epoll_fd);
    if (server->stop_fd >= 0)
        (void)close(server->stop_fd);
    acceptor_close(&server->acceptor);
    free(server->workers);
    arena_pool_free(server->arenas);
    connections_free(server->connections);
    body_store_free(server->bodies);
    free(server);
    return NULL;
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
    acceptor_resume(&server->acceptor);
}

/* Closes no connection. A Go client that finds an idle connection closed opens another one, but a
 * POST that it has begun to write fails: the client cannot know whether the server handled it. So
 * each reply has "Connection: close" instead. A connection that is idle at the end was idle for the
 * whole delay, and is unlikely to send a request in the moment when it is closed. */
void server_retire(Server *server) {
    atomic_store(&server->is_retiring, true);
}

unsigned server_drain(Server *server) {
    if (!atomic_exchange(&server->is_draining, true))
        (void)shutdown(server->acceptor.listen_fd, SHUT_RDWR); /* now the kernel refuses clients */
    return connections_drain(server->connections, clock_monotonic_nsec());
}

const char *const server_refusal_names[_SERVER_REFUSED_MAX] = {
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
