/* Timestamps and durations. A timestamp has no zone: string() is in UTC, as specified (cel-go keeps
 * the offset it was read with). Getters take UTC, an IANA name that the host looks up
 * (CelRun.zones), or an offset like "+05:30". */

#include "base/ascii.h"
#include "base/calendar.h"
#include "base/nsec.h"
#include "cel/library.h"
#include "cel/time.h"
#include "cel/zone.h"

#define PRINT_MAX ((size_t)48) /* the longest timestamp has 30, the longest duration 21 */
#define READ_BYTES ((size_t)4) /* reading a byte of a duration takes as long as copying so many */
#define PRINT_FUEL 4
#define ZONE_FUEL 4
#define NO_ZONE_FUEL 100 /* the host may have looked on a disk */

static CelValue timestamp_overflow(CelRun *run) {
    return cel_fail(run, "timestamp overflow: out of the range of years 1 to 9999");
}

static CelValue duration_overflow(CelRun *run) {
    return cel_fail(run, "duration overflow: out of the range of 292 years");
}

CEL_RETURNS(same, args[0])

CEL_FUNCTION(timestamp_from_string) {
    Str text = cel_str(args[0]);
    int64_t sec;
    uint32_t nanos;

    if (!cel_charge_bytes(run, text.len))
        return cel_exhausted(run);
    if (!calendar_parse(text, &sec, &nanos))
        return cel_fail(run,
            "type conversion error from 'string' to 'google.protobuf.Timestamp': '%.*s' is no "
            "RFC 3339 time in the range of years 1 to 9999",
            STR_FMT(cel_excerpt(text)));
    return cel_timestamp(sec, nanos);
}

CEL_FUNCTION(timestamp_from_int) {
    if (!cel_timestamp_is_valid(args[0].i))
        return timestamp_overflow(run);
    return cel_timestamp(args[0].i, 0);
}

CEL_FUNCTION(duration_from_string) {
    Str text = cel_str(args[0]);
    int64_t ns;

    if (!cel_charge_bytes(run, READ_BYTES * text.len))
        return cel_exhausted(run);
    if (!cel_duration_parse(text, &ns))
        return cel_fail(run,
            "type conversion error from 'string' to 'google.protobuf.Duration': '%.*s' is no "
            "duration like 1h30m or 1.5s in the range of 292 years",
            STR_FMT(cel_excerpt(text)));
    return cel_duration(ns);
}

/* Seconds of a timestamp (rounded towards the past), nanoseconds of a duration. */
CEL_RETURNS(int_from_time, cel_int(args[0].i))

static CelValue print(CelRun *run, CelValue v) {
    _cleanup_(buf_done) Buf out = BUF_INIT(PRINT_MAX);

    if (!cel_charge(run, PRINT_FUEL))
        return cel_exhausted(run);
    if (v.kind == CEL_TIMESTAMP)
        calendar_print(v.i, v.len, &out);
    else
        cel_duration_print(v.i, &out);
    return buf_error(&out) ? cel_no_memory(run) : cel_make_string(run, buf_str(&out));
}

CEL_RETURNS(string_from_time, print(run, args[0]))

static CelValue add_to_timestamp(CelRun *run, CelValue timestamp, CelValue duration) {
    if (!cel_timestamp_add(&timestamp.i, &timestamp.len, duration.i))
        return timestamp_overflow(run);
    return timestamp;
}

CEL_RETURNS(add_timestamp_duration, add_to_timestamp(run, args[0], args[1]))
CEL_RETURNS(add_duration_timestamp, add_to_timestamp(run, args[1], args[0]))

CEL_FUNCTION(add_durations) {
    int64_t sum;

    if (__builtin_add_overflow(args[0].i, args[1].i, &sum))
        return duration_overflow(run);
    return cel_duration(sum);
}

CEL_FUNCTION(subtract_durations) {
    int64_t difference;

    if (__builtin_sub_overflow(args[0].i, args[1].i, &difference))
        return duration_overflow(run);
    return cel_duration(difference);
}

CEL_FUNCTION(subtract_duration) {
    CelValue timestamp = args[0];

    if (!cel_timestamp_subtract(&timestamp.i, &timestamp.len, args[1].i))
        return timestamp_overflow(run);
    return timestamp;
}

/* timestamps/timestamp_range/sub_time_duration_under: the years fit, the difference does not. */
CEL_FUNCTION(subtract_timestamps) {
    int64_t ns;

    if (!cel_timestamp_difference(args[0].i, args[0].len, args[1].i, args[1].len, &ns))
        return duration_overflow(run);
    return cel_duration(ns);
}

static bool take_two_digits(Str *text, int max, int *ret) {
    size_t n = 0;

    *ret = 0;
    for (; n < 2 && n < text->len && ascii_is_digit(text->ptr[n]); n++)
        *ret = *ret * 10 + (text->ptr[n] - '0');
    *text = str_skip(*text, n);
    return n > 0 && *ret <= max;
}

