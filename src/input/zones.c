/*
 * Time zones by name: a hash table that only grows, up to fixed limits. Its places are atomic
 * pointers to constant entries: readers need no lock, writers hold one.
 */

#include "input/zones.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/hash.h"
#include "input/file.h"

#define N_PLACES 4096 /* a power of two, and never more than about half full */

typedef struct ZoneEntry {
    Str name;
    uint64_t hash;
    const CelZone *zone; /* NULL: no such zone */
} ZoneEntry;

struct Zones {
    CelZones finder; /* must be first: find() casts it back to Zones */
    const char *folder;
    _Atomic(const ZoneEntry *) places[N_PLACES];
    /* below: for writers only */
    pthread_mutex_t lock;
    Arena *arena;
    size_t n_found, n_absent;
};

_Static_assert(ZONES_MAX + ZONES_ABSENT_MAX < N_PLACES * 3 / 4, "places to spare");

/* A name cannot leave the folder: no dots, no slash in front. */
static bool is_name(Str name) {
    if (name.len == 0 || name.len > ZONES_NAME_MAX || name.ptr[0] == '/')
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!ascii_is_alnum(name.ptr[i]) && str_find(STR("_+-/"), name.ptr[i]) == SIZE_MAX)
            return false;
    return true;
}

/* The place of @name, or the free one where it belongs. */
static size_t find_place(const Zones *zones, Str name, uint64_t hash, const ZoneEntry **ret_entry) {
    size_t place = (size_t)hash % N_PLACES;

    for (;; place = (place + 1) % N_PLACES) {
        const ZoneEntry *entry = atomic_load_explicit(&zones->places[place], memory_order_acquire);

        if (!entry || (entry->hash == hash && str_eq(entry->name, name))) {
            *ret_entry = entry;
            return place;
        }
    }
}

/* Called with the lock held. If memory or room is short, nothing is kept; the next call retries. */
static const CelZone *add(Zones *zones, Str name, uint64_t hash, size_t place) {
    _cleanup_(buf_done) Buf bytes = BUF_INIT(ZONES_FILE_MAX);
    char path[256], error[FILE_ERROR_MAX];
    int n = snprintf(path, sizeof(path), "%s/%.*s", zones->folder, STR_FMT(name));
    const CelZone *zone = NULL; /* no such file, or it cannot be read as a zone */
    ZoneEntry *entry;

    if (zones->n_found < ZONES_MAX && n > 0 && (size_t)n < sizeof(path) &&
        file_read(path, &bytes, error) == 0)
        zone = cel_zone_parse(buf_str(&bytes), zones->arena);
    if (!zone && zones->n_absent >= ZONES_ABSENT_MAX)
        return NULL;
    entry = ARENA_NEW(zones->arena, ZoneEntry);
    if (!entry)
        return NULL;
    *entry = (ZoneEntry){.name = arena_copy(zones->arena, name), .hash = hash, .zone = zone};
    if (!entry->name.ptr)
        return NULL;
    *(zone ? &zones->n_found : &zones->n_absent) += 1;
    atomic_store_explicit(&zones->places[place], entry, memory_order_release);
    return zone;
}

static const CelZone *find(const CelZones *finder, Str name) {
    Zones *zones = (Zones *)(uintptr_t)finder; /* a look-up only adds to the cache */
    const CelZone *zone;
    const ZoneEntry *entry;
    uint64_t hash;
    size_t place;

    if (!is_name(name))
        return NULL;
    hash = hash_str(name);
    (void)find_place(zones, name, hash, &entry);
    if (entry)
        return entry->zone;
    (void)pthread_mutex_lock(&zones->lock);
    place = find_place(zones, name, hash, &entry); /* another thread may have added it */
    zone = entry ? entry->zone : add(zones, name, hash, place);
    (void)pthread_mutex_unlock(&zones->lock);
    return zone;
}

Zones *zones_new(void) {
    static const char usual[] = "/usr/share/zoneinfo", other[] = "/etc/zoneinfo";

    return zones_new_in(access(usual, X_OK) < 0 && access(other, X_OK) == 0 ? other : usual);
}

Zones *zones_new_in(const char *folder) {
    _cleanup_(zones_freep) Zones *zones = calloc(1, sizeof(Zones));

    if (!zones)
        return NULL;
    zones->finder.find = find;
    zones->folder = folder;
    (void)pthread_mutex_init(&zones->lock, NULL);
    zones->arena = arena_new(ZONES_MEMORY_MAX);
    return zones->arena ? TAKE_PTR(zones) : NULL;
}

Zones *zones_free(Zones *zones) {
    if (!zones)
        return NULL;
    arena_free(zones->arena);
    (void)pthread_mutex_destroy(&zones->lock);
    free(zones);
    return NULL;
}

const CelZones *zones_finder(const Zones *zones) {
    return &zones->finder;
}
