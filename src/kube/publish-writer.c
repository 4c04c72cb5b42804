/* Writes extended resources and labels of nodes while this berth holds the lease. */

#include "kube/publish-writer.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/url.h"
#include "model/node.h"
#include "json/write.h"

#define TEXT_MAX ((size_t)4 * 1024)
#define FORBIDDEN_SEC 60

struct PublishWriter {
    Lease *lease; /* NULL: there is one berth */
    WriteQueue *queue;
    bool is_unwanted;
    atomic_bool is_ours;
};

/* --- the request ------------------------------------------------------------------------------ */

void publish_path(const PublishChange *change, Buf *out) {
    buf_append(out, STR("/api/v1/nodes/"));
    url_escape(out, change->node);
    if (change->target == PUBLISH_TO_STATUS)
        buf_append(out, STR("/status"));
}

/* "field": {"name": "value"}, or null. */
static void write_field(
    JsonWriter *writer, const char *field, const PublishChange *change, const char *value) {
    json_member_object(writer, field);
    json_write_key(writer, change->name);
    if (change->n == PUBLISH_REMOVED)
        json_write_null(writer);
    else
        json_write_string(writer, str_from_c(value));
    json_write_end_object(writer);
}

void publish_body(const PublishChange *change, Buf *out) {
    bool is_label = change->target == PUBLISH_TO_LABELS;
    JsonWriter writer = JSON_WRITER(out);
    char n[32];

    (void)snprintf(n, sizeof(n), "%" PRId64, change->n);
    json_write_object(&writer);
    json_member_object(&writer, is_label ? "metadata" : "status");
    if (is_label) {
        write_field(&writer, "labels", change, "true");
    } else {
        write_field(&writer, "capacity", change, n);
        write_field(&writer, "allocatable", change, n);
    }
    json_write_end_object(&writer);
    json_write_end_object(&writer);
}

/* --- the writer ------------------------------------------------------------------------------- */

PublishWriter *publish_writer_new(const PublishWriterOptions *options) {
    PublishWriter *writer = calloc(1, sizeof(*writer));

    if (!writer)
        return NULL;
    atomic_init(&writer->is_ours, !options->lease.name);
    writer->queue = write_queue_new(&(WriteQueueOptions){
        .client = options->lease.client,
        .clock = options->lease.clock,
        .method = "PATCH",
        .content_type = PUBLISH_CONTENT_TYPE,
        .verb = "patch",
        .ok_status = 200,
        .n_calls = options->n_calls > 0 ? options->n_calls : PUBLISH_CALLS,
        .waiting_max = WRITE_QUEUE_WAITING_MAX,
        .forbidden_sec = FORBIDDEN_SEC,
    });
    if (options->lease.name)
        writer->lease = lease_new(&options->lease);
    return writer->queue && (writer->lease || !options->lease.name) ? writer
                                                                    : publish_writer_free(writer);
}

PublishWriter *publish_writer_free(PublishWriter *writer) {
    if (!writer)
        return NULL;
    lease_free(writer->lease);
    write_queue_free(writer->queue);
    free(writer);
    return NULL;
}

bool publish_writer_is_ours(const PublishWriter *writer) {
    return atomic_load(&writer->is_ours);
}

bool publish_writer_add(PublishWriter *writer, const PublishChange *change) {
    _cleanup_(buf_done) Buf path = BUF_INIT(TEXT_MAX), body = BUF_INIT(TEXT_MAX);

    if (!node_name_is_valid(change->node))
        return false;
    publish_path(change, &path);
    publish_body(change, &body);
    return publish_writer_patch(writer, &path, &body);
}

void publish_writer_set_wanted(PublishWriter *writer, bool is_wanted) {
    writer->is_unwanted = !is_wanted;
}

bool publish_writer_patch(PublishWriter *writer, Buf *path, Buf *body) {
    return write_queue_add(writer->queue, path, body);
}

int64_t publish_writer_tick(PublishWriter *writer, int64_t now_nsec) {
    int64_t next_at = INT64_MAX;

    if (writer->lease) {
        if (!writer->is_unwanted)
            lease_want(writer->lease, now_nsec);
        next_at = lease_tick(writer->lease, now_nsec);
        atomic_store(&writer->is_ours, lease_is_held(writer->lease, now_nsec));
    }
    write_queue_tick(writer->queue, now_nsec);
    return next_at;
}

bool publish_writer_release(PublishWriter *writer) {
    atomic_store(&writer->is_ours, false);
    return !writer->lease || lease_release(writer->lease);
}

WriteFigures publish_writer_figures(PublishWriter *writer) {
    return write_queue_figures(writer->queue);
}
