#include "kube/reflector.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "kube/backoff.h"
#include "kube/message.h"
#include "kube/url.h"
#include "json/read.h"

/* What is read of one document besides the object itself: names and versions. */
#define META_BUDGET ((size_t)1024 * 1024)

/* The API server never sends a longer path than it was sent. */
#define PATH_MAX_BYTES ((size_t)32 * 1024)

typedef enum State {
    STATE_WAITING,   /* until next_at */
    STATE_STREAMING, /* a watch sends what there is */
    STATE_LISTING,   /* a page is under way */
    STATE_WATCHING,
} State;

/* How to go on after a call. */
typedef enum Next {
    NEXT_RESUME, /* where we were: the same page, or a watch from the version we have */
    NEXT_LIST,   /* everything, from the start */
} Next;

/* Why data() has ended a call; settled when the client says that it is over. */
typedef struct Verdict {
    bool is_set;
    bool is_stall;   /* speaks against streaming, if this was a streamed list */
    bool is_expired; /* nothing is wrong: our version is too old, as versions become */
    bool is_no_list; /* the server knows no streamed lists: pages, at once */
    Next next;
    int retry_after_sec;
    char why[REFLECTOR_ERROR_MAX];
} Verdict;

struct Reflector {
    Client *client;
    ReflectorOptions options;
    Backoff backoff;
    Arena *arena; /* of one document */

    State state;
    int64_t next_at; /* waiting: when to start */
    Call *call;      /* not waiting */
    unsigned status; /* of the call's answer; 0: none yet */
    Verdict verdict;
    int64_t started_at;  /* the call */
    int64_t document_at; /* the last whole document, or the start of the call */
    bool has_heard;      /* a document came in this call */

    bool needs_list;
    bool can_stream;
    unsigned n_stalls;
    bool is_staging;       /* the sink has a list that is not whole */
    int64_t list_began_at; /* ... which shows everything that was there at this time */
    bool is_counted;       /* ... and the API server has answered */
    bool has_malformed;    /* the last list held objects that are not JSON */
    unsigned n_refusals;
    unsigned page_items;
    char version[REFLECTOR_VERSION_MAX + 1]; /* go on from here */
    size_t version_len;
    Buf continue_token; /* listing: the page to ask for; empty: the first */

    Frame frame;  /* watches */
    Buf body;     /* a page, or why the server refused */
    Buf deferred; /* events inside a streamed list that are to come after it */

    ReflectorFigures figures;
};

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
    reflector->frame = FRAME_INIT(REFLECTOR_DOCUMENT_MAX);
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
    frame_done(&reflector->frame);
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
    return reflector->frame.half.size + reflector->body.size + reflector->deferred.size +
           reflector->continue_token.size;
}

/* --- after a call ------------------------------------------------------------------- */

/* The call is over: what it brought and has not been taken is dropped. */
static void drop_call(Reflector *reflector) {
    reflector->call = NULL;
    reflector->status = 0;
    reflector->verdict = (Verdict){0};
    frame_done(&reflector->frame);
    buf_done(&reflector->body);
}

static void drop_list(Reflector *reflector) {
    buf_done(&reflector->deferred);
    buf_done(&reflector->continue_token);
    if (reflector->is_staging)
        reflector->options.sink.begin(reflector->options.sink.context); /* frees what it had */
    reflector->is_staging = false;
    reflector->needs_list = true;
}

static void notice(Reflector *reflector, ReflectorNotice what, const char *why, int64_t retry) {
    const ReflectorSink *sink = &reflector->options.sink;

    sink->notice(sink->context, what, why, retry);
}

/* Waits as long as backing off asks for. Returns how long that is. */
static int64_t wait_a_while(Reflector *reflector, int retry_after_sec) {
    int64_t now = reflector->options.clock();
    int64_t delay = backoff_next(&reflector->backoff, now, retry_after_sec);

    reflector->state = STATE_WAITING;
    reflector->next_at = now + delay;
    return delay;
}

