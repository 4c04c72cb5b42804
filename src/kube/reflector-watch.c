/* Reads lists and watches. The sink stages a list next to its current state, and replaces that when
 * the list is complete. Events of a watch are applied, or wait for the end of their list; bookmarks
 * advance the version; an error, or an unreadable document, ends the call. */

#include "kube/reflector-internal.h"

#include "base/clock.h"
#include "json/read.h"

void list_begin(Reflector *reflector) {
    reflector->options.sink.begin(reflector->options.sink.context);
    reflector->is_staging = true;
    reflector->list_began_at = clock_monotonic_nsec();
    reflector->is_counted = false;
    reflector->has_malformed = false;
    reflector->n_requested = 0;
}

static int list_add(Reflector *reflector, Str object) {
    int r = reflector->options.sink.item(reflector->options.sink.context, object);

    if (r < 0)
        return r;
    if (r > 0)
        reflector->figures.n_unfit++;
    reflector->has_malformed |= r == SINK_MALFORMED;
    return 0;
}

static bool list_fail(Reflector *reflector, int r) {
    return reflector_end_call(reflector, NEXT_LIST, "a list could not be kept: %s", strerror(-r));
}

/* Returns false if the call must end. */
static bool list_end(Reflector *reflector) {
    int r = reflector->options.sink.end(reflector->options.sink.context);

    if (r < 0)
        return list_fail(reflector, r);
    reflector->is_staging = false;
    reflector->needs_list = false;
    reflector->n_refusals = 0;
    reflector->n_stalls = 0;
    reflector->figures.is_synced = true;
    reflector->figures.synced_at_nsec = reflector->list_began_at;
    reflector->figures.listed_at_nsec = reflector->list_began_at;
    return true;
}

void list_drop(Reflector *reflector) {
    buf_done(&reflector->deferred);
    buf_done(&reflector->continue_token);
    if (reflector->is_staging)
        reflector->options.sink.begin(reflector->options.sink.context); /* frees its objects */
    reflector->is_staging = false;
    reflector->needs_list = true;
}

/* 0; 1 if @items are no array; or -ENOMEM. */
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
        r = list_add(reflector, object);
        if (r < 0)
            return r;
    }
    json_end(&reader);
    return json_error(&reader) == JSON_OK ? 0 : 1;
}

bool list_take_page(Reflector *reflector) {
    Buf *token = &reflector->continue_token;
    ListPage page;
    int r;

    arena_reset(reflector->arena);
    if (!list_page_read(buf_str(&reflector->body), reflector->arena, &page))
        return reflector_end_call(reflector, NEXT_LIST, "the answer is no list");
    /* All pages show the cluster at one version. */
    if (token->len == 0 && !reflector_set_version(reflector, page.version))
        return reflector_end_call(reflector, NEXT_LIST, "the list has no version that can be used");
    r = add_items(reflector, page.items);
    if (r != 0)
        return reflector_end_call(reflector, NEXT_LIST,
            r < 0 ? "out of memory for the listed objects" : "a list cannot be read");
    if (!str_is_empty(page.continue_token) && (str_eq(page.continue_token, buf_str(token)) ||
                                                  reflector->n_requested >= REFLECTOR_LIST_MAX))
        return reflector_end_call(reflector, NEXT_LIST,
            "the list does not end: %u objects were requested", reflector->n_requested);
    buf_reset(token);
    buf_append(token, page.continue_token);
    if (buf_error(token))
        return reflector_end_call(reflector, NEXT_LIST, "the list cannot be continued");
    if (token->len > 0)
        return true;
    if (!list_end(reflector))
        return false;
    reflector_notice(reflector, REFLECTOR_SYNCED, NULL, 0);
    return true;
}

/* Ends the call after an unreadable document: an event may be lost, so a list follows. If it is the
 * first document, nothing is lost: the answer may be no watch at all. */
static bool end_malformed(Reflector *reflector) {
    reflector->figures.n_malformed++;
    if (!reflector->has_received && ++reflector->n_refusals < REFLECTOR_REFUSALS_MAX)
        (void)reflector_end_call(reflector, NEXT_RESUME, "the answer is not what a watch sends");
    else
        (void)reflector_end_call(
            reflector, NEXT_LIST, "the watch sent something that cannot be read");
    reflector->failure.is_stall = true;
    return false;
}

/* Resets failures, but only during a watch. Lists that break, or that no watch can follow, must be
 * requested less often. */
static void count_progress(Reflector *reflector) {
    reflector->has_received = true;
    if (reflector->state != STATE_WATCHING)
        return;
    reflector->n_refusals = 0;
    backoff_reset(&reflector->backoff);
    if (reflector->document_at - reflector->started_at >= REFLECTOR_CATCH_UP_SEC * NSEC_PER_SEC)
        reflector->figures.synced_at_nsec = reflector->document_at;
}

static bool on_error(Reflector *reflector, Str object) {
    ApiStatus status;
    NextStep next = NEXT_RESUME;

    reflector->figures.n_errors++;
    (void)api_status_read(object, reflector->arena, &status);
    if (api_status_is_expired(&status) || ++reflector->n_refusals >= REFLECTOR_REFUSALS_MAX)
        next = NEXT_LIST;
    (void)reflector_end_call(reflector, next, "the watch ended with an error: %d %.*s",
        (int)status.code, STR_FMT(str_take(status.message, REFLECTOR_ERROR_MAX)));
    reflector->failure.retry_after_sec = status.retry_after_sec;
    reflector->failure.is_expired = api_status_is_expired(&status);
    return false;
}

