#include "kube/announce.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/nsec.h"
#include "base/url.h"
#include "base/utf8.h"
#include "kube/micro-time.h"
#include "kube/status.h"
#include "model/node.h"
#include "json/write.h"

#define PATH_MAX_BYTES ((size_t)4 * 1024)
#define BODY_MAX_BYTES ((size_t)16 * 1024)
#define ANSWER_MAX_BYTES ((size_t)64 * 1024)
#define ANSWER_BUDGET ((size_t)256 * 1024)
#define RAW_NOTE_MAX ((size_t)4 * ANNOUNCE_NOTE_MAX) /* of a note, what is looked at */

/* An Event, ready to be sent. */
typedef struct Letter {
    char *path, *body;
} Letter;

struct Announce {
    AnnounceOptions options;
    char instance[ANNOUNCE_INSTANCE_MAX + 1];
    Call *call; /* of the client's thread, as the next two */
    Buf answer;
    int64_t forbidden_until;

    pthread_mutex_t mutex; /* guards what follows */
    Letter waiting[ANNOUNCE_WAITING_MAX];
    size_t first, n_waiting;
    uint64_t n_written; /* so that two of one moment have two names */
    AnnounceFigures figures;
};

static void letter_done(Letter *letter) {
    free(letter->path);
    free(letter->body);
    *letter = (Letter){0};
}

Announce *announce_new(const AnnounceOptions *options) {
    Announce *announce = calloc(1, sizeof(*announce));

    if (!announce)
        return NULL;
    announce->options = *options;
    announce->answer = BUF_INIT(ANSWER_MAX_BYTES);
    (void)snprintf(announce->instance, sizeof(announce->instance), "%s", options->instance);
    (void)pthread_mutex_init(&announce->mutex, NULL);
    return announce;
}

Announce *announce_free(Announce *announce) {
    if (!announce)
        return NULL;
    call_cancel(announce->call);
    buf_done(&announce->answer);
    for (size_t i = 0; i < ANNOUNCE_WAITING_MAX; i++)
        letter_done(&announce->waiting[i]);
    (void)pthread_mutex_destroy(&announce->mutex);
    free(announce);
    return NULL;
}

AnnounceFigures announce_figures(Announce *announce) {
    AnnounceFigures figures;

    (void)pthread_mutex_lock(&announce->mutex);
    figures = announce->figures;
    (void)pthread_mutex_unlock(&announce->mutex);
    return figures;
}

/* --- writing ------------------------------------------------------------------------- */

/* The object's name, and a number that nobody else has; where the name is cut, it must still end as
 * names end. */
static void write_name(JsonWriter *writer, Str pod, uint64_t number) {
    char text[ANNOUNCE_NAME_MAX + 32];
    Str front = str_take(pod, ANNOUNCE_NAME_MAX);

    while (front.len > 0 && (front.ptr[front.len - 1] == '-' || front.ptr[front.len - 1] == '.'))
        front.len--;
    (void)snprintf(text, sizeof(text), "%.*s.%016" PRIx64, STR_FMT(front), number);
    json_write_member(writer, STR("name"), str_from_c(text));
}

static void write_regarding(JsonWriter *writer, const Announcement *about) {
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
    front = str_take(buf_str(&text), ANNOUNCE_NOTE_MAX);
    json_write_member(writer, STR("note"), str_take(front, utf8_valid_length(front)));
}

static void write_event(
    const Announce *announce, const Announcement *about, uint64_t number, int64_t wall, Buf *out) {
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
    json_write_member(&writer, STR("reportingController"), STR(ANNOUNCE_CONTROLLER));
    json_write_member(&writer, STR("reportingInstance"), str_from_c(announce->instance));
    json_write_end_object(&writer);
}

/* NULL members when it cannot be written. */
static Letter write_letter(const Announce *announce, const Announcement *about, uint64_t number) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES);
    _cleanup_(buf_done) Buf body = BUF_INIT(BODY_MAX_BYTES);
    int64_t wall = announce->options.wall_clock();

    buf_append(&path, STR("/apis/events.k8s.io/v1/namespaces/"));
    url_escape(&path, about->namespace);
    buf_append(&path, STR("/events"));
    write_event(announce, about, (uint64_t)wall + number, wall, &body);
    return (Letter){.path = buf_take(&path), .body = buf_take(&body)};
}