/* "+05:30", "-8:00", "02:00". */
static bool parse_offset(Str text, int32_t *ret) {
    bool is_west = text.len > 0 && text.ptr[0] == '-';
    int hours, minutes;

    if (is_west || (text.len > 0 && text.ptr[0] == '+'))
        text = str_skip(text, 1);
    if (!take_two_digits(&text, 23, &hours) || text.len == 0 || text.ptr[0] != ':')
        return false;
    text = str_skip(text, 1);
    if (!take_two_digits(&text, 59, &minutes) || text.len > 0)
        return false;
    *ret = (hours * 3600 + minutes * 60) * (is_west ? -1 : 1);
    return true;
}

/* "Local" is not looked up: what an expression means must not depend on the machine. */
bool cel_offset_of(const CelZones *zones, Str name, int64_t sec, int32_t *ret) {
    const CelZone *zone;

    *ret = 0;
    if (name.len == 0 || str_is(name, "UTC"))
        return true;
    if (str_find(name, ':') != SIZE_MAX)
        return parse_offset(name, ret);
    if (!zones || str_is(name, "Local"))
        return false;
    zone = zones->find(zones, name);
    if (zone)
        *ret = cel_zone_offset(zone, sec);
    return zone != NULL;
}

static CelValue unknown_zone(CelRun *run, Str name) {
    Str text = arena_printf(run->arena, "unknown time zone '%.*s'", STR_FMT(cel_excerpt(name)));

    if (!cel_charge(run, NO_ZONE_FUEL))
        return cel_exhausted(run);
    if (!text.ptr)
        return cel_no_memory(run);
    return cel_fail_hint(run, text,
        STR("names are those of the IANA database, like Europe/Berlin, and need the system's "
            "zone files (package tzdata); UTC and offsets like +02:00 always work"));
}

static CelValue part_in_zone(CelRun *run, const CelValue *args, CelTimePart part) {
    Str name = cel_str(args[1]);
    int32_t offset;

    if (!cel_charge(run, ZONE_FUEL))
        return cel_exhausted(run);
    if (!cel_offset_of(run->zones, name, args[0].i, &offset))
        return unknown_zone(run, name);
    return cel_int(cel_timestamp_part(args[0].i + offset, args[0].len, part));
}

#define TIMESTAMP_PARTS(X)                                                                         \
    X(getFullYear, CEL_FULL_YEAR)                                                                  \
    X(getMonth, CEL_MONTH)                                                                         \
    X(getDayOfYear, CEL_DAY_OF_YEAR)                                                               \
    X(getDayOfMonth, CEL_DAY_OF_MONTH)                                                             \
    X(getDate, CEL_DATE)                                                                           \
    X(getDayOfWeek, CEL_DAY_OF_WEEK)                                                               \
    X(getHours, CEL_HOURS)                                                                         \
    X(getMinutes, CEL_MINUTES)                                                                     \
    X(getSeconds, CEL_SECONDS)                                                                     \
    X(getMilliseconds, CEL_MILLISECONDS)

#define X(name, part)                                                                              \
    CEL_RETURNS(name##_utc, cel_int(cel_timestamp_part(args[0].i, args[0].len, part)))             \
    CEL_RETURNS(name##_zone, part_in_zone(run, args, part))
TIMESTAMP_PARTS(X)
#undef X

/* The whole duration in that unit, rounded towards 0; only milliseconds are those of the
 * second (timestamps/duration_converters/get_milliseconds; cel-go counts them all). */
#define DURATION_PARTS(X)                                                                          \
    X(getHours, 3600 * NSEC_PER_SEC, INT64_MAX)                                                    \
    X(getMinutes, 60 * NSEC_PER_SEC, INT64_MAX)                                                    \
    X(getSeconds, NSEC_PER_SEC, INT64_MAX)                                                         \
    X(getMilliseconds, NSEC_PER_MSEC, 1000)

#define X(name, unit, modulus) CEL_RETURNS(name##_duration, cel_int(args[0].i / (unit) % (modulus)))
DURATION_PARTS(X)
#undef X

static const CelOverloadSpec overloads[] = {{"timestamp", "(timestamp) -> timestamp", same},
    {"timestamp", "(int) -> timestamp", timestamp_from_int},
    {"timestamp", "(string) -> timestamp", timestamp_from_string, .is_literal = true},
    {"duration", "(duration) -> duration", same},
    {"duration", "(string) -> duration", duration_from_string, .is_literal = true},
    {"int", "(timestamp) -> int", int_from_time}, {"int", "(duration) -> int", int_from_time},
    {"string", "(timestamp) -> string", string_from_time},
    {"string", "(duration) -> string", string_from_time},
    {"_+_", "(duration, duration) -> duration", add_durations},
    {"_+_", "(duration, timestamp) -> timestamp", add_duration_timestamp},
    {"_+_", "(timestamp, duration) -> timestamp", add_timestamp_duration},
    {"_-_", "(duration, duration) -> duration", subtract_durations},
    {"_-_", "(timestamp, duration) -> timestamp", subtract_duration},
    {"_-_", "(timestamp, timestamp) -> duration", subtract_timestamps},
#define X(name, part)                                                                              \
    {#name, "timestamp.() -> int", name##_utc}, {#name, "timestamp.(string) -> int", name##_zone},
    TIMESTAMP_PARTS(X)
#undef X
#define X(name, unit, modulus) {#name, "duration.() -> int", name##_duration},
        DURATION_PARTS(X)
#undef X
};

CEL_LIBRARY(cel_time_library, "time", overloads);
