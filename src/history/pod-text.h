#pragma once

/*
 * PodText: a pod as it was sent, once for all its decisions; soon reduced to the fields that
 * policies can read.
 *
 * Filter, prioritize and the next attempt send the same text again. A PodTexts is a small table of
 * recent texts, found by content; a new one is copied.
 *
 * A pod as it was sent contains secrets: environment values, arguments. The raw text is kept only
 * for a moment (decisions.h), and wiped when it is freed.
 *
 * Threads: reference and read a text from any; the table belongs to its owner's lock.
 */

#include "base/digest.h"
#include "base/ref.h"
#include "model/pod.h"

typedef struct PodText {
    Ref ref;
    Digest digest;  /* of the text */
    size_t n_users; /* for its owner: how many decisions that are kept refer to it */
    bool is_raw;    /* raw, as it was sent; set by its owner */
    size_t len;
    char text[];
} PodText;

/* The fields of @pod that policies can read. NULL: out of memory. */
PodText *pod_text_new(const Pod *pod) MUST_CHECK;

/* The pod of @text, which must outlive it. Returns false if it is not a pod, or out of memory. */
bool pod_text_decode(const PodText *text, Arena *arena, Pod *ret) MUST_CHECK;

DEFINE_REF(PodText, pod_text)
PodText *pod_text_unref(PodText *text); /* takes NULL, returns NULL */
DEFINE_CLEANUP(PodText *, pod_text_unref)

/* The JSON; ptr NULL when @text is. */
static inline Str pod_text_str(const PodText *text) {
    return text ? str_of(text->text, text->len) : STR_NULL;
}

static inline size_t pod_text_bytes(const PodText *text) {
    return sizeof(*text) + text->len;
}

#define POD_TEXTS_SLOTS 1024u

typedef struct PodTexts {
    PodText *slots[POD_TEXTS_SLOTS]; /* by digest; borrowed from the decisions that use them */
} PodTexts;

/* The text equal to @text, whose digest is @digest: a reference. New ones are raw and have no
 * users. NULL when out of memory. */
PodText *pod_texts_get(PodTexts *texts, Str text, Digest digest) MUST_CHECK;

/* The existing text equal to @reduced, or else @reduced itself, which is kept: a reference, of a
 * text that is not raw. */
PodText *pod_texts_put(PodTexts *texts, PodText *reduced);

/* @text has no user any more. */
void pod_texts_forget(PodTexts *texts, const PodText *text);
