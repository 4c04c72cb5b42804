/*
 * Request: from its first line to its end.
 *
 *   request_new → start → receive … → answer → request_completed
 *
 * start() judges the headers and asks admit(); receive() collects the body;
 * answer() calls handle() and queues the reply. Each may refuse instead. All run
 * on the worker that owns the connection, so a request needs no lock of its own.
 * When handle() has put the reply off, answer() is called again once it is there;
 * in between the request is in the hands of http/pending.h. A reply that goes on is
 * in those of http/stream.h until the request ends.
 *
 * What is held while a client sends its body or takes its reply is counted by the
 * body store: the body, and the arena if it is not small. While a body is coming
 * there is no arena.
 */

#include <assert.h>
#include <microhttpd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/headers.h"
#include "http/pending.h"
#include "http/reply.h"
#include "http/request-head.h"
#include "http/server-internal.h"
#include "http/stream.h"

/* An arena up to this is not counted: libmicrohttpd's memory for a connection is not
 * either, and a health check should be answered when there is no room at all. */
#define ARENA_SMALL ((size_t)64 * 1024)

/* A client that goes on sending after a refusal is listened to this far, so that
 * it can read the answer; the time for it is CONNECTION_LINGER_SEC. */
#define LINGER_BYTES ((uint64_t)1024 * 1024 * 1024)

#define TOO_MUCH_TEXT "too many large requests at once\n"

typedef struct Request {
    Server *server;
    Connection *connection;
    char *target; /* path and query as sent */
    Headers headers;
    HttpRequest http;
    HttpReply reply;
    HttpPending *pending; /* NULL: not put off */
    HttpStream *stream;   /* NULL: the reply is one that ends */
    int stream_tag;
    uint64_t streamed;    /* bytes */
    Str text;             /* the one slice of a refusal of our own */
    size_t arena_charged; /* what the body store counts for http.arena */
    Body body;
    SliceReader reader;
    int64_t started_nsec; /* 0: headers are not complete yet */
    int64_t whole_nsec;   /* the body is complete; 0: it is not, or was not read */
    int64_t made_nsec;    /* the reply is made; 0: it is not */
    size_t body_max;      /* what admit() has said */
    bool is_refused;      /* the answer is out, the rest of the body is thrown away */
    uint64_t thrown_away;
} Request;

/* Counts what the arena has become. False: that is too much. */
static bool charge_arena(Request *request) {
    size_t size = arena_size(request->http.arena);

    if (size <= ARENA_SMALL || size <= request->arena_charged)
        return true;
    if (!body_store_charge(request->server->bodies, size - request->arena_charged))
        return false;
    request->arena_charged = size;
    return true;
}

static void release_arena(Request *request) {
    body_store_release(request->server->bodies, request->arena_charged);
    request->arena_charged = 0;
}

/* False: the system has no memory. */
static bool take_arena(Request *request) {
    Server *server = request->server;

    request->http.arena = arena_pool_take(server->arenas);
    if (request->http.arena && !charge_arena(request))
        request->http.arena = arena_free(request->http.arena);
    if (!request->http.arena)
        request->http.arena = arena_pool_make(server->arenas);
    return request->http.arena != NULL;
}

static void give_arena(Request *request) {
    if (!request->http.arena)
        return;
    arena_pool_give(request->server->arenas, TAKE_PTR(request->http.arena));
    release_arena(request);
}

static enum MHD_Result queue(Request *request, struct MHD_Connection *mhd, bool close) {
    const HttpReply *reply = &request->reply;
    struct MHD_Response *response = reply_response(reply, close, &request->reader);
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
        reply_join(&request->reply, request->http.arena);
        return queue(request, mhd, /* close= */ true);
    }
    body_close(server->bodies, &request->body);
    if (!connection_enter(server->connections, connection, CONNECTION_LINGER, now))
        return MHD_NO;
    return reply_send_raw(&request->reply, connection->fd, session_of(mhd)) ? MHD_YES : MHD_NO;
}

/* Makes a refusal of our own the reply. */
static void set_refusal(
    Request *request, ServerRefusal refusal, unsigned status, const char *text) {
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
}

static enum MHD_Result refuse(Request *request, struct MHD_Connection *mhd, ServerRefusal refusal,
    unsigned status, const char *text) {
    set_refusal(request, refusal, status, text);
    return refuse_with_reply(request, mhd);
}

static enum MHD_Result refuse_body(Request *request, struct MHD_Connection *mhd, int problem) {
    if (problem == BODY_E_SIZE)
        return refuse(request, mhd, SERVER_REFUSED_BODY_SIZE, 413, "the body is too large\n");
    return refuse(request, mhd, SERVER_REFUSED_MEMORY, 503, TOO_MUCH_TEXT);
}

