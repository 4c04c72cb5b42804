/* Writes whose result nothing waits for: Events about pods, marks of nodes, and merge patches. */

#include "kube/api-writes.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/url.h"
#include "base/utf8.h"
#include "kube/api-objects.h"
#include "model/node.h"
#include "json/write.h"

#define PATH_MAX_BYTES ((size_t)4 * 1024)
#define BODY_MAX_BYTES ((size_t)16 * 1024)
#define PATCH_FORBIDDEN_SEC 60
#define RAW_NOTE_MAX ((size_t)4 * EVENT_NOTE_MAX) /* the rest of a note is not read */

WriteQueue *event_queue_new(Client *client) {
    return write_queue_new(&(WriteQueueOptions){
        .lease = {.client = client},
        .method = "POST",
        .content_type = "application/json",
        .verb = "create",
        .ok_status = 201,
        .n_calls = 1,
        .waiting_max = EVENT_WAITING_MAX,
        .forbidden_sec = EVENT_FORBIDDEN_SEC,
    });
}

/* The pod's name, cut to a valid name, and a unique number. */
static void write_name(JsonWriter *writer, Str pod, uint64_t number) {
    char text[EVENT_NAME_MAX + 32];
    Str front = str_take(pod, EVENT_NAME_MAX);

    while (front.len > 0 && (front.ptr[front.len - 1] == '-' || front.ptr[front.len - 1] == '.'))
        front.len--;
    (void)snprintf(text, sizeof(text), "%.*s.%016" PRIx64, STR_FMT(front), number);
    json_write_member(writer, STR("name"), str_from_c(text));
}

static void write_regarding(JsonWriter *writer, const PodEvent *about) {
    bool is_pod = !str_is_empty(about->namespace);

    json_write(writer, "regarding: {apiVersion: %s, kind: %s", is_pod ? "v1" : "berth.dev/v1alpha1",
        is_pod ? "Pod" : "PlacementPolicy");
    if (is_pod)
        json_write_member(writer, STR("namespace"), about->namespace);
    json_write(writer, "name: %.*s, uid: %.*s}", STR_FMT(about->pod), STR_FMT(about->uid));
}

/* Cuts the note last: each invalid byte becomes three. */
static void write_note(JsonWriter *writer, Str note) {
    _cleanup_(buf_done) Buf text = BUF_INIT(3 * RAW_NOTE_MAX);
    Str front;

    utf8_append_valid(&text, str_take(note, RAW_NOTE_MAX));
    front = str_take(buf_str(&text), EVENT_NOTE_MAX);
    json_write_member(writer, STR("note"), str_take(front, utf8_valid_length(front)));
}

/* Events of objects without a namespace are in "default". */
static Str namespace_of(const PodEvent *event) {
    return str_is_empty(event->namespace) ? STR("default") : event->namespace;
}

static void write_event(
    const PodEvent *about, const char *instance, uint64_t number, int64_t wall, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write(&writer, "{apiVersion: 'events.k8s.io/v1', kind: 'Event', metadata: {");
    write_name(&writer, about->pod, number);
    json_write(&writer, "namespace: %.*s}", STR_FMT(namespace_of(about)));
    micro_time_write(&writer, STR("eventTime"), wall);
    json_write(&writer, "type: %s, reason: %s, action: %s",
        about->is_warning ? "Warning" : "Normal", about->reason, about->action);
    write_note(&writer, about->note);
    write_regarding(&writer, about);
    json_write(&writer, "reportingController: %s, reportingInstance: %.*s}", EVENT_CONTROLLER,
        STR_FMT(str_take(str_from_c(instance), EVENT_INSTANCE_MAX)));
}

bool event_queue_add(WriteQueue *queue, const PodEvent *event, const char *instance) {
    static atomic_uint_fast64_t n_added; /* makes names of the same time differ */
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES), body = BUF_INIT(BODY_MAX_BYTES);
    int64_t wall_nsec = clock_wall_nsec();
    uint64_t number = (uint64_t)wall_nsec + atomic_fetch_add(&n_added, 1);

    if (!node_name_is_valid(namespace_of(event)) || !node_name_is_valid(event->pod) ||
        event->uid.len == 0) {
        write_queue_drop(queue);
        return false;
    }
    buf_append(&path, STR("/apis/events.k8s.io/v1/namespaces/"));
    url_escape(&path, namespace_of(event));
    buf_append(&path, STR("/events"));
    write_event(event, instance, number, wall_nsec, &body);
    return write_queue_add(queue, &path, &body);
}

