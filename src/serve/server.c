#include "serve/server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "serve/body.h"
#include "serve/connections.h"
#include "serve/headers.h"
#include "serve/reply.h"
#include "serve/tls.h"

/* What libmicrohttpd may use per connection. Half of it is the buffer bodies are
 * read through: larger ones save system calls, but all that was used is zeroed
 * after each request. Above 32 KiB it is mapped, so what is not touched costs
 * nothing. */
#define CONNECTION_MEMORY ((size_t)64 * 1024)

/* A client that goes on sending after a refusal is listened to this far, so that
 * it can read the answer; the time for it is CONNECTION_LINGER_SEC. */
#define LINGER_BYTES ((uint64_t)1024 * 1024 * 1024)

#define LISTEN_BACKLOG 512

/* Arenas and small body buffers kept per worker. */
#define KEEP_PER_WORKER 2u

struct Server {
    ServerOptions options;
    ServerCallbacks callbacks;
    struct MHD_Daemon *daemon;
    int listen_fd;
    uint16_t port;
    atomic_bool is_draining;

    Connections *connections;
    BodyStore *bodies;
    atomic_uint_fast64_t refused[_SERVER_REFUSED_MAX];

    pthread_mutex_t mutex; /* guards the arenas that wait for a request */
    Arena **arenas;
    unsigned n_arenas, arenas_size;
};

typedef struct Request {
    Server *server;
    Connection *connection;
    char *target; /* path and query as sent */
    Headers headers;
    HttpRequest http;
    HttpReply reply;
    Str text; /* the one slice of a refusal of our own */
    Body body;
    SliceReader reader;
    int64_t started_nsec; /* 0: headers are not complete yet */
    bool is_refused;      /* the answer is out, the rest of the body is thrown away */
    uint64_t thrown_away;
} Request;

/* --- arenas --- */

static Arena *arena_take(Server *server) {
    Arena *arena = NULL;

    pthread_mutex_lock(&server->mutex);
    if (server->n_arenas > 0)
        arena = server->arenas[--server->n_arenas];
    pthread_mutex_unlock(&server->mutex);
    return arena ? arena : arena_new(SERVER_ARENA_BUDGET);
}

static void arena_give(Server *server, Arena *arena) {
    if (!arena)
        return;
    arena_reset(arena);
    pthread_mutex_lock(&server->mutex);
    if (server->n_arenas < server->arenas_size) {
        server->arenas[server->n_arenas++] = arena;
        arena = NULL;
    }
    pthread_mutex_unlock(&server->mutex);
    arena_free(arena);
}

/* --- one request --- */

static Connection *connection_of(struct MHD_Connection *mhd) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static gnutls_session_t session_of(struct MHD_Connection *mhd) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    return info ? info->tls_session : NULL;
}

static enum MHD_Result queue(Request *request, struct MHD_Connection *mhd, bool close) {
    const HttpReply *reply = &request->reply;
    struct MHD_Response *response =
        reply_response(reply, close, request->http.arena, &request->reader);
    enum MHD_Result result;

    if (!response)
        return MHD_NO;
    result = MHD_queue_response(mhd, reply->status, response);
    MHD_destroy_response(response);
    return result;
}

/* Sends request->reply instead of reading the body. A client that waits for "100
 * Continue", or has nothing to send, is answered in the usual way. One that is
 * sending now would have its connection reset under its hands and never see why:
 * it gets the answer raw, and its input is thrown away for a while. */
static enum MHD_Result refuse_with_reply(Request *request, struct MHD_Connection *mhd) {
    Server *server = request->server;
    Connection *connection = request->connection;
    const Headers *headers = &request->headers;
    int64_t now = clock_monotonic_nsec();

    request->is_refused = true;
    if (request->body.data == NULL &&
        (!headers_announce_body(headers) || headers->expects_continue)) {
        if (!connection_enter(server->connections, connection, CONNECTION_REPLY, now))
            return MHD_NO;
        return queue(request, mhd, /* close= */ true);
    }
    body_close(server->bodies, &request->body);
    if (!connection_enter(server->connections, connection, CONNECTION_LINGER, now))
        return MHD_NO;
    return reply_send_raw(&request->reply, connection->fd, session_of(mhd)) ? MHD_YES : MHD_NO;
}

