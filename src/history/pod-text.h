#pragma once

/*
 * PodText: the text of a pod, once for all its decisions. It is soon reduced to the fields that
 * policies can read.
 *
 * Filter, prioritize and the next attempt send the same text again. PodTexts is a small table of
 * recent texts, found by content; it copies new ones.
 *
 * A raw text, as sent, contains secrets: environment values, arguments. It is kept only for a
 * moment (decisions.h), and wiped when it is freed.
 *
 * Threads: any may reference and read a text; the table needs its owner's lock.
 */

#include "base/digest.h"
#include "base/ref.h"
#include "model/pod.h"

typedef struct PodText {
    Ref ref;
    Digest digest;  /* of the text */
    size_t n_users; /* for its owner: kept decisions that refer to it */
    bool is_raw;    /* as sent; set by its owner */
    size_t len;
    char text[];
} PodText;

/* Writes the fields of @pod that policies can read. NULL: out of memory. */
PodText *pod_text_new(const Pod *pod) MUST_CHECK;

/* Decodes the pod; its strings refer to @text and @arena. False: not a pod, or out of memory. */
bool pod_text_decode(const PodText *text, Arena *arena, Pod *ret) MUST_CHECK;

DEFINE_REF(PodText, pod_text)
PodText *pod_text_unref(PodText *text); /* takes NULL, returns NULL */
DEFINE_CLEANUP(PodText *, pod_text_unref)

/* The JSON; STR_NULL if @text is NULL. */
static inline Str pod_text_str(const PodText *text) {
    return text ? str_of(text->text, text->len) : STR_NULL;
}

static inline size_t pod_text_bytes(const PodText *text) {
    return sizeof(*text) + text->len;
}

#define POD_TEXTS_SLOTS 1024u

typedef struct PodTexts {
    PodText *slots[POD_TEXTS_SLOTS]; /* by digest; borrowed from decisions */
} PodTexts;

/* Returns the text equal to @text, whose digest is @digest: a reference. A new text is raw and has
 * no users. NULL when out of memory. */
PodText *pod_texts_get(PodTexts *texts, Str text, Digest digest) MUST_CHECK;

/* Returns the kept text equal to @reduced, or keeps @reduced itself: a reference. It is not raw. */
PodText *pod_texts_put(PodTexts *texts, PodText *reduced);

/* Removes @text, which has no user any more. */
void pod_texts_forget(PodTexts *texts, const PodText *text);
