#include "cluster/annotation.h"

#include "base/calendar.h"
#include "base/double.h"
#include "base/nsec.h"

/* "2026-01-02T03:04:05" */
#define LOCAL_LEN 19u

/* Its digits as if they were of UTC. What follows may be left out, but must be right if it is
 * there. */
static bool read_local(Str text, int64_t *ret_sec, uint32_t *ret_nanos) {
    char local[LOCAL_LEN + 1];

    if (text.len < LOCAL_LEN || (text.len > LOCAL_LEN && !calendar_parse(text, ret_sec, ret_nanos)))
        return false;
    memcpy(local, text.ptr, LOCAL_LEN);
    local[LOCAL_LEN] = 'Z';
    return calendar_parse(str_of(local, sizeof(local)), ret_sec, ret_nanos);
}

static bool read_time(
    Str text, Str zone, const LoadZones *zones, int64_t *ret_sec, uint32_t *ret_nanos) {
    int64_t local_sec;

    if (str_is_empty(zone))
        return calendar_parse(text, ret_sec, ret_nanos);
    return zones && read_local(text, &local_sec, ret_nanos) &&
           zones->to_utc(zones, zone, local_sec, ret_sec);
}

bool annotation_read(
    Str text, Str zone, const LoadZones *zones, double *ret, int64_t *ret_at_nsec) {
    size_t comma = str_find(text, ',');
    uint32_t nanos;
    int64_t sec, at;
    double number;

    if (comma == SIZE_MAX || !double_parse(str_trim(str_take(text, comma)), &number, NULL) ||
        !read_time(str_trim(str_skip(text, comma + 1)), zone, zones, &sec, &nanos) ||
        __builtin_mul_overflow(sec, NSEC_PER_SEC, &at) || __builtin_add_overflow(at, nanos, &at))
        return false;
    *ret = number;
    *ret_at_nsec = at;
    return true;
}
