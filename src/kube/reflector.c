/* Lists and watches a resource, one call at a time. Its handlers end a call with a CallFailure that
 * decides how to continue; when the client reports the end, the next call is made, now or later. */

#include "kube/reflector.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/url.h"
#include "kube/reflector-internal.h"

/* Memory for names and versions of one document. */
#define META_BUDGET ((size_t)1024 * 1024)

/* Room for a continue token with every byte escaped. */
#define PATH_MAX_BYTES ((size_t)32 * 1024)

Reflector *reflector_new(Client *client, const ReflectorOptions *options) {
    Reflector *reflector = calloc(1, sizeof(*reflector));

    if (!reflector)
        return NULL;
    reflector->client = client;
    reflector->options = *options;
    reflector->backoff = BACKOFF_INIT(options->seed);
    reflector->needs_list = true;
    reflector->can_stream = true;
    reflector->page_items = REFLECTOR_PAGE_ITEMS;
    reflector->splitter = SPLITTER_INIT(REFLECTOR_DOCUMENT_MAX);
    reflector->body = BUF_INIT(REFLECTOR_PAGE_MAX);
    reflector->deferred = BUF_INIT(REFLECTOR_DEFERRED_MAX);
    reflector->continue_token = BUF_INIT(REFLECTOR_CONTINUE_MAX);
    reflector->arena = arena_new(META_BUDGET);
    return reflector->arena ? reflector : reflector_free(reflector);
}

Reflector *reflector_free(Reflector *reflector) {
    if (!reflector)
        return NULL;
    call_cancel(reflector->call);
    splitter_done(&reflector->splitter);
    buf_done(&reflector->body);
    buf_done(&reflector->deferred);
    buf_done(&reflector->continue_token);
    arena_free(reflector->arena);
    free(reflector);
    return NULL;
}

const ReflectorFigures *reflector_figures(const Reflector *reflector) {
    return &reflector->figures;
}

size_t reflector_held(const Reflector *reflector) {
    return reflector->splitter.half.size + reflector->body.size + reflector->deferred.size +
           reflector->continue_token.size;
}

/* After the end of a call: drops its unread data. */
static void drop_call(Reflector *reflector) {
    reflector->call = NULL;
    reflector->status = 0;
    reflector->failure = (CallFailure){0};
    splitter_done(&reflector->splitter);
    buf_done(&reflector->body);
}

void reflector_notice(
    Reflector *reflector, ReflectorNotice what, const char *why, int64_t retry_nsec) {
    const ReflectorSink *sink = &reflector->options.sink;

    sink->notice(sink->context, what, why, retry_nsec);
}

/* Starts to wait for the backoff; returns the delay. */
static int64_t wait_a_while(Reflector *reflector, int retry_after_sec) {
    int64_t now = clock_monotonic_nsec();
    int64_t delay = backoff_next(&reflector->backoff, now, retry_after_sec);

    reflector->state = STATE_WAITING;
    reflector->next_at = now + delay;
    return delay;
}

/* Handles the failure in reflector->failure. */
static void fail(Reflector *reflector) {
    const CallFailure failure = reflector->failure;
    ReflectorFigures *figures = &reflector->figures;
    bool was_streaming = reflector->state == STATE_STREAMING;
    bool is_stall = was_streaming && reflector->status == 200 && failure.is_stall;
    int64_t delay;

    drop_call(reflector);
    if (is_stall && ++reflector->n_stalls >= REFLECTOR_STALLS_MAX)
        reflector->can_stream = false;
    if (failure.next == NEXT_LIST || was_streaming)
        list_drop(reflector);
    delay = wait_a_while(reflector, failure.retry_after_sec);
    if (failure.is_expired) {
        reflector_notice(reflector, REFLECTOR_EXPIRED, failure.why, delay);
        return;
    }
    figures->n_failures++;
    figures->is_refused = failure.is_refused;
    figures->is_connected = false;
    (void)snprintf(figures->last_error, sizeof(figures->last_error), "%s", failure.why);
    reflector_notice(reflector, REFLECTOR_LOST, figures->last_error, delay);
}

bool reflector_end_call(Reflector *reflector, NextStep next, const char *format, ...) {
    CallFailure *failure = &reflector->failure;
    va_list arguments;

    *failure = (CallFailure){.is_set = true, .next = next, .retry_after_sec = -1};
    va_start(arguments, format);
    message_setv(failure->why, sizeof(failure->why), format, arguments);
    va_end(arguments);
    return false;
}

bool reflector_set_version(Reflector *reflector, Str version) {
    if (version.len == 0 || version.len > REFLECTOR_VERSION_MAX)
        return false;
    memcpy(reflector->version, version.ptr, version.len);
    reflector->version_len = version.len;
    return true;
}

