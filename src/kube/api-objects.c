/* Reads events of a watch, Status, metadata and pages of a list; writes paths and times. */

#include "kube/api-objects.h"

#include "base/calendar.h"
#include "base/nsec.h"
#include "base/url.h"
#include "json/fields.h"

/* The reason in details.causes if the API server's cache is behind. */
#define CAUSE_TOO_LARGE "ResourceVersionTooLarge"

#define INITIAL_EVENTS_END "k8s.io/initial-events-end"

bool event_read(Str document, WatchEvent *ret) {
    static const Str types[EVENT_UNKNOWN] = {
        [EVENT_ADDED] = STR("ADDED"),
        [EVENT_MODIFIED] = STR("MODIFIED"),
        [EVENT_DELETED] = STR("DELETED"),
        [EVENT_BOOKMARK] = STR("BOOKMARK"),
        [EVENT_ERROR] = STR("ERROR"),
    };
    JsonReader reader;
    Str key, type = STR_NULL;
    bool escaped;
    size_t i;

    *ret = (WatchEvent){0};
    json_reader_init(&reader, document);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (json_key_is(&reader, key, STR("type")))
            json_string_raw(&reader, &type, &escaped);
        else if (json_key_is(&reader, key, STR("object")))
            json_skip_fast(&reader, &ret->object);
        else
            json_skip_fast(&reader, NULL);
    }
    json_end(&reader);
    i = str_index(type, types, EVENT_UNKNOWN);
    ret->type = i < EVENT_UNKNOWN ? (WatchEventType)i : EVENT_UNKNOWN;
    return json_error(&reader) == JSON_OK && !str_is_empty(type) &&
           str_has_prefix(ret->object, STR("{"));
}

/* The fields of a Status. */
typedef struct StatusFields {
    ApiStatus status;
    Str kind;
    int64_t retry_after_sec;
} StatusFields;

static void read_cause(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {{"reason", JSON_FIELD_TEXT, 0}};
    StatusFields *read = target;
    Str reason = STR_NULL;

    JSON_READ_FIELDS(reader, arena, fields, &reason);
    read->status.is_version_too_large |= str_eq(reason, STR(CAUSE_TOO_LARGE));
}

static const JsonField status_fields[] = {
    JSON_MEMBER("kind", TEXT, StatusFields, kind),
    JSON_MEMBER("code", INT, StatusFields, status.code),
    JSON_MEMBER("reason", TEXT, StatusFields, status.reason),
    JSON_MEMBER("message", TEXT, StatusFields, status.message),
    JSON_MEMBER("details.retryAfterSeconds", INT, StatusFields, retry_after_sec),
    {"details.causes", JSON_FIELD_ARRAY, .read = read_cause},
};

bool api_status_read(Str text, Arena *arena, ApiStatus *ret) {
    StatusFields read = {.status = {.retry_after_sec = -1}};

    *ret = read.status;
    if (!JSON_READ_DOCUMENT(text, arena, status_fields, &read) || !str_eq(read.kind, STR("Status")))
        return false;
    *ret = read.status;
    if (read.retry_after_sec > 0)
        ret->retry_after_sec =
            read.retry_after_sec > INT32_MAX ? INT32_MAX : (int)read.retry_after_sec;
    return true;
}

bool api_status_is_expired(const ApiStatus *status) {
    return status->code == 410 || str_eq(status->reason, STR("Expired")) ||
           str_eq(status->reason, STR("Gone"));
}

static void read_annotations(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {{JSON_NAME(INITIAL_EVENTS_END), JSON_FIELD_TEXT, 0}};
    ObjectMeta *meta = target;
    Str value = STR_NULL;

    json_read_parts(reader, arena, fields, ELEMENTS_OF(fields), 0, &value);
    meta->ends_initial_events = str_eq(value, STR("true"));
}

#define WITH_ANNOTATIONS 1u

static const JsonField meta_fields[] = {
    JSON_MEMBER("name", TEXT, ObjectMeta, name),
    JSON_MEMBER("namespace", TEXT, ObjectMeta, namespace),
    JSON_MEMBER("uid", TEXT, ObjectMeta, uid),
    JSON_MEMBER("resourceVersion", TEXT, ObjectMeta, version),
    {JSON_NAME("annotations"), JSON_FIELD_CUSTOM, .read = read_annotations,
        .part = WITH_ANNOTATIONS},
};

bool object_meta_read(Str object, Arena *arena, bool with_annotations, ObjectMeta *ret) {
    JsonReader reader;
    Str key;

    *ret = (ObjectMeta){0};
    json_reader_init(&reader, object);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (json_key_is(&reader, key, STR("metadata")))
            json_read_parts(&reader, arena, meta_fields, ELEMENTS_OF(meta_fields),
                with_annotations ? WITH_ANNOTATIONS : 0, ret);
        else
            json_skip_fast(&reader, NULL);
    }
    return json_error(&reader) == JSON_OK && !str_is_empty(ret->version);
}

static const JsonField list_fields[] = {
    JSON_MEMBER("metadata.resourceVersion", TEXT, ListPage, version),
    JSON_MEMBER("metadata.continue", TEXT, ListPage, continue_token),
    JSON_CUSTOM("items", ListPage, items, json_read_value),
};

bool list_page_read(Str text, Arena *arena, ListPage *ret) {
    *ret = (ListPage){0};
    return JSON_READ_DOCUMENT(text, arena, list_fields, ret) && !str_is_empty(ret->version) &&
           (str_has_prefix(ret->items, STR("[")) || str_eq(ret->items, STR("null")));
}

void pod_path(Buf *out, Str namespace, Str name) {
    buf_append(out, STR("/api/v1/namespaces/"));
    url_escape(out, namespace);
    buf_append(out, STR("/pods/"));
    url_escape(out, name);
}

void micro_time_write(JsonWriter *writer, Str key, int64_t wall_nsec) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64);
    uint32_t nanos;

    calendar_print(nsec_split(wall_nsec, &nanos), 0, &text);
    if (text.len > 0)
        text.len--; /* the Z */
    buf_printf(&text, ".%06uZ", (unsigned)(nanos / 1000));
    json_write_member(writer, key, buf_str(&text));
}
