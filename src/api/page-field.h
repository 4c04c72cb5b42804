#pragma once

/* Members that only pages under /api/v1 have; json/write.h has the others. */

#include "api/health-summary.h"
#include "base/digest.h"
#include "json/write.h"

/* Seconds for %g; NaN: unknown. */
double page_seconds(int64_t nsec, bool is_known);

/* RFC 3339 of a whole second since 1970, which may be too far for nanoseconds. */
void field_second(JsonWriter *writer, const char *key, int64_t at_sec);

/* Hexadecimal; empty without a digest. */
void field_digest(JsonWriter *writer, const char *key, Digest digest);

/* {"health": "degraded", "text": "degraded because …", "reasons": […]} */
void field_health(JsonWriter *writer, const char *key, const HealthSummary *health);

/* Replaces the contents of @out by {"Error": "berth: TEXT"}. Returns @status. */
unsigned page_write_error(Buf *out, unsigned status, const char *text);

/* Replaces them by: no memory for @what, or in @arena (message_no_memory()). Returns 500. */
unsigned page_write_no_memory(Buf *out, const char *what, const Arena *arena);
