/* Finds texts of pods by digest, and reduces them to the fields that policies can read. */

#include "history/pod-text.h"

#include <stdlib.h>

#include "cluster/object-text.h"
#include "json/read.h"

#define REDUCED_MAX ((size_t)64 * 1024 * 1024)

static PodText *text_new(Str json, Digest digest, bool is_raw) {
    PodText *text = malloc(sizeof(*text) + json.len);

    if (!text)
        return NULL;
    *text = (PodText){.ref = REF_ONE, .digest = digest, .is_raw = is_raw, .len = json.len};
    memcpy(text->text, json.ptr, json.len);
    return text;
}

PodText *pod_text_new(const Pod *pod) {
    _cleanup_(buf_done) Buf out = BUF_INIT(REDUCED_MAX);
    JsonWriter writer = JSON_WRITER(&out);

    object_write_pod(&writer, pod, pod->node_name);
    if (buf_error(&out))
        return NULL;
    return text_new(buf_str(&out), digest_of(buf_str(&out)), /* is_raw= */ false);
}

bool pod_text_decode(const PodText *text, Arena *arena, Pod *ret) {
    JsonReader reader;

    json_reader_init(&reader, pod_text_str(text));
    pod_decode(&reader, arena, ret);
    json_end(&reader);
    return !json_error(&reader);
}

PodText *pod_text_unref(PodText *text) {
    if (!text || !ref_drop(&text->ref))
        return NULL;
    if (text->is_raw)
        explicit_bzero(text->text, text->len);
    free(text);
    return NULL;
}

static PodText **slot_of(PodTexts *texts, Digest digest) {
    return &texts->slots[digest.low % POD_TEXTS_SLOTS];
}

/* Compares texts, too: equal digests can be crafted, and one pod must not pass for another. */
static bool has_text(const PodText *text, Str wanted, Digest digest) {
    return digest_equal(text->digest, digest) && str_eq(pod_text_str(text), wanted);
}

PodText *pod_texts_get(PodTexts *texts, Str wanted, Digest digest) {
    PodText **slot = slot_of(texts, digest);
    PodText *text = *slot;

    if (text && has_text(text, wanted, digest))
        return pod_text_ref(text);
    text = text_new(wanted, digest, /* is_raw= */ true);
    if (text)
        *slot = text;
    return text;
}

PodText *pod_texts_put(PodTexts *texts, PodText *reduced) {
    PodText **slot = slot_of(texts, reduced->digest);

    if (!*slot || !has_text(*slot, pod_text_str(reduced), reduced->digest))
        *slot = reduced;
    (*slot)->is_raw = false; /* nothing was removed: the text has no secrets */
    return pod_text_ref(*slot);
}

void pod_texts_forget(PodTexts *texts, const PodText *text) {
    PodText **slot = slot_of(texts, text->digest);

    if (*slot == text)
        *slot = NULL;
}
