#pragma once

/* Zone: a time zone's offsets from UTC, read from the bytes of a TZif file (RFC 9636, versions 1 to
 * 4) with the rule in its footer. Immutable; any thread reads it. libc's own zones are global state
 * and not used. This folder reads no files: the caller sets CelRun.zones (input/zones.h). */

#include "base/arena.h"

typedef struct CelZone CelZone;

/* NULL: not a TZif file that can be read, or out of memory. @bytes are not needed after. */
const CelZone *cel_zone_parse(Str bytes, Arena *arena) MUST_CHECK;

/* Seconds east of UTC at @sec since 1970. */
int32_t cel_zone_offset(const CelZone *zone, int64_t sec);

struct CelZones {
    /* NULL: no such zone. Any thread, at any time; the result lives as long as @zones. */
    const CelZone *(*find)(const struct CelZones *zones, Str name);
};
typedef struct CelZones CelZones;

/* The seconds east of UTC, at @sec since 1970, of a zone as expressions name it: "" and "UTC",
 * "+02:00", "Europe/Berlin". Returns false if there is no such zone. @zones may be NULL. */
bool cel_offset_of(const CelZones *zones, Str name, int64_t sec, int32_t *ret);
