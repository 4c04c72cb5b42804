#include "kube/touch.h"

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
    struct Touch *touch;
    Call *call;
} Slot;

struct Touch {
    TouchOptions options;
    TouchFigures figures;
    Slot slots[TOUCH_CALLS_MAX];
    Name waiting[TOUCH_WAITING_MAX]; /* a ring */
    size_t first, n_waiting;
};

static Name *waiting_at(Touch *touch, size_t i) {
    return &touch->waiting[(touch->first + i) % TOUCH_WAITING_MAX];
}

Touch *touch_new(const TouchOptions *options) {
    Touch *touch = calloc(1, sizeof(*touch));

    if (!touch)
        return NULL;
    touch->options = *options;
    for (size_t i = 0; i < TOUCH_CALLS_MAX; i++)
        touch->slots[i].touch = touch;
    return touch;
}

Touch *touch_free(Touch *touch) {
    if (!touch)
        return NULL;
    for (size_t i = 0; i < TOUCH_CALLS_MAX; i++)
        call_cancel(touch->slots[i].call);
    free(touch);
    return NULL;
}

TouchFigures touch_figures(const Touch *touch) {
    return touch->figures;
}

static void write_body(const TouchOptions *options, Buf *out) {
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

static void start_waiting(Touch *touch);

static void on_done(void *context, const CallResult *result) {
    Slot *slot = context;
    Touch *touch = slot->touch;

    slot->call = NULL;
    if (result->outcome == CALL_DONE && result->status == 200)
        touch->figures.n_touched++;
    else
        touch->figures.n_failed++;
    touch->figures.is_forbidden |= result->status == 403;
    start_waiting(touch);
}

static Call *patch(Touch *touch, const Name *name, Slot *slot) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES);
    _cleanup_(buf_done) Buf body = BUF_INIT(BODY_MAX_BYTES);
    const CallHandler handler = {.context = slot, .done = on_done};
    CallOptions call = {
        .method = "PATCH",
        .content_type = "application/merge-patch+json",
        .total_sec = TOUCH_SEC,
    };

    buf_append(&path, STR("/api/v1/nodes/"));
    url_escape(&path, str_of(name->text, name->len));
    write_body(&touch->options, &body);
    call.path = url_text(&path);
    call.body = buf_str(&body);
    return call.path && !buf_error(&body) ? client_call(touch->options.client, &call, &handler)
                                          : NULL;
}

static void start_waiting(Touch *touch) {
    for (size_t i = 0; i < TOUCH_CALLS_MAX && touch->n_waiting > 0; i++) {
        Slot *slot = &touch->slots[i];

        if (slot->call)
            continue;
        slot->call = patch(touch, waiting_at(touch, 0), slot);
        if (!slot->call)
            touch->figures.n_failed++;
        touch->first = (touch->first + 1) % TOUCH_WAITING_MAX;
        touch->n_waiting--;
    }
}

bool touch_add(Touch *touch, Str node) {
    Name *name;

    if (!node_name_is_valid(node))
        return false;
    for (size_t i = 0; i < touch->n_waiting; i++)
        if (str_eq(str_of(waiting_at(touch, i)->text, waiting_at(touch, i)->len), node))
            return true;
    if (touch->n_waiting == TOUCH_WAITING_MAX)
        return false;
    name = waiting_at(touch, touch->n_waiting++);
    memcpy(name->text, node.ptr, node.len);
    name->len = node.len;
    start_waiting(touch);
    return true;
}
