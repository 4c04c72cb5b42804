#pragma once

/*
 * Zones: the system's time zones by name, for expressions (cel/zone.h).
 *
 * A zone is read from /usr/share/zoneinfo (package tzdata; else /etc/zoneinfo) when it is first
 * used, and kept. ZONES_ABSENT_MAX names that do not exist are kept, too, so a package that is
 * installed later has no effect before a restart. TZDIR and TZ of the environment are ignored: the
 * meaning of a policy must not depend on them.
 *
 * Any thread; a look-up of a known name takes no lock.
 */

#include "cel/zone.h"

typedef struct Zones Zones;

#define ZONES_NAME_MAX 64                  /* bytes of a name */
#define ZONES_FILE_MAX ((size_t)64 * 1024) /* bytes of a file; the largest has 4 KB */
#define ZONES_MAX 2048                     /* zones kept: more than there are */
#define ZONES_ABSENT_MAX 256               /* names kept that do not exist */
#define ZONES_MEMORY_MAX ((size_t)16 * 1024 * 1024)

/* NULL: out of memory. */
Zones *zones_new(void) MUST_CHECK;
/* The same from another folder; @folder is borrowed. */
Zones *zones_new_in(const char *folder) MUST_CHECK;
Zones *zones_free(Zones *zones); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Zones *, zones_free)

/* For CelRun.zones; lives as long as @zones. */
const CelZones *zones_finder(const Zones *zones);
