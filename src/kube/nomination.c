/* The patch of a pod's status that nominates a node, or withdraws the nomination. */

#include "kube/nomination.h"

#include "kube/api-objects.h"
#include "model/node.h"
#include "json/write.h"

#define TEXT_MAX ((size_t)4 * 1024)

void nomination_path(const Nomination *nomination, Buf *out) {
    pod_path(out, nomination->namespace, nomination->name);
    buf_append(out, STR("/status"));
}

void nomination_body(const Nomination *nomination, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write_object(&writer);
    json_member_object(&writer, "metadata");
    json_write_member(&writer, STR("uid"), nomination->uid);
    if (!str_is_empty(nomination->resource_version))
        json_write_member(&writer, STR("resourceVersion"), nomination->resource_version);
    json_write_end_object(&writer);
    json_member_object(&writer, "status");
    if (str_is_empty(nomination->node))
        json_member_null(&writer, "nominatedNodeName");
    else
        json_write_member(&writer, STR("nominatedNodeName"), nomination->node);
    json_write_end_object(&writer);
    json_write_end_object(&writer);
}

bool nomination_send(const Nomination *nomination, PublishWriter *writer) {
    _cleanup_(buf_done) Buf path = BUF_INIT(TEXT_MAX), body = BUF_INIT(TEXT_MAX);

    if (!node_name_is_valid(nomination->namespace) || !node_name_is_valid(nomination->name))
        return false;
    nomination_path(nomination, &path);
    nomination_body(nomination, &body);
    return publish_writer_patch(writer, &path, &body);
}
