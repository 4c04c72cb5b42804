/* Markup with every text escaped: elements on a stack, and templates that open and close them. */

#include "dashboard/html.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

#include "base/calendar.h"
#include "base/nsec.h"
#include "base/url.h"
#include "base/utf8.h"
#include "base/visible.h"

#define MINUTE_NSEC (60 * NSEC_PER_SEC)
#define HOUR_NSEC (60 * MINUTE_NSEC)
#define DAY_NSEC (24 * HOUR_NSEC)

/* --- elements ------------------------------------------------------------------------------- */

static bool is_void(Str tag) {
    static const Str tags[] = {STR("br"), STR("col"), STR("hr"), STR("img"), STR("input"),
        STR("link"), STR("meta"), STR("source"), STR("wbr")};

    return str_is_one_of(tag, tags, ELEMENTS_OF(tags));
}

static void html_fail(Html *html) {
    if (!html->out->error)
        html->out->error = -EINVAL;
}

/* Ends an open tag: no attribute follows. */
static void end_tag(Html *html) {
    if (!html->is_in_tag)
        return;
    buf_append(html->out, html->is_void ? STR("/>") : STR(">"));
    html->is_in_tag = false;
}

/* On a small screen a row is a card: each cell has its heading beside it. The first cell only has
 * one if it is a number. */
static void label_cell(Html *html, Str tag) {
    Str rest = html->columns, column = STR_NULL;
    bool is_number;

    if (str_is(tag, "tr"))
        html->cell = 0;
    if (!str_is(tag, "td") && !str_is(tag, "th"))
        return;
    html->cell++;
    for (size_t i = 0; i < html->cell; i++)
        if (rest.len == 0 || !str_split(&rest, '|', &column))
            column = STR_NULL;
    is_number = str_has_prefix(column, STR("#"));
    if (is_number || html->cell > 1)
        html_attr(html, "data-label", str_skip(column, is_number));
}

static void open_tag(Html *html, Str tag) {
    end_tag(html);
    buf_append_char(html->out, '<');
    buf_append(html->out, tag);
    html->is_in_tag = true;
    if (html->columns.len > 0)
        label_cell(html, tag);
    html->is_void = is_void(tag);
    if (html->is_void)
        return;
    if (html->depth == HTML_DEPTH_MAX)
        html_fail(html);
    else
        html->open[html->depth++] = tag;
}

void html_open(Html *html, const char *tag) {
    open_tag(html, str_from_c(tag));
}

void html_close(Html *html) {
    if (html->depth == 0) {
        html_fail(html);
        return;
    }
    end_tag(html);
    buf_append(html->out, STR("</"));
    buf_append(html->out, html->open[--html->depth]);
    buf_append_char(html->out, '>');
}

/* --- text ------------------------------------------------------------------------------------- */

/* The escape of a markup byte; NULL: none. */
static const char *entity_of(unsigned char c) {
    static const char *const entities[UINT8_MAX + 1] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};

    return entities[c];
}

static bool is_plain(unsigned char c) {
    return c >= 0x20 && c < 0x7f && !entity_of(c);
}

/* Writes the first character of @text, which is not plain. Returns its length in bytes. */
static size_t escape_next(Buf *out, Str text, bool keeps_lines) {
    unsigned char first = (unsigned char)text.ptr[0];
    const char *entity = entity_of(first);
    uint32_t c = 0;
    size_t n = utf8_decode(text, &c);

    if (entity)
        buf_append(out, str_from_c(entity));
    else if (keeps_lines && (first == '\n' || first == '\t'))
        buf_append_char(out, (char)first);
    else if (n > 0 && (c == 0xfffe || c == 0xffff)) /* not allowed in XML */
        buf_printf(out, "\\u%04x", (unsigned)c);
    else
        (void)visible_append(out, str_take(text, n > 0 ? n : 1));
    return n > 0 ? n : 1;
}

static void escape(Buf *out, Str text, bool keeps_lines) {
    while (text.len > 0) {
        size_t plain = 0;

        while (plain < text.len && is_plain((unsigned char)text.ptr[plain]))
            plain++;
        if (plain > 0) {
            buf_append(out, str_take(text, plain));
            text = str_skip(text, plain);
        } else {
            text = str_skip(text, escape_next(out, text, keeps_lines));
        }
    }
}

static bool keeps_lines(const Html *html) {
    for (size_t i = 0; i < html->depth; i++)
        if (str_is(html->open[i], "pre") || str_is(html->open[i], "textarea"))
            return true;
    return false;
}

void html_attr(Html *html, const char *name, Str value) {
    assert(html->is_in_tag);
    buf_append_char(html->out, ' ');
    buf_append(html->out, str_from_c(name));
    buf_append(html->out, STR("=\""));
    escape(html->out, value, /* keeps_lines= */ false);
    buf_append_char(html->out, '"');
}