static enum MHD_Result refuse(Request *request, struct MHD_Connection *mhd, ServerRefusal refusal,
    unsigned status, const char *text) {
    atomic_fetch_add_explicit(&request->server->refused[refusal], 1, memory_order_relaxed);
    request->text = str_from_c(text);
    request->reply = (HttpReply){
        .status = status,
        .content_type = "text/plain; charset=utf-8",
        .retry_after_sec = status == 503 ? 1 : 0,
        .slices = &request->text,
        .n_slices = 1,
        .tag = -1,
    };
    return refuse_with_reply(request, mhd);
}

static enum MHD_Result refuse_body(Request *request, struct MHD_Connection *mhd, int problem) {
    if (problem == BODY_E_SIZE)
        return refuse(request, mhd, SERVER_REFUSED_BODY_SIZE, 413, "the body is too large\n");
    return refuse(request, mhd, SERVER_REFUSED_MEMORY, 503, "too many bodies at once\n");
}

#if MHD_VERSION < 0x01000000

/* The bytes of the header as they stand in libmicrohttpd's buffer: see
 * headers_add_block(). They begin with the method, and @version, the last word
 * of the request line, lies in them. Empty when that is not so. */
static Str header_block(
    struct MHD_Connection *mhd, const char *method, const char *version, size_t *ret_size) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    uintptr_t start = (uintptr_t)method, at = (uintptr_t)version;
    size_t skip = strlen("HTTP/1.1");

    *ret_size = info ? info->header_size : 0;
    if (at < start || at - start > *ret_size || *ret_size - (at - start) < skip)
        return STR_NULL;
    skip += at - start;
    return str_of(method + skip, *ret_size - skip);
}

static void read_headers(Request *request, struct MHD_Connection *mhd, const char *url,
    const char *method, const char *version, size_t *ret_size) {
    Headers *headers = &request->headers;
    int n = MHD_get_connection_values(mhd, MHD_HEADER_KIND, NULL, NULL);

    headers_add_block(headers, header_block(mhd, method, version, ret_size));
    if (headers->status == 0 && (n < 0 || headers->n_lines != (size_t)n))
        *headers = (Headers){.status = 400, .problem = "the header lines are malformed\n"};
    /* NUL in the target ends it for libmicrohttpd, but not on the wire. */
    if ((uintptr_t)version - (uintptr_t)url != strlen(request->target) + 1)
        *headers = (Headers){.status = 400, .problem = "the request line is malformed\n"};
}

#else /* from 1.0 on it is strict itself, when asked: see start_daemon() */

static enum MHD_Result add_header(void *context, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t value_len) {
    headers_add(context, str_of(name, name_len), str_of(value, value_len));
    return MHD_YES;
}

static void read_headers(Request *request, struct MHD_Connection *mhd, const char *url,
    const char *method, const char *version, size_t *ret_size) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    (void)MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, add_header, &request->headers);
    *ret_size = info ? info->header_size : 0;
}

#endif

/* What the headers alone forbid. True: refused, *ret is the handler's answer. */
static bool check_headers(Request *request, struct MHD_Connection *mhd, const char *url,
    const char *method, const char *version, enum MHD_Result *ret) {
    Headers *headers = &request->headers;
    size_t size = 0;

    read_headers(request, mhd, url, method, version, &size);
    if (!headers_request_line_is_clean(str_from_c(method), str_from_c(request->target)) &&
        headers->status == 0)
        *headers = (Headers){.status = 400, .problem = "the request line is malformed\n"};
    headers_finish(headers, strcmp(version, "HTTP/1.1") == 0);

    if (headers->status == 400)
        *ret = refuse(request, mhd, SERVER_REFUSED_HEADERS, 400, headers->problem);
    else if (size > request->server->options.header_max)
        *ret = refuse(
            request, mhd, SERVER_REFUSED_HEADER_SIZE, 431, "the request's header is too large\n");
    else if (headers->status != 0)
        *ret = refuse(request, mhd, SERVER_REFUSED_ENCODING, headers->status, headers->problem);
    else
        return false;
    return true;
}

