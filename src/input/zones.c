/*
 * Time zones by name: a hash table that only grows, up to fixed limits. Its places are atomic
 * pointers to constant entries: readers probe it without a lock, writers add under one.
 */

#include "input/zones.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/hash.h"
#include "input/file.h"

#define FOLDERS_MAX 3u /* America/Indiana/Knox */
#define N_PLACES 4096  /* a power of two, and never more than about half full */

typedef struct ZoneEntry {
    Str name;
    uint64_t hash;
    const CelZone *zone; /* NULL: no such zone */
} ZoneEntry;

typedef struct ZoneTable {
    const char *folder;
    _Atomic(const ZoneEntry *) places[N_PLACES];
    /* writers only */
    pthread_mutex_t lock;
    Arena *arena;
    size_t n_found, n_absent;
} ZoneTable;

struct Zones {
    CelZones finder; /* first: a CelZones is the Zones around it */
    ZoneTable *table;
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
static size_t find_place(
    const ZoneTable *table, Str name, uint64_t hash, const ZoneEntry **ret_entry) {
    size_t place = (size_t)hash % N_PLACES;

    for (;; place = (place + 1) % N_PLACES) {
        const ZoneEntry *entry = atomic_load_explicit(&table->places[place], memory_order_acquire);

        if (!entry || (entry->hash == hash && str_eq(entry->name, name))) {
            *ret_entry = entry;
            return place;
        }
    }
}

/* Under the lock. Without memory or room nothing is kept, and the next call tries again. */
static const CelZone *add(ZoneTable *table, Str name, uint64_t hash, size_t place) {
    _cleanup_(buf_done) Buf bytes = BUF_INIT(ZONES_FILE_MAX);
    char path[256], error[FILE_ERROR_MAX];
    int n = snprintf(path, sizeof(path), "%s/%.*s", table->folder, STR_FMT(name));
    const CelZone *zone = NULL; /* no such file, or it cannot be read as a zone */
    ZoneEntry *entry;

    if (table->n_found < ZONES_MAX && n > 0 && (size_t)n < sizeof(path) &&
        file_read(path, &bytes, error) == 0)
        zone = cel_zone_parse(buf_str(&bytes), table->arena);
    if (!zone && table->n_absent >= ZONES_ABSENT_MAX)
        return NULL;
    entry = ARENA_NEW(table->arena, ZoneEntry);
    if (!entry)
        return NULL;
    *entry = (ZoneEntry){.name = arena_copy(table->arena, name), .hash = hash, .zone = zone};
    if (!entry->name.ptr)
        return NULL;
    *(zone ? &table->n_found : &table->n_absent) += 1;
    atomic_store_explicit(&table->places[place], entry, memory_order_release);
    return zone;
}

static const CelZone *find(const CelZones *finder, Str name) {
    ZoneTable *table = ((const Zones *)finder)->table;
    const CelZone *zone;
    const ZoneEntry *entry;
    uint64_t hash;
    size_t place;

    if (!is_name(name))
        return NULL;
    hash = hash_str(name);
    (void)find_place(table, name, hash, &entry);
    if (entry)
        return entry->zone;
    (void)pthread_mutex_lock(&table->lock);
    place = find_place(table, name, hash, &entry); /* another thread may have added it */
    zone = entry ? entry->zone : add(table, name, hash, place);
    (void)pthread_mutex_unlock(&table->lock);
    return zone;
}

/* A search for the name that is nearest to another, in a folder and those inside. */
typedef struct ZoneSearch {
    const ZoneTable *table;
    Str name, best; /* the best so far, in @arena */
    Arena *arena;
} ZoneSearch;

static void consider(ZoneSearch *search, Str name) {
    Str both[] = {search->best, name};

    if (str_nearest(search->name, &name, 1).len == 0)
        return;
    if (search->best.len == 0 || str_eq(str_nearest(search->name, both, 2), name))
        search->best = arena_copy(search->arena, name);
}

static void search_folder(ZoneSearch *search, Str prefix, unsigned depth) {
    char path[256];
    struct dirent *entry;
    DIR *folder;
    int n = snprintf(path, sizeof(path), "%s/%.*s", search->table->folder, STR_FMT(prefix));

    folder = n > 0 && (size_t)n < sizeof(path) ? opendir(path) : NULL;
    while (folder && (entry = readdir(folder))) {
        Str part = str_from_c(entry->d_name);
        bool is_copy = depth == 0 && (str_is(part, "right") || str_is(part, "posix"));
        Str name = is_name(part) && !is_copy /* "right" and "posix" have all zones again */
                       ? arena_printf(search->arena, "%.*s%s", STR_FMT(prefix), entry->d_name)
                       : STR_NULL;

        if (!name.ptr)
            continue;
        if (entry->d_type == DT_DIR && depth + 1 < FOLDERS_MAX)
            search_folder(search, arena_printf(search->arena, "%.*s/", STR_FMT(name)), depth + 1);
        else
            consider(search, name);
    }
    if (folder)
        (void)closedir(folder);
}

static Str find_meant(const CelZones *finder, Str name, Arena *arena) {
    ZoneSearch search = {.table = ((const Zones *)finder)->table, .name = name, .arena = arena};

    search_folder(&search, STR(""), /* depth= */ 0);
    return search.best.len > 0 && find(finder, search.best) ? search.best : STR_NULL;
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
    zones->finder.find_meant = find_meant;
    zones->table = calloc(1, sizeof(ZoneTable));
    if (!zones->table)
        return NULL;
    zones->table->folder = folder;
    (void)pthread_mutex_init(&zones->table->lock, NULL);
    zones->table->arena = arena_new(ZONES_MEMORY_MAX);
    return zones->table->arena ? TAKE_PTR(zones) : NULL;
}

Zones *zones_free(Zones *zones) {
    if (!zones)
        return NULL;
    if (zones->table) {
        arena_free(zones->table->arena);
        (void)pthread_mutex_destroy(&zones->table->lock);
    }
    free(zones->table);
    free(zones);
    return NULL;
}

const CelZones *zones_finder(const Zones *zones) {
    return &zones->finder;
}