/* The call has gone wrong. @verdict is the caller's own, not that of the reflector. */
static void fail(Reflector *reflector, const Verdict *verdict) {
    bool was_streaming = reflector->state == STATE_STREAMING;
    bool is_stall = was_streaming && reflector->status == 200 && verdict->is_stall;
    int64_t delay;

    drop_call(reflector);
    if (is_stall && ++reflector->n_stalls >= REFLECTOR_STALLS_MAX)
        reflector->can_stream = false;
    if (verdict->next == NEXT_LIST || was_streaming)
        drop_list(reflector);
    delay = wait_a_while(reflector, verdict->retry_after_sec);
    if (verdict->is_expired) {
        notice(reflector, REFLECTOR_EXPIRED, verdict->why, delay);
        return;
    }
    reflector->figures.n_failures++;
    reflector->figures.is_connected = false;
    (void)snprintf(
        reflector->figures.last_error, sizeof(reflector->figures.last_error), "%s", verdict->why);
    notice(reflector, REFLECTOR_LOST, reflector->figures.last_error, delay);
}

__attribute__((format(printf, 4, 5))) static void fail_with(
    Reflector *reflector, Next next, bool is_stall, const char *format, ...) {
    Verdict verdict = {.next = next, .is_stall = is_stall, .retry_after_sec = -1};
    va_list arguments;

    va_start(arguments, format);
    message_setv(verdict.why, sizeof(verdict.why), format, arguments);
    va_end(arguments);
    fail(reflector, &verdict);
}

/* Ends the call from inside its data(): the client's done() settles it. */
__attribute__((format(printf, 3, 4))) static bool end_call(
    Reflector *reflector, Next next, const char *format, ...) {
    va_list arguments;

    reflector->verdict = (Verdict){.is_set = true, .next = next, .retry_after_sec = -1};
    va_start(arguments, format);
    message_setv(reflector->verdict.why, sizeof(reflector->verdict.why), format, arguments);
    va_end(arguments);
    return false;
}

/* --- versions and lists --------------------------------------------------------------- */

static bool set_version(Reflector *reflector, Str version) {
    if (version.len == 0 || version.len > REFLECTOR_VERSION_MAX)
        return false;
    memcpy(reflector->version, version.ptr, version.len);
    reflector->version_len = version.len;
    return true;
}

static void begin_list(Reflector *reflector) {
    reflector->options.sink.begin(reflector->options.sink.context);
    reflector->is_staging = true;
    reflector->list_began_at = reflector->options.clock();
    reflector->is_counted = false;
    reflector->has_malformed = false;
}

/* 0, or -ENOMEM. */
static int add_item(Reflector *reflector, Str object) {
    int r = reflector->options.sink.item(reflector->options.sink.context, object);

    if (r < 0)
        return error_trace(r);
    if (r > 0)
        reflector->figures.n_unfit++;
    reflector->has_malformed |= r == SINK_MALFORMED;
    return 0;
}

/* 0, or -ENOMEM. */
static int end_list(Reflector *reflector) {
    int r = reflector->options.sink.end(reflector->options.sink.context);

    if (r < 0)
        return error_trace(r);
    reflector->is_staging = false;
    reflector->needs_list = false;
    reflector->n_refusals = 0;
    reflector->n_stalls = 0;
    reflector->figures.is_synced = true;
    reflector->figures.synced_at_nsec = reflector->list_began_at;
    reflector->figures.listed_at_nsec = reflector->list_began_at;
    return 0;
}

/* --- watch events ---------------------------------------------------------------------- */

/* A document of which we cannot say what it is about: something may be missing. If the
 * stream has not brought anything yet, nothing is: it may be no watch at all. */
static bool end_malformed(Reflector *reflector) {
    bool is_first = !reflector->has_heard;

    reflector->figures.n_malformed++;
    if (is_first && ++reflector->n_refusals < REFLECTOR_REFUSALS_MAX)
        (void)end_call(reflector, NEXT_RESUME, "the answer is not what a watch sends");
    else
        (void)end_call(reflector, NEXT_LIST, "the watch sent something that cannot be read");
    reflector->verdict.is_stall = true;
    return false;
}

/* A watch that goes on shows that whatever was wrong before is over. A list does not: one
 * that breaks in the middle, or that no watch can follow, is to be asked for less often. */
static void count_progress(Reflector *reflector) {
    reflector->has_heard = true;
    if (reflector->state != STATE_WATCHING)
        return;
    reflector->n_refusals = 0;
    backoff_reset(&reflector->backoff);
    if (reflector->document_at - reflector->started_at >= REFLECTOR_CATCH_UP_SEC * NSEC_PER_SEC)
        reflector->figures.synced_at_nsec = reflector->document_at;
}