/* Once per connection, and again when the client CA has changed. */
static bool authenticate(Server *server, Connection *connection, struct MHD_Connection *mhd) {
    TlsStore *tls = server->options.tls;
    char problem[256] = "";
    uint64_t generation;

    if (!tls || !tls_store_wants_clients(tls))
        return true;
    generation = tls_store_generation(tls);
    if (connection->is_checked && connection->checked_generation == generation)
        return connection->is_authenticated;
    connection->is_authenticated =
        tls_store_peer_is_allowed(tls, session_of(mhd), problem, sizeof(problem));
    connection->is_checked = true;
    connection->checked_generation = generation;
    if (!connection->is_authenticated)
        log_debug("client is not authenticated", LOG_CSTR("reason", problem));
    return connection->is_authenticated;
}

static void fill_http(Request *request, struct MHD_Connection *mhd, const char *method) {
    Str target = str_from_c(request->target);
    size_t mark = str_find(target, '?');

    request->http = (HttpRequest){
        .method = str_from_c(method),
        .path = str_take(target, mark),
        .query = mark == SIZE_MAX ? STR_NULL : str_skip(target, mark + 1),
        .is_authenticated = authenticate(request->server, request->connection, mhd),
        .arena = request->http.arena,
    };
}

/* Headers are complete. */
static enum MHD_Result request_start(Request *request, struct MHD_Connection *mhd, const char *url,
    const char *method, const char *version) {
    Server *server = request->server;
    const Headers *headers = &request->headers;
    bool has_body;
    enum MHD_Result result;
    int r;

    request->started_nsec = clock_monotonic_nsec();
    if (check_headers(request, mhd, url, method, version, &result))
        return result;
    has_body = headers_announce_body(headers);
    request->http.arena = arena_take(server);
    if (!request->http.arena)
        return refuse_body(request, mhd, BODY_E_MEMORY);
    fill_http(request, mhd, method);
    if (!server->callbacks.admit(server->callbacks.context, &request->http, &request->reply))
        return refuse_with_reply(request, mhd);
    if (has_body) {
        r = body_open(server->bodies, &request->body, headers->content_length);
        if (r)
            return refuse_body(request, mhd, r);
    }
    if (!connection_enter(server->connections,
            request->connection,
            has_body ? CONNECTION_BODY : CONNECTION_HANDLING,
            request->started_nsec))
        return MHD_NO;
    return MHD_YES;
}

static enum MHD_Result request_receive(
    Request *request, struct MHD_Connection *mhd, const char *bytes, size_t *size) {
    size_t n = *size;
    int r;

    *size = 0; /* all taken, whatever becomes of it */
    if (request->is_refused) {
        request->thrown_away += n;
        return request->thrown_away < LINGER_BYTES ? MHD_YES : MHD_NO;
    }
    r = body_append(request->server->bodies, &request->body, str_of(bytes, n));
    if (r)
        return refuse_body(request, mhd, r);
    atomic_store_explicit(
        &request->connection->body_bytes, request->body.len, memory_order_relaxed);
    return MHD_YES;
}

/* The request is complete. */
static enum MHD_Result request_answer(Request *request, struct MHD_Connection *mhd) {
    Server *server = request->server;
    bool close;

    if (request->is_refused) /* the answer is out already */
        return MHD_NO;
    if (!connection_enter(
            server->connections, request->connection, CONNECTION_HANDLING, clock_monotonic_nsec()))
        return MHD_NO;
    request->http.body = body_seal(&request->body);
    server->callbacks.handle(server->callbacks.context, &request->http, &request->reply);
    if (!connection_enter(
            server->connections, request->connection, CONNECTION_REPLY, clock_monotonic_nsec()))
        return MHD_NO;
    close = atomic_load_explicit(&server->is_draining, memory_order_relaxed);
    return queue(request, mhd, close);
}

