/*
 * The answer to a call, as libcurl hands it on: a head, line by line, then data. Both may end the
 * call: what was not asked for, is too much, or is wanted no more.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kube/client-internal.h"

#define HEADERS_MAX ((size_t)64 * 1024) /* of one answer, all its lines */
#define REFUSAL_MAX ((size_t)64 * 1024) /* of a 401's body, which nobody reads */
#define DATE_MAX 64u

/* The value of header @name, or false when @line is another one. */
static bool header_value(Str line, Str name, Str *ret) {
    if (line.len <= name.len || line.ptr[name.len] != ':' ||
        !str_eq_nocase(str_take(line, name.len), name))
        return false;
    *ret = str_trim(str_skip(line, name.len + 1));
    return true;
}

/* The head of another answer begins: a final one behind an interim one (1xx). */
static void head_reset(Call *call) {
    call->status = 0;
    call->retry_after_sec = -1;
    call->date_sec = 0;
    free(call->location);
    call->location = NULL;
    call->content_type[0] = '\0';
}

static int64_t date_read(Str value) {
    char text[DATE_MAX];
    time_t date;

    if (value.len >= sizeof(text))
        return 0;
    (void)snprintf(text, sizeof(text), "%.*s", STR_FMT(value));
    date = curl_getdate(text, NULL);
    return date > 0 ? (int64_t)date : 0;
}

static void location_take(Call *call, Str value) {
    free(call->location);
    call->location = value.len <= CLIENT_LOCATION_MAX ? strndup(value.ptr, value.len) : NULL;
}

/* We asked for no encoding, and nothing here could undo one. */
static void check_encoding(Call *call, Str value, Str plain) {
    if (!str_eq_nocase(value, plain) && value.len > 0)
        call_stop(call,
            CALL_BROKEN,
            "%s: the answer is encoded (%.*s), which was not asked for",
            access_server(call->client->access),
            STR_FMT(str_take(value, 32)));
}

static void head_line(Call *call, Str line) {
    Str value;
    int64_t seconds;

    if (header_value(line, STR("Content-Type"), &value)) {
        value = str_trim(str_take(value, str_find(value, ';')));
        (void)snprintf(call->content_type, sizeof(call->content_type), "%.*s", STR_FMT(value));
    } else if (header_value(line, STR("Retry-After"), &value)) {
        if (str_to_int64(value, &seconds) && seconds >= 0)
            call->retry_after_sec = seconds < INT_MAX ? (int)seconds : INT_MAX;
    } else if (header_value(line, STR("Date"), &value)) {
        call->date_sec = date_read(value);
    } else if (header_value(line, STR("Location"), &value)) {
        location_take(call, value);
    } else if (header_value(line, STR("Content-Encoding"), &value)) {
        check_encoding(call, value, STR("identity"));
    } else if (header_value(line, STR("Transfer-Encoding"), &value)) {
        check_encoding(call, value, STR("chunked"));
    }
}

/* The empty line: the head of the answer is whole, unless it was an interim one (1xx). */
static void head_end(Call *call) {
    long status = 0;

    if (curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status) != CURLE_OK || status < 200)
        return;
    call->has_head = true;
    call->status = (unsigned)status;
    if (call_is_unauthorized(call) || call->is_cancelled)
        return;
    call->client->loop->n_events++;
    if (call->handler.head)
        call->handler.head(call->handler.context,
            &(CallHead){
                .status = call->status,
                .content_type = str_from_c(call->content_type),
                .location = str_from_c(call->location),
                .date_sec = call->date_sec,
                .retry_after_sec = call->retry_after_sec,
            });
}

static void head_take(Call *call, Str line) {
    if (call->has_head)
        return; /* trailers: nothing we need */
    if (str_has_prefix(line, STR("HTTP/")))
        head_reset(call);
    else if (str_is_empty(str_trim(line)))
        head_end(call);
    else
        head_line(call, line);
}

size_t answer_header(char *bytes, size_t size, size_t n, void *context) {
    Call *call = context;
    Str line = str_of(bytes, size * n);

    call->heard_at = clock_monotonic_nsec();
    call->n_header_bytes += line.len;
    if (call->n_header_bytes > HEADERS_MAX)
        call_stop(call,
            CALL_BROKEN,
            "%s: the headers of the answer are larger than %zu KiB",
            access_server(call->client->access),
            HEADERS_MAX >> 10);
    else
        head_take(call, line);
    return call->is_stopped || call->is_cancelled ? CURL_WRITEFUNC_ERROR : line.len;
}

size_t answer_data(char *bytes, size_t size, size_t n, void *context) {
    Call *call = context;
    Str part = str_of(bytes, size * n);

    call->heard_at = clock_monotonic_nsec();
    call->n_bytes += part.len;
    if (!call->has_head) /* after a 101, libcurl hands on whatever comes */
        call_stop(call,
            CALL_BROKEN,
            "%s: it switches to another protocol (101), which was not asked for",
            access_server(call->client->access));
    if (call->is_cancelled || call->is_stopped)
        return CURL_WRITEFUNC_ERROR;
    if (call_is_unauthorized(call))
        return call->n_bytes > REFUSAL_MAX ? CURL_WRITEFUNC_ERROR : part.len;
    if (call->limits.bytes_max > 0 && call->n_bytes > call->limits.bytes_max) {
        call_stop(call,
            CALL_TOO_LARGE,
            "%s: the answer is larger than %llu bytes",
            access_server(call->client->access),
            (unsigned long long)call->limits.bytes_max);
        return CURL_WRITEFUNC_ERROR;
    }
    call->client->loop->n_events++;
    if (call->handler.data && !call->handler.data(call->handler.context, part))
        call_stop(call, CALL_ENDED, "ended before the answer was whole");
    return call->is_stopped || call->is_cancelled ? CURL_WRITEFUNC_ERROR : part.len;
}

void answer_reset(Call *call) {
    call->has_head = false;
    call->n_header_bytes = 0;
    call->n_bytes = 0;
    head_reset(call);
}
