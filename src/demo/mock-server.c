/* An http/server on loopback whose port stays reserved while it is stopped. */

#include "demo/mock-server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    MockServer *mock = context;
    _cleanup_(buf_done) Buf out = BUF_INIT(mock->reply_max);
    Str *body = ARENA_NEW(request->arena, Str);

    *reply = (HttpReply){.status = 200, .content_type = "application/json"};
    mock->answer(mock->context, request, &out, reply);
    if (body)
        *body = arena_copy(request->arena, buf_str(&out));
    if (!body || !body->ptr || buf_error(&out) < 0) {
        *reply = (HttpReply){.status = 503};
        return;
    }
    reply->slices = body;
    reply->n_slices = 1;
}

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    return true;
}

/* Binds a port of 127.0.0.1 without listening, so that no other process gets it while the server is
 * stopped. Linux lets two sockets with SO_REUSEADDR bind one address unless one already listens:
 * this one never does, so the server's socket (http/server.c) can. */
static int reserve_port(MockServer *mock) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
    } address = {.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address.v4);
    const int on = 1;

    mock->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (mock->fd < 0 || setsockopt(mock->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(mock->fd, &address.any, size) < 0 || getsockname(mock->fd, &address.any, &size) < 0)
        return -errno;
    mock->port = ntohs(address.v4.sin_port);
    return 0;
}

int mock_server_open(MockServer *mock) {
    int r = reserve_port(mock);

    if (r == 0)
        r = mock_server_resume(mock);
    if (r < 0)
        return r;
    (void)snprintf(mock->url, sizeof(mock->url), "http://127.0.0.1:%u", mock->port);
    return 0;
}

void mock_server_done(MockServer *mock) {
    if (!mock->answer)
        return;
    mock_server_stop(mock);
    if (mock->fd >= 0)
        (void)close(mock->fd);
}

void mock_server_tick(MockServer *mock) {
    if (mock->server)
        server_tick(mock->server, clock_monotonic_nsec());
}

void mock_server_stop(MockServer *mock) {
    mock->server = server_free(mock->server);
}

int mock_server_resume(MockServer *mock) {
    ServerOptions options = server_default_options();

    options.port = mock->port;
    options.n_workers = 1;
    if (mock->body_max > 0)
        options.body_max = mock->body_max;
    return server_new(&options,
        &(ServerCallbacks){.context = mock, .admit = admit, .handle = handle}, &mock->server);
}
