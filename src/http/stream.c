/* Replies that never end: a ring of bytes for each, read by libmicrohttpd as fast as the client
 * takes them. */

#include "http/stream.h"

#include <string.h>

#include "http/registry.h"

/* What libmicrohttpd reads at a time from a stream that is not chunked (HTTP/1.0). */
#define READ_BLOCK ((size_t)16 * 1024)

struct Streams {
    Registry registry;
    Connections *connections;
    bool is_ending; /* no more is taken, what waits goes out */
    bool is_closed; /* not even that */
};

struct HttpStream {
    RegistryEntry entry; /* must be first */
    Ref ref;
    Streams *all;

    /* Guarded by the lock of the registry. */
    Connection *connection; /* NULL: the request has ended */
    bool is_over;           /* nothing comes behind what waits */
    bool is_given_up;       /* the client takes too little */
    struct MHD_Connection *mhd;
    bool is_suspended;
    char *ring; /* SERVER_STREAM_BUFFER */
    size_t from, n;
    uint64_t n_out;
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
    free(stream->ring);
    free(stream);
    streams_unref(all);
}

/* --- one of them ------------------------------------------------------------------------------ */

HttpStream *stream_new(Streams *streams, Connection *connection) {
    HttpStream *stream = calloc(1, sizeof(*stream));
    bool is_in;

    if (!stream)
        return NULL;
    *stream = (HttpStream){.ref = REF_ONE, .all = streams, .connection = connection};
    ref_take(&stream->ref);
    stream->ring = malloc(SERVER_STREAM_BUFFER);
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

/* With the lock held, like what follows. */
static void resume(HttpStream *stream) {
    if (!stream->is_suspended)
        return;
    stream->is_suspended = false;
    MHD_resume_connection(stream->mhd);
}

static void put(HttpStream *stream, Str bytes) {
    size_t at = (stream->from + stream->n) % SERVER_STREAM_BUFFER;
    size_t first = SERVER_STREAM_BUFFER - at;

    if (first > bytes.len)
        first = bytes.len;
    memcpy(stream->ring + at, bytes.ptr, first);
    if (bytes.len > first)
        memcpy(stream->ring, bytes.ptr + first, bytes.len - first);
    stream->n += bytes.len;
}

/* In one piece, so it may be less than there is. */
static size_t take(HttpStream *stream, char *to, size_t room) {
    size_t n = SERVER_STREAM_BUFFER - stream->from;

    if (n > stream->n)
        n = stream->n;
    if (n > room)
        n = room;
    if (n > 0)
        memcpy(to, stream->ring + stream->from, n);
    stream->from = (stream->from + n) % SERVER_STREAM_BUFFER;
    stream->n -= n;
    stream->n_out += n;
    return n;
}

/* --- libmicrohttpd's side --------------------------------------------------------------------- */

static ssize_t read_stream(void *context, uint64_t position, char *to, size_t room) {
    HttpStream *stream = context;
    ssize_t n;

    (void)position;
    registry_lock(&stream->all->registry);
    if (stream->all->is_closed || stream->is_given_up)
        n = MHD_CONTENT_READER_END_WITH_ERROR;
    else if (stream->n > 0)
        n = (ssize_t)take(stream, to, room);
    else if (stream->is_over || stream->all->is_ending)
        n = MHD_CONTENT_READER_END_OF_STREAM;
    else {
        MHD_suspend_connection(stream->mhd);
        stream->is_suspended = true;
        n = 0;
    }
    registry_unlock(&stream->all->registry);
    return n;
}

struct MHD_Response *stream_response(
    HttpStream *stream, struct MHD_Connection *mhd, const char *content_type) {
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, READ_BLOCK, read_stream, stream, NULL);
    enum MHD_Result r = MHD_YES;

    if (!response)
        return NULL;
    registry_lock(&stream->all->registry);
    stream->mhd = mhd;
    registry_unlock(&stream->all->registry);
    r &= MHD_add_response_header(
        response, "Content-Type", content_type ? content_type : "text/event-stream");
    r &= MHD_add_response_header(response, "Cache-Control", "no-store");
    r &=
        MHD_add_response_header(response, "X-Accel-Buffering", "no"); /* nginx would keep it back */
    r &= MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    r &= MHD_add_response_header(response, "Connection", "close");
    if (r == MHD_YES)
        return response;
    MHD_destroy_response(response);
    return NULL;
}

uint64_t stream_end(HttpStream *stream) {
    uint64_t n_out;

    if (!stream)
        return 0;
    registry_lock(&stream->all->registry);
    n_out = stream->n_out;
    stream->connection = NULL;
    stream->is_suspended = false;
    registry_remove(&stream->all->registry, &stream->entry);
    registry_unlock(&stream->all->registry);
    stream_unref(stream);
    return n_out;
}

/* --- the side of who sends -------------------------------------------------------------------- */

bool stream_send(HttpStream *stream, Str bytes) {
    bool is_taken;

    registry_lock(&stream->all->registry);
    is_taken = stream->connection && !stream->is_given_up && !stream->all->is_ending;
    if (is_taken && bytes.len > SERVER_STREAM_BUFFER - stream->n) {
        is_taken = false;
        stream->is_given_up = true;
        connection_cut(stream->all->connections, stream->connection);
        resume(stream);
    } else if (is_taken && bytes.len > 0) {
        put(stream, bytes);
        resume(stream);
    }
    registry_unlock(&stream->all->registry);
    return is_taken;
}

HttpStream *stream_close(HttpStream *stream) {
    registry_lock(&stream->all->registry);
    stream->is_over = true;
    resume(stream);
    registry_unlock(&stream->all->registry);
    stream_unref(stream);
    return NULL;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* With the lock held. */
static void resume_all(Streams *streams) {
    for (RegistryEntry *entry = streams->registry.first; entry; entry = entry->next)
        resume((HttpStream *)entry);
}

void streams_end(Streams *streams) {
    registry_lock(&streams->registry);
    streams->is_ending = true;
    resume_all(streams);
    registry_unlock(&streams->registry);
}

void streams_close(Streams *streams) {
    registry_lock(&streams->registry);
    streams->is_ending = streams->is_closed = true;
    resume_all(streams);
    registry_unlock(&streams->registry);
}

Streams *streams_free(Streams *streams) {
    if (streams)
        streams_unref(streams);
    return NULL;
}
