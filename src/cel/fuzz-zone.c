/*
 * Any bytes as a zone file: no crash, and the offset at any time is at most 26 hours. The offset
 * depends on the time only: repeating lookups in another order changes nothing.
 */

#include "base/arena.h"
#include "base/fuzz.h"
#include "cel/zone.h"

#define OFFSET_MAX (26 * 3600)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int64_t times[] = {INT64_MIN, INT64_C(-62135596800), INT64_C(-2208988800), -1, 0,
        INT64_C(1709164800), INT64_C(1735689599), INT64_C(4133980800), INT64_C(253402300799),
        INT64_MAX};
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    const CelZone *zone = arena ? cel_zone_parse(str_of((const char *)data, size), arena) : NULL;
    int32_t offsets[sizeof(times) / sizeof(times[0])];

    if (!zone)
        return 0;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        offsets[i] = cel_zone_offset(zone, times[i]);
        require(offsets[i] >= -OFFSET_MAX && offsets[i] <= OFFSET_MAX);
    }
    for (size_t i = sizeof(times) / sizeof(times[0]); i > 0; i--)
        require(cel_zone_offset(zone, times[i - 1]) == offsets[i - 1]);
    return 0;
}