void html_text(Html *html, Str text) {
    end_tag(html);
    escape(html->out, text, keeps_lines(html));
}

/* --- numbers ---------------------------------------------------------------------------------- */

void html_count(Html *html, uint64_t n) {
    end_tag(html);
    buf_append_grouped(html->out, n);
}

/* Writes @value as a whole number, or with one decimal below 10. */
static void append_amount(Buf *out, double value, const char *unit) {
    buf_printf(out, value < 9.95 ? "%.1f %s" : "%.0f %s", value, unit);
}

/* "3 min 20 s": the second part is left out when it is 0. */
static void append_parts(
    Buf *out, int64_t whole, const char *unit, int64_t rest, const char *less) {
    buf_printf(out, "%" PRId64 " %s", whole, unit);
    if (rest > 0)
        buf_printf(out, " %" PRId64 " %s", rest, less);
}

static void append_duration(Buf *out, int64_t nsec) {
    if (nsec < 1000)
        buf_printf(out, "%d ns", (int)nsec);
    else if (nsec < 999500)
        append_amount(out, (double)nsec / 1e3, "µs");
    else if (nsec < 999500 * INT64_C(1000))
        append_amount(out, (double)nsec / 1e6, "ms");
    else if (nsec < MINUTE_NSEC - NSEC_PER_SEC / 2)
        append_amount(out, (double)nsec / 1e9, "s");
    else if (nsec < HOUR_NSEC)
        append_parts(out, nsec / MINUTE_NSEC, "min", nsec % MINUTE_NSEC / NSEC_PER_SEC, "s");
    else if (nsec < DAY_NSEC)
        append_parts(out, nsec / HOUR_NSEC, "h", nsec % HOUR_NSEC / MINUTE_NSEC, "min");
    else
        append_parts(out, nsec / DAY_NSEC, "d", nsec % DAY_NSEC / HOUR_NSEC, "h");
}

void html_duration(Html *html, int64_t nsec) {
    end_tag(html);
    if (nsec < 0)
        buf_append(html->out, STR("–"));
    else
        append_duration(html->out, nsec);
}

/* --- times ------------------------------------------------------------------------------------ */

/* "12 s": whole seconds, so that a page that is drawn again changes little. */
static void append_distance(Buf *out, int64_t nsec) {
    int64_t sec = nsec / NSEC_PER_SEC;

    if (sec < 60)
        buf_printf(out, "%d s", (int)sec);
    else
        append_duration(out, sec * NSEC_PER_SEC);
}

static void append_ago(Buf *out, int64_t at_nsec, int64_t now_nsec) {
    int64_t ago;

    if (__builtin_sub_overflow(now_nsec, at_nsec, &ago) || ago == INT64_MIN) {
        buf_append(out, STR("long ago"));
    } else if (ago <= -NSEC_PER_SEC) {
        buf_append(out, STR("in "));
        append_distance(out, -ago);
    } else {
        append_distance(out, ago > 0 ? ago : 0);
        buf_append(out, STR(" ago"));
    }
}

void html_time(Html *html, int64_t at_nsec) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64);
    uint32_t nanos;

    html_open(html, "time");
    calendar_print(nsec_split(at_nsec, &nanos), 0, &text);
    html_attr(html, "datetime", buf_str(&text));
    if (text.data && text.len == sizeof("2026-01-02T03:04:05Z") - 1) {
        text.data[10] = ' ';
        text.len--;
        buf_append(&text, STR(" UTC"));
    }
    html_attr(html, "title", buf_str(&text));
    end_tag(html);
    append_ago(html->out, at_nsec, html->now_nsec);
    html_close(html);
}

/* --- links ------------------------------------------------------------------------------------ */

void html_open_link(Html *html, const char *path, const HtmlParameter *parameters, size_t n) {
    const char *separator = "?";

    html_open(html, "a");
    buf_append(html->out, STR(" href=\""));
    escape(html->out, str_from_c(path), /* keeps_lines= */ false);
    for (size_t i = 0; i < n; i++) {
        if (!parameters[i].name)
            continue;
        buf_append(html->out, str_from_c(separator));
        buf_append(html->out, str_from_c(parameters[i].name));
        buf_append_char(html->out, '=');
        url_escape(html->out, parameters[i].value); /* needs no other escaping */
        separator = "&amp;";
    }
    buf_append_char(html->out, '"');
}

void html_link(Html *html, const char *path, const HtmlParameter *parameters, size_t n, Str text) {
    html_open_link(html, path, parameters, n);
    html_text(html, text);
    html_close(html);
}

