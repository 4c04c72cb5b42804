/* Keeps the decoded pod of the last request; one thread at a time takes it. */

#include "extender/kept-pod.h"

#include <stdlib.h>

struct KeptPod {
    Arena *arena; /* has the text and the pod */
    char *text;   /* copied from the request; NULL: none */
    size_t size;  /* of @text */
    size_t len;   /* of the pod at its start */
    Pod pod;
};

#define SIZE_MORE 256u

static void forget(KeptPod *kept) {
    if (kept->text)
        explicit_bzero(kept->text, kept->size);
    kept->text = NULL;
    kept->len = kept->size = 0;
    arena_reset(kept->arena);
}

static void kept_pod_free(KeptPod *kept) {
    if (!kept)
        return;
    forget(kept);
    arena_free(kept->arena);
    free(kept);
}

KeptPod *kept_pods_take(KeptPods *pods) {
    KeptPod *kept = atomic_exchange(&pods->last, NULL);

    if (kept)
        return kept;
    kept = calloc(1, sizeof(*kept));
    if (kept)
        kept->arena = arena_new(KEPT_POD_BUDGET);
    if (kept && !kept->arena) {
        free(kept);
        return NULL;
    }
    return kept;
}

void kept_pods_give(KeptPods *pods, KeptPod *kept) {
    if (kept)
        kept_pod_free(atomic_exchange(&pods->last, kept));
}

void kept_pods_forget(KeptPods *pods) {
    KeptPod *kept = atomic_exchange(&pods->last, NULL);

    if (kept)
        forget(kept);
    kept_pods_give(pods, kept);
}

void kept_pods_done(KeptPods *pods) {
    kept_pod_free(atomic_exchange(&pods->last, NULL));
}

/* Copies @size bytes at @reader and decodes the pod in the copy. Returns false if the pod does not
 * end there, is too large, or has an error. */
static bool keep(KeptPod *kept, const JsonReader *reader, size_t size) {
    JsonReader inner;

    forget(kept);
    if (size == 0 || size > KEPT_POD_TEXT_MAX || size > reader->len - reader->at)
        return false;
    kept->text = arena_alloc(kept->arena, size);
    if (!kept->text)
        return false;
    kept->size = size;
    memcpy(kept->text, reader->data + reader->at, size);
    json_reader_init_value(&inner, reader, str_of(kept->text, size));
    pod_decode(&inner, kept->arena, &kept->pod);
    if (json_error(&inner) == JSON_OK) {
        kept->len = inner.at;
        return true;
    }
    forget(kept);
    return false;
}

/* Keeps the pod at @reader. Most pods are about as long as the last one: copying some bytes too
 * many is cheaper than finding the end first. */
static bool keep_next(KeptPod *kept, const JsonReader *reader) {
    JsonReader ahead = *reader;
    Str raw = STR_NULL;

    if (kept->len > 0 && keep(kept, reader, kept->len + SIZE_MORE))
        return true;
    json_skip_fast(&ahead, &raw);
    return keep(kept, reader, raw.len);
}

void kept_pod_decode(KeptPod *kept, JsonReader *reader, Arena *arena, Pod *ret) {
    bool is_kept = kept && json_peek(reader) == JSON_OBJECT_BEGIN &&
                   (json_is_at(reader, str_of(kept->text, kept->len)) || keep_next(kept, reader));

    if (!is_kept) {
        pod_decode(
            reader, arena, ret); /* errors, too, so that they have their place in the request */
        return;
    }
    json_take_value(reader, kept->len);
    *ret = kept->pod;
}
