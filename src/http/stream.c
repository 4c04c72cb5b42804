/* Streamed replies: a ring of bytes for each, written as fast as the client reads. */

#include "http/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/ref.h"
#include "base/thread.h"
#include "http/reply.h"

/* Room for unsent bytes and the lines of their chunks. */
#define RING_SIZE (SERVER_STREAM_BUFFER + (size_t)4 * 1024)
#define CHUNK_LINES_MAX 24u /* "40000", two line ends, and the last chunk */

struct HttpStream {
    Ref ref;
    Connections *connections;
    bool is_chunked;

    /* Used only by the worker that holds the connection. */
    Buf head;
    size_t head_sent;

    pthread_mutex_t lock;   /* protects the fields below */
    Connection *connection; /* NULL: the request has ended */
    bool is_over;           /* no more bytes are accepted */
    bool is_ended;          /* the last chunk is in the ring */
    bool is_given_up;       /* the client reads too slowly */
    size_t from, n;
    uint64_t n_sent; /* bytes of the body */
    char ring[RING_SIZE];
};

static void stream_unref(HttpStream *stream) {
    if (!ref_drop(&stream->ref))
        return;
    (void)pthread_mutex_destroy(&stream->lock);
    buf_done(&stream->head);
    free(stream);
}

HttpStream *stream_new(Connections *connections, Connection *connection, bool is_chunked) {
    HttpStream *stream = calloc(1, sizeof(*stream));

    if (!stream)
        return NULL;
    stream->ref = REF_ONE;
    stream->connections = connections;
    stream->connection = connection;
    stream->is_chunked = is_chunked;
    ref_take(&stream->ref);
    (void)pthread_mutex_init(&stream->lock, NULL);
    return stream;
}

/* The ring; called with the lock held. */

static void put(HttpStream *stream, Str bytes) {
    size_t at = (stream->from + stream->n) % RING_SIZE;
    size_t first = RING_SIZE - at;

    if (bytes.len == 0)
        return;
    if (first > bytes.len)
        first = bytes.len;
    memcpy(stream->ring + at, bytes.ptr, first);
    memcpy(stream->ring, bytes.ptr + first, bytes.len - first);
    stream->n += bytes.len;
}

static void put_chunk(HttpStream *stream, Str bytes) {
    char size[CHUNK_LINES_MAX];

    stream->n_sent += bytes.len;
    if (!stream->is_chunked)
        return put(stream, bytes);
    (void)snprintf(size, sizeof(size), "%zx\r\n", bytes.len);
    put(stream, str_from_c(size));
    put(stream, bytes);
    put(stream, STR("\r\n"));
}

static void wake(HttpStream *stream) {
    if (stream->connection)
        connection_wake(stream->connections, stream->connection);
}

bool stream_start(HttpStream *stream, const char *content_type, bool has_body) {
    stream->head = BUF_INIT(REPLY_HEAD_MAX);
    reply_stream_head(&stream->head, content_type, stream->is_chunked);
    pthread_mutex_lock(&stream->lock);
    if (!has_body) { /* drops bytes that were sent before */
        stream->is_ended = true;
        stream->n = 0;
        stream->n_sent = 0;
    }
    pthread_mutex_unlock(&stream->lock);
    return buf_error(&stream->head) == 0;
}

static size_t add_slice(struct iovec *slices, size_t n, Str bytes) {
    if (bytes.len == 0)
        return n;
    slices[n] = (struct iovec){.iov_base = (void *)(uintptr_t)bytes.ptr, .iov_len = bytes.len};
    return n + 1;
}

/* The unsent bytes: the head, and the ring in one or two pieces. */
static size_t gather(const HttpStream *stream, struct iovec slices[3]) {
    Str end = str_of(stream->ring + stream->from, RING_SIZE - stream->from);
    size_t n = add_slice(slices, 0, str_skip(buf_str(&stream->head), stream->head_sent));

    end = str_take(end, stream->n);
    n = add_slice(slices, n, end);
    return add_slice(slices, n, str_of(stream->ring, stream->n - end.len));
}

static void advance(HttpStream *stream, size_t n) {
    size_t of_head = stream->head.len - stream->head_sent;

    if (of_head > n)
        of_head = n;
    stream->head_sent += of_head;
    stream->from = (stream->from + n - of_head) % RING_SIZE;
    stream->n -= n - of_head;
}

/* Collects the bytes to write. Called with the lock held. False: none; *ret is set. */
static bool next(HttpStream *stream, struct iovec slices[3], size_t *ret_n, StreamState *ret) {
    if (stream->n == 0 && !stream->is_ended && stream->is_over) {
        stream->is_ended = true;
        if (stream->is_chunked)
            put(stream, STR("0\r\n\r\n"));
    }
    *ret_n = gather(stream, slices);
    if (stream->is_given_up)
        *ret = STREAM_BROKEN;
    else if (*ret_n > 0)
        return true;
    else if (stream->is_ended)
        *ret = STREAM_OVER;
    else {
        *ret = STREAM_ASLEEP;
        connection_sleep(stream->connections, stream->connection);
    }
    return false;
}

/* Writes without the lock: senders only append, so unsent bytes do not move. */
StreamState stream_write(HttpStream *stream, bool is_ending) {
    Transport *transport = &stream->connection->transport;
    StreamState state;
    struct iovec slices[3];
    size_t n;

    pthread_mutex_lock(&stream->lock);
    stream->is_over |= is_ending;
    while (next(stream, slices, &n, &state)) {
        ssize_t written;

        pthread_mutex_unlock(&stream->lock);
        written = transport_write(transport, slices, n);
        if (written < 0)
            return written == -EAGAIN ? STREAM_FULL : STREAM_BROKEN;
        pthread_mutex_lock(&stream->lock);
        advance(stream, (size_t)written);
    }
    pthread_mutex_unlock(&stream->lock);
    return state;
}

uint64_t stream_end(HttpStream *stream) {
    uint64_t n_sent;

    pthread_mutex_lock(&stream->lock);
    n_sent = stream->n_sent;
    stream->connection = NULL;
    pthread_mutex_unlock(&stream->lock);
    stream_unref(stream);
    return n_sent;
}

bool stream_send(HttpStream *stream, Str bytes) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&stream->lock);

    if (!stream->connection || stream->is_given_up || stream->is_over || stream->is_ended)
        return false;
    if (bytes.len + CHUNK_LINES_MAX > RING_SIZE - stream->n) {
        stream->is_given_up = true;
        connection_cut(stream->connections, stream->connection);
        return false;
    }
    if (bytes.len > 0) {
        put_chunk(stream, bytes);
        wake(stream);
    }
    return true;
}

HttpStream *stream_close(HttpStream *stream) {
    pthread_mutex_lock(&stream->lock);
    stream->is_over = true;
    wake(stream);
    pthread_mutex_unlock(&stream->lock);
    stream_unref(stream);
    return NULL;
}