/* What the headers alone forbid. True: refused, *ret is the handler's answer. */
static bool check_headers(
    Request *request, struct MHD_Connection *mhd, const HeadLine *line, enum MHD_Result *ret) {
    Headers *headers = &request->headers;
    size_t size = 0;

    head_read(mhd, line, headers, &size);
    if (!headers_request_line_is_clean(str_from_c(line->method), str_from_c(line->target)) &&
        headers->status == 0)
        *headers = (Headers){.status = 400, .problem = "the request line is malformed\n"};
    headers_finish(headers, strcmp(line->version, "HTTP/1.1") == 0);

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

    if (server->options.n_client_names == 0)
        return true;
    if (!tls)
        return false;
    generation = tls_store_generation(tls);
    if (connection->is_checked && connection->checked_generation == generation)
        return connection->is_authenticated;
    connection->is_authenticated = tls_store_peer_is_allowed(tls, session_of(mhd),
        server->options.client_names, server->options.n_client_names, problem, sizeof(problem));
    connection->is_checked = true;
    connection->checked_generation = generation;
    if (!connection->is_authenticated)
        log_debug("client is not authenticated", LOG_CSTR("reason", problem));
    return connection->is_authenticated;
}

/* Whether a body of @size is one that admit() did not mean. */
static bool is_over_max(const Request *request, uint64_t size) {
    return request->body_max > 0 && size > request->body_max;
}

/* Headers are complete. */
static enum MHD_Result start(Request *request, struct MHD_Connection *mhd, const HeadLine *line) {
    Server *server = request->server;
    enum MHD_Result result;
    bool has_body;
    int r;

    request->started_nsec = clock_monotonic_nsec();
    if (check_headers(request, mhd, line, &result))
        return result;
    head_fill(mhd, line, &request->headers, &server->options, &request->http);
    request->http.is_authenticated = authenticate(server, request->connection, mhd);
    if (!take_arena(request))
        return refuse_body(request, mhd, BODY_E_MEMORY);
    if (!server->callbacks.admit(server->callbacks.context, &request->http, &request->reply))
        return refuse_with_reply(request, mhd);
    has_body = request->http.has_body;
    if (has_body) {
        give_arena(request);
        request->body_max = request->reply.body_max;
        r = is_over_max(request, request->headers.content_length)
                ? BODY_E_SIZE
                : body_open(server->bodies, &request->body, request->headers.content_length);
        if (r)
            return refuse_body(request, mhd, r);
    }
    if (!connection_enter(server->connections, request->connection,
            has_body ? CONNECTION_BODY : CONNECTION_HANDLING, request->started_nsec))
        return MHD_NO;
    return MHD_YES;
}

static enum MHD_Result receive(
    Request *request, struct MHD_Connection *mhd, const char *bytes, size_t *size) {
    size_t n = *size;
    int r;

    *size = 0; /* all taken, whatever becomes of it */
    if (request->is_refused) {
        request->thrown_away += n;
        return request->thrown_away < LINGER_BYTES ? MHD_YES : MHD_NO;
    }
    if (is_over_max(request, request->body.len + n))
        r = BODY_E_SIZE;
    else
        r = body_append(request->server->bodies, &request->body, str_of(bytes, n));
    if (r)
        return refuse_body(request, mhd, r);
    atomic_store_explicit(
        &request->connection->body_bytes, request->body.len, memory_order_relaxed);
    return MHD_YES;
}

/* There is no room for the reply to wait in: all goes back at once. */
static void give_up_answer(Request *request) {
    request->thrown_away = request->body.len;
    body_close(request->server->bodies, &request->body);
    request->http.arena = arena_free(request->http.arena);
    release_arena(request);
    set_refusal(request, SERVER_REFUSED_MEMORY, 503, TOO_MUCH_TEXT);
}

/* Queues request->reply, or a refusal when there @is_none. */
static enum MHD_Result send_reply(Request *request, struct MHD_Connection *mhd, bool is_none) {
    Server *server = request->server;
    bool close;

    if (!is_none)
        reply_join(&request->reply, request->http.arena);
    close = is_none || !charge_arena(request);
    if (close) /* there is no room for it to wait in */
        give_up_answer(request);
    request->made_nsec = clock_monotonic_nsec();
    if (!connection_enter(
            server->connections, request->connection, CONNECTION_REPLY, request->made_nsec))
        return MHD_NO;
    close |= atomic_load_explicit(&server->is_draining, memory_order_relaxed) ||
             atomic_load_explicit(&server->is_retiring, memory_order_relaxed);
    return queue(request, mhd, close);
}

/* The reply has begun, and others will say when it ends: all else goes back. */
static enum MHD_Result send_stream(Request *request, struct MHD_Connection *mhd) {
    Server *server = request->server;
    struct MHD_Response *response =
        stream_response(request->stream, mhd, request->reply.content_type);
    enum MHD_Result result;

