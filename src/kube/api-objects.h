#pragma once

/*
 * API objects: events of a watch, Status, metadata, pages of a list; the path
 * of a pod and MicroTime.
 *
 * Only the fields named here are read and validated; the rest is skipped by its brackets.
 * Strings are slices of the input where they can be, else in the arena.
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
    EVENT_UNKNOWN, /* of a later version: to be skipped */
} WatchEventType;

typedef struct WatchEvent {
    WatchEventType type;
    Str object; /* a slice of the document that begins with a brace; not validated */
} WatchEvent;

/* False when @document is no {"type": …, "object": {…}}. */
bool event_read(Str document, WatchEvent *ret) MUST_CHECK;

/* metav1.Status: the body of a refusal, and the object of an ERROR event. */
typedef struct ApiStatus {
    int64_t code; /* as in HTTP; 0: not given */
    Str reason;   /* "Expired"; may be empty */
    Str message;
    int retry_after_sec;       /* details.retryAfterSeconds; -1: not given */
    bool is_version_too_large; /* it has not seen the resourceVersion yet that we named */
} ApiStatus;

/* False when @text is no Status; @ret is empty then. */
bool api_status_read(Str text, Arena *arena, ApiStatus *ret);

/* The resourceVersion we hold is too old to go on from. */
bool api_status_is_expired(const ApiStatus *status);

/* The metadata of one object. */
typedef struct ObjectMeta {
    Str name, namespace, uid;
    Str version;              /* resourceVersion: opaque */
    bool ends_initial_events; /* the bookmark after a streamed list; only if requested */
} ObjectMeta;

/* False when @object has no metadata with a resourceVersion that we can read. */
bool object_meta_read(Str object, Arena *arena, bool with_annotations, ObjectMeta *ret) MUST_CHECK;

/* One page of a list. */
typedef struct ListPage {
    Str version;
    Str continue_token; /* empty: it was the last one */
    Str items;          /* an array, or null, raw; not validated but for its end */
} ListPage;

bool list_page_read(Str text, Arena *arena, ListPage *ret) MUST_CHECK;

/* Appends the path of a pod. */
void pod_path(Buf *out, Str namespace, Str name);

/* Writes a member of the current object: the time of coordination.k8s.io and events.k8s.io, always
 * with six decimals. @wall_nsec: since 1970. */
void micro_time_write(JsonWriter *writer, Str key, int64_t wall_nsec);
