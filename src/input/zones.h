#pragma once

/*
 * Zones: the system's time zones by name, for expressions (cel/zone.h).
 *
 * A zone is read from /usr/share/zoneinfo (package tzdata; /etc/zoneinfo where that is
 * not there) when somebody first asks for it, and kept. So is that there is none, of
 * ZONES_ABSENT_MAX names: a package installed later is seen after a restart. The environment's
 * TZDIR and TZ do not count: what a policy means must not depend on them.
 *
 * Any number of threads ask at once; one that asks for what is known takes no lock.
 */

#include "base/cleanup.h"
#include "cel/zone.h"

typedef struct Zones Zones;

#define ZONES_NAME_MAX 64                  /* bytes of a name */
#define ZONES_FILE_MAX ((size_t)64 * 1024) /* bytes of a file; the largest has 4 KB */
#define ZONES_MAX 2048                     /* zones kept: more than there are */
#define ZONES_ABSENT_MAX 256               /* names kept that are none */
#define ZONES_MEMORY_MAX ((size_t)16 * 1024 * 1024)

/* NULL: out of memory. */
Zones *zones_new(void) MUST_CHECK;
/* The same from another folder, borrowed. */
Zones *zones_new_in(const char *folder) MUST_CHECK;
Zones *zones_free(Zones *zones); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Zones *, zones_free)

/* As a run wants it (CelRun.zones); lives as long as @zones. */
const CelZones *zones_finder(const Zones *zones);