    request->reply = (HttpReply){.status = MHD_HTTP_OK, .tag = request->stream_tag};
    request->made_nsec = clock_monotonic_nsec();
    give_arena(request);
    if (!response)
        return MHD_NO;
    result = connection_enter(
                 server->connections, request->connection, CONNECTION_STREAM, request->made_nsec)
                 ? MHD_queue_response(mhd, request->reply.status, response)
                 : MHD_NO;
    MHD_destroy_response(response);
    return result;
}

/* The request is complete; or it was, and now the reply is there that was put off. */
static enum MHD_Result answer(Request *request, struct MHD_Connection *mhd) {
    const ServerCallbacks *callbacks = &request->server->callbacks;
    bool is_none = false;

    if (request->is_refused) /* the answer is out already */
        return MHD_NO;
    if (!request->pending) {
        request->whole_nsec = clock_monotonic_nsec();
        if (!connection_enter(request->server->connections, request->connection,
                CONNECTION_HANDLING, request->whole_nsec))
            return MHD_NO;
        is_none = !request->http.arena && !take_arena(request);
        if (!is_none) {
            request->http.body = body_seal(&request->body);
            callbacks->handle(callbacks->context, &request->http, &request->reply);
        }
    }
    if (request->stream)
        return send_stream(request, mhd);
    if (request->pending) {
        PendingState state = pending_wait(request->pending, mhd, &request->reply);

        if (state != PENDING_ANSWERED)
            return state == PENDING_WAITING ? MHD_YES : MHD_NO;
    }
    return send_reply(request, mhd, is_none);
}

static Request *request_of(const HttpRequest *http) {
    return (Request *)((uintptr_t)http - offsetof(Request, http));
}

HttpPending *server_defer(const HttpRequest *http, int tag) {
    Request *request = request_of(http);

    assert(!request->pending && !request->stream);
    if (!charge_arena(request)) /* now, as long as it is ours */
        return NULL;
    request->pending = pending_new(request->server->pendings, http, tag);
    return request->pending;
}

HttpStream *server_stream(const HttpRequest *http, int tag) {
    Request *request = request_of(http);
    Server *server = request->server;

    assert(!request->pending && !request->stream);
    if (!body_store_charge(server->bodies, SERVER_STREAM_BUFFER))
        return NULL;
    request->stream = stream_new(server->streams, request->connection);
    request->stream_tag = tag;
    if (!request->stream)
        body_store_release(server->bodies, SERVER_STREAM_BUFFER);
    return request->stream;
}

/* @is_sent: the reply, or that much of a stream as its client wanted. */
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
        outcome.bytes_out = request->streamed + reply_size(&request->reply);
    if (request->made_nsec != 0) {
        outcome.read_nsec = request->whole_nsec - request->started_nsec;
        outcome.handle_nsec = request->made_nsec - request->whole_nsec;
    }
    if (cut != 0)
        outcome.tag = -1;
    if (server->callbacks.finished)
        server->callbacks.finished(server->callbacks.context, &outcome);
}

void *request_new(void *context, const char *target, struct MHD_Connection *mhd) {
    Server *server = context;
    Connection *connection = connection_of(mhd);
    Request *request;

    if (!connection || !target ||
        !connection_begin(server->connections, connection, clock_monotonic_nsec()))
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

enum MHD_Result request_step(void *context, struct MHD_Connection *mhd, const char *url,
    const char *method, const char *version, const char *bytes, size_t *size, void **state) {
    Request *request = *state;

    if (!request)
        return MHD_NO; /* no memory, or the connection was refused */
    if (request->started_nsec == 0)
        return start(request, mhd,
            &(HeadLine){
                .url = url, .method = method, .version = version, .target = request->target});
    if (*size > 0)
        return receive(request, mhd, bytes, size);
    return answer(request, mhd);
}

void request_completed(
    void *context, struct MHD_Connection *mhd, void **state, enum MHD_RequestTerminationCode code) {
    Server *server = context;
    Request *request = *state;
    int64_t now = clock_monotonic_nsec();
    bool is_sent = code == MHD_REQUEST_TERMINATED_COMPLETED_OK;

    if (!request)
        return;
    is_sent |= request->stream != NULL;
    pending_end(request->pending);
    if (request->stream) {
        request->streamed = stream_end(TAKE_PTR(request->stream));
        body_store_release(server->bodies, SERVER_STREAM_BUFFER);
    }
    if (request->started_nsec != 0)
        report(request, is_sent, now);
    else if (code == MHD_REQUEST_TERMINATED_WITH_ERROR)
        atomic_fetch_add_explicit(
            &server->refused[SERVER_REFUSED_HEADERS], 1, memory_order_relaxed);
    (void)connection_enter(server->connections, request->connection, CONNECTION_IDLE, now);
    request->body.secret = request->reply.secret;
    body_close(server->bodies, &request->body);
    give_arena(request);
    free(request->target);
    free(request);
    *state = NULL;
}