static bool on_error(Reflector *reflector, Str object) {
    ApiStatus status;
    Next next = NEXT_RESUME;

    reflector->figures.n_errors++;
    (void)api_status_read(object, reflector->arena, &status);
    if (api_status_is_expired(&status) || ++reflector->n_refusals >= REFLECTOR_REFUSALS_MAX)
        next = NEXT_LIST;
    (void)end_call(reflector,
        next,
        "the watch ended with an error: %d %.*s",
        (int)status.code,
        STR_FMT(str_take(status.message, REFLECTOR_ERROR_MAX)));
    reflector->verdict.retry_after_sec = status.retry_after_sec;
    reflector->verdict.is_expired = api_status_is_expired(&status);
    return false;
}

static void count_event(Reflector *reflector, EventType type) {
    if (type == EVENT_ADDED)
        reflector->figures.n_added++;
    else if (type == EVENT_MODIFIED)
        reflector->figures.n_modified++;
    else
        reflector->figures.n_deleted++;
}

static bool apply_event(Reflector *reflector, const Event *event) {
    const ReflectorSink *sink = &reflector->options.sink;
    ObjectMeta meta;
    int r;

    if (!object_meta_read(event->object, reflector->arena, false, &meta)) {
        if (!reflector->has_malformed)
            return end_malformed(reflector);
        reflector->figures.n_unfit++; /* the list had such things too: listing is no cure */
        return true;
    }
    r = sink->apply(sink->context, event->type, &meta, event->object);
    if (r < 0)
        return end_call(reflector, NEXT_LIST, "an event could not be kept: %s", strerror(-r));
    if (r == SINK_MALFORMED && !reflector->has_malformed)
        return end_malformed(reflector);
    if (r > 0)
        reflector->figures.n_unfit++;
    if (!set_version(reflector, meta.version))
        return end_malformed(reflector);
    count_progress(reflector);
    return true;
}

/* An event inside a streamed list. The API server sends what there was when it began, then
 * what has happened since. A sink cannot take an object out of a list, so from the first
 * deletion on events wait for its end. */
static bool stage_event(Reflector *reflector, const Event *event, Str document) {
    int r;

    if (event->type != EVENT_DELETED && reflector->deferred.len == 0) {
        r = add_item(reflector, event->object);
        if (r < 0)
            return end_call(reflector, NEXT_LIST, "a list could not be kept: %s", strerror(-r));
        count_progress(reflector);
        return true;
    }
    buf_append(&reflector->deferred, document);
    buf_append_char(&reflector->deferred, '\n');
    if (buf_error(&reflector->deferred))
        return end_call(reflector, NEXT_LIST, "too much happened during a streamed list");
    return true;
}

static bool apply_deferred(Reflector *reflector) {
    Str rest = buf_str(&reflector->deferred);
    Str document;

    while (str_split(&rest, '\n', &document)) {
        Event event;

        if (str_is_empty(document))
            continue;
        arena_reset(reflector->arena);
        if (!event_read(document, &event) || !apply_event(reflector, &event))
            return false;
    }
    buf_done(&reflector->deferred);
    return true;
}

static bool end_stream(Reflector *reflector, Str version) {
    int r = end_list(reflector);

    if (r < 0)
        return end_call(reflector, NEXT_LIST, "a list could not be kept: %s", strerror(-r));
    if (!apply_deferred(reflector))
        return false;
    if (!set_version(reflector, version))
        return end_malformed(reflector);
    count_progress(reflector);
    reflector->state = STATE_WATCHING;
    notice(reflector, REFLECTOR_SYNCED, NULL, 0);
    return true;
}

/* A bookmark inside a streamed list is the one that ends it, or there is no such list: an
 * older API server has passed over what we asked for, and this is a watch like any other. */
static bool on_list_bookmark(Reflector *reflector, const ObjectMeta *meta) {
    /* The version is kept elsewhere: applying what was deferred resets the arena. */
    char version[REFLECTOR_VERSION_MAX];

    if (!meta->ends_initial_events) {
        (void)end_call(reflector, NEXT_LIST, "the API server does not stream lists");
        reflector->verdict.is_no_list = true;
        return false;
    }
    if (meta->version.len > sizeof(version))
        return end_malformed(reflector);
    memcpy(version, meta->version.ptr, meta->version.len);
    return end_stream(reflector, str_of(version, meta->version.len));
}

