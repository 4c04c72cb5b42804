#include "cli/ask-stream.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cli/ask-part.h"

#define STREAM_BUDGET ((size_t)1024 * 1024)
#define REFUSAL_MAX ((size_t)64 * 1024) /* what is kept of an answer that is no stream */

struct AskStream {
    const AskAccess *access;
    void (*line)(void *context, Str line);
    void *context;
    Arena *arena;
    Buf rest;    /* of a line that has not ended */
    Buf refusal; /* the body where the status is no success */
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    char detail[CURL_ERROR_SIZE];
    char error[ASK_ERROR_MAX];
};

static long status_of(AskStream *stream) {
    long status = 0;

    (void)curl_easy_getinfo(stream->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t take(char *bytes, size_t size, size_t n, void *context) {
    AskStream *stream = context;
    Str rest = str_of(bytes, size * n);
    size_t end;

    if (status_of(stream) != 200) {
        buf_append(&stream->refusal, rest);
        return size * n;
    }
    while ((end = str_find(rest, '\n')) != SIZE_MAX) {
        buf_append(&stream->rest, str_take(rest, end));
        if (buf_error(&stream->rest) == 0)
            stream->line(stream->context, buf_str(&stream->rest));
        buf_reset(&stream->rest);
        rest = str_skip(rest, end + 1);
    }
    buf_append(&stream->rest, rest);
    return size * n;
}

static bool open_stream(AskStream *stream, const char *path) {
    Str url = ask_url(stream->access, str_from_c(path), stream->arena);

    return url.ptr &&
           ask_prepare(
               stream->easy, stream->access, url, STR_NULL, &stream->headers, stream->detail) &&
           curl_easy_setopt(stream->easy, CURLOPT_CONNECTTIMEOUT_MS, 10000L) == CURLE_OK &&
           curl_easy_setopt(stream->easy, CURLOPT_WRITEFUNCTION, take) == CURLE_OK &&
           curl_easy_setopt(stream->easy, CURLOPT_WRITEDATA, stream) == CURLE_OK &&
           curl_multi_add_handle(stream->multi, stream->easy) == CURLM_OK;
}

AskStream *ask_stream_new(const AskAccess *access, const char *path,
    void (*line)(void *context, Str line), void *context) {
    AskStream *stream = calloc(1, sizeof(*stream));

    if (!stream)
        return NULL;
    stream->access = access;
    stream->line = line;
    stream->context = context;
    stream->rest = BUF_INIT(ASK_STREAM_LINE_MAX);
    stream->refusal = BUF_INIT(REFUSAL_MAX);
    stream->arena = arena_new(STREAM_BUDGET);
    stream->multi = curl_multi_init();
    stream->easy = curl_easy_init();
    if (!stream->arena || !stream->multi || !stream->easy || !open_stream(stream, path))
        return ask_stream_free(stream);
    return stream;
}

AskStream *ask_stream_free(AskStream *stream) {
    if (!stream)
        return NULL;
    if (stream->multi && stream->easy)
        (void)curl_multi_remove_handle(stream->multi, stream->easy);
    curl_easy_cleanup(stream->easy);
    (void)curl_multi_cleanup(stream->multi);
    curl_slist_free_all(stream->headers);
    buf_done(&stream->rest);
    buf_done(&stream->refusal);
    arena_free(stream->arena);
    free(stream);
    return NULL;
}

static void tell_end(AskStream *stream, CURLcode code) {
    AskReply reply = {.status = (unsigned)status_of(stream), .body = buf_str(&stream->refusal)};

    if (code != CURLE_OK)
        (void)snprintf(stream->error,
            sizeof(stream->error),
            "%s cannot be asked: %s",
            stream->access->server,
            stream->detail[0] ? stream->detail : curl_easy_strerror(code));
    else if (reply.status != 200)
        ask_complain(stream->access, &reply, stream->arena, stream->error);
    else
        (void)snprintf(
            stream->error, sizeof(stream->error), "%s has ended it", stream->access->server);
}

AskStreamState ask_stream_step(AskStream *stream, int fd, int timeout_msec) {
    struct curl_waitfd more = {.fd = fd, .events = CURL_WAIT_POLLIN};
    int n_running = 0, n_left = 0;
    const CURLMsg *message;

    (void)curl_multi_perform(stream->multi, &n_running);
    if (n_running > 0) {
        (void)curl_multi_poll(
            stream->multi, fd >= 0 ? &more : NULL, fd >= 0 ? 1 : 0, timeout_msec, NULL);
        (void)curl_multi_perform(stream->multi, &n_running);
    }
    message = curl_multi_info_read(stream->multi, &n_left);
    if (!message || message->msg != CURLMSG_DONE)
        return ASK_STREAM_GOES_ON;
    tell_end(stream, message->data.result);
    return ASK_STREAM_ENDED;
}

const char *ask_stream_error(const AskStream *stream) {
    return stream->error;
}
