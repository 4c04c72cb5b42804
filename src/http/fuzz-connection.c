/* Any bytes on one connection, in any pieces. Each reply must be well-formed, the connection must
 * end after the client has, and the cuts between pieces must make no difference. */

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fuzz.h"
#include "http/server-internal.h"

#define INPUT_MAX ((size_t)64 * 1024)
#define REPLIES_MAX ((size_t)16 * 1024 * 1024)

/* separates pieces; is not sent */
#define CUT '\xff'

static Server server;
static int epoll_fd;

/* State of the current input. */
static HttpPending *pending;
static HttpStream *stream;
static unsigned n_begun, n_finished;

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    (void)context;
    n_begun++;
    require(request->path.len > 0 && request->body.len == 0);
    if (str_is(request->path, "/small"))
        reply->body_max = 8;
    if (!str_is(request->path, "/no"))
        return true;
    *reply = (HttpReply){.status = 404};
    return false;
}

static void echo(void *context, const HttpRequest *request, HttpReply *reply) {
    Str *slice = ARENA_NEW(request->arena, Str);

    (void)context;
    require(slice && request->body_size == request->body.len);
    *slice = str_is(request->method, "HEAD") ? STR_NULL : request->body;
    *reply = (HttpReply){.status = 200, .slices = slice, .n_slices = 1};
}

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    require(!pending && !stream); /* one request at a time */
    if (str_is(request->path, "/later"))
        pending = server_defer(request, 0);
    else if (str_is(request->path, "/stream"))
        stream = server_stream(request, 0);
    if (!pending && !stream)
        echo(context, request, reply);
}

static void finished(void *context, const HttpOutcome *outcome) {
    (void)context;
    (void)outcome;
    n_finished++;
}

static void start(void) {
    server.options = server_default_options();
    server.options.header_max = 512;
    server.options.body_max = 4096;
    server.options.memory_max = (size_t)1024 * 1024;
    server.callbacks = (ServerCallbacks){.admit = admit, .handle = handle, .finished = finished};
    server.pendings_max = 1;
    server.connections = connections_new(&server.options, server.refused);
    server.bodies = body_store_new(server.options.body_max, server.options.memory_max, 2);
    server.arenas = arena_pool_new(2, server.options.memory_max, (size_t)64 * 1024);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    require(server.connections && server.bodies && server.arenas && epoll_fd >= 0);
}

/* In place of other threads. */
static void answer_deferred(void) {
    if (pending)
        require(server_answer(TAKE_PTR(pending), echo, NULL));
    if (stream) {
        (void)!stream_send(stream, STR("data: 1\n\n"));
        stream = stream_close(stream);
    }
}

static void receive(int fd, Buf *replies) {
    char bytes[4096];
    ssize_t n;

    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        buf_append(replies, str_of(bytes, (size_t)n));
}

/* Serves until the connection waits for its client. */
static void serve(int fd, Buf *replies) {
    struct epoll_event event;

    for (;;) {
        while (epoll_wait(epoll_fd, &event, 1, 0) == 1) {
            connection_hold(event.data.ptr);
            connection_serve(&server, event.data.ptr);
            receive(fd, replies);
        }
        if (!pending && !stream)
            return;
        answer_deferred();
    }
}

/* Appends the bytes that a client receives if it sends @input in pieces. */
static void exchange(Str input, Buf *replies) {
    static const struct sockaddr address = {.sa_family = AF_UNIX};
    Connection *connection;
    int fds[2];

    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    require(connections_add(server.connections, fds[0], &address, epoll_fd, clock_monotonic_nsec(),
                &connection) == 0);
    require(connection_enter(
        server.connections, connection, CONNECTION_HEADERS, clock_monotonic_nsec()));
    require(connection_arm(connection, EPOLLIN));
    n_begun = n_finished = 0;
    while (input.len > 0) {
        size_t n = str_find(input, CUT);
        Str piece = str_take(input, n);

        /* Sending fails when the connection has ended. */
        if (piece.len > 0 && send(fds[1], piece.ptr, piece.len, MSG_NOSIGNAL) < 0)
            break;
        input = str_skip(input, n == SIZE_MAX ? n : n + 1);
        serve(fds[1], replies);
    }
    (void)shutdown(fds[1], SHUT_WR);
    serve(fds[1], replies);
    require(connections_count(server.connections) == 0);
    require(body_store_memory(server.bodies) == 0);
    require(n_begun <= n_finished);
    (void)close(fds[1]);
}

/* Returns the value of a header without blanks; NULL if the header is missing. */
static Str header_of(Str head, Str name) {
    Str line;

    while (str_split(&head, '\n', &line))
        if (str_has_prefix(line, name))
            return str_trim(str_skip(str_take(line, line.len - 1), name.len));
    return STR_NULL;
}

/* Appends the status of each reply to @statuses. */
static void check_replies(Str replies, Buf *statuses) {
    bool is_last = false;

    while (replies.len > 0) {
        size_t end =
            (size_t)((char *)memmem(replies.ptr, replies.len, "\r\n\r\n", 4) - replies.ptr);
        Str head = str_take(replies, end + 2), status = str_take(str_skip(head, 9), 3);
        int64_t length = 0;

        require(!is_last && end < replies.len && str_has_prefix(head, STR("HTTP/1.1 ")));
        replies = str_skip(replies, end + 4);
        if (str_is(status, "100"))
            continue; /* depends on the pieces */
        buf_append(statuses, status);
        is_last = header_of(head, STR("Connection:")).ptr;
        if (!header_of(head, STR("Content-Length:")).ptr)
            return; /* a stream, to the end */
        require(str_to_int64(header_of(head, STR("Content-Length:")), &length));
        if (is_last && replies.len == 0) /* may be the reply to a refused HEAD */
            return;
        require(replies.len >= (uint64_t)length);
        replies = str_skip(replies, (size_t)length);
    }
}

static void run(Str input, Buf *statuses) {
    Buf replies = BUF_INIT(REPLIES_MAX);

    exchange(input, &replies);
    require(buf_error(&replies) == 0);
    check_replies(buf_str(&replies), statuses);
    buf_done(&replies);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str input = str_of((const char *)data, size), rest = input, piece;
    Buf uncut = BUF_INIT(INPUT_MAX), statuses = BUF_INIT(REPLIES_MAX), again = statuses;

    if (size > INPUT_MAX)
        return 0;
    if (!server.connections)
        start();
    while (str_split(&rest, CUT, &piece))
        buf_append(&uncut, piece);
    run(input, &statuses);
    run(buf_str(&uncut), &again);
    require(str_eq(buf_str(&statuses), buf_str(&again)));
    buf_done(&uncut);
    buf_done(&statuses);
    buf_done(&again);
    return 0;
}
