/*
 * Serves a request from its first byte to its end.
 *
 *   read_head → start → read_body … → handle → write_reply … → end_request
 *                                            ↘ write_stream …
 *
 * start() checks the head and calls admit(); read_body() collects the body; handle() calls the
 * handler. Each may refuse the request instead. A step runs on the worker that holds the
 * connection, until the connection must wait for its client or for a deferred reply
 * (http/later-reply.c).
 *
 * While a client sends its body or receives its reply, the body store counts the memory in use: the
 * body, and the arena unless it is small. While a body arrives there is no arena.
 */

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "http/request-internal.h"

/* A worker reads this many bytes of one body before it serves other connections. */
#define READ_TURN ((size_t)1024 * 1024)

/* Smaller arenas are not counted, nor is a connection's memory: health checks must be answered even
 * when memory_max is used up. */
#define ARENA_SMALL ((size_t)64 * 1024)

#define TOO_MUCH_TEXT "too many large requests at once\n"

/* The next step of a connection. */
typedef enum Step {
    STEP_NEXT,  /* run the step of the connection's state now */
    STEP_READ,  /* wait until the socket is readable */
    STEP_WRITE, /* wait until the socket is writable, usually at once */
    STEP_GONE,  /* the connection is asleep; the worker no longer holds it */
    STEP_END,   /* close the connection */
} Step;

/* --- the arena ------------------------------------------------------------------------------- */

bool request_charge_arena(Request *request) {
    size_t size = arena_size(request->head.http.arena);

    if (size <= ARENA_SMALL || size <= request->arena_charged)
        return true;
    if (!body_store_charge(
            request->server->bodies, size - request->arena_charged, request->connection->is_known))
        return false;
    request->arena_charged = size;
    return true;
}

static void release_arena(Request *request) {
    body_store_release(request->server->bodies, request->arena_charged);
    request->arena_charged = 0;
}

/* Returns false if out of memory. */
static bool take_arena(Request *request) {
    Server *server = request->server;

    request->head.http.arena = arena_pool_take(server->arenas);
    if (request->head.http.arena && !request_charge_arena(request))
        request->head.http.arena = arena_free(request->head.http.arena);
    if (!request->head.http.arena)
        request->head.http.arena = arena_pool_make(server->arenas);
    return request->head.http.arena;
}

static void give_arena(Request *request) {
    if (!request->head.http.arena)
        return;
    arena_pool_give(request->server->arenas, TAKE_PTR(request->head.http.arena));
    release_arena(request);
}

static Step enter(Request *request, ConnectionState state, int64_t now) {
    return connection_enter(request->server->connections, request->connection, state, now)
               ? STEP_NEXT
               : STEP_END;
}

/* --- the reply ------------------------------------------------------------------------------- */

/* Sends request->reply. */
static Step start_reply(Request *request) {
    Server *server = request->server;
    bool has_body = !str_is(request->head.http.method, "HEAD");

    request->is_last |= atomic_load_explicit(&server->is_draining, memory_order_relaxed) ||
                        atomic_load_explicit(&server->is_retiring, memory_order_relaxed);
    if (enter(request, CONNECTION_REPLY, clock_monotonic_nsec()) == STEP_END ||
        !reply_start(&request->writer, &request->reply, request->is_last, has_body))
        return STEP_END;
    return STEP_NEXT;
}

/* Sets the reply to a refusal by the server itself. */
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

/* Sends request->reply instead of reading the body. */
static Step refuse_with_reply(Request *request) {
    const RequestHead *head = &request->head;

    request->is_last = true;
    request->has_more_input =
        head->http.method.len == 0 || head->status != 0 || head->http.body_size > request->body.len;
    body_close(request->server->bodies, &request->body);
    return start_reply(request);
}

static Step refuse(Request *request, ServerRefusal refusal, unsigned status, const char *text) {
    set_refusal(request, refusal, status, text);
    return refuse_with_reply(request);
}