static WriteQueue *new_patch_queue(WriteQueueOptions options) {
    options.method = "PATCH";
    options.content_type = PUBLISH_CONTENT_TYPE;
    options.verb = "patch";
    options.ok_status = 200;
    options.waiting_max = WRITE_QUEUE_WAITING_MAX;
    return write_queue_new(&options);
}

WriteQueue *mark_queue_new(Client *client) {
    return new_patch_queue((WriteQueueOptions){
        .lease = {.client = client},
        .n_calls = WRITE_QUEUE_CALLS_MAX,
        .skips_same_path = true,
    });
}

WriteQueue *patch_queue_new(const LeaseOptions *lease, unsigned n_calls) {
    return new_patch_queue((WriteQueueOptions){
        .lease = *lease, .n_calls = n_calls, .forbidden_sec = PATCH_FORBIDDEN_SEC});
}

bool mark_queue_add(WriteQueue *queue, Str node) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES), body = BUF_INIT(BODY_MAX_BYTES);
    JsonWriter writer = JSON_WRITER(&body);

    if (!node_name_is_valid(node))
        return false;
    buf_append(&path, STR("/api/v1/nodes/"));
    url_escape(&path, node);
    json_write(
        &writer, "{metadata: {annotations: {%s: %.0td}}}", MARK_ANNOTATION, clock_wall_nsec());
    return write_queue_add(queue, &path, &body);
}

void publish_path(const PublishChange *change, Buf *out) {
    buf_append(out, STR("/api/v1/nodes/"));
    url_escape(out, change->node);
    if (change->target == PUBLISH_TO_STATUS)
        buf_append(out, STR("/status"));
}

/* "field": {"name": "value"}, or null. */
static void write_field(
    JsonWriter *writer, const char *field, const PublishChange *change, const char *value) {
    if (change->n == PUBLISH_REMOVED)
        json_write(writer, "%s: {%.*s: null}", field, STR_FMT(change->name));
    else
        json_write(writer, "%s: {%.*s: %s}", field, STR_FMT(change->name), value);
}

void publish_body(const PublishChange *change, Buf *out) {
    bool is_label = change->target == PUBLISH_TO_LABELS;
    JsonWriter writer = JSON_WRITER(out);
    char n[32];

    (void)snprintf(n, sizeof(n), "%" PRId64, change->n);
    json_write(&writer, "{%s: {", is_label ? "metadata" : "status");
    if (is_label) {
        write_field(&writer, "labels", change, "true");
    } else {
        write_field(&writer, "capacity", change, n);
        write_field(&writer, "allocatable", change, n);
    }
    json_write(&writer, "}}");
}

bool publish_queue_add(WriteQueue *queue, const PublishChange *change) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES), body = BUF_INIT(PATH_MAX_BYTES);

    if (!node_name_is_valid(change->node))
        return false;
    publish_path(change, &path);
    publish_body(change, &body);
    return write_queue_add(queue, &path, &body);
}

static void write_nomination(const Nomination *nomination, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write(&writer, "{metadata: {uid: %.*s, resourceVersion?: %.*s", STR_FMT(nomination->uid),
        STR_FMT(nomination->resource_version));
    if (str_is_empty(nomination->node))
        json_write(&writer, "}, status: {nominatedNodeName: null}}");
    else
        json_write(&writer, "}, status: {nominatedNodeName: %.*s}}", STR_FMT(nomination->node));
}

bool nomination_queue_add(WriteQueue *queue, const Nomination *nomination) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES), body = BUF_INIT(PATH_MAX_BYTES);

    if (!node_name_is_valid(nomination->namespace) || !node_name_is_valid(nomination->name))
        return false;
    pod_path(&path, nomination->namespace, nomination->name);
    buf_append(&path, STR("/status"));
    write_nomination(nomination, &body);
    return write_queue_add(queue, &path, &body);
}
