#pragma once

/*
 * Time: timestamps of API objects, to the second.
 *
 * Kubernetes writes RFC 3339. Read is what Go's time.Parse takes of it: "Z" or an
 * offset of hours and minutes, any fraction of a second (dropped). A second of 60 is
 * refused, as Go does: no Kubernetes component writes one.
 *
 * In the model 0 stands for "not given": 1970-01-01T00:00:00Z itself is the same, and no cluster is
 * that old.
 */

#include "base/calendar.h"
#include "json/fields.h"

/* Seconds since 1970. False, and @ret_sec untouched, when @text is no such time or outside of
 * CALENDAR_FIRST to CALENDAR_LAST. */
bool time_parse(Str text, int64_t *ret_sec);

/* "2026-11-15T08:09:10Z": 20 bytes. Times outside of CALENDAR_FIRST to CALENDAR_LAST are written as
 * the nearer limit. */
void time_print(int64_t sec, Buf *out);

/* Reads a timestamp into an int64_t; null leaves it untouched. A value that is no time is as good
 * as none: 0. No decision hangs on a time, and an object must not be lost for one. */
JsonRead time_decode;
