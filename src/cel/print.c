/* A value as CEL text, for users: it reads back as the same value, except where it was cut and for
 * records, which no expression can make. */
#include <inttypes.h>
#include <math.h>

#include "base/calendar.h"
#include "base/double.h"
#include "base/utf8.h"
#include "cel/run.h"
#include "cel/time.h"
#include "cel/type.h"
#include "cel/value.h"

typedef struct Printer {
    Buf *out;
    CelRun *run;
    size_t limit; /* stop when @out is longer */
} Printer;

static bool is_full(const Printer *p) {
    return p->out->len > p->limit || buf_error(p->out) != 0;
}

/* The letter of a short escape; 0: none. */
static char short_escape(uint32_t c) {
    static const char escaped[] = "\n\r\t\"\\", letters[] = "nrt\"\\";
    const char *at = c > 0 && c < 0x80 ? strchr(escaped, (int)c) : NULL;

    return at ? letters[at - escaped] : '\0';
}

static void print_string(Printer *p, Str text) {
    buf_append_char(p->out, '"');
    while (text.len > 0 && !is_full(p)) {
        uint32_t c;
        size_t n = utf8_decode(text, &c);

        if (n == 0) { /* cannot happen: strings are valid */
            c = 0xfffd;
            n = 1;
        }
        if (short_escape(c))
            buf_printf(p->out, "\\%c", short_escape(c));
        else if (utf8_is_unsafe(c))
            buf_printf(p->out, "\\u%04" PRIx32, c);
        else
            buf_append(p->out, str_take(text, n));
        text = str_skip(text, n);
    }
    buf_append_char(p->out, '"');
}

static void print_bytes(Printer *p, Str bytes) {
    buf_append(p->out, STR("b\""));
    for (size_t i = 0; i < bytes.len && !is_full(p); i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];

        if (short_escape(c))
            buf_printf(p->out, "\\%c", short_escape(c));
        else if (c < 0x20 || c >= 0x7f)
            buf_printf(p->out, "\\x%02x", c);
        else
            buf_append_char(p->out, (char)c);
    }
    buf_append_char(p->out, '"');
}

static void print_double(Printer *p, double d) {
    char text[DOUBLE_TEXT_MAX];
    Str printed = str_of(text, double_print(d, text));

    if (isnan(d)) {
        buf_append(p->out, STR("double(\"NaN\")"));
    } else if (isinf(d)) {
        buf_append(p->out, d > 0 ? STR("double(\"Infinity\")") : STR("double(\"-Infinity\")"));
    } else {
        buf_append(p->out, printed);
        if (str_find(printed, '.') == SIZE_MAX && str_find(printed, 'e') == SIZE_MAX)
            buf_append(p->out, STR(".0")); /* otherwise it would read as an int */
    }
}

static void print_time(Printer *p, CelValue v) {
    buf_append(p->out, v.kind == CEL_DURATION ? STR("duration(\"") : STR("timestamp(\""));
    if (v.kind == CEL_DURATION)
        cel_duration_print(v.i, p->out);
    else
        calendar_print(v.i, v.len, p->out);
    buf_append(p->out, STR("\")"));
}

/* Values with parts, by recursion. Parts deeper than CEL_VALUE_DEPTH_MAX, which only nested records
 * of a host can have, are printed as "…". */

static void print_at(Printer *p, CelValue v, uint32_t depth);

static void print_list(Printer *p, const CelList *list, uint32_t depth) {
    if (!p->run && !list->items && list->n > 0) {
        buf_append(p->out, STR("[…]"));
        return;
    }
    buf_append_char(p->out, '[');
    for (uint32_t i = 0; i < list->n && !is_full(p); i++) {
        if (i > 0)
            buf_append(p->out, STR(", "));
        print_at(p, cel_list_at(list, i, p->run), depth);
    }
    buf_append_char(p->out, ']');
}