static Step refuse_body(Request *request, int problem) {
    if (problem == BODY_E_SIZE)
        return refuse(request, SERVER_REFUSED_BODY_SIZE, 413, "the body is too large\n");
    return refuse(request, SERVER_REFUSED_MEMORY, 503, TOO_MUCH_TEXT);
}

/* Sends @status for input that is not a request, or not a complete one. */
static void send_error(Connection *connection, unsigned status, const char *text) {
    const Str slice = str_from_c(text);
    const HttpReply reply = {.status = status,
        .content_type = "text/plain; charset=utf-8",
        .slices = &slice,
        .n_slices = 1};
    ReplyWriter writer;

    if (reply_start(&writer, &reply, /* is_last= */ true, /* has_body= */ true))
        (void)reply_write(&writer, &connection->transport);
    reply_done(&writer);
}

/* --- the end of a request -------------------------------------------------------------------- */

/* Calls finished(). @is_sent: the whole reply was sent; always true for streams. */
static void report(const Request *request, bool is_sent) {
    const Server *server = request->server;
    bool is_late = atomic_load(&request->connection->is_late);
    HttpOutcome outcome = {
        .tag = is_late ? -1 : request->reply.tag,
        .status = is_sent   ? request->reply.status
                  : is_late ? 408
                            : 0,
        .bytes_in = request->body.len,
        .bytes_out = is_sent ? request->streamed + reply_size(&request->reply) : 0,
        .duration_nsec = clock_monotonic_nsec() - request->started_nsec,
        .waited_nsec = request->waited_nsec,
    };

    if (request->made_nsec != 0) {
        outcome.read_nsec = request->whole_nsec - request->started_nsec;
        outcome.handle_nsec = request->made_nsec - request->whole_nsec;
    }
    if (server->callbacks.finished)
        server->callbacks.finished(server->callbacks.context, &outcome);
}

/* Removes @n bytes at @from from the input and wipes them: they may be secret. Frees an empty
 * buffer, so that idle connections have none. */
static void drop_input(Connection *connection, size_t from, size_t n) {
    char *input = connection->input;

    if (!input)
        return;
    connection->input_len -= n;
    memmove(input + from, input + from + n, connection->input_len - from);
    explicit_bzero(input + connection->input_len, n);
    if (connection->input_len == 0)
        free(TAKE_PTR(connection->input));
}

static void end_request(Request *request, bool is_sent) {
    Server *server = request->server;
    Connection *connection = request->connection;

    is_sent |= request->stream != NULL;
    request_end_later(request);
    report(request, is_sent);
    connection->is_known |= is_sent && request->head.http.is_authenticated;
    request->body.secret = request->reply.secret;
    body_close(server->bodies, &request->body);
    give_arena(request);
    reply_done(&request->writer);
    drop_input(connection, 0, request->head_size);
    connection->input_scanned = 0;
    connection->request = NULL;
    free(request);
}

void connection_end(Server *server, Connection *connection) {
    if (connection->request)
        end_request(connection->request, /* is_sent= */ false);
    drop_input(connection, 0, connection->input_len);
    connections_remove(server->connections, connection);
}

/* Reads and discards input for a while. To close a connection while its client still sends would
 * reset it, and the client might lose the reply. */
static Step finish_output(Server *server, Connection *connection, bool has_more_input) {
    transport_end_output(&connection->transport);
    if (!has_more_input && connection->input_len == 0 && !connection_has_unread(connection))
        return STEP_END;
    drop_input(connection, 0, connection->input_len);
    return connection_enter(
               server->connections, connection, CONNECTION_LINGER, clock_monotonic_nsec())
               ? STEP_NEXT
               : STEP_END;
}

