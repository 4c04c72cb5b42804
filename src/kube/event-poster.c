#include "kube/event-poster.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/nsec.h"
#include "base/url.h"
#include "base/utf8.h"
#include "kube/api-objects.h"
#include "kube/micro-time.h"
#include "model/node.h"
#include "json/write.h"

#define PATH_MAX_BYTES ((size_t)4 * 1024)
#define BODY_MAX_BYTES ((size_t)16 * 1024)
#define ANSWER_MAX_BYTES ((size_t)64 * 1024)
#define ANSWER_BUDGET ((size_t)256 * 1024)
#define RAW_NOTE_MAX ((size_t)4 * EVENT_NOTE_MAX) /* of a note, what is looked at */

/* An Event, ready to be sent. */
typedef struct PendingEvent {
    char *path, *body;
} PendingEvent;

struct EventPoster {
    EventPosterOptions options;
    char instance[EVENT_POSTER_INSTANCE_MAX + 1];
    Call *call; /* of the client's thread, as the next two */
    Buf answer;
    int64_t forbidden_until;

    pthread_mutex_t mutex; /* guards what follows */
    PendingEvent waiting[EVENT_POSTER_WAITING_MAX];
    size_t first, n_waiting;
    uint64_t n_written; /* so that two of one moment have two names */
    EventPosterFigures figures;
};

static void pending_done(PendingEvent *pending) {
    free(pending->path);
    free(pending->body);
    *pending = (PendingEvent){0};
}

EventPoster *event_poster_new(const EventPosterOptions *options) {
    EventPoster *poster = calloc(1, sizeof(*poster));

    if (!poster)
        return NULL;
    poster->options = *options;
    poster->answer = BUF_INIT(ANSWER_MAX_BYTES);
    (void)snprintf(poster->instance, sizeof(poster->instance), "%s", options->instance);
    (void)pthread_mutex_init(&poster->mutex, NULL);
    return poster;
}

EventPoster *event_poster_free(EventPoster *poster) {
    if (!poster)
        return NULL;
    call_cancel(poster->call);
    buf_done(&poster->answer);
    for (size_t i = 0; i < EVENT_POSTER_WAITING_MAX; i++)
        pending_done(&poster->waiting[i]);
    (void)pthread_mutex_destroy(&poster->mutex);
    free(poster);
    return NULL;
}

EventPosterFigures event_poster_figures(EventPoster *poster) {
    EventPosterFigures figures;

    (void)pthread_mutex_lock(&poster->mutex);
    figures = poster->figures;
    (void)pthread_mutex_unlock(&poster->mutex);
    return figures;
}

/* --- writing ------------------------------------------------------------------------- */

/* The object's name, and a number that nobody else has; where the name is cut, it must still end as
 * names end. */
static void write_name(JsonWriter *writer, Str pod, uint64_t number) {
    char text[EVENT_POSTER_NAME_MAX + 32];
    Str front = str_take(pod, EVENT_POSTER_NAME_MAX);

    while (front.len > 0 && (front.ptr[front.len - 1] == '-' || front.ptr[front.len - 1] == '.'))
        front.len--;
    (void)snprintf(text, sizeof(text), "%.*s.%016" PRIx64, STR_FMT(front), number);
    json_write_member(writer, STR("name"), str_from_c(text));
}

static void write_regarding(JsonWriter *writer, const PodEvent *about) {
    json_write_key(writer, STR("regarding"));
    json_write_object(writer);
    json_write_member(writer, STR("apiVersion"), STR("v1"));
    json_write_member(writer, STR("kind"), STR("Pod"));
    json_write_member(writer, STR("namespace"), about->namespace);
    json_write_member(writer, STR("name"), about->pod);
    json_write_member(writer, STR("uid"), about->uid);
    json_write_end_object(writer);
}

/* It is cut last: a byte that is no UTF-8 becomes three. */
static void write_note(JsonWriter *writer, Str note) {
    _cleanup_(buf_done) Buf text = BUF_INIT(3 * RAW_NOTE_MAX);
    Str front;

    utf8_append_valid(&text, str_take(note, RAW_NOTE_MAX));
    front = str_take(buf_str(&text), EVENT_NOTE_MAX);
    json_write_member(writer, STR("note"), str_take(front, utf8_valid_length(front)));
}

static void write_event(
    const EventPoster *poster, const PodEvent *about, uint64_t number, int64_t wall, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write_object(&writer);
    json_write_member(&writer, STR("apiVersion"), STR("events.k8s.io/v1"));
    json_write_member(&writer, STR("kind"), STR("Event"));
    json_write_key(&writer, STR("metadata"));
    json_write_object(&writer);
    write_name(&writer, about->pod, number);
    json_write_member(&writer, STR("namespace"), about->namespace);
    json_write_end_object(&writer);
    micro_time_write(&writer, STR("eventTime"), wall);
    json_write_member(&writer, STR("type"), about->is_warning ? STR("Warning") : STR("Normal"));
    json_write_member(&writer, STR("reason"), str_from_c(about->reason));
    json_write_member(&writer, STR("action"), str_from_c(about->action));
    write_note(&writer, about->note);
    write_regarding(&writer, about);
    json_write_member(&writer, STR("reportingController"), STR(EVENT_POSTER_CONTROLLER));
    json_write_member(&writer, STR("reportingInstance"), str_from_c(poster->instance));
    json_write_end_object(&writer);
}