bool announce_add(Announce *announce, const Announcement *announcement) {
    bool is_sound = node_name_is_valid(announcement->namespace) &&
                    node_name_is_valid(announcement->pod) && announcement->uid.len > 0;
    Letter letter = {0};
    bool is_taken;

    (void)pthread_mutex_lock(&announce->mutex);
    if (is_sound && announce->n_waiting < ANNOUNCE_WAITING_MAX)
        letter = write_letter(announce, announcement, announce->n_written++);
    is_taken = letter.path && letter.body;
    if (is_taken)
        announce->waiting[(announce->first + announce->n_waiting++) % ANNOUNCE_WAITING_MAX] =
            letter;
    else
        announce->figures.n_dropped++;
    (void)pthread_mutex_unlock(&announce->mutex);
    if (!is_taken)
        letter_done(&letter);
    return is_taken;
}

/* --- posting -------------------------------------------------------------------------- */

/* Whether the 403 that came is about our rights. One namespace may take no Events, for a quota, or
 * because it is about to be gone: the others need not wait for that. */
static bool is_for_rights(const Announce *announce) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ANSWER_BUDGET);
    static const Str sign = STR(" cannot create ");
    ApiStatus status;

    return !arena || !api_status_read(buf_str(&announce->answer), arena, &status) ||
           str_is_empty(status.message) ||
           memmem(status.message.ptr, status.message.len, sign.ptr, sign.len);
}

static void count_end(Announce *announce, const CallResult *result) {
    bool is_answered = result && result->outcome == CALL_DONE;
    bool is_posted = is_answered && result->status == 201;
    bool is_forbidden = is_answered && result->status == 403 && is_for_rights(announce);

    (void)pthread_mutex_lock(&announce->mutex);
    announce->figures.n_posted += is_posted;
    announce->figures.n_failed += !is_posted;
    if (is_posted || is_forbidden)
        announce->figures.is_forbidden = is_forbidden;
    (void)pthread_mutex_unlock(&announce->mutex);
    if (is_forbidden)
        announce->forbidden_until =
            announce->options.clock() + ANNOUNCE_FORBIDDEN_SEC * NSEC_PER_SEC;
}

/* What does not fit is not needed. */
static bool on_data(void *context, Str bytes) {
    Announce *announce = context;

    buf_append(&announce->answer, bytes);
    return true;
}

static void on_done(void *context, const CallResult *result) {
    Announce *announce = context;

    announce->call = NULL;
    count_end(announce, result);
    buf_done(&announce->answer);
    announce_tick(announce, announce->options.clock());
}

/* The next that waits; without a path: none. */
static Letter take(Announce *announce) {
    Letter letter = {0};

    (void)pthread_mutex_lock(&announce->mutex);
    if (announce->n_waiting > 0) {
        letter = announce->waiting[announce->first];
        announce->waiting[announce->first] = (Letter){0};
        announce->first = (announce->first + 1) % ANNOUNCE_WAITING_MAX;
        announce->n_waiting--;
    }
    (void)pthread_mutex_unlock(&announce->mutex);
    return letter;
}

static void drop_all(Announce *announce) {
    for (Letter letter = take(announce); letter.path; letter = take(announce)) {
        letter_done(&letter);
        (void)pthread_mutex_lock(&announce->mutex);
        announce->figures.n_dropped++;
        (void)pthread_mutex_unlock(&announce->mutex);
    }
}

void announce_tick(Announce *announce, int64_t now_nsec) {
    const CallHandler handler = {.context = announce, .data = on_data, .done = on_done};
    CallOptions call = {
        .method = "POST",
        .content_type = "application/json",
        .total_sec = ANNOUNCE_SEC,
        .bytes_max = ANSWER_MAX_BYTES,
    };
    Letter letter;

    if (now_nsec < announce->forbidden_until)
        drop_all(announce);
    if (announce->call)
        return;
    letter = take(announce);
    if (!letter.path)
        return;
    call.path = letter.path;
    call.body = str_from_c(letter.body);
    announce->call = client_call(announce->options.client, &call, &handler);
    if (!announce->call)
        count_end(announce, NULL);
    letter_done(&letter);
}