static Step write_reply(Request *request) {
    Server *server = request->server;
    Connection *connection = request->connection;
    bool is_last = request->is_last, has_more_input = request->has_more_input;
    int r = reply_write(&request->writer, &connection->transport);

    if (r != 0)
        return r == -EAGAIN ? STEP_WRITE : STEP_END;
    end_request(request, /* is_sent= */ true);
    if (is_last)
        return finish_output(server, connection, has_more_input);
    if (!connection_enter(server->connections, connection, CONNECTION_IDLE, clock_monotonic_nsec()))
        return STEP_END;
    /* Serve other connections before the next request of this one. */
    return connection->input_len > 0 || transport_has_buffered(&connection->transport) ? STEP_WRITE
                                                                                       : STEP_READ;
}

static Step write_stream(Request *request) {
    if (atomic_load(&request->connection->is_cut))
        return STEP_END;
    switch (stream_write(request->stream, atomic_load(&request->server->is_draining))) {
    case STREAM_FULL:
        return STEP_WRITE;
    case STREAM_ASLEEP:
        return STEP_GONE;
    case STREAM_OVER:
        transport_end_output(&request->connection->transport);
        break;
    case STREAM_BROKEN:
        break;
    }
    return STEP_END;
}

/* --- handling -------------------------------------------------------------------------------- */

/* Replies 503 and frees everything, if there is no memory for the reply. */
static void replace_by_503(Request *request) {
    body_close(request->server->bodies, &request->body);
    request->head.http.arena = arena_free(request->head.http.arena);
    release_arena(request);
    set_refusal(request, SERVER_REFUSED_MEMORY, 503, TOO_MUCH_TEXT);
    request->is_last = true;
}

/* Starts the stream, which another thread ends. Until then only the stream's buffer is kept. */
static Step start_stream(Request *request) {
    const char *content_type = request->reply.content_type;

    request->reply = (HttpReply){.status = 200, .tag = request->later_tag};
    request->made_nsec = clock_monotonic_nsec();
    give_arena(request);
    return stream_start(request->stream, content_type, !str_is(request->head.http.method, "HEAD"))
               ? enter(request, CONNECTION_STREAM, request->made_nsec)
               : STEP_END;
}

/* Runs when the request is complete, and again when its deferred reply is. */
static Step handle(Request *request) {
    const ServerCallbacks *callbacks = &request->server->callbacks;
    bool has_memory = true;

    if (!request->pending) {
        request->whole_nsec = clock_monotonic_nsec();
        has_memory = request->head.http.arena || take_arena(request);
        request->head.http.body = body_seal(&request->body);
        if (has_memory)
            callbacks->handle(callbacks->context, &request->head.http, &request->reply);
        request->waited_nsec = request->reply.waited_nsec;
    }
    if (request->stream)
        return start_stream(request);
    if (request->pending) {
        request->reply = (HttpReply){.tag = request->later_tag};
        if (!request_wait(request))
            return STEP_GONE;
    }
    if (!has_memory || !request_charge_arena(request))
        replace_by_503(request);
    request->made_nsec = clock_monotonic_nsec();
    return start_reply(request);
}

/* --- the head -------------------------------------------------------------------------------- */

/* Input behind the head is the start of the body. */
static Step start_body(Request *request) {
    Connection *connection = request->connection;
    size_t n = connection->input_len - request->head_size;
    bool is_asked = request->head.expects_continue && request->head.is_http_1_1 && n == 0;
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct iovec slice = {.iov_base = (void *)(uintptr_t)go_on, .iov_len = sizeof(go_on) - 1};

    if (is_asked && transport_write(&connection->transport, &slice, 1) != sizeof(go_on) - 1)
        return STEP_END; /* an empty socket buffer has room */
    if (enter(request, CONNECTION_BODY, request->started_nsec) == STEP_END)
        return STEP_END;
    /* Memory is allocated for bytes received, not for Content-Length. */
    return n == 0 && !transport_has_buffered(&connection->transport) ? STEP_READ : STEP_NEXT;
}