static void report(const Request *request, bool is_sent, int64_t now) {
    const Server *server = request->server;
    unsigned cut = connection_cut_status(server->connections, request->connection);
    HttpOutcome outcome = {
        .tag = request->reply.tag,
        .status = is_sent || request->is_refused ? request->reply.status : cut,
        .bytes_in = request->body.len + request->thrown_away,
        .duration_nsec = now - request->started_nsec,
    };

    if (is_sent || request->is_refused)
        outcome.bytes_out = reply_size(&request->reply);
    if (cut != 0)
        outcome.tag = -1;
    if (server->callbacks.finished)
        server->callbacks.finished(server->callbacks.context, &outcome);
}

/* --- what libmicrohttpd calls --- */

/* The request line is here. What it points to is taken apart right after this. */
static void *on_target(void *context, const char *target, struct MHD_Connection *mhd) {
    Server *server = context;
    Connection *connection = connection_of(mhd);
    Request *request;

    if (!connection || !target)
        return NULL;
    if (!connection_begin(server->connections, connection, clock_monotonic_nsec()))
        return NULL;
    request = calloc(1, sizeof(*request));
    if (!request)
        return NULL;
    request->server = server;
    request->connection = connection;
    request->reply.tag = -1;
    request->target = strdup(target);
    if (!request->target) {
        free(request);
        return NULL;
    }
    return request;
}

static size_t on_unescape(void *context, struct MHD_Connection *mhd, char *text) {
    return strlen(text); /* paths are matched as sent */
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *mhd, const char *url,
    const char *method, const char *version, const char *bytes, size_t *size, void **state) {
    Request *request = *state;

    if (!request)
        return MHD_NO; /* no memory, or the connection was refused */
    if (request->started_nsec == 0)
        return request_start(request, mhd, url, method, version);
    if (*size > 0)
        return request_receive(request, mhd, bytes, size);
    return request_answer(request, mhd);
}

/* The one place where a request ends. */
static void on_completed(
    void *context, struct MHD_Connection *mhd, void **state, enum MHD_RequestTerminationCode code) {
    Server *server = context;
    Request *request = *state;
    int64_t now = clock_monotonic_nsec();

    if (!request)
        return;
    if (request->started_nsec != 0)
        report(request, code == MHD_REQUEST_TERMINATED_COMPLETED_OK, now);
    else if (code == MHD_REQUEST_TERMINATED_WITH_ERROR)
        atomic_fetch_add_explicit(
            &server->refused[SERVER_REFUSED_HEADERS], 1, memory_order_relaxed);
    (void)connection_enter(server->connections, request->connection, CONNECTION_IDLE, now);
    body_close(server->bodies, &request->body);
    arena_give(server, request->http.arena);
    free(request->target);
    free(request);
    *state = NULL;
}

static void start_tls(Server *server, Connection *connection, struct MHD_Connection *mhd) {
    gnutls_session_t session = session_of(mhd);

    if (!session)
        return;
    connection->tls = tls_store_ref_set(server->options.tls);
    gnutls_session_set_ptr(session, connection);
    if (tls_store_wants_clients(server->options.tls))
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

        if (connection && server->options.tls)
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
        return error_origin(-EINVAL);
    return 0;
}