static void print_map(Printer *p, const CelMap *map, uint32_t depth) {
    if (!p->run && !map->entries && map->n > 0) {
        buf_append(p->out, STR("{…}"));
        return;
    }
    buf_append_char(p->out, '{');
    for (uint32_t i = 0; i < map->n && !is_full(p); i++) {
        CelEntry entry = cel_map_at(map, i, p->run);

        if (i > 0)
            buf_append(p->out, STR(", "));
        print_at(p, entry.key, depth);
        buf_append(p->out, STR(": "));
        print_at(p, entry.value, depth);
    }
    buf_append_char(p->out, '}');
}

static void print_record(Printer *p, const CelRecord *record, uint32_t depth) {
    const CelRecordType *type = record->type;
    const char *between = "";

    buf_append(p->out, type->name);
    if (!p->run) {
        buf_append(p->out, STR("{…}"));
        return;
    }
    buf_append_char(p->out, '{');
    for (uint32_t i = 0; i < type->n_fields && !is_full(p); i++) {
        CelValue v = type->get(record, i, p->run);

        if (v.kind == CEL_ABSENT)
            continue;
        buf_printf(p->out, "%s%.*s: ", between, STR_FMT(type->fields[i].name));
        print_at(p, v, depth);
        between = ", ";
    }
    buf_append_char(p->out, '}');
}

static void print_optional(Printer *p, const CelValue *inner, uint32_t depth) {
    if (!inner) {
        buf_append(p->out, STR("optional.none()"));
        return;
    }
    buf_append(p->out, STR("optional.of("));
    print_at(p, *inner, depth);
    buf_append_char(p->out, ')');
}

static void print_at(Printer *p, CelValue v, uint32_t depth) {
    if (v.kind >= CEL_LIST && depth > CEL_VALUE_DEPTH_MAX) {
        buf_append(p->out, STR("…"));
        return;
    }
    switch (v.kind) {
    case CEL_ABSENT:
        buf_append(p->out, STR("absent"));
        break;
    case CEL_ERROR:
        buf_printf(p->out, "error: %.*s", STR_FMT(v.error->text));
        break;
    case CEL_NULL:
        buf_append(p->out, STR("null"));
        break;
    case CEL_BOOL:
        buf_append(p->out, v.boolean ? STR("true") : STR("false"));
        break;
    case CEL_INT:
        buf_append_int(p->out, v.i);
        break;
    case CEL_UINT:
        buf_printf(p->out, "%" PRIu64 "u", v.u);
        break;
    case CEL_DOUBLE:
        print_double(p, v.d);
        break;
    case CEL_STRING:
        print_string(p, cel_str(v));
        break;
    case CEL_BYTES:
        print_bytes(p, cel_str(v));
        break;
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        print_time(p, v);
        break;
    case CEL_TYPE: /* as an expression writes it: google.protobuf.Timestamp, and a bare list */
        buf_append(p->out, v.type->name);
        break;
    case CEL_LIST:
        print_list(p, v.list, depth + 1);
        break;
    case CEL_MAP:
        print_map(p, v.map, depth + 1);
        break;
    case CEL_RECORD:
        print_record(p, v.record, depth + 1);
        break;
    case CEL_OPTIONAL:
        print_optional(p, v.inner, depth + 1);
        break;
    default:
        cel_opaque_of_kind(v.kind)->print(v.opaque, p->out);
        break;
    }
}

/* Cuts to @len bytes, or to the start of the character there. */
static void cut(Buf *out, size_t start, size_t len) {
    Str text = str_skip(buf_str(out), start), shown = utf8_take(text, len);

    if (shown.len == text.len)
        return;
    out->len = start + shown.len;
    buf_append(out, STR("…"));
}

void cel_value_print(CelValue v, CelRun *run, size_t max, Buf *out) {
    size_t start = out->len;
    Printer p = {.out = out, .run = run, .limit = max ? start + max : SIZE_MAX};

    print_at(&p, v, 0);
    if (max)
        cut(out, start, max);
}
