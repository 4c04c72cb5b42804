/* A zone is a sorted array of instants, each with the offset from then on, and a rule for later.
 * Every number of a file is checked before it is used; a file that fails is refused as a whole. */

#include "cel/zone.h"

#include "base/ascii.h"
#include "base/calendar.h"

#define HEADER_SIZE 44
#define OFFSET_MAX (26 * 3600) /* seconds either way; RFC 9636 wants less than 26 hours */

/* A day of the year, as POSIX's TZ writes them. */
typedef enum DayForm {
    DAY_JULIAN,  /* Jn: 1 to 365, February 29th is never counted */
    DAY_OF_YEAR, /* n: 0 to 365, February 29th is counted */
    DAY_OF_WEEK, /* Mm.w.d: weekday d of week w (5: the last) of month m */
} DayForm;

typedef struct RuleDay {
    DayForm form;
    int month, week, day;
    int32_t time; /* seconds from midnight, local time before the change */
} RuleDay;

typedef struct Rule {
    int32_t standard, summer; /* seconds east of UTC */
    bool has_summer;
    RuleDay start, end; /* when summer time starts and ends */
} Rule;

struct CelZone {
    size_t n;
    const int64_t *instants; /* ascending */
    const int32_t *offsets;  /* from the instant on */
    int32_t before;          /* before the first instant */
    bool has_rule;
    Rule rule;
};

/* One to @n_max digits. */
static bool take_number(Str *text, size_t n_max, int min, int max, int *ret) {
    int value = 0;
    size_t n = 0;

    for (; n < n_max && n < text->len && ascii_is_digit(text->ptr[n]); n++)
        value = value * 10 + (text->ptr[n] - '0');
    *text = str_skip(*text, n);
    *ret = value;
    return n > 0 && value >= min && value <= max;
}

/* Skips a name: "CET" or "<+0330>". */
static bool take_name(Str *text) {
    bool is_quoted = str_cut_char(text, '<');
    size_t n = 0;

    while (n < text->len && (ascii_is_letter(text->ptr[n]) ||
                                (is_quoted && (ascii_is_digit(text->ptr[n]) ||
                                                  text->ptr[n] == '+' || text->ptr[n] == '-'))))
        n++;
    *text = str_skip(*text, n);
    return n >= 3 && (!is_quoted || str_cut_char(text, '>'));
}

/* "-1:30:15" as seconds, up to @max_hours either way. */
static bool take_time(Str *text, int max_hours, int32_t *ret) {
    int hours, minutes = 0, seconds = 0;
    int sign = str_cut_char(text, '-') ? -1 : 1;

    if (sign > 0)
        (void)str_cut_char(text, '+');
    if (!take_number(text, 3, 0, max_hours, &hours))
        return false;
    if (str_cut_char(text, ':')) {
        if (!take_number(text, 3, 0, 59, &minutes))
            return false;
        if (str_cut_char(text, ':') && !take_number(text, 3, 0, 59, &seconds))
            return false;
    }
    *ret = sign * (hours * 3600 + minutes * 60 + seconds);
    return true;
}

static bool take_day(Str *text, RuleDay *ret) {
    bool is_read;

    *ret = (RuleDay){.time = 2 * 3600};
    if (str_cut_char(text, 'M')) {
        ret->form = DAY_OF_WEEK;
        is_read = take_number(text, 3, 1, 12, &ret->month) && str_cut_char(text, '.') &&
                  take_number(text, 3, 1, 5, &ret->week) && str_cut_char(text, '.') &&
                  take_number(text, 3, 0, 6, &ret->day);
    } else {
        ret->form = str_cut_char(text, 'J') ? DAY_JULIAN : DAY_OF_YEAR;
        is_read = take_number(text, 3, ret->form == DAY_JULIAN, 365, &ret->day);
    }
    return is_read && (!str_cut_char(text, '/') || take_time(text, 167, &ret->time));
}

/* "CET-1CEST,M3.5.0,M10.5.0/3". Offsets in it are west of UTC. A summer time without its days,
 * which POSIX leaves to the system, does not occur in files. */