static Step refuse_head(Request *request) {
    const RequestHead *head = &request->head;
    bool is_encoding = head->status == 415 || head->status == 501;

    set_refusal(request, is_encoding ? SERVER_REFUSED_ENCODING : SERVER_REFUSED_HEADERS,
        head->status, head->problem);
    request->reply.allow = head->status == 405 ? "GET, HEAD, POST" : NULL;
    return refuse_with_reply(request);
}

/* Runs when the head is complete. */
static Step start(Request *request) {
    Server *server = request->server;
    const RequestHead *head = &request->head;
    uint64_t body_max;
    bool was_allowed;
    int r;

    request->is_last = head->is_last;
    if (head->status != 0)
        return refuse_head(request);
    was_allowed = atomic_load(&request->connection->allowed_until_sec) != 0;
    request_describe(server, request->connection, &request->head);
    request->is_last |= was_allowed && !request->head.http.is_authenticated;
    request->is_last |= !connection_keep(
        server->connections, request->connection, !request->head.http.is_authenticated);
    if (!take_arena(request))
        return refuse_body(request, BODY_E_MEMORY);
    if (!server->callbacks.admit(server->callbacks.context, &request->head.http, &request->reply))
        return refuse_with_reply(request);
    if (request->head.http.body_size == 0)
        return enter(request, CONNECTION_HANDLING, request->started_nsec);
    give_arena(request);
    body_max = request->reply.body_max;
    r = body_max > 0 && head->http.body_size > body_max
            ? BODY_E_SIZE
            : body_open(server->bodies, &request->body, head->http.body_size,
                  request->connection->is_known);
    return r ? refuse_body(request, r) : start_body(request);
}

static Request *request_new(Server *server, Connection *connection, size_t head_size) {
    Request *request = calloc(1, sizeof(*request));

    if (!request)
        return NULL;
    request->server = server;
    request->connection = connection;
    request->reply.tag = -1;
    request->head_size = head_size;
    request->started_nsec = clock_monotonic_nsec();
    connection->request = request;
    return request;
}

/* Refuses input that is not a request. */
static Step refuse_input(Server *server, Connection *connection, ServerRefusal refusal,
    unsigned status, const char *text) {
    Request *request = request_new(server, connection, connection->input_len);

    return request ? refuse(request, refusal, status, text) : STEP_END;
}

/* Takes the next request, if its head is complete. */
static Step take_head(Server *server, Connection *connection) {
    Str input = str_of(connection->input, connection->input_len);
    size_t size;
    Request *request;

    if (!connection_begin(server->connections, connection, clock_monotonic_nsec()))
        return STEP_END;
    size = request_head_length(input, &connection->input_scanned);
    if (size == REQUEST_HEAD_MALFORMED)
        return refuse_input(server, connection, SERVER_REFUSED_HEADERS, 400,
            "this is not HTTP/1.1: a request line and header lines that end in CR LF\n");
    if (size == 0 && input.len < server->options.header_max)
        return STEP_READ;
    if (size == 0)
        return str_find(input, '\n') == SIZE_MAX
                   ? refuse_input(server, connection, SERVER_REFUSED_HEADER_SIZE, 414,
                         "the request line is too long\n")
                   : refuse_input(server, connection, SERVER_REFUSED_HEADER_SIZE, 431,
                         "the request's header is too large\n");
    request = request_new(server, connection, size);
    if (!request)
        return STEP_END;
    request_head_parse(str_take(input, size), &request->head);
    return start(request);
}

/* Handles the end of input: the client closed the connection, or missed a deadline. */
static Step end_input(Connection *connection) {
    bool is_late = atomic_load(&connection->is_late);

    if ((connection->request || connection->input_len > 0) && (is_late || !connection->is_cut)) {
        if (is_late)
            send_error(connection, 408, "the request came late\n");
        else
            send_error(connection, 400, "the request is not complete\n");
        transport_end_output(&connection->transport);
    }
    return STEP_END;
}

