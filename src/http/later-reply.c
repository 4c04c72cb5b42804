/* Replies that another thread makes: deferred ones and streams, and memory counted for them. */

#include <assert.h>

#include "http/request-internal.h"

static Request *request_of(const HttpRequest *http) {
    return (Request *)((uintptr_t)http - offsetof(Request, http));
}

/* Counts one more. False: there are @max already. */
static bool take_place(atomic_uint *n, unsigned max) {
    if (atomic_fetch_add(n, 1) < max)
        return true;
    atomic_fetch_sub(n, 1);
    return false;
}

HttpPending *server_defer(const HttpRequest *http, int tag) {
    Request *request = request_of(http);
    Server *server = request->server;

    assert(!request->pending && !request->stream);
    if (!request->connection->is_kept ||  /* it would occupy a place of the new ones for long */
        !request_charge_arena(request) || /* now: later another thread may use the arena */
        !take_place(&server->n_pendings, server->pendings_max))
        return NULL;
    request->pending = pending_new(http, server->connections, request->connection, tag);
    request->later_tag = tag;
    if (!request->pending)
        atomic_fetch_sub(&server->n_pendings, 1);
    return request->pending;
}

bool server_charge(const HttpRequest *http, size_t size) {
    /* admit() let the client in, so the reserve is for it, too. */
    return body_store_charge(request_of(http)->server->bodies, size, /* is_known= */ true);
}

size_t server_memory_max(const HttpRequest *http) {
    return request_of(http)->server->options.memory_max;
}

void server_release(const HttpRequest *http, size_t size) {
    body_store_release(request_of(http)->server->bodies, size);
}

HttpStream *server_stream(const HttpRequest *http, int tag) {
    Request *request = request_of(http);
    Server *server = request->server;

    assert(!request->pending && !request->stream);
    if (atomic_load(&server->is_draining) || !request->connection->is_kept ||
        !take_place(&server->n_streams, SERVER_STREAMS_MAX))
        return NULL;
    request->later_tag = tag;
    if (body_store_charge(server->bodies, SERVER_STREAM_BUFFER, request->connection->is_known)) {
        request->stream =
            stream_new(server->connections, request->connection, request->head.is_http_1_1);
        if (!request->stream)
            body_store_release(server->bodies, SERVER_STREAM_BUFFER);
    }
    if (!request->stream)
        atomic_fetch_sub(&server->n_streams, 1);
    return request->stream;
}

void request_end_later(Request *request) {
    Server *server = request->server;

    if (request->pending) {
        pending_end(TAKE_PTR(request->pending));
        atomic_fetch_sub(&server->n_pendings, 1);
    }
    if (request->stream) {
        request->streamed = stream_end(TAKE_PTR(request->stream));
        body_store_release(server->bodies, SERVER_STREAM_BUFFER);
        atomic_fetch_sub(&server->n_streams, 1);
    }
}
