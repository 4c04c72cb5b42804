#pragma once

/*
 * Annotation: a number that somebody has written on a node, and when: "0.25,2026-01-02T03:04:05Z".
 *
 * Without a time it says nothing: nobody could tell how old it is.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "cluster/loads.h"

/* The time is RFC 3339. With a @zone (not empty) it is a local time of that zone whatever follows
 * it, "Z" or an offset or nothing; @zones may be NULL: there are none. False, with nothing
 * returned, when there is no such number and time: an infinite number is none. */
bool annotation_read(Str text, Str zone, const LoadZones *zones, double *ret, int64_t *ret_at_nsec);
