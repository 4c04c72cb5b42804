#pragma once

/*
 * Body: the contiguous body of one request. BodyStore: the memory limit for all bodies.
 *
 * A body of at most BODY_SMALL bytes uses a recycled buffer, so that a usual request costs no page
 * faults. A larger one moves to its own mapping after its first bytes, in huge pages if the system
 * has them (83 MB: 7 ms instead of 34 ms of page faults). The mapping is freed with the request.
 *
 * Address space is reserved for Content-Length, but only received bytes count: a hundred clients
 * that announce 128 MiB and send nothing, or a byte, block no other client. The count grows in
 * steps (64 KiB, or a huge page of 2 MiB after the first 256 KiB) and never exceeds the store's
 * limit. A recycled buffer counts all bytes ever written to it. Other memory of requests may be
 * counted too, so that one limit covers all.
 *
 * Unknown clients leave BODY_RESERVE_SHARE of the memory to known ones, but may always use enough
 * for one body of @body_max.
 *
 * Threads: one at a time for a Body; any for the store.
 */

#include "base/cleanup.h"
#include "base/str.h"

#define BODY_SMALL ((size_t)1024 * 1024)
#define BODY_RESERVE_SHARE 4u /* a quarter */

typedef struct BodyStore BodyStore;

typedef struct Body {
    char *data;
    size_t len;
    size_t announced; /* Content-Length */
    size_t size;      /* bytes at data */
    size_t touched;   /* bytes ever written at data, by this body or earlier ones */
    size_t charged;   /* bytes counted by the store */
    bool is_known;    /* may use the reserve */
    Str secret;       /* the part to wipe, set by the caller; empty: all of it */
    void *map;        /* NULL: data is a recycled buffer */
    size_t map_size;
} Body;

enum {
    _BODY_E_SUCCESS,
    BODY_E_SIZE,   /* would be over @body_max */
    BODY_E_MEMORY, /* would be over @memory_max, or the system has none */
};

/* Keeps up to @keep unused small buffers. Limits are in bytes. NULL when out of memory. */
BodyStore *body_store_new(size_t body_max, size_t memory_max, unsigned keep);
BodyStore *body_store_free(BodyStore *store); /* close all bodies before; takes NULL */
DEFINE_CLEANUP(BodyStore *, body_store_free)

/* Bytes that count now. */
size_t body_store_memory(const BodyStore *store);

/* Counts @size bytes of other memory, until body_store_release(). False: that would exceed
 * memory_max, or use the reserve for an unknown client; nothing was counted. */
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

/* Call it for a complete body: under AddressSanitizer, bytes after it are out of bounds then. */
Str body_seal(Body *body);

/* Frees the body, and wipes the secret part of a recycled buffer, which may stay unused for long.
 * Takes a zeroed or closed one. */
void body_close(BodyStore *store, Body *body);
