/* A reply as libmicrohttpd's response, without copying its slices. */

#include "http/reply.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"

/* What a reader copies at a time. Below malloc's threshold for mappings, which
 * would cost a page fault each 4 KiB. */
#define READ_BLOCK ((size_t)120 * 1024)

/* Up to this, slices are joined. */
#define JOIN_MAX ((size_t)256 * 1024)

uint64_t reply_size(const HttpReply *reply) {
    uint64_t size = 0;

    for (size_t i = 0; i < reply->n_slices; i++)
        size += reply->slices[i].len;
    return size;
}

static ssize_t read_slices(void *context, uint64_t position, char *to, size_t room) {
    SliceReader *reader = context;
    size_t done = 0;

    while (done < room && reader->at < reader->n_slices) {
        Str rest = str_skip(reader->slices[reader->at], reader->offset);
        size_t n = rest.len < room - done ? rest.len : room - done;

        if (n > 0)
            memcpy(to + done, rest.ptr, n);
        done += n;
        reader->offset += n;
        if (n == rest.len) {
            reader->at++;
            reader->offset = 0;
        }
    }
    return done > 0 ? (ssize_t)done : MHD_CONTENT_READER_END_OF_STREAM;
}

static struct MHD_Response *from_one(Str slice) {
    void *bytes = (void *)(uintptr_t)(slice.len > 0 ? slice.ptr : "");

    return MHD_create_response_from_buffer(slice.len, bytes, MHD_RESPMEM_PERSISTENT);
}

static struct MHD_Response *from_slices(const HttpReply *reply, SliceReader *reader) {
    if (reply->n_slices == 0)
        return from_one(STR_NULL);
    if (reply->n_slices == 1)
        return from_one(reply->slices[0]);
    *reader = (SliceReader){.slices = reply->slices, .n_slices = reply->n_slices};
    return MHD_create_response_from_callback(
        reply_size(reply), READ_BLOCK, read_slices, reader, NULL);
}

void reply_join(HttpReply *reply, Arena *arena) {
    uint64_t size = reply_size(reply);
    Str *slice;
    char *joined;

    if (!arena || reply->n_slices <= 1 || size > JOIN_MAX)
        return;
    slice = ARENA_NEW(arena, Str);
    joined = arena_alloc(arena, (size_t)size);
    if (!slice || !joined)
        return;
    *slice = str_of(joined, (size_t)size);
    for (size_t i = 0; i < reply->n_slices; i++) {
        if (reply->slices[i].len > 0)
            memcpy(joined, reply->slices[i].ptr, reply->slices[i].len);
        joined += reply->slices[i].len;
    }
    reply->slices = slice;
    reply->n_slices = 1;
}

struct MHD_Response *reply_response(const HttpReply *reply, bool close, SliceReader *reader) {
    struct MHD_Response *response = from_slices(reply, reader);
    enum MHD_Result r = MHD_YES;
    char number[16];

    if (!response)
        return NULL;
    if (reply->content_type)
        r &= MHD_add_response_header(response, "Content-Type", reply->content_type);
    r &= MHD_add_response_header(
        response, "Cache-Control", reply->cache_control ? reply->cache_control : "no-store");
    for (size_t i = 0; i < reply->n_headers; i++)
        r &= MHD_add_response_header(response, reply->headers[i].name, reply->headers[i].value);
    if (reply->allow)
        r &= MHD_add_response_header(response, "Allow", reply->allow);
    if (reply->authenticate)
        r &= MHD_add_response_header(response, "WWW-Authenticate", reply->authenticate);
    if (reply->retry_after_sec > 0) {
        (void)snprintf(number, sizeof(number), "%u", reply->retry_after_sec);
        r &= MHD_add_response_header(response, "Retry-After", number);
    }
    if (close)
        r &= MHD_add_response_header(response, "Connection", "close");
    if (r != MHD_YES) {
        MHD_destroy_response(response);
        return NULL;
    }
    return response;
}

static bool send_all(Str bytes, int fd, gnutls_session_t session) {
    while (bytes.len > 0) {
        ssize_t n = session ? gnutls_record_send(session, bytes.ptr, bytes.len)
                            : send(fd, bytes.ptr, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n <= 0)
            return false;
        bytes = str_skip(bytes, (size_t)n);
    }
    return true;
}

bool reply_send_raw(const HttpReply *reply, int fd, gnutls_session_t session) {
    _cleanup_(buf_done) Buf text = BUF_INIT(REPLY_RAW_MAX);
    const char *reason = MHD_get_reason_phrase_for(reply->status);

    buf_printf(&text, "HTTP/1.1 %u %s\r\n", reply->status, reason ? reason : "Refused");
    if (reply->content_type)
        buf_printf(&text, "Content-Type: %s\r\n", reply->content_type);
    if (reply->allow)
        buf_printf(&text, "Allow: %s\r\n", reply->allow);
    if (reply->authenticate)
        buf_printf(&text, "WWW-Authenticate: %s\r\n", reply->authenticate);
    if (reply->retry_after_sec > 0)
        buf_printf(&text, "Retry-After: %u\r\n", reply->retry_after_sec);
    for (size_t i = 0; i < reply->n_headers; i++)
        buf_printf(&text, "%s: %s\r\n", reply->headers[i].name, reply->headers[i].value);
    buf_printf(&text,
        "Cache-Control: no-store\r\nContent-Length: %llu\r\nConnection: close\r\n\r\n",
        (unsigned long long)reply_size(reply));
    for (size_t i = 0; i < reply->n_slices; i++)
        buf_append(&text, reply->slices[i]);
    if (buf_error(&text) != 0 || !send_all(buf_str(&text), fd, session))
        return false;
    if (session)
        (void)gnutls_bye(session, GNUTLS_SHUT_WR);
    (void)shutdown(fd, SHUT_WR);
    return true;
}