static bool on_bookmark(Reflector *reflector, Str object) {
    ObjectMeta meta;

    reflector->figures.n_bookmarks++;
    if (!object_meta_read(object, reflector->arena, true, &meta))
        return end_malformed(reflector);
    if (reflector->state == STATE_STREAMING)
        return on_list_bookmark(reflector, &meta);
    if (!set_version(reflector, meta.version))
        return end_malformed(reflector);
    count_progress(reflector);
    return true;
}

static bool on_document(Reflector *reflector, Str document) {
    Event event;

    arena_reset(reflector->arena);
    reflector->document_at = reflector->options.clock();
    if (!event_read(document, &event))
        return end_malformed(reflector);
    switch (event.type) {
    case EVENT_ADDED:
    case EVENT_MODIFIED:
    case EVENT_DELETED:
        count_event(reflector, event.type);
        return reflector->state == STATE_STREAMING ? stage_event(reflector, &event, document)
                                                   : apply_event(reflector, &event);
    case EVENT_BOOKMARK:
        return on_bookmark(reflector, event.object);
    case EVENT_ERROR:
        return on_error(reflector, event.object);
    case EVENT_UNKNOWN:
        break;
    }
    reflector->figures.n_unknown++;
    return true;
}

static bool take_documents(Reflector *reflector, Str bytes) {
    Str document;
    int r;

    while ((r = frame_next(&reflector->frame, &bytes, &document)) == FRAME_DOCUMENT)
        if (!on_document(reflector, document))
            return false;
    if (r == FRAME_TOO_LARGE)
        return end_call(reflector,
            NEXT_LIST,
            "the watch sent an event of more than %zu bytes",
            REFLECTOR_DOCUMENT_MAX);
    if (r < 0)
        return end_call(reflector, NEXT_RESUME, "out of memory");
    return true;
}

/* --- what the client tells us -------------------------------------------------------------- */

static void count_answer(Reflector *reflector) {
    ReflectorFigures *counts = &reflector->figures;

    if (reflector->state != STATE_LISTING)
        counts->n_watches++;
    if (reflector->state == STATE_WATCHING && counts->n_watches > 1)
        counts->n_restarts++;
    if (reflector->state != STATE_WATCHING && !reflector->is_counted)
        counts->n_lists++;
    reflector->is_counted = true;
}

static void on_head(void *context, const CallHead *head) {
    Reflector *reflector = context;

    reflector->status = head->status;
    if (head->status != 200)
        return;
    if (!str_eq_nocase(head->content_type, STR("application/json"))) {
        (void)end_call(reflector,
            NEXT_RESUME,
            "the answer is \"%.*s\", not JSON: is that an API server?",
            STR_FMT(str_take(head->content_type, 64)));
        return;
    }
    count_answer(reflector);
    reflector->figures.heard_at_nsec = reflector->options.clock();
    if (!reflector->figures.is_connected) {
        reflector->figures.is_connected = true;
        reflector->figures.last_error[0] = '\0';
        notice(reflector, REFLECTOR_CONNECTED, NULL, 0);
    }
}

/* As much of it as anybody reads. */
static bool keep_refusal(Reflector *reflector, Str bytes) {
    if (reflector->body.len < REFLECTOR_REFUSAL_MAX)
        buf_append(&reflector->body, str_take(bytes, REFLECTOR_REFUSAL_MAX - reflector->body.len));
    return true;
}

static bool keep_page(Reflector *reflector, Str bytes) {
    buf_append(&reflector->body, bytes);
    if (buf_error(&reflector->body))
        return end_call(reflector, NEXT_LIST, "a page could not be kept");
    return true;
}

static bool on_data(void *context, Str bytes) {
    Reflector *reflector = context;

    reflector->figures.n_bytes += bytes.len;
    if (reflector->verdict.is_set)
        return false;
    if (reflector->status != 200)
        return keep_refusal(reflector, bytes);
    reflector->figures.heard_at_nsec = reflector->options.clock();
    return reflector->state == STATE_LISTING ? keep_page(reflector, bytes)
                                             : take_documents(reflector, bytes);
}

/* --- pages ----------------------------------------------------------------------------------- */

static void start(Reflector *reflector);

/* 0; 1 when they are no array; or -ENOMEM. */
static int add_items(Reflector *reflector, Str items) {
    JsonReader reader;

    json_reader_init(&reader, items);
    json_array(&reader);
    while (json_element(&reader)) {
        Str object = STR_NULL;
        int r;

        json_skip_fast(&reader, &object);
        if (json_error(&reader) != JSON_OK)
            break;
        r = add_item(reflector, object);
        if (r < 0)
            return error_trace(r);
    }
    json_end(&reader);
    return json_error(&reader) == JSON_OK ? 0 : 1;
}

