#pragma once

/*
 * Body: the bytes of one request, in one piece; BodyStore: what all may hold.
 *
 * Up to BODY_SMALL a body lives in a recycled buffer, so that the usual request
 * costs no page faults. Larger ones get a mapping of their own, in huge pages
 * where the system has them (82 MB: 7 ms instead of 34 to touch), that goes back
 * to the system with the request.
 *
 * Address space is taken by what is announced, memory is counted by what has
 * arrived: a hundred clients that announce 128 MiB and send nothing lock no other client
 * out. The count goes in steps (64 KiB, or a huge page of 2 MiB for large ones)
 * and never passes the store's ceiling. A recycled buffer counts with all that was
 * ever written to it. What requests hold beside their bodies may be counted too, so
 * that there is one ceiling for all.
 *
 * A Body belongs to one thread at a time; the store to all of them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"

#define BODY_SMALL ((size_t)1024 * 1024)

typedef struct BodyStore BodyStore;

typedef struct Body {
    char *data;
    size_t len;
    size_t announced; /* how long it will be */
    size_t size;      /* room at data */
    size_t touched;   /* what was written to it, by this body or before */
    size_t charged;   /* what the store counts for it */
    Str secret;       /* the part of it that must not stay; empty: all of it. For its user to set */
    void *map;        /* NULL: data is a recycled buffer */
    size_t map_size;
} Body;

enum {
    _BODY_E_SUCCESS,
    BODY_E_SIZE,   /* would be over @body_max */
    BODY_E_MEMORY, /* would be over @memory_max, or the system has none */
};

/* @keep small buffers stay for later when they are not in use. NULL when out of
 * memory. */
BodyStore *body_store_new(size_t body_max, size_t memory_max, unsigned keep);
BodyStore *body_store_free(BodyStore *store); /* all bodies are closed; takes NULL */
DEFINE_CLEANUP(BodyStore *, body_store_free)

/* Bytes counted now. */
size_t body_store_memory(const BodyStore *store);

/* Counts @size bytes that are not of a body, and no longer. False: that would be
 * over @memory_max, and nothing was counted. */
bool body_store_charge(BodyStore *store, size_t size);
void body_store_release(BodyStore *store, size_t size);

/* Makes @body (all zero) ready for @announced bytes. 0 or BODY_E_*. */
int body_open(BodyStore *store, Body *body, uint64_t announced);

/* Where the next bytes go: *ret has room for *ret_room of them, 0 when all are there. The caller
 * writes some and calls body_advance(). 0 or BODY_E_MEMORY. */
int body_reserve(BodyStore *store, Body *body, char **ret, size_t *ret_room);
void body_advance(Body *body, size_t n);

static inline bool body_is_complete(const Body *body) {
    return body->len == body->announced;
}

/* No more bytes will come; under AddressSanitizer what is behind them is out of
 * bounds from now on. */
Str body_seal(Body *body);

/* Gives everything back. In a recycled buffer, which may lie there for long, the secret part of the
 * body is wiped before. Takes one that was never opened. */
void body_close(BodyStore *store, Body *body);
