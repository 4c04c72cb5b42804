/* Writes extended resources of nodes while this berth holds the lease. */

#include "kube/publish-writer.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/url.h"
#include "kube/lease.h"
#include "model/node.h"
#include "json/write.h"

#define TEXT_MAX ((size_t)4 * 1024)
#define FORBIDDEN_SEC 60

struct PublishWriter {
    PublishWriterOptions options;
    Lease *lease; /* NULL: there is one berth */
    WriteQueue *queue;
    atomic_bool is_ours;
};

/* --- the request -------------------------------------------------------------------------------
 */

void publish_path(Str node, Buf *out) {
    buf_append(out, STR("/api/v1/nodes/"));
    url_escape(out, node);
    buf_append(out, STR("/status"));
}

static void write_amount(JsonWriter *writer, const char *field, Str resource, int64_t n) {
    char text[32];

    json_member_object(writer, field);
    (void)snprintf(text, sizeof(text), "%" PRId64, n);
    json_write_key(writer, resource);
    if (n < 0)
        json_write_null(writer);
    else
        json_write_string(writer, str_from_c(text));
    json_write_end_object(writer);
}

void publish_body(Str resource, int64_t n, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write_object(&writer);
    json_member_object(&writer, "status");
    write_amount(&writer, "capacity", resource, n);
    write_amount(&writer, "allocatable", resource, n);
    json_write_end_object(&writer);
    json_write_end_object(&writer);
}

/* --- the writer --------------------------------------------------------------------------------
 */

PublishWriter *publish_writer_new(const PublishWriterOptions *options) {
    PublishWriter *writer = calloc(1, sizeof(*writer));

    if (!writer)
        return NULL;
    writer->options = *options;
    atomic_init(&writer->is_ours, !options->lease_name);
    writer->queue = write_queue_new(&(WriteQueueOptions){
        .client = options->client,
        .clock = options->clock,
        .method = "PATCH",
        .content_type = PUBLISH_CONTENT_TYPE,
        .verb = "patch",
        .ok_status = 200,
        .n_calls = WRITE_QUEUE_CALLS_MAX,
        .waiting_max = WRITE_QUEUE_WAITING_MAX,
        .forbidden_sec = FORBIDDEN_SEC,
    });
    if (options->lease_name)
        writer->lease = lease_new(&(LeaseOptions){
            .client = options->client,
            .namespace = options->lease_namespace,
            .name = options->lease_name,
            .identity = options->identity,
            .clock = options->clock,
            .wall_clock = options->wall_clock,
        });
    return writer->queue && (writer->lease || !options->lease_name) ? writer
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

bool publish_writer_add(PublishWriter *writer, Str node, Str resource, int64_t n) {
    _cleanup_(buf_done) Buf path = BUF_INIT(TEXT_MAX), body = BUF_INIT(TEXT_MAX);

    if (!node_name_is_valid(node))
        return false;
    publish_path(node, &path);
    publish_body(resource, n, &body);
    return write_queue_add(writer->queue, &path, &body);
}

int64_t publish_writer_tick(PublishWriter *writer, int64_t now_nsec) {
    int64_t next_at = INT64_MAX;

    if (writer->lease) {
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
