#pragma once

/* MicroTime: the time in coordination.k8s.io and events.k8s.io, always with six digits behind the
 * point. */

#include <stdint.h>

#include "base/str.h"
#include "json/write.h"

/* A member of the object that is being written; @wall_nsec since 1970. */
void micro_time_write(JsonWriter *writer, Str key, int64_t wall_nsec);