static Step read_head(Server *server, Connection *connection) {
    if (connection->state == CONNECTION_IDLE && connection->input_len > 0) { /* it was pipelined */
        Step step = take_head(server, connection);

        if (step != STEP_READ || connection->request)
            return step;
    }
    if (!connection->input)
        connection->input = malloc(server->options.header_max);
    while (connection->input) {
        ssize_t n;
        Step step;

        n = transport_read(&connection->transport, connection->input + connection->input_len,
            server->options.header_max - connection->input_len);
        if (n <= 0)
            return n == -EAGAIN ? STEP_READ : end_input(connection);
        connection->input_len += (size_t)n;
        step = take_head(server, connection);
        if (step != STEP_READ || connection->request)
            return step;
    }
    return STEP_END;
}

/* --- the body -------------------------------------------------------------------------------- */

/* Returns up to @room bytes of the body, like transport_read(). */
static ssize_t read_input(Request *request, char *to, size_t room) {
    Connection *connection = request->connection;
    size_t n = connection->input_len - request->head_size;

    if (n == 0)
        return transport_read(&connection->transport, to, room);
    if (n > room)
        n = room;
    memcpy(to, connection->input + request->head_size, n);
    drop_input(connection, request->head_size, n);
    return (ssize_t)n;
}

static Step read_body(Request *request) {
    Server *server = request->server;
    Connection *connection = request->connection;
    size_t turn = 0;

    while (!body_is_complete(&request->body)) {
        size_t room;
        char *to;
        ssize_t n;

        if (body_reserve(server->bodies, &request->body, &to, &room) != 0)
            return refuse_body(request, BODY_E_MEMORY);
        n = read_input(request, to, room);
        if (n <= 0)
            return n == -EAGAIN ? STEP_READ : end_input(connection);
        body_advance(&request->body, (size_t)n);
        atomic_store_explicit(&connection->body_bytes, request->body.len, memory_order_relaxed);
        turn += (size_t)n;
        if (turn >= READ_TURN && !body_is_complete(&request->body))
            return STEP_WRITE; /* serve other connections first */
    }
    return enter(request, CONNECTION_HANDLING, clock_monotonic_nsec());
}

/* Discards input. TLS records are no longer decrypted. */
static Step linger(Connection *connection) {
    Transport plain = {.fd = connection->transport.fd};
    char bytes[16 * 1024];
    size_t turn = 0;

    while (turn < READ_TURN) {
        ssize_t n = transport_read(&plain, bytes, sizeof(bytes));

        if (n <= 0)
            return n == -EAGAIN ? STEP_READ : STEP_END;
        turn += (size_t)n;
    }
    return STEP_READ;
}

/* --- one turn of a worker -------------------------------------------------------------------- */

static Step run(Server *server, Connection *connection) {
    switch (connection->state) {
    case CONNECTION_NEW: /* held by the accepting thread */
        break;
    case CONNECTION_HEADERS:
    case CONNECTION_IDLE:
        return read_head(server, connection);
    case CONNECTION_BODY:
        return read_body(connection->request);
    case CONNECTION_HANDLING:
        return handle(connection->request);
    case CONNECTION_REPLY:
        return write_reply(connection->request);
    case CONNECTION_STREAM:
        return write_stream(connection->request);
    case CONNECTION_LINGER:
        return linger(connection);
    }
    return STEP_END;
}

void connection_serve(Server *server, Connection *connection) {
    Step step;

    do
        step = run(server, connection);
    while (step == STEP_NEXT);
    if (step == STEP_GONE)
        return;
    if (step == STEP_END || !connection_arm(connection, step == STEP_READ ? EPOLLIN : EPOLLOUT))
        connection_end(server, connection);
}

void connection_reject(Server *server, Connection *connection) {
    transport_drop_tls(&connection->transport);
    if (finish_output(server, connection, /* has_more_input= */ true) == STEP_END ||
        !connection_arm(connection, EPOLLIN))
        connection_end(server, connection);
}
