#pragma once

/*
 * API objects: events of a watch, Status, metadata, pages of a list; the path of a pod and
 * MicroTime.
 *
 * Only the fields named here are read and validated; others are skipped by counting brackets.
 * Strings are slices of the input, or in the arena if they have escapes.
 */

#include "base/arena.h"
#include "json/write.h"

/* One document of a watch. */
typedef enum WatchEventType {
    EVENT_ADDED,
    EVENT_MODIFIED,
    EVENT_DELETED,
    EVENT_BOOKMARK,
    EVENT_ERROR,
    EVENT_UNKNOWN, /* of a later version: skip it */
} WatchEventType;

typedef struct WatchEvent {
    WatchEventType type;
    Str object; /* a slice of the document that begins with a brace; not validated */
} WatchEvent;

/* False if @document is not {"type": …, "object": {…}}. */
bool event_read(Str document, WatchEvent *ret) MUST_CHECK;

/* metav1.Status: the body of an error response, and the object of an ERROR event. */
typedef struct ApiStatus {
    int64_t code; /* HTTP status; 0: not given */
    Str reason;   /* "Expired"; may be empty */
    Str message;
    int retry_after_sec;       /* details.retryAfterSeconds; -1: not given */
    bool is_version_too_large; /* it has not seen the requested resourceVersion yet */
} ApiStatus;

/* False if @text is no Status; @ret is empty then. */
bool api_status_read(Str text, Arena *arena, ApiStatus *ret);

/* Whether our resourceVersion is too old to continue from it. */
bool api_status_is_expired(const ApiStatus *status);

/* The metadata of one object. */
typedef struct ObjectMeta {
    Str name, namespace, uid;
    Str version;              /* resourceVersion: opaque */
    bool ends_initial_events; /* it ends a streamed list; read with @with_annotations */
} ObjectMeta;

/* False if @object has no metadata with a resourceVersion. */
bool object_meta_read(Str object, Arena *arena, bool with_annotations, ObjectMeta *ret) MUST_CHECK;

/* One page of a list. */
typedef struct ListPage {
    Str version;
    Str continue_token; /* empty: the last page */
    Str items;          /* raw array or null; not validated */
} ListPage;

bool list_page_read(Str text, Arena *arena, ListPage *ret) MUST_CHECK;

/* Appends the path of a pod. */
void pod_path(Buf *out, Str namespace, Str name);

/* Writes a member of the current object, a MicroTime of coordination.k8s.io or events.k8s.io, with
 * six decimals. @wall_nsec: since 1970. */
void micro_time_write(JsonWriter *writer, Str key, int64_t wall_nsec);
