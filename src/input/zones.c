/*
 * A table that only grows, up to fixed ceilings. Its places are atomic pointers to entries
 * that never change: readers probe it without a lock, writers fill it under one.
 */
#include "input/zones.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/ascii.h"
#include "base/buf.h"
#include "base/hash.h"
#include "input/file.h"

#define N_PLACES 4096 /* a power of two, and never more than about half full */

typedef struct Entry {
    Str name;
    uint64_t hash;
    const CelZone *zone; /* NULL: there is none */
} Entry;

typedef struct Known {
    const char *folder;
    _Atomic(const Entry *) places[N_PLACES];
    /* for who adds */
    pthread_mutex_t lock;
    Arena *arena;
    size_t n_found, n_absent;
} Known;

struct Zones {
    CelZones finder; /* first: a CelZones is the Zones around it */
    Known *known;
};

_Static_assert(ZONES_MAX + ZONES_ABSENT_MAX < N_PLACES * 3 / 4, "places to spare");

/* --- names ------------------------------------------------------------------ */

static bool is_name_char(char c) {
    return ascii_is_alnum(c) || c == '_' || c == '+' || c == '-' || c == '/';
}

/* A name cannot leave the folder: no dots, no slash in front. */
static bool is_name(Str name) {
    if (name.len == 0 || name.len > ZONES_NAME_MAX || name.ptr[0] == '/')
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!is_name_char(name.ptr[i]))
            return false;
    return true;
}

/* --- looking up ------------------------------------------------------------- */

/* The place of @name, or the free one where it belongs. */
static size_t find_place(const Known *known, Str name, uint64_t hash, const Entry **ret_entry) {
    size_t place = (size_t)hash % N_PLACES;

    for (;; place = (place + 1) % N_PLACES) {
        const Entry *entry = atomic_load_explicit(&known->places[place], memory_order_acquire);

        if (!entry || (entry->hash == hash && str_eq(entry->name, name))) {
            *ret_entry = entry;
            return place;
        }
    }
}

/* NULL: no such file, or it cannot be read as a zone. */
static const CelZone *read_zone(Known *known, Str name) {
    _cleanup_(buf_done) Buf bytes = BUF_INIT(ZONES_FILE_MAX);
    char path[256], error[FILE_ERROR_MAX];
    int n = snprintf(path, sizeof(path), "%s/%.*s", known->folder, STR_FMT(name));

    if (n < 0 || (size_t)n >= sizeof(path) || file_read(path, &bytes, error) < 0)
        return NULL;
    return cel_zone_parse(buf_str(&bytes), known->arena);
}

/* Under the lock. Without memory or room nothing is kept, and the next one tries again. */
static const CelZone *add(Known *known, Str name, uint64_t hash, size_t place) {
    const CelZone *zone = known->n_found < ZONES_MAX ? read_zone(known, name) : NULL;
    Entry *entry;

    if (!zone && known->n_absent >= ZONES_ABSENT_MAX)
        return NULL;
    entry = ARENA_NEW(known->arena, Entry);
    if (!entry)
        return NULL;
    *entry = (Entry){.name = arena_copy(known->arena, name), .hash = hash, .zone = zone};
    if (!entry->name.ptr)
        return NULL;
    *(zone ? &known->n_found : &known->n_absent) += 1;
    atomic_store_explicit(&known->places[place], entry, memory_order_release);
    return zone;
}

static const CelZone *find(const CelZones *finder, Str name) {
    Known *known = ((const Zones *)finder)->known;
    const CelZone *zone;
    const Entry *entry;
    uint64_t hash;
    size_t place;

    if (!is_name(name))
        return NULL;
    hash = hash_str(name);
    (void)find_place(known, name, hash, &entry);
    if (entry)
        return entry->zone;
    (void)pthread_mutex_lock(&known->lock);
    place = find_place(known, name, hash, &entry); /* somebody may have been faster */
    zone = entry ? entry->zone : add(known, name, hash, place);
    (void)pthread_mutex_unlock(&known->lock);
    return zone;
}

/* --- life ------------------------------------------------------------------- */

Zones *zones_new(void) {
    static const char usual[] = "/usr/share/zoneinfo", other[] = "/etc/zoneinfo";

    return zones_new_in(access(usual, X_OK) < 0 && access(other, X_OK) == 0 ? other : usual);
}

Zones *zones_new_in(const char *folder) {
    _cleanup_(zones_freep) Zones *zones = calloc(1, sizeof(Zones));

    if (!zones)
        return NULL;
    zones->finder.find = find;
    zones->known = calloc(1, sizeof(Known));
    if (!zones->known)
        return NULL;
    zones->known->folder = folder;
    (void)pthread_mutex_init(&zones->known->lock, NULL);
    zones->known->arena = arena_new(ZONES_MEMORY_MAX);
    return zones->known->arena ? TAKE_PTR(zones) : NULL;
}

Zones *zones_free(Zones *zones) {
    if (!zones)
        return NULL;
    if (zones->known) {
        arena_free(zones->known->arena);
        (void)pthread_mutex_destroy(&zones->known->lock);
    }
    free(zones->known);
    free(zones);
    return NULL;
}

const CelZones *zones_finder(const Zones *zones) {
    return &zones->finder;
}