static bool read_rule(Str text, Rule *ret) {
    int32_t west;

    if (!take_name(&text) || !take_time(&text, 24, &west))
        return false;
    ret->standard = ret->summer = -west;
    ret->has_summer = text.len > 0;
    if (!ret->has_summer)
        return true;
    if (!take_name(&text))
        return false;
    ret->summer = ret->standard + 3600;
    if (text.len > 0 && text.ptr[0] != ',') {
        if (!take_time(&text, 24, &west))
            return false;
        ret->summer = -west;
    }
    return str_cut_char(&text, ',') && take_day(&text, &ret->start) && str_cut_char(&text, ',') &&
           take_day(&text, &ret->end) && text.len == 0;
}

/* Days from 1970 to the day that a rule means in @year. */
static int64_t rule_days(const RuleDay *day, int64_t year) {
    int64_t first = calendar_days((CalendarDate){.year = year, .month = 1, .day = 1});
    int in_month;

    if (day->form == DAY_OF_YEAR)
        return first + day->day;
    if (day->form == DAY_JULIAN) /* 60 is always March 1st */
        return first + day->day - 1 + (day->day >= 60 && calendar_is_leap(year));
    first = calendar_days((CalendarDate){.year = year, .month = day->month, .day = 1});
    in_month = (day->day - calendar_weekday(first) + 7) % 7 + (day->week - 1) * 7;
    if (in_month >= calendar_month_days(year, day->month))
        in_month -= 7; /* week 5 is the last one, and some months have four */
    return first + in_month;
}

/* The latest change at or before @sec decides. A rule's time may be a week off, so its change may
 * fall into the year before or after: these years count too. If summer time ends and starts at one
 * instant, it lasts all year ("0/0,J365/25"). */
static int32_t rule_offset(const Rule *rule, int64_t sec) {
    int64_t latest = INT64_MIN, year;
    bool is_summer = false;
    int clock;

    if (!rule->has_summer)
        return rule->standard;
    year = calendar_date(calendar_day_of(sec, &clock)).year;
    for (int64_t y = year - 2; y <= year + 1; y++) {
        int64_t end = rule_days(&rule->end, y) * CALENDAR_DAY_SEC + rule->end.time - rule->summer;
        int64_t start =
            rule_days(&rule->start, y) * CALENDAR_DAY_SEC + rule->start.time - rule->standard;

        if (end <= sec && end > latest) {
            latest = end;
            is_summer = false;
        }
        if (start <= sec && start >= latest) {
            latest = start;
            is_summer = true;
        }
    }
    return is_summer ? rule->summer : rule->standard;
}

static uint64_t read_big_endian(const char *bytes, size_t n) {
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++)
        value = value << 8 | (unsigned char)bytes[i];
    return value;
}

static bool take_bytes(Str *bytes, size_t n, Str *ret) {
    if (bytes->len < n)
        return false;
    *ret = str_take(*bytes, n);
    *bytes = str_skip(*bytes, n);
    return true;
}

/* One of the one or two blocks of a file, its parts cut out but not read. */
typedef struct Block {
    char version;
    size_t time_size; /* 4 or 8 bytes */
    size_t n_times, n_types;
    Str times, kinds, types; /* types: 6 bytes each: offset, is it summer time, index of its name */
} Block;

/* The counts have 32 bits and are multiplied by at most 12: nothing overflows. */
static bool take_block(Str *bytes, size_t time_size, Block *ret) {
    Str header, names, leaps, flags;
    size_t counts[6];

    if (!take_bytes(bytes, HEADER_SIZE, &header) || !str_has_prefix(header, STR("TZif")))
        return false;
    for (size_t i = 0; i < 6; i++)
        counts[i] = (size_t)read_big_endian(header.ptr + 20 + i * 4, 4);
    *ret = (Block){
        .version = header.ptr[4],
        .time_size = time_size,
        .n_times = counts[3],
        .n_types = counts[4],
    };
    return take_bytes(bytes, counts[3] * time_size, &ret->times) &&
           take_bytes(bytes, counts[3], &ret->kinds) &&
           take_bytes(bytes, counts[4] * 6, &ret->types) && take_bytes(bytes, counts[5], &names) &&
           take_bytes(bytes, counts[2] * (time_size + 4), &leaps) &&
           take_bytes(bytes, counts[1] + counts[0], &flags);
}

