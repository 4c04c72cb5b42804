#include "kube/node-marker.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/calendar.h"
#include "base/nsec.h"
#include "base/url.h"
#include "model/node.h"
#include "json/write.h"

#define PATH_MAX_BYTES ((size_t)4 * 1024)
#define BODY_MAX_BYTES ((size_t)4 * 1024)

typedef struct Name {
    char text[NODE_NAME_MAX];
    size_t len;
} Name;

/* One PATCH under way; the call is NULL when it is free. */
typedef struct Slot {
    struct NodeMarker *marker;
    Call *call;
} Slot;

struct NodeMarker {
    NodeMarkerOptions options;
    NodeMarkerFigures figures;
    Slot slots[NODE_MARKER_CALLS_MAX];
    Name waiting[NODE_MARKER_WAITING_MAX]; /* a ring */
    size_t first, n_waiting;
};

static Name *waiting_at(NodeMarker *marker, size_t i) {
    return &marker->waiting[(marker->first + i) % NODE_MARKER_WAITING_MAX];
}

NodeMarker *node_marker_new(const NodeMarkerOptions *options) {
    NodeMarker *marker = calloc(1, sizeof(*marker));

    if (!marker)
        return NULL;
    marker->options = *options;
    for (size_t i = 0; i < NODE_MARKER_CALLS_MAX; i++)
        marker->slots[i].marker = marker;
    return marker;
}

NodeMarker *node_marker_free(NodeMarker *marker) {
    if (!marker)
        return NULL;
    for (size_t i = 0; i < NODE_MARKER_CALLS_MAX; i++)
        call_cancel(marker->slots[i].call);
    free(marker);
    return NULL;
}

NodeMarkerFigures node_marker_figures(const NodeMarker *marker) {
    return marker->figures;
}

static void write_body(const NodeMarkerOptions *options, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);
    _cleanup_(buf_done) Buf now = BUF_INIT(64);

    calendar_print(options->wall_clock() / NSEC_PER_SEC, 0, &now); /* to the second */
    json_write_object(&writer);
    json_write_key(&writer, STR("metadata"));
    json_write_object(&writer);
    json_write_key(&writer, STR("annotations"));
    json_write_object(&writer);
    json_write_key(&writer, str_from_c(options->annotation));
    json_write_string(&writer, buf_str(&now));
    json_write_end_object(&writer);
    json_write_end_object(&writer);
    json_write_end_object(&writer);
}

static void start_waiting(NodeMarker *marker);

static void on_done(void *context, const CallResult *result) {
    Slot *slot = context;
    NodeMarker *marker = slot->marker;

    slot->call = NULL;
    if (result->outcome == CALL_DONE && result->status == 200)
        marker->figures.n_marked++;
    else
        marker->figures.n_failed++;
    marker->figures.is_forbidden |= result->status == 403;
    start_waiting(marker);
}

static Call *patch(NodeMarker *marker, const Name *name, Slot *slot) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES);
    _cleanup_(buf_done) Buf body = BUF_INIT(BODY_MAX_BYTES);
    const CallHandler handler = {.context = slot, .done = on_done};
    CallOptions call = {
        .method = "PATCH",
        .content_type = "application/merge-patch+json",
        .total_sec = NODE_MARKER_SEC,
    };

    buf_append(&path, STR("/api/v1/nodes/"));
    url_escape(&path, str_of(name->text, name->len));
    write_body(&marker->options, &body);
    call.path = url_text(&path);
    call.body = buf_str(&body);
    return call.path && !buf_error(&body) ? client_call(marker->options.client, &call, &handler)
                                          : NULL;
}

static void start_waiting(NodeMarker *marker) {
    for (size_t i = 0; i < NODE_MARKER_CALLS_MAX && marker->n_waiting > 0; i++) {
        Slot *slot = &marker->slots[i];

        if (slot->call)
            continue;
        slot->call = patch(marker, waiting_at(marker, 0), slot);
        if (!slot->call)
            marker->figures.n_failed++;
        marker->first = (marker->first + 1) % NODE_MARKER_WAITING_MAX;
        marker->n_waiting--;
    }
}

bool node_marker_add(NodeMarker *marker, Str node) {
    Name *name;

    if (!node_name_is_valid(node))
        return false;
    for (size_t i = 0; i < marker->n_waiting; i++)
        if (str_eq(str_of(waiting_at(marker, i)->text, waiting_at(marker, i)->len), node))
            return true;
    if (marker->n_waiting == NODE_MARKER_WAITING_MAX)
        return false;
    name = waiting_at(marker, marker->n_waiting++);
    memcpy(name->text, node.ptr, node.len);
    name->len = node.len;
    start_waiting(marker);
    return true;
}
