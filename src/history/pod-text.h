#pragma once

/*
 * PodText: a pod as it was sent, once for all decisions about it; soon only what policies can read
 * of it.
 *
 * Filter, prioritize and the next attempt bring the same text again. A PodTexts is a small table of
 * those that are remembered, found by what they say; one that is not found there is copied.
 *
 * A pod as it was sent has secrets in it: environment values, arguments. So that is kept for a
 * moment only (history/tidy.h), and wiped when it goes.
 *
 * Threads: reference and read a text from any; the table belongs to its owner's lock.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/ref.h"
#include "base/str.h"

typedef struct PodText {
    Ref ref;
    Digest digest;  /* of the text */
    size_t n_users; /* for its owner: how many decisions that are kept refer to it */
    bool is_raw;    /* as it was sent; its owner's to say otherwise */
    size_t len;
    char text[];
} PodText;

/* What policies can read of @raw, written anew. @arena is for the time of the call: it is reset.
 * NULL: it is no pod, or out of memory. */
PodText *pod_text_reduce(const PodText *raw, Arena *arena) MUST_CHECK;

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

/* One that is not in it is in the place of no other: mostly the pods of the last seconds are. */
#define POD_TEXTS_SLOTS 1024u

typedef struct PodTexts {
    PodText *slots[POD_TEXTS_SLOTS]; /* by digest; borrowed from the decisions that use them */
} PodTexts;

/* The one that says @text, whose digest is @digest: a reference. New ones are raw and have no
 * users. NULL when out of memory. */
PodText *pod_texts_get(PodTexts *texts, Str text, Digest digest) MUST_CHECK;

/* The one that says the same as @reduced, or else that one from now on: a reference, of a text that
 * is not raw. */
PodText *pod_texts_put(PodTexts *texts, PodText *reduced);

/* @text has no user any more. */
void pod_texts_forget(PodTexts *texts, const PodText *text);