static bool apply_event(Reflector *reflector, const WatchEvent *event) {
    const ReflectorSink *sink = &reflector->options.sink;
    ObjectMeta meta;
    int r;

    if (!object_meta_read(event->object, reflector->arena, false, &meta)) {
        if (!reflector->has_malformed)
            return end_malformed(reflector);
        reflector->figures
            .n_unfit++; /* the list had such objects, too, so a new list would not help */
        return true;
    }
    r = sink->apply(sink->context, event->type, &meta, event->object);
    if (r < 0)
        return reflector_end_call(
            reflector, NEXT_LIST, "an event could not be kept: %s", strerror(-r));
    if (r == SINK_MALFORMED && !reflector->has_malformed)
        return end_malformed(reflector);
    if (r > 0)
        reflector->figures.n_unfit++;
    if (!reflector_set_version(reflector, meta.version))
        return end_malformed(reflector);
    count_progress(reflector);
    return true;
}

/* Handles an event in a streamed list: the API server sends the objects, then changes since. A sink
 * cannot remove an object from a list, so events wait from the first deletion on. */
static bool stage_event(Reflector *reflector, const WatchEvent *event, Str document) {
    int r;

    if (event->type != EVENT_DELETED && reflector->deferred.len == 0) {
        r = list_add(reflector, event->object);
        if (r < 0)
            return list_fail(reflector, r);
        count_progress(reflector);
        return true;
    }
    buf_append(&reflector->deferred, document);
    buf_append_char(&reflector->deferred, '\n');
    if (buf_error(&reflector->deferred))
        return reflector_end_call(reflector, NEXT_LIST, "too much happened during a streamed list");
    return true;
}

static bool apply_deferred(Reflector *reflector) {
    Str rest = buf_str(&reflector->deferred);
    Str document;

    while (str_split(&rest, '\n', &document)) {
        WatchEvent event;

        if (str_is_empty(document))
            continue;
        arena_reset(reflector->arena);
        if (!event_read(document, &event) || !apply_event(reflector, &event))
            return false;
    }
    buf_done(&reflector->deferred);
    return true;
}

/* A bookmark in a streamed list must be its end; otherwise an older API server has ignored the
 * parameter, and this is a normal watch. */
static bool on_list_bookmark(Reflector *reflector, const ObjectMeta *meta) {
    /* A copy, because apply_deferred() resets the arena. */
    char version[REFLECTOR_VERSION_MAX];
    size_t version_len = meta->version.len;

    if (!meta->ends_initial_events) {
        (void)reflector_end_call(reflector, NEXT_LIST, "the API server does not stream lists");
        reflector->failure.is_no_list = true;
        return false;
    }
    if (version_len > sizeof(version))
        return end_malformed(reflector);
    memcpy(version, meta->version.ptr, version_len);
    if (!list_end(reflector) || !apply_deferred(reflector))
        return false;
    if (!reflector_set_version(reflector, str_of(version, version_len)))
        return end_malformed(reflector);
    count_progress(reflector);
    reflector->state = STATE_WATCHING;
    reflector_notice(reflector, REFLECTOR_SYNCED, NULL, 0);
    return true;
}

static bool on_bookmark(Reflector *reflector, Str object) {
    ObjectMeta meta;

    reflector->figures.n_bookmarks++;
    if (!object_meta_read(object, reflector->arena, true, &meta))
        return end_malformed(reflector);
    if (reflector->state == STATE_STREAMING)
        return on_list_bookmark(reflector, &meta);
    if (!reflector_set_version(reflector, meta.version))
        return end_malformed(reflector);
    count_progress(reflector);
    return true;
}

static bool on_document(Reflector *reflector, Str document) {
    ReflectorFigures *figures = &reflector->figures;
    WatchEvent event;

    arena_reset(reflector->arena);
    reflector->document_at = clock_monotonic_nsec();
    if (!event_read(document, &event))
        return end_malformed(reflector);
    switch (event.type) {
    case EVENT_ADDED:
    case EVENT_MODIFIED:
    case EVENT_DELETED:
        figures->n_added += event.type == EVENT_ADDED;
        figures->n_modified += event.type == EVENT_MODIFIED;
        figures->n_deleted += event.type == EVENT_DELETED;
        return reflector->state == STATE_STREAMING ? stage_event(reflector, &event, document)
                                                   : apply_event(reflector, &event);
    case EVENT_BOOKMARK:
        return on_bookmark(reflector, event.object);
    case EVENT_ERROR:
        return on_error(reflector, event.object);
    case EVENT_UNKNOWN:
        break;
    }
    figures->n_unknown++;
    return true;
}

bool watch_take(Reflector *reflector, Str bytes) {
    Str document;
    int r;

    while ((r = splitter_next(&reflector->splitter, &bytes, &document)) == SPLITTER_DOCUMENT)
        if (!on_document(reflector, document))
            return false;
    if (r == SPLITTER_TOO_LARGE)
        return reflector_end_call(reflector, NEXT_LIST,
            "the watch sent an event of more than %zu bytes", REFLECTOR_DOCUMENT_MAX);
    if (r < 0)
        return reflector_end_call(reflector, NEXT_RESUME, "out of memory for an event");
    return true;
}
