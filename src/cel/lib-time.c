/* Timestamps and durations. A timestamp has no zone: string() is in UTC, as specified (cel-go keeps
 * the offset it was read with). Getters take UTC, an IANA name that the host looks up
 * (CelRun.zones), or an offset like "+05:30". */

#include "base/calendar.h"
#include "base/nsec.h"
#include "cel/library.h"
#include "cel/time.h"
#include "cel/zone.h"

#define PRINT_MAX ((size_t)48) /* the longest timestamp has 30, the longest duration 21 */
#define READ_BYTES ((size_t)4) /* reading a byte of a duration takes as long as copying 4 */
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

CEL_CHARGED(timestamp_from_string, args[0].len) {
    Str text = cel_str(args[0]);
    int64_t sec;
    uint32_t nanos;

    if (!calendar_parse(text, &sec, &nanos))
        return cel_fail(run,
            "type conversion error from 'string' to 'google.protobuf.Timestamp': '%.*s' is no "
            "RFC 3339 time in the range of years 1 to 9999",
            STR_FMT(cel_excerpt(text)));
    return cel_timestamp(sec, nanos);
}

CEL_RETURNS(timestamp_from_int,
    cel_timestamp_is_valid(args[0].i) ? cel_timestamp(args[0].i, 0) : timestamp_overflow(run))

CEL_CHARGED(duration_from_string, READ_BYTES *args[0].len) {
    Str text = cel_str(args[0]);
    int64_t ns;

    if (!cel_duration_parse(text, &ns))
        return cel_fail(run,
            "type conversion error from 'string' to 'google.protobuf.Duration': '%.*s' is no "
            "duration like 1h30m or 1.5s in the range of 292 years",
            STR_FMT(cel_excerpt(text)));
    return cel_duration(ns);
}

/* Seconds of a timestamp (rounded towards the past), nanoseconds of a duration. */
CEL_RETURNS(int_from_time, cel_int(args[0].i))

CEL_FUNCTION(string_from_time) {
    _cleanup_(buf_done) Buf out = BUF_INIT(PRINT_MAX);

    if (!cel_charge(run, PRINT_FUEL))
        return cel_exhausted(run);
    if (args[0].kind == CEL_TIMESTAMP)
        calendar_print(args[0].i, args[0].len, &out);
    else
        cel_duration_print(args[0].i, &out);
    return buf_error(&out) ? cel_no_memory(run) : cel_make_string(run, buf_str(&out));
}

static CelValue add_to_timestamp(CelRun *run, CelValue timestamp, CelValue duration) {
    bool fits = cel_timestamp_add(&timestamp.i, &timestamp.len, duration.i);

    return fits ? timestamp : timestamp_overflow(run);
}

CEL_RETURNS(add_timestamp_duration, add_to_timestamp(run, args[0], args[1]))
CEL_RETURNS(add_duration_timestamp, add_to_timestamp(run, args[1], args[0]))

/* @op: add or sub. */
#define OF_DURATIONS(name, op)                                                                     \
    CEL_FUNCTION(name) {                                                                           \
        int64_t ns;                                                                                \
        bool fits = !__builtin_##op##_overflow(args[0].i, args[1].i, &ns);                         \
                                                                                                   \
        return fits ? cel_duration(ns) : duration_overflow(run);                                   \
    }

OF_DURATIONS(add_durations, add)
OF_DURATIONS(subtract_durations, sub)

CEL_FUNCTION(subtract_duration) {
    CelValue timestamp = args[0];
    bool fits = cel_timestamp_subtract(&timestamp.i, &timestamp.len, args[1].i);

    return fits ? timestamp : timestamp_overflow(run);
}

/* timestamps/timestamp_range/sub_time_duration_under: the years fit, the difference does not. */
CEL_FUNCTION(subtract_timestamps) {
    int64_t ns;

    if (!cel_timestamp_difference(args[0].i, args[0].len, args[1].i, args[1].len, &ns))
        return duration_overflow(run);
    return cel_duration(ns);
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

/* The whole duration in that unit, rounded towards 0. Milliseconds are only those within the second
 * (timestamps/duration_converters/get_milliseconds; in cel-go all). */
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