/* Leap seconds are skipped, as Go does: only the files in right/ have any, and there changes are
 * then off by less than half a minute. */

static bool read_type(const Block *block, size_t type, int32_t *ret_offset) {
    int32_t offset;

    if (type >= block->n_types)
        return false;
    offset = (int32_t)(uint32_t)read_big_endian(block->types.ptr + type * 6, 4);
    *ret_offset = offset;
    return offset >= -OFFSET_MAX && offset <= OFFSET_MAX;
}

static int64_t read_instant(const Block *block, size_t i) {
    uint64_t value = read_big_endian(block->times.ptr + i * block->time_size, block->time_size);

    return block->time_size == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static bool read_block(const Block *block, Arena *arena, CelZone *zone) {
    int64_t *instants = ARENA_RAW(arena, int64_t, block->n_times);
    int32_t *offsets = ARENA_RAW(arena, int32_t, block->n_times);

    if (!instants || !offsets || !read_type(block, 0, &zone->before))
        return false;
    for (size_t i = 0; i < block->n_times; i++) {
        instants[i] = read_instant(block, i);
        if ((i > 0 && instants[i] <= instants[i - 1]) ||
            !read_type(block, (unsigned char)block->kinds.ptr[i], &offsets[i]))
            return false;
    }
    zone->n = block->n_times;
    zone->instants = instants;
    zone->offsets = offsets;
    return true;
}

/* Reads the footer: between two line feeds, behind the second block. Empty: no rule for later. */
static bool read_footer(Str bytes, CelZone *zone) {
    size_t end;

    if (!str_cut_char(&bytes, '\n'))
        return false;
    end = str_find(bytes, '\n');
    if (end == SIZE_MAX)
        return false;
    zone->has_rule = end > 0;
    return end == 0 || read_rule(str_take(bytes, end), &zone->rule);
}

const CelZone *cel_zone_parse(Str bytes, Arena *arena) {
    CelZone *zone = ARENA_NEW(arena, CelZone);
    Block block;

    if (!zone || !take_block(&bytes, 4, &block))
        return NULL;
    if (block.version == '\0')
        return read_block(&block, arena, zone) ? zone : NULL;
    if (block.version < '2' || !take_block(&bytes, 8, &block))
        return NULL;
    return read_block(&block, arena, zone) && read_footer(bytes, zone) ? zone : NULL;
}

/* The number of instants at or before @sec. */
static size_t count_until(const CelZone *zone, int64_t sec) {
    size_t low = 0, high = zone->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (zone->instants[middle] <= sec)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int32_t cel_zone_offset(const CelZone *zone, int64_t sec) {
    size_t n;

    sec = sec < CALENDAR_FIRST ? CALENDAR_FIRST : sec > CALENDAR_LAST ? CALENDAR_LAST : sec;
    n = count_until(zone, sec);
    if (n == zone->n && zone->has_rule)
        return rule_offset(&zone->rule, sec);
    return n == 0 ? zone->before : zone->offsets[n - 1];
}

/* "+05:30", "-8:00", "02:00". */
static bool read_offset(Str text, int32_t *ret) {
    int sign = str_cut_char(&text, '-') ? -1 : 1, hours, minutes;

    if (sign > 0)
        (void)str_cut_char(&text, '+');
    if (!take_number(&text, 2, 0, 23, &hours) || !str_cut_char(&text, ':') ||
        !take_number(&text, 2, 0, 59, &minutes) || text.len > 0)
        return false;
    *ret = sign * (hours * 3600 + minutes * 60);
    return true;
}

/* "Local" is not looked up: what an expression means must not depend on the machine. */
bool cel_offset_of(const CelZones *zones, Str name, int64_t sec, int32_t *ret) {
    const CelZone *zone;

    *ret = 0;
    if (name.len == 0 || str_is(name, "UTC"))
        return true;
    if (str_find(name, ':') != SIZE_MAX)
        return read_offset(name, ret);
    if (!zones || str_is(name, "Local"))
        return false;
    zone = zones->find(zones, name);
    if (zone)
        *ret = cel_zone_offset(zone, sec);
    return zone != NULL;
}
