#include "demo/stand-in.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    StandIn *stand_in = context;
    _cleanup_(buf_done) Buf out = BUF_INIT(stand_in->reply_max);
    int64_t begin = clock_thread_cpu_nsec();
    Str *body = ARENA_NEW(request->arena, Str);

    *reply = (HttpReply){.status = 200, .content_type = "application/json"};
    if (stand_in->answer(stand_in->context, request, &out, reply))
        return;
    if (body)
        *body = arena_copy(request->arena, buf_str(&out));
    if (!body || !body->ptr || buf_error(&out) < 0) {
        *reply = (HttpReply){.status = 503};
        return;
    }
    reply->slices = body;
    reply->n_slices = 1;
    (void)atomic_fetch_add(&stand_in->cpu_nsec, clock_thread_cpu_nsec() - begin);
}

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    (void)context;
    (void)request;
    (void)reply;
    return true;
}

int stand_in_open(StandIn *stand_in) {
    int r;

    stand_in->port = HELD_PORT_NONE;
    r = held_port_open(&stand_in->port);
    if (r == 0)
        r = stand_in_resume(stand_in);
    if (r < 0)
        return r;
    (void)snprintf(
        stand_in->url, sizeof(stand_in->url), "http://127.0.0.1:%u", stand_in->port.number);
    return 0;
}

void stand_in_done(StandIn *stand_in) {
    if (!stand_in->answer)
        return;
    stand_in_stop(stand_in);
    held_port_done(&stand_in->port);
}

void stand_in_tick(StandIn *stand_in) {
    if (stand_in->server)
        server_tick(stand_in->server, clock_monotonic_nsec());
}

void stand_in_stop(StandIn *stand_in) {
    stand_in->server = server_free(stand_in->server);
}

int stand_in_resume(StandIn *stand_in) {
    ServerOptions options = server_default_options();

    options.port = stand_in->port.number;
    options.n_workers = 1;
    if (stand_in->body_max > 0)
        options.body_max = stand_in->body_max;
    return server_new(&options,
        &(ServerCallbacks){.context = stand_in, .admit = admit, .handle = handle},
        &stand_in->server);
}

bool stand_in_is_up(const StandIn *stand_in) {
    return stand_in->server;
}