/* Takes the page that is in body. False: it has failed, and said so. */
static bool take_page(Reflector *reflector, ListPage *ret) {
    int r;

    arena_reset(reflector->arena);
    if (!list_page_read(buf_str(&reflector->body), reflector->arena, ret)) {
        fail_with(reflector, NEXT_LIST, false, "the answer is no list");
        return false;
    }
    /* All pages show the cluster at one version. */
    if (reflector->continue_token.len == 0 && !set_version(reflector, ret->version)) {
        fail_with(reflector, NEXT_LIST, false, "the list has no version that can be used");
        return false;
    }
    r = add_items(reflector, ret->items);
    if (r != 0) {
        fail_with(reflector,
            NEXT_LIST,
            false,
            r < 0 ? "a list could not be kept: out of memory" : "a list cannot be read");
        return false;
    }
    return true;
}

static void on_page(Reflector *reflector) {
    ListPage page;
    int r;

    if (!take_page(reflector, &page))
        return;
    buf_reset(&reflector->continue_token);
    buf_append(&reflector->continue_token, page.continue_token);
    if (buf_error(&reflector->continue_token)) {
        fail_with(reflector, NEXT_LIST, false, "the list cannot be continued");
        return;
    }
    if (reflector->continue_token.len == 0) {
        r = end_list(reflector);
        if (r < 0) {
            fail_with(reflector, NEXT_LIST, false, "a list could not be kept: %s", strerror(-r));
            return;
        }
        notice(reflector, REFLECTOR_SYNCED, NULL, 0);
    }
    drop_call(reflector);
    start(reflector);
}

/* --- the end of a call -------------------------------------------------------------------------
 */

/* A watch has ended in the way watches do. */
static void on_watch_end(Reflector *reflector) {
    if (!reflector->has_heard) {
        fail_with(reflector, NEXT_RESUME, false, "the watch ended before it began");
        return;
    }
    if (reflector->state == STATE_STREAMING) {
        fail_with(reflector, NEXT_LIST, false, "the watch ended inside a list");
        return;
    }
    drop_call(reflector);
    (void)wait_a_while(reflector, -1);
}

static void explain_refusal(
    const Reflector *reflector, unsigned code, const ApiStatus *status, Verdict *verdict) {
    const char *hint = "";
    char rule[64];

    (void)snprintf(rule,
        sizeof(rule),
        " (needs the rights list and watch on %s)",
        reflector->options.resource);
    if (code == 403)
        hint = rule;
    message_set(verdict->why,
        sizeof(verdict->why),
        "HTTP %u%s%.*s%s",
        code,
        str_is_empty(status->message) ? "" : ": ",
        STR_FMT(str_take(status->message, REFLECTOR_ERROR_MAX - 128)),
        hint);
}

/* Whether the version we hold, or where the list goes on, is no longer any good. */
static bool is_lost(Reflector *reflector, unsigned code, const ApiStatus *status) {
    if (code == 410 || api_status_is_expired(status))
        return true;
    if (code == 400 || code == 422)
        return true;
    return status->is_version_too_large && ++reflector->n_refusals >= REFLECTOR_REFUSALS_MAX;
}

/* Everything once more, without streaming: the server is too old, or told not to. */
static void fall_back(Reflector *reflector) {
    reflector->can_stream = false;
    drop_call(reflector);
    drop_list(reflector);
    start(reflector);
}

/* Where a list goes on is forgotten after some minutes: one that took longer than that is to
 * come in larger steps. */
static void enlarge_pages(Reflector *reflector) {
    reflector->page_items *= 2;
    if (reflector->page_items > REFLECTOR_PAGE_ITEMS_MOST)
        reflector->page_items = REFLECTOR_PAGE_ITEMS_MOST;
}

static void shrink_pages(Reflector *reflector) {
    reflector->page_items /= 4;
    if (reflector->page_items < REFLECTOR_PAGE_ITEMS_LEAST)
        reflector->page_items = REFLECTOR_PAGE_ITEMS_LEAST;
}