static void on_head(void *context, const CallHead *head) {
    Reflector *reflector = context;
    ReflectorFigures *figures = &reflector->figures;

    reflector->status = head->status;
    if (head->status != 200)
        return;
    if (!str_eq_nocase(head->content_type, STR("application/json"))) {
        (void)reflector_end_call(reflector, NEXT_RESUME,
            "the answer is \"%.*s\", not JSON: is that an API server?",
            STR_FMT(str_take(head->content_type, 64)));
        return;
    }
    figures->n_watches += reflector->state != STATE_LISTING;
    figures->n_restarts += reflector->state == STATE_WATCHING && figures->n_watches > 1;
    figures->n_lists += reflector->state != STATE_WATCHING && !reflector->is_counted;
    reflector->is_counted = true;
    figures->updated_at_nsec = clock_monotonic_nsec();
    if (!figures->is_connected) {
        figures->is_connected = true;
        figures->last_error[0] = '\0';
        figures->is_refused = false;
        reflector_notice(reflector, REFLECTOR_CONNECTED, NULL, 0);
    }
}

static bool on_data(void *context, Str bytes) {
    Reflector *reflector = context;
    Buf *body = &reflector->body;

    reflector->figures.n_bytes += bytes.len;
    if (reflector->failure.is_set)
        return false;
    if (reflector->status != 200) { /* an error: keep the start of its body */
        if (body->len < REFLECTOR_REFUSAL_MAX)
            buf_append(body, str_take(bytes, REFLECTOR_REFUSAL_MAX - body->len));
        return true;
    }
    reflector->figures.updated_at_nsec = clock_monotonic_nsec();
    if (reflector->state != STATE_LISTING)
        return watch_take(reflector, bytes);
    buf_append(body, bytes);
    return buf_error(body) == 0 ||
           reflector_end_call(reflector, NEXT_LIST, "a page could not be kept");
}

static void start(Reflector *reflector);

/* A page has arrived, or a watch has ended normally. */
static void on_end(Reflector *reflector) {
    bool is_page = reflector->state == STATE_LISTING;

    if (is_page)
        (void)list_take_page(reflector);
    else if (!reflector->has_received)
        (void)reflector_end_call(reflector, NEXT_RESUME, "the watch ended before it began");
    else if (reflector->state == STATE_STREAMING)
        (void)reflector_end_call(reflector, NEXT_LIST, "the watch ended inside a list");
    if (reflector->failure.is_set) {
        fail(reflector);
        return;
    }
    drop_call(reflector);
    if (is_page)
        start(reflector);
    else
        (void)wait_a_while(reflector, -1);
}

/* Whether our resourceVersion or continue token is no longer valid. */
static bool is_lost(Reflector *reflector, unsigned code, const ApiStatus *status) {
    if (code == 410 || code == 400 || code == 422 || api_status_is_expired(status))
        return true;
    return status->is_version_too_large && ++reflector->n_refusals >= REFLECTOR_REFUSALS_MAX;
}

static void resize_pages(Reflector *reflector, unsigned items) {
    reflector->page_items = items > REFLECTOR_PAGE_ITEMS_MOST    ? REFLECTOR_PAGE_ITEMS_MOST
                            : items < REFLECTOR_PAGE_ITEMS_LEAST ? REFLECTOR_PAGE_ITEMS_LEAST
                                                                 : items;
}

/* Lists again without streaming, which the server does not support. */
static void fall_back(Reflector *reflector) {
    reflector->can_stream = false;
    drop_call(reflector);
    list_drop(reflector);
    start(reflector);
}

static void on_refused(Reflector *reflector, const CallResult *result) {
    CallFailure *failure = &reflector->failure;
    unsigned code = result->status;
    char hint[64] = "";
    ApiStatus status;

    arena_reset(reflector->arena);
    (void)api_status_read(buf_str(&reflector->body), reflector->arena, &status);
    if (reflector->state == STATE_STREAMING && (code == 400 || code == 422)) {
        fall_back(reflector);
        return;
    }
    if (code == 403)
        (void)snprintf(hint, sizeof(hint), " (needs the rights list and watch on %s)",
            reflector->options.resource);
    (void)reflector_end_call(reflector, is_lost(reflector, code, &status) ? NEXT_LIST : NEXT_RESUME,
        "HTTP %u%s%.*s%s", code, str_is_empty(status.message) ? "" : ": ",
        STR_FMT(str_take(status.message, REFLECTOR_ERROR_MAX - 128)), hint);
    failure->retry_after_sec = status.retry_after_sec > result->retry_after_sec
                                   ? status.retry_after_sec
                                   : result->retry_after_sec;
    failure->is_expired = code == 410 || api_status_is_expired(&status);
    failure->is_refused = code == 401 || code == 403 || code == 404;
    /* A continue token expires after some minutes: a list that took longer gets larger pages. */
    if (reflector->state == STATE_LISTING && code == 410)
        resize_pages(reflector, reflector->page_items * 2);
    fail(reflector);
}

