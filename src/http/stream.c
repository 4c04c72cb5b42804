/* Replies that go on: a ring of bytes for each, written as fast as the client takes them. */

#include "http/stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "http/registry.h"
#include "http/reply.h"

/* Room for what a sender may have waiting, and for the lines of its chunks. */
#define RING_SIZE (SERVER_STREAM_BUFFER + (size_t)4 * 1024)
#define CHUNK_LINES_MAX 24u /* "40000", two line ends, and the last chunk */

struct Streams {
    Registry registry;
    Connections *connections;
    bool is_ending; /* no more is taken, what waits goes out */
};

struct HttpStream {
    RegistryEntry entry; /* must be first */
    Ref ref;
    Streams *all;
    bool is_chunked;

    /* Of the worker that holds the connection. */
    Buf head;
    size_t head_sent;

    /* Guarded by the lock of the registry. */
    Connection *connection; /* NULL: the request has ended */
    bool is_over;           /* the sender sends no more */
    bool is_ended;          /* the last chunk is in the ring */
    bool is_given_up;       /* the client takes too little */
    char *ring;             /* RING_SIZE */
    size_t from, n;
    uint64_t n_sent; /* bytes of the body */
};

Streams *streams_new(unsigned max, Connections *connections) {
    Streams *streams = calloc(1, sizeof(*streams));

    if (!streams)
        return NULL;
    registry_init(&streams->registry, max);
    streams->connections = connections;
    return streams;
}

static void streams_unref(Streams *streams) {
    if (registry_drop(&streams->registry))
        free(streams);
}

static void stream_unref(HttpStream *stream) {
    Streams *all = stream->all;

    if (!ref_drop(&stream->ref))
        return;
    buf_done(&stream->head);
    free(stream->ring);
    free(stream);
    streams_unref(all);
}

HttpStream *stream_new(Streams *streams, Connection *connection, bool is_chunked) {
    HttpStream *stream = calloc(1, sizeof(*stream));
    bool is_in;

    if (!stream)
        return NULL;
    *stream = (HttpStream){
        .ref = REF_ONE, .all = streams, .connection = connection, .is_chunked = is_chunked};
    ref_take(&stream->ref);
    stream->ring = malloc(RING_SIZE);
    registry_lock(&streams->registry);
    is_in = stream->ring && !streams->is_ending && registry_add(&streams->registry, &stream->entry);
    registry_unlock(&streams->registry);
    if (!is_in) {
        free(stream->ring);
        free(stream);
        return NULL;
    }
    return stream;
}

/* --- the ring; with the lock held ------------------------------------------------------------- */

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
        connection_wake(stream->all->connections, stream->connection);
}

/* --- the worker's side ------------------------------------------------------------------------ */

bool stream_start(HttpStream *stream, const char *content_type, bool has_body) {
    stream->head = BUF_INIT(REPLY_HEAD_MAX);
    reply_stream_head(&stream->head, content_type, stream->is_chunked);
    registry_lock(&stream->all->registry);
    stream->is_ended |= !has_body;
    registry_unlock(&stream->all->registry);
    return buf_error(&stream->head) == 0;
}

static size_t add_slice(struct iovec *slices, size_t n, Str bytes) {
    if (bytes.len == 0)
        return n;
    slices[n] = (struct iovec){.iov_base = (void *)(uintptr_t)bytes.ptr, .iov_len = bytes.len};
    return n + 1;
}

/* What waits: the head, and the ring in one or two pieces. */
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

/* What there is to write. With the lock held; false: *ret is the answer. */
static bool next(HttpStream *stream, struct iovec slices[3], size_t *ret_n, StreamState *ret) {
    if (stream->n == 0 && !stream->is_ended && (stream->is_over || stream->all->is_ending)) {
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
        connection_sleep(stream->all->connections, stream->connection);
    }
    return false;
}

/* Bytes that wait stay where they are while they are written: senders only append. */
StreamState stream_write(HttpStream *stream) {
    Transport *transport = &stream->connection->transport;
    StreamState state;
    struct iovec slices[3];
    size_t n;

    registry_lock(&stream->all->registry);
    while (next(stream, slices, &n, &state)) {
        ssize_t written;

        registry_unlock(&stream->all->registry);
        written = transport_write(transport, slices, n);
        if (written < 0)
            return written == -EAGAIN ? STREAM_FULL : STREAM_BROKEN;
        registry_lock(&stream->all->registry);
        advance(stream, (size_t)written);
    }
    registry_unlock(&stream->all->registry);
    return state;
}

uint64_t stream_end(HttpStream *stream) {
    uint64_t n_sent;

    registry_lock(&stream->all->registry);
    n_sent = stream->n_sent;
    stream->connection = NULL;
    registry_remove(&stream->all->registry, &stream->entry);
    registry_unlock(&stream->all->registry);
    stream_unref(stream);
    return n_sent;
}

/* --- the sender's side ------------------------------------------------------------------------ */

bool stream_send(HttpStream *stream, Str bytes) {
    bool is_taken;

    registry_lock(&stream->all->registry);
    is_taken =
        stream->connection && !stream->is_given_up && !stream->is_ended && !stream->all->is_ending;
    if (is_taken && bytes.len + CHUNK_LINES_MAX > RING_SIZE - stream->n) {
        is_taken = false;
        stream->is_given_up = true;
        connection_cut(stream->all->connections, stream->connection);
    } else if (is_taken && bytes.len > 0) {
        put_chunk(stream, bytes);
        wake(stream);
    }
    registry_unlock(&stream->all->registry);
    return is_taken;
}

HttpStream *stream_close(HttpStream *stream) {
    registry_lock(&stream->all->registry);
    stream->is_over = true;
    wake(stream);
    registry_unlock(&stream->all->registry);
    stream_unref(stream);
    return NULL;
}

void streams_end(Streams *streams) {
    registry_lock(&streams->registry);
    streams->is_ending = true;
    for (RegistryEntry *entry = streams->registry.first; entry; entry = entry->next)
        wake((HttpStream *)entry);
    registry_unlock(&streams->registry);
}

Streams *streams_free(Streams *streams) {
    if (streams)
        streams_unref(streams);
    return NULL;
}
