#pragma once

/*
 * Body: the body of one request, contiguous. BodyStore: the memory limit for all.
 *
 * Up to BODY_SMALL a body uses a recycled buffer, so that the usual request costs no page faults. A
 * larger one moves to its own mapping when some of it has arrived, in huge pages where the system
 * has them (82 MB: 7 ms instead of 34 to touch), which is unmapped with the request.
 *
 * Address space is reserved for Content-Length, but only received bytes count: a hundred clients
 * that announce 128 MiB and send nothing, or a byte, block no other client. The count goes in steps
 * (64 KiB, or a huge page of 2 MiB after the first 256 KiB) and never exceeds the store's limit. A
 * recycled buffer counts with all bytes that were ever written to it. Other memory of requests may
 * be counted too, so that one limit covers all.
 *
 * Connections that are not known (strangers) leave BODY_RESERVE_SHARE of the memory to the others,
 * or all but a body of @body_max.
 *
 * A Body belongs to one thread at a time; the store to all of them.
 */

#include "base/cleanup.h"
#include "base/str.h"

#define BODY_SMALL ((size_t)1024 * 1024)
#define BODY_RESERVE_SHARE 4u /* a quarter */

typedef struct BodyStore BodyStore;

typedef struct Body {
    char *data;
    size_t len;
    size_t announced; /* expected length */
    size_t size;      /* room at data */
    size_t touched;   /* bytes ever written to it, by this body or earlier ones */
    size_t charged;   /* bytes that the store counts for it */
    bool is_known;    /* may use the reserve, too */
    Str secret;       /* the part to wipe; empty: all of it. Set by the user */
    void *map;        /* NULL: data is a recycled buffer */
    size_t map_size;
} Body;

enum {
    _BODY_E_SUCCESS,
    BODY_E_SIZE,   /* would be over @body_max */
    BODY_E_MEMORY, /* would be over @memory_max, or the system has none */
};

/* Keeps up to @keep unused small buffers. NULL when out of memory. */
BodyStore *body_store_new(size_t body_max, size_t memory_max, unsigned keep);
BodyStore *body_store_free(BodyStore *store); /* all bodies are closed; takes NULL */
DEFINE_CLEANUP(BodyStore *, body_store_free)

/* Bytes counted now. */
size_t body_store_memory(const BodyStore *store);

/* Counts @size other bytes; stops counting them. False: that would exceed memory_max or, if the
 * peer is not known, use the reserve, and nothing was counted. */
bool body_store_charge(BodyStore *store, size_t size, bool is_known);
void body_store_release(BodyStore *store, size_t size);

/* Prepares @body (all zero) for @announced bytes. 0 or BODY_E_*. */
int body_open(BodyStore *store, Body *body, uint64_t announced, bool is_known);

/* The buffer for the next bytes: *ret_room bytes at *ret, 0 when the body is complete. The caller
 * writes some and calls body_advance(). 0 or BODY_E_MEMORY. */
int body_reserve(BodyStore *store, Body *body, char **ret, size_t *ret_room);
void body_advance(Body *body, size_t n);

static inline bool body_is_complete(const Body *body) {
    return body->len == body->announced;
}

/* The body is complete: under AddressSanitizer, bytes after it are out of bounds from now on. */
Str body_seal(Body *body);

/* Frees the body. In a recycled buffer, which may stay unused for long, its secret part is wiped
 * first. Takes one that was never opened. */
void body_close(BodyStore *store, Body *body);