/* --- templates -------------------------------------------------------------------------------- */

/* Numbers in attributes are for programs: without separators. */
static void write_count(Html *html, uint64_t n, bool is_attr) {
    if (is_attr)
        buf_append_int(html->out, (int64_t)n);
    else
        html_count(html, n);
}

/* Writes the argument of the conversion at the front of @format. Returns the length of the
 * conversion. */
static size_t write_argument(Html *html, Str format, bool is_attr, va_list *args) {
    bool lines = !is_attr && keeps_lines(html);
    Str text;

    if (!is_attr)
        end_tag(html);
    if (str_has_prefix(format, STR("%%"))) {
        buf_append_char(html->out, '%');
        return 2;
    }
    if (str_has_prefix(format, STR("%s"))) {
        escape(html->out, str_from_c(va_arg(*args, const char *)), lines);
        return 2;
    }
    if (str_has_prefix(format, STR("%.*s"))) {
        text.len = (size_t)va_arg(*args, int);
        text.ptr = va_arg(*args, const char *);
        if (html->is_in_query)
            url_escape(html->out, text); /* needs no other escaping */
        else
            escape(html->out, text, lines);
        return 4;
    }
    if (str_has_prefix(format, STR("%zu"))) {
        write_count(html, va_arg(*args, size_t), is_attr);
        return 3;
    }
    if (str_has_prefix(format, STR("%u"))) {
        write_count(html, va_arg(*args, unsigned), is_attr);
        return 2;
    }
    if (str_has_prefix(format, STR("%d"))) {
        buf_append_int(html->out, va_arg(*args, int));
        return 2;
    }
    if (str_has_prefix(format, STR("%jd"))) {
        html_duration(html, va_arg(*args, intmax_t));
        return 3;
    }
    if (str_has_prefix(format, STR("%td"))) {
        html_time(html, va_arg(*args, ptrdiff_t));
        return 3;
    }
    if (format.len < 4 || format.ptr[1] != '.')
        html_fail(html);
    else if (format.ptr[3] == 'g')
        buf_printf(html->out, "%.*g", format.ptr[2] - '0', va_arg(*args, double));
    else
        buf_printf(html->out, "%.*f", format.ptr[2] - '0', va_arg(*args, double));
    return 4;
}

/* Writes attributes up to the end of the tag. Returns the rest of @format. */
static Str write_attributes(Html *html, Str format, va_list *args) {
    bool is_quoted = false, is_name = false;

    for (; format.len > 0; format = str_skip(format, 1)) {
        char c = format.ptr[0];

        if (c == '%') {
            format = str_skip(format, write_argument(html, format, /* is_attr= */ true, args) - 1);
            continue;
        }
        if (!is_quoted && is_name && (c == ' ' || c == '>'))
            buf_append(html->out, STR("=\"\"")); /* XML requires a value */
        if (!is_quoted && c == '>')
            break;
        if (c == '&')
            buf_append(html->out, STR("&amp;"));
        else
            buf_append_char(html->out, (char)(c == '\'' ? '"' : c));
        is_quoted ^= c == '\'';
        html->is_in_query = is_quoted && (html->is_in_query || c == '?');
        is_name = !is_quoted && c != ' ' && c != '=' && c != '\'';
    }
    return str_skip(format, 1);
}

/* The tag at the front of @format. Returns the rest after it. */
static Str write_tag(Html *html, Str format, va_list *args) {
    bool is_end = str_has_prefix(format, STR("</"));
    size_t n = 0;
    Str name;

    format = str_skip(format, is_end ? 2 : 1);
    while (n < format.len && format.ptr[n] != ' ' && format.ptr[n] != '>')
        n++;
    name = str_take(format, n);
    format = str_skip(format, n);
    if (!is_end) {
        open_tag(html, name);
        return write_attributes(html, format, args);
    }
    if (name.len > 0 && html->depth > 0 && !str_eq(name, html->open[html->depth - 1]))
        html_fail(html);
    html_close(html);
    return str_skip(format, 1);
}

void html_write(Html *html, const char *format, ...) {
    Str rest = str_from_c(format);
    va_list args;

    va_start(args, format);
    while (rest.len > 0) {
        size_t n = 0;

        if (rest.ptr[0] == '<') {
            rest = write_tag(html, rest, &args);
        } else if (rest.ptr[0] == '%') {
            rest = str_skip(rest, write_argument(html, rest, /* is_attr= */ false, &args));
        } else {
            while (n < rest.len && rest.ptr[n] != '<' && rest.ptr[n] != '%')
                n++;
            html_text(html, str_take(rest, n));
            rest = str_skip(rest, n);
        }
    }
    va_end(args);
}
