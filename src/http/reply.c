/* Makes the head of a reply, and writes head and slices as fast as the peer reads. */

#include "http/reply.h"

#include <time.h>

#include "base/clock.h"
#include "base/nsec.h"

/* Slices per system call. */
#define GATHER_MAX 64u

uint64_t reply_size(const HttpReply *reply) {
    uint64_t size = 0;

    for (size_t i = 0; i < reply->n_slices; i++)
        size += reply->slices[i].len;
    return size;
}

static const struct {
    unsigned status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {303, "See Other"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

/* Other codes have an empty text, which RFC 9112, 4 allows. */
static const char *reason_of(unsigned status) {
    for (size_t i = 0; i < ELEMENTS_OF(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "";
}

static void append_status_and_date(Buf *head, unsigned status) {
    time_t now = (time_t)(clock_wall_nsec() / NSEC_PER_SEC);
    char date[64];
    struct tm tm;

    (void)gmtime_r(&now, &tm);
    (void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    buf_printf(head, "HTTP/1.1 %u %s\r\nDate: %s\r\n", status, reason_of(status), date);
}

static void append_line(Buf *head, const char *name, const char *value) {
    buf_append(head, str_from_c(name));
    buf_append(head, STR(": "));
    buf_append(head, str_from_c(value));
    buf_append(head, STR("\r\n"));
}

bool reply_start(ReplyWriter *writer, const HttpReply *reply, bool is_last, bool has_body) {
    Buf *head = &writer->head;

    *writer = (ReplyWriter){.head = BUF_INIT(REPLY_HEAD_MAX), .slices = reply->slices};
    writer->n_slices = has_body ? reply->n_slices : 0;
    append_status_and_date(head, reply->status);
    if (reply->content_type)
        append_line(head, "Content-Type", reply->content_type);
    append_line(head, "Cache-Control", reply->cache_control ? reply->cache_control : "no-store");
    for (size_t i = 0; i < reply->n_headers; i++)
        append_line(head, reply->headers[i].name, reply->headers[i].value);
    if (reply->allow)
        append_line(head, "Allow", reply->allow);
    if (reply->authenticate)
        append_line(head, "WWW-Authenticate", reply->authenticate);
    if (reply->retry_after_sec > 0)
        buf_printf(head, "Retry-After: %u\r\n", reply->retry_after_sec);
    if (is_last)
        append_line(head, "Connection", "close");
    buf_printf(head, "Content-Length: %llu\r\n\r\n", (unsigned long long)reply_size(reply));
    return buf_error(head) == 0;
}

void reply_stream_head(Buf *head, const char *content_type, bool is_chunked) {
    append_status_and_date(head, 200);
    append_line(head, "Content-Type", content_type ? content_type : "text/event-stream");
    append_line(head, "Cache-Control", "no-store");
    append_line(head, "X-Accel-Buffering", "no"); /* so that nginx does not buffer it */
    append_line(head, "X-Content-Type-Options", "nosniff");
    append_line(head, "Connection", "close");
    if (is_chunked)
        append_line(head, "Transfer-Encoding", "chunked");
    buf_append(head, STR("\r\n"));
}

static Str part_of(const ReplyWriter *writer, size_t at) {
    return at == 0 ? buf_str(&writer->head) : writer->slices[at - 1];
}

static size_t gather(const ReplyWriter *writer, struct iovec *to) {
    size_t n = 0;

    for (size_t at = writer->at; at <= writer->n_slices && n < GATHER_MAX; at++) {
        Str part = str_skip(part_of(writer, at), at == writer->at ? writer->offset : 0);

        if (part.len > 0)
            to[n++] = (struct iovec){.iov_base = (void *)(uintptr_t)part.ptr, .iov_len = part.len};
    }
    return n;
}

static void advance(ReplyWriter *writer, size_t n) {
    while (writer->at <= writer->n_slices) {
        size_t left = part_of(writer, writer->at).len - writer->offset;

        if (n < left) {
            writer->offset += n;
            return;
        }
        n -= left;
        writer->at++;
        writer->offset = 0;
    }
}

int reply_write(ReplyWriter *writer, Transport *transport) {
    struct iovec slices[GATHER_MAX];
    size_t n;

    while ((n = gather(writer, slices)) > 0) {
        ssize_t written = transport_write(transport, slices, n);

        if (written < 0)
            return (int)written;
        advance(writer, (size_t)written);
    }
    return 0;
}

void reply_done(ReplyWriter *writer) {
    buf_done(&writer->head);
}