static void on_failed(Reflector *reflector, const CallResult *result) {
    bool is_late = result->outcome == CALL_TIMEOUT;
    bool is_large = result->outcome == CALL_TOO_LARGE;

    /* If the answer has not begun, smaller pages would not help. */
    if (reflector->state == STATE_LISTING && (is_large || (is_late && reflector->status == 200)))
        resize_pages(reflector, reflector->page_items / 4);
    (void)reflector_end_call(reflector, NEXT_RESUME, "%s", result->error);
    reflector->failure.is_stall = is_late;
    fail(reflector);
}

static void on_done(void *context, const CallResult *result) {
    Reflector *reflector = context;

    if (reflector->failure.is_no_list)
        fall_back(reflector);
    else if (reflector->failure.is_set)
        fail(reflector);
    else if (result->outcome != CALL_DONE)
        on_failed(reflector, result);
    else if (result->status != 200)
        on_refused(reflector, result);
    else
        on_end(reflector);
}

/* The path of a watch from our version, or of a streamed list. */
static void write_watch_path(Reflector *reflector, bool is_list, Buf *out) {
    buf_printf(out, "%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d",
        reflector->options.path,
        (int)backoff_pick(
            &reflector->backoff, REFLECTOR_WATCH_LEAST_SEC, REFLECTOR_WATCH_MOST_SEC));
    if (is_list) {
        buf_append(out, STR("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"));
    } else {
        buf_append(out, STR("&resourceVersion="));
        url_escape(out, str_of(reflector->version, reflector->version_len));
    }
}

static void start_call(
    Reflector *reflector, ReflectorState state, Buf *path, CallOptions *options) {
    const CallHandler handler = {
        .context = reflector,
        .head = on_head,
        .data = on_data,
        .done = on_done,
    };

    reflector->state = state;
    reflector->has_received = false;
    reflector->started_at = reflector->document_at = clock_monotonic_nsec();
    options->method = "GET";
    options->path = url_text(path);
    if (options->path)
        reflector->call = client_call(reflector->client, options, &handler);
    if (!reflector->call) {
        (void)reflector_end_call(reflector, NEXT_RESUME, "out of memory for the request");
        fail(reflector);
    }
}

static void start_watch(Reflector *reflector, bool is_list) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES);
    CallOptions options = {.first_byte_sec = REFLECTOR_FIRST_BYTE_SEC};

    if (is_list)
        list_begin(reflector);
    write_watch_path(reflector, is_list, &path);
    start_call(reflector, is_list ? STATE_STREAMING : STATE_WATCHING, &path, &options);
}

static void start_page(Reflector *reflector) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES);
    CallOptions options = {.total_sec = REFLECTOR_PAGE_SEC, .bytes_max = REFLECTOR_PAGE_MAX};

    if (!reflector->is_staging)
        list_begin(reflector);
    reflector->n_requested += reflector->page_items;
    /* No resourceVersion: lists the committed state, not a cache. */
    buf_printf(&path, "%s?limit=%u", reflector->options.path, reflector->page_items);
    if (reflector->continue_token.len > 0) {
        buf_append(&path, STR("&continue="));
        url_escape(&path, buf_str(&reflector->continue_token));
    }
    start_call(reflector, STATE_LISTING, &path, &options);
}

static void start(Reflector *reflector) {
    if (!reflector->needs_list)
        start_watch(reflector, /* is_list= */ false);
    else if (reflector->can_stream)
        start_watch(reflector, /* is_list= */ true);
    else
        start_page(reflector);
}

void reflector_list_again(Reflector *reflector) {
    bool is_waiting = reflector->state == STATE_WAITING;

    call_cancel(TAKE_PTR(reflector->call));
    drop_call(reflector);
    list_drop(reflector);
    if (!is_waiting)
        start(reflector);
}

/* When reflector_tick() has work: the end of the pause, or a call that takes too long. The client
 * limits pages. */
static int64_t deadline_of(const Reflector *reflector) {
    int64_t silent_at = reflector->document_at + reflector->options.silence_sec * NSEC_PER_SEC;
    int64_t stalled_at = reflector->started_at + REFLECTOR_STREAM_SEC * NSEC_PER_SEC;

    if (reflector->state == STATE_WAITING)
        return reflector->next_at;
    if (reflector->state == STATE_LISTING)
        return INT64_MAX;
    return reflector->state == STATE_STREAMING && stalled_at < silent_at ? stalled_at : silent_at;
}

int64_t reflector_tick(Reflector *reflector, int64_t now_nsec) {
    if (now_nsec < deadline_of(reflector))
        return deadline_of(reflector);
    if (reflector->state == STATE_WAITING) {
        start(reflector);
    } else {
        (void)reflector_end_call(reflector, NEXT_RESUME,
            reflector->state == STATE_STREAMING ? "the streamed list does not end"
                                                : "the watch has gone silent");
        reflector->failure.is_stall = true;
        call_cancel(TAKE_PTR(reflector->call));
        fail(reflector);
    }
    return deadline_of(reflector);
}