static void on_refused(Reflector *reflector, const CallResult *result) {
    Verdict verdict = {.retry_after_sec = result->retry_after_sec};
    unsigned code = result->status;
    ApiStatus status;

    arena_reset(reflector->arena);
    (void)api_status_read(buf_str(&reflector->body), reflector->arena, &status);
    if (reflector->state == STATE_STREAMING && (code == 400 || code == 422)) {
        fall_back(reflector);
        return;
    }
    if (status.retry_after_sec > verdict.retry_after_sec)
        verdict.retry_after_sec = status.retry_after_sec;
    verdict.next = is_lost(reflector, code, &status) ? NEXT_LIST : NEXT_RESUME;
    verdict.is_expired = code == 410 || api_status_is_expired(&status);
    if (reflector->state == STATE_LISTING && code == 410)
        enlarge_pages(reflector);
    explain_refusal(reflector, code, &status, &verdict);
    fail(reflector, &verdict);
}

static void on_failed(Reflector *reflector, const CallResult *result) {
    bool is_late = result->outcome == CALL_TIMEOUT;
    bool is_large = result->outcome == CALL_TOO_LARGE;

    /* An answer that has not even begun says nothing about the size of pages. */
    if (reflector->state == STATE_LISTING && (is_large || (is_late && reflector->status == 200)))
        shrink_pages(reflector);
    fail_with(reflector, NEXT_RESUME, is_late, "%s", result->error);
}

static void on_done(void *context, const CallResult *result) {
    Reflector *reflector = context;

    if (reflector->verdict.is_no_list) {
        fall_back(reflector);
    } else if (reflector->verdict.is_set) {
        Verdict verdict = reflector->verdict;

        fail(reflector, &verdict);
    } else if (result->outcome != CALL_DONE) {
        on_failed(reflector, result);
    } else if (result->status != 200) {
        on_refused(reflector, result);
    } else if (reflector->state == STATE_LISTING) {
        on_page(reflector);
    } else {
        on_watch_end(reflector);
    }
}

/* --- starting calls ------------------------------------------------------------------------------
 */

/* The path of a watch that goes on from our version, or of one that begins with a list. */
static void write_watch_path(Reflector *reflector, bool is_list, Buf *out) {
    buf_printf(out,
        "%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d",
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

/* Without a version: what is committed now, not what a cache happens to have. */
static void write_page_path(Reflector *reflector, Buf *out) {
    buf_printf(out, "%s?limit=%u", reflector->options.path, reflector->page_items);
    if (reflector->continue_token.len > 0) {
        buf_append(out, STR("&continue="));
        url_escape(out, buf_str(&reflector->continue_token));
    }
}

static void start_call(Reflector *reflector, State state, Buf *path, CallOptions *options) {
    const CallHandler handler = {
        .context = reflector,
        .head = on_head,
        .data = on_data,
        .done = on_done,
    };

    reflector->state = state;
    reflector->has_heard = false;
    reflector->started_at = reflector->document_at = reflector->options.clock();
    options->method = "GET";
    options->path = url_text(path);
    if (options->path)
        reflector->call = client_call(reflector->client, options, &handler);
    if (!reflector->call)
        fail_with(reflector, NEXT_RESUME, false, "out of memory");
}

static void start_watch(Reflector *reflector, bool is_list) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES);
    CallOptions options = {.first_byte_sec = REFLECTOR_FIRST_BYTE_SEC};

    if (is_list)
        begin_list(reflector);
    write_watch_path(reflector, is_list, &path);
    start_call(reflector, is_list ? STATE_STREAMING : STATE_WATCHING, &path, &options);
}

static void start_page(Reflector *reflector) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES);
    CallOptions options = {.total_sec = REFLECTOR_PAGE_SEC, .bytes_max = REFLECTOR_PAGE_MAX};

    if (!reflector->is_staging)
        begin_list(reflector);
    write_page_path(reflector, &path);
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
    drop_list(reflector);
    if (!is_waiting)
        start(reflector);
}

/* --- time ------------------------------------------------------------------------------------- */

/* When the call that is under way has taken too long; the client looks after pages. */
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
    if (now_nsec >= deadline_of(reflector)) {
        if (reflector->state == STATE_WAITING) {
            start(reflector);
        } else {
            call_cancel(TAKE_PTR(reflector->call));
            fail_with(reflector,
                NEXT_RESUME,
                /* is_stall= */ true,
                reflector->state == STATE_STREAMING ? "the streamed list does not end"
                                                    : "the watch has gone silent");
        }
    }
    return deadline_of(reflector);
}
