#pragma once

/* Members that only pages under /api/v1 have, in addition to those of json/write.h. */

#include "api/health-summary.h"
#include "base/digest.h"
#include "json/write.h"

/* For %g: NaN where it is not known. */
double page_seconds(int64_t nsec, bool is_known);

/* RFC 3339 of a whole second since 1970: also one that is too far for nanoseconds. */
void field_second(JsonWriter *writer, const char *key, int64_t at_sec);

/* Hexadecimal; empty when there was nothing to make one of. */
void field_digest(JsonWriter *writer, const char *key, Digest digest);

/* {"health": "degraded", "text": "degraded because …", "reasons": […]} */
void field_health(JsonWriter *writer, const char *key, const HealthSummary *health);

/* An error page: {"Error": "berth: TEXT"} replaces the contents of @out. Returns @status. */
unsigned page_write_error(Buf *out, unsigned status, const char *text);

/* There was no memory for @what, or none left of @arena (message_no_memory). Returns 500. */
unsigned page_write_no_memory(Buf *out, const char *what, const Arena *arena);