static int start_listening(Server *server) {
    Address address;
    socklen_t size = sizeof(address);
    int on = 1, r;

    r = parse_address(&server->options, &address);
    if (r < 0)
        return error_trace(r);
    server->listen_fd =
        socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    if (server->listen_fd < 0)
        return error_origin(-errno);
    if (setsockopt(server->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(server->listen_fd, &address.any, size) < 0 ||
        listen(server->listen_fd, LISTEN_BACKLOG) < 0 ||
        getsockname(server->listen_fd, &address.any, &size) < 0)
        return error_origin(-errno);
    server->port =
        ntohs(address.any.sa_family == AF_INET6 ? address.in6.sin6_port : address.in.sin_port);
    return 0;
}

static size_t connection_memory(const ServerOptions *options) {
    size_t least = 2 * options->header_max;

    return least > CONNECTION_MEMORY ? least : CONNECTION_MEMORY;
}

static int start_daemon(Server *server) {
    const ServerOptions *options = &server->options;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC;
    size_t memory = connection_memory(options);
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
        {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)(uintptr_t)on_certificate},
        {MHD_OPTION_END, 0, NULL},
    };

    if (options->tls)
        flags |= MHD_USE_TLS;
    else
        tls[0].option = MHD_OPTION_END;
    server->daemon = MHD_start_daemon(flags,
        server->port,
        NULL,
        NULL,
        on_request,
        server,
        MHD_OPTION_LISTEN_SOCKET,
        server->listen_fd,
        MHD_OPTION_THREAD_POOL_SIZE,
        options->n_workers,
        MHD_OPTION_CONNECTION_LIMIT,
        connections_capacity(server->connections),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        memory,
#if MHD_VERSION < 0x01000000
        MHD_OPTION_STRICT_FOR_CLIENT,
        1,
#else
        MHD_OPTION_CLIENT_DISCIPLINE_LVL,
        2,
#endif
        MHD_OPTION_NOTIFY_CONNECTION,
        on_connection,
        server,
        MHD_OPTION_NOTIFY_COMPLETED,
        on_completed,
        server,
        MHD_OPTION_URI_LOG_CALLBACK,
        on_target,
        server,
        MHD_OPTION_UNESCAPE_CALLBACK,
        on_unescape,
        server,
        MHD_OPTION_ARRAY,
        tls,
        MHD_OPTION_END);
    return server->daemon ? 0 : error_origin(errno > 0 ? -errno : -EINVAL);
}

int server_new(const ServerOptions *options, const ServerCallbacks *callbacks, Server **ret) {
    _cleanup_(server_freep) Server *server = calloc(1, sizeof(*server));
    int r;

    if (!server)
        return error_origin(-ENOMEM);
    server->listen_fd = -1;
    server->options = *options;
    if (server->options.n_workers == 0)
        server->options.n_workers = 1;
    server->callbacks = *callbacks;
    pthread_mutex_init(&server->mutex, NULL);
    server->arenas_size = KEEP_PER_WORKER * server->options.n_workers;
    server->arenas = calloc(server->arenas_size, sizeof(Arena *));
    server->connections = connections_new(&server->options, server->refused);
    server->bodies = body_store_new(options->body_max, options->memory_max, server->arenas_size);
    if (!server->arenas || !server->connections || !server->bodies)
        return error_origin(-ENOMEM);

    r = start_listening(server);
    if (r < 0)
        return error_trace(r);
    r = start_daemon(server);
    if (r < 0)
        return error_trace(r);
    *ret = TAKE_PTR(server);
    return 0;
}

Server *server_free(Server *server) {
    if (!server)
        return NULL;
    if (server->daemon) {
        if (!atomic_load(&server->is_draining))
            (void)MHD_quiesce_daemon(server->daemon); /* else it closes the socket itself */
        MHD_stop_daemon(server->daemon);
    }
    if (server->listen_fd >= 0)
        (void)close(server->listen_fd);
    while (server->n_arenas > 0)
        arena_free(server->arenas[--server->n_arenas]);
    free(server->arenas);
    connections_free(server->connections);
    body_store_free(server->bodies);
    pthread_mutex_destroy(&server->mutex);
    free(server);
    return NULL;
}

uint16_t server_port(const Server *server) {
    return server->port;
}

void server_tick(Server *server, int64_t monotonic_nsec) {
    connections_tick(server->connections, monotonic_nsec);
}

unsigned server_drain(Server *server) {
    if (!atomic_exchange(&server->is_draining, true)) {
        (void)MHD_quiesce_daemon(server->daemon);
        /* Workers may just be about to accept: the socket stays theirs until the
         * end, but it listens no more and who waits in its queue is turned away. */
        (void)shutdown(server->listen_fd, SHUT_RD);
    }
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
        .memory = body_store_memory(server->bodies),
    };
    for (size_t i = 0; i < _SERVER_REFUSED_MAX; i++)
        ret->refused[i] = atomic_load_explicit(&server->refused[i], memory_order_relaxed);
}