/* NULL members when it cannot be written. */
static PendingEvent write_pending(
    const EventPoster *poster, const PodEvent *about, uint64_t number) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES);
    _cleanup_(buf_done) Buf body = BUF_INIT(BODY_MAX_BYTES);
    int64_t wall = poster->options.wall_clock();

    buf_append(&path, STR("/apis/events.k8s.io/v1/namespaces/"));
    url_escape(&path, about->namespace);
    buf_append(&path, STR("/events"));
    write_event(poster, about, (uint64_t)wall + number, wall, &body);
    return (PendingEvent){.path = buf_take(&path), .body = buf_take(&body)};
}

bool event_poster_add(EventPoster *poster, const PodEvent *event) {
    bool is_sound = node_name_is_valid(event->namespace) && node_name_is_valid(event->pod) &&
                    event->uid.len > 0;
    PendingEvent pending = {0};
    bool is_taken;

    (void)pthread_mutex_lock(&poster->mutex);
    if (is_sound && poster->n_waiting < EVENT_POSTER_WAITING_MAX)
        pending = write_pending(poster, event, poster->n_written++);
    is_taken = pending.path && pending.body;
    if (is_taken)
        poster->waiting[(poster->first + poster->n_waiting++) % EVENT_POSTER_WAITING_MAX] = pending;
    else
        poster->figures.n_dropped++;
    (void)pthread_mutex_unlock(&poster->mutex);
    if (!is_taken)
        pending_done(&pending);
    return is_taken;
}

/* --- posting -------------------------------------------------------------------------- */

/* Whether the 403 that came is about our rights. One namespace may take no Events, for a quota, or
 * because it is about to be gone: the others need not wait for that. */
static bool is_for_rights(const EventPoster *poster) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ANSWER_BUDGET);
    static const Str sign = STR(" cannot create ");
    ApiStatus status;

    return !arena || !api_status_read(buf_str(&poster->answer), arena, &status) ||
           str_is_empty(status.message) ||
           memmem(status.message.ptr, status.message.len, sign.ptr, sign.len);
}

static void count_end(EventPoster *poster, const CallResult *result) {
    bool is_answered = result && result->outcome == CALL_DONE;
    bool is_posted = is_answered && result->status == 201;
    bool is_forbidden = is_answered && result->status == 403 && is_for_rights(poster);

    (void)pthread_mutex_lock(&poster->mutex);
    poster->figures.n_posted += is_posted;
    poster->figures.n_failed += !is_posted;
    if (is_posted || is_forbidden)
        poster->figures.is_forbidden = is_forbidden;
    (void)pthread_mutex_unlock(&poster->mutex);
    if (is_forbidden)
        poster->forbidden_until =
            poster->options.clock() + EVENT_POSTER_FORBIDDEN_SEC * NSEC_PER_SEC;
}

/* What does not fit is not needed. */
static bool on_data(void *context, Str bytes) {
    EventPoster *poster = context;

    buf_append(&poster->answer, bytes);
    return true;
}

static void on_done(void *context, const CallResult *result) {
    EventPoster *poster = context;

    poster->call = NULL;
    count_end(poster, result);
    buf_done(&poster->answer);
    event_poster_tick(poster, poster->options.clock());
}

/* The next that waits; without a path: none. */
static PendingEvent take(EventPoster *poster) {
    PendingEvent pending = {0};

    (void)pthread_mutex_lock(&poster->mutex);
    if (poster->n_waiting > 0) {
        pending = poster->waiting[poster->first];
        poster->waiting[poster->first] = (PendingEvent){0};
        poster->first = (poster->first + 1) % EVENT_POSTER_WAITING_MAX;
        poster->n_waiting--;
    }
    (void)pthread_mutex_unlock(&poster->mutex);
    return pending;
}

static void drop_all(EventPoster *poster) {
    for (PendingEvent pending = take(poster); pending.path; pending = take(poster)) {
        pending_done(&pending);
        (void)pthread_mutex_lock(&poster->mutex);
        poster->figures.n_dropped++;
        (void)pthread_mutex_unlock(&poster->mutex);
    }
}

void event_poster_tick(EventPoster *poster, int64_t now_nsec) {
    const CallHandler handler = {.context = poster, .data = on_data, .done = on_done};
    CallOptions call = {
        .method = "POST",
        .content_type = "application/json",
        .total_sec = EVENT_POSTER_SEC,
        .bytes_max = ANSWER_MAX_BYTES,
    };
    PendingEvent pending;

    if (now_nsec < poster->forbidden_until)
        drop_all(poster);
    if (poster->call)
        return;
    pending = take(poster);
    if (!pending.path)
        return;
    call.path = pending.path;
    call.body = str_from_c(pending.body);
    poster->call = client_call(poster->options.client, &call, &handler);
    if (!poster->call)
        count_end(poster, NULL);
    pending_done(&pending);
}
