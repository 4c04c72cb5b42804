#pragma once

/*
 * Time: timestamps of API objects, to the second.
 *
 * Kubernetes writes RFC 3339. We read what Go's time.Parse accepts: "Z" or an offset of
 * hours and minutes, any fraction of a second (dropped). Like Go, we reject a second of
 * 60, which no Kubernetes component writes.
 *
 * In the model 0 means "not given". So does 1970-01-01T00:00:00Z itself, but no cluster is that
 * old.
 */

#include "base/calendar.h"
#include "json/fields.h"

/* Seconds since 1970. False, and @ret_sec untouched, when @text is not such a time, or is outside
 * of CALENDAR_FIRST to CALENDAR_LAST. */
bool time_parse(Str text, int64_t *ret_sec);

/* "2026-11-15T08:09:10Z": 20 bytes. Times outside of CALENDAR_FIRST to CALENDAR_LAST are written as
 * the nearer limit. */
void time_print(int64_t sec, Buf *out);

/* Reads a timestamp into an int64_t; null leaves it untouched. An invalid time is read as 0 and is
 * not an error: no decision depends on it, and the object must not be lost. */
JsonRead time_decode;
